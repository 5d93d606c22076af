"""Rows in memory as a source, and their split into folds."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..decisions.certify import points_of_groups
from ..decisions.class_offsets import ClassScores
from ..decisions.cuts import effective_points
from ..decisions.intervals import ModelShift
from ..decisions.scores import Sensitive
from ..features.coded import CodedColumns
from ..features.splines import Basis, BasisSettings
from ..measures import Measure
from ..solvers.base import Scores
from ..solvers.driver import Run
from ..solvers.state import LinearModel, LinearModels, class_totals, mean_model, mean_of_models
from ..transforms import Standardizer, Transform, Whitener
from .answers import Runner, model_shift
from .bases import INDICATORS, basis_of_rows
from .folds import (
    ALL_ROWS,
    GivenFolds,
    Ranges,
    equal_ranges,
    folds_of_rows,
    order_by_group,
    parts_of_splits,
    ranges_of_folds,
)
from .reservoir import Reservoir
from .rows import ArrayRows
from .source import ClassRows, DataShape, Progress, TrainingRows
from .targets import Targets, codes_of, rarest_against_the_rest, weights_of, with_weights_divided
from .threads import in_threads
from .together import train_together


class ArraySource:
    """Rows in memory.

    Parameters
    ----------
    X : array or CSR matrix
    targets : array
        The sample weight of each row, negative for a row of the negative class; their mean size is 1. With more
        than two classes, the targets that :func:`class_targets` returns. rng : numpy Generator standardizer :
        Standardizer, optional A standardizer that has already seen the rows. groups : array of int, optional Rows
        with the same number stay in one fold. splits : array of int, optional The user's folds: a column for each,
        1 for rows to learn from, -1 for validation rows. sensitive : Sensitive, optional The groups to which
        bounds apply. low_memory : bool Make no copy of the rows. threads : int How many runs are learned at once;
        the result does not depend on it. progress : function, optional Called when training begins and after every
        run.
    """

    dtype = np.dtype(np.float32)

    def __init__(
        self,
        X: Any,
        targets: Targets,
        rng: np.random.Generator,
        *,
        n_classes: int = 2,
        standardizer: Standardizer | None = None,
        groups: NDArray[np.intp] | None = None,
        splits: NDArray[np.int8] | None = None,
        sensitive: Sensitive | None = None,
        low_memory: bool = False,
        threads: int = 1,
        progress: Progress | None = None,
    ):
        self._X, self._targets, self._rng = X, targets, rng
        self._n_classes = n_classes
        self.basis: Basis | None = None
        self._standardizer = standardizer
        self._groups, self._splits, self._sensitive = groups, splits, sensitive
        self._low_memory, self._threads, self._progress = low_memory, threads, progress

    def coded(self, asked: BasisSettings | Basis | None) -> ArraySource:
        """Return the same rows, encoded in a basis of this kind; their random order will be the same."""
        other = copy.copy(self)
        other._rng = copy.deepcopy(self._rng)
        if sparse.issparse(self._X):
            return other
        if asked is None and np.isnan(self._X).any():
            asked = INDICATORS
        if asked is not None:
            moments = self._standardizer or Standardizer(self._X.shape[1]).update_with_gaps(self._X)
            # A copy, so that a basis does not depend on bases made before it.
            rng = copy.deepcopy(self._rng).spawn(1)[0]
            rows, signed = int(self._X.shape[0]), rarest_against_the_rest(self._targets)
            other.basis = basis_of_rows(asked, self._X, signed, moments, rows, rng)
        return other

    def sample(self) -> ArraySource:
        """Return the rows for the choice of a basis: all rows."""
        return self

    def thinned(self, rows: float) -> ArraySource:
        """Return at most this many rows, if possible equally many per class; classes keep their weights."""
        if self._X.shape[0] <= rows:
            return self
        kept = Reservoir(max(int(rows / self._n_classes), 1), copy.deepcopy(self._rng), self._n_classes)
        kept.add(self._X, self._targets)
        other = copy.copy(self)
        other._X, targets = kept.sample()
        other._targets = with_weights_divided(targets, weights_of(targets).mean())
        return other

    def statistics(self) -> DataShape:
        X, weights = self._X, rarest_against_the_rest(self._targets)
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
            low_memory=self._low_memory,
            given_folds=None if self._splits is None else int(self._splits.shape[1]),
            coded=self.basis is not None,
            of_classes=None if self._n_classes == 2 else ClassRows.of(self._targets, self._n_classes),
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
            given = folds_of_rows(self._X, self._groups, codes_of(self._targets), folds, self._rng)
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
            self._targets,
            transform,
            self._rng,
            n_classes=self._n_classes,
            groups=given.groups,
            sensitive=None if self._sensitive is None else self._sensitive.codes,
            fold_of_row=given.fold_of_row,
            n_folds=folds,
            low_memory=self._low_memory,
            threads=self._threads,
        )


class ArrayTrainingRows:
    """Rows in memory, split into folds; with few rows, the folds are drawn several times."""

    whole_steps = False
    group_names: NDArray[Any] | None = None
    """The names of the groups to which bounds apply."""

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
        weights, groups = rarest_against_the_rest(rows.targets), rows.groups
        if roles is not None:  # only validation rows show how a model scores new rows
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

    def training_rows(self, fold: int) -> ArrayRows:
        """Return the rows that a fold learns from."""
        return self._rows if fold == ALL_ROWS else self._training[fold]

    def summary(self, fold: int) -> Any:
        return self.training_rows(fold).summary

    def train(self, runs: Sequence[tuple[int, Run]]) -> list[Run]:
        if runs[0][1].algorithm.side_by_side:
            self._report(0, len(runs))
            train_together([(self.training_rows(fold), run) for fold, run in runs])
            self._report(len(runs), len(runs))
            return [run for _, run in runs]
        # Every run has its own random generator, so the result does not depend on the order of runs.
        seeds = self._rng.spawn(len(runs)) if len(runs) > 1 or self._limited else [self._rng]

        def work(job: tuple[tuple[int, Run], np.random.Generator]) -> Run:
            (fold, run), rng = job
            rows = self.training_rows(fold).with_rng(rng)
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

    def class_scores(self, models: Sequence[LinearModels]) -> ClassScores:
        parts = [rows.class_scores(model) for rows, model in zip(self._validation, models, strict=False)]
        if len(models) == self.n_folds:
            self._give_frequent_rows_one_score([one.scores for one in parts], models)
        return ClassScores(*(np.concatenate(every) for every in zip(*parts, strict=True)))

    def validation_scores(self, models: Sequence[LinearModel]) -> Scores:
        if self.n_folds == 1:
            return self.own_scores(models[0])
        values = [rows.scores(*model) for rows, model in zip(self._validation, models, strict=True)]
        self._give_frequent_rows_one_score(values, models)
        weights = [rows.signed_weights for rows in self._validation]
        return Scores(np.concatenate(values), np.concatenate(weights), folds=tuple(part.size for part in weights))

    def _give_frequent_rows_one_score(self, values: Sequence[NDArray[Any]], models: Sequence[Any]) -> None:
        """Score copies of one row, in any fold, by the mean model of their draw of folds.

        The models of the folds differ a little on such a row, so that a threshold could separate its copies. The
        rates would then lie between those of two thresholds of one model.
        """
        for first in range(0, len(self._frequent_places), self._folds):
            draw = slice(first, first + self._folds)
            weights, intercept = (mean_model if self._rows.n_classes == 2 else mean_of_models)(models[draw])
            scores = np.asarray(self.frequent_rows @ weights.T + intercept)
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
    """Raise an error if a class is missing: only groups and given folds can leave a fold without a class."""
    if rows.n_classes > 2:  # a model never predicts a class that it has not seen
        return rows
    if rows.signed_weights.min() >= 0 or rows.signed_weights.max() <= 0:
        missing = "negative" if rows.signed_weights.min() >= 0 else "positive"
        raise ValueError(
            f"With these groups or folds a fold leaves no row of the {missing} class to learn from. Give finer "
            "groups, or folds that stratify."
        )
    return rows


def in_folds(rows: ArrayRows, folds: int, rng: np.random.Generator) -> tuple[ArrayRows, Ranges]:
    """Return rows and a range of them per fold; with groups, a copy of the rows in an order that keeps groups
    together.
    """
    if rows.groups is None:
        return rows, equal_ranges(rows.n_points, folds)
    if len(rows.fold_ranges) == folds:
        return rows, rows.fold_ranges
    order, ranges = order_by_group(rows.groups, rows.targets, folds, rng)
    return rows.reordered(order, rng), ranges
