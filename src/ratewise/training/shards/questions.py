"""Questions to shards about transformed rows: learning and scoring."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...decisions.cuts import ScoreBins
from ...kernels import count_predicted, fold_of_each_row, score_moments
from ...measures import Rates
from ...rewards import Reward
from ...solvers.learner import Learner, LearnerState
from ...solvers.maximize_classes import ClassObjective
from ...solvers.requests import Learn
from ...solvers.state import LinearModel
from ...transforms import Transform
from ..answers import learn, objective_of, reward_sums
from ..rows import ArrayRows
from .engine import Answer, Question, Setup, Sums
from .statistics import RowsAndTargets, Summaries

_SCORES_KEPT = 2

Scored = tuple[int, LinearModel]
"""A fold, and the model that scores its validation rows."""


class ReadyRows:
    """The rows of one shard, transformed, in random order, split into folds."""

    def __init__(self, rows: ArrayRows):
        self.rows = rows
        self._scores: dict[Any, tuple[NDArray[Any], NDArray[Any]]] = {}
        self._objectives: list[ClassObjective] = []

    @property
    def nbytes(self) -> int:
        return 4 * self.rows.n_values + 8 * self.rows.n_points

    def scores(self, fold: int, model: LinearModel, *, training: bool) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return scores and signed weights; they are kept because the next questions usually need them again."""
        key = (fold, training, model.weights.tobytes(), model.intercept)
        if key not in self._scores:
            while len(self._scores) >= _SCORES_KEPT:
                del self._scores[next(iter(self._scores))]
            rows = self.rows.without_fold(fold) if training else self.rows.fold(fold)
            self._scores[key] = rows.scores(*model), rows.signed_weights
        return self._scores[key]

    def objectives(self, fold: int) -> list[ClassObjective]:
        """Return the objectives of the rows of each other fold; of all rows if there is only one fold."""
        folds = range(len(self.rows.fold_ranges))
        if not self._objectives:
            self._objectives = [objective_of(self.rows.fold(one)) for one in folds]
        left_out = fold if len(folds) > 1 else None
        return [one for k, one in zip(folds, self._objectives, strict=True) if k != left_out and one.total > 0]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_scores": {}, "_objectives": []}


@dataclass(frozen=True)
class MakeReady(Setup):
    """Transform the rows and shuffle them; the bits of a row determine its fold."""

    transform: Transform
    folds: int
    seed: int
    n_classes: int = 2

    name: ClassVar[str] = "ready"

    def apply(self, rows: RowsAndTargets, shard: int) -> ReadyRows:
        rng = np.random.default_rng([self.seed, 2, shard])
        folds = {"fold_of_row": fold_of_each_row(rows.X, self.folds), "n_folds": self.folds}
        return ReadyRows(ArrayRows(*rows, self.transform, rng, n_classes=self.n_classes, **folds))


@dataclass(frozen=True)
class LimitRows(Setup):
    """Reduce the weight of rows longer than this many mean squared lengths."""

    limit: float
    leverage: float

    name: ClassVar[str] = "limit"

    def apply(self, rows: ReadyRows, shard: int) -> ReadyRows:
        limited = copy.copy(rows.rows)
        if limited.n_points:
            limited.limit_rows(self.limit, self.leverage)
        return ReadyRows(limited)


@dataclass(frozen=True)
class TakeSummaries(Question[Summaries]):
    """Sum up the training rows of each fold, and all rows."""

    name: ClassVar[str] = "summary"

    def answer(self, rows: ReadyRows, shard: int) -> Summaries:
        folds = range(len(rows.rows.fold_ranges))
        return Summaries(tuple(rows.rows.without_fold(fold).summary for fold in folds), rows.rows.summary)


@dataclass(frozen=True)
class LocalPass(Question[LearnerState]):
    """Continue from the learner's state on each shard's own rows, for one pass or a share of it."""

    fold: int
    request: Learn
    learner: Learner
    usual_points: int
    """The points of a typical shard that learns; the points of a request refer to such a shard."""
    learning_shards: frozenset[int]
    """The shards that learn."""
    seed: tuple[int, ...]

    name: ClassVar[str] = "learn"

    def answer(self, rows: ReadyRows, shard: int) -> LearnerState:
        n_features = rows.rows.n_features
        mine = rows.rows.without_fold(self.fold)
        if mine.n_points == 0 or shard not in self.learning_shards:
            return LearnerState.nothing(n_features)
        # A new order per round, which depends on the shard's number, not on its machine.
        mine = mine.with_rng(np.random.default_rng([*self.seed, shard]))
        learner = self.learner.copy()
        points = mine.n_points
        if self.request.points is not None:
            points = max(round(self.request.points * points / max(self.usual_points, 1)), 1)
        learn(learner, self.request, mine, points)
        return learner.export()


@dataclass(frozen=True)
class Slope(Sums):
    """The sums of the rewards of each class, of its weights, and the gradient of the weighted rewards."""

    rewards: NDArray[np.float64]
    weights: NDArray[np.float64]
    gradient: NDArray[np.float64]


@dataclass(frozen=True)
class TakeSlope(Question[Slope]):
    """Take the rewards of a share of the training rows, with these weights of a positive and of a negative."""

    fold: int
    model: LinearModel
    reward: Reward
    on_positive: float
    on_negative: float
    share: float

    name: ClassVar[str] = "gradient"

    def answer(self, rows: ReadyRows, shard: int) -> Slope:
        mine = rows.rows.without_fold(self.fold)
        if self.share < 1.0:
            mine = mine.first(int(np.ceil(self.share * mine.n_points)))
        if mine.n_points == 0:
            return Slope(np.zeros(2), np.zeros(2), np.zeros(self.model.weights.size + 1))
        signed = mine.signed_weights.astype(np.float64)
        scores = mine.scores(*self.model)
        pull = signed * self.reward.slope(np.sign(signed) * scores)
        pull *= np.where(signed > 0, self.on_positive, self.on_negative)
        rewards, weights = reward_sums(scores, signed, self.reward)
        return Slope(rewards, weights, np.append(mine.weighted_sum(pull), pull.sum()))


@dataclass(frozen=True)
class PredictedCounts(Sums):
    """The weights of positives, of true positives, of negatives, and of true negatives."""

    counts: NDArray[np.float64]

    def rates(self) -> Rates:
        return Rates.of_totals(*self.counts.tolist())


@dataclass(frozen=True)
class CountPredicted(Question[PredictedCounts]):
    fold: int
    model: LinearModel

    name: ClassVar[str] = "level"

    def answer(self, rows: ReadyRows, shard: int) -> PredictedCounts:
        scores, weights = rows.scores(self.fold, self.model, training=True)
        return PredictedCounts(np.array(count_predicted(scores, weights, 0.0)) if scores.size else np.zeros(4))


@dataclass(frozen=True)
class Spread(Answer):
    """The weight, the mean, the squared deviations and the range of scores."""

    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0
    lowest: float = np.inf
    highest: float = -np.inf

    def merge(self, other: Spread) -> Spread:
        weight = self.weight + other.weight
        if weight == 0:
            return self
        gap = other.mean - self.mean
        squares = self.squares + other.squares + gap * gap * (self.weight * other.weight / weight)
        ends = min(self.lowest, other.lowest), max(self.highest, other.highest)
        return Spread(weight, self.mean + gap * (other.weight / weight), squares, *ends)

    @property
    def deviation(self) -> float:
        return float(np.sqrt(self.squares / max(self.weight, 1e-300)))


@dataclass(frozen=True)
class TakeSpread(Question[Spread]):
    scored: tuple[Scored, ...]
    training: bool

    name: ClassVar[str] = "spread"

    def answer(self, rows: ReadyRows, shard: int) -> Spread:
        found = Spread()
        for fold, model in self.scored:
            scores, signed = rows.scores(fold, model, training=self.training)
            if scores.size:
                found = found.merge(Spread(*score_moments(scores, signed)))
        return found


@dataclass(frozen=True)
class BinCounts(Answer):
    """The weight of negatives and of positives in each bin that is not empty, in order."""

    places: NDArray[np.int64]
    weights: NDArray[np.float64]

    def merge(self, other: BinCounts) -> BinCounts:
        places, back = np.unique(np.concatenate([self.places, other.places]), return_inverse=True)
        weights = np.zeros((2, places.size))
        first, second = np.split(back, [self.places.size])
        weights[:, first] += self.weights
        weights[:, second] += other.weights
        return BinCounts(places, weights)

    def all_bins(self, bins: ScoreBins) -> NDArray[np.float64]:
        weights = bins.empty()
        weights[:, self.places] = self.weights
        return weights

    def __reduce__(self) -> Any:
        """Pickle counts as small whole numbers; without row weights they are whole."""
        return _unpacked_counts, (_smallest(self.places), _smallest(self.weights))


def _unpacked_counts(places: NDArray[Any], weights: NDArray[Any]) -> BinCounts:
    return BinCounts(places.astype(np.int64), weights.astype(np.float64))


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Return nonnegative values in the narrowest type that holds them exactly."""
    highest = float(values.max(initial=0.0))
    if highest < 2**32 and (values == np.floor(values)).all():
        return values.astype(np.min_scalar_type(int(highest)))
    return values


@dataclass(frozen=True)
class CountScores(Question[BinCounts]):
    """Count scores in bins; only scores inside ``within`` if it is given."""

    scored: tuple[Scored, ...]
    bins: ScoreBins
    training: bool
    within: tuple[float, float] | None = None

    name: ClassVar[str] = "histogram"

    def answer(self, rows: ReadyRows, shard: int) -> BinCounts:
        weights = self.bins.empty()
        for fold, model in self.scored:
            scores, signed = _inside(rows.scores(fold, model, training=self.training), self.within)
            if scores.size:
                self.bins.add(scores, signed, weights)
        places = np.flatnonzero(weights.any(axis=0))
        return BinCounts(places.astype(np.int64), weights[:, places])


@dataclass(frozen=True)
class ExactScores(Answer):
    """Scores of rows, with their signed weights."""

    scores: NDArray[Any]
    signed_weights: NDArray[Any]

    def merge(self, other: ExactScores) -> ExactScores:
        return ExactScores(
            np.concatenate([self.scores, other.scores]),
            np.concatenate([self.signed_weights, other.signed_weights]),
        )


@dataclass(frozen=True)
class FetchScores(Question[ExactScores]):
    """Fetch the single scores in a range: a few scores near the best threshold."""

    scored: tuple[Scored, ...]
    within: tuple[float, float]

    name: ClassVar[str] = "threshold"

    def answer(self, rows: ReadyRows, shard: int) -> ExactScores:
        parts = [_inside(rows.scores(fold, model, training=False), self.within) for fold, model in self.scored]
        return ExactScores(*(np.concatenate([part[k] for part in parts]) for k in (0, 1)))


def _inside(
    scored: tuple[NDArray[Any], NDArray[Any]], within: tuple[float, float] | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the scores in a range with their weights; None returns all scores."""
    if within is None:
        return scored
    scores, signed = scored
    inside = np.flatnonzero((scores >= np.float64(within[0])) & (scores < np.float64(within[1])))
    return scores[inside], signed[inside]
