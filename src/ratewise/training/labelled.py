"""Rows of many classes, held in memory."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..counts import sums_by_class
from ..decisions.class_offsets import ClassScores
from ..kernels import evenly_mixed_classes
from ..solvers.driver import answered
from ..solvers.softmax import (
    ClassCandidate,
    ClassCut,
    ClassLearner,
    ClassObjective,
    ClassRequest,
    ClassShape,
    ClimbMeasure,
    CutClasses,
    LearnClasses,
    MaximizeLikelihood,
    Path,
    answer_at_once,
)
from ..solvers.state import Chunk, LinearModels, sum_of_squares
from ..transforms import Transform
from . import config
from .folds import order_by_fold
from .memory import FoldRanges, equal_ranges, order_by_group, parts_of_splits, ranges_of_folds
from .rows import ArrayRows, MaterializedRows, Ranges, ShuffledBlocks, StoredRows, joined, store
from .source import ALL_ROWS
from .threads import in_threads

# Up to so many numbers, what a batch of a sparse matrix costs to take out is more than what its zeros cost.
_SMALL = 1 << 22


class MulticlassRows(StoredRows):
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
        splits: NDArray[np.int8] | None = None,
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
        self._splits = None if splits is None else splits[order]
        self.n_classes = n_classes
        self._targets: NDArray[np.float32] | None = None
        self._ranges: tuple[tuple[int, int], ...] = ((0, X.shape[0]),)
        self._folds: list[FoldRanges] = []

    def part(self, *ranges: tuple[int, int]) -> MulticlassRows:
        """These ranges of rows alone; nothing is copied."""
        other = copy.copy(self)
        other._ranges = tuple((start, stop) for start, stop in ranges if start < stop)
        return other

    def in_folds(self, folds: int, rng: np.random.Generator) -> MulticlassRows:
        """Return these rows with a range for each fold; groups are kept together by a copy in another order."""
        other = copy.copy(self)
        if self._splits is not None:
            roles, part_of_row = parts_of_splits(self._splits)
            order, ranges = order_by_fold(part_of_row, self._all_codes, len(roles), rng, evenly_mixed_classes)
            other._folds = ranges_of_folds(roles, ranges)
        elif self._groups is None:
            other._folds = self._each_against_the_others(equal_ranges(self.n_points, folds))
            return other
        else:
            order, ranges = order_by_group(self._groups, self._all_codes, folds, rng, evenly_mixed_classes)
            other._folds = self._each_against_the_others(ranges)
        other._stored = self._stored.reordered(order)
        other._all_codes, other._all_weights = self._all_codes[order], self._all_weights[order]
        other._groups = None if self._groups is None else self._groups[order]
        other._targets = None
        return other

    def _each_against_the_others(self, ranges: Ranges) -> list[FoldRanges]:
        return [([(0, start), (stop, self.n_points)], [(start, stop)]) for start, stop in ranges]

    def without(self, fold: int) -> MulticlassRows:
        """Return the rows that a fold learns from: those that are not of it, unless the user says otherwise."""
        if fold == ALL_ROWS:
            return self
        return self.part(*self._folds[fold][0])

    def sample(self) -> MulticlassRows:
        return self

    def all_sampled(self) -> bool:
        return True

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

    def shape(self, without: int = ALL_ROWS) -> ClassShape:
        mine = self.without(without)
        return ClassShape(
            mine.class_weights(),
            mine.n_points,
            mine.n_features,
            mine.n_values,
            self.leverage(),
            mine.n_groups,
            in_memory=True,
            given_folds=None if self._splits is None else int(self._splits.shape[1]),
        )

    def follow(
        self, paths: Sequence[tuple[int, Path]], rng: np.random.Generator, threads: int
    ) -> list[list[ClassCandidate]]:
        def followed(job: tuple[int, Path, np.random.Generator]) -> list[ClassCandidate]:
            fold, path, own_rng = job
            found: list[ClassCandidate] = answered(path, _Answers(self.without(fold), own_rng).to)
            return found

        jobs = [(*one, own_rng) for one, own_rng in zip(paths, rng.spawn(len(paths)), strict=True)]
        return in_threads(followed, jobs, threads)

    def validation_scores(self, models: Sequence[LinearModels]) -> ClassScores:
        parts = [self.part(*held).scored(model) for (_, held), model in zip(self._folds, models, strict=False)]
        return ClassScores(*(np.concatenate(every) for every in zip(*parts, strict=True))).centred()

    def scored(self, model: LinearModels) -> ClassScores:
        """Return all rows with their scores."""
        return ClassScores(self.scores(*model), self.codes, self.weights)

    def leverage(self) -> float:
        """The mean squared length of a row with the intercept's entry, from the first rows: they are a sample."""
        sample = next(iter(self._stored.pieces([(0, min(self._stored.shape[0], 4096))])))
        return sum_of_squares(sample) / max(int(sample.shape[0]), 1) + 1.0

    def first(self, rows: int) -> MulticlassRows:
        """Return about so many rows: the first ones of each range, since their order is random."""
        share = min(rows / max(self.n_points, 1), 1.0)
        return self.part(*((start, start + math.ceil(share * (stop - start))) for start, stop in self._ranges))

    def one_pass(self, rng: np.random.Generator) -> Iterator[Chunk]:
        """Yield every row once, in blocks of random order; a chunk's weights are class numbers and weights."""
        if self._targets is None:
            self._targets = np.stack([self._all_codes.astype(np.float32), self._all_weights], axis=1)
        blocks = ShuffledBlocks(self._ranges, rng)
        yield from self._stored.chunks(self._targets, *blocks.take(self.n_points))

    def with_ones(self) -> Any:
        """Return all rows in one matrix, an entry of 1 added to each: for rows that are few."""
        rows, ones = joined(list(self._stored.pieces(self._ranges))), np.ones((self.n_points, 1), np.float32)
        return sparse.hstack([rows, ones], format="csr") if sparse.issparse(rows) else np.hstack([rows, ones])

    def objective(self) -> ClassObjective:
        """Return functions of all rows at once."""
        return ClassObjective(self.with_ones(), self.codes, self.weights, self.n_classes)

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


class _Answers:
    """What rows in memory answer to the requests of a path."""

    def __init__(self, rows: MulticlassRows, rng: np.random.Generator):
        self._rows, self._rng = rows, rng

    @cached_property
    def _objective(self) -> ClassObjective:
        return self._rows.objective()

    def to(self, request: ClassRequest) -> Any:
        match request:
            case MaximizeLikelihood() | ClimbMeasure():
                return answer_at_once(request, self._objective)
            case LearnClasses():
                learner = ClassLearner(request)
                for chunk in self._rows.one_pass(self._rng):
                    learner.learn(chunk)
                return learner.learned()
            case CutClasses(measure, model):
                return ClassCut.of(self._rows.first(config.CLASS_CUT_ROWS).scored(model), measure)
