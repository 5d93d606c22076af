"""Recall at a given precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import Constraint, Measure
from .bounds import precision_at_least
from .checks import require_not_negative, require_positive, require_share
from .penalised_tpr import PenalisedTPR


@dataclass(frozen=True)
class RecallAtPrecision(Measure):
    """Find as many positives as you can while at least this share of what is called is right.

    Its value is TPR - penalty max(0, price FPR - TPR), where ``price`` is the TPR that a unit of FPR must be paid
    with for the precision to hold: precision / (1 - precision) times (1 - p) / p. At a given prevalence it is
    concave, and :meth:`at_prevalence` makes the measure that SPADE can maximise.

    Parameters
    ----------
    precision : float
        The lowest precision allowed, below 1.
    penalty : float
        Exact where the odds that the last row called is positive are below penalty / (1 + penalty) of the odds
        asked for. Thresholds are chosen by the bound itself, whatever the penalty.
    margin : float
        Standard errors by which the bound must hold on the rows that choose the threshold.
    """

    precision: float = 0.9
    penalty: float = 2.0
    margin: float = 0.5

    smooth: ClassVar[bool] = False
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_share("precision", self.precision, "RecallAtPrecision")
        require_positive("penalty", self.penalty, "RecallAtPrecision")
        require_not_negative("margin", self.margin, "RecallAtPrecision")

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        bound = precision_at_least(self.precision, self.require_prevalence(prevalence), self.margin)
        return (np.asarray(tpr) + self.penalty * np.minimum(bound.excess(tpr, tnr), 0.0))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        return self.at_prevalence(self.require_prevalence(prevalence)).slopes(tpr, tnr)

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (precision_at_least(self.precision, prevalence, self.margin),)

    def at_prevalence(self, prevalence: float) -> RecallAtPrecisionAndPrevalence:
        """The same at this share of positives, where it is concave."""
        return RecallAtPrecisionAndPrevalence(self.precision, float(prevalence), self.penalty, self.margin)


@dataclass(frozen=True)
class RecallAtPrecisionAndPrevalence(PenalisedTPR):
    """Recall at a given precision on data with a known share of positives: a concave measure, for SPADE."""

    precision: float
    prevalence: float
    penalty: float = 2.0
    margin: float = 0.5

    def line(self) -> tuple[float, float, float]:
        positives = max(self.prevalence, 1e-12)
        price = self.precision * (1.0 - self.prevalence) / ((1.0 - self.precision) * positives)
        return -price, 1.0, price

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (precision_at_least(self.precision, self.prevalence, self.margin),)
