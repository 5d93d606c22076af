"""Measures under bounds: a rate or the precision, under a bound on another rate."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..counts import Rates
from ._rates import Bound, bound_on
from .base import ConcaveMeasure, Measure, require_not_negative, require_positive, require_share


def confidence_field() -> Any:
    """Return the dataclass field of a confidence, which may be None; compiled code does not receive it."""
    return field(default=0.9, metadata={"compiled": False})


class PenalisedTPR(ConcaveMeasure):
    """TPR, minus a proportional penalty if a bound that is linear in the rates is missed.

    Psi(P, N) = P + penalty min(0, c0 + c1 P + c2 N). Its slopes are (1, 0) where the bound holds and
    (1 + penalty c1, penalty c2) where it does not, so its dual region is the segment between the two. At a share s
    of the segment, the conjugate is -s penalty c0. A subclass is a frozen dataclass with a ``penalty`` and defines
    ``line``.

    Examples
    --------
    >>> from ratewise.measures import PenalisedTPR, TPRAtTNR
    >>> isinstance(TPRAtTNR(0.99), PenalisedTPR)
    True
    """

    smooth: ClassVar[bool] = False
    monotone: ClassVar[bool] = True
    penalty: float

    @abstractmethod
    def line(self) -> tuple[float, float, float]:
        """Return (c0, c1, c2); runs inside the compiled loop too."""

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        constant, on_tpr, on_tnr = self.line()
        excess = constant + on_tpr * np.asarray(tpr) + on_tnr * np.asarray(tnr)
        return (np.asarray(tpr) + self.penalty * np.minimum(excess, 0.0))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        constant, on_tpr, on_tnr = self.line()
        excess = constant + on_tpr * tpr + on_tnr * tnr
        share = 0.5 if excess == 0.0 else float(excess < 0.0)
        return 1.0 + share * self.penalty * on_tpr, share * self.penalty * on_tnr

    def project(self, alpha: float, beta: float, epsilon: float = 0.0) -> tuple[float, float]:
        _, on_tpr, on_tnr = self.line()
        share = ((alpha - 1.0) * on_tpr + beta * on_tnr) / (self.penalty * (on_tpr * on_tpr + on_tnr * on_tnr))
        share = min(max(share, 0.0), 1.0)
        return 1.0 + share * self.penalty * on_tpr, share * self.penalty * on_tnr

    def first_pair(self) -> tuple[float, float]:
        """Return about equal weights: the ends of the segment may be hundreds of steps away from the optimum."""
        _, on_tpr, on_tnr = self.line()
        share = min(1.0 / (self.penalty * on_tnr), 1.0)
        return 1.0 + share * self.penalty * on_tpr, share * self.penalty * on_tnr

    def conjugate(self, alpha: float, beta: float) -> float:
        by_alpha, by_beta = self.conjugate_gradient(alpha, beta)
        return by_alpha * (alpha - 1.0) + by_beta * beta

    def conjugate_gradient(self, alpha: float, beta: float) -> tuple[float, float]:
        constant, on_tpr, on_tnr = self.line()
        factor = -constant / (on_tpr * on_tpr + on_tnr * on_tnr)
        return factor * on_tpr, factor * on_tnr

    def stability(self, epsilon: float) -> float:
        _, on_tpr, on_tnr = self.line()
        return (1.0 + self.penalty * (on_tpr + on_tnr)) * epsilon


@dataclass(frozen=True)
class TPRAtTNR(PenalisedTPR):
    """The largest TPR at which at least this share of the negatives is predicted negative.

    Its value is TPR - penalty max(0, FPR / (1 - tnr) - 1): twice the false positives allowed cost ``penalty``. On
    a concave ROC curve a penalty of 1 or more is exact, that is, the best point keeps the bound: the curve cannot
    be steeper there than 1 / (1 - tnr).

    Parameters
    ----------
    tnr : float
        The lowest TNR allowed, below 1.
    penalty : float
    margin : float
        Used where ``confidence`` is None: standard errors by which the bound must hold on the rows that choose the
        threshold.
    confidence : float or None
        The probability, over the draw of the training rows, with which the fitted model keeps the bound on new
        rows. With None nothing is promised, and ``margin`` is used.

    Examples
    --------
    >>> from ratewise.measures import TPRAtTNR
    >>> round(float(TPRAtTNR(0.95).value(0.7, 0.96)), 3)
    0.7
    """

    tnr: float = 0.99
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = confidence_field()

    def __post_init__(self) -> None:
        check_parameters(self, "tnr")

    def line(self) -> tuple[float, float, float]:
        allowed = 1.0 - self.tnr
        return -self.tnr / allowed, 0.0, 1.0 / allowed

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return (bound_on("tnr", self.tnr, self.margin, self.confidence),)


@dataclass(frozen=True)
class TPRAtFPR(PenalisedTPR):
    """The largest TPR at which at most this share of the negatives is predicted positive.

    ``TPRAtFPR(0.01)`` is ``TPRAtTNR(0.99)``, in terms of the false positive rate.

    Parameters
    ----------
    fpr : float
        The highest FPR allowed, above 0.
    penalty : float
        The cost of twice the allowed false positives.
    margin : float
        Used where ``confidence`` is None: standard errors by which the bound must hold on the rows that choose the
        threshold.
    confidence : float or None
        The probability, over the draw of the training rows, with which the fitted model keeps the bound on new
        rows. With None nothing is promised, and ``margin`` is used.

    Examples
    --------
    >>> from ratewise.measures import TPRAtFPR
    >>> round(float(TPRAtFPR(0.05).value(0.7, 0.96)), 3)
    0.7
    """

    fpr: float = 0.01
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = confidence_field()

    def __post_init__(self) -> None:
        check_parameters(self, "fpr")

    def line(self) -> tuple[float, float, float]:
        return 1.0 - 1.0 / self.fpr, 0.0, 1.0 / self.fpr

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return (bound_on("fpr", self.fpr, self.margin, self.confidence),)


@dataclass(frozen=True)
class RecallAtPrecision(Measure):
    """The largest recall at which at least this share of the rows predicted positive are positive.

    Its value is TPR - penalty max(0, price FPR - TPR), where ``price`` is the TPR that a unit of FPR needs for the
    precision to hold: precision / (1 - precision) times (1 - p) / p. At a given prevalence it is concave, and
    :meth:`at_prevalence` returns the measure that SPADE can maximize.

    Parameters
    ----------
    precision : float
        The lowest precision allowed, below 1.
    penalty : float
        Exact where the odds that the row at the threshold is positive are below penalty / (1 + penalty) of the
        odds asked for. Thresholds are chosen by the bound itself, whatever the penalty.
    margin : float
        Used where ``confidence`` is None: standard errors by which the bound must hold on the rows that choose the
        threshold.
    confidence : float or None
        The probability, over the draw of the training rows, with which the fitted model keeps the bound on new
        rows. With None nothing is promised, and ``margin`` is used.

    Examples
    --------
    >>> from ratewise.measures import RecallAtPrecision
    >>> round(float(RecallAtPrecision(0.8).value(0.6, 0.95, 0.5)), 3)
    0.6
    """

    precision: float = 0.9
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = confidence_field()

    smooth: ClassVar[bool] = False
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_parameters(self, "precision")

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        (bound,) = self.constraints(self.require_prevalence(prevalence))
        return (np.asarray(tpr) + self.penalty * np.minimum(bound.excess(tpr, tnr), 0.0))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        return self.at_prevalence(self.require_prevalence(prevalence)).slopes(tpr, tnr)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return (bound_on("precision", self.precision, self.margin, self.confidence),)

    def at_prevalence(self, prevalence: float) -> RecallAtPrecisionAndPrevalence:
        """Return the same measure at this prevalence, where it is concave."""
        return RecallAtPrecisionAndPrevalence(
            self.precision, float(prevalence), self.penalty, self.margin, self.confidence
        )


@dataclass(frozen=True)
class RecallAtPrecisionAndPrevalence(PenalisedTPR):
    """Recall at a given precision on data with a known prevalence: a concave measure, for SPADE.

    Examples
    --------
    >>> from ratewise.measures import RecallAtPrecision
    >>> at_ten_percent = RecallAtPrecision(0.5).at_prevalence(0.1)
    >>> round(float(at_ten_percent.value(0.6, 0.95)), 3)
    0.6
    """

    precision: float
    prevalence: float
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = confidence_field()

    def line(self) -> tuple[float, float, float]:
        positives = max(self.prevalence, 1e-12)
        price = self.precision * (1.0 - self.prevalence) / ((1.0 - self.precision) * positives)
        return -price, 1.0, price

    @property
    def bounds(self) -> tuple[Bound, ...]:
        bound = bound_on("precision", self.precision, self.margin, self.confidence)
        return (bound._replace(prevalence=self.prevalence),)


@dataclass(frozen=True)
class PrecisionAtRecall(Measure):
    """The largest precision at which at least this share of the positives is found.

    Its value is the precision - penalty max(0, 1 - TPR / recall); the precision is 0 where no row is predicted
    positive. Sharpening maximizes it.

    Parameters
    ----------
    recall : float
        The lowest TPR allowed.
    penalty : float
        Thresholds are chosen by the bound itself, whatever the penalty.
    margin : float
        Used where ``confidence`` is None: standard errors by which the bound must hold on the rows that choose the
        threshold.
    confidence : float or None
        The probability, over the draw of the training rows, with which the fitted model keeps the bound on new
        rows. With None nothing is promised, and ``margin`` is used.

    Examples
    --------
    >>> from ratewise.measures import PrecisionAtRecall
    >>> round(float(PrecisionAtRecall(0.8).value(0.85, 0.9, 0.5)), 3)
    0.895
    """

    recall: float = 0.8
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = confidence_field()

    smooth: ClassVar[bool] = False
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_parameters(self, "recall")

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        precision = Rates(tpr, tnr, self.require_prevalence(prevalence)).precision
        (bound,) = self.constraints(prevalence)
        return (precision + self.penalty * np.minimum(bound.excess(tpr, tnr), 0.0))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        p = float(self.require_prevalence(prevalence))
        true_positives, false_positives = p * tpr, (1.0 - p) * (1.0 - tnr)
        squared = max((true_positives + false_positives) ** 2, 1e-18)
        missed = self.penalty / self.recall if tpr < self.recall else 0.0
        return p * false_positives / squared + missed, (1.0 - p) * true_positives / squared

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return (bound_on("tpr", self.recall, self.margin, self.confidence),)


@dataclass(frozen=True)
class RecallAtAlertRate(Measure):
    """The largest recall where at most this share of all rows is predicted positive: an alert budget.

    Beyond the budget the value is the recall of as many alerts as it allows, drawn at random:
    TPR min(1, alert_rate / share of rows predicted positive). Where the budget is used up, the best recall is the
    best precision too.

    Parameters
    ----------
    alert_rate : float
        The largest share of rows that may be predicted positive, below 1.
    margin : float
        Used where ``confidence`` is None: standard errors by which the bound must hold on the rows that choose the
        threshold.
    confidence : float or None
        The probability, over the draw of the training rows, with which the fitted model keeps the bound on new
        rows. With None nothing is promised, and ``margin`` is used.

    Examples
    --------
    >>> from ratewise.measures import RecallAtAlertRate
    >>> round(float(RecallAtAlertRate(0.02).value(0.7, 0.99, 0.01)), 3)
    0.7
    """

    alert_rate: float = 0.02
    margin: float = 0.5
    confidence: float | None = confidence_field()

    smooth: ClassVar[bool] = False
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_parameters(self, "alert_rate")

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        alerts = _alerts(tpr, tnr, self.require_prevalence(prevalence))
        return (np.asarray(tpr) * np.minimum(self.alert_rate / np.maximum(alerts, 1e-300), 1.0))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        p = float(self.require_prevalence(prevalence))
        alerts = float(_alerts(tpr, tnr, p))
        if alerts <= self.alert_rate:
            return 1.0, 0.0
        per_negative = self.alert_rate * (1.0 - p) / alerts**2
        return per_negative * (1.0 - tnr), per_negative * tpr

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return (bound_on("alert_rate", self.alert_rate, self.margin, self.confidence),)

    def scale(self, prevalence: float) -> tuple[float, float]:
        return 0.0, min(self.alert_rate / prevalence, 1.0) if prevalence > 0.0 else 1.0


def _alerts(tpr: Any, tnr: Any, prevalence: Any) -> Any:
    """Return the share of all rows predicted positive."""
    p = np.asarray(prevalence)
    return p * np.asarray(tpr) + (1.0 - p) * (1.0 - np.asarray(tnr))


def check_parameters(measure: Measure, *bounds: str) -> None:
    """Refuse bounds, penalties, margins and confidences out of range."""
    require_share(measure, *bounds)
    if hasattr(measure, "penalty"):
        require_positive(measure, "penalty")
    require_not_negative(measure, "margin")
    if getattr(measure, "confidence") is not None:  # noqa: B009 - not every measure has one
        require_share(measure, "confidence")
