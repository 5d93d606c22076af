"""AMP: the paper's Algorithm 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import optimize

from ..measures import Measure, PseudoLinearMeasure
from ..rewards import Reward
from ..streams import ArrayStream
from .base import Run, Solver, Task, checked_reward, require_number
from .batch import MeanReward, minimise
from .learner import LinearModel
from .stamp import require_pseudo_linear
from .threshold import rates_at


@dataclass(frozen=True)
class Amp(Solver):
    """Maximise a pseudo-linear measure in batch, to a tolerance: few rounds, each an exact maximisation.

    A level of the measure sets the weights of the two classes, the model that is best for these weights sets
    the next level, and so on until the level stands still. (Algorithm 2.) Choose it where the data fit in
    memory and the optimum of the surrogate itself is wanted.

    Parameters
    ----------
    tolerance : float
        Stop when a round raises the level by less.
    passes : int
        At most so many rounds.
    reward : "logistic", "hinge" or a Reward
        The smooth logistic reward suits the inner solver (scipy's L-BFGS); the corner of the hinge may stop it
        early.
    radius : float
        R_W: weights and intercept (in standardised units) are kept inside a ball of this radius.
    level : "reward" or "actual"
        Take the measure of the mean rewards as the level, as the theory has it, or the measure of the 0-1
        predictions.
    """

    tolerance: float = 1e-5
    passes: int = 100
    reward: str | Reward = "logistic"
    radius: float = math.inf
    level: str = "actual"

    name: ClassVar[str] = "amp"
    streaming: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_number("tolerance", self.tolerance, "Amp", low=0)
        require_number("passes", self.passes, "Amp", low=0, whole=True)
        require_number("radius", self.radius, "Amp", low=0)
        if self.level not in ("actual", "reward"):
            raise ValueError(f"Amp: level must be 'actual' or 'reward'; got {self.level!r}.")
        checked_reward(self.reward, "Amp")

    def check(self, measure: Measure, prevalence: float) -> None:
        require_pseudo_linear(measure, "Amp").check_against(prevalence, checked_reward(self.reward, "Amp").largest)

    def start(self, task: Task) -> AmpRun:
        return AmpRun(self, task)


class AmpRun(Run):
    """One fit by AMP."""

    def __init__(self, solver: Amp, task: Task):
        self._solver = solver
        self._task = task
        self._measure: PseudoLinearMeasure = require_pseudo_linear(task.measure, "Amp")
        self._reward = checked_reward(solver.reward, "Amp")
        self._model = task.initial or LinearModel(np.zeros(task.n_features), 0.0)
        self._level = 0.0

    @property
    def challenge_level(self) -> float:
        return self._level

    def model(self) -> LinearModel:
        return self._model

    def solve(self, stream: ArrayStream) -> None:
        self._level = self._level_of(stream, self._model)
        for round_number in range(1, self._solver.passes + 1):
            candidate = self._maximise_valuation(stream)
            level = self._level_of(stream, candidate)
            rise = level - self._level
            if rise > 0:  # an inexact inner solution must not undo what was won
                self._model, self._level = candidate, level
            self._record(stream, round_number)
            if rise < self._solver.tolerance:
                break

    def _record(self, stream: ArrayStream, round_number: int) -> None:
        if self._task.history is None:
            return
        rates = rates_at(stream.scores(*self._model), stream.signed_weights)
        self._task.history.record(
            passes=round_number,
            points=round_number * stream.n_points,
            tpr=rates.tpr,
            tnr=rates.tnr,
            value=float(self._measure.value(*rates)),
            level=self._level,
        )

    def _level_of(self, stream: ArrayStream, model: LinearModel) -> float:
        scores = stream.scores(*model)
        if self._solver.level == "actual":
            rates = rates_at(scores, stream.signed_weights)
            return float(self._measure.value(*rates))
        signs = np.sign(stream.signed_weights)
        weights = np.abs(stream.signed_weights, dtype=np.float64)
        rewards = weights * self._reward.value(signs * scores)
        positive = signs > 0
        on_positives = max(rewards[positive].sum() / weights[positive].sum(), 0.0)
        on_negatives = max(rewards[~positive].sum() / weights[~positive].sum(), 0.0)
        return float(self._measure.value(on_positives, on_negatives, stream.summary.prevalence))

    def _maximise_valuation(self, stream: ArrayStream) -> LinearModel:
        """argmax over W of V(w, v) - l2/2 |w|^2, from the model of the round before."""
        weights = self._measure.valuation_weights(self._level, stream.summary.prevalence)
        objective = MeanReward(stream, self._reward, *weights)
        best = minimise(objective, self._model, self._task.l2)
        return best if _length(best) <= self._solver.radius else self._on_the_ball(objective, best)

    def _on_the_ball(self, objective: MeanReward, start: LinearModel) -> LinearModel:
        """The maximiser over the ball: that of the penalised problem whose penalty brings it to the surface."""
        radius, found = self._solver.radius, start

        def excess(log_penalty: float) -> float:
            nonlocal found
            found = minimise(objective, found, self._task.l2, ball=math.exp(log_penalty))
            return _length(found) - radius

        low, high = -12.0, 6.0
        while excess(high) > 0:
            high += 6.0
        if excess(low) > 0:
            optimize.brentq(excess, low, high, xtol=1e-6)
        shrink = min(radius / max(_length(found), 1e-300), 1.0)
        return LinearModel(found.weights * shrink, found.intercept * shrink)


def _length(model: LinearModel) -> float:
    return float(np.hypot(np.linalg.norm(model.weights), model.intercept))
