"""The quadratic mean of the two rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import ConcaveMeasure

_RADIUS = math.sqrt(0.5)


@dataclass(frozen=True)
class QMean(ConcaveMeasure):
    """1 - sqrt(((1 - TPR)^2 + (1 - TNR)^2) / 2): one minus the distance from the perfect classifier.

    Its dual region is the quarter disc of radius sqrt(1/2). It is the one measure of Table 1 whose conjugate
    is not zero there: alpha + beta - 1, with gradient (1, 1).
    """

    monotone: ClassVar[bool] = True

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        return 1.0 - np.sqrt(0.5 * ((1.0 - np.asarray(tpr)) ** 2 + (1.0 - np.asarray(tnr)) ** 2))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        miss = math.hypot(1.0 - tpr, 1.0 - tnr)
        if miss == 0.0:
            return 0.5, 0.5
        return _RADIUS * (1.0 - tpr) / miss, _RADIUS * (1.0 - tnr) / miss

    def project(self, alpha: float, beta: float, epsilon: float = 0.0) -> tuple[float, float]:
        # A ball around the apex of a cone: projecting on the cone, then on the ball, is exact.
        alpha, beta = max(alpha, 0.0), max(beta, 0.0)
        squared = alpha * alpha + beta * beta
        if squared > 0.5:
            shrink = _RADIUS / math.sqrt(squared)
            alpha, beta = alpha * shrink, beta * shrink
        return alpha, beta

    def conjugate(self, alpha: float, beta: float) -> float:
        return alpha + beta - 1.0

    def conjugate_gradient(self, alpha: float, beta: float) -> tuple[float, float]:
        return 1.0, 1.0

    def stability(self, epsilon: float) -> float:
        return epsilon
