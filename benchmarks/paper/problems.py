"""Two problems whose optimum is known, for the theorems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ratewise.measures import Measure, PseudoLinearMeasure
from ratewise.rewards import Hinge, Reward

from .library import ArrayRows, LinearModel, plain_rows

RADIUS = 0.8
RESOLUTION = 1e-10
"""The best angle is known to this accuracy: smaller excesses count as this one."""

_ANGLES = 200_001


@dataclass(frozen=True)
class Affine(Reward):
    """(1 + z) / 2: in [0, 1] while |z| is at most 1, so that the theorems' assumptions hold exactly."""

    def value(self, z: Any) -> Any:
        return 0.5 * (1.0 + z)

    def slope(self, z: Any) -> Any:
        return 0.5 + 0.0 * z


class Disc:
    """A problem solved in closed form: affine rewards, and models on a disc.

    One column in [-0.7, 0.7]; with the intercept's 1 and models within a disc of radius 0.8, |z| <= 1. Both mean
    rewards are affine in the model, so is every valuation, and its best model lies on the rim: only an angle has
    to be found.
    """

    def __init__(self, share: float, points: int = 200):
        rng = np.random.default_rng(0)
        positive = np.arange(points) < share * points
        self.x = np.clip(rng.normal(np.where(positive, 0.35, -0.1), 0.2), -0.7, 0.7)
        self.signs = np.where(positive, 1.0, -1.0)
        self.share = float(positive.mean())
        self._means = float(self.x[positive].mean()), float(self.x[~positive].mean())
        self.angles = np.linspace(0.0, 2.0 * np.pi, _ANGLES)

    def mean_rewards(self, angle: Any) -> tuple[Any, Any]:
        """Return P and N of the model at this angle of the rim."""
        w, b = RADIUS * np.cos(angle), RADIUS * np.sin(angle)
        return 0.5 * (1 + w * self._means[0] + b), 0.5 * (1 - w * self._means[1] - b)

    def values(self, measure: PseudoLinearMeasure) -> NDArray[np.float64]:
        """Return the measure at every angle of the rim."""
        values: NDArray[np.float64] = measure.value(*self.mean_rewards(self.angles), self.share)
        return values


class Population:
    """Two normal clouds of 3,000 points together, hinge rewards, and the best model by numerical search."""

    def __init__(self, share: float = 0.3, points: int = 3_000, shift: float = 3.0):
        rng = np.random.default_rng(0)
        positive = np.arange(points) < share * points
        self._X = rng.standard_normal((points, 2))
        self._X[positive, 0] += shift
        self._signs = np.where(positive, 1.0, -1.0)

    def stream(self, seed: int) -> ArrayRows:
        """Return an endless stream of draws from the population."""
        return plain_rows(self._X, self._signs, seed)

    def surrogate(self, measure: Measure, model: LinearModel) -> float:
        """Return the measure of the mean hinge rewards: what the algorithms maximize."""
        rewards = Hinge().value(self._signs * (self._X @ model.weights + model.intercept))
        positive = self._signs > 0
        means = max(float(rewards[positive].mean()), 0.0), max(float(rewards[~positive].mean()), 0.0)
        return float(measure.value(*means, float(positive.mean())))

    def best_surrogate(self, measure: Measure, start: LinearModel) -> float:
        """Return the highest surrogate of any model, by derivative-free search, restarted until it stalls."""

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
