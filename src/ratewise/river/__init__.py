"""Learn from a stream by river's conventions, one row or a data frame at a time."""

from ._classifier import MeasureClassifier

__all__ = ["MeasureClassifier"]
