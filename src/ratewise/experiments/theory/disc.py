"""A problem solved in closed form: affine rewards in [0, 1], and models on a disc.

Rewards are (1 + z) / 2 of a signed score z within [-1, 1]. Both mean rewards are then affine in the model, so is
every valuation, and its best model lies on the rim: an angle is all there is to look for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...measures import PseudoLinearMeasure
from ...rewards import Reward

RADIUS = 0.8
RESOLUTION = 1e-10
"""The best angle is not known better: smaller excesses are not told from 0."""

_ANGLES = 200_001


@dataclass(frozen=True)
class Affine(Reward):
    """(1 + z) / 2: in [0, 1] while |z| is at most 1, so that the theorems' assumptions hold to the letter."""

    def value(self, z: Any) -> Any:
        return 0.5 * (1.0 + z)

    def slope(self, z: Any) -> Any:
        return 0.5 + 0.0 * z


class Disc:
    """One column in [-0.7, 0.7]; with the intercept's 1 and models within a disc of radius 0.8, |z| <= 1."""

    def __init__(self, share: float, points: int = 200):
        rng = np.random.default_rng(0)
        positive = np.arange(points) < share * points
        self.x = np.clip(rng.normal(np.where(positive, 0.35, -0.1), 0.2), -0.7, 0.7)
        self.signs = np.where(positive, 1.0, -1.0)
        self.share = float(positive.mean())
        self._means = float(self.x[positive].mean()), float(self.x[~positive].mean())
        self.angles = np.linspace(0.0, 2.0 * np.pi, _ANGLES)

    def mean_rewards(self, angle: Any) -> tuple[Any, Any]:
        """P and N of the model at this angle of the rim."""
        w, b = RADIUS * np.cos(angle), RADIUS * np.sin(angle)
        return 0.5 * (1 + w * self._means[0] + b), 0.5 * (1 - w * self._means[1] - b)

    def values(self, measure: PseudoLinearMeasure) -> NDArray[np.float64]:
        """The measure all round the rim."""
        values: NDArray[np.float64] = measure.value(*self.mean_rewards(self.angles), self.share)
        return values
