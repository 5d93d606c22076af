"""Measures under bounds: a rate or the precision where another one is high enough."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ._rates import Constraint, Rates, precision_at_least, tnr_at_least, tpr_at_least
from .base import ConcaveMeasure, Measure, require_not_negative, require_positive, require_share


def _confidence() -> Any:
    """Return the field of a confidence, which may be None: compiled code, which has no use for it, gets none."""
    return field(default=0.9, metadata={"compiled": False})


class PenalisedTPR(ConcaveMeasure):
    """TPR, less a proportional penalty where a bound that is linear in the rates is missed.

    Psi(P, N) = P + penalty min(0, c0 + c1 P + c2 N). Its slopes are (1, 0) where the bound holds and
    (1 + penalty c1, penalty c2) where it does not, so its dual region is the segment between the two; at a share s
    of the way the conjugate is -s penalty c0. A subclass is a frozen dataclass with a ``penalty`` and writes
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
        rows. None promises nothing and goes by ``margin``.

    Examples
    --------
    >>> from ratewise.measures import TPRAtTNR
    >>> round(float(TPRAtTNR(0.95).value(0.7, 0.96)), 3)
    0.7
    """

    tnr: float = 0.99
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = _confidence()

    def __post_init__(self) -> None:
        _check_parameters(self, "tnr")

    def line(self) -> tuple[float, float, float]:
        allowed = 1.0 - self.tnr
        return -self.tnr / allowed, 0.0, 1.0 / allowed

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (tnr_at_least(self.tnr, self.margin, self.confidence),)


@dataclass(frozen=True)
class TPRAtFPR(PenalisedTPR):
    """The largest TPR at which at most this share of the negatives is predicted positive.

    ``TPRAtFPR(0.01)`` is ``TPRAtTNR(0.99)``, in terms of the false positive rate.

    Parameters
    ----------
    fpr : float
        The highest FPR allowed, above 0.
    penalty : float
        What twice the false positives allowed cost.
    margin : float
        Used where ``confidence`` is None: standard errors by which the bound must hold on the rows that choose the
        threshold.
    confidence : float or None
        The probability, over the draw of the training rows, with which the fitted model keeps the bound on new
        rows. None promises nothing and goes by ``margin``.

    Examples
    --------
    >>> from ratewise.measures import TPRAtFPR
    >>> round(float(TPRAtFPR(0.05).value(0.7, 0.96)), 3)
    0.7
    """

    fpr: float = 0.01
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = _confidence()

    def __post_init__(self) -> None:
        _check_parameters(self, "fpr")

    def line(self) -> tuple[float, float, float]:
        return 1.0 - 1.0 / self.fpr, 0.0, 1.0 / self.fpr

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (Constraint(f"an FPR of at most {self.fpr:g}", *self.line(), self.margin, self.confidence),)


@dataclass(frozen=True)
class RecallAtPrecision(Measure):
    """The largest recall at which at least this share of the rows predicted positive are positive.

    Its value is TPR - penalty max(0, price FPR - TPR), where ``price`` is the TPR that a unit of FPR needs for the
    precision to hold: precision / (1 - precision) times (1 - p) / p. At a given prevalence it is concave, and
    :meth:`at_prevalence` returns the measure that SPADE can maximise.

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
        rows. None promises nothing and goes by ``margin``.

    Examples
    --------
    >>> from ratewise.measures import RecallAtPrecision
    >>> round(float(RecallAtPrecision(0.8).value(0.6, 0.95, 0.5)), 3)
    0.6
    """

    precision: float = 0.9
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = _confidence()

    smooth: ClassVar[bool] = False
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_parameters(self, "precision")

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        bound = precision_at_least(self.precision, self.require_prevalence(prevalence), self.margin, None)
        return (np.asarray(tpr) + self.penalty * np.minimum(bound.excess(tpr, tnr), 0.0))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        return self.at_prevalence(self.require_prevalence(prevalence)).slopes(tpr, tnr)

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (precision_at_least(self.precision, prevalence, self.margin, self.confidence),)

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
    confidence: float | None = _confidence()

    def line(self) -> tuple[float, float, float]:
        positives = max(self.prevalence, 1e-12)
        price = self.precision * (1.0 - self.prevalence) / ((1.0 - self.precision) * positives)
        return -price, 1.0, price

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (precision_at_least(self.precision, self.prevalence, self.margin, self.confidence),)


@dataclass(frozen=True)
class PrecisionAtRecall(Measure):
    """The largest precision at which at least this share of the positives is found.

    Its value is the precision - penalty max(0, 1 - TPR / recall); the precision is 0 where no row is predicted
    positive. Sharpening maximises it.

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
        rows. None promises nothing and goes by ``margin``.

    Examples
    --------
    >>> from ratewise.measures import PrecisionAtRecall
    >>> round(float(PrecisionAtRecall(0.8).value(0.85, 0.9, 0.5)), 3)
    0.895
    """

    recall: float = 0.8
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = _confidence()

    smooth: ClassVar[bool] = False
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_parameters(self, "recall")

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        precision = Rates(tpr, tnr, self.require_prevalence(prevalence)).precision
        (bound,) = self.constraints(0.5)
        return (precision + self.penalty * np.minimum(bound.excess(tpr, tnr), 0.0))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        p = float(self.require_prevalence(prevalence))
        hits, alarms = p * tpr, (1.0 - p) * (1.0 - tnr)
        squared = max((hits + alarms) ** 2, 1e-18)
        missed = self.penalty / self.recall if tpr < self.recall else 0.0
        return p * alarms / squared + missed, (1.0 - p) * hits / squared

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (tpr_at_least(self.recall, self.margin, self.confidence),)


@dataclass(frozen=True)
class Constrained(Measure):
    """Maximise a measure among the thresholds that keep some bounds.

    Parameters
    ----------
    measure : Measure, name or function of the rates
        What to maximise.
    tpr, tnr, precision : float, optional
        The lowest each may be, between 0 and 1; at least one.
    penalty : float
        The value falls by this much where a bound is missed altogether. Thresholds are chosen by the bounds
        themselves, whatever the penalty.
    margin : float
        Used where ``confidence`` is None: standard errors by which the bounds must hold on the rows that choose
        the threshold.
    confidence : float or None
        The probability, over the draw of the training rows, with which the fitted model keeps all bounds on new
        rows. None promises nothing and goes by ``margin``.

    Examples
    --------
    >>> from ratewise.measures import Constrained
    >>> careful = Constrained("f1", tnr=0.95)
    >>> bool(careful.value(0.8, 0.96, 0.5) == careful.measure.value(0.8, 0.96, 0.5))
    True
    >>> bool(careful.value(0.9, 0.94, 0.5) < careful.measure.value(0.9, 0.94, 0.5))
    True
    """

    measure: Measure
    tpr: float | None = None
    tnr: float | None = None
    precision: float | None = None
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = _confidence()

    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        from . import get_measure  # the registry imports this file

        object.__setattr__(self, "measure", get_measure(self.measure))
        given = [name for name in ("tpr", "tnr", "precision") if getattr(self, name) is not None]
        if not given:
            raise ValueError("Constrained: give at least one of tpr, tnr and precision a lowest value.")
        _check_parameters(self, *given)

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        missed = sum(np.minimum(bound.excess(tpr, tnr), 0.0) for bound in self._own_constraints(prevalence))
        return (np.asarray(self.measure.value(tpr, tnr, prevalence)) + self.penalty * missed)[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        on_tpr, on_tnr = self.measure.slopes(tpr, tnr, prevalence)
        for bound in self._own_constraints(prevalence):
            if bound.excess(tpr, tnr) < 0:
                on_tpr += self.penalty * bound.on_tpr
                on_tnr += self.penalty * bound.on_tnr
        return on_tpr, on_tnr

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (*self.measure.constraints(prevalence), *self._own_constraints(prevalence))

    def scale(self, prevalence: float) -> tuple[float, float]:
        return self.measure.scale(prevalence)

    def _own_constraints(self, prevalence: Any) -> tuple[Constraint, ...]:
        bounds = [] if self.tpr is None else [tpr_at_least(self.tpr, self.margin, self.confidence)]
        if self.tnr is not None:
            bounds.append(tnr_at_least(self.tnr, self.margin, self.confidence))
        if self.precision is not None:
            bounds.append(
                precision_at_least(
                    self.precision, self.require_prevalence(prevalence), self.margin, self.confidence
                )
            )
        return tuple(bounds)


def _check_parameters(measure: Measure, *bounds: str) -> None:
    require_share(measure, *bounds)
    require_positive(measure, "penalty")
    require_not_negative(measure, "margin")
    if getattr(measure, "confidence") is not None:  # noqa: B009 - not every measure has one
        require_share(measure, "confidence")
