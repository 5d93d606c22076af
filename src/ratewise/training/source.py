"""The one interface between a fit and its rows, wherever they lie: memory, files or the shards of a cluster.

A source answers four questions: the totals of the rows (:meth:`RowSource.statistics`), the transform of their
columns (:meth:`RowSource.transform`), what training runs learn from them (:meth:`TrainingRows.train`), and how
models score rows that they have not learned from (:meth:`TrainingRows.validation_scores`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..decisions.calibrate import stacked
from ..decisions.certify import Decision, relative_groups
from ..decisions.cuts import Points, rates_at
from ..decisions.group_cuts import GroupDecision
from ..decisions.intervals import ModelShift
from ..features.splines import Basis, BasisSettings
from ..measures import Measure
from ..rewards import Reward, Sigmoid
from ..solvers.base import Scores, Solver
from ..solvers.driver import Run
from ..solvers.evaluate import evaluate
from ..solvers.learner import Learner
from ..solvers.maximize import maximize
from ..solvers.multiclass import MultinomialLogistic
from ..solvers.requests import CompareCentroids, CountRates, Evaluate, Learn, Maximize, MeanRewards, Request
from ..solvers.state import Chunk, LinearModel, LinearModels, RowTotals, mean_model
from ..transforms import Transform
from . import config
from .rows import ArrayRows

_COMPARED_ROWS = 1 << 14
ALL_ROWS = -1

Progress = Callable[[dict[str, Any]], object]
"""Takes stage, done_rows, total_rows and, while rows are learned from in windows, tpr, tnr and value."""


class DataShape(NamedTuple):
    """The totals of the rows, before anything is learned."""

    rows: int
    positive_rows: int
    positive_weight: float
    """Of all positives, where the mean weight of a row is 1."""
    negative_weight: float
    points: tuple[float, float]
    """Effective points of the positive and of the negative class."""
    n_features: int
    n_values: int
    """Numbers that a pass reads."""
    sparse: bool
    n_groups: int | None = None
    in_memory: bool = False
    coded: bool = False
    """In a basis, whose columns ``n_features`` are."""
    given_folds: int | None = None
    """How many folds the user gave; None leaves them to the fit."""

    @property
    def rarer_rows(self) -> int:
        return min(self.positive_rows, self.rows - self.positive_rows)

    @property
    def prevalence(self) -> float:
        return self.positive_weight / (self.positive_weight + self.negative_weight)


class TrainingRows(Protocol):
    """Transformed rows, split into folds: fold k trains on all rows but its own, and is validated by those."""

    n_folds: int
    leverage: float
    """The mean squared length of a row, with the intercept's entry."""
    points_per_pass: int
    """Points that one model meets in a pass over all rows."""
    whole_steps: bool
    """A pass is a few steps on all rows at once, not a step per point."""
    points: Points
    """Effective points of the positive and of the negative class; in memory, copies of a row count once."""
    frequent_rows: Any
    """One of each of the rows that come often, transformed, the most frequent first; None where not looked for."""

    def summary(self, fold: int) -> RowTotals:
        """Sum up the rows that one pass of a run of this fold learns from."""

    def train(self, runs: Sequence[tuple[int, Run]]) -> list[Run]:
        """Bring runs, each with its fold, to their end; in memory, fold ``ALL_ROWS`` leaves none out."""

    def validation_scores(self, models: Sequence[LinearModel]) -> Scores:
        """Score the validation rows of every fold by its own model."""

    def threshold_scores(self, models: Sequence[LinearModel], measure: Measure) -> Scores:
        """Do the same for the choice of the threshold: of all rows, as exactly as the rows allow."""

    def own_scores(self, model: LinearModel) -> Scores:
        """Score all rows, or a fair sample of them, by one model."""

    def model_shift(self, model: LinearModel, of_folds: Sequence[LinearModel], threshold: float) -> ModelShift:
        """Compare a model with those of the folds, on the rows that they have learned from."""


class RowSource(Protocol):
    """Rows of two classes."""

    dtype: Any

    def statistics(self) -> DataShape:
        """Count rows, classes and weights."""

    def coded(self, asked: BasisSettings | Basis | None) -> RowSource:
        """Return the same rows, coded in a basis of this kind; sparse rows stay as they are."""

    def sample(self) -> RowSource:
        """Return rows in memory by which a basis is chosen: these, or a fair sample of each class."""

    def transform(self, *, standardize: bool, whiten: bool) -> Transform:
        """Return the transform that rows are learned in."""

    def transformed(
        self, transform: Transform, folds: int = 1, repeats: int = 1, row_limit: float | None = None
    ) -> TrainingRows:
        """Transform the rows and split them; rows longer than ``row_limit`` mean squared lengths weigh less."""


class FitResult(NamedTuple):
    """The result of a fit: linear models of the user's columns, one row per model."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    scale: NDArray[np.float64]
    """What each column was divided by."""
    rates: Any
    """``Rates``; with several models a list of them."""
    stages: Any
    solver: Solver | MultinomialLogistic
    """What made the model."""
    interval: Any
    """``RatesInterval``; with several models a list of them."""
    calibration: NDArray[np.float64]
    """The numbers of a ``Calibration`` per model, as :func:`stacked` has them."""
    message: str | None = None
    """One sentence if a bound of the measure cannot be promised."""
    basis: Basis | None = None
    """Whose named columns the models are of; None for the user's columns."""
    centre: NDArray[np.float64] | None = None
    """What was subtracted from each of the user's columns; None for nothing."""
    table: NDArray[np.float64] | None = None
    """C[true, predicted] of many classes, out-of-fold where there are folds."""
    groups: GroupDecision | None = None
    """Of sensitive features: their thresholds, less that of the intercept, and their counts."""

    @classmethod
    def of_model(
        cls,
        transform: Transform,
        model: LinearModel,
        decision: Decision,
        solver: Solver,
        stages: tuple[str, ...] = (),
    ) -> FitResult:
        """Return the outcome of one model of transformed columns."""
        own, basis = LinearModel(*transform.inverse_coef(*model)), getattr(transform, "basis", None)
        return cls.of_columns(own, transform.scale, transform.centre, decision, solver, stages)._replace(
            basis=basis
        )

    @classmethod
    def of_columns(
        cls,
        model: LinearModel,
        scale: NDArray[np.float64],
        centre: NDArray[np.float64],
        decision: Decision,
        solver: Solver,
        stages: tuple[str, ...],
    ) -> FitResult:
        """Return the outcome of one model of the user's columns."""
        found = cls(
            model.weights[np.newaxis, :],
            np.array([model.intercept - decision.threshold]),
            scale,
            decision.rates,
            stages,
            solver,
            decision.interval,
            stacked([decision.calibration]),
            decision.message,
            centre=centre,
            groups=relative_groups(decision),
        )
        return found.checked()

    def checked(self) -> FitResult:
        """Return this result, or raise if a number of it is not finite: such a model must not be kept."""
        if all(np.isfinite(np.asarray(part, dtype=np.float64)).all() for part in (*self[:2], self.rates)):
            return self
        raise ValueError(
            "No model could be learned: numbers beyond the range of float32 arose in training. Bring the columns "
            "of X to a common scale (standardize=True does), and look for values far from all others."
        )

    def in_named_columns(self, basis: Basis | None) -> FitResult:
        """Return models of the coded columns of a basis as models of its named columns."""
        if basis is None:
            return self
        coef, intercept = LinearModels(self.coef, self.intercept).mapped(basis.inverse_coef)
        return self._replace(coef=coef, intercept=intercept, scale=basis.scale, basis=basis, centre=basis.centre)

    def widened(self, occupied: NDArray[np.integer[Any]] | None, n_columns: int) -> FitResult:
        """Return the result of all columns, where only some of them have entries and were fitted."""
        if occupied is None:
            return self
        coef, scale = np.zeros((self.coef.shape[0], n_columns)), np.ones(n_columns)
        coef[:, occupied], scale[occupied] = self.coef, self.scale
        return self._replace(coef=coef, scale=scale, centre=None)


def occupied_columns(X: Any) -> tuple[Any, NDArray[np.integer[Any]] | None]:
    """Return sparse rows without the columns that have no entry, and which columns are left.

    What a fit costs grows with the columns, and a column without an entry has the coefficient 0. Other rows, and
    those with more entries than columns, are left as they are.
    """
    if not sparse.issparse(X) or X.nnz >= X.shape[1]:
        return X, None
    occupied, places = np.unique(X.indices, return_inverse=True)
    if not occupied.size:
        return X, None
    places = places.reshape(-1).astype(X.indices.dtype)
    return type(X)((X.data, places, X.indptr), shape=(X.shape[0], occupied.size)), occupied


def curvature_is_cheap(n_features: int, *, sparse: bool) -> bool:
    """Return whether a product of the rows by themselves costs about as much as a few passes over them."""
    return not sparse and n_features <= config.CURVATURE_COLUMNS


def answer(rows: ArrayRows, request: Request) -> Any:
    """Answer any request but :class:`Learn` from rows in memory."""
    match request:
        case Evaluate(model):
            return evaluate(request, Scores(rows.scores(*model), rows.signed_weights))
        case CountRates(model, number):
            sample = rows if number is None else rows.first(number)
            return rates_at(sample.scores(*model), sample.signed_weights)
        case MeanRewards(model, reward, points):
            if points is None:
                parts = [(rows.scores(*model), rows.signed_weights)]
            else:
                parts = [chunk_scores(chunk, model) for chunk in rows.take(points)]
            sums = [reward_sums(*part, reward) for part in parts]
            rewards, weights = (np.sum([one[k] for one in sums], axis=0) for k in (0, 1))
            return tuple((rewards / np.maximum(weights, 1e-300)).tolist())
        case CompareCentroids():
            signs, shares = rows.signs_and_shares
            return rows.weighted_sum(signs * shares)
        case Maximize(reward, class_weights):
            objective = WeightedReward(rows, reward, class_weights, few_rows=request.few_rows)
            by_curvature = request.few_rows and curvature_is_cheap(rows.n_features, sparse=rows.sparse)
            return maximize(objective, request, objective.curvature if by_curvature else None)
    raise TypeError(f"{type(request).__name__} is not a request that rows in memory can answer.")


def learn(learner: Learner, request: Learn, rows: ArrayRows, points: int) -> None:
    """Learn from the next points: the only place where rows meet a learner."""
    for chunk in rows.take(points):
        learner.learn(chunk, request.settings, request.reward, request.measure)


class Runner:
    """A run with the rows it learns from, and how far its present request has come. Plain data in between."""

    def __init__(self, run: Run, fold: int, seen: RowTotals):
        self.run, self.fold, self.seen = run, fold, seen
        self._points = self._passes = 0

    def to_the_end(self, rows: ArrayRows) -> None:
        """Answer all requests from rows that can be read without end."""
        while not self.run.finished:
            self._feed(rows, rows, math.inf)

    def feed(self, rows: ArrayRows, sample: ArrayRows, points: int | None = None) -> None:
        """Learn from so many points of these rows, or from each once; a sample answers other requests."""
        self._feed(rows, sample, rows.n_points if points is None else points)

    def _feed(self, rows: ArrayRows, sample: ArrayRows, left: float) -> None:
        whole = left == math.inf
        while left > 0 and not self.run.finished:
            request = self.run.request(self.seen)
            if isinstance(request, MeanRewards) and request.points is not None:
                points = int(min(request.points, left))
                left -= points
                self._receive(answer(rows, MeanRewards(request.model, request.reward, points)))
            elif not isinstance(request, Learn):
                self._receive(answer(sample, request))
            else:
                wanted = math.inf if request.points is None else request.points - self._points
                if whole and request.passes is not None:
                    wanted = request.passes * rows.n_points
                points = int(min(wanted, left))
                learn(self.run.to_learn(), request, rows, points)
                self._points += points
                left -= points
                if points == wanted:
                    self._receive(None)

    def end_pass(self, sample: ArrayRows) -> None:
        """All rows of a pass have been fed."""
        if self.run.finished:
            return
        request = self.run.request(self.seen)
        if isinstance(request, Learn) and request.passes is not None:
            self._passes += 1
            if self._passes >= request.passes:
                self._receive(None)
        while not self.run.finished and not isinstance(request := self.run.request(self.seen), Learn):
            self._receive(answer(sample, request))

    def _receive(self, found: Any) -> None:
        self._points = self._passes = 0
        self.run.receive(found)


def model_shift(
    parts: Sequence[ArrayRows],
    model: LinearModel,
    of_folds: Sequence[LinearModel],
    threshold: float,
    folds: int,
    per_point: tuple[float, float] = (1.0, 1.0),
    common: Any = None,
) -> ModelShift:
    """Return how a model differs from those of the folds, by the rows of each fold; of several draws of folds.

    ``per_point`` are the points of both classes that one of these rows represents. Rows that are ``common`` have
    the score of the folds' mean model.
    """
    total = np.zeros((2, folds, 2, 2))
    for number, part in enumerate(parts):
        first = number - number % folds
        of_draw = of_folds[first : first + folds]
        models = [model, *of_draw, mean_model(of_draw)]
        coef, intercepts = np.stack([one.weights for one in models], axis=1), [one.intercept for one in models]
        for rows in part.blocks(_COMPARED_ROWS):
            predicted = rows.scores(coef, intercepts) > threshold
            if common is not None and common.shape[0]:
                alike = rows.places_among(common) >= 0
                predicted[alike, 1:] = predicted[alike, -1:]
            own, scored = predicted[:, 0], predicted[:, 1 + number - first]
            learned = predicted[:, 1:-1].sum(axis=1) - scored
            total += ModelShift.tally(learned, scored, own, rows.signed_weights, folds)
    return ModelShift.of_counts(total, per_point)


_GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0
_WINDOW = Sigmoid()  # its slope is the curvature of the logistic reward, to base e


class WeightedReward:
    """Minus a weighted mean of the two classes' rewards, as a function of (weights, intercept), and its gradient.

    ``class_weights`` are what the mean rewards of the positives and of the negatives weigh; only their proportion
    matters.
    """

    def __init__(
        self, rows: ArrayRows, reward: Reward, class_weights: tuple[float, float], *, few_rows: bool = False
    ):
        self._signs, shares = rows.signs_and_shares
        on_positives, on_negatives = class_weights
        total = max(on_positives + on_negatives, 1e-300)
        self._weights = np.where(self._signs > 0, on_positives / total, on_negatives / total) * shares
        self._signed_weights = self._signs * self._weights
        self._rows = rows
        self._reward = reward
        self._matrix: Any = None
        self._transpose: Any = None
        if few_rows:
            self._matrix, self._transpose = rows.with_ones
        self._last: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def __call__(self, model: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        values, slopes = self._reward.value_and_slope(self._margins(model))
        pull = -self._signed_weights * slopes
        loss = -float(self._weights @ values)
        if self._transpose is None:
            return loss, np.append(self._rows.weighted_sum(pull), pull.sum())
        return loss, (self._transpose @ pull.astype(self._rows.dtype)).astype(np.float64)

    def curvature(self, model: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivatives of the logistic reward, for few rows; they are used for the sigmoid too.

        With many columns, a part of the rows gives them well enough, because the steps use all rows.
        """
        pull = self._weights * _WINDOW.slope(self._margins(model))
        if self._reward.concave:
            pull /= math.log(2.0)
        n_features = model.size - 1
        if n_features <= config.WHOLE_CURVATURE_COLUMNS:
            weighted = self._matrix * pull.astype(self._rows.dtype)[:, np.newaxis]
            return (self._transpose @ weighted).astype(np.float64)  # type: ignore[no-any-return]
        told = config.CURVATURE_ROWS_PER_COLUMN * n_features
        some: Any = slice(None)
        if told < pull.size:  # spread over all rows, in step with no order of theirs
            some = (np.arange(told) * _GOLDEN_RATIO % 1.0 * pull.size).astype(np.intp)
        roots = np.sqrt(pull[some] * (pull.sum() / max(pull[some].sum(), 1e-300)))
        weighted = self._matrix[some] * roots.astype(self._rows.dtype)[:, np.newaxis]
        matrix = (weighted.T @ weighted).astype(np.float64)
        # A column that is constant in the sample, as a rare category may be, would get an endless step.
        own = np.einsum("ij,ij,i->j", self._matrix, self._matrix, pull.astype(self._rows.dtype))
        np.fill_diagonal(matrix, np.maximum(matrix.diagonal(), own))
        return matrix  # type: ignore[no-any-return]

    def _margins(self, model: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._last is None or self._last[0] is not model:
            if self._matrix is None:
                scores = self._rows.scores(model[:-1], model[-1])
            else:
                scores = self._matrix @ model.astype(self._rows.dtype)
            self._last = model, self._signs * scores
        return self._last[1]


def reward_sums(
    scores: NDArray[Any], signed_weights: NDArray[Any], reward: Reward
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of the rewards of positives and negatives, and those of their weights."""
    weights = np.abs(signed_weights, dtype=np.float64)
    rewards = weights * reward.value(np.sign(signed_weights) * scores)
    sides = (signed_weights > 0, signed_weights < 0)
    return np.array([rewards[mine].sum() for mine in sides]), np.array([weights[mine].sum() for mine in sides])


def chunk_scores(chunk: Chunk, model: LinearModel) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Return the scores of a chunk's points, and their signed weights."""
    rows, ranges = chunk.rows, list(zip(chunk.starts, chunk.stops, strict=True))
    matrix = (
        rows if isinstance(rows, np.ndarray) else sparse.csr_matrix(rows, (rows[2].size - 1, model.weights.size))
    )
    narrow = np.asarray(model.weights, dtype=matrix.dtype)
    scores = np.concatenate([matrix[start:stop] @ narrow for start, stop in ranges])
    weights = np.concatenate([chunk.signed_weights[start:stop] for start, stop in ranges])
    return scores + matrix.dtype.type(model.intercept), weights
