"""What to maximise: measures as functions of (TPR, TNR, prevalence), and their names.

To add a measure: a frozen dataclass, in a file of its own or that of its family, and a line in the registry below.
Tests, tables and scorers read the registry.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from ._rates import Constraint, ConstraintWarning, Rates, RatesInterval, rates_from_labels
from .base import (
    ConcaveMeasure,
    Measure,
    MeasureAtPrevalence,
    PseudoLinearAtPrevalence,
    PseudoLinearCoefficients,
    PseudoLinearMeasure,
    at_prevalence,
)
from .bounds import (
    Constrained,
    PenalisedTPR,
    PrecisionAtRecall,
    RecallAtPrecision,
    RecallAtPrecisionAndPrevalence,
    TPRAtFPR,
    TPRAtTNR,
)
from .means import BalancedAccuracy, GMean, HMean, MinRate, QMean, WeightedMin
from .others import FowlkesMallows, FunctionMeasure, MatthewsCorrelation
from .ratios import CohenKappa, CostMatrix, FBeta, GowerLegendre, Jaccard, NetBenefit, PseudoLinear, Tversky

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
    "tversky": Tversky(0.3, 0.7),
    "kappa": CohenKappa(),
    "mcc": MatthewsCorrelation(),
    "fowlkes-mallows": FowlkesMallows(),
    "balanced-accuracy": BalancedAccuracy(),
    "weighted-min": WeightedMin(1.0, 0.5),
    "net-benefit": NetBenefit(0.1),
    "cost": CostMatrix(((0.0, 1.0), (10.0, 0.0))),
    "tpr-at-tnr-0.99": TPRAtTNR(0.99),
    "tpr-at-fpr-0.01": TPRAtFPR(0.01),
    "recall-at-precision-0.9": RecallAtPrecision(0.9),
    "precision-at-recall-0.8": PrecisionAtRecall(0.8),
}


def measure_names() -> list[str]:
    """Return the names :func:`get_measure` knows.

    Examples
    --------
    >>> from ratewise.measures import measure_names
    >>> measure_names()[:4]
    ['min', 'hmean', 'qmean', 'gmean']
    """
    return list(_REGISTRY)


def get_measure(measure: str | Measure | Callable[..., Any]) -> Measure:
    """Return a measure by its registry name; a measure is returned as it is, a function is wrapped in one.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> get_measure("f2")
    FBeta(beta=2.0)
    >>> get_measure(lambda tpr, tnr: tpr * tnr).value(0.5, 0.5)
    0.25
    """
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
    "BalancedAccuracy",
    "CohenKappa",
    "ConcaveMeasure",
    "Constrained",
    "Constraint",
    "ConstraintWarning",
    "CostMatrix",
    "FBeta",
    "FowlkesMallows",
    "FunctionMeasure",
    "GMean",
    "GowerLegendre",
    "HMean",
    "Jaccard",
    "MatthewsCorrelation",
    "Measure",
    "MeasureAtPrevalence",
    "MinRate",
    "NetBenefit",
    "PenalisedTPR",
    "PrecisionAtRecall",
    "PseudoLinear",
    "PseudoLinearAtPrevalence",
    "PseudoLinearCoefficients",
    "PseudoLinearMeasure",
    "QMean",
    "Rates",
    "RatesInterval",
    "RecallAtPrecision",
    "RecallAtPrecisionAndPrevalence",
    "TPRAtFPR",
    "TPRAtTNR",
    "Tversky",
    "WeightedMin",
    "at_prevalence",
    "get_measure",
    "measure_names",
    "rates_from_labels",
]
