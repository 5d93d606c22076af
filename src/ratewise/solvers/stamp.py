"""STAMP: the paper's Algorithm 3."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..measures import Measure, PseudoLinearMeasure, Rates
from ..rewards import Reward
from ..streams import ArrayStream, Summary
from .base import (
    Solver,
    StreamingRun,
    Task,
    checked_reward,
    points_between_models,
    primal_settings,
    require_number,
)
from .learner import Learner, LinearModel
from .noise import half_the_noise
from .threshold import rates_at

# A level is taken on so many rows of the rarer class, if 10,000 rows have them.
_LEVEL_POSITIVES = 200
_LEVEL_ROWS = 10_000


@dataclass(frozen=True)
class Stamp(Solver):
    """Maximise a pseudo-linear measure (F-beta, Jaccard, Gower-Legendre) one point at a time.

    Epochs of doubling length: in each the model learns with fixed weights on the two classes, then its level
    of the measure is taken, and the level sets the next epoch's weights: the model is challenged to beat
    itself. Of the last three epochs' models the last is kept, unless another reached a clearly higher level.
    (Algorithm 3, with the valuation's weights for any measure and any prevalence; the mean model of an epoch is
    what is passed on, as the proof's online-to-batch step has it.)

    Parameters
    ----------
    passes : int
        Passes over the data.
    first_epoch : int
        Points of the first epoch.
    growth : float
        Each epoch is this many times as long as the one before.
    level : "actual" or "fresh"
        "actual" takes the measure itself, of the 0-1 predictions on a sample of the rows in memory, an eighth as
        many as the epoch had points (but 200 of the rarer class at least, or 10,000 in all); the paper's
        experiments took all. "fresh" spends as many fresh points as the epoch had on the mean rewards and takes
        the measure of those (Algorithm 3 to the letter).
    reward : "hinge", "logistic" or a Reward
    step : float
        eta at t = 1; falls as 1 / sqrt(t) and starts again with each epoch.
    radius : float
        R_W: weights (in standardised units) are kept inside a ball of this radius.
    """

    passes: int = 25
    first_epoch: int = 100
    growth: float = 2.0
    level: str = "actual"
    reward: str | Reward = "hinge"
    step: float = 1.0
    radius: float = math.inf

    name: ClassVar[str] = "stamp"
    streaming: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_number("passes", self.passes, "Stamp", low=0, whole=True)
        require_number("first_epoch", self.first_epoch, "Stamp", low=0, whole=True)
        require_number("growth", self.growth, "Stamp", low=1)
        for setting in ("step", "radius"):
            require_number(setting, getattr(self, setting), "Stamp", low=0)
        if self.level not in ("actual", "fresh"):
            raise ValueError(f"Stamp: level must be 'actual' or 'fresh'; got {self.level!r}.")
        checked_reward(self.reward, "Stamp")

    def check(self, measure: Measure, prevalence: float) -> None:
        require_pseudo_linear(measure, "Stamp").check_against(
            prevalence, checked_reward(self.reward, "Stamp").largest
        )

    def start(self, task: Task) -> StampRun:
        return StampRun(self, task)


class StampRun(StreamingRun):
    """One fit by STAMP."""

    def __init__(self, solver: Stamp, task: Task):
        self._solver = solver
        self._task = task
        self._measure = require_pseudo_linear(task.measure, "Stamp")
        self._reward = checked_reward(solver.reward, "Stamp")
        self._learner = Learner(task.n_features, task.dtype, task.initial)
        self._level = 0.0
        self._points = 0
        self._epoch_length = float(solver.first_epoch)
        self._left_in_epoch = solver.first_epoch
        self._challenger = self._learner.current()  # w_e: the model of the last whole epoch

    @property
    def challenge_level(self) -> float:
        return self._level

    def solve(self, stream: ArrayStream) -> None:
        if self._task.initial is not None:
            self._level = self._actual_level(stream, self._challenger)
        budget = self._solver.passes * stream.n_points
        recent: list[tuple[float, LinearModel]] = []  # the last epochs' levels and models
        while budget > 0:
            # The last epoch takes the remainder, so that none is cut off half-way.
            last = budget < self._epoch_length * (1.0 + self._solver.growth)
            self._left_in_epoch = budget if last else int(self._epoch_length)
            budget -= self._left_in_epoch
            self._learn(stream, self._left_in_epoch, stream.summary)
            if self._solver.level == "fresh" and budget > 0:
                budget -= self._end_epoch_on_fresh_points(stream, min(budget, int(self._epoch_length)))
            else:
                self._end_epoch(stream, self._actual_level(stream, self._learner.mean()))
                recent = [*recent[-2:], (self._level, self._challenger)]
        if recent:
            self._challenger = self._best_beyond_chance(recent, stream.summary.prevalence)

    def _best_beyond_chance(self, recent: list[tuple[float, LinearModel]], prevalence: float) -> LinearModel:
        """The last model, unless one shortly before it was better by more than its level can err.

        A concave reward is not the measure: where positives are rare, the weights of a high level may leave none
        of them called, and the level that follows is low. Then good epochs and bad ones take turns.
        """
        level, model = max(recent, key=lambda one: one[0])
        rarer = _least_rows(prevalence) * min(prevalence, 1.0 - prevalence)
        error = 2.0 * half_the_noise(level, self._measure.scale(prevalence), rarer)
        return model if level > recent[-1][0] + error else recent[-1][1]

    def feed(self, stream: ArrayStream, points: int, seen: Summary) -> None:
        while points > 0:
            count = min(points, self._left_in_epoch)
            self._learn(stream, count, seen)
            points -= count
            if self._left_in_epoch > 0:
                continue
            if self._solver.level == "fresh" and points > 0:
                points -= self._end_epoch_on_fresh_points(stream, min(points, int(self._epoch_length)))
            else:
                self._end_epoch(stream, self._actual_level(stream, self._learner.mean()))

    def _learn(self, stream: ArrayStream, points: int, seen: Summary) -> None:
        """The model stage: steps on the valuation at the current level."""
        pair = self._measure.valuation_weights(self._level, seen.prevalence)
        self._learner.pair = pair
        settings = primal_settings(
            seen,
            pair,
            step=self._solver.step,
            radius=self._solver.radius,
            l2=self._task.l2,
            average_every=points_between_models(int(self._epoch_length), self._task.n_features),
        )
        for chunk in stream.take(points):
            self._learner.learn(chunk, settings, self._reward)
        self._points += points
        self._left_in_epoch -= points

    def _end_epoch(self, stream: ArrayStream, level: float) -> None:
        self._challenger = self._learner.mean()
        self._learner.set_model(self._challenger)
        self._learner.restart_mean()
        self._learner.restart_steps()
        self._level = level
        self._epoch_length *= self._solver.growth
        self._left_in_epoch = int(self._epoch_length)
        if self._task.history is not None:
            rates = self._learner.rates_met()
            self._task.history.record(
                passes=self._points / max(stream.n_points, 1),
                points=self._points,
                tpr=rates.tpr,
                tnr=rates.tnr,
                value=float(self._measure.value(*rates)),
                level=self._level,
            )

    def _actual_level(self, stream: ArrayStream, model: LinearModel) -> float:
        """The level stage: the measure of the model's own 0-1 predictions.

        A short epoch's level need not be known better than the epoch lets the model be: the first rows, which are
        a random sample, will do.
        """
        least = _least_rows(stream.summary.prevalence)
        sample = stream.first(int(max(least, self._epoch_length / 8.0)))
        rates = rates_at(sample.scores(*model), sample.signed_weights)
        return float(self._measure.value(*rates))

    def _end_epoch_on_fresh_points(self, stream: ArrayStream, points: int) -> int:
        """The level stage of Algorithm 3: the measure of the mean rewards on points not learned from."""
        model = self._learner.mean()
        total = np.zeros(2)
        weight = np.zeros(2)
        for chunk in stream.take(points):
            scores, signed_weights = chunk.scores(*model), chunk.weights
            weights = np.abs(signed_weights, dtype=np.float64)
            rewards = weights * self._reward.value(np.sign(signed_weights) * scores)
            for side, mine in enumerate((signed_weights > 0, signed_weights < 0)):
                total[side] += rewards[mine].sum()
                weight[side] += weights[mine].sum()
        p_reward, n_reward = np.maximum(total / np.maximum(weight, 1e-300), 0.0)
        prevalence = stream.summary.prevalence
        self._points += points
        self._end_epoch(stream, float(self._measure.value(p_reward, n_reward, prevalence)))
        return points

    def model(self) -> LinearModel:
        """The last whole epoch's model, or the running one's mean once that has seen half its points."""
        if 2 * self._left_in_epoch <= self._epoch_length:
            return self._learner.mean()
        return self._challenger

    def rates_met(self) -> Rates:
        return self._learner.rates_met()

    def change_units(self, change: Any) -> None:
        self._learner.change_units(change)
        self._challenger = LinearModel(*change(*self._challenger))


def _least_rows(prevalence: float) -> float:
    """The fewest rows that a level is taken on."""
    return min(_LEVEL_ROWS, _LEVEL_POSITIVES / min(prevalence, 1.0 - prevalence))


def require_pseudo_linear(measure: Measure, solver: str) -> PseudoLinearMeasure:
    if not isinstance(measure, PseudoLinearMeasure):
        raise ValueError(
            f"{solver} maximises pseudo-linear measures, and {measure.label} is not one: use solver='spade' or "
            "'auto'."
        )
    return measure
