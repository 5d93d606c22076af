"""Concave measures of the two rates: their minimum and their means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import ConcaveMeasure, PseudoLinearCoefficients, PseudoLinearMeasure, require_positive

_RADIUS = math.sqrt(0.5)


@dataclass(frozen=True)
class MinRate(ConcaveMeasure):
    """min(TPR, TNR): the worse of the two rates.

    Its dual region is the segment alpha + beta = 1 in the positive quadrant.

    Examples
    --------
    >>> from ratewise.measures import MinRate
    >>> round(float(MinRate().value(0.9, 0.4)), 3)
    0.4
    """

    monotone: ClassVar[bool] = True
    smooth: ClassVar[bool] = False

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        return np.minimum(tpr, tnr)

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        if tpr == tnr:
            return 0.5, 0.5
        return (1.0, 0.0) if tpr < tnr else (0.0, 1.0)

    def project(self, alpha: float, beta: float, epsilon: float = 0.0) -> tuple[float, float]:
        share = min(max(0.5 * (alpha - beta + 1.0), 0.0), 1.0)
        return share, 1.0 - share

    def stability(self, epsilon: float) -> float:
        return epsilon


@dataclass(frozen=True)
class WeightedMin(ConcaveMeasure):
    """1 - max(on_positives (1 - TPR), on_negatives (1 - TNR)): the worse error rate, priced.

    Errors in the class with the larger weight cost more; with both weights 1 the measure is min(TPR, TNR). At the
    default, an FPR of 10% is no worse than an FNR of 5%. (A weight on the rates themselves, as in
    min(a TPR, b TNR), would do the opposite: the rate with the larger weight binds later.)

    Its dual region is the segment from (on_positives, 0) to (0, on_negatives), and its conjugate there is that of
    Q-mean, alpha + beta - 1.

    Examples
    --------
    >>> from ratewise.measures import WeightedMin
    >>> round(float(WeightedMin(1.0, 0.5).value(0.9, 0.7)), 3)
    0.85
    """

    on_positives: float = 1.0
    on_negatives: float = 0.5

    smooth: ClassVar[bool] = False
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive(self, "on_positives", "on_negatives")

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        misses, false_alarms = 1.0 - np.asarray(tpr), 1.0 - np.asarray(tnr)
        return (1.0 - np.maximum(self.on_positives * misses, self.on_negatives * false_alarms))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        misses, false_alarms = self.on_positives * (1.0 - tpr), self.on_negatives * (1.0 - tnr)
        if misses == false_alarms:
            return 0.5 * self.on_positives, 0.5 * self.on_negatives
        return (self.on_positives, 0.0) if misses > false_alarms else (0.0, self.on_negatives)

    def project(self, alpha: float, beta: float, epsilon: float = 0.0) -> tuple[float, float]:
        a, b = self.on_positives, self.on_negatives
        share = min(max((a * alpha - b * (beta - b)) / (a * a + b * b), 0.0), 1.0)
        return share * a, (1.0 - share) * b

    def conjugate(self, alpha: float, beta: float) -> float:
        return alpha + beta - 1.0

    def conjugate_gradient(self, alpha: float, beta: float) -> tuple[float, float]:
        return 1.0, 1.0

    def stability(self, epsilon: float) -> float:
        return max(self.on_positives, self.on_negatives) * epsilon


@dataclass(frozen=True)
class BalancedAccuracy(ConcaveMeasure, PseudoLinearMeasure):
    """(TPR + TNR) / 2: accuracy as if both classes were equally common.

    Youden's index is twice this value minus 1. The measure is linear, so it belongs to both families: its dual
    region is the single point (1/2, 1/2), and its valuation weighs the rates equally at every level.

    Examples
    --------
    >>> from ratewise.measures import BalancedAccuracy
    >>> round(float(BalancedAccuracy().value(0.9, 0.7)), 3)
    0.8
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


@dataclass(frozen=True)
class QMean(ConcaveMeasure):
    """1 - sqrt(((1 - TPR)^2 + (1 - TNR)^2) / 2): one minus the distance from the perfect classifier.

    Its dual region is the quarter disc of radius sqrt(1/2). It is the only measure of Table 1 whose conjugate is
    not zero there: alpha + beta - 1, with gradient (1, 1).

    Examples
    --------
    >>> from ratewise.measures import QMean
    >>> round(float(QMean().value(0.9, 0.4)), 3)
    0.57
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


@dataclass(frozen=True)
class HMean(ConcaveMeasure):
    """2 TPR TNR / (TPR + TNR): high only if both rates are.

    Its dual region is {sqrt(alpha) + sqrt(beta) >= sqrt(2)} within the ball of radius 2. The boundary is the
    curve (2 s^2, 2 (1 - s)^2), s in [0, 1], whose two end points are on the ball.

    Examples
    --------
    >>> from ratewise.measures import HMean
    >>> round(float(HMean().value(0.9, 0.4)), 3)
    0.554
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

        The distance is stationary where 2 s^3 - alpha s - 2 (1-s)^3 + beta (1-s) = 0. With s = 1/2 - x that is
        x^3 + 3 q x = (beta - alpha) / 8, where q = (3 - alpha - beta) / 12. Below the curve alpha + beta < 2, so q
        is positive and there is one root.
        """
        if beta >= 2.0:
            return 0.0
        if alpha >= 2.0:
            return 1.0
        q = (3.0 - alpha - beta) / 12.0
        root = math.sqrt(q)
        return 0.5 - 2.0 * root * math.sinh(math.asinh((beta - alpha) / (16.0 * q * root)) / 3.0)

    def stability(self, epsilon: float) -> float:
        return 4.0 * epsilon


@dataclass(frozen=True)
class GMean(ConcaveMeasure):
    """sqrt(TPR TNR): zero where one of the two rates is.

    Its dual region {alpha beta >= 1/4} is unbounded, because the slopes grow without bound as a rate approaches
    zero. If rewards stay in [epsilon, 1 + epsilon], a ball contains all slopes that occur.

    Examples
    --------
    >>> from ratewise.measures import GMean
    >>> round(float(GMean().value(0.9, 0.4)), 3)
    0.6
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
        """Return the radius of the ball with all slopes at rates in [epsilon, 1 + epsilon]: O(1 / epsilon)."""
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
            # Along the normal: exact up to the square of the distance.
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
            if abs(step) < 1e-6 * x:  # the next step would be about its square
                break
            if x <= low or x >= high:
                x = 0.5 * (low + high)
        return x

    def stability(self, epsilon: float) -> float:
        return 3.0 * math.sqrt(epsilon)
