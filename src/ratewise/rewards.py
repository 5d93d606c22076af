"""Rewards of a signed score y * s, and their slopes.

A reward is a surrogate of the 0-1 reward "the point is on its own side", at most 1 everywhere. Hinge and logistic
are concave, as the paper's guarantees require. The sigmoid is bounded on both sides, like the measure itself, and
not concave.

Each reward is a frozen dataclass whose methods work on numbers and on arrays, so that compiled loops and numpy use
the same code. User-defined rewards have the same form.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np


class Reward(ABC):
    """A reward r(z) of the signed score z = y * s."""

    concave: ClassVar[bool] = True
    largest: ClassVar[float] = 1.0
    """The upper bound of the reward."""

    @abstractmethod
    def value(self, z: Any) -> Any:
        """Return the reward at the signed score z."""

    @abstractmethod
    def slope(self, z: Any) -> Any:
        """Return the derivative at the signed score z."""

    def value_and_slope(self, z: Any) -> tuple[Any, Any]:
        """Return both, at less than twice the cost if they share a term."""
        return self.value(z), self.slope(z)


@dataclass(frozen=True)
class Hinge(Reward):
    """min(1, z), the paper's reward: a point on its own side by a margin of 1 has the full reward.

    Examples
    --------
    >>> from ratewise.rewards import Hinge
    >>> Hinge().value(2.0), Hinge().value(-1.0)
    (np.float64(1.0), np.float64(-1.0))
    """

    def value(self, z: Any) -> Any:
        return np.minimum(1.0, z)

    def slope(self, z: Any) -> Any:
        return 1.0 * (z < 1.0)


@dataclass(frozen=True)
class Logistic(Reward):
    """1 - log2(1 + exp(-z)): smooth, so that batch solvers can use its curvature.

    Examples
    --------
    >>> from ratewise.rewards import Logistic
    >>> round(Logistic().value(0.0), 3)
    np.float64(0.0)
    """

    def value(self, z: Any) -> Any:
        return 1.0 - (np.maximum(-z, 0.0) + np.log1p(np.exp(-np.abs(z)))) / np.log(2.0)

    def slope(self, z: Any) -> Any:
        decay = np.exp(-np.abs(z))  # never overflows; tanh would do too, at six times the cost
        return (0.5 - 0.5 * np.copysign((1.0 - decay) / (1.0 + decay), z)) / np.log(2.0)

    def value_and_slope(self, z: Any) -> tuple[Any, Any]:
        decay = np.exp(-np.abs(z))
        value = 1.0 - (np.maximum(-z, 0.0) + np.log1p(decay)) / np.log(2.0)
        return value, np.where(z > 0.0, decay, 1.0) / ((1.0 + decay) * np.log(2.0))


@dataclass(frozen=True)
class Sigmoid(Reward):
    """1 / (1 + exp(-steepness z)): bounded like the 0-1 reward, which it approaches as the steepness grows.

    Examples
    --------
    >>> from ratewise.rewards import Sigmoid
    >>> Sigmoid().value(0.0)
    np.float64(0.5)
    """

    concave: ClassVar[bool] = False
    steepness: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.steepness, Real) or not 0 < self.steepness < np.inf:
            raise ValueError(f"Sigmoid: steepness must be a finite number above 0; got {self.steepness!r}.")

    def value(self, z: Any) -> Any:
        decay = np.exp(-self.steepness * np.abs(z))
        return 0.5 + 0.5 * np.copysign((1.0 - decay) / (1.0 + decay), z)

    def slope(self, z: Any) -> Any:
        decay = np.exp(-self.steepness * np.abs(z))
        return self.steepness * decay / ((1.0 + decay) * (1.0 + decay))

    def value_and_slope(self, z: Any) -> tuple[Any, Any]:
        decay = np.exp(-self.steepness * np.abs(z))
        smaller = decay / (1.0 + decay)
        return np.where(z > 0.0, 1.0 - smaller, smaller), self.steepness * smaller * (1.0 - smaller)


_REGISTRY: dict[str, Reward] = {"hinge": Hinge(), "logistic": Logistic(), "sigmoid": Sigmoid()}


def get_reward(reward: str | Reward) -> Reward:
    """Return a reward by its name; a reward is returned as it is."""
    if isinstance(reward, Reward):
        return reward
    if isinstance(reward, str) and reward in _REGISTRY:
        return _REGISTRY[reward]
    near = difflib.get_close_matches(str(reward).lower(), _REGISTRY, n=1, cutoff=0.3)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"There is no reward {reward!r}.{hint} Known: {', '.join(_REGISTRY)}.")
