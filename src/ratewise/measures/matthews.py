"""Matthews correlation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import Measure


@dataclass(frozen=True)
class MatthewsCorrelation(Measure):
    """The correlation of truth and prediction, from -1 over 0 for guessing to 1.

    With q = p P + (1 - p) (1 - N), the share of rows predicted positive, it is
    sqrt(p (1 - p)) (P + N - 1) / sqrt(q (1 - q)): neither concave nor pseudo-linear, so sharpening maximises it. 0
    where all rows get the same prediction, as in scikit-learn.
    """

    monotone: ClassVar[bool] = True

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        p = np.asarray(self.require_prevalence(prevalence))
        tpr, tnr = np.asarray(tpr), np.asarray(tnr)
        predicted = p * tpr + (1.0 - p) * (1.0 - tnr)
        spread = np.maximum(predicted * (1.0 - predicted), 0.0)
        top = np.sqrt(p * (1.0 - p)) * (tpr + tnr - 1.0)
        return np.where(spread > 0, top / np.sqrt(np.where(spread > 0, spread, 1.0)), 0.0)[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        p = float(self.require_prevalence(prevalence))
        predicted = p * tpr + (1.0 - p) * (1.0 - tnr)
        spread = max(
            predicted * (1.0 - predicted), 1e-12
        )  # the slopes grow without bound as all predictions become one class
        tilt = 0.5 * (tpr + tnr - 1.0) * (1.0 - 2.0 * predicted)
        factor = math.sqrt(p * (1.0 - p)) / spread**1.5
        return factor * (spread - p * tilt), factor * (spread + (1.0 - p) * tilt)
