"""Classifiers trained for the measure you report."""

from .estimators import MeasureClassifier

__version__ = "0.1.0"

__all__ = ["MeasureClassifier", "__version__"]
