"""Rows in memory as a source, and the folds they are split into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import evenly_mixed_order, hash_rows
from ..measures import Measure
from ..solvers.base import Scores
from ..solvers.batch import BatchRun
from ..solvers.certify import ModelShift, points_of_groups
from ..solvers.state import LinearModel, Summary, class_totals, mean_model
from ..solvers.threshold import effective_points
from ..transforms import Standardizer, Transform, Whitener
from .rows import ArrayRows, Ranges, order_by_fold
from .source import ALL_ROWS, Progress, R, Runner, Statistics, model_shift

_LARGE_GROUPS = 1000  # that are placed one by one; smaller ones are dealt out in turn
_COMMON_SHARE = 0.01  # of all rows: copies of a row that are as many are spread over the folds

_T = TypeVar("_T")
_S = TypeVar("_S")


class ArraySource:
    """Rows of two classes in memory.

    Parameters
    ----------
    X : array or CSR matrix
    signed_weights : array
        The sample weight of each row, negative for a row of the negative class; their mean size is 1.
    rng : numpy Generator
    standardizer : Standardizer, optional
        Has seen the rows already.
    groups : array of int, optional
        Rows of one number stay in one fold.
    low_memory : bool
        Make no copy of the rows.
    threads : int
        Runs side by side; the outcome does not depend on it.
    progress : function, optional
        Called when training begins and after every run.
    """

    dtype = np.dtype(np.float32)

    def __init__(
        self,
        X: Any,
        signed_weights: NDArray[Any],
        rng: np.random.Generator,
        *,
        standardizer: Standardizer | None = None,
        groups: NDArray[np.intp] | None = None,
        low_memory: bool = False,
        threads: int = 1,
        progress: Progress | None = None,
    ):
        self._X, self._signed_weights, self._rng = X, signed_weights, rng
        self._standardizer = standardizer
        self._groups = groups
        self._low_memory, self._threads, self._progress = low_memory, threads, progress

    def statistics(self) -> Statistics:
        X, weights = self._X, self._signed_weights
        return Statistics(
            int(X.shape[0]),
            int((weights > 0).sum()),
            *class_totals(weights),
            effective_points(weights) if self._groups is None else points_of_groups(weights, self._groups),
            int(X.shape[1]),
            int(X.nnz if sparse.issparse(X) else X.size),
            bool(sparse.issparse(X)),
            None if self._groups is None else int(self._groups.max()) + 1,
            in_memory=True,
        )

    def transform(self, *, standardize: bool, whiten: bool) -> Transform:
        standardizer = self._standardizer
        if standardizer is None or not standardize:
            standardizer = Standardizer(self._X.shape[1], active=standardize).update(self._X)
        return Whitener.of_rows(standardizer, self._X, self._rng) if whiten else standardizer

    def transformed(
        self, transform: Transform, folds: int = 1, repeats: int = 1, row_limit: float | None = None
    ) -> ArrayTrainingRows:
        given = GivenFolds(self._groups)
        if folds > 1:
            given = folds_of_rows(self._X, self._groups, self._signed_weights > 0, folds, self._rng)
        rows = ArrayRows(
            self._X,
            self._signed_weights,
            transform,
            self._rng,
            groups=given.groups,
            fold_of_row=given.fold_of_row,
            n_folds=folds,
            low_memory=self._low_memory,
        )
        common = None
        if given.common is not None:
            common = transform.transform(self._X, given.common, self.dtype)
        return ArrayTrainingRows(rows, folds, repeats, row_limit, self._rng, self._threads, self._progress, common)


class ArrayTrainingRows:
    """Rows in memory, split into folds; several times over where rows are few."""

    whole_steps = False

    def __init__(
        self,
        rows: ArrayRows,
        folds: int = 1,
        repeats: int = 1,
        row_limit: float | None = None,
        rng: np.random.Generator | None = None,
        threads: int = 1,
        progress: Progress | None = None,
        common: Any = None,
    ):
        self._limited = row_limit is not None
        self.leverage = 1.0 if row_limit is None else rows.limit_rows(row_limit)
        self._folds, self.n_folds = folds, folds * repeats
        self.points_per_pass = rows.n_points
        self.common_rows = common
        self._common_places: list[NDArray[np.intp]] = []
        rng = rows.rng if rng is None else rng
        self._rows, self._rng, self._threads, self._progress = rows, rng, threads, progress
        self._training: list[ArrayRows] = []
        self._validation: list[ArrayRows] = []
        if folds == 1:
            self._training = self._validation = [rows]
            return
        for repeat in range(repeats):
            split, ranges = in_folds(rows if repeat == 0 else rows.reshuffled(rng), folds, rng)
            for begin, end in ranges:
                self._training.append(_with_both_classes(split.part((0, begin), (end, rows.n_points))))
                self._validation.append(split.part((begin, end)))
        if common is not None and common.shape[0]:
            self._common_places = [rows.places_among(common) for rows in self._validation]

    def summary(self, fold: int) -> Summary:
        return self._training[fold].summary

    def train(self, runs: Sequence[tuple[int, R]]) -> list[R]:
        # Every run has random numbers of its own: the outcome is the same in any order.
        seeds = self._rng.spawn(len(runs)) if len(runs) > 1 or self._limited else [self._rng]

        def work(job: tuple[tuple[int, R], np.random.Generator]) -> R:
            (fold, run), rng = job
            rows = (self._rows if fold == ALL_ROWS else self._training[fold]).with_rng(rng)
            if isinstance(run, BatchRun):
                # Columns that validation rows took part in centring would shift their scores.
                rows, own = rows.standardized_apart()
                run.change_transform(own.transform_coef)
            Runner(run, fold, rows.summary).to_the_end(rows)
            if isinstance(run, BatchRun):
                run.change_transform(own.inverse_coef)
            finished.append(run)
            self._report(len(finished), len(runs))
            return run

        finished: list[R] = []
        self._report(0, len(runs))
        return in_threads(work, list(zip(runs, seeds, strict=True)), self._threads)

    def _report(self, finished: int, runs: int) -> None:
        if self._progress is not None:
            done, total = finished * self.points_per_pass, runs * self.points_per_pass
            self._progress({"stage": "learning", "done_rows": done, "total_rows": total})

    def validation_scores(self, models: Sequence[LinearModel]) -> Scores:
        if self.n_folds == 1:
            return self.own_scores(models[0])
        values = [rows.scores(*model) for rows, model in zip(self._validation, models, strict=True)]
        self._give_common_rows_one_score(values, models)
        weights = [rows.signed_weights for rows in self._validation]
        return Scores(np.concatenate(values), np.concatenate(weights), folds=tuple(part.size for part in weights))

    def _give_common_rows_one_score(self, values: Sequence[NDArray[Any]], models: Sequence[LinearModel]) -> None:
        """Score copies of one row, wherever they lie, by the mean model of their draw of folds.

        The models of the folds differ a little on such a row, so that a cut could part its copies: its rates would
        lie between those of two cuts that a model can make.
        """
        for first in range(0, len(self._common_places), self._folds):
            draw = slice(first, first + self._folds)
            mean = mean_model(models[draw])
            scores = np.asarray(self.common_rows @ mean.weights + mean.intercept)
            for mine, places in zip(values[draw], self._common_places[draw], strict=True):
                mine[places >= 0] = scores[places[places >= 0]]

    def threshold_scores(self, models: Sequence[LinearModel], measure: Measure) -> Scores:
        return self.validation_scores(models)

    def own_scores(self, model: LinearModel) -> Scores:
        return Scores(self._rows.scores(*model), self._rows.signed_weights)

    def model_shift(self, model: LinearModel, of_folds: Sequence[LinearModel], threshold: float) -> ModelShift:
        return model_shift(self._validation, model, of_folds, threshold, self._folds)


def _with_both_classes(rows: ArrayRows) -> ArrayRows:
    """Only groups can make a fold lack a class: others have their share of it."""
    if rows.signed_weights.min() >= 0 or rows.signed_weights.max() <= 0:
        missing = "negative" if rows.signed_weights.min() >= 0 else "positive"
        raise ValueError(
            f"With these groups a fold leaves no row of the {missing} class to learn from, because hardly a group "
            "has any. Give finer groups, or none."
        )
    return rows


class GivenFolds(NamedTuple):
    """Which rows must share a fold."""

    groups: NDArray[np.intp] | None = None
    fold_of_row: NDArray[np.intp] | None = None
    """None if any row may lie anywhere."""
    common: NDArray[np.intp] | None = None
    """One of each of the rows that come often, the most frequent first."""


def folds_of_rows(
    X: Any, groups: NDArray[np.intp] | None, codes: NDArray[Any], folds: int, rng: np.random.Generator
) -> GivenFolds:
    """Return a fold for each row that keeps groups together; without groups, equal rows.

    A model that has met a row would flatter itself on its duplicate. Rows that are a hundredth of all or more are
    spread over the folds all the same: they will come again, and a model that has met none of them would be
    another one. All rows may lie anywhere if else a class would be in one fold alone.
    """
    if groups is not None:
        return GivenFolds(groups, _fold_of_each_row(groups, codes.astype(np.intp), folds, rng))
    hashes = hash_rows(X)
    ordered = np.sort(hashes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not repeated.size:
        return GivenFolds()
    some_bits = np.zeros(1 << 16, dtype=bool)  # sorts out most of the others, before the search
    some_bits[repeated & np.uint64(0xFFFF)] = True
    copies = np.flatnonzero(some_bits[hashes & np.uint64(0xFFFF)])
    copies = copies[np.isin(hashes[copies], repeated)]
    which = np.searchsorted(repeated, hashes[copies])
    _, first, counts = np.unique(which, return_index=True, return_counts=True)
    often = counts >= _COMMON_SHARE * codes.size + 1
    common = copies[first[often]][np.argsort(-counts[often], kind="stable")]
    together = ~often[which]  # the others are each on their own
    numbers = np.arange(codes.size) + repeated.size
    numbers[copies[together]] = which[together]
    found = _fold_of_each_row(numbers, codes.astype(np.intp), folds, rng)
    if min(np.unique(found[codes == code]).size for code in np.unique(codes)) < 2:
        return GivenFolds(common=common)
    return GivenFolds(numbers, found, common)


def in_folds(rows: ArrayRows, folds: int, rng: np.random.Generator) -> tuple[ArrayRows, Ranges]:
    """Return a range of rows per fold; if there are groups, of a copy in an order that keeps them together."""
    if rows.groups is None:
        return rows, equal_ranges(rows.n_points, folds)
    if len(rows.fold_ranges) == folds:
        return rows, rows.fold_ranges
    order, ranges = order_by_group(rows.groups, rows.signed_weights > 0, folds, rng, evenly_mixed_order)
    return rows.reordered(order, rng), ranges


def equal_ranges(n_rows: int, folds: int) -> list[tuple[int, int]]:
    """A range of rows for each fold."""
    return list(pairwise(n_rows * fold // folds for fold in range(folds + 1)))


def order_by_group(
    groups: NDArray[np.intp], codes: NDArray[Any], folds: int, rng: np.random.Generator, mixed: Callable[..., Any]
) -> tuple[NDArray[np.intp], list[tuple[int, int]]]:
    """Return an order of rows and the range of each fold in it, no group in two of them.

    ``codes`` are the classes of the rows, and ``mixed`` gives the order within a fold.
    """
    fold_of_row = _fold_of_each_row(groups, codes.astype(np.intp), folds, rng)
    return order_by_fold(fold_of_row, codes, folds, rng, mixed)


def _fold_of_each_row(
    groups: NDArray[np.intp], codes: NDArray[np.intp], folds: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """A fold for every row, the same for all of a group; each with about its share of every class.

    Groups of several rows come first, those that hold most of some class before others; each goes where it makes
    the folds least uneven. Rows that are on their own fill up the folds that have least of their class.
    """
    n_classes = int(codes.max()) + 1
    alone = np.bincount(groups)[groups] == 1
    per_row = 1.0 / np.maximum(np.bincount(codes, minlength=n_classes), 1)
    loads = np.zeros((folds, n_classes))
    found = np.empty(groups.size, dtype=np.intp)
    others = np.flatnonzero(~alone)
    if others.size:
        numbers = np.unique(groups[others], return_inverse=True)[1]
        counts = np.bincount(numbers * n_classes + codes[others], minlength=n_classes * (int(numbers.max()) + 1))
        shares = counts.reshape(-1, n_classes) * per_row
        found[others] = _folds_of_groups(shares, loads, rng)[numbers]
    for code in range(n_classes):
        mine = rng.permutation(np.flatnonzero(alone & (codes == code)))
        load = loads[:, code]
        room = np.maximum((load.sum() + mine.size * per_row[code]) / folds - load, 1e-9)
        ends = np.rint(np.cumsum(room) / room.sum() * mine.size).astype(np.intp)
        found[mine] = np.repeat(np.arange(folds), np.diff(ends, prepend=0))
    return found


def _folds_of_groups(
    shares: NDArray[np.float64], loads: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.intp]:
    """A fold for every group, given its share of every class; adds the shares to the loads of the folds."""
    found = np.empty(shares.shape[0], dtype=np.intp)
    shuffled = rng.permutation(shares.shape[0])
    by_size = shuffled[np.argsort(-shares[shuffled].sum(axis=1), kind="stable")]
    for group in by_size[:_LARGE_GROUPS]:
        unevenness = (loads * shares[group]).sum(axis=1)
        found[group] = np.argmin(unevenness)
        loads[found[group]] += shares[group]
    # Of the many others, each class's in turn, the larger ones first.
    others = by_size[_LARGE_GROUPS:]
    others = others[np.argsort(shares[others].argmax(axis=1), kind="stable")]
    found[others] = np.arange(others.size) % loads.shape[0]
    np.add.at(loads, found[others], shares[others])
    return found


def in_threads(work: Callable[[_S], _T], jobs: Sequence[_S], threads: int) -> list[_T]:
    """Return the work done for each job; compiled loops let other threads run."""
    if threads == 1 or len(jobs) == 1:
        return [work(job) for job in jobs]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, jobs))
