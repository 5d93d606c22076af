"""The worse of the two rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import ConcaveMeasure


@dataclass(frozen=True)
class MinRate(ConcaveMeasure):
    """min(TPR, TNR): the worse of the two classes counts.

    Its dual region is the segment alpha + beta = 1 in the positive quadrant.
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
