"""The scikit-learn interface."""

from typing import TYPE_CHECKING, Any

from .classifier import MeasureClassifier

if TYPE_CHECKING:
    from .maximizer import MeasureMaximizer


def __getattr__(name: str) -> Any:
    """Import the meta-estimator when first asked for: it needs scikit-learn's ensembles, a tenth of a second."""
    if name != "MeasureMaximizer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .maximizer import MeasureMaximizer

    return MeasureMaximizer


__all__ = ["MeasureClassifier", "MeasureMaximizer"]
