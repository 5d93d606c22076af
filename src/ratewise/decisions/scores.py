"""Scores of rows, from which decisions are made."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-6  # of the size of float32 scores


class Sensitive(NamedTuple):
    """The group of each row, as a number, and the names of the groups."""

    codes: NDArray[np.intp]
    names: NDArray[Any]


class Scores(NamedTuple):
    """Scores of rows under a model, with the signed weight of each; for many rows, a histogram."""

    values: NDArray[np.floating[Any]]
    signed_weights: NDArray[np.floating[Any]]
    points: tuple[float, float] | None = None
    """For a histogram, the effective points of both classes; None if there is one value per row."""
    folds: tuple[int, ...] | None = None
    """The number of values of each fold, in order, if the folds are known."""
    sensitive: Sensitive | None = None
    """The groups of the rows, if bounds or reports need groups."""

    def of_folds(self, which: Collection[int]) -> Scores:
        """Return the scores of some folds only."""
        assert self.folds is not None
        first, last = min(which), max(which)
        ends = np.cumsum([0, *self.folds])
        kept: Any = slice(ends[first], ends[last + 1])
        if last - first + 1 > len(set(which)):
            kept = np.repeat([fold in which for fold in range(len(self.folds))], self.folds)
        return Scores(self.values[kept], self.signed_weights[kept])

    def mean_and_deviation(self) -> tuple[float, float]:
        """Return mean and deviation of the scores; the deviation is 1 if all scores are equal up to rounding."""
        if self.points is None:
            mean, deviation = float(self.values.mean()), float(self.values.std())
        else:
            shares = np.abs(self.signed_weights, dtype=np.float64)
            mean = float(np.average(self.values, weights=shares))
            deviation = math.sqrt(float(np.average((self.values - mean) ** 2, weights=shares)))
        return mean, 1.0 if deviation <= max(_ROUNDING * abs(mean), 1e-12) else deviation

    @property
    def all_equal(self) -> bool:
        """Return whether all scores are equal as float32, so that no threshold separates rows."""
        low, high = float(self.values.min()), float(self.values.max())
        return high - low <= _ROUNDING * max(abs(low), abs(high))

    @property
    def finite(self) -> bool:
        return math.isfinite(float(self.values.sum(dtype=np.float64)))
