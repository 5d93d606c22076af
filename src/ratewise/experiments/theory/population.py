"""A finite population whose best model is known by search, so that excesses can be measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ...measures import Measure
from ...rewards import Hinge
from ...solvers import LinearModel
from ...streams import ArrayStream, Standardizer

_COLUMNS = 2


class Population:
    """Two normal clouds of 3,000 points together; streams draw from them over and over."""

    def __init__(self, share: float = 0.3, points: int = 3_000, shift: float = 3.0):
        rng = np.random.default_rng(0)
        positive = np.arange(points) < share * points
        self._X = rng.standard_normal((points, _COLUMNS))
        self._X[positive, 0] += shift
        self._signs = np.where(positive, 1.0, -1.0)

    def stream(self, seed: int) -> ArrayStream:
        units = Standardizer(_COLUMNS, active=False)
        return ArrayStream(self._X, self._signs, units, np.random.default_rng(seed), np.float64)

    def surrogate(self, measure: Measure, model: LinearModel) -> float:
        """The measure of the mean hinge rewards: what the algorithms maximise."""
        rewards = Hinge().value(self._signs * (self._X @ model.weights + model.intercept))
        positive = self._signs > 0
        means = max(float(rewards[positive].mean()), 0.0), max(float(rewards[~positive].mean()), 0.0)
        return float(measure.value(*means, float(positive.mean())))

    def best_surrogate(self, measure: Measure, start: LinearModel) -> float:
        """The highest surrogate of any model, by search without derivatives, begun anew until it stands still."""

        def loss(vector: NDArray[np.float64]) -> float:
            return -self.surrogate(measure, LinearModel(vector[:-1], float(vector[-1])))

        vector = np.append(start.weights, start.intercept)
        best = loss(vector)
        for _ in range(10):
            found = optimize.minimize(
                loss, vector, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12, "maxiter": 2000}
            )
            vector, gain, best = found.x, best - found.fun, found.fun
            if gain < 1e-10:
                break
        return -float(best)
