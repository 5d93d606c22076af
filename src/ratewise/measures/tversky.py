"""The Tversky index: overlap with a separate price for each kind of mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .base import PseudoLinearCoefficients, PseudoLinearMeasure, require_positive


@dataclass(frozen=True)
class Tversky(PseudoLinearMeasure):
    """TP / (TP + alpha FP + beta FN): ``alpha`` prices false positives, ``beta`` false negatives.

    At alpha = beta = 1/2 it is F1, at alpha = beta = 1 Jaccard; alpha + beta = 1 gives the F-betas. The default
    favours recall, as is customary in medical imaging. In the rates, with theta = (1 - p) / p:
    P / (beta + alpha theta + (1 - beta) P - alpha theta N).
    """

    monotone: ClassVar[bool] = True

    alpha: float = 0.3
    beta: float = 0.7

    def __post_init__(self) -> None:
        require_positive(self, "alpha", "beta")

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        p, alarms = prevalence, self.alpha * (1.0 - prevalence)
        return PseudoLinearCoefficients((0.0, p, 0.0), (self.beta * p + alarms, (1.0 - self.beta) * p, -alarms))
