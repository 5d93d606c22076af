"""Rows in memory, transformed and in random order, for any source: training runs learn from them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..counts import sums_by_class
from ..decisions.class_offsets import ClassScores
from ..features.coded import CodedColumns
from ..kernels import gather_weights, hash_rows, square_rows
from ..solvers.state import Chunk, ClassTotals, LinearModels, RowTotals, class_totals, sum_of_squares
from ..transforms import Standardizer, Transform
from .folds import ALL_ROWS, Ranges, order_by_fold
from .storage import MaterializedRows, RowStorage, joined, store
from .targets import Targets, against_the_rest, codes_of, mixed_order, weights_of

# A kernel call sums models in the width of the data; learners fold that into float64 between calls.
_LARGEST_CHUNK = 1 << 18
_SAMPLED_ROWS, _SAMPLED_VALUES = 1 << 14, 1 << 22
_BLOCKS, _LONGEST_BLOCK = 64, 4096  # the fewest blocks of a pass; the most rows of a block


class ArrayRows:
    """Rows in memory, transformed and shuffled once, and read pass after pass without end.

    Reading in random order costs a cache miss per row, several times the arithmetic. So the one copy that the
    transform needs is made in random order. Each pass reads it in contiguous blocks, and only the order of the
    blocks changes from pass to pass. The random order spreads the rarer class evenly over the rows.

    ``targets`` are the sample weights, negative for rows of the negative class; with more than two classes, the
    number of each row's class and its weight. With given folds (``fold_of_row``), :meth:`fold` and
    :meth:`without_fold` return the parts. ``low_memory`` makes no copy: the rows of a block are gathered whenever
    the block is read.
    """

    _groups: NDArray[np.intp] | None
    _sensitive: NDArray[np.intp] | None

    def __init__(
        self,
        X: Any,
        targets: Targets,
        transform: Transform,
        rng: np.random.Generator,
        dtype: Any = np.float32,
        *,
        n_classes: int = 2,
        groups: NDArray[np.intp] | None = None,
        sensitive: NDArray[np.intp] | None = None,
        fold_of_row: NDArray[Any] | None = None,
        n_folds: int = 1,
        low_memory: bool = False,
        threads: int = 1,
    ):
        targets = np.asarray(targets)
        self.fold_ranges = [(0, len(targets))]
        if fold_of_row is None or n_folds == 1:
            order = mixed_order(targets, rng)
        else:
            order, self.fold_ranges = order_by_fold(fold_of_row, targets, n_folds, rng)
        stored = store(X, order, transform, dtype, low_memory=low_memory, threads=threads)
        two = targets.ndim == 1
        ordered = gather_weights(targets, order) if two else targets[order].astype(np.float32)
        self._begin(stored, ordered, transform.unit_scale, rng, n_classes)
        self._groups = None if groups is None else groups[order]
        self._sensitive = None if sensitive is None else sensitive[order]
        self._own_scales = isinstance(transform, CodedColumns)

    @classmethod
    def of_stored(
        cls, stored: RowStorage, signed_weights: NDArray[np.float32], unit_scale: bool, rng: np.random.Generator
    ) -> ArrayRows:
        """Return rows that are stored already, in random order; nothing is copied."""
        rows = cls.__new__(cls)
        rows.fold_ranges = [(0, stored.shape[0])]
        rows._begin(stored, signed_weights, unit_scale, rng)
        return rows

    def _begin(
        self,
        stored: RowStorage,
        targets: NDArray[np.float32],
        unit_scale: bool,
        rng: np.random.Generator,
        n_classes: int = 2,
    ) -> None:
        self._stored, self.n_classes = stored, n_classes
        self._all_targets = self._step_targets = targets
        self._rng = rng
        self._groups = self._sensitive = None
        self._ranges: tuple[tuple[int, int], ...] = ((0, stored.shape[0]),)
        self._unit_scale = unit_scale
        self._own_scales = False  # whether the deviations of the columns are intended
        self._measured: tuple[float, float] | None = None
        self._restart()

    def _usual_row(self) -> tuple[float, float]:
        """The mean squared length of a row, and the typical square of an entry."""
        if self._measured is None:
            self._measured = self._measure_some_rows()
        return self._measured

    def _measure_some_rows(self) -> tuple[float, float]:
        """Return the mean squared length and the typical square from the first rows, which are a random sample."""
        values_per_row = max(self._stored.n_values / max(self._stored.shape[0], 1), 1.0)
        number = min(self._stored.shape[0], _SAMPLED_ROWS, int(_SAMPLED_VALUES / values_per_row) + 1000)
        sample = list(self._stored.pieces([(0, number)]))
        rows = max(sum(piece.shape[0] for piece in sample), 1)
        squares = sum(sum_of_squares(piece) for piece in sample)
        if self._unit_scale or squares == 0:
            return squares / rows, 1.0
        nonzeros = sum(np.count_nonzero(piece.data if sparse.issparse(piece) else piece) for piece in sample)
        return squares / rows, squares / nonzeros

    def _restart(self) -> None:
        """Begin a new pass."""
        self.targets = joined([self._all_targets[start:stop] for start, stop in self._ranges])
        self.n_points = len(self.targets)
        self._summary: RowTotals | ClassTotals | None = None
        self._blocks: ShuffledBlocks | None = None
        self._shares: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._with_ones: tuple[Any, Any] | None = None

    @property
    def signed_weights(self) -> NDArray[np.float32]:
        """The weight of each row of two classes, negative for the negative class."""
        found: NDArray[np.float32] = self.targets
        return found

    @property
    def summary(self) -> Any:
        """The totals of the rows, computed on first use."""
        if self._summary is None:
            squared_row, entry_square = self._usual_row()
            sizes = squared_row * self.n_points, entry_square
            if self.targets.ndim == 1:
                self._summary = RowTotals(self.n_points, *class_totals(self.targets), *sizes)
            else:
                weights = sums_by_class(codes_of(self.targets), weights_of(self.targets), self.n_classes)
                self._summary = ClassTotals(self.n_points, tuple(weights.tolist()), *sizes)
        return self._summary

    def part(self, *ranges: tuple[int, int], rng: np.random.Generator | None = None) -> ArrayRows:
        """Return these ranges of rows alone, their blocks shuffled by ``rng`` if given; nothing is copied."""
        self._usual_row()  # the same for all parts
        other = copy.copy(self)
        other._ranges = tuple((start, stop) for start, stop in ranges if start < stop)
        other._rng = self._rng if rng is None else rng
        other._restart()
        return other

    def fold(self, number: int) -> ArrayRows:
        """Return the rows of one of the given folds; all rows if there is only one fold."""
        if len(self.fold_ranges) == 1:
            return self
        return self.part(self.fold_ranges[number])

    def without_fold(self, number: int) -> ArrayRows:
        """Return all rows except those of one given fold; all rows if there is only one fold, or for ALL_ROWS."""
        if len(self.fold_ranges) == 1 or number == ALL_ROWS:
            return self
        return self.part(*self.fold_ranges[:number], *self.fold_ranges[number + 1 :])

    def blocks(self, rows: int) -> Iterator[ArrayRows]:
        """Yield these rows in blocks of this many rows."""
        for start, stop in self._ranges:
            for begin in range(start, stop, rows):
                yield self.part((begin, min(begin + rows, stop)))

    def with_rng(self, rng: np.random.Generator) -> ArrayRows:
        """Return the same rows with their blocks shuffled by another generator."""
        return self.part(*self._ranges, rng=rng)

    def first(self, points: int) -> ArrayRows:
        """Return a random sample of this many rows: the first ones, since their order is random."""
        if points >= self.n_points:
            return self
        ranges = []
        for start, stop in self._ranges:
            ranges.append((start, min(stop, start + points)))
            points -= ranges[-1][1] - start
        return self.part(*ranges)

    def reshuffled(self, rng: np.random.Generator) -> ArrayRows:
        """Return a copy in another random order."""
        return self.reordered(mixed_order(self._all_targets, rng), rng)

    def reordered(self, order: NDArray[np.signedinteger[Any]], rng: np.random.Generator) -> ArrayRows:
        """Return a copy in this order."""
        self._usual_row()  # the same whatever the order
        other = copy.copy(self)
        other._stored = self._stored.reordered(order)
        other._all_targets, other._step_targets = self._all_targets[order], self._step_targets[order]
        kept = (self._groups, self._sensitive)
        other._groups, other._sensitive = (None if one is None else one[order] for one in kept)
        other.fold_ranges = [(0, len(other._all_targets))]
        other._rng = rng
        other._restart()
        return other

    def limit_rows(self, limit: float, mean: float | None = None) -> float:
        """Reduce the weight of rows longer than ``limit`` mean squared lengths in proportion; return the mean
        used.

        A row's length counts the intercept as one more entry of typical size. ``mean`` defaults to the mean
        squared length of these rows.
        """
        entry_square = 1.0 if self._unit_scale else self._usual_row()[1]
        squares = joined([square_rows(piece) for piece in self._stored.pieces(self._ranges)])
        squares += squares.dtype.type(entry_square)
        if mean is None:
            mean = float(squares.mean(dtype=np.float64))
        np.divide(squares.dtype.type(limit * mean), squares, out=squares)
        np.minimum(squares, 1.0, out=squares)
        squares *= self.signed_weights
        if self.n_points == self._stored.shape[0]:
            self._step_targets = squares.astype(np.float32, copy=False)
            return mean
        self._step_targets = np.zeros(self._stored.shape[0], np.float32)
        ends = np.cumsum([stop - start for start, stop in self._ranges])[:-1]
        for (start, stop), mine in zip(self._ranges, np.split(squares, ends), strict=True):
            self._step_targets[start:stop] = mine
        return mean

    @property
    def n_features(self) -> int:
        return int(self._stored.shape[1])

    @property
    def n_values(self) -> int:
        """How many numbers a pass over all rows reads."""
        return self._stored.n_values

    @property
    def sparse(self) -> bool:
        return self._stored.sparse

    @property
    def groups(self) -> NDArray[np.intp] | None:
        """The group of each row, as a number; None if there are no groups."""
        return self._groups

    @property
    def sensitive(self) -> NDArray[np.intp] | None:
        """The sensitive group of each of these rows, as a number, for bounds on groups."""
        return None if self._sensitive is None else joined([self._sensitive[a:b] for a, b in self._ranges])

    @property
    def n_groups(self) -> int | None:
        """The number of groups; None if there are no groups."""
        return None if self._groups is None else int(self._groups.max()) + 1

    @property
    def storage(self) -> RowStorage:
        """The storage of all rows; parts of the same rows share it."""
        return self._stored

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The ranges of these rows among all stored rows."""
        return self._ranges

    def spread_out(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of these rows as values of all stored rows, 0 for the other rows."""
        found = np.zeros(self._stored.shape[0], values.dtype)
        done = 0
        for start, stop in self._ranges:
            found[start:stop] = values[done : done + stop - start]
            done += stop - start
        return found

    @property
    def signs(self) -> NDArray[np.float32]:
        """The class of every stored row, as a sign."""
        found: NDArray[np.float32] = np.sign(self._all_targets)
        return found

    @property
    def X(self) -> Any:
        """All rows, transformed, in their order here."""
        return joined(list(self._stored.pieces([(0, self._stored.shape[0])])))

    @property
    def rng(self) -> np.random.Generator:
        return self._rng

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._stored.dtype

    def take(self, points: int) -> Iterator[Chunk]:
        """Yield this many next points in chunks; passes follow one another without end."""
        if self._blocks is None:
            self._blocks = ShuffledBlocks(self._ranges, self._rng)
        while points > 0:
            now = min(points, _LARGEST_CHUNK)
            yield from self._stored.chunks(self._step_targets, *self._blocks.take(now))
            points -= now

    def scores(self, weights: NDArray[Any], intercept: Any) -> NDArray[np.floating[Any]]:
        """Return the scores of all rows under a model of their columns, in the width of the rows.

        With several models, whose weights are columns, return a column of scores for each.
        """
        narrow = np.asarray(weights, dtype=self.dtype)
        scores: NDArray[np.floating[Any]] = joined(
            [np.asarray(piece @ narrow) for piece in self._stored.pieces(self._ranges)]
        )
        scores += np.asarray(intercept, dtype=self.dtype)
        return scores

    def class_scores(self, models: LinearModels) -> ClassScores:
        """Return the scores of all rows for each class."""
        scores = self.scores(models.weights.T, models.intercepts)
        return ClassScores(scores, codes_of(self.targets), weights_of(self.targets))

    def against_the_rest(self, code: int, rng: np.random.Generator) -> ArrayRows:
        """Return the rows, not copied, with one class as the positive and all others as the negative class."""
        signed = against_the_rest(self._all_targets, code)
        return ArrayRows.of_stored(self._stored, signed, self._unit_scale, rng).part(*self._ranges)

    def places_among(self, common: Any) -> NDArray[np.intp]:
        """Return for each row the index of the equal row in ``common``, transformed as these; -1 for none."""
        wanted = hash_rows(common)
        found = joined([hash_rows(piece) for piece in self._stored.pieces(self._ranges)])
        order = np.argsort(wanted)
        places = order[np.searchsorted(wanted[order], found).clip(max=wanted.size - 1)]
        return np.where(wanted[places] == found, places, -1)

    @property
    def signs_and_shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the class of each row as a sign, and the row's share of the weight of its class."""
        if self._shares is None:
            signs = np.sign(self.signed_weights).astype(np.float64)
            positive, negative = class_totals(self.signed_weights)
            per_weight = np.where(signs > 0, 1.0 / max(positive, 1e-300), 1.0 / max(negative, 1e-300))
            self._shares = signs, np.abs(self.signed_weights) * per_weight
        return self._shares

    @property
    def with_ones(self) -> tuple[Any, Any]:
        """Return all rows in one matrix, with a column of ones added, and its transpose; for few rows."""
        if self._with_ones is None:
            rows, ones = joined(list(self._stored.pieces(self._ranges))), np.ones((self.n_points, 1), self.dtype)
            matrix = sparse.hstack([rows, ones], format="csr") if self._stored.sparse else np.hstack([rows, ones])
            self._with_ones = matrix, matrix.T
        return self._with_ones

    def standardized_apart(self) -> tuple[ArrayRows, Standardizer]:
        """Return a copy of these rows, standardized by their own moments, and the standardization."""
        X = joined(list(self._stored.pieces(self._ranges)))
        own = self.standardizer().update(X)
        if own.active:
            X = own.transform(X, np.arange(self.n_points), self.dtype)
        apart = ArrayRows.of_stored(MaterializedRows(X), self.signed_weights, self._unit_scale, self._rng)
        return apart, own

    def standardizer(self) -> Standardizer:
        """Return an empty standardizer for parts of these rows."""
        return Standardizer(self.n_features, active=self._unit_scale, scaled=not self._own_scales)

    def weighted_sum(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sum of the rows, each multiplied by its value: the transpose of :meth:`scores`."""
        total = np.zeros(self.n_features)
        done = 0
        for piece in self._stored.pieces(self._ranges):
            mine = np.asarray(values[done : done + piece.shape[0]], dtype=self.dtype)
            total += np.asarray(piece.T @ mine, dtype=np.float64)
            done += piece.shape[0]
        return total


class ShuffledBlocks:
    """The rows of some ranges, block after block, without end; every pass has a new order."""

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
        """Return the starts and the stops of this many next rows."""
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
