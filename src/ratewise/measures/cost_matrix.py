"""The cost of decisions, by a cost matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from .base import PseudoLinearCoefficients, PseudoLinearMeasure


@dataclass(frozen=True)
class CostMatrix(PseudoLinearMeasure):
    """Minus the mean cost of a row, with costs laid out as scikit-learn's confusion matrix.

    Parameters
    ----------
    costs : ((true negative, false positive), (false negative, true positive))
        What each outcome costs; gains are negative costs. A mistake must cost more than the right decision on the
        same row. In the default, ``CostMatrix(((0, 1), (10, 0)))``, a false negative costs as much as ten false
        positives.

    The best possible value is 0 where right decisions are free, and values are negative. Linear in the rates.
    """

    monotone: ClassVar[bool] = True

    costs: tuple[tuple[float, float], tuple[float, float]] = ((0.0, 1.0), (10.0, 0.0))

    def __post_init__(self) -> None:
        try:
            (tn, fp), (fn, tp) = ((float(cost) for cost in row) for row in self.costs)
        except (TypeError, ValueError):
            tn = fp = fn = tp = math.nan
        if not all(map(math.isfinite, (tn, fp, fn, tp))):
            raise ValueError(
                "CostMatrix: costs must be four finite numbers, ((true negative, false positive), "
                f"(false negative, true positive)); got {self.costs!r}."
            )
        if fp <= tn or fn <= tp:
            raise ValueError(
                f"CostMatrix: a mistake must cost more than the right decision; got {fp:g} for a false positive "
                f"and {tn:g} for a true negative, {fn:g} for a false negative and {tp:g} for a true positive."
            )
        object.__setattr__(self, "costs", ((tn, fp), (fn, tp)))

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        p, n = prevalence, 1.0 - prevalence
        (tn, fp), (fn, tp) = self.costs
        return PseudoLinearCoefficients((-(n * fp + p * fn), p * (fn - tp), n * (fp - tn)), (1.0, 0.0, 0.0))

    def scale(self, prevalence: float) -> tuple[float, float]:
        nobody, everybody = self.value(0.0, 1.0, prevalence), self.value(1.0, 0.0, prevalence)
        return float(max(nobody, everybody)), float(self.value(1.0, 1.0, prevalence))
