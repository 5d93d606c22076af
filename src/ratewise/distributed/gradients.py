"""A learning round by gradients: the rewards of all rows under one model, and their slope, summed over the shards.

It does not matter how the rows are spread over shards: sums are sums. So this is how partitions are learned from
that lack a class, or are too small or too different to teach a model of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..rewards import Reward
from ..solvers import LinearModel
from ..streams import Summary
from .protocol import Answer, Engine, Question
from .rows import ReadyRows


@dataclass(frozen=True)
class Slope(Answer):
    """The sums of the rewards of each class, of its weights, and the gradient of the weighted rewards."""

    rewards: NDArray[np.float64]
    weights: NDArray[np.float64]
    gradient: NDArray[np.float64]

    def merge(self, other: Slope) -> Slope:
        return Slope(self.rewards + other.rewards, self.weights + other.weights, self.gradient + other.gradient)


@dataclass(frozen=True)
class TakeSlope(Question[Slope]):
    """The rewards of a share of the rows, with so much weight on a positive and on a negative."""

    part: int
    model: LinearModel
    reward: Reward
    on_positive: float
    on_negative: float
    share: float

    name: ClassVar[str] = "gradient"

    def answer(self, rows: ReadyRows, shard: int) -> Slope:
        stream = rows.parts[self.part]
        if self.share < 1.0:
            stream = stream.first(int(np.ceil(self.share * stream.n_points)))
        if stream.n_points == 0:
            return Slope(np.zeros(2), np.zeros(2), np.zeros(self.model.weights.size + 1))
        weights = np.abs(stream.signed_weights, dtype=np.float64)
        signs = np.sign(stream.signed_weights).astype(np.float64)
        margins = signs * stream.scores(*self.model)
        positive = signs > 0
        rewarded = weights * self.reward.value(margins)
        pull = weights * signs * self.reward.slope(margins)
        pull *= np.where(positive, self.on_positive, self.on_negative)
        return Slope(
            np.array([rewarded[positive].sum(), rewarded[~positive].sum()]),
            np.array([weights[positive].sum(), weights[~positive].sum()]),
            np.append(stream.weighted_sum(pull), pull.sum()),
        )


class MeanReward:
    """Minus a weighted mean of the two classes' rewards over all shards, and its gradient: to be minimised.

    ``on_positives`` is what the mean reward of the positives weighs, ``on_negatives`` that of the negatives.
    """

    def __init__(
        self,
        engine: Engine,
        part: int,
        seen: Summary,
        reward: Reward,
        pair: tuple[float, float],
        share: float,
        told: Callable[[], object],
    ):
        self._engine, self._part, self._reward = engine, part, reward
        total = max(sum(pair), 1e-300)
        self._pair = np.array(pair) / total
        self._share = share
        self._seen = seen
        self._told = told
        self.mean_rewards = np.zeros(2)

    def __call__(self, model: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        per_class = self._share * np.array([self._seen.positive_weight, self._seen.negative_weight])
        each = self._pair / per_class
        question = TakeSlope(
            self._part,
            LinearModel(np.array(model[:-1]), float(model[-1])),
            self._reward,
            float(each[0]),
            float(each[1]),
            self._share,
        )
        slope = self._engine.ask(question)
        self._told()
        self.mean_rewards = slope.rewards / np.maximum(slope.weights, 1e-300)
        return -float(each @ slope.rewards), -slope.gradient
