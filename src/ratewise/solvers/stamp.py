"""STAMP: the paper's Algorithm 3."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..decisions.choose import half_standard_error
from ..measures import Measure, PseudoLinearMeasure, Rates
from ..rewards import Reward
from .base import (
    Solver,
    Task,
    check_settings,
    checked_reward,
    points_between_models,
    primal_settings,
    require_number,
    require_pseudo_linear,
)
from .driver import Steps
from .requests import CountRates, Learn, MeanRewards, Record, Savepoint
from .state import LinearModel, RowTotals

# A level uses this many rows of the rarer class, if 10,000 rows contain them.
_LEVEL_POSITIVES = 200
_LEVEL_ROWS = 10_000


@dataclass(frozen=True)
class Stamp(Solver):
    """Maximize a pseudo-linear measure (F-beta, Jaccard, Gower-Legendre) one point at a time.

    Learning runs in epochs of doubling length. In each epoch the model learns with fixed weights on the two
    classes. The level of the measure that it reaches then sets the weights of the next epoch. Of the models of the
    last three epochs the last is kept, unless another reached a clearly higher level. (Algorithm 3, with the
    valuation's weights for any measure and any prevalence. An epoch passes on its mean model, as in the proof's
    online-to-batch step.)

    Parameters
    ----------
    passes : int
        Passes over the data.
    first_epoch : int
        Points of the first epoch.
    growth : float
        Each epoch is this many times as long as the one before.
    level : "actual" or "fresh"
        "actual" computes the measure of the 0-1 predictions on a sample of the rows: an eighth as many as the
        epoch had points, but at least 200 of the rarer class, or 10,000 in all. The paper's experiments used all
        rows. "fresh" computes the measure of the mean rewards on as many fresh points as the epoch had (exactly
        Algorithm 3).
    reward : "hinge", "logistic" or a Reward
    step : float
        eta at t = 1; falls as 1 / sqrt(t) and starts again with each epoch.
    radius : float
        R_W: weights (in standardized units) are kept inside a ball of this radius.

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

    # [algorithm]
    def algorithm(self, task: Task, seen: Callable[[], RowTotals]) -> Steps:
        """Run Algorithm 3: epochs of learning, each followed by the level that sets the next one's weights."""
        measure, reward = require_pseudo_linear(task.measure, "Stamp"), checked_reward(self.reward, "Stamp")
        first = task.initial or LinearModel.zeros(task.n_features)
        left = math.inf if task.endless else self.passes * seen().points
        epoch = _Epoch(float(self.first_epoch), left, 0, 0.0 if task.initial is None else None, ())
        while epoch.left > 0:
            length, left, points, level, recent = epoch = yield Savepoint(epoch)
            if level is None:  # of the model to begin from
                rates = yield CountRates(first, _rows_of_level(seen().prevalence, length))
                level = float(measure.value(*rates))
            weights = measure.valuation_weights(level, seen().prevalence)  # linearize
            settings = primal_settings(
                seen(),
                weights,
                step=self.step,
                radius=self.radius,
                l2=task.l2,
                average_every=points_between_models(int(length), task.n_features),
            )
            # The last epoch takes the remainder, so that none is cut off half-way.
            wanted = int(left if left < length * (1.0 + self.growth) else length)
            again = {"start": recent[-1][1], "restart_mean": True, "restart_steps": 0} if recent else {}
            if task.endless:  # the model may be requested at any time
                again["meanwhile"] = _best_beyond_chance(recent, measure, seen()) if recent else first
            learned = yield Learn(settings, reward, weights, points=wanted, **again)  # learn
            points, left = points + wanted, left - wanted
            if self.level == "fresh" and left > 0:  # count
                fresh = int(min(left, length))
                of_positives, of_negatives = yield MeanRewards(learned.mean, reward, fresh)
                points, left = points + fresh, left - fresh
                rates = Rates(max(of_positives, 0.0), max(of_negatives, 0.0), seen().prevalence)
            else:
                rates = yield CountRates(learned.mean, _rows_of_level(seen().prevalence, length))
            level = float(measure.value(*rates))
            recent = (*recent[-2:], (level, learned.mean))
            epoch = _Epoch(length * self.growth, left, points, level, recent)
            yield Record(points / max(seen().points, 1), points, {"level": level})
        return _best_beyond_chance(epoch.recent, measure, seen())

    # [end]


class _Epoch(NamedTuple):
    """The state at the beginning of an epoch."""

    length: float
    left: float
    """The points of this epoch and of all later epochs."""
    points: int
    """The points of all epochs so far."""
    level: float | None
    """The challenge level: the value of the measure that the model is to beat."""
    recent: tuple[tuple[float, LinearModel], ...]
    """The last three epochs' levels and models."""


def _rows_of_level(prevalence: float, length: float) -> int:
    """Return the number of rows for the level of an epoch: fewer for a short epoch."""
    return int(max(fewest_level_rows(prevalence), length / 8.0))


def _best_beyond_chance(
    recent: tuple[tuple[float, LinearModel], ...], measure: PseudoLinearMeasure, seen: RowTotals
) -> LinearModel:
    """Return the last model, unless a recent model was better by more than the error of its level.

    A concave reward is not the measure: where positives are rare, the weights of a high level may lead to no
    predicted positives, and the next level is low. Then good and bad epochs alternate.
    """
    level, model = max(recent, key=lambda one: one[0])
    prevalence = seen.prevalence
    rarer = fewest_level_rows(prevalence) * min(prevalence, 1.0 - prevalence)
    error = 2.0 * half_standard_error(level, measure.scale(prevalence), rarer)
    last_level, last = recent[-1]
    return model if level > last_level + error else last


def fewest_level_rows(prevalence: float) -> float:
    """Return the fewest rows for a level."""
    return min(_LEVEL_ROWS, _LEVEL_POSITIVES / min(prevalence, 1.0 - prevalence))
