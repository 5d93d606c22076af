"""The answers of rows in memory to the requests of a run, and the state of such a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..decisions.class_offsets import ClassScores, best_offsets
from ..decisions.cuts import rates_at
from ..decisions.intervals import ModelShift
from ..measures import ConfusionMeasure
from ..rewards import Reward, Sigmoid
from ..solvers.base import Scores
from ..solvers.driver import Run
from ..solvers.evaluate import evaluate
from ..solvers.maximize import maximize
from ..solvers.maximize_classes import ClassObjective, maximize_classes
from ..solvers.requests import (
    ClassCut,
    ClimbMeasure,
    CompareCentroids,
    CountRates,
    CutClasses,
    Evaluate,
    Learn,
    Maximize,
    MaximizeLikelihood,
    MeanRewards,
    Request,
)
from ..solvers.state import Chunk, LinearModel, mean_model
from . import config
from .rows import ArrayRows
from .targets import codes_of, weights_of

_COMPARED_ROWS = 1 << 14


def curvature_is_cheap(n_features: int, *, sparse: bool) -> bool:
    """Return whether the product of the matrix with its transpose costs about as much as a few passes."""
    return not sparse and n_features <= config.CURVATURE_COLUMNS


def answer(rows: ArrayRows, request: Request) -> Any:
    """Answer any request except :class:`Learn` from rows in memory."""
    match request:
        case Evaluate(model):
            rows = _enough_rows(request, rows)
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
        case MaximizeLikelihood() | ClimbMeasure():
            return maximize_classes(request, objective_of(rows))
        case CutClasses(measure, model):
            return cut_classes(rows.first(config.CLASS_CUT_ROWS).class_scores(model), measure)
    raise TypeError(f"{type(request).__name__} is not a request that rows in memory can answer.")


def _enough_rows(request: Evaluate, rows: ArrayRows) -> ArrayRows:
    """Return a fair sample of many rows if the evaluation only sets class weights, and other rows choose the
    model.

    Without bounds all rows are evaluated: this takes little time.
    """
    if request.in_sample or not request.measure.bounds:
        return rows
    rarer = min(request.prevalence, 1.0 - request.prevalence)
    return rows.first(int(max(config.STEERING_ROWS, config.STEERING_POINTS / max(rarer, 1e-9))))


def objective_of(rows: ArrayRows) -> ClassObjective:
    """Return the objective functions of many classes over all these rows."""
    return ClassObjective(rows.with_ones[0], codes_of(rows.targets), weights_of(rows.targets), rows.n_classes)


def cut_classes(rows: ClassScores, measure: ConfusionMeasure) -> ClassCut:
    """Return the best offsets for these scores, and the confusion table with them."""
    offsets = best_offsets(rows, measure)
    return ClassCut(offsets, rows.plus(offsets).table())


def learn(learner: Any, request: Learn, rows: ArrayRows, points: int) -> None:
    """Learn from the next points: only this function passes rows to a learner."""
    for chunk in rows.take(points):
        learner.learn(chunk, request.settings, request.reward, request.measure)


class Runner:
    """A run with its fold, and the progress of its current request; plain data between two calls."""

    def __init__(self, run: Run, fold: int, seen: Any):
        self.run, self.fold, self.seen = run, fold, seen
        self._points = self._passes = 0

    def to_the_end(self, rows: ArrayRows) -> None:
        """Complete the run on rows that can be read any number of times."""
        while not self.run.finished:
            self._feed(rows, rows, math.inf)

    def feed(self, rows: ArrayRows, sample: ArrayRows, points: int | None = None) -> None:
        """Learn from this many points of the rows, or from each row once; a sample answers other requests."""
        self._feed(rows, sample, rows.n_points if points is None else points)

    def _feed(self, rows: ArrayRows, sample: ArrayRows, left: float) -> None:
        whole = left == math.inf
        while left > 0 and (request := self.run.request(self.seen)) is not None:
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
        """End a pass, after all its rows."""
        request = self.run.request(self.seen)
        if isinstance(request, Learn) and request.passes is not None:
            self._passes += 1
            if self._passes >= request.passes:
                self._receive(None)
        while not isinstance(request := self.run.request(self.seen), Learn | None):
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
    """Return how a model differs from the folds' models, on the rows of each fold; there may be several draws of
    folds.

    ``per_point`` are the points of each class that one of these rows represents. The folds' mean model scores the
    rows that are ``common``.
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
                frequent = rows.places_among(common) >= 0
                predicted[frequent, 1:] = predicted[frequent, -1:]
            own, scored = predicted[:, 0], predicted[:, 1 + number - first]
            learned = predicted[:, 1:-1].sum(axis=1) - scored
            total += ModelShift.tally(learned, scored, own, rows.signed_weights, folds)
    return ModelShift.of_counts(total, per_point)


def row_weights(rows: ArrayRows, class_weights: tuple[float, float]) -> NDArray[np.float64]:
    """Return the weight of each row's reward in the weighted mean of the two classes' mean rewards."""
    signs, shares = rows.signs_and_shares
    on_positives, on_negatives = class_weights
    total = max(on_positives + on_negatives, 1e-300)
    weights: NDArray[np.float64] = np.where(signs > 0, on_positives / total, on_negatives / total) * shares
    return weights


_GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0
_WINDOW = Sigmoid()  # its slope is the curvature of the logistic reward, to base e


class WeightedReward:
    """Minus a weighted mean of the two classes' rewards, as a function of (weights, intercept), and its gradient.

    ``class_weights`` are the weights of the positives' and of the negatives' mean reward; only their ratio
    matters.
    """

    def __init__(
        self, rows: ArrayRows, reward: Reward, class_weights: tuple[float, float], *, few_rows: bool = False
    ):
        self._signs, self._weights = rows.signs_and_shares[0], row_weights(rows, class_weights)
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
        """Return the second derivatives of the logistic reward, for few rows; the sigmoid uses them too.

        With many columns, a part of the rows is enough for them, because the gradients use all rows.
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
        if told < pull.size:  # rows spread over the data, whatever their order
            some = (np.arange(told) * _GOLDEN_RATIO % 1.0 * pull.size).astype(np.intp)
        roots = np.sqrt(pull[some] * (pull.sum() / max(pull[some].sum(), 1e-300)))
        weighted = self._matrix[some] * roots.astype(self._rows.dtype)[:, np.newaxis]
        matrix = (weighted.T @ weighted).astype(np.float64)
        # A column that is constant in the sample, such as a rare category, would get an infinite step.
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
    """Return the sums of the rewards of positives and negatives, and the sums of their weights."""
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
    weights = np.concatenate([chunk.targets[start:stop] for start, stop in ranges])
    return scores + matrix.dtype.type(model.intercept), weights
