"""Linear models, and the totals of the rows that algorithms need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import weight_moments

DenseRows = NDArray[np.floating[Any]]
CSRRows = tuple[NDArray[np.floating[Any]], NDArray[np.integer[Any]], NDArray[np.integer[Any]]]


class LinearModel(NamedTuple):
    """A model with scores ``rows @ weights + intercept``, in the units of the rows that it was learned from.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.solvers import LinearModel
    >>> LinearModel(np.zeros(2), intercept=-1.0).intercept
    -1.0
    """

    weights: NDArray[np.float64]
    intercept: float

    @staticmethod
    def zeros(n_features: int) -> LinearModel:
        return LinearModel(np.zeros(n_features), 0.0)

    def times(self, factor: float, constant: float = 0.0) -> LinearModel:
        """Return the model whose scores are factor * score + constant."""
        return LinearModel(factor * self.weights, factor * self.intercept + constant)

    def divided(self, spread: float, mean: float = 0.0) -> LinearModel:
        """Return the model whose scores are (score - mean) / spread."""
        return LinearModel(self.weights / spread, (self.intercept - mean) / spread)


class LinearModels(NamedTuple):
    """Linear models of the same columns, a row of weights for each: one per class, or per label."""

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]

    @classmethod
    def of(cls, models: Iterable[tuple[NDArray[np.float64], float]]) -> LinearModels:
        weights, intercepts = zip(*models, strict=True)
        return cls(np.array(weights), np.array(intercepts, dtype=np.float64))

    def each(self) -> list[LinearModel]:
        return [LinearModel(weights, float(intercept)) for weights, intercept in zip(*self, strict=True)]

    def mapped(self, change: Callable[[NDArray[Any], float], tuple[NDArray[np.float64], float]]) -> LinearModels:
        """Return the models for columns that are transformed differently; ``change`` converts one model."""
        return self.of(change(*one) for one in self.each())

    def plus(self, offsets: NDArray[np.float64]) -> LinearModels:
        """Return the models whose scores have an offset per model added."""
        return self._replace(intercepts=self.intercepts + offsets)

    def divided(self, spread: float) -> LinearModels:
        """Return the models whose scores, less the mean score of each row, are divided by this."""
        weights = self.weights - self.weights.mean(axis=0)
        intercepts = self.intercepts - self.intercepts.mean()
        return LinearModels(weights / spread, intercepts / spread)


def mean_model(models: Sequence[LinearModel]) -> LinearModel:
    return LinearModel(
        np.mean([one.weights for one in models], axis=0), float(np.mean([one.intercept for one in models]))
    )


def mean_of_models(models: Sequence[LinearModels]) -> LinearModels:
    """Return the mean of models of many classes."""
    return LinearModels(*(np.mean(parts, axis=0) for parts in zip(*models, strict=True)))


class Chunk(NamedTuple):
    """Rows in memory, and the ranges of them to read, in order."""

    rows: DenseRows | CSRRows
    targets: NDArray[np.float32]
    """The sample weight of each row, negative for a row of the negative class; with more than two classes, the
    number of the row's class and its weight."""
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


def kernel_rows(X: Any) -> DenseRows | CSRRows:
    """Return the rows of a matrix in the form that kernels accept."""
    return (X.data, X.indices, X.indptr) if sparse.issparse(X) else X


class RowTotals(NamedTuple):
    """The totals that set step sizes and class weights; two of these can be merged.

    Examples
    --------
    >>> from ratewise.solvers import RowTotals
    >>> RowTotals(points=100, positive_weight=10.0, negative_weight=90.0, squared_rows=300.0).points
    100
    """

    points: int
    positive_weight: float
    negative_weight: float
    squared_rows: float
    """The sum of the squared lengths of all rows."""
    entry_square: float = 1.0
    """The typical square of an entry that is not 0; the entry of the intercept is its root."""

    @property
    def prevalence(self) -> float:
        """The share of positives, kept away from 0 and 1 until both classes have been seen."""
        if self.positive_weight > 0 and self.negative_weight > 0:
            return self.positive_weight / (self.positive_weight + self.negative_weight)
        floor = 0.5 / (self.points + 1)
        return 1.0 - floor if self.positive_weight > 0 else floor

    @property
    def leverage(self) -> float:
        """The mean squared length of a row with the intercept's entry."""
        return self.squared_rows / max(self.points, 1) + self.entry_square

    def merge(self, other: RowTotals) -> RowTotals:
        points = self.points + other.points
        return RowTotals(
            points,
            self.positive_weight + other.positive_weight,
            self.negative_weight + other.negative_weight,
            self.squared_rows + other.squared_rows,
            (self.points * self.entry_square + other.points * other.entry_square) / max(points, 1),
        )


class ClassTotals(NamedTuple):
    """The totals of rows of more than two classes."""

    points: int
    class_weights: tuple[float, ...]
    squared_rows: float
    entry_square: float = 1.0

    @property
    def leverage(self) -> float:
        """The mean squared length of a row with the intercept's entry."""
        return self.squared_rows / max(self.points, 1) + self.entry_square

    def merge(self, other: ClassTotals) -> ClassTotals:
        points = self.points + other.points
        return ClassTotals(
            points,
            tuple(mine + theirs for mine, theirs in zip(self.class_weights, other.class_weights, strict=True)),
            self.squared_rows + other.squared_rows,
            (self.points * self.entry_square + other.points * other.entry_square) / max(points, 1),
        )


def class_totals(signed_weights: NDArray[Any]) -> tuple[float, float]:
    """Return the weight of all positives and of all negatives."""
    positive, negative, _, _ = weight_moments(signed_weights)
    return positive, negative


def sum_of_squares(X: Any) -> float:
    """Return the sum of the squared lengths of all rows."""
    values = X.data if sparse.issparse(X) else X.reshape(-1)
    return float(np.dot(values, values))


NOTHING_SEEN = RowTotals(0, 0.0, 0.0, 0.0)
