"""The true positive rate at a given true negative rate."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ._rates import Constraint, tnr_at_least
from .base import ConcaveMeasure, require_not_negative, require_positive, require_share


class PenalisedTPR(ConcaveMeasure):
    """TPR, less a proportional penalty where a bound that is linear in the rates is missed.

    Psi(P, N) = P + penalty min(0, c0 + c1 P + c2 N). Its slopes are (1, 0) where the bound holds and
    (1 + penalty c1, penalty c2) where it does not, so its dual region is the segment between the two; at a share s
    of the way the conjugate is -s penalty c0. A subclass is a frozen dataclass with a ``penalty`` and writes
    ``line``.
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
        Standard errors by which the bound must hold on the rows that choose the threshold.
    """

    tnr: float = 0.99
    penalty: float = 2.0
    margin: float = 0.5

    def __post_init__(self) -> None:
        require_share(self, "tnr")
        require_positive(self, "penalty")
        require_not_negative(self, "margin")

    def line(self) -> tuple[float, float, float]:
        allowed = 1.0 - self.tnr
        return -self.tnr / allowed, 0.0, 1.0 / allowed

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (tnr_at_least(self.tnr, self.margin),)
