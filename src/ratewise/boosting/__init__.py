"""The measure as the objective and as the evaluation metric of LightGBM, XGBoost and CatBoost."""

from ._objective import MeasureMetric, MeasureObjective

__all__ = ["MeasureMetric", "MeasureObjective"]
