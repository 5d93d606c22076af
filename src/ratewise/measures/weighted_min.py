"""The worse of the two rates, with a separate price for the errors of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import ConcaveMeasure, require_positive


@dataclass(frozen=True)
class WeightedMin(ConcaveMeasure):
    """1 - max(on_positives (1 - TPR), on_negatives (1 - TNR)): the worse error rate, priced.

    The class with the larger weight may be neglected less; with both weights 1 it is min(TPR, TNR). At the default
    an FPR of 10% is no worse than an FNR of 5%. (A weight on the rates themselves, as in
    min(a TPR, b TNR), would do the opposite: the heavier rate binds later.)

    Its dual region is the segment from (on_positives, 0) to (0, on_negatives), and its conjugate there is that of
    Q-mean, alpha + beta - 1.
    """

    on_positives: float = 1.0
    on_negatives: float = 0.5

    smooth: ClassVar[bool] = False
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive(self, "on_positives", "on_negatives")

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        misses, alarms = 1.0 - np.asarray(tpr), 1.0 - np.asarray(tnr)
        return (1.0 - np.maximum(self.on_positives * misses, self.on_negatives * alarms))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        misses, alarms = self.on_positives * (1.0 - tpr), self.on_negatives * (1.0 - tnr)
        if misses == alarms:
            return 0.5 * self.on_positives, 0.5 * self.on_negatives
        return (self.on_positives, 0.0) if misses > alarms else (0.0, self.on_negatives)

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
