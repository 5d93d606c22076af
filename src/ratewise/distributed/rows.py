"""What a shard holds: rows as they were read, a matrix with signed weights, then streams in common units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..solvers import LinearModel
from ..streams import ArrayStream

_SCORES_KEPT = 2


class ReadRows(NamedTuple):
    """A matrix or a table, with the labels and the weights (or None) of its rows."""

    X: Any
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None

    @property
    def nbytes(self) -> int:
        own = sum(array.nbytes for array in (self.labels, self.weights) if array is not None)
        return own + bytes_of(self.X)


class MatrixRows(NamedTuple):
    """A matrix, and the weight of each row, negative for a row of the negative class."""

    X: Any
    signed_weights: NDArray[np.float32]

    @property
    def nbytes(self) -> int:
        return self.signed_weights.nbytes + bytes_of(self.X)


def bytes_of(X: Any) -> int:
    if sparse.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    if hasattr(X, "memory_usage"):  # pandas
        return int(X.memory_usage(deep=False).sum())
    return int(X.nbytes)


class ReadyRows:
    """The rows of one shard in common units and in random order, in one part or in two halves."""

    def __init__(self, parts: list[ArrayStream]):
        self.parts = parts
        self._scores: dict[Any, NDArray[np.floating[Any]]] = {}
        self._limited: list[tuple[float, float] | None] = [None] * len(parts)

    @property
    def nbytes(self) -> int:
        return sum(4 * part.n_values + 8 * part.n_points for part in self.parts)

    def scores(self, part: int, model: LinearModel) -> NDArray[np.floating[Any]]:
        """Kept for the next questions, which as a rule are about the same model."""
        key = (part, model.weights.tobytes(), model.intercept)
        if key not in self._scores:
            while len(self._scores) >= _SCORES_KEPT:
                del self._scores[next(iter(self._scores))]
            self._scores[key] = self.parts[part].scores(*model)
        return self._scores[key]

    def limited(self, part: int, limit: float, leverage: float) -> ArrayStream:
        """The part, its longest rows held back."""
        if self._limited[part] != (limit, leverage) and self.parts[part].n_points:
            self.parts[part].limit_rows(limit, leverage)
            self._limited[part] = (limit, leverage)
        return self.parts[part]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_scores": {}}
