"""SPADE: the paper's Algorithm 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ..measures import ConcaveMeasure, Measure, Rates, RecallAtPrecision
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


@dataclass(frozen=True)
class Spade(Solver):
    """Maximise a concave measure (G-mean, H-mean, Q-mean, Min) one point at a time.

    Each point moves the model towards its own side, by as much as its class weighs just now, and then moves
    the pair of weights towards the class that does worse. (Algorithm 1: primal ascent in w, dual descent in
    (alpha, beta), the mean of all w returned.)

    Parameters
    ----------
    passes : int
        Passes over the data.
    reward : "hinge", "logistic" or a Reward
        What a signed score is worth; must be concave.
    step, dual_step : float
        eta and eta' at t = 1, in units that need no tuning (see :func:`primal_settings`); both fall as
        1 / sqrt(t).
    radius : float
        R_W: weights (in standardised units) are kept inside a ball of this radius.
    printed_sign : bool
        Take the dual step with the sign as printed in the paper, which is a slip: for Q-mean the pair is driven
        to zero and learning stops. Kept so that it can be seen.
    """

    passes: int = 25
    reward: str | Reward = "hinge"
    step: float = 1.0
    dual_step: float = 1.0
    radius: float = math.inf
    printed_sign: bool = False

    name: ClassVar[str] = "spade"
    streaming: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_number("passes", self.passes, "Spade", low=0, whole=True)
        for setting in ("step", "dual_step", "radius"):
            require_number(setting, getattr(self, setting), "Spade", low=0)
        checked_reward(self.reward, "Spade")

    def check(self, measure: Measure, prevalence: float) -> None:
        if isinstance(measure, RecallAtPrecision):
            raise ValueError(
                f"{measure.label} is concave at a known share of positives only: give Spade "
                f"measure.at_prevalence(p), here p = {prevalence:.3g}, or use solver='auto'."
            )
        if not isinstance(measure, ConcaveMeasure):
            raise ValueError(
                f"Spade maximises concave measures, and {measure.label} is not one: use solver='stamp', 'amp' or "
                "'auto'."
            )

    def start(self, task: Task) -> SpadeRun:
        return SpadeRun(self, task)


class SpadeRun(StreamingRun):
    """One fit by SPADE."""

    def __init__(self, solver: Spade, task: Task):
        if not isinstance(task.measure, ConcaveMeasure):
            solver.check(task.measure, 0.5)
            raise AssertionError("unreachable")
        self._solver = solver
        self._task = task
        self._measure = task.measure
        self._reward = checked_reward(solver.reward, "Spade")
        self._learner = Learner(task.n_features, task.dtype, task.initial)
        self._first_pair = self._measure.first_pair()
        self._learner.pair = self._first_pair
        self._points = 0

    def solve(self, stream: ArrayStream) -> None:
        # All passes at once where nobody wants to know of each: every call costs some microseconds.
        feeds = 1 if self._task.history is None else self._solver.passes
        for _ in range(feeds):
            self.feed(stream, stream.n_points * self._solver.passes // feeds, stream.summary)

    def feed(self, stream: ArrayStream, points: int, seen: Summary) -> None:
        settings = primal_settings(
            seen,
            self._first_pair,
            step=self._solver.step,
            dual_step=self._solver.dual_step,
            radius=self._solver.radius,
            l2=self._task.l2,
            average_every=points_between_models(seen.points, self._task.n_features),
        )
        if self._solver.printed_sign:
            settings = settings._replace(steps=settings.steps._replace(conjugate_sign=-1.0))
        for chunk in stream.take(points):
            self._learner.learn(chunk, settings, self._reward, self._measure)
        self._points += points
        if self._task.history is not None:
            rates = self._learner.rates_met()
            alpha, beta = self._learner.pair
            self._task.history.record(
                passes=self._points / max(stream.n_points, 1),
                points=self._points,
                tpr=rates.tpr,
                tnr=rates.tnr,
                value=float(self._measure.value(*rates)),
                alpha=alpha,
                beta=beta,
            )

    def model(self) -> LinearModel:
        return self._learner.mean()

    @property
    def dual_pair(self) -> tuple[float, float]:
        return self._learner.pair

    def rates_met(self) -> Rates:
        return self._learner.rates_met()

    def change_units(self, change: Any) -> None:
        self._learner.change_units(change)
