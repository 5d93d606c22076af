"""F-beta: the weighted harmonic mean of precision and recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .base import PseudoLinearCoefficients, PseudoLinearMeasure, require_positive


@dataclass(frozen=True)
class FBeta(PseudoLinearMeasure):
    """(1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP).

    ``beta`` above 1 favours recall, below 1 precision. In the rates, with theta = (1 - p) / p:
    (1 + beta^2) P / (beta^2 + theta + P - theta N).
    """

    monotone: ClassVar[bool] = True

    beta: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "beta")

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        p, n = prevalence, 1.0 - prevalence
        weight = self.beta * self.beta
        return PseudoLinearCoefficients((0.0, (1.0 + weight) * p, 0.0), (weight * p + n, p, -n))
