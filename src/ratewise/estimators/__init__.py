"""The scikit-learn interface."""

from typing import TYPE_CHECKING, Any

from .classifier import MeasureClassifier

if TYPE_CHECKING:
    from .maximizer import MeasureMaximizer


def __getattr__(name: str) -> Any:
    """Import the meta-estimator on first use: scikit-learn's ensembles take a tenth of a second to import."""
    if name != "MeasureMaximizer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .maximizer import MeasureMaximizer

    return MeasureMaximizer


__all__ = ["MeasureClassifier", "MeasureMaximizer"]
