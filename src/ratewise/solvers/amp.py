"""AMP: the paper's Algorithm 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ..measures import Measure, Rates
from ..rewards import Reward
from .base import (
    CountRates,
    History,
    Maximize,
    MeanRewards,
    Request,
    Run,
    Solver,
    Task,
    check_settings,
    checked_reward,
    require_pseudo_linear,
)
from .state import LinearModel, Summary


@dataclass(frozen=True)
class Amp(Solver):
    """Maximise a pseudo-linear measure in batch, to a tolerance: few iterations, each an exact maximisation.

    A level of the measure sets the weights of the two classes, the model that is best for these weights sets
    the next level, and so on until the level stands still. (Algorithm 2.) Choose it where the data fit in
    memory and the optimum of the surrogate itself is wanted.

    Parameters
    ----------
    tolerance : float
        Stop when an iteration raises the level by less.
    passes : int
        At most so many iterations.
    reward : "logistic", "hinge" or a Reward
        The smooth logistic reward suits L-BFGS, which maximises; the corner of the hinge may stop it early.
    radius : float
        R_W: weights and intercept (in standardised units) are kept inside a ball of this radius.
    level : "reward" or "actual"
        Take the measure of the mean rewards as the level, as the theory has it, or the measure of the 0-1
        predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise import MeasureClassifier
    >>> from ratewise.solvers import Amp
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MeasureClassifier("f1", solver=Amp(), sharpen=False, random_state=0).fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
    """

    tolerance: float = 1e-5
    passes: int = 100
    reward: str | Reward = "logistic"
    radius: float = math.inf
    level: str = "actual"

    name: ClassVar[str] = "amp"
    streaming: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, "tolerance", "radius")
        if self.level not in ("actual", "reward"):
            raise ValueError(f"Amp: level must be 'actual' or 'reward'; got {self.level!r}.")

    def check(self, measure: Measure, prevalence: float) -> None:
        require_pseudo_linear(measure, "Amp").check_against(prevalence, checked_reward(self.reward, "Amp").largest)

    def start(self, task: Task) -> AmpRun:
        return AmpRun(self, task)


class AmpRun(Run):
    """One fit by AMP: a maximisation, then the level of its model, until the level stands still."""

    def __init__(self, solver: Amp, task: Task):
        self._solver = solver
        self._task = task
        self._measure = require_pseudo_linear(task.measure, "Amp")
        self._reward = checked_reward(solver.reward, "Amp")
        self._model = self._candidate = task.initial or LinearModel.zeros(task.n_features)
        self._level = -math.inf
        self._rates: Rates | None = None
        self._iteration = 0
        self._stage = "rates"

    @property
    def challenge_level(self) -> float:
        return self._level

    @property
    def history(self) -> History:
        return self._task.history or History()

    def model(self) -> LinearModel:
        return self._model

    def request(self, seen: Summary) -> Request:
        self._seen = seen
        if self._stage == "rates":
            return CountRates(self._candidate)
        if self._stage == "rewards":
            return MeanRewards(self._candidate, self._reward)
        weights = self._measure.valuation_weights(self._level, seen.prevalence)
        return Maximize(self._reward, weights, self._model, self._task.l2, self._solver.radius)

    def receive(self, answer: Any) -> None:
        if self._stage == "maximize":
            self._candidate, self._stage = answer, "rates"
        elif self._stage == "rates":
            self._candidate_rates = answer
            if self._solver.level == "reward":
                self._stage = "rewards"
            else:
                self._take_level(float(self._measure.value(*answer)))
        else:
            positives, negatives = (max(reward, 0.0) for reward in answer)
            self._take_level(float(self._measure.value(positives, negatives, self._seen.prevalence)))

    def _take_level(self, level: float) -> None:
        self._stage = "maximize"
        rise = level - self._level
        if rise > 0 or self._iteration == 0:  # an inexact maximisation must not undo what was won
            self._model, self._level, self._rates = self._candidate, level, self._candidate_rates
        if self._iteration > 0:
            self._record()
        self.finished = rise < self._solver.tolerance or self._iteration == self._solver.passes
        self._iteration += 1

    def _record(self) -> None:
        if self._task.history is None or self._rates is None:
            return
        self._task.history.record(
            passes=self._iteration,
            points=self._iteration * self._seen.points,
            tpr=self._rates.tpr,
            tnr=self._rates.tnr,
            value=float(self._measure.value(*self._rates)),
            level=self._level,
        )
