"""Measures to maximize, as functions of (TPR, TNR, prevalence) or of the confusion matrix, and their names.

To add a measure, write a frozen dataclass in a new file or in the file of its family, and add a line to the
registry below. Tests, tables and scorers read the registry.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from ..counts import Rates
from ._rates import (
    Bound,
    Constraint,
    ConstraintWarning,
    Gap,
    RatesInterval,
    UnknownRateWarning,
    rates_from_labels,
)
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
    PenalisedTPR,
    PrecisionAtRecall,
    RecallAtAlertRate,
    RecallAtPrecision,
    RecallAtPrecisionAndPrevalence,
    TPRAtFPR,
    TPRAtTNR,
)
from .class_bounds import ConstrainedClasses
from .confusion import (
    Accuracy,
    ClassCorrelation,
    ClassCosts,
    ConfusionMeasure,
    FunctionOfCounts,
    MacroAverage,
    MicroFBeta,
    MicroJaccard,
    WeightedKappa,
)
from .constrained import Constrained
from .means import BalancedAccuracy, GMean, HMean, MinRate, QMean, WeightedMin
from .others import FowlkesMallows, FunctionMeasure, MatthewsCorrelation, takes_one_argument
from .ratios import CohenKappa, CostMatrix, FBeta, GowerLegendre, Jaccard, NetBenefit, PseudoLinear, Tversky
from .recalls import GMeanOfRecalls, HMeanOfRecalls, MeanRecall, QMeanOfRecalls, WorstRecall

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
    "recall-at-alert-rate-0.02": RecallAtAlertRate(0.02),
}

# The usual measures with more than two classes; other measures are averaged over the classes.
_CONFUSION_REGISTRY: dict[str, ConfusionMeasure] = {
    "worst-recall": WorstRecall(),
    "min": WorstRecall(),
    "gmean": GMeanOfRecalls(),
    "hmean": HMeanOfRecalls(),
    "qmean": QMeanOfRecalls(),
    "balanced-accuracy": MeanRecall(),
    "accuracy": Accuracy(),
    "mcc": ClassCorrelation(),
    "kappa": WeightedKappa(),
    "linear-kappa": WeightedKappa("linear"),
    "quadratic-kappa": WeightedKappa("quadratic"),
    "micro-f1": MicroFBeta(),
    "micro-jaccard": MicroJaccard(),
}

# Names that end in a number from the user: "f3", "recall-at-precision-0.95".
_FAMILIES: dict[str, Callable[[float], Measure]] = {
    "f": FBeta,
    "tpr-at-tnr": TPRAtTNR,
    "tpr-at-fpr": TPRAtFPR,
    "recall-at-precision": RecallAtPrecision,
    "precision-at-recall": PrecisionAtRecall,
    "recall-at-alert-rate": RecallAtAlertRate,
}
# Bounds at the end of a name: "f1-at-tpr-gap-0.05", "macro-f1-at-recall-0.5"; several may follow one another.
_BOUNDED = ("tpr", "tnr", "recall", "precision", "alert_rate", "tpr_gap", "fpr_gap", "alert_rate_gap")
_BOUND = re.compile(
    r"[\s_-]*at[\s_-]*((?:tpr|fpr|alert[\s_-]*rate)[\s_-]*gap|tpr|tnr|recall|precision|alert[\s_-]*rate)"
    r"[\s_-]*(\d+\.?\d*|\.\d+)(?=[\s_-]*at|\s*$)"
)
_LARGEST_BETA = 10.0  # in a name: "f11" is a typing error
_NUMBERED = re.compile(r"(?P<stem>.*?)[\s_-]*(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)")


def _plain(name: str) -> str:
    """Return a name without case, spaces, underscores and hyphens, which people write in different ways."""
    return re.sub(r"[\s_-]+", "", name.lower())


_PLAIN_NAMES = {_plain(name): name for name in _REGISTRY}
_PLAIN_CONFUSION = {_plain(name): measure for name, measure in _CONFUSION_REGISTRY.items()}
_PLAIN_FAMILIES = {_plain(name): kind for name, kind in _FAMILIES.items()}


def measure_names(*, many_classes: bool = False) -> list[str]:
    """Return the names of the registry; :func:`get_measure` accepts other numbers in them too.

    ``many_classes`` returns the names for more than two classes, for :func:`confusion_measure`.

    Examples
    --------
    >>> from ratewise.measures import measure_names
    >>> measure_names()[:4]
    ['min', 'hmean', 'qmean', 'gmean']
    """
    return list(_CONFUSION_REGISTRY | _REGISTRY) if many_classes else list(_REGISTRY)


def get_measure(measure: str | Measure | ConfusionMeasure | Callable[..., Any]) -> Measure:
    """Return a measure by its name; a measure is returned as it is, a function is wrapped in one.

    Case, spaces, underscores and hyphens do not matter. A number at the end of a name may vary: "f3", "f0.25",
    "recall-at-precision-0.95", "precision-at-recall-0.5", "tpr-at-fpr-0.001", "tpr-at-tnr-0.5",
    "recall-at-alert-rate-0.01". Bounds may follow any name (:class:`Constrained`): "f1-at-alert-rate-0.02",
    "gmean-at-tpr-gap-0.1-at-fpr-gap-0.1", and of more than two classes "macro-f1-at-recall-0.5".

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> get_measure("G-mean"), get_measure("f3")
    (GMean(), FBeta(beta=3.0))
    >>> get_measure(lambda tpr, tnr: tpr * tnr).value(0.5, 0.5)
    0.25
    """
    if isinstance(measure, str):
        measure = _named(measure)
    if isinstance(measure, Constrained) and measure.only_of_many:
        raise ValueError(
            f"{measure.label} is of more than two classes; of two, bound tpr=, tnr=, precision= or alert_rate= by "
            "a number, and name a measure of two rates."
        )
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, ConfusionMeasure):
        raise ValueError(f"{measure.label} is a measure of more than two classes; of two: {', '.join(_REGISTRY)}.")
    if isinstance(measure, type) and issubclass(measure, Measure):
        raise ValueError(f"measure={measure.__name__} is a class; write {measure.__name__}(...) for one of it.")
    if callable(measure) and not isinstance(measure, type):
        return FunctionMeasure(measure)
    raise ValueError(
        f"measure must be a name, a Measure or a function of (tpr, tnr); got {measure!r} of type "
        f"{type(measure).__name__}."
    )


def two_class_measure(measure: Any) -> Measure | None:
    """Return the measure of two rates with this name; None for a measure that needs more than two classes."""
    if isinstance(measure, ConfusionMeasure):
        return None
    if isinstance(measure, str) and _is_of_many_classes(measure):
        confusion_measure(measure)  # raises an error for an unknown measure
        return None
    if callable(measure) and not isinstance(measure, (Measure, type)) and takes_one_argument(measure):
        return None
    return get_measure(measure)


def confusion_measure(
    measure: str | Measure | ConfusionMeasure | Callable[..., Any], classes: ArrayLike | None = None
) -> ConfusionMeasure:
    """Return a measure of any number of classes by its usual name.

    "f1" is the macro average, "gmean" the geometric mean of the recalls, "min" the worst recall. "mcc", "kappa",
    "accuracy" and "balanced-accuracy" are as in scikit-learn. "linear-kappa", "quadratic-kappa", "micro-f1" and
    "micro-jaccard" are other names. Other measures of two rates are averaged over the classes, each against the
    rest. A function of one argument receives C[true, predicted]. ``classes`` are the labels in order, to which
    bounds on single classes refer.

    Examples
    --------
    >>> from ratewise.measures import confusion_measure
    >>> confusion_measure("f1"), confusion_measure("min")
    (MacroAverage(measure=FBeta(beta=1.0)), WorstRecall())
    """
    if isinstance(measure, Constrained):
        measure = measure.of_many()
    if isinstance(measure, ConstrainedClasses) and classes is not None:
        return measure.of_classes(classes)
    if isinstance(measure, ConfusionMeasure):
        return measure
    if isinstance(measure, str):
        known = _PLAIN_CONFUSION.get(_plain(measure))
        if known is not None:
            return known
        bounded = _with_bounds(measure.strip().lower())
        if bounded is not None:
            return confusion_measure(bounded, classes)
        kind, _, of_two = measure.strip().lower().partition("-")
        if kind == "macro" and of_two:
            return MacroAverage(_named(of_two))
        if kind == "micro" and of_two:
            found = _named(of_two)
            if isinstance(found, FBeta):
                return MicroFBeta(found.beta)
    if callable(measure) and not isinstance(measure, Measure) and takes_one_argument(measure):
        return FunctionOfCounts(measure)
    two_rates = get_measure(measure)
    return _CONFUSION_REGISTRY.get(measure_name(two_rates), MacroAverage(two_rates))


def one_vs_rest_measure(measure: str | Measure | ConfusionMeasure | Callable[..., Any]) -> Measure:
    """Return the measure of two rates for one class against the rest.

    It is the measure itself, or the measure of the same name for two classes, or balanced accuracy.

    Examples
    --------
    >>> from ratewise.measures import one_vs_rest_measure
    >>> one_vs_rest_measure("f1"), one_vs_rest_measure("worst-recall")
    (FBeta(beta=1.0), MinRate())
    """
    if isinstance(measure, str):
        measure = _with_bounds(measure.strip().lower()) or measure
    if isinstance(measure, (Constrained, ConstrainedClasses)) and getattr(measure, "only_of_many", True):
        measure = measure.measure
    if isinstance(measure, str) and _is_of_many_classes(measure):
        measure = confusion_measure(measure)
    elif callable(measure) and not isinstance(measure, Measure) and takes_one_argument(measure):
        return BalancedAccuracy()
    if not isinstance(measure, ConfusionMeasure):
        return get_measure(measure)
    if isinstance(measure, MacroAverage):
        return measure.measure
    names = (name for name, known in _CONFUSION_REGISTRY.items() if known == measure and name in _REGISTRY)
    name = next(names, None)
    return BalancedAccuracy() if name is None else _REGISTRY[name]


def measure_name(measure: Measure | ConfusionMeasure) -> str:
    """Return a name by which :func:`get_measure` returns this measure; its label if there is none.

    Examples
    --------
    >>> from ratewise.measures import RecallAtPrecision, measure_name
    >>> measure_name(RecallAtPrecision(0.75))
    'recall-at-precision-0.75'
    """
    if isinstance(measure, ConstrainedClasses):
        return next(iter(_name_with_bounds(measure)), measure.label)
    if isinstance(measure, ConfusionMeasure):
        if isinstance(measure, MacroAverage):
            return f"macro-{measure_name(measure.measure)}"
        return next((name for name, known in _CONFUSION_REGISTRY.items() if known == measure), measure.label)
    numbered = (
        f"{stem}{'' if kind is FBeta else '-'}{next(iter(vars(measure).values())):g}"
        for stem, kind in _FAMILIES.items()
        if type(measure) is kind
    )
    known = (*_REGISTRY, *numbered, *_name_with_bounds(measure))
    return next((name for name in known if _named(name) == measure), measure.label)


def _name_with_bounds(measure: Measure | ConfusionMeasure) -> list[str]:
    """Return the name of a measure with bounds, if its own measure has a name and the bounds are numbers."""
    if not isinstance(measure, (Constrained, ConstrainedClasses)):
        return []
    inner, given = measure_name(measure.measure), {name: getattr(measure, name, None) for name in _BOUNDED}
    levels = {name: level for name, level in given.items() if level is not None}
    if inner == measure.measure.label or not all(isinstance(level, (int, float)) for level in levels.values()):
        return []
    return ["".join([inner, *(f"-at-{name.replace('_', '-')}-{level:g}" for name, level in levels.items())])]


def _is_of_many_classes(name: str) -> bool:
    """Return whether a name belongs only to a measure of more than two classes."""
    plain = _plain(name)
    return plain not in _PLAIN_NAMES and (plain in _PLAIN_CONFUSION or plain.startswith(("macro", "micro")))


def _with_bounds(name: str) -> Constrained | None:
    """Return the measure for a name with bounds at its end; None for other names."""
    found = list(_BOUND.finditer(name))
    if not found or found[0].start() == 0 or _BOUND.sub("", name)[found[0].start() :].strip():
        return None
    # "recall-at-precision-0.9" is a measure, which other bounds may follow.
    begins = [one.start() for one in found]
    inners = [k for k, begin in enumerate(begins) if _is_named(name[:begin])]
    if not inners:
        return None
    first = inners[0]
    levels: dict[str, Any] = {_field_of(one[1]): float(one[2]) for one in found[first:]}
    if len(levels) < len(found[first:]):
        raise ValueError(f"There is no measure {name!r}: it bounds the same rate or difference twice.")
    try:
        return Constrained(name[: begins[first]], **levels)  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(f"There is no measure {name!r}. {error}") from None


def _field_of(words: str) -> str:
    """Return the parameter of Constrained for the bound in these words."""
    plain = _plain(words)
    return next(name for name in _BOUNDED if _plain(name) == plain)


def _is_named(name: str) -> bool:
    try:
        two_class_measure(name)
    except ValueError:
        return False
    return True


_RANKING_NAMES = {"rocauc", "auc", "auroc", "averageprecision", "ap", "prauc", "auprc", "aucpr"}
_PROBABILITY_NAMES = {"logloss", "neglogloss", "crossentropy", "brier", "brierscore", "negbrierscore"}
_SINGLE_RATES = {"precision", "ppv", "npv", "recall", "sensitivity", "specificity", "tpr", "tnr", "fpr", "fnr"}

# Endings of scikit-learn's and imbalanced-learn's names.
_ENDING = re.compile(r"[ _-]?(score|corrcoef|binary)$")
_AVERAGED = re.compile(r"(\w+?)[ _-](macro|micro)")


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
    bounded = _with_bounds(name.lower())
    if bounded is not None:
        return bounded
    if _is_of_many_classes(name):
        raise ValueError(f"{name!r} is a measure of more than two classes; of two: {', '.join(_REGISTRY)}.")
    if _plain(name) in _RANKING_NAMES:
        raise ValueError(
            f"{name!r} is about the order of all rows, and a measure here is about a decision at one threshold: "
            "take 'balanced-accuracy' or 'gmean', or 'tpr-at-fpr-0.01' or 'recall-at-precision-0.9' for the part "
            "of the order that matters."
        )
    if _plain(name) in _PROBABILITY_NAMES:
        raise ValueError(
            f"{name!r} is about probabilities, and a measure here is about a decision at one threshold: take 'f1' "
            "or 'gmean', or 'cost' if you know what each kind of mistake costs."
        )
    if _plain(name) in _SINGLE_RATES:
        raise ValueError(
            f"{name!r} alone is best where all rows are predicted to be of one class. Bound another rate: "
            "'recall-at-precision-0.9', 'precision-at-recall-0.8' or 'tpr-at-fpr-0.01'."
        )
    near = _near(name.lower())
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    numbers = f"Other numbers than these may follow {', '.join(map(repr, _FAMILIES))}."
    raise ValueError(f"There is no measure {name!r}.{hint} Known: {', '.join(_REGISTRY)}. {numbers}")


def _near(name: str) -> list[str]:
    """Return known names similar to this one, which may be a scikit-learn name such as "f1_score" or
    "f1_macro"."""
    averaged = _AVERAGED.fullmatch(name)
    if averaged and _is_of_many_classes(swapped := f"{averaged[2]}-{averaged[1]}"):
        return [swapped]
    name = _ENDING.sub("", name)
    return [name] if name in _REGISTRY else difflib.get_close_matches(name, _REGISTRY, n=3, cutoff=0.3)


__all__ = [
    "Accuracy",
    "BalancedAccuracy",
    "Bound",
    "ClassCorrelation",
    "ClassCosts",
    "CohenKappa",
    "ConcaveMeasure",
    "ConfusionMeasure",
    "Constrained",
    "ConstrainedClasses",
    "Constraint",
    "ConstraintWarning",
    "CostMatrix",
    "FBeta",
    "FowlkesMallows",
    "FunctionMeasure",
    "FunctionOfCounts",
    "GMean",
    "GMeanOfRecalls",
    "Gap",
    "GowerLegendre",
    "HMean",
    "HMeanOfRecalls",
    "Jaccard",
    "MacroAverage",
    "MatthewsCorrelation",
    "MeanRecall",
    "Measure",
    "MeasureAtPrevalence",
    "MicroFBeta",
    "MicroJaccard",
    "MinRate",
    "NetBenefit",
    "PenalisedTPR",
    "PrecisionAtRecall",
    "PseudoLinear",
    "PseudoLinearAtPrevalence",
    "PseudoLinearCoefficients",
    "PseudoLinearMeasure",
    "QMean",
    "QMeanOfRecalls",
    "Rates",
    "RatesInterval",
    "RecallAtAlertRate",
    "RecallAtPrecision",
    "RecallAtPrecisionAndPrevalence",
    "TPRAtFPR",
    "TPRAtTNR",
    "Tversky",
    "UnknownRateWarning",
    "WeightedKappa",
    "WeightedMin",
    "WorstRecall",
    "at_prevalence",
    "confusion_measure",
    "get_measure",
    "measure_name",
    "measure_names",
    "one_vs_rest_measure",
    "rates_from_labels",
]
