"""The Gower-Legendre coefficient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .base import PseudoLinearCoefficients, PseudoLinearMeasure, require_positive


@dataclass(frozen=True)
class GowerLegendre(PseudoLinearMeasure):
    """(TP + TN) / (TP + sigma (FP + FN) + TN): accuracy with mistakes counted sigma times.

    In the rates, with theta = (1 - p) / p:
    (P + theta N) / (sigma (1 + theta) + (1 - sigma) P + theta (1 - sigma) N). At sigma = 1 it is the accuracy.
    """

    monotone: ClassVar[bool] = True

    sigma: float = 0.5

    def __post_init__(self) -> None:
        require_positive(self, "sigma")

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        p, n = prevalence, 1.0 - prevalence
        rest = 1.0 - self.sigma
        return PseudoLinearCoefficients((0.0, p, n), (self.sigma, rest * p, rest * n))
