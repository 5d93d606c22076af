"""What flows from a stream to a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

DenseRows = NDArray[np.floating[Any]]
CSRRows = tuple[NDArray[np.floating[Any]], NDArray[np.integer[Any]], NDArray[np.integer[Any]]]


def rows_for_kernels(X: Any) -> DenseRows | CSRRows:
    """The rows of a matrix in the form kernels take."""
    if sparse.issparse(X):
        return X.data, X.indices, X.indptr
    return X  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Chunk:
    """Rows in memory, and the ranges of them to read, in order."""

    rows: DenseRows | CSRRows
    signed_weights: NDArray[np.float32]
    """The sample weight of each row, negative for a row of the negative class."""
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    @property
    def points(self) -> int:
        return int((self.stops - self.starts).sum())

    def scores(self, weights: NDArray[Any], intercept: float) -> NDArray[np.floating[Any]]:
        """The scores of these points under a model of their columns, in the width of the rows."""
        rows = self.rows
        matrix = (
            rows if isinstance(rows, np.ndarray) else sparse.csr_matrix(rows, (rows[2].size - 1, weights.size))
        )
        narrow = np.asarray(weights, dtype=matrix.dtype)
        parts = [matrix[start:stop] @ narrow for start, stop in zip(self.starts, self.stops, strict=True)]
        return np.concatenate(parts) + matrix.dtype.type(intercept)

    @property
    def weights(self) -> NDArray[np.float32]:
        """The signed weights of these points, in the order of the scores."""
        ranges = zip(self.starts, self.stops, strict=True)
        return np.concatenate([self.signed_weights[start:stop] for start, stop in ranges])


class Summary(NamedTuple):
    """The few numbers that set step sizes and class weights; two of them add up."""

    points: int
    positive_weight: float
    negative_weight: float
    squared_rows: float
    """The sum of all rows' squared lengths."""
    entry_square: float = 1.0
    """The usual square of an entry that is not 0: what the intercept's own entry is set to."""

    @property
    def prevalence(self) -> float:
        """The share of positives, kept off 0 and 1 until both classes have been seen."""
        if self.positive_weight > 0 and self.negative_weight > 0:
            return self.positive_weight / (self.positive_weight + self.negative_weight)
        floor = 0.5 / (self.points + 1)
        return 1.0 - floor if self.positive_weight > 0 else floor

    @property
    def mean_squared_row(self) -> float:
        return self.squared_rows / max(self.points, 1)

    @property
    def leverage(self) -> float:
        """The mean squared length of a row with the intercept's entry."""
        return self.mean_squared_row + self.entry_square

    def merge(self, other: Summary) -> Summary:
        points = self.points + other.points
        return Summary(
            points,
            self.positive_weight + other.positive_weight,
            self.negative_weight + other.negative_weight,
            self.squared_rows + other.squared_rows,
            (self.points * self.entry_square + other.points * other.entry_square) / max(points, 1),
        )


NOTHING_SEEN = Summary(0, 0.0, 0.0, 0.0)
