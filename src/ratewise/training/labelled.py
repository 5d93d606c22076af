"""Rows of many classes, held in memory."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import evenly_mixed_classes
from ..solvers.multiclass import sums_by_class
from ..solvers.state import sum_of_squares
from ..transforms import Transform
from .memory import equal_ranges, order_by_group
from .rows import ArrayRows, MaterializedRows, StoredRows, joined, store

# Up to so many numbers, what a batch of a sparse matrix costs to take out is more than what its zeros cost.
_SMALL = 1 << 22


class Batch(NamedTuple):
    """Some rows with their class numbers and weights."""

    X: Any
    codes: NDArray[np.intp]
    weights: NDArray[np.float32]


class LabelledRows(StoredRows):
    """Rows of many classes, transformed and shuffled once.

    Every stretch of rows has its share of each class, so that a range of rows is a fair part of all. One copy
    serves all classes and all parts. ``codes`` are the classes, numbered from 0; rows of one number in ``groups``
    stay in one fold; ``low_memory`` makes no copy, and gathers rows whenever they are read.
    """

    def __init__(
        self,
        X: Any,
        codes: NDArray[np.integer[Any]],
        weights: NDArray[Any],
        n_classes: int,
        transform: Transform,
        rng: np.random.Generator,
        *,
        groups: NDArray[np.intp] | None = None,
        low_memory: bool = False,
    ):
        order = evenly_mixed_classes(codes, rng)
        self._unit_scale = transform.unit_scale
        self._stored = store(X, order, transform, np.float32, low_memory=low_memory)
        if isinstance(self._stored, MaterializedRows) and sparse.issparse(X) and X.shape[0] * X.shape[1] <= _SMALL:
            self._stored = MaterializedRows(self._stored.matrix.toarray())
        self._all_codes = codes[order].astype(np.intp)
        self._all_weights = np.asarray(weights, dtype=np.float32)[order]
        self._groups = None if groups is None else groups[order]
        self.n_classes = n_classes
        self._ranges = ((0, X.shape[0]),)

    def part(self, *ranges: tuple[int, int]) -> LabelledRows:
        """These ranges of rows alone; nothing is copied."""
        other = copy.copy(self)
        other._ranges = tuple((start, stop) for start, stop in ranges if start < stop)
        return other

    def in_folds(self, folds: int, rng: np.random.Generator) -> tuple[LabelledRows, list[tuple[int, int]]]:
        """A range of rows for each fold; if there are groups, of a copy in an order that keeps them together."""
        if self._groups is None:
            return self, equal_ranges(self.n_points, folds)
        order, ranges = order_by_group(self._groups, self._all_codes, folds, rng, evenly_mixed_classes)
        other = copy.copy(self)
        other._stored = self._stored.reordered(order)
        other._all_codes, other._all_weights = self._all_codes[order], self._all_weights[order]
        other._groups = self._groups[order]
        return other, ranges

    @property
    def codes(self) -> NDArray[np.intp]:
        return np.concatenate([self._all_codes[start:stop] for start, stop in self._ranges])

    @property
    def weights(self) -> NDArray[np.float32]:
        return np.concatenate([self._all_weights[start:stop] for start, stop in self._ranges])

    @property
    def n_points(self) -> int:
        return sum(stop - start for start, stop in self._ranges)

    def class_weights(self) -> NDArray[np.float64]:
        """The weight of all rows of each class."""
        return sums_by_class(self.codes, self.weights, self.n_classes)

    def leverage(self) -> float:
        """The mean squared length of a row with the intercept's entry, from the first rows: they are a sample."""
        sample = next(iter(self._stored.pieces([(0, min(self._stored.shape[0], 4096))])))
        return sum_of_squares(sample) / max(int(sample.shape[0]), 1) + 1.0

    def batches(self, size: int, rng: np.random.Generator) -> Iterator[Batch]:
        """One pass in batches of about so many rows, in random order."""
        cuts = []
        for start, stop in self._ranges:
            edges = np.linspace(start, stop, max(round((stop - start) / size), 1) + 1).astype(int)
            cuts += list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
        for k in rng.permutation(len(cuts)):
            start, stop = cuts[k]
            X = joined(list(self._stored.pieces([(start, stop)])))
            yield Batch(X, self._all_codes[start:stop], self._all_weights[start:stop])

    def scores(self, weights: NDArray[Any], intercepts: NDArray[Any]) -> NDArray[np.float32]:
        """The score of every row for every class, under models of the columns (a row of ``weights`` each)."""
        transposed = np.ascontiguousarray(weights.T, dtype=np.float32)
        found = [np.asarray(piece @ transposed) for piece in self._stored.pieces(self._ranges)]
        scores: NDArray[np.float32] = np.concatenate(found)
        scores += intercepts.astype(np.float32)
        return scores

    def against_the_rest(self, code: int, rng: np.random.Generator) -> ArrayRows:
        """One class as the positive one and all others as the negative; the rows are shared."""
        signed = np.where(self._all_codes == code, self._all_weights, -self._all_weights)
        return ArrayRows.of_stored(self._stored, signed, self._unit_scale, rng).part(*self._ranges)
