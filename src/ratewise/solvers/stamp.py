"""STAMP: the paper's Algorithm 3."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..measures import Measure
from ..rewards import Reward
from .base import (
    CountRates,
    Learn,
    LearnerRun,
    MeanRewards,
    Request,
    Solver,
    Task,
    check_settings,
    checked_reward,
    points_between_models,
    primal_settings,
    require_number,
    require_pseudo_linear,
)
from .state import LinearModel, Summary
from .threshold import half_standard_error

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
        "actual" takes the measure itself, of the 0-1 predictions on a sample of the rows, an eighth as
        many as the epoch had points (but 200 of the rarer class at least, or 10,000 in all); the paper's
        experiments took all rows. "fresh" spends as many fresh points as the epoch had on the mean rewards and
        takes the measure of those (Algorithm 3 to the letter).
    reward : "hinge", "logistic" or a Reward
    step : float
        eta at t = 1; falls as 1 / sqrt(t) and starts again with each epoch.
    radius : float
        R_W: weights (in standardised units) are kept inside a ball of this radius.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise import MeasureClassifier
    >>> from ratewise.solvers import Stamp
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MeasureClassifier("f1", solver=Stamp(first_epoch=50), sharpen=False, random_state=0).fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
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
        check_settings(self, "step", "radius")
        require_number("first_epoch", self.first_epoch, "Stamp", low=0, whole=True)
        require_number("growth", self.growth, "Stamp", low=1)
        if self.level not in ("actual", "fresh"):
            raise ValueError(f"Stamp: level must be 'actual' or 'fresh'; got {self.level!r}.")

    def check(self, measure: Measure, prevalence: float) -> None:
        require_pseudo_linear(measure, "Stamp").check_against(
            prevalence, checked_reward(self.reward, "Stamp").largest
        )

    def start(self, task: Task) -> StampRun:
        return StampRun(self, task)


class StampRun(LearnerRun):
    """One fit by STAMP: epochs of learning, each followed by its level."""

    def __init__(self, solver: Stamp, task: Task):
        super().__init__(task)
        self._solver = solver
        self._measure = require_pseudo_linear(task.measure, "Stamp")
        self._reward = checked_reward(solver.reward, "Stamp")
        self._level = 0.0
        self._points = 0
        self._left: float | None = None  # points of all epochs to come; set when the number of rows is known
        self._epoch_length = float(solver.first_epoch)
        self._challenger = self._learner.current()  # w_e: the model of the last whole epoch
        self._recent: list[tuple[float, LinearModel]] = []  # the last epochs' levels and models
        self._level_due = task.initial is not None

    @property
    def challenge_level(self) -> float:
        return self._level

    def request(self, seen: Summary) -> Request:
        self._seen = seen
        if self._left is None:
            self._left = math.inf if self._task.endless else self._solver.passes * seen.points
            self._epoch_points = self._points_of_epoch(self._left)
        if self._level_due:
            if self._solver.level == "fresh" and self._points and self._left > 0:
                points = int(min(self._left, self._epoch_length))
                return MeanRewards(self._learner.mean(), self._reward, points)
            # A short epoch's level need not be known better than the epoch lets the model be.
            rows = int(max(_least_rows(seen.prevalence), self._epoch_length / 8.0))
            return CountRates(self._learner.mean(), rows)
        class_weights = self._measure.valuation_weights(self._level, seen.prevalence)
        self._learner.class_weights = class_weights
        settings = primal_settings(
            seen,
            class_weights,
            step=self._solver.step,
            radius=self._solver.radius,
            l2=self._task.l2,
            average_every=points_between_models(int(self._epoch_length), self._task.n_features),
        )
        return Learn(self._learner, settings, self._reward, points=self._epoch_points)

    def _points_of_epoch(self, left: float) -> int:
        """The last epoch takes the remainder, so that none is cut off half-way."""
        last = left < self._epoch_length * (1.0 + self._solver.growth)
        return int(left if last else self._epoch_length)

    def receive(self, answer: Any) -> None:
        assert self._left is not None
        if not self._level_due:
            self._points += self._epoch_points
            self._left -= self._epoch_points
            self._level_due = True
            return
        self._level_due = False
        if self._points == 0:  # of the model to begin from
            self._level = float(self._measure.value(*answer))
            return
        if len(answer) == 2:  # the mean rewards of fresh points
            fresh = int(min(self._left, self._epoch_length))
            self._points += fresh
            self._left -= fresh
            answer = (max(answer[0], 0.0), max(answer[1], 0.0), self._seen.prevalence)
        self._end_epoch(float(self._measure.value(*answer)))

    def _end_epoch(self, level: float) -> None:
        self._challenger = self._learner.mean()
        self._learner.set_model(self._challenger)
        self._learner.restart_mean()
        self._learner.restart_steps()
        self._level = level
        self._recent = [*self._recent[-2:], (level, self._challenger)]
        self._epoch_length *= self._solver.growth
        self.record(self._points / max(self._seen.points, 1), self._points, level=level)
        assert self._left is not None
        self.finished = self._left <= 0
        self._epoch_points = self._points_of_epoch(self._left)

    def model(self) -> LinearModel:
        """Return the running epoch's mean once it has seen half its points; else the best of the last epochs."""
        if not self.finished and self._left is not None and 2 * self._learner.points_seen >= self._epoch_points:
            return self._learner.mean()
        return self._best_beyond_chance() if self._recent else self._challenger

    def _best_beyond_chance(self) -> LinearModel:
        """Return the last model, unless one shortly before it was better by more than its level can err.

        A concave reward is not the measure: where positives are rare, the weights of a high level may leave no
        positive predicted, and the level that follows is low. Then good epochs and bad ones alternate.
        """
        level, model = max(self._recent, key=lambda one: one[0])
        prevalence = self._seen.prevalence
        rarer = _least_rows(prevalence) * min(prevalence, 1.0 - prevalence)
        error = 2.0 * half_standard_error(level, self._measure.scale(prevalence), rarer)
        last_level, last = self._recent[-1]
        return model if level > last_level + error else last

    def change_transform(self, change: Callable[[Any, float], Any]) -> None:
        super().change_transform(change)
        self._challenger = LinearModel(*change(*self._challenger))
        self._recent = [(level, LinearModel(*change(*model))) for level, model in self._recent]


def _least_rows(prevalence: float) -> float:
    """The fewest rows that a level is taken on."""
    return min(_LEVEL_ROWS, _LEVEL_POSITIVES / min(prevalence, 1.0 - prevalence))
