"""Net benefit: what decision curves show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .base import PseudoLinearCoefficients, PseudoLinearMeasure, require_share


@dataclass(frozen=True)
class NetBenefit(PseudoLinearMeasure):
    """TP / n - FP / n times t / (1 - t): true positives per row, less the false ones at their price.

    ``probability`` is t, the probability at which acting and not acting are worth the same to you: at 0.1 one
    true positive pays for nine false positives. The largest value is the prevalence; a model is of use if it beats
    0 (act on nobody) and p - (1 - p) t / (1 - t) (act on everybody). Linear in the rates.
    """

    monotone: ClassVar[bool] = True

    probability: float = 0.1

    def __post_init__(self) -> None:
        require_share(self, "probability")

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        price = (1.0 - prevalence) * self.probability / (1.0 - self.probability)
        return PseudoLinearCoefficients((-price, prevalence, price), (1.0, 0.0, 0.0))

    def scale(self, prevalence: float) -> tuple[float, float]:
        return max(0.0, float(self.value(1.0, 0.0, prevalence))), prevalence
