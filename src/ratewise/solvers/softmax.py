"""Many classes learned together: a column of scores per class, whose softmax shares replace predictions.

As with two classes a fit counts, linearizes, learns and cuts. It starts from multinomial logistic regression with
class weights and climbs from there to the measure: the gains of the measure at the current counts weigh the
shares. Few rows are learned from all at once, others pass by pass. A path never sees a row: it is a generator that
yields requests, receives their answers and returns its candidates.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from .. import kernels
from ..decisions.class_offsets import ClassScores, best_offsets
from ..measures import ConfusionMeasure
from .base import points_between_models
from .state import Chunk, CSRRows, DenseRows, LinearModels

_START_STEP, _CLIMB_STEP = 2.0, 4.0  # in units of a row's own leverage, as for two classes


class ClassShape(NamedTuple):
    """The totals of rows of many classes."""

    totals: NDArray[np.float64]
    """The weight of the rows of each class; their mean weight is 1."""
    points: int
    n_features: int
    n_values: int
    leverage: float
    """The mean squared length of a row, with the intercept's entry."""
    n_groups: int | None = None
    in_memory: bool = False
    at_once: bool = False
    """Steps are on all rows at once, however many they are."""
    given_folds: int | None = None
    """How many folds the user gave; None leaves them to the fit."""


class ClassTask(NamedTuple):
    """What a path is asked for, and what it needs to know of the rows."""

    measure: ConfusionMeasure
    rows: ClassShape
    l2: float = 0.0
    """The user's own penalty; 0 lets validation rows choose."""
    initial: LinearModels | None = None

    def first_model(self) -> LinearModels:
        if self.initial is not None:
            return self.initial
        totals, n_features = self.rows.totals, self.rows.n_features
        shares = np.maximum(totals / totals.sum(), 1e-6)
        return LinearModels(np.zeros((totals.size, n_features)), np.log(shares))

    def given(self, exponents: Sequence[float]) -> list[ClassCandidate]:
        """Return the initial model as a candidate, for a path that learns no start."""
        return [] if exponents else [ClassCandidate("one against the rest", self.first_model())]

    def class_weights(self, exponent: float) -> NDArray[np.float64]:
        """Return weights in proportion to (1 / share)^exponent, whose mean over all rows is 1; 0 of no rows."""
        totals = self.rows.totals
        weights = np.where(totals > 0, np.maximum(totals, 1e-300) ** -exponent, 0.0)
        found: NDArray[np.float64] = weights * (totals.sum() / (weights @ totals))
        return found


class ClassCandidate(NamedTuple):
    """A model on the path of a fit, and its stage."""

    stage: str
    model: LinearModels


@dataclass(frozen=True)
class MaximizeLikelihood:
    """Find the model with the largest weighted log likelihood, less the penalty; answered by a model."""

    class_weights: NDArray[np.float64]
    l2: float
    start: LinearModels
    tolerance: float = 1e-4
    steps: int = 100


@dataclass(frozen=True)
class ClimbMeasure:
    """Take a few steps on all rows up the measure of the softmax shares; answered by a model."""

    measure: ConfusionMeasure
    start: LinearModels
    l2: float
    steps: int
    tolerance: float = 1e-7


@dataclass(frozen=True)
class LearnClasses:
    """Learn from every row once; answered by the last model and the mean of the models along the way."""

    task: ClassTask
    start: LinearModels
    class_weights: NDArray[np.float64]
    gains: NDArray[np.float64] | None
    """None: up the log likelihood. Otherwise what a share of a prediction is worth."""
    step: float
    """In units of a row's own leverage."""


class LearnedClasses(NamedTuple):
    """The result of a pass."""

    last: LinearModels
    mean: LinearModels


@dataclass(frozen=True)
class CutClasses:
    """Find the best offsets on training rows, or a fair sample of them; answered by them and their table."""

    measure: ConfusionMeasure
    model: LinearModels


class ClassCut(NamedTuple):
    """Offsets of the scores, and C[true, predicted] where the highest score then wins."""

    offsets: NDArray[np.float64]
    table: NDArray[np.float64]

    @classmethod
    def of(cls, rows: ClassScores, measure: ConfusionMeasure) -> ClassCut:
        offsets = best_offsets(rows, measure)
        return cls(offsets, rows.plus(offsets).table())


ClassRequest = MaximizeLikelihood | ClimbMeasure | LearnClasses | CutClasses
Path = Generator[ClassRequest, Any, list[ClassCandidate]]


def at_once(
    task: ClassTask,
    exponents: Sequence[float],
    strengths: Sequence[float],
    climbs: Sequence[int],
    wanted: Collection[str] | None = None,
) -> Path:
    """Maximize the likelihood under each weighting and penalty, then climb from the last; on all rows at once.

    ``climbs`` are the numbers of steps after which the model is a candidate. Only ``wanted`` stages are made.
    """
    starts = [(exponent, C, f"{_start_stage(exponent)}, C {C:.2g}") for exponent in exponents for C in strengths]
    climbed = {number: f"climbed {number} steps" for number in climbs}
    stages = [*(stage for _, _, stage in starts), *climbed.values()]
    wanted = stages if wanted is None else wanted
    climbs = [number for number in climbs if any(climbed[later] in wanted for later in climbs if later >= number)]
    candidates, model = task.given(exponents), task.first_model()
    for exponent, C, stage in starts:
        if stage in wanted or (climbs and stage == starts[-1][2]):
            model = yield MaximizeLikelihood(task.class_weights(exponent), 1.0 / (C * task.rows.points), model)
            candidates.append(ClassCandidate(stage, model))
    for before, number in pairwise((0, *climbs)):
        model = yield ClimbMeasure(task.measure, model, task.l2, steps=number - before)
        candidates.append(ClassCandidate(climbed[number], model))
    return candidates


def in_passes(task: ClassTask, exponents: Sequence[float], passes: int, climbs: Sequence[int]) -> Path:
    """Learn each weighting of the likelihood row by row, then climb from the last; a step per row."""
    candidates, model, evenly = task.given(exponents), task.first_model(), np.ones(task.rows.totals.size)
    for exponent in exponents:
        last = task.first_model()
        for number in range(passes):
            step = _START_STEP / math.sqrt(1.0 + number)
            last, model = yield LearnClasses(task, last, task.class_weights(exponent), None, step)
        candidates.append(ClassCandidate(_start_stage(exponent), model))
    for number in range(1, max(climbs, default=0) + 1):
        offsets, table = yield CutClasses(task.measure, model)
        gains = task.measure.softened.gains(table)
        gains = gains / max(float(np.ptp(gains, axis=1).max()), 1e-300)
        step = _CLIMB_STEP / math.sqrt(number)
        _, model = yield LearnClasses(task, model.plus(offsets), evenly, gains, step)
        if number in climbs:
            candidates.append(ClassCandidate(f"climbed {number} passes", model))
    return candidates


def _start_stage(exponent: float) -> str:
    return f"logistic, class-weight exponent {exponent:.2g}"


def softmax(scores: NDArray[Any]) -> NDArray[Any]:
    """Turn scores into the share of each class in every row, in place."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


class ClassLearner:
    """A model of many classes in training, and the mean of the models of the last pass."""

    def __init__(self, request: LearnClasses):
        self._request, self._task = request, request.task
        task, model = request.task, request.start
        self._model = np.ascontiguousarray(model.weights, dtype=np.float32)
        self._intercepts = np.array(model.intercepts, dtype=np.float64)
        self._sum, self._intercept_sum = (
            np.zeros_like(self._model, dtype=np.float64),
            np.zeros_like(self._intercepts),
        )
        self._by_column = False
        self.counts = np.zeros((task.rows.totals.size, task.rows.totals.size))
        # Steps begin as if one pass had been made, so that they fall as 1 / sqrt(1 + passes).
        self._points, self._summed, self._unsummed = float(task.rows.points), 0.0, 0.0

    def learn(self, chunk: Chunk) -> None:
        """Learn from a chunk, which has the number of each row's class, and its weight, for its weights."""
        request = self._request
        task, (rows, targets, starts, stops) = self._task, chunk
        self._arrange_for(rows)
        step = request.step / task.rows.leverage * math.sqrt(task.rows.points)
        every = points_between_models(task.rows.points, task.rows.n_features)
        state = np.array([self._points, self._summed, self._unsummed])
        kernels.learn_classes(
            rows,
            targets,
            starts,
            stops,
            self._model,
            self._intercepts,
            self._sum,
            self._intercept_sum,
            self.counts,
            state,
            (step, 1.0, task.l2, float(every)),
            request.class_weights / request.class_weights.max(),
            request.gains,
        )
        self._points, self._summed, self._unsummed = state.tolist()

    def _arrange_for(self, rows: DenseRows | CSRRows) -> None:
        """Sparse rows take a model with a row per column, dense rows one with a row per class."""
        if isinstance(rows, tuple) != self._by_column:
            self._by_column = not self._by_column
            self._model, self._sum = np.ascontiguousarray(self._model.T), np.ascontiguousarray(self._sum.T)

    def learned(self) -> LearnedClasses:
        """Return the model as it is, and the mean of the models so far."""
        weights, intercepts = self._model.astype(np.float64), self._intercepts.copy()
        mean, mean_intercepts = weights, intercepts
        if self._summed > 0:
            mean, mean_intercepts = self._sum / self._summed, self._intercept_sum / self._summed
        if self._by_column:
            weights, mean = weights.T.copy(), mean.T.copy()
        return LearnedClasses(LinearModels(weights, intercepts), LinearModels(mean, mean_intercepts))


class RowsAtOnce(Protocol):
    """Functions of a model of many classes over all rows, wherever they lie.

    ``model`` has a row per column, the last one of the intercepts. Each returns a value and its gradient, of rows
    that weigh 1 together.
    """

    def likelihood(self, model: NDArray[Any], class_weights: NDArray[np.float64]) -> tuple[float, NDArray[Any]]:
        """Return the weighted log likelihood."""

    def soft_value(self, model: NDArray[Any], measure: ConfusionMeasure) -> tuple[float, NDArray[Any]]:
        """Return the measure if each row is predicted by its softmax shares."""


def answer_at_once(request: MaximizeLikelihood | ClimbMeasure, rows: RowsAtOnce) -> LinearModels:
    """Answer a request by steps on all rows at once, of L-BFGS."""
    first = np.vstack([request.start.weights.T, request.start.intercepts])
    penalties = np.full(first.shape, request.l2)
    penalties[-1] = 0.0
    measure = None if isinstance(request, MaximizeLikelihood) else request.measure.softened

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        model = flat.reshape(first.shape)
        given = model.astype(np.float32)
        if isinstance(request, MaximizeLikelihood):
            value, gradient = rows.likelihood(given, request.class_weights)
        else:
            assert measure is not None
            value, gradient = rows.soft_value(given, measure)
        descent = penalties * model - gradient
        return 0.5 * float((penalties * model * model).sum()) - value, descent.ravel()

    steps, tolerance = request.steps, request.tolerance
    options = {"maxiter": steps, "gtol": tolerance, "ftol": 1e-2 * tolerance}
    found = optimize.minimize(loss, first.ravel(), jac=True, method="L-BFGS-B", options=options).x
    model = found.reshape(first.shape)
    return LinearModels(model[:-1].T.copy(), model[-1].copy())


class ClassObjective:
    """Rows at once, held in one matrix.

    Parameters
    ----------
    X : matrix
        The rows, with an entry of 1 at the end of each.
    codes, weights : array
        The class of each row, and its weight.
    """

    def __init__(self, X: Any, codes: NDArray[np.intp], weights: NDArray[Any], n_classes: int):
        self._X, self._transposed, self._codes, self._weights = X, X.T, codes, weights.astype(np.float32)
        self._places, self.total = np.arange(codes.size), float(weights.sum())
        shape = (codes.size, n_classes)
        own_class = sparse.csr_matrix((self._weights, codes, np.arange(codes.size + 1)), shape=shape)
        self._by_class = own_class.T.tocsr()

    def likelihood(self, model: NDArray[Any], class_weights: NDArray[np.float64]) -> tuple[float, NDArray[Any]]:
        value, gradient = self.likelihood_sums(model, class_weights)
        return value / self.total, gradient / self.total

    def soft_value(self, model: NDArray[Any], measure: ConfusionMeasure) -> tuple[float, NDArray[Any]]:
        shares = self.shares(model)
        table = self.table(shares) / self.total
        return float(measure.value(table)), self.rise(shares, measure.gains(table)) / self.total

    def shares(self, model: NDArray[Any]) -> NDArray[Any]:
        return softmax(np.asarray(self._X @ model))

    def likelihood_sums(
        self, model: NDArray[Any], class_weights: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the likelihood and its gradient, added up over the rows."""
        shares, weights = self.shares(model), self._weights * class_weights.astype(np.float32)[self._codes]
        own = shares[self._places, self._codes]
        value = float(weights @ np.log(np.maximum(own, 1e-30)))
        shares[self._places, self._codes] -= 1.0
        shares *= -weights[:, np.newaxis]
        return value, np.asarray(self._transposed @ shares, dtype=np.float64)

    def table(self, shares: NDArray[Any]) -> NDArray[np.float64]:
        """Return C[true, predicted] of shares."""
        return np.asarray(self._by_class @ shares, dtype=np.float64)

    def rise(self, shares: NDArray[Any], gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of the gains of shares, added up over the rows; the shares are overwritten."""
        of_rows = gains.astype(np.float32)[self._codes]
        of_rows -= np.einsum("ik,ik->i", shares, of_rows)[:, np.newaxis]
        shares *= of_rows
        shares *= self._weights[:, np.newaxis]
        return np.asarray(self._transposed @ shares, dtype=np.float64)
