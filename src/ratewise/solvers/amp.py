"""AMP: the paper's Algorithm 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ..measures import Measure, PseudoLinearMeasure
from ..rewards import Reward
from ..streams import ArrayStream
from .base import Run, Solver, Task, checked_reward, require_number
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
            return max(float(self._measure.value(*rates)), 0.0)
        signs = np.sign(stream.signed_weights)
        weights = np.abs(stream.signed_weights, dtype=np.float64)
        rewards = weights * self._reward.value(signs * scores)
        positive = signs > 0
        on_positives = max(rewards[positive].sum() / weights[positive].sum(), 0.0)
        on_negatives = max(rewards[~positive].sum() / weights[~positive].sum(), 0.0)
        return max(float(self._measure.value(on_positives, on_negatives, stream.summary.prevalence)), 0.0)

    def _maximise_valuation(self, stream: ArrayStream) -> LinearModel:
        """argmax over W of V(w, v) - l2/2 |w|^2, from the model of the round before."""
        objective = _Valuation(stream, self._measure, self._reward, self._level)
        start = np.append(self._model.weights, self._model.intercept)
        best = _minimise(objective, start, self._task.l2)
        if np.linalg.norm(best) > self._solver.radius:
            best = self._on_the_ball(objective, best)
        return LinearModel(best[:-1], float(best[-1]))

    def _on_the_ball(self, objective: _Valuation, start: NDArray[np.float64]) -> NDArray[np.float64]:
        """The maximiser over the ball: that of the penalised problem whose penalty brings it to the surface."""
        radius, found = self._solver.radius, start

        def excess(log_penalty: float) -> float:
            nonlocal found
            found = _minimise(objective, found, self._task.l2, ball=math.exp(log_penalty))
            return float(np.linalg.norm(found)) - radius

        low, high = -12.0, 6.0
        while excess(high) > 0:
            high += 6.0
        if excess(low) > 0:
            optimize.brentq(excess, low, high, xtol=1e-6)
        length = float(np.linalg.norm(found))
        return found * min(radius / length, 1.0) if length > 0 else found


class _Valuation:
    """Minus the valuation of a model (weights, intercept) at a fixed level, and its gradient."""

    def __init__(self, stream: ArrayStream, measure: PseudoLinearMeasure, reward: Reward, level: float):
        p = stream.summary.prevalence
        on_positives, on_negatives = measure.valuation_weights(level, p)
        weights = np.abs(stream.signed_weights, dtype=np.float64)
        self._signs = np.sign(stream.signed_weights).astype(np.float64)
        positive = self._signs > 0
        per_point = np.where(
            positive,
            on_positives / max(weights[positive].sum(), 1e-300),
            on_negatives / max(weights[~positive].sum(), 1e-300),
        )
        self._weights = weights * per_point / max(on_positives + on_negatives, 1e-300)
        self._stream = stream
        self._reward = reward

    def __call__(self, model: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margins = self._signs * self._stream.scores(model[:-1], model[-1])
        loss = -float(self._weights @ self._reward.value(margins))
        pull = -self._weights * self._signs * self._reward.slope(margins)
        return loss, np.append(self._stream.weighted_sum(pull), pull.sum())


def _minimise(
    objective: _Valuation, start: NDArray[np.float64], l2: float, ball: float = 0.0
) -> NDArray[np.float64]:
    """L-BFGS on the objective with an L2 penalty on the weights, and ``ball`` on the intercept too."""
    penalties = np.full(start.size, l2 + ball)
    penalties[-1] = ball

    def penalised(model: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        loss, gradient = objective(model)
        return loss + 0.5 * float(penalties @ (model * model)), gradient + penalties * model

    result = optimize.minimize(
        penalised, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "gtol": 1e-7}
    )
    return np.asarray(result.x, dtype=np.float64)
