"""What to maximise: measures as functions of (TPR, TNR, prevalence), and their names.

To add one: a file with a frozen dataclass, and its line in the registry below. Tests, tables and scorers read
the registry.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from .base import (
    ConcaveMeasure,
    Measure,
    PseudoLinearCoefficients,
    PseudoLinearMeasure,
    Rates,
    rates_from_labels,
)
from .fbeta import FBeta
from .function import FunctionMeasure
from .gmean import GMean
from .gower_legendre import GowerLegendre
from .hmean import HMean
from .jaccard import Jaccard
from .min_rate import MinRate
from .pseudo_linear import PseudoLinear
from .qmean import QMean

_REGISTRY: dict[str, Measure] = {
    "min": MinRate(),
    "hmean": HMean(),
    "qmean": QMean(),
    "gmean": GMean(),
    "f1": FBeta(1.0),
    "f0.5": FBeta(0.5),
    "f2": FBeta(2.0),
    "jaccard": Jaccard(),
    "gower-legendre": GowerLegendre(0.5),
}


def measure_names() -> list[str]:
    """The names :func:`get_measure` knows."""
    return list(_REGISTRY)


def get_measure(measure: str | Measure | Callable[..., Any]) -> Measure:
    """A measure by its registry name; a measure is returned as it is, a function made into one."""
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, str) and measure in _REGISTRY:
        return _REGISTRY[measure]
    if isinstance(measure, type) and issubclass(measure, Measure):
        raise ValueError(f"measure={measure.__name__} is a class; write {measure.__name__}(...) for one of it.")
    if callable(measure) and not isinstance(measure, type):
        return FunctionMeasure(measure)
    if not isinstance(measure, str):
        raise ValueError(
            f"measure must be a name, a Measure or a function of (tpr, tnr); got {measure!r} of type "
            f"{type(measure).__name__}."
        )
    near = difflib.get_close_matches(measure.lower(), _REGISTRY, n=3, cutoff=0.3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(f"There is no measure {measure!r}.{hint} Known: {', '.join(_REGISTRY)}.")


__all__ = [
    "ConcaveMeasure",
    "FBeta",
    "FunctionMeasure",
    "GMean",
    "GowerLegendre",
    "HMean",
    "Jaccard",
    "Measure",
    "MinRate",
    "PseudoLinear",
    "PseudoLinearCoefficients",
    "PseudoLinearMeasure",
    "QMean",
    "Rates",
    "get_measure",
    "measure_names",
    "rates_from_labels",
]
