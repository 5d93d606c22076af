"""AMP: the paper's Algorithm 2."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ..measures import Measure, PseudoLinearMeasure
from ..rewards import Reward
from .base import Solver, Task, check_settings, checked_reward, require_pseudo_linear
from .driver import Steps
from .requests import CountRates, Maximize, MeanRewards, Record
from .state import LinearModel, RowTotals


@dataclass(frozen=True)
class Amp(Solver):
    """Maximize a pseudo-linear measure in batch, to a tolerance: few iterations, each an exact maximization.

    A level of the measure sets the weights of the two classes. The best model for these weights sets the next
    level. This repeats until the level no longer rises. (Algorithm 2.) Choose it where the data fit in memory and
    the optimum of the surrogate itself is wanted.

    Parameters
    ----------
    tolerance : float
        Stop when an iteration raises the level by less.
    passes : int
        The largest number of iterations.
    reward : "logistic", "hinge" or a Reward
        The smooth logistic reward suits L-BFGS, which maximizes; the corner of the hinge may stop it early.
    radius : float
        R_W: weights and intercept (in standardized units) are kept inside a ball of this radius.
    level : "reward" or "actual"
        The level is the measure of the mean rewards, as in the theory, or the measure of the 0-1 predictions.

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

    # [algorithm]
    def algorithm(self, task: Task, seen: Callable[[], RowTotals]) -> Steps:
        """Run Algorithm 2: a maximization, then the level of its model, until the level no longer rises."""
        measure, reward = require_pseudo_linear(task.measure, "Amp"), checked_reward(self.reward, "Amp")
        model = task.initial or LinearModel.zeros(task.n_features)
        rates, level = yield from self._counted(model, measure, reward, seen)
        for iteration in range(1, self.passes + 1):
            weights = measure.valuation_weights(level, seen().prevalence)  # linearize
            found = yield Maximize(reward, weights, model, task.l2, self.radius)  # learn
            its_rates, its_level = yield from self._counted(found, measure, reward, seen)  # count
            rise = its_level - level
            if rise > 0:  # an inexact maximization must not lose the best model
                model, rates, level = found, its_rates, its_level
            yield Record(iteration, iteration * seen().points, {"level": level}, rates)
            if rise < self.tolerance:
                break
        return model

    # [end]

    def _counted(
        self, model: LinearModel, measure: PseudoLinearMeasure, reward: Reward, seen: Callable[[], RowTotals]
    ) -> Steps:
        """Return the rates of a model and its level, of these rates or of its mean rewards."""
        rates = yield CountRates(model)
        if self.level == "actual":
            return rates, float(measure.value(*rates))
        positives, negatives = yield MeanRewards(model, reward)
        return rates, float(measure.value(max(positives, 0.0), max(negatives, 0.0), seen().prevalence))
