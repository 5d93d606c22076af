"""The scikit-learn face of the solvers."""

from .classifier import MeasureClassifier
from .maximizer import MeasureMaximizer

__all__ = ["MeasureClassifier", "MeasureMaximizer"]
