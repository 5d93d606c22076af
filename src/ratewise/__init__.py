"""Classifiers trained for the measure you report."""

from .estimators import MeasureClassifier
from .measures import ConstraintWarning

__version__ = "0.1.0"

__all__ = ["ConstraintWarning", "MeasureClassifier", "__version__"]
