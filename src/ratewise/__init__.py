"""Classifiers trained for the measure you report."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._errors import ColumnWarning
    from ._input_checks import FarColumnWarning
    from .decisions.certify import certify
    from .estimators import MeasureClassifier, MeasureMaximizer
    from .estimators.decision_rule import DecisionRule
    from .estimators.monitor import Monitor
    from .measures import ConstraintWarning, UnknownRateWarning
    from .onnx import export_onnx
    from .persistence import load_model, save_model
    from .reports import Report, model_card
    from .reports._report import report  # from .reports mypy would take it for a module
    from .streams import open_stream

__version__ = "0.1.0"

# Imported when first asked for: scikit-learn and numba take a second or two, and `ratewise --help` must not wait.
_HOMES = {
    "ConstraintWarning": ".measures",
    "ColumnWarning": "._errors",
    "DecisionRule": ".estimators.decision_rule",
    "FarColumnWarning": "._input_checks",
    "MeasureClassifier": ".estimators",
    "MeasureMaximizer": ".estimators",
    "Monitor": ".estimators.monitor",
    "Report": ".reports",
    "UnknownRateWarning": ".measures",
    "certify": ".decisions.certify",
    "export_onnx": ".onnx",
    "load_model": ".persistence",
    "model_card": ".reports",
    "open_stream": ".streams",
    "report": ".reports",
    "save_model": ".persistence",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = [
    "ColumnWarning",
    "ConstraintWarning",
    "DecisionRule",
    "FarColumnWarning",
    "MeasureClassifier",
    "MeasureMaximizer",
    "Monitor",
    "Report",
    "UnknownRateWarning",
    "__version__",
    "certify",
    "export_onnx",
    "load_model",
    "model_card",
    "open_stream",
    "report",
    "save_model",
]
