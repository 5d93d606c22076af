"""SPADE: the paper's Algorithm 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ..measures import ConcaveMeasure, Measure, RecallAtPrecision
from ..rewards import Reward
from .base import (
    Learn,
    LearnerRun,
    Solver,
    Task,
    check_settings,
    checked_reward,
    points_between_models,
    primal_settings,
)
from .state import Summary


@dataclass(frozen=True)
class Spade(Solver):
    """Maximise a concave measure (G-mean, H-mean, Q-mean, Min) one point at a time.

    Each point moves the model towards its own side, by as much as its class weighs at present, and then moves
    the dual pair of class weights towards the class that does worse. (Algorithm 1: primal ascent in w, dual
    descent in (alpha, beta), the mean of all w returned.)

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

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise import MeasureClassifier
    >>> from ratewise.solvers import Spade
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MeasureClassifier("gmean", solver=Spade(passes=5), sharpen=False, random_state=0).fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
    """

    passes: int = 25
    reward: str | Reward = "hinge"
    step: float = 1.0
    dual_step: float = 1.0
    radius: float = math.inf

    name: ClassVar[str] = "spade"
    streaming: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self, "step", "dual_step", "radius")

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


class SpadeRun(LearnerRun):
    """One fit by SPADE."""

    conjugate_sign: ClassVar[float] = 1.0
    """-1 takes the dual step as Algorithm 1 prints it, which is a slip: tests show what it does to Q-mean."""

    def __init__(self, solver: Spade, task: Task):
        if not isinstance(task.measure, ConcaveMeasure):
            solver.check(task.measure, 0.5)
            raise AssertionError("unreachable")
        super().__init__(task)
        self._solver = solver
        self._measure = task.measure
        self._reward = checked_reward(solver.reward, "Spade")
        self._first_pair = self._measure.first_pair()
        self._learner.class_weights = self._first_pair
        self._passes = 0
        # All passes at once where nobody wants to know of each: every request costs some microseconds.
        self._at_once = solver.passes if task.history is None and not task.endless else 1

    def request(self, seen: Summary) -> Learn:
        self._points_seen = seen.points if self._task.endless else (self._passes + self._at_once) * seen.points
        settings = primal_settings(
            seen,
            self._first_pair,
            step=self._solver.step,
            dual_step=self._solver.dual_step,
            radius=self._solver.radius,
            l2=self._task.l2,
            average_every=points_between_models(seen.points, self._task.n_features),
        )
        settings = settings._replace(steps=settings.steps._replace(conjugate_sign=self.conjugate_sign))
        return Learn(self._learner, settings, self._reward, self._measure, passes=self._at_once)

    def receive(self, answer: Any) -> None:
        self._passes += self._at_once
        self.finished = not self._task.endless and self._passes >= self._solver.passes
        alpha, beta = self.dual_pair
        self.record(self._passes, self._points_seen, alpha=alpha, beta=beta)

    @property
    def dual_pair(self) -> tuple[float, float]:
        return self._learner.class_weights
