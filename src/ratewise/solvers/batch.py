"""Weighted rewards of all rows at once, and their maximiser by scipy's L-BFGS."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ..measures import Measure
from ..rewards import Logistic, Reward
from ..streams import ArrayStream
from .base import Run, Solver, Task, require_number
from .learner import LinearModel

Objective = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]


class MeanReward:
    """Minus a weighted mean of the two classes' rewards, as a function of (weights, intercept), and its gradient.

    ``on_positives`` is what the mean reward of the positives weighs, ``on_negatives`` that of the negatives; only
    their proportion matters.
    """

    def __init__(self, stream: ArrayStream, reward: Reward, on_positives: float, on_negatives: float):
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


def minimise(
    objective: Objective,
    start: LinearModel,
    l2: float,
    *,
    ball: float = 0.0,
    tolerance: float = 1e-7,
    rounds: int = 500,
) -> LinearModel:
    """The minimiser with an L2 penalty on the weights, and ``ball`` more on weights and intercept alike."""
    penalties = np.full(start.weights.size + 1, l2 + ball)
    penalties[-1] = ball

    def penalised(model: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        loss, gradient = objective(model)
        return loss + 0.5 * float(penalties @ (model * model)), gradient + penalties * model

    first = np.append(start.weights, start.intercept)
    options = {"maxiter": rounds, "gtol": tolerance, "ftol": 1e-2 * tolerance}
    found = optimize.minimize(penalised, first, jac=True, method="L-BFGS-B", options=options).x
    return LinearModel(np.asarray(found[:-1], dtype=np.float64), float(found[-1]))


@dataclass(frozen=True)
class BatchLogistic(Solver):
    """Logistic regression with class weights and an L2 penalty, solved to the end.

    Where rows are few, a penalty finds models that no number of passes comes to; held-out rows tell which.

    Parameters
    ----------
    emphasis : float
        Positives weigh ((1-p)/p)^emphasis times as much as negatives.
    C : float
        The inverse of the penalty, as in scikit-learn.
    """

    emphasis: float = 0.0
    C: float = 1.0
    passes: int = 1

    name: ClassVar[str] = "batch"
    streaming: ClassVar[bool] = False
    to_be_sharpened: ClassVar[bool] = False  # steps without a penalty would lead where the other starts do

    def __post_init__(self) -> None:
        require_number("C", self.C, "BatchLogistic", low=0)

    @property
    def label(self) -> str:
        return f"batch logistic, emphasis {self.emphasis:.2g}, C {self.C:g}"

    def check(self, measure: Measure, prevalence: float) -> None:
        """Any measure will do."""

    def start(self, task: Task) -> BatchLogisticRun:
        return BatchLogisticRun(self, task)


class BatchLogisticRun(Run):
    """One fit."""

    def __init__(self, solver: BatchLogistic, task: Task):
        self._solver = solver
        self._model = task.initial or LinearModel(np.zeros(task.n_features), 0.0)

    def solve(self, stream: ArrayStream) -> None:
        p = stream.summary.prevalence
        ratio = ((1.0 - p) / p) ** self._solver.emphasis
        objective = MeanReward(stream, Logistic(), ratio * p, 1.0 - p)
        # scikit-learn sums natural log losses; here they are to base 2, weighted and averaged.
        points = stream.n_points * (ratio * p + 1.0 - p)
        l2 = 1.0 / (self._solver.C * points * math.log(2.0))
        self._model = minimise(objective, self._model, l2, tolerance=1e-4, rounds=100)

    def model(self) -> LinearModel:
        return self._model
