"""Storage of transformed rows in random order: a copy, or rows that are gathered whenever they are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._sparse_rows import row_range, stacked
from ..solvers.state import Chunk, kernel_rows
from ..transforms import Transform

_CACHED_BYTES = 1 << 20


class RowStorage(ABC):
    """Rows, transformed, in random order."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    n_values: int
    """How many numbers a pass over all rows reads."""
    sparse: bool

    @abstractmethod
    def pieces(self, ranges: Iterable[tuple[int, int]]) -> Iterator[Any]:
        """Yield the rows of these ranges, one matrix after another."""

    @abstractmethod
    def chunks(
        self, signed_weights: NDArray[np.float32], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> Iterator[Chunk]:
        """Yield the rows of these ranges with their weights, as a kernel takes them."""

    @abstractmethod
    def reordered(self, order: NDArray[np.signedinteger[Any]]) -> RowStorage:
        """Return the same rows in another order."""


class MaterializedRows(RowStorage):
    """A transformed copy of the rows: a pass reads it from end to end."""

    def __init__(self, matrix: Any):
        self.matrix = matrix
        self.shape = matrix.shape
        self.dtype = matrix.dtype
        self.sparse = bool(sparse.issparse(matrix))
        self.n_values = int(matrix.nnz if self.sparse else matrix.size)

    def pieces(self, ranges: Iterable[tuple[int, int]]) -> Iterator[Any]:
        for start, stop in ranges:
            yield row_range(self.matrix, start, stop)

    def chunks(
        self, signed_weights: NDArray[np.float32], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> Iterator[Chunk]:
        yield Chunk(kernel_rows(self.matrix), signed_weights, starts, stops)

    def reordered(self, order: NDArray[np.signedinteger[Any]]) -> MaterializedRows:
        return MaterializedRows(self.matrix[order])


class LazyRows(RowStorage):
    """The user's own rows, transformed whenever they are read, as many at a time as fit in cache.

    Only the order is stored. Reading takes a few times as long as from a copy.
    """

    def __init__(self, X: Any, order: NDArray[np.signedinteger[Any]], transform: Transform, dtype: Any):
        self._X, self._order, self._transform = X, order, transform
        self.shape = (X.shape[0], transform.width)
        self.dtype = np.dtype(dtype)
        self.sparse = bool(sparse.issparse(X))
        self.n_values = int(X.nnz if self.sparse else X.shape[0] * transform.width)
        row_bytes = self.n_values / max(X.shape[0], 1) * self.dtype.itemsize
        self._at_once = max(int(_CACHED_BYTES / max(row_bytes, 1.0)), 64)

    def pieces(self, ranges: Iterable[tuple[int, int]]) -> Iterator[Any]:
        for start, stop in ranges:
            for begin in range(start, stop, self._at_once):
                yield self._gathered(self._order[begin : min(begin + self._at_once, stop)])

    def chunks(
        self, signed_weights: NDArray[np.float32], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> Iterator[Chunk]:
        for group in _groups(zip(starts.tolist(), stops.tolist(), strict=True), self._at_once):
            rows = self._gathered(np.concatenate([self._order[start:stop] for start, stop in group]))
            weights = np.concatenate([signed_weights[start:stop] for start, stop in group])
            yield Chunk(kernel_rows(rows), weights, np.zeros(1, np.int64), np.array([weights.shape[0]]))

    def reordered(self, order: NDArray[np.signedinteger[Any]]) -> LazyRows:
        return LazyRows(self._X, self._order[order], self._transform, self.dtype)

    def _gathered(self, which: NDArray[np.signedinteger[Any]]) -> Any:
        return self._transform.transform(self._X, which, self.dtype)


def store(
    X: Any,
    order: NDArray[np.signedinteger[Any]],
    transform: Transform,
    dtype: Any,
    *,
    low_memory: bool,
    threads: int = 1,
) -> RowStorage:
    """Return rows stored in this order, transformed; ``low_memory`` makes no copy of the rows."""
    if low_memory:
        return LazyRows(X, order, transform, dtype)
    return MaterializedRows(transform.transform(X, order, dtype, threads))


def _groups(ranges: Iterable[tuple[int, int]], rows: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the ranges in order, cut and combined into groups of this many rows."""
    group: list[tuple[int, int]] = []
    room = rows
    for start, stop in ranges:
        while start < stop:
            end = min(stop, start + room)
            group.append((start, end))
            room -= end - start
            start = end
            if room == 0:
                yield group
                group, room = [], rows
    if group:
        yield group


def joined(pieces: list[Any]) -> Any:
    """Return matrices or arrays stacked row-wise; a single one is returned as it is."""
    if len(pieces) == 1:
        return pieces[0]
    return stacked(pieces) if sparse.issparse(pieces[0]) else np.concatenate(pieces)
