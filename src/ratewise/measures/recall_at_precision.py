"""Recall at a given precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ._rates import Constraint, precision_at_least
from .base import Measure, require_not_negative, require_positive, require_share
from .tpr_at_tnr import PenalisedTPR


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
        Standard errors by which the bound must hold on the rows that choose the threshold.
    """

    precision: float = 0.9
    penalty: float = 2.0
    margin: float = 0.5

    smooth: ClassVar[bool] = False
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_share(self, "precision")
        require_positive(self, "penalty")
        require_not_negative(self, "margin")

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        bound = precision_at_least(self.precision, self.require_prevalence(prevalence), self.margin)
        return (np.asarray(tpr) + self.penalty * np.minimum(bound.excess(tpr, tnr), 0.0))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        return self.at_prevalence(self.require_prevalence(prevalence)).slopes(tpr, tnr)

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (precision_at_least(self.precision, prevalence, self.margin),)

    def at_prevalence(self, prevalence: float) -> RecallAtPrecisionAndPrevalence:
        """Return the same measure at this prevalence, where it is concave."""
        return RecallAtPrecisionAndPrevalence(self.precision, float(prevalence), self.penalty, self.margin)


@dataclass(frozen=True)
class RecallAtPrecisionAndPrevalence(PenalisedTPR):
    """Recall at a given precision on data with a known prevalence: a concave measure, for SPADE."""

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
