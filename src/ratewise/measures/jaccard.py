"""The Jaccard coefficient of the positive class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .base import PseudoLinearCoefficients, PseudoLinearMeasure


@dataclass(frozen=True)
class Jaccard(PseudoLinearMeasure):
    """TP / (TP + FP + FN): the overlap of the true and the predicted positives.

    In the rates, with theta = (1 - p) / p: P / (1 + theta - theta N).
    """

    monotone: ClassVar[bool] = True

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        n = 1.0 - prevalence
        return PseudoLinearCoefficients((0.0, prevalence, 0.0), (1.0, 0.0, -n))
