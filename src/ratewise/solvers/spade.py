"""SPADE: the paper's Algorithm 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ..measures import ConcaveMeasure, Measure, RecallAtPrecision
from ..rewards import Reward
from .base import Solver, Task, check_settings, checked_reward, points_between_models, primal_settings
from .driver import Steps
from .requests import Learn, Record, Savepoint
from .state import RowTotals


@dataclass(frozen=True)
class Spade(Solver):
    """Maximize a concave measure (G-mean, H-mean, Q-mean, Min) one point at a time.

    Each point moves the model towards its own side, in proportion to the current weight of its class. It then
    moves the dual pair of class weights towards the class that does worse. (Algorithm 1: primal ascent in w, dual
    descent in (alpha, beta), the mean of all w returned.)

    Parameters
    ----------
    passes : int
        Passes over the data.
    reward : "hinge", "logistic" or a Reward
        The reward of a signed score; must be concave.
    step, dual_step : float
        eta and eta' at t = 1, in units that need no tuning (see :func:`primal_settings`); both fall as
        1 / sqrt(t).
    radius : float
        R_W: weights (in standardized units) are kept inside a ball of this radius.

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
    conjugate_sign: ClassVar[float] = 1.0
    """-1 takes the dual step as printed in Algorithm 1. The printed sign is an error: tests show its effect on
    Q-mean."""

    def __post_init__(self) -> None:
        check_settings(self, "step", "dual_step", "radius")

    def check(self, measure: Measure, prevalence: float) -> None:
        if isinstance(measure, RecallAtPrecision):
            raise ValueError(
                f"{measure.label} is concave at a known share of positives only: give Spade "
                f"measure.at_prevalence(p), here p = {prevalence:.3g}, or use solver='auto'."
            )
        require_concave(measure)

    # [algorithm]
    def algorithm(self, task: Task, seen: Callable[[], RowTotals]) -> Steps:
        """Run Algorithm 1: primal ascent in w and dual descent in (alpha, beta), point by point."""
        measure, reward = task.measure, checked_reward(self.reward, "Spade")
        first_pair, passes = require_concave(measure).first_pair(), 0
        # All passes at once where nobody wants to know of each: every request costs some microseconds.
        at_once = self.passes if task.history is None and not task.endless else 1
        while task.endless or passes < self.passes:
            passes = yield Savepoint(passes)
            settings = primal_settings(
                seen(),
                first_pair,
                step=self.step,
                dual_step=self.dual_step,
                radius=self.radius,
                l2=task.l2,
                average_every=points_between_models(seen().points, task.n_features),
                conjugate_sign=self.conjugate_sign,
            )
            pair = first_pair if passes == 0 else None  # (alpha, beta) continues from its value
            learned = yield Learn(settings, reward, pair, measure, passes=at_once)
            passes += at_once
            points = seen().points if task.endless else passes * seen().points
            alpha, beta = learned.class_weights
            yield Record(passes, points, {"alpha": alpha, "beta": beta})
        return learned.mean

    # [end]


def require_concave(measure: Measure) -> ConcaveMeasure:
    if not isinstance(measure, ConcaveMeasure):
        raise ValueError(
            f"Spade maximizes concave measures, and {measure.label} is not one: use solver='stamp', 'amp' or "
            "'auto'."
        )
    return measure
