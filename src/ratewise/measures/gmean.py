"""The geometric mean of the two rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import ConcaveMeasure


@dataclass(frozen=True)
class GMean(ConcaveMeasure):
    """sqrt(TPR TNR): zero where one of the two rates is.

    Its dual region {alpha beta >= 1/4} reaches to infinity, because the slopes grow without bound as a rate
    nears zero. Where rewards stay in [epsilon, 1 + epsilon], a ball holds all the slopes that occur.
    """

    monotone: ClassVar[bool] = True
    lipschitz: ClassVar[bool] = False

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        return np.sqrt(np.maximum(np.asarray(tpr) * np.asarray(tnr), 0.0))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        tpr, tnr = max(tpr, 1e-6), max(tnr, 1e-6)
        return 0.5 * math.sqrt(tnr / tpr), 0.5 * math.sqrt(tpr / tnr)

    def project(self, alpha: float, beta: float, epsilon: float = 0.0) -> tuple[float, float]:
        squared_radius = self.squared_radius(epsilon) if epsilon > 0.0 else math.inf
        squared = alpha * alpha + beta * beta
        shrink = math.sqrt(squared_radius / squared) if squared > squared_radius else 1.0
        inner_alpha, inner_beta = alpha * shrink, beta * shrink
        if inner_alpha > 0.0 and inner_beta > 0.0 and inner_alpha * inner_beta >= 0.25:
            return inner_alpha, inner_beta
        on_alpha = self.nearest_on_hyperbola(alpha, beta)
        on_beta = 0.25 / on_alpha
        if on_alpha * on_alpha + on_beta * on_beta <= squared_radius:
            return on_alpha, on_beta
        # Neither projection lies in the other set, so the nearest point is a corner where both bounds bind.
        total = math.sqrt(squared_radius + 0.5)
        spread = math.sqrt(max(squared_radius - 0.5, 0.0))
        large, small = 0.5 * (total + spread), 0.5 * (total - spread)
        return (large, small) if alpha > beta else (small, large)

    def squared_radius(self, epsilon: float) -> float:
        """Return that of the ball which holds the slopes at rates in [epsilon, 1 + epsilon]: O(1 / epsilon)."""
        ratio = (1.0 + epsilon) / epsilon
        return 0.25 * (ratio + 1.0 / ratio)

    def nearest_on_hyperbola(self, alpha: float, beta: float) -> float:
        """Return the first coordinate of the point of alpha beta = 1/4 nearest to a point outside the region.

        It is the one positive root of x^3 (x - alpha) + (beta x - 1/4) / 4, found by Newton's method inside a
        bracket.
        """
        low = 0.0
        high = max(1.0, max(alpha, 0.0) + 0.25 * (0.25 + abs(beta)))
        if alpha > 0.0 and beta > 0.0:
            # Along the normal: right up to the square of the distance.
            x = min(alpha + (0.25 - alpha * beta) * beta / max(alpha * alpha + beta * beta, 1e-9), high)
        elif beta > 0.0:
            x = min(0.25 / beta, high)
        else:
            x = max(alpha, 0.5)
        for _ in range(100):
            error = x * x * x * (x - alpha) + 0.25 * (beta * x - 0.25)
            if error > 0.0:
                high = x
            else:
                low = x
            slope = x * x * (4.0 * x - 3.0 * alpha) + 0.25 * beta
            step = error / slope if slope > 0.0 else x
            x -= step
            if x <= low or x >= high:
                x = 0.5 * (low + high)
            elif abs(step) < 1e-6 * x:  # the next would be of the order of its square
                break
        return x

    def stability(self, epsilon: float) -> float:
        return 3.0 * math.sqrt(epsilon)
