"""The scikit-learn face of the solvers."""

from .classifier import MeasureClassifier

__all__ = ["MeasureClassifier"]
