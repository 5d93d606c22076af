"""The harmonic mean of the two rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import ConcaveMeasure


@dataclass(frozen=True)
class HMean(ConcaveMeasure):
    """2 TPR TNR / (TPR + TNR): high only if both rates are.

    Its dual region is {sqrt(alpha) + sqrt(beta) >= sqrt(2)} within the ball of radius 2. The boundary is the
    curve (2 s^2, 2 (1 - s)^2), s in [0, 1], which meets the ball in its two end points.
    """

    monotone: ClassVar[bool] = True

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        tpr, tnr = np.asarray(tpr, dtype=float), np.asarray(tnr, dtype=float)
        both = tpr + tnr
        return np.where(both > 0, 2.0 * tpr * tnr / np.where(both > 0, both, 1.0), 0.0)[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        both = tpr + tnr
        if both <= 0:
            return 0.5, 0.5
        return 2.0 * (tnr / both) ** 2, 2.0 * (tpr / both) ** 2

    def project(self, alpha: float, beta: float, epsilon: float = 0.0) -> tuple[float, float]:
        squared = alpha * alpha + beta * beta
        shrink = 2.0 / math.sqrt(squared) if squared > 4.0 else 1.0
        inner_alpha, inner_beta = alpha * shrink, beta * shrink
        if inner_alpha >= 0.0 and inner_beta >= 0.0:
            # The condition of the region, squared twice to remove the roots.
            rest = 2.0 - inner_alpha - inner_beta
            if rest <= 0.0 or 4.0 * inner_alpha * inner_beta >= rest * rest:
                return inner_alpha, inner_beta
        s = self.nearest_on_curve(alpha, beta)
        return 2.0 * s * s, 2.0 * (1.0 - s) * (1.0 - s)

    def nearest_on_curve(self, alpha: float, beta: float) -> float:
        """Return the s whose boundary point is nearest to a point below the curve.

        The distance is stationary where 2 s^3 - alpha s - 2 (1-s)^3 + beta (1-s) = 0. Below the curve
        alpha + beta < 2, so the left side increases in s and Newton's method, kept inside a bracket, is safe.
        """
        if beta >= 2.0:
            return 0.0
        if alpha >= 2.0:
            return 1.0
        low, high = 0.0, 1.0
        s = 0.5 * (math.sqrt(max(alpha, 0.0) / 2.0) + 1.0 - math.sqrt(max(beta, 0.0) / 2.0))
        for _ in range(60):
            r = 1.0 - s
            error = s * (2.0 * s * s - alpha) - r * (2.0 * r * r - beta)
            if error > 0.0:
                high = s
            else:
                low = s
            step = error / (6.0 * (s * s + r * r) - alpha - beta)
            s -= step
            if s <= low or s >= high:
                s = 0.5 * (low + high)
            elif abs(step) < 1e-5:  # the next would be of the order of its square
                break
        return s

    def stability(self, epsilon: float) -> float:
        return 4.0 * epsilon
