"""Rows in memory as a source, and the folds they are split into."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..decisions.certify import points_of_groups
from ..decisions.cuts import effective_points
from ..decisions.intervals import ModelShift
from ..decisions.scores import Sensitive
from ..features.coded import CodedColumns
from ..features.splines import Basis, BasisSettings
from ..kernels import evenly_mixed_order, hash_rows
from ..measures import Measure
from ..solvers.base import Scores
from ..solvers.driver import Run
from ..solvers.state import LinearModel, RowTotals, class_totals, mean_model
from ..transforms import Standardizer, Transform, Whitener
from .bases import INDICATORS, basis_of_rows
from .folds import order_by_fold
from .rows import ArrayRows, Ranges
from .source import ALL_ROWS, DataShape, Progress, Runner, TrainingRows, model_shift
from .threads import in_threads

_LARGE_GROUPS = 1000  # that are placed one by one; smaller ones are dealt out in turn
_COMMON_SHARE = 0.01  # of all rows: copies of a row that are as many are spread over the folds

FoldRanges = tuple[Ranges, Ranges]


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
    splits : array of int, optional
        The folds, where they are given: a column for each, 1 for rows to learn from, -1 for validation rows.
    sensitive : Sensitive, optional
        The groups that bounds are about.
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
        splits: NDArray[np.int8] | None = None,
        sensitive: Sensitive | None = None,
        low_memory: bool = False,
        threads: int = 1,
        progress: Progress | None = None,
    ):
        self._X, self._signed_weights, self._rng = X, signed_weights, rng
        self.basis: Basis | None = None
        self._standardizer = standardizer
        self._groups, self._splits, self._sensitive = groups, splits, sensitive
        self._low_memory, self._threads, self._progress = low_memory, threads, progress

    def coded(self, asked: BasisSettings | Basis | None) -> ArraySource:
        """Return the same rows, coded in a basis of this kind, to be drawn in the same random order."""
        other = copy.copy(self)
        other._rng = copy.deepcopy(self._rng)
        if sparse.issparse(self._X):
            return other
        if asked is None and np.isnan(self._X).any():
            asked = INDICATORS
        if asked is not None:
            moments = self._standardizer or Standardizer(self._X.shape[1]).update_with_gaps(self._X)
            # A copy, so that a basis does not depend on those that were made before it.
            rng = copy.deepcopy(self._rng).spawn(1)[0]
            rows = int(self._X.shape[0])
            other.basis = basis_of_rows(asked, self._X, self._signed_weights, moments, rows, rng)
        return other

    def sample(self) -> ArraySource:
        """Return the rows that a basis is chosen by: all of them."""
        return self

    def statistics(self) -> DataShape:
        X, weights = self._X, self._signed_weights
        width = int(X.shape[1]) if self.basis is None else self.basis.width
        return DataShape(
            int(X.shape[0]),
            int((weights > 0).sum()),
            *class_totals(weights),
            effective_points(weights) if self._groups is None else points_of_groups(weights, self._groups),
            width,
            int(X.nnz if sparse.issparse(X) else X.shape[0] * width),
            bool(sparse.issparse(X)),
            None if self._groups is None else int(self._groups.max()) + 1,
            in_memory=True,
            given_folds=None if self._splits is None else int(self._splits.shape[1]),
            coded=self.basis is not None,
        )

    def transform(self, *, standardize: bool, whiten: bool) -> Transform:
        if self.basis is not None:
            return CodedColumns.of(self.basis, self._X, self._rng, whiten=whiten)
        standardizer = self._standardizer
        if standardizer is None or not standardize:
            standardizer = Standardizer(self._X.shape[1], active=standardize).update(self._X)
        return Whitener.of_rows(standardizer, self._X, self._rng) if whiten else standardizer

    def transformed(
        self, transform: Transform, folds: int = 1, repeats: int = 1, row_limit: float | None = None
    ) -> TrainingRows:
        given, roles = GivenFolds(self._groups), None
        if self._splits is not None and folds > 1:
            roles, part_of_row = parts_of_splits(self._splits)
            given = given._replace(fold_of_row=part_of_row)
        elif folds > 1:
            given = folds_of_rows(self._X, self._groups, self._signed_weights > 0, folds, self._rng)
        rows = self._stored(transform, given, folds if roles is None else roles.shape[0])
        common = None
        if given.common is not None:
            common = transform.transform(self._X, given.common, self.dtype)
        found = ArrayTrainingRows(
            rows, folds, repeats, row_limit, self._rng, self._threads, self._progress, common, roles
        )
        found.group_names = None if self._sensitive is None else self._sensitive.names
        return found

    def _stored(self, transform: Transform, given: GivenFolds, folds: int = 1) -> ArrayRows:
        """Return the rows, transformed and in random order."""
        return ArrayRows(
            self._X,
            self._signed_weights,
            transform,
            self._rng,
            groups=given.groups,
            sensitive=None if self._sensitive is None else self._sensitive.codes,
            fold_of_row=given.fold_of_row,
            n_folds=folds,
            low_memory=self._low_memory,
            threads=self._threads,
        )


class ArrayTrainingRows:
    """Rows in memory, split into folds; several times over where rows are few."""

    whole_steps = False
    group_names: NDArray[Any] | None = None
    """Of the groups that bounds are about."""

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
        roles: NDArray[np.int8] | None = None,
    ):
        weights, groups = rows.signed_weights, rows.groups
        if roles is not None:  # rows that are never validation rows say nothing about new rows
            held = np.repeat((roles < 0).any(axis=1), np.diff(rows.fold_ranges).reshape(-1))
            weights, groups = weights[held], None if groups is None else groups[held]
        self.points = effective_points(weights) if groups is None else points_of_groups(weights, groups)
        self._limited = row_limit is not None
        self.leverage = 1.0 if row_limit is None else rows.limit_rows(row_limit)
        self._folds, self.n_folds = folds, folds * repeats
        self.points_per_pass = rows.n_points
        self.frequent_rows = common
        self._frequent_places: list[NDArray[np.intp]] = []
        rng = rows.rng if rng is None else rng
        self._rows, self._rng, self._threads, self._progress = rows, rng, threads, progress
        self._training: list[ArrayRows] = []
        self._validation: list[ArrayRows] = []
        if folds == 1:
            self._training = self._validation = [rows]
            return
        if roles is not None:
            for learned, validating in ranges_of_folds(roles, rows.fold_ranges):
                self._training.append(_with_both_classes(rows.part(*learned)))
                self._validation.append(rows.part(*validating))
            return
        for repeat in range(repeats):
            split, ranges = in_folds(rows if repeat == 0 else rows.reshuffled(rng), folds, rng)
            for begin, end in ranges:
                self._training.append(_with_both_classes(split.part((0, begin), (end, rows.n_points))))
                self._validation.append(split.part((begin, end)))
        if common is not None and common.shape[0]:
            self._frequent_places = [rows.places_among(common) for rows in self._validation]

    def summary(self, fold: int) -> RowTotals:
        return self._training[fold].summary

    def train(self, runs: Sequence[tuple[int, Run]]) -> list[Run]:
        # Every run has its own random numbers, so the result is the same in any order.
        seeds = self._rng.spawn(len(runs)) if len(runs) > 1 or self._limited else [self._rng]

        def work(job: tuple[tuple[int, Run], np.random.Generator]) -> Run:
            (fold, run), rng = job
            rows = (self._rows if fold == ALL_ROWS else self._training[fold]).with_rng(rng)
            if run.algorithm.standardize_folds:
                rows, own = rows.standardized_apart()
                run.change_transform(own.transform_coef)
            Runner(run, fold, rows.summary).to_the_end(rows)
            if run.algorithm.standardize_folds:
                run.change_transform(own.inverse_coef)
            finished.append(run)
            self._report(len(finished), len(runs))
            return run

        finished: list[Run] = []
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
        self._give_frequent_rows_one_score(values, models)
        weights = [rows.signed_weights for rows in self._validation]
        return Scores(np.concatenate(values), np.concatenate(weights), folds=tuple(part.size for part in weights))

    def _give_frequent_rows_one_score(self, values: Sequence[NDArray[Any]], models: Sequence[LinearModel]) -> None:
        """Score copies of one row, wherever they lie, by the mean model of their draw of folds.

        The models of the folds differ a little on such a row, so that a cut could separate its copies. Its rates
        would then lie between those of two cuts that one model can make.
        """
        for first in range(0, len(self._frequent_places), self._folds):
            draw = slice(first, first + self._folds)
            mean = mean_model(models[draw])
            scores = np.asarray(self.frequent_rows @ mean.weights + mean.intercept)
            for mine, places in zip(values[draw], self._frequent_places[draw], strict=True):
                mine[places >= 0] = scores[places[places >= 0]]

    def threshold_scores(self, models: Sequence[LinearModel], measure: Measure) -> Scores:
        rows = [self._rows] if self.n_folds == 1 else self._validation
        return self.validation_scores(models)._replace(sensitive=self._sensitive_of(rows))

    def own_scores(self, model: LinearModel) -> Scores:
        rows = self._rows
        return Scores(rows.scores(*model), rows.signed_weights, sensitive=self._sensitive_of([rows]))

    def _sensitive_of(self, parts: Sequence[ArrayRows]) -> Sensitive | None:
        codes = [part.sensitive for part in parts if part.sensitive is not None]
        return None if self.group_names is None else Sensitive(np.concatenate(codes), self.group_names)

    def model_shift(self, model: LinearModel, of_folds: Sequence[LinearModel], threshold: float) -> ModelShift:
        return model_shift(self._validation, model, of_folds, threshold, self._folds, common=self.frequent_rows)


def _with_both_classes(rows: ArrayRows) -> ArrayRows:
    """Only groups and given folds can leave a fold without a class; other folds have their share of it."""
    if rows.signed_weights.min() >= 0 or rows.signed_weights.max() <= 0:
        missing = "negative" if rows.signed_weights.min() >= 0 else "positive"
        raise ValueError(
            f"With these groups or folds a fold leaves no row of the {missing} class to learn from. Give finer "
            "groups, or folds that stratify."
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
    """Return a fold for each row that keeps groups together; without groups, copies of a row.

    Scores of copies of training rows are too good. Rows that are equal by chance are not copies. Rows that are a
    hundredth of all or more are not copies either: new data will contain them too, and they are spread over the
    folds. If otherwise a class would be in one fold only, all rows may lie in any fold.
    """
    if groups is not None:
        return GivenFolds(groups, _fold_of_each_row(groups, codes.astype(np.intp), folds, rng))
    hashes = hash_rows(X)
    ordered = np.sort(hashes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not repeated.size:
        return GivenFolds()
    equal = _places_among(hashes, repeated)
    which = np.searchsorted(repeated, hashes[equal])
    _, first, counts = np.unique(which, return_index=True, return_counts=True)
    often = counts >= _COMMON_SHARE * codes.size + 1
    common = equal[first[often]][np.argsort(-counts[often], kind="stable")]
    copied = ~often & ~_equal_by_chance(X, equal[first], counts)
    if not copied.any():
        return GivenFolds(common=common)
    together = copied[which]  # the others are each on their own
    numbers = np.arange(codes.size) + repeated.size
    numbers[equal[together]] = which[together]
    found = _fold_of_each_row(numbers, codes.astype(np.intp), folds, rng)
    seen = np.zeros((int(codes.max()) + 1, folds), dtype=np.bool_)
    seen[codes.astype(np.intp), found] = True
    if (seen.sum(axis=1) == 1).any():  # a class in one fold alone
        return GivenFolds(common=common)
    return GivenFolds(numbers, found, common)


def _places_among(hashes: NDArray[np.uint64], values: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return the places, in order, of the hashes that are among some values."""
    some_bits = np.zeros(1 << 16, dtype=bool)  # sorts out most of the others, before the search
    some_bits[values & np.uint64(0xFFFF)] = True
    likely = np.flatnonzero(some_bits[hashes & np.uint64(0xFFFF)])
    return likely[np.isin(hashes[likely], values)]


def _equal_by_chance(X: Any, rows: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which of these rows, each of which occurs ``counts`` times, may be equal by chance.

    Where columns have few values, rows that are equal in all columns are a part of those that are equal in every
    second one. Copies are not: a row that agrees with them in half of the columns agrees in all. With one column
    this cannot be decided.
    """
    by_chance = np.ones(rows.size, dtype=np.bool_)
    for half in (X[:, ::2], X[:, 1::2]) if X.shape[1] > 1 else ():
        if not by_chance.any():
            break
        hashes = hash_rows(half)
        values, place = np.unique(hashes[rows], return_inverse=True)
        alike = np.searchsorted(values, hashes[_places_among(hashes, values)])
        by_chance &= np.bincount(alike, minlength=values.size)[place] > counts
    return by_chance


def in_folds(rows: ArrayRows, folds: int, rng: np.random.Generator) -> tuple[ArrayRows, Ranges]:
    """Return a range of rows per fold; if there are groups, of a copy in an order that keeps them together."""
    if rows.groups is None:
        return rows, equal_ranges(rows.n_points, folds)
    if len(rows.fold_ranges) == folds:
        return rows, rows.fold_ranges
    order, ranges = order_by_group(rows.groups, rows.signed_weights > 0, folds, rng, evenly_mixed_order)
    return rows.reordered(order, rng), ranges


def parts_of_splits(splits: Any) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
    """Return what the rows of each part are to each fold, and the part of each row."""
    roles, part_of_row = np.unique(splits, axis=0, return_inverse=True)
    return roles, part_of_row.reshape(-1)


def ranges_of_folds(roles: NDArray[np.int8], ranges: Ranges) -> list[FoldRanges]:
    """Return the ranges that each fold learns from, and those that validate it, where each part is a range."""
    return [
        (
            [ranges[k] for k, role in enumerate(fold) if role > 0],
            [ranges[k] for k, role in enumerate(fold) if role < 0],
        )
        for fold in roles.T.tolist()
    ]


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

    Groups of several rows are placed first, those with the largest share of a class before others. Each goes to
    the fold where it makes the folds least uneven. Single rows then fill the folds that have least of their class.
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
