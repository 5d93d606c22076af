"""Two ways to store rows in random order: a transformed copy, or the user's own rows, transformed when read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..solvers.state import Chunk, CSRRows, DenseRows
from ..transforms import Transform

Ranges = Sequence[tuple[int, int]]

_BLOCKS, _LONGEST_BLOCK = 64, 4096  # blocks of a pass, at least; rows of a block, at most
_CACHED_BYTES = 1 << 20


class RowStorage(ABC):
    """Rows, transformed, in random order."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    n_values: int
    """Numbers a pass over all rows reads."""

    @abstractmethod
    def pieces(self, ranges: Iterable[tuple[int, int]]) -> Iterator[Any]:
        """The rows of these ranges, one matrix after another."""

    @abstractmethod
    def chunks(
        self, signed_weights: NDArray[np.float32], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> Iterator[Chunk]:
        """The rows of these ranges, for a kernel, with the weights of the rows."""

    @abstractmethod
    def reordered(self, order: NDArray[np.signedinteger[Any]]) -> RowStorage:
        """The same rows in another order."""


class MaterializedRows(RowStorage):
    """A transformed copy of the rows: a pass reads it from end to end."""

    def __init__(self, matrix: Any):
        self.matrix = matrix
        self.shape = matrix.shape
        self.dtype = matrix.dtype
        self.n_values = int(matrix.nnz if sparse.issparse(matrix) else matrix.size)

    def pieces(self, ranges: Iterable[tuple[int, int]]) -> Iterator[Any]:
        for start, stop in ranges:
            yield _row_range(self.matrix, start, stop)

    def chunks(
        self, signed_weights: NDArray[np.float32], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> Iterator[Chunk]:
        yield Chunk(kernel_rows(self.matrix), signed_weights, starts, stops)

    def reordered(self, order: NDArray[np.signedinteger[Any]]) -> MaterializedRows:
        return MaterializedRows(self.matrix[order])


class LazyRows(RowStorage):
    """The user's own rows, transformed as they are read, as many at a time as fit in cache.

    Reading takes a few times as long as from a copy; only the order is kept.
    """

    def __init__(self, X: Any, order: NDArray[np.signedinteger[Any]], transform: Transform, dtype: Any):
        self._X, self._order, self._transform = X, order, transform
        self.shape = X.shape
        self.dtype = np.dtype(dtype)
        self.n_values = int(X.nnz if sparse.issparse(X) else X.size)
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
            yield Chunk(kernel_rows(rows), weights, np.zeros(1, np.int64), np.array([weights.size]))

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
    """Store rows in this order, transformed; ``low_memory`` makes no copy of them."""
    if low_memory:
        return LazyRows(X, order, transform, dtype)
    return MaterializedRows(transform.transform(X, order, dtype, threads))


def _groups(ranges: Iterable[tuple[int, int]], rows: int) -> Iterator[list[tuple[int, int]]]:
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


class ShuffledBlocks:
    """The rows of some ranges, block after block, without end; every pass has an order of its own."""

    def __init__(self, ranges: Ranges, rng: np.random.Generator):
        self._rows = sum(stop - start for start, stop in ranges)
        length = min(max(self._rows // _BLOCKS, 1), _LONGEST_BLOCK)
        edges = [np.append(np.arange(start, stop, length), stop) for start, stop in ranges]
        self._starts = np.concatenate([these[:-1] for these in edges])
        self._stops = np.concatenate([these[1:] for these in edges])
        self._rng = rng
        self._ahead = self._starts[:0], self._stops[:0]  # the blocks to come in this pass
        self._rows_ahead = 0

    def take(self, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The starts and the stops of the next so many rows."""
        parts = []
        while rows > 0:
            if self._rows_ahead == 0:
                order = self._rng.permutation(self._starts.size)
                self._ahead, self._rows_ahead = (self._starts[order], self._stops[order]), self._rows
            taken = min(rows, self._rows_ahead)
            parts.append(self._take_from_pass(taken))
            rows -= taken
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([starts for starts, _ in parts]), np.concatenate([stops for _, stops in parts])

    def _take_from_pass(self, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        starts, stops = self._ahead
        self._rows_ahead -= rows
        if self._rows_ahead == 0:
            return starts, stops
        ends = (stops - starts).cumsum()
        last = int(ends.searchsorted(rows))  # the block that the last of these rows lies in
        taken, ahead = (starts[: last + 1], stops[: last + 1].copy()), (starts[last:].copy(), stops[last:])
        ahead[0][0] = taken[1][-1] = stops[last] - (ends[last] - rows)
        self._ahead = ahead
        return taken


def kernel_rows(X: Any) -> DenseRows | CSRRows:
    """Return the rows of a matrix in the form kernels take."""
    return (X.data, X.indices, X.indptr) if sparse.issparse(X) else X
