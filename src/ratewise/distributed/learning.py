"""A learning round by models: every shard goes on from the merged state in the compiled loops; means merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..measures import ConcaveMeasure, Rates
from ..rewards import Reward
from ..solvers import Learner, LearnSettings, LinearModel, points_between_models
from .protocol import Answer, Question
from .rows import ReadyRows


@dataclass(frozen=True)
class Learned(Answer):
    """What the shards have learned, each weighted by its points."""

    points: int
    last: NDArray[np.float64]
    """The sum over shards of points times (weights, intercept, alpha, beta, steps)."""
    mean: NDArray[np.float64]
    """The sum over all points of the model (weights, intercept) that met them."""
    met: NDArray[np.float64]
    """Positives, negatives, and how many of each were on their own side when they were met."""

    def merge(self, other: Learned) -> Learned:
        return Learned(
            self.points + other.points,
            self.last + other.last,
            self.mean + other.mean,
            self.met + other.met,
        )

    def last_model(self) -> LinearModel:
        last = self.last / max(self.points, 1)
        return LinearModel(last[:-4], float(last[-4]))

    def mean_model(self) -> LinearModel:
        mean = self.mean / max(self.points, 1)
        return LinearModel(mean[:-1], float(mean[-1]))

    def pair(self) -> tuple[float, float]:
        alpha, beta = self.last[-3:-1] / max(self.points, 1)
        return float(alpha), float(beta)

    def steps(self) -> float:
        return float(self.last[-1] / max(self.points, 1))

    def rates_met(self) -> Rates:
        positives, negatives, hits, passes = self.met.tolist()
        return Rates(
            hits / max(positives, 1e-300),
            passes / max(negatives, 1e-300),
            positives / max(positives + negatives, 1e-300),
        )


@dataclass(frozen=True)
class Learn(Question[Learned]):
    """Go on from this state, on your own rows, for so many passes."""

    part: int
    model: LinearModel
    pair: tuple[float, float]
    steps: float
    """Points that the step sizes take as seen."""
    passes: float
    settings: LearnSettings
    reward: Reward
    measure: ConcaveMeasure | None
    row_limit: float | None
    leverage: float
    taught: frozenset[int] | None
    """The shards that learn; None for all."""
    seed: tuple[int, ...]

    name: ClassVar[str] = "learn"

    def answer(self, rows: ReadyRows, shard: int) -> Learned:
        n_features = self.model.weights.size
        stream = rows.parts[self.part]
        if stream.n_points == 0 or (self.taught is not None and shard not in self.taught):
            return Learned(0, np.zeros(n_features + 4), np.zeros(n_features + 1), np.zeros(4))
        if self.row_limit is not None:
            stream = rows.limited(self.part, self.row_limit, self.leverage)
        # A fresh order for every round, by the shard's number: the same wherever the shard is.
        stream = stream.part((0, stream.n_points), rng=np.random.default_rng([*self.seed, shard]))
        learner = Learner(n_features, stream.dtype, self.model)
        learner.pair = self.pair
        learner.restart_steps(int(self.steps))
        points = max(round(self.passes * stream.n_points), 1)
        settings = self._settings_for(points, n_features)
        for chunk in stream.take(points):
            learner.learn(chunk, settings, self.reward, self.measure)
        model, mean = learner.current(), learner.mean()
        last = np.array([*model.weights, model.intercept, *learner.pair, self.steps + points])
        return Learned(points, points * last, points * np.append(mean.weights, mean.intercept), learner.met())

    def _settings_for(self, points: int, n_features: int) -> LearnSettings:
        """As told, but for the models whose mean is taken: so many of the shard's own points apart."""
        apart = points_between_models(points, n_features)
        return self.settings._replace(steps=self.settings.steps._replace(average_every=apart))
