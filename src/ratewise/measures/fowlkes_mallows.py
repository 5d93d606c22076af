"""The Fowlkes-Mallows index."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import Measure


@dataclass(frozen=True)
class FowlkesMallows(Measure):
    """sqrt(precision recall): the geometric mean where F1 takes the harmonic one.

    With q = p P + (1 - p) (1 - N), the share of rows predicted positive, it is P sqrt(p / q): neither concave nor
    pseudo-linear, so sharpening maximises it. 0 where no row is predicted positive.
    """

    monotone: ClassVar[bool] = True

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        p = np.asarray(self.require_prevalence(prevalence))
        tpr, tnr = np.asarray(tpr), np.asarray(tnr)
        predicted = p * tpr + (1.0 - p) * (1.0 - tnr)
        any_predicted = predicted > 1e-200  # p divided by less would overflow
        return np.where(any_predicted, tpr * np.sqrt(p / np.where(any_predicted, predicted, 1.0)), 0.0)[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        p = float(self.require_prevalence(prevalence))
        predicted = max(p * tpr + (1.0 - p) * (1.0 - tnr), 1e-12)
        root = math.sqrt(p / predicted)
        return root * (1.0 - 0.5 * p * tpr / predicted), 0.5 * root * tpr * (1.0 - p) / predicted
