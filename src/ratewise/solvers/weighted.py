"""Logistic regression with class weights, point by point: a start for any measure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..measures import Measure, Rates
from ..rewards import Logistic
from ..streams import ArrayStream, Summary
from .base import Solver, StreamingRun, Task, leverage_settings, require_number
from .learner import Learner, LinearModel


@dataclass(frozen=True)
class WeightedLogistic(Solver):
    """Plain logistic regression (emphasis 0), the balanced one (1), or what lies between.

    It does not look at the measure, so it suits all; sharpening starts from it where it cannot start from SPADE or
    STAMP, or wants several starts to choose from.

    Parameters
    ----------
    emphasis : float
        Positives weigh ((1-p)/p)^emphasis times as much as negatives.
    passes : int
    step : float
        In units of a point's own leverage 1 / (|x|^2 + 1); falls as 1 / sqrt(1 + passes).
    """

    emphasis: float = 0.5
    passes: int = 2
    step: float = 2.0

    name: ClassVar[str] = "weighted"
    streaming: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_number("passes", self.passes, "WeightedLogistic", low=0, whole=True)
        require_number("step", self.step, "WeightedLogistic", low=0)

    @property
    def label(self) -> str:
        return f"logistic, emphasis {self.emphasis:.2g}"

    def check(self, measure: Measure, prevalence: float) -> None:
        """Any measure will do."""

    def start(self, task: Task) -> WeightedLogisticRun:
        return WeightedLogisticRun(self, task)


class WeightedLogisticRun(StreamingRun):
    """One fit; its model is the mean of the models of the last pass."""

    def __init__(self, solver: WeightedLogistic, task: Task):
        self._solver = solver
        self._task = task
        self._learner = Learner(task.n_features, task.dtype, task.initial)
        self._first = True

    def solve(self, stream: ArrayStream) -> None:
        for _ in range(self._solver.passes):
            self.begin_pass()
            self.feed(stream, stream.n_points, stream.summary)

    def begin_pass(self) -> None:
        self._learner.restart_mean()

    def feed(self, stream: ArrayStream, points: int, seen: Summary) -> None:
        p = seen.prevalence
        ratio = ((1.0 - p) / p) ** self._solver.emphasis
        in_pass = seen._replace(points=self._task.points_a_pass or stream.n_points)
        if self._first:
            self._first = False
            self._learner.restart_steps(in_pass.points)
            if self._task.initial is None:
                log_odds = math.log(ratio * p / (1.0 - p))
                self._learner.set_model(LinearModel(np.zeros(self._task.n_features), log_odds))
        self._learner.pair = (ratio / max(ratio, 1.0), 1.0 / max(ratio, 1.0))
        # The logistic reward is to base 2.
        step = self._solver.step * math.log(2.0)
        settings = leverage_settings(
            in_pass, stream.n_features, step=step, leverage=seen.leverage, l2=self._task.l2
        )
        for chunk in stream.take(points):
            self._learner.learn(chunk, settings, Logistic())

    def model(self) -> LinearModel:
        return self._learner.mean()

    def rates_met(self) -> Rates:
        return self._learner.rates_met()

    def change_units(self, change: Any) -> None:
        self._learner.change_units(change)
