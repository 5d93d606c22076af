"""Points held in memory."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import evenly_mixed_order, gather_weights
from .blocks import ShuffledBlocks
from .chunk import Chunk, CSRRows, DenseRows, Summary, rows_for_kernels
from .grouping import Ranges, equal_ranges, order_by_group
from .holding import Holding, hold
from .sums import class_weights, squared_rows, sum_of_squares
from .units import Units

# A kernel call sums models in the width of the data; solvers fold that into float64 between calls.
_LARGEST_CHUNK = 1 << 18
_SAMPLED_ROWS, _SAMPLED_VALUES = 1 << 14, 1 << 22


class ArrayStream:
    """An endless stream over rows in memory, standardised and shuffled once.

    Reading in random order costs a cache miss a row, several times the arithmetic. So the one copy that
    standardising needs is made in random order, each pass reads it in contiguous blocks, and only the order of
    the blocks changes from pass to pass. The random order spreads the rarer class evenly, so that any stretch
    of rows holds its share of it.

    Parameters
    ----------
    X : array or CSR matrix
    signed_weights : array
        The sample weight of each row, negative for a row of the negative class.
    units : Units
        The change of units applied to the rows: a Standardizer or a Whitener.
    rng : numpy Generator
        Shuffles the rows, then the blocks of every pass.
    dtype : float32 or float64
    groups : array of int, optional
        Numbers from 0: :meth:`in_folds` keeps rows of one number together.
    low_memory : bool
        Make no copy: gather the rows of each block anew whenever it is read.
    threads : int
        To make the copy in.
    """

    def __init__(
        self,
        X: Any,
        signed_weights: NDArray[Any],
        units: Units,
        rng: np.random.Generator,
        dtype: Any = np.float32,
        *,
        groups: NDArray[np.intp] | None = None,
        low_memory: bool = False,
        threads: int = 1,
    ):
        signed_weights = np.asarray(signed_weights)
        order = evenly_mixed_order(signed_weights > 0, rng)
        held = hold(X, order, units, dtype, low_memory=low_memory, threads=threads)
        self._begin(held, gather_weights(signed_weights, order), units.unit_scale, rng)
        self._groups: NDArray[np.intp] | None = None if groups is None else groups[order]

    @classmethod
    def of_held(
        cls, held: Holding, signed_weights: NDArray[np.float32], unit_scale: bool, rng: np.random.Generator
    ) -> ArrayStream:
        """A stream over rows that others hold too, already in random order; nothing is copied."""
        stream = cls.__new__(cls)
        stream._begin(held, signed_weights, unit_scale, rng)
        return stream

    def _begin(
        self, held: Holding, weights: NDArray[np.float32], unit_scale: bool, rng: np.random.Generator
    ) -> None:
        self._held = held
        self._weights = self._pulls = weights
        self._rng = rng
        self._groups = None
        self._ranges: tuple[tuple[int, int], ...] = ((0, held.shape[0]),)
        self._unit_scale = unit_scale
        self._look: tuple[float, float] | None = None
        self._restart()

    def _usual_row(self) -> tuple[float, float]:
        """The mean squared length of a row, and the usual square of an entry."""
        if self._look is None:
            self._look = self._look_at_some_rows()
        return self._look

    def _look_at_some_rows(self) -> tuple[float, float]:
        """From the first rows: they are a random sample."""
        values_a_row = max(self._held.n_values / max(self._held.shape[0], 1), 1.0)
        looked_at = min(self._held.shape[0], _SAMPLED_ROWS, int(_SAMPLED_VALUES / values_a_row) + 1000)
        sample = list(self._held.pieces([(0, looked_at)]))
        rows = max(sum(piece.shape[0] for piece in sample), 1)
        squares = sum(sum_of_squares(piece) for piece in sample)
        if self._unit_scale or squares == 0:
            return squares / rows, 1.0
        nonzeros = sum(np.count_nonzero(piece.data if sparse.issparse(piece) else piece) for piece in sample)
        return squares / rows, squares / nonzeros

    def _restart(self) -> None:
        """Begin a new pass over the rows of this stream."""
        self.signed_weights = _joined([self._weights[start:stop] for start, stop in self._ranges])
        self.n_points = int(self.signed_weights.size)
        self._summary: Summary | None = None
        self._blocks: ShuffledBlocks | None = None

    @property
    def summary(self) -> Summary:
        """What the rows of this stream come to; summed up when first asked for."""
        if self._summary is None:
            squared_row, entry_square = self._usual_row()
            weights = class_weights(self.signed_weights)
            self._summary = Summary(self.n_points, *weights, squared_row * self.n_points, entry_square)
        return self._summary

    def part(self, *ranges: tuple[int, int], rng: np.random.Generator | None = None) -> ArrayStream:
        """A stream over these ranges of rows alone, its blocks shuffled by ``rng`` if given; nothing is copied."""
        self._usual_row()  # the same for all parts
        other = copy.copy(self)
        other._ranges = tuple((start, stop) for start, stop in ranges if start < stop)
        other._rng = self._rng if rng is None else rng
        other._restart()
        return other

    def first(self, points: int) -> ArrayStream:
        """A stream over a random sample of so many rows: the first ones, since their order is random."""
        if points >= self.n_points:
            return self
        ranges = []
        for start, stop in self._ranges:
            ranges.append((start, min(stop, start + points)))
            points -= ranges[-1][1] - start
        return self.part(*ranges)

    def reshuffled(self, rng: np.random.Generator) -> ArrayStream:
        """A copy in another random order."""
        return self._reordered(evenly_mixed_order(self._weights > 0, rng), rng)

    @property
    def n_groups(self) -> int | None:
        """None if every row is on its own."""
        return None if self._groups is None else int(self._groups.max()) + 1

    def in_folds(self, folds: int, rng: np.random.Generator) -> tuple[ArrayStream, Ranges]:
        """A range of rows for each fold; if there are groups, of a copy in an order that keeps them together."""
        if self._groups is None:
            return self, equal_ranges(self.n_points, folds)
        order, ranges = order_by_group(self._groups, self._weights > 0, folds, rng, evenly_mixed_order)
        return self._reordered(order, rng), ranges

    def _reordered(self, order: NDArray[np.signedinteger[Any]], rng: np.random.Generator) -> ArrayStream:
        self._usual_row()  # the same whatever the order
        other = copy.copy(self)
        other._held, other._weights, other._pulls = (
            self._held.reordered(order),
            self._weights[order],
            self._pulls[order],
        )
        other._groups = None if self._groups is None else self._groups[order]
        other._rng = rng
        other._restart()
        return other

    def limit_rows(self, limit: float, mean: float | None = None) -> float:
        """Let rows of more than ``limit`` mean squared lengths pull in proportion less; returns that mean.

        A row's length counts the intercept as one more entry of the usual size. ``mean`` is that of this stream's
        own rows unless given.
        """
        pieces = self._held.pieces([(0, self._held.shape[0])])
        entry_square = 1.0 if self._unit_scale else self._usual_row()[1]
        squares = _joined([squared_rows(piece) for piece in pieces])
        squares += squares.dtype.type(entry_square)
        if mean is None:
            mean = float(squares.mean(dtype=np.float64))
        np.divide(squares.dtype.type(limit * mean), squares, out=squares)
        np.minimum(squares, 1.0, out=squares)
        squares *= self._weights
        self._pulls = squares.astype(np.float32, copy=False)
        return mean

    @property
    def X(self) -> Any:
        """All rows, in the order and the units of the stream."""
        pieces = list(self._held.pieces([(0, self._held.shape[0])]))
        if len(pieces) > 1 and sparse.issparse(pieces[0]):
            return sparse.vstack(pieces, format="csr")
        return _joined(pieces)

    @property
    def rows(self) -> DenseRows | CSRRows:
        """All rows in the form kernels take."""
        return rows_for_kernels(self.X)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._held.dtype

    @property
    def n_features(self) -> int:
        return int(self._held.shape[1])

    @property
    def n_values(self) -> int:
        """Numbers a pass over all rows reads."""
        return self._held.n_values

    def take(self, points: int) -> Iterator[Chunk]:
        """The next points, in as many chunks as it takes; passes follow one another without end."""
        if self._blocks is None:
            self._blocks = ShuffledBlocks(self._ranges, self._rng)
        while points > 0:
            now = min(points, _LARGEST_CHUNK)
            yield from self._held.chunks(self._pulls, *self._blocks.take(now))
            points -= now

    def scores(self, weights: NDArray[Any], intercept: float) -> NDArray[np.floating[Any]]:
        """The scores of this stream's rows under a model of its columns, in the width of the rows."""
        narrow = np.asarray(weights, dtype=self.dtype)
        scores: NDArray[np.floating[Any]] = _joined(
            [np.asarray(piece @ narrow) for piece in self._held.pieces(self._ranges)]
        )
        scores += self.dtype.type(intercept)
        return scores

    def weighted_sum(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """The sum of this stream's rows, each times its value: the transpose of :meth:`scores`."""
        total = np.zeros(self.n_features)
        done = 0
        for piece in self._held.pieces(self._ranges):
            mine = np.asarray(values[done : done + piece.shape[0]], dtype=self.dtype)
            total += np.asarray(piece.T @ mine, dtype=np.float64)
            done += piece.shape[0]
        return total


def _joined(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
