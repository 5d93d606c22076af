"""Points held in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .chunk import Chunk, CSRRows, DenseRows, Summary
from .standardize import Standardizer

# A kernel call sums models in the width of the data; solvers fold that into float64 between calls.
_LARGEST_CHUNK = 1 << 18


class ArrayStream:
    """An endless stream over rows in memory, standardised and shuffled once.

    Reading in random order costs a cache miss a row, several times the arithmetic. So the one copy that
    standardising needs is made in random order, each pass reads it in contiguous blocks, and only the order of
    the blocks changes from pass to pass.

    Parameters
    ----------
    X : array or CSR matrix
    signed_weights : array
        The sample weight of each row, negative for a row of the negative class.
    standardizer : Standardizer
        Applied as it is; update it first.
    rng : numpy Generator
        Shuffles the rows, then the blocks of every pass.
    dtype : float32 or float64
    """

    def __init__(
        self,
        X: Any,
        signed_weights: NDArray[Any],
        standardizer: Standardizer,
        rng: np.random.Generator,
        dtype: Any = np.float32,
    ):
        order = rng.permutation(X.shape[0])
        self.X = standardizer.transform(X, order, dtype)
        self.signed_weights = np.asarray(signed_weights, dtype=np.float32)[order]
        self.summary = summarize(self.X, self.signed_weights)
        self._rng = rng
        self._block_rows = min(max(self.n_points // 64, 1), 4096)
        self._starts = np.empty(0, dtype=np.int64)
        self._stops = np.empty(0, dtype=np.int64)

    @property
    def n_points(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def rows(self) -> DenseRows | CSRRows:
        """The rows in the form kernels take."""
        if sparse.issparse(self.X):
            return self.X.data, self.X.indices, self.X.indptr
        return self.X  # type: ignore[no-any-return]

    def take(self, points: int) -> Iterator[Chunk]:
        """The next points, in as many chunks as it takes; passes follow one another without end."""
        while points > 0:
            if self._starts.size == 0:
                self._shuffle_blocks()
            ends = np.cumsum(self._stops - self._starts)
            budget = min(points, _LARGEST_CHUNK, int(ends[-1]))
            last = int(np.searchsorted(ends, budget))
            beyond = int(ends[last]) - budget
            starts, stops = self._starts[: last + 1].copy(), self._stops[: last + 1].copy()
            stops[-1] -= beyond
            self._starts, self._stops = self._starts[last:].copy(), self._stops[last:].copy()
            self._starts[0] = stops[-1]
            if beyond == 0:
                self._starts, self._stops = self._starts[1:], self._stops[1:]
            points -= budget
            yield Chunk(self.rows, self.signed_weights, starts, stops)

    def _shuffle_blocks(self) -> None:
        starts = np.arange(0, self.n_points, self._block_rows, dtype=np.int64)
        self._starts = self._rng.permutation(starts)
        self._stops = np.minimum(self._starts + self._block_rows, self.n_points)

    def scores(self, weights: NDArray[Any], intercept: float) -> NDArray[np.float64]:
        """The score of every row under a model of the standardised columns."""
        product = self.X @ np.asarray(weights, dtype=self.X.dtype)
        return np.asarray(product, dtype=np.float64) + intercept


def summarize(X: Any, signed_weights: NDArray[Any]) -> Summary:
    """Count points, class weights and squared row lengths."""
    values = X.data if sparse.issparse(X) else X.reshape(-1)
    positive = float(signed_weights[signed_weights > 0].sum(dtype=np.float64))
    negative = -float(signed_weights[signed_weights < 0].sum(dtype=np.float64))
    return Summary(int(X.shape[0]), positive, negative, float(np.dot(values, values)))
