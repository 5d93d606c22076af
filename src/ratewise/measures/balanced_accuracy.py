"""Balanced accuracy: the plain mean of the two rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import ConcaveMeasure, PseudoLinearCoefficients, PseudoLinearMeasure


@dataclass(frozen=True)
class BalancedAccuracy(ConcaveMeasure, PseudoLinearMeasure):
    """(TPR + TNR) / 2: accuracy as if both classes were equally common.

    Youden's index is twice this less 1. It is linear, so it belongs to both families: its dual region is the one
    point (1/2, 1/2), and its valuation weighs the rates equally at every level.
    """

    monotone: ClassVar[bool] = True

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        return PseudoLinearCoefficients((0.0, 0.5, 0.5), (1.0, 0.0, 0.0))

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        return (0.5 * (np.asarray(tpr) + np.asarray(tnr)))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        return 0.5, 0.5

    def project(self, alpha: float, beta: float, epsilon: float = 0.0) -> tuple[float, float]:
        return 0.5, 0.5

    def stability(self, epsilon: float) -> float:
        return epsilon
