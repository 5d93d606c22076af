"""Two ways of holding the rows of a stream: as a copy in its order, or as the user's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .chunk import Chunk, rows_for_kernels
from .units import Units

_CACHED_BYTES = 1 << 20

Ranges = Iterable[tuple[int, int]]


class Holding(ABC):
    """Rows in the order of a stream, in its units."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    n_values: int
    """Numbers a pass over all rows reads."""

    @abstractmethod
    def pieces(self, ranges: Ranges) -> Iterator[Any]:
        """The rows of these ranges, one matrix after another."""

    @abstractmethod
    def chunks(
        self, signed_weights: NDArray[np.float32], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> Iterator[Chunk]:
        """The rows of these ranges, for a kernel, with the weights of the rows."""

    @abstractmethod
    def reordered(self, order: NDArray[np.signedinteger[Any]]) -> Holding:
        """The same rows in another order."""


class CopiedRows(Holding):
    """A copy of the rows in order and in units: a pass reads it from end to end."""

    def __init__(self, matrix: Any):
        self.matrix = matrix
        self.shape = matrix.shape
        self.dtype = matrix.dtype
        self.n_values = int(matrix.nnz if sparse.issparse(matrix) else matrix.size)

    def pieces(self, ranges: Ranges) -> Iterator[Any]:
        for start, stop in ranges:
            yield _row_range(self.matrix, start, stop)

    def chunks(
        self, signed_weights: NDArray[np.float32], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> Iterator[Chunk]:
        yield Chunk(rows_for_kernels(self.matrix), signed_weights, starts, stops)

    def reordered(self, order: NDArray[np.signedinteger[Any]]) -> CopiedRows:
        return CopiedRows(self.matrix[order])


class GatheredRows(Holding):
    """The user's own rows, gathered and brought into units as they are read, as many at a time as fit in cache.

    Reading takes a few times as long as from a copy; only the order is kept.
    """

    def __init__(self, X: Any, order: NDArray[np.signedinteger[Any]], units: Units, dtype: Any):
        self._X, self._order, self._units = X, order, units
        self.shape = X.shape
        self.dtype = np.dtype(dtype)
        self.n_values = int(X.nnz if sparse.issparse(X) else X.size)
        row_bytes = self.n_values / max(X.shape[0], 1) * self.dtype.itemsize
        self._at_once = max(int(_CACHED_BYTES / max(row_bytes, 1.0)), 64)

    def pieces(self, ranges: Ranges) -> Iterator[Any]:
        for start, stop in ranges:
            for begin in range(start, stop, self._at_once):
                yield self._gathered(self._order[begin : min(begin + self._at_once, stop)])

    def chunks(
        self, signed_weights: NDArray[np.float32], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> Iterator[Chunk]:
        for group in _groups(zip(starts.tolist(), stops.tolist(), strict=True), self._at_once):
            rows = self._gathered(np.concatenate([self._order[start:stop] for start, stop in group]))
            weights = np.concatenate([signed_weights[start:stop] for start, stop in group])
            yield Chunk(rows_for_kernels(rows), weights, np.zeros(1, np.int64), np.array([weights.size]))

    def reordered(self, order: NDArray[np.signedinteger[Any]]) -> GatheredRows:
        return GatheredRows(self._X, self._order[order], self._units, self.dtype)

    def _gathered(self, which: NDArray[np.signedinteger[Any]]) -> Any:
        return self._units.transform(self._X, which, self.dtype)


def hold(
    X: Any, order: NDArray[np.signedinteger[Any]], units: Units, dtype: Any, *, low_memory: bool, threads: int = 1
) -> Holding:
    """Rows in this order and these units; ``low_memory`` makes no copy of them."""
    if low_memory:
        return GatheredRows(X, order, units, dtype)
    return CopiedRows(units.transform(X, order, dtype, threads))


def _groups(ranges: Ranges, rows: int) -> Iterator[list[tuple[int, int]]]:
    """The ranges in order, cut and put together into groups of so many rows."""
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


def _row_range(X: Any, start: int, stop: int) -> Any:
    """Rows start to stop, not copied; slicing a CSR matrix would copy them."""
    if not sparse.issparse(X):
        return X[start:stop]
    first, last = X.indptr[start], X.indptr[stop]
    rows = sparse.csr_matrix((stop - start, X.shape[1]), dtype=X.dtype)
    # Given to the constructor, slices of larger arrays would be copied.
    rows.data, rows.indices = X.data[first:last], X.indices[first:last]
    rows.indptr = X.indptr[start : stop + 1] - first
    return rows
