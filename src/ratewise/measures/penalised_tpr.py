"""The true positive rate under a constraint, as a concave measure."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from .base import ConcaveMeasure


class PenalisedTPR(ConcaveMeasure):
    """TPR, less a penalty in proportion where a bound that is linear in the rates is missed.

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
        """(c0, c1, c2); compiled along with the rest."""

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
        """Both rates weighed about alike: the segment's ends may be hundreds of steps away from the optimum."""
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
