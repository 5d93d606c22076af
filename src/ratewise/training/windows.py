"""Passes over the windows of a stream: they take statistics, then learn, then count scores.

Every such step of a fit is a :class:`WindowJob`. It takes windows one by one and is plain data in between.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import kernels
from .._input_checks import warn_of_far_columns
from ..decisions.class_offsets import ClassScores
from ..decisions.cuts import ScoreBins, effective_points
from ..decisions.intervals import ModelShift
from ..features.splines import Basis
from ..measures import Measure, Rates
from ..solvers.base import Scores
from ..solvers.driver import Run
from ..solvers.state import ClassTotals, LinearModel, LinearModels, RowTotals
from ..transforms import Standardizer, Transform
from . import config
from .answers import Runner, model_shift
from .folds import ALL_ROWS
from .reservoir import Reservoir
from .rows import ArrayRows
from .source import ClassRows
from .targets import Targets, weights_of, with_weights_divided

if TYPE_CHECKING:
    from .files import WindowSource

# Threads that transform the rows of a window, while another thread reads. This keeps two cores busy.
_THREADS = min(os.cpu_count() or 1, 2)


class WindowJob(ABC):
    """One or more passes over the windows, and their result."""

    stage: str

    @abstractmethod
    def take(self, X: Any, targets: Targets, rng: np.random.Generator) -> Rates | None:
        """Take one window; return the rates on its rows if the job learns from them."""

    @abstractmethod
    def end_pass(self) -> bool:
        """End a pass, after all its windows; return whether another pass is needed."""

    def resume(self, fresh: Any) -> None:  # noqa: B027 - most jobs are whole in a checkpoint
        """Copy from the newly made job what a checkpoint does not contain."""


class FirstPass(WindowJob):
    """The first pass: column statistics, class counts, and a fair sample of each class to evaluate models."""

    stage = "statistics"

    def __init__(self, seed: int, n_classes: int, *, standardize: bool, sample_rows: float):
        self._seed, self._standardize, self._sample_rows = seed, standardize, sample_rows
        self.rows = self.n_values = 0
        self.classes = ClassRows(*np.zeros((3, n_classes)))
        self.standardizer: Standardizer
        self.reservoir: Reservoir

    def take(self, X: Any, targets: Targets, rng: np.random.Generator) -> None:
        n_classes = self.classes.rows.size
        if not self.rows:
            self.standardizer = Standardizer(X.shape[1], active=self._standardize)
            rng = np.random.default_rng([self._seed, 2**31])
            self.reservoir = Reservoir.for_rows(X, rng, self._sample_rows, n_classes=n_classes)
        self.standardizer.update_with_gaps(X).require_scalable(X)
        self.rows += X.shape[0]
        self.n_values += int(X.nnz if sparse.issparse(X) else X.size)
        self.reservoir.add(X, targets)
        for totals, more in zip(self.classes, ClassRows.of(targets, n_classes), strict=True):
            totals += more

    def end_pass(self) -> bool:
        return False

    @property
    def mean_weight(self) -> float:
        return float(self.classes.weights.sum()) / self.rows


class WindowTrainingRows:
    """Windows of a stream, transformed one by one; the bits of a row determine its fold."""

    whole_steps = False
    frequent_rows = None

    def __init__(
        self,
        source: WindowSource,
        found: FirstPass,
        transform: Transform,
        folds: int,
        row_limit: float | None,
    ):
        X, targets = found.reservoir.sample()
        warn_of_far_columns(X)
        fold_of_row = kernels.fold_of_each_row(X, folds)
        if not both_classes_in_all(fold_of_row, targets, folds):
            folds, fold_of_row = 1, np.zeros(len(targets), dtype=np.uint64)
        self.n_folds = folds
        self.points = found.classes.points
        self.points_per_pass = found.rows
        self._source, self._found, self._row_limit = source, found, row_limit
        self.transform = transform
        self._sample = self._array_rows(X, targets, source.rng(2), fold_of_row, folds)
        self._samples = [self._sample.without_fold(fold) for fold in range(folds)]
        shares = weights_of(self._sample.targets)
        self._squared_row = float(np.average(kernels.square_rows(self._sample.X), weights=shares))
        self.leverage = self._squared_row + self._sample.summary.entry_square

    def _array_rows(
        self, X: Any, targets: Targets, rng: np.random.Generator, fold_of_row: Any, folds: int, threads: int = 1
    ) -> ArrayRows:
        n_classes = self._source.n_classes
        return ArrayRows(
            X,
            targets,
            self.transform,
            rng,
            n_classes=n_classes,
            fold_of_row=fold_of_row,
            n_folds=folds,
            threads=threads,
        )

    def training_sample(self, fold: int) -> ArrayRows:
        """Return the rows of the sample that are not in this fold."""
        return self._sample if fold == ALL_ROWS else self._samples[fold]

    def summary(self, fold: int) -> Any:
        found, folds = self._found, self.n_folds
        points = found.rows if folds == 1 or fold == ALL_ROWS else max(found.rows * (folds - 1) // folds, 1)
        sizes = self._squared_row * points, self._sample.summary.entry_square
        weights = (found.classes.weights / found.mean_weight).tolist()
        if len(weights) > 2:
            return ClassTotals(points, tuple(weights), *sizes)
        negative, positive = weights
        return RowTotals(points, positive, negative, *sizes)

    def train(self, runs: Sequence[tuple[int, Run]]) -> list[Run]:
        runners = [Runner(run, fold, self.summary(fold)) for fold, run in runs]
        trained: _Training = self._source.run(_Training(runners, self))
        return [runner.run for runner in trained.runners]

    def rows_of(self, X: Any, targets: Targets, rng: np.random.Generator) -> ArrayRows:
        """Return the rows of a window, transformed."""
        targets = np.asarray(with_weights_divided(targets, self._found.mean_weight), dtype=np.float32)
        fold_of_row = kernels.fold_of_each_row(X, self.n_folds)
        rows = self._array_rows(X, targets, rng, fold_of_row, self.n_folds, _THREADS)
        if self._row_limit is not None:
            rows.limit_rows(self._row_limit, self.leverage)
        return rows

    def class_scores(self, models: Sequence[LinearModels]) -> ClassScores:
        parts = [self._sample.fold(k).class_scores(model) for k, model in enumerate(models)]
        return ClassScores(*(np.concatenate(every) for every in zip(*parts, strict=True)))

    def validation_scores(self, models: Sequence[LinearModel]) -> Scores:
        parts = [(self._sample.fold(k), model) for k, model in enumerate(models)]
        values = np.concatenate([rows.scores(*model) for rows, model in parts])
        folds = tuple(rows.n_points for rows, _ in parts)
        return Scores(values, np.concatenate([rows.signed_weights for rows, _ in parts]), folds=folds)

    def threshold_scores(self, models: Sequence[LinearModel], measure: Measure) -> Scores:
        """Count the scores of all rows in one more pass."""
        sample = self.validation_scores(models)
        if not sample.finite:
            return sample
        shares = np.abs(sample.signed_weights, dtype=np.float64)
        mean = float(np.average(sample.values, weights=shares))
        deviation = float(np.sqrt(np.average((sample.values - mean) ** 2, weights=shares)))
        bins = ScoreBins.around(mean, deviation, config.TAIL_REACH).with_an_edge_at_zero()
        models = [LinearModel(*self.transform.inverse_coef(*model)) for model in models]
        basis = getattr(self.transform, "basis", None)
        counted: _Counting = self._source.run(_Counting(models, self._found.standardizer, bins, basis))
        return Scores(*bins.as_scores(counted.weights / self._found.mean_weight), self._found.classes.points)

    def own_scores(self, model: LinearModel) -> Scores:
        return Scores(self._sample.scores(*model), self._sample.signed_weights)

    def model_shift(self, model: LinearModel, of_folds: Sequence[LinearModel], threshold: float) -> ModelShift:
        parts = [self._sample.fold(k) for k in range(self.n_folds)]
        sampled = effective_points(self._sample.signed_weights)
        of_positives, of_negatives = (
            max(one / max(mine, 1.0), 1.0) for one, mine in zip(self._found.classes.points, sampled, strict=True)
        )
        return model_shift(parts, model, of_folds, threshold, self.n_folds, (of_positives, of_negatives))


class _Training(WindowJob):
    """Training runs in lockstep: all of them learn from every window."""

    stage = "learning"

    def __init__(self, runners: list[Runner], rows: WindowTrainingRows):
        self.runners = runners
        self._rows: WindowTrainingRows | None = rows

    def resume(self, fresh: _Training) -> None:
        self._rows = fresh._rows

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_rows": None}

    def take(self, X: Any, targets: Targets, rng: np.random.Generator) -> Rates | None:
        assert self._rows is not None
        rows = self._rows.rows_of(X, targets, rng)
        for runner, own_rng in zip(self.runners, rng.spawn(len(self.runners)), strict=True):
            mine = rows.without_fold(runner.fold)
            if mine.n_points and not runner.run.finished:
                runner.feed(mine.with_rng(own_rng), self._rows.training_sample(runner.fold))
        rates: Rates = self.runners[0].run.progressive_rates()
        return rates

    def end_pass(self) -> bool:
        assert self._rows is not None
        for runner in self.runners:
            runner.end_pass(self._rows.training_sample(runner.fold))
        return not all(runner.run.finished for runner in self.runners)


class _Counting(WindowJob):
    """The scores of all rows, each by the model of its fold, counted in bins."""

    stage = "threshold"

    def __init__(
        self, models: list[LinearModel], standardizer: Standardizer, bins: ScoreBins, basis: Basis | None = None
    ):
        self._bins, self._basis = bins, basis
        self.weights = bins.empty()
        # The centre must be subtracted from the rows: folded into the intercept it would cost digits in float32.
        scaled = [(basis or standardizer).transform_coef(*model) for model in models]
        scale = standardizer.scale if basis is None else 1.0
        self._factors = np.array([weights / scale for weights, _ in scaled], dtype=np.float32)
        self._intercepts = np.array([intercept for _, intercept in scaled], dtype=np.float32)
        self._centre = standardizer.centre

    def take(self, X: Any, signed_weights: NDArray[Any], rng: np.random.Generator) -> None:
        scores = self._scores(X)
        folds = kernels.fold_of_each_row(X, len(scores))
        own = scores[0] if len(scores) == 1 else scores[folds.astype(np.intp), np.arange(X.shape[0])]
        self._bins.add(np.ascontiguousarray(own), np.asarray(signed_weights, dtype=np.float32), self.weights)

    def _scores(self, X: Any) -> NDArray[np.float32]:
        """Return one row of scores per model."""
        if self._basis is not None:
            return np.asarray(self._basis.code(X) @ self._factors.T).T + self._intercepts[:, np.newaxis]
        if sparse.issparse(X):
            return np.asarray(X @ self._factors.T).T + self._intercepts[:, np.newaxis]
        scores = np.empty((self._factors.shape[0], X.shape[0]), dtype=np.float32)
        centre = self._centre.astype(X.dtype)
        kernels.score_rows(np.ascontiguousarray(X), centre, self._factors, self._intercepts, scores)
        return scores

    def end_pass(self) -> bool:
        return False


def both_classes_in_all(fold_of_row: NDArray[Any], targets: Targets, folds: int) -> bool:
    """Return whether all folds have both classes, if there are two.

    Equal rows are in one fold, and all rows of a class may be equal.
    """
    if targets.ndim > 1:
        return True
    return all(np.unique(np.sign(targets[fold_of_row == fold])).size == 2 for fold in range(folds))
