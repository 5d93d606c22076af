"""What to maximise: measures as functions of (TPR, TNR, prevalence), and their names.

To add a measure: a frozen dataclass, in a file of its own or that of its family, and a line in the registry below.
Tests, tables and scorers read the registry.
"""

from __future__ import annotations

import difflib
import re
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
    "accuracy": GowerLegendre(1.0),
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

# Names that end in a number of the user's: "f3", "recall-at-precision-0.95".
_FAMILIES: dict[str, Callable[[float], Measure]] = {
    "f": FBeta,
    "tpr-at-tnr": TPRAtTNR,
    "tpr-at-fpr": TPRAtFPR,
    "recall-at-precision": RecallAtPrecision,
    "precision-at-recall": PrecisionAtRecall,
}
_LARGEST_BETA = 10.0  # in a name: "f11" is a slip of the finger
_NUMBERED = re.compile(r"(?P<stem>.*?)[\s_-]*(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)")


def _plain(name: str) -> str:
    """Return a name without what people write in different ways: case, spaces, underscores, hyphens."""
    return re.sub(r"[\s_-]+", "", name.lower())


_PLAIN_NAMES = {_plain(name): name for name in _REGISTRY}
_PLAIN_FAMILIES = {_plain(name): kind for name, kind in _FAMILIES.items()}


def measure_names() -> list[str]:
    """Return the names of the registry; :func:`get_measure` takes other numbers in them too.

    Examples
    --------
    >>> from ratewise.measures import measure_names
    >>> measure_names()[:4]
    ['min', 'hmean', 'qmean', 'gmean']
    """
    return list(_REGISTRY)


def get_measure(measure: str | Measure | Callable[..., Any]) -> Measure:
    """Return a measure by its name; a measure is returned as it is, a function is wrapped in one.

    Case, spaces, underscores and hyphens do not matter, and names that end in a number take any: "f3", "f0.25",
    "recall-at-precision-0.95", "precision-at-recall-0.5", "tpr-at-fpr-0.001", "tpr-at-tnr-0.5".

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> get_measure("G-mean"), get_measure("f3")
    (GMean(), FBeta(beta=3.0))
    >>> get_measure(lambda tpr, tnr: tpr * tnr).value(0.5, 0.5)
    0.25
    """
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, str):
        return _named(measure)
    if isinstance(measure, type) and issubclass(measure, Measure):
        raise ValueError(f"measure={measure.__name__} is a class; write {measure.__name__}(...) for one of it.")
    if callable(measure) and not isinstance(measure, type):
        return FunctionMeasure(measure)
    raise ValueError(
        f"measure must be a name, a Measure or a function of (tpr, tnr); got {measure!r} of type "
        f"{type(measure).__name__}."
    )


def measure_name(measure: Measure) -> str:
    """Return a name by which :func:`get_measure` returns this measure; its label if there is none.

    Examples
    --------
    >>> from ratewise.measures import RecallAtPrecision, measure_name
    >>> measure_name(RecallAtPrecision(0.75))
    'recall-at-precision-0.75'
    """
    numbered = (
        f"{stem}{'' if kind is FBeta else '-'}{next(iter(vars(measure).values())):g}"
        for stem, kind in _FAMILIES.items()
        if type(measure) is kind
    )
    return next((name for name in (*_REGISTRY, *numbered) if _named(name) == measure), measure.label)


def _named(name: str) -> Measure:
    known = _PLAIN_NAMES.get(_plain(name))
    if known is not None:
        return _REGISTRY[known]
    numbered = _NUMBERED.fullmatch(name.strip().lower())
    number = float(numbered["number"]) if numbered else 0.0
    family = _PLAIN_FAMILIES.get(_plain(numbered["stem"])) if numbered else None
    if family is not None and not (family is FBeta and number > _LARGEST_BETA):
        try:
            return family(number)
        except ValueError as error:
            raise ValueError(f"There is no measure {name!r}. {error}") from None
    near = difflib.get_close_matches(name.lower(), _REGISTRY, n=3, cutoff=0.3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    numbers = f"Other numbers than these may follow {', '.join(map(repr, _FAMILIES))}."
    raise ValueError(f"There is no measure {name!r}.{hint} Known: {', '.join(_REGISTRY)}. {numbers}")


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
    "measure_name",
    "measure_names",
    "rates_from_labels",
]
