"""Rows in files: read window by window in bounded memory, resumable between any two windows.

Every pass over the windows is one step of a fit: a :class:`WindowJob` that takes windows one by one and is plain
data in between. The jobs that are done, with what they found, and the one at work are all that a checkpoint holds;
a resumed fit asks the same questions again, gets the stored answers, and continues from there.
"""

from __future__ import annotations

import copy
import math
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import kernels
from .._input_checks import warn_of_far_columns
from ..counts import effective_points as equal_rows
from ..decisions.cuts import ScoreBins, effective_points
from ..decisions.intervals import ModelShift
from ..features.splines import Basis, BasisSettings
from ..measures import Measure, Rates
from ..solvers.base import Scores
from ..solvers.driver import Run
from ..solvers.state import LinearModel, RowTotals
from ..streams import FileSurvey, Stream, Window
from ..transforms import Standardizer, Transform
from . import config
from .bases import INDICATORS, basis_of_rows, transform_by_sample
from .checkpoint import Checkpoint
from .memory import ArraySource
from .reservoir import Reservoir
from .rows import ArrayRows
from .source import DataShape, Progress, Runner, model_shift

# To transform the rows of a window. One thread reads meanwhile: on two cores, more threads leave neither idle.
_THREADS = min(os.cpu_count() or 1, 2)


class StreamLabels(NamedTuple):
    """The two classes of a stream, and which is positive."""

    classes: NDArray[Any]
    positive: Any

    def targets(self, window: Window) -> NDArray[Any]:
        """Return the weight of each row, negative for a row of the negative class."""
        assert window.labels is not None  # the survey has seen them
        signs = np.where(window.labels == self.positive, np.float32(1.0), np.float32(-1.0))
        return signs if window.weights is None else signs * window.weights


class ClassLabels(NamedTuple):
    """The classes of a stream, in order, of which there may be many."""

    classes: NDArray[Any]

    def targets(self, window: Window) -> NDArray[np.float32]:
        """Return the number of each row's class, and its weight."""
        assert window.labels is not None  # the survey has seen them
        codes = np.searchsorted(self.classes, window.labels)
        weights = np.ones(codes.size) if window.weights is None else window.weights
        return np.stack([codes, weights], axis=1).astype(np.float32)


class WindowJob(ABC):
    """One or more passes over the windows, and their result."""

    stage: str

    @abstractmethod
    def take(self, X: Any, signed_weights: NDArray[Any], rng: np.random.Generator) -> Rates | None:
        """Take one window; returns the rates on its rows where they were learned from."""

    @abstractmethod
    def end_pass(self) -> bool:
        """End a pass, after all its windows; return whether another pass is needed."""

    def resume(self, fresh: Any) -> None:  # noqa: B027 - most jobs are whole in a checkpoint
        """Take from the newly made job what a checkpoint does not contain."""


class WindowSource:
    """Rows of two classes in a stream; the measure is for progress reports.

    Models are evaluated on a sample of each class, of at most ``sample_rows``.
    """

    dtype = np.dtype(np.float32)

    def __init__(
        self,
        stream: Stream,
        survey: FileSurvey,
        labels: StreamLabels | ClassLabels,
        measure: Measure,
        seed: int,
        *,
        standardize: bool = True,
        sample_rows: float = math.inf,
        checkpoint: Checkpoint | None = None,
        checkpoint_rows: int | None = None,
        progress: Progress | None = None,
    ):
        self._stream, self._survey, self._labels, self._measure = stream, survey, labels, measure
        self.seed = seed
        self._standardize, self._sample_rows = standardize, sample_rows
        self._basis: Basis | None = None
        self._checkpoint, self._progress = checkpoint, progress
        self._checkpoint_rows = config.CHECKPOINT_ROWS if checkpoint_rows is None else checkpoint_rows
        kept = checkpoint.load() if checkpoint is not None else None
        self._state: _Work = kept or _Work()
        self._asked = 0

    def coded(self, asked: BasisSettings | Basis | None) -> WindowSource:
        found = self._first_pass()
        other = copy.copy(self)
        if asked is None and found.standardizer.missing is not None:
            asked = INDICATORS
        if asked is not None and not self._stream.sparse:
            sample = found.reservoir.sample()
            other._basis = basis_of_rows(asked, *sample, found.standardizer, found.rows, self.rng(3))
        return other

    def sample(self) -> ArraySource:
        X, weights = self._first_pass().reservoir.sample()
        return ArraySource(X, weights / np.abs(weights).mean(), self.rng(4))

    def statistics(self) -> DataShape:
        found = self._first_pass()
        positive, negative = found.weight[0] / found.mean_weight, found.weight[1] / found.mean_weight
        return DataShape(
            found.rows,
            found.positive_rows,
            positive,
            negative,
            found.points,
            found.standardizer.width if self._basis is None else self._basis.width,
            found.n_values if self._basis is None else found.rows * self._basis.width,
            self._stream.sparse,
            coded=self._basis is not None,
        )

    def _first_pass(self) -> TwoClassPass:
        if self._asked == 0:
            asked = TwoClassPass(self.seed, standardize=self._standardize, sample_rows=self._sample_rows)
            self._found: TwoClassPass = self.run(asked)
            require_weights(self._found.weight)
        return self._found

    def transform(self, *, standardize: bool, whiten: bool) -> Transform:
        found = self._first_pass()
        sample = found.reservoir.sample()
        return transform_by_sample(sample, found.standardizer, self._basis, self.rng(1), whiten=whiten)

    def transformed(
        self, transform: Transform, folds: int = 1, repeats: int = 1, row_limit: float | None = None
    ) -> WindowTrainingRows:
        return WindowTrainingRows(self, self._first_pass(), transform, folds, row_limit)

    def discard_checkpoint(self) -> None:
        """Forget the work of a fit that failed: the same fit would fail again."""
        if self._checkpoint is not None:
            self._checkpoint.discard()

    def rng(self, use: int) -> np.random.Generator:
        """Return random numbers for one use, the same in a resumed fit."""
        return np.random.default_rng([self.seed, 2**31 + use])

    def run(self, job: Any) -> Any:
        """Run a job to its end, or return the finished one that a checkpoint holds."""
        state = self._state
        self._asked += 1
        if self._asked <= len(state.done):
            return state.done[self._asked - 1]
        if state.job is None:
            state.job = job
        else:
            state.job.resume(job)
        self._pass_over_windows(state)
        return state.done[-1]

    def _pass_over_windows(self, state: _Work) -> None:
        kept, since = self._checkpoint, 0
        with (
            interrupts_held_back(kept is not None) as interrupted,
            self._stream.passes(self._orders()) as windows,
        ):
            for window in windows:
                ended = False
                if window is None:
                    state.windows_done = state.rows_done = 0
                    state.pass_number += 1
                    ended = not state.job.end_pass()
                    if ended:  # before it is saved: a resumed fit must not begin the job again
                        state.done.append(state.job)
                        state.job = None
                    due = True
                else:
                    since += self._take(window, state)
                    due = since >= self._checkpoint_rows
                if kept is not None and (due or interrupted()):
                    kept.save(state)
                    since = 0
                if interrupted():
                    raise KeyboardInterrupt
                if ended:
                    return

    def _take(self, window: Window, state: _Work) -> int:
        state.windows_done += 1
        state.rows_done += window.X.shape[0]
        rng = np.random.default_rng([self.seed, state.pass_number, state.windows_done])
        rates = state.job.take(window.X, self._labels.targets(window), rng)
        if self._progress is not None:
            report: dict[str, Any] = {
                "stage": f"{state.job.stage}, pass {state.pass_number + 1}",
                "done_rows": state.rows_done,
                "total_rows": self._survey.rows,
            }
            if rates is not None:
                report |= {"tpr": rates.tpr, "tnr": rates.tnr, "value": float(self._measure.value(*rates))}
            self._progress(report)
        return int(window.X.shape[0])

    def _orders(self) -> Iterator[tuple[np.random.Generator, int]]:
        """Yield, for every pass, what orders its rows, and how many of its windows have been processed already."""
        number, skip = self._state.pass_number, self._state.windows_done
        while True:
            yield np.random.default_rng([self.seed, number]), skip
            number, skip = number + 1, 0


class _Work:
    """What a checkpoint holds: the jobs that are done, the one at work, and how far it has come."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.job: Any = None
        self.pass_number = self.windows_done = self.rows_done = 0


class FirstPass(WindowJob):
    """Column statistics, and a fair sample of each class to evaluate models with; subclasses count the classes."""

    stage = "statistics"

    def __init__(self, seed: int, *, standardize: bool, sample_rows: float, n_classes: int = 2):
        self._seed, self._standardize = seed, standardize
        self._sample_rows, self._n_classes = sample_rows, n_classes
        self.rows = self.n_values = 0
        self.standardizer: Standardizer
        self.reservoir: Reservoir

    def take(self, X: Any, targets: NDArray[Any], rng: np.random.Generator) -> None:
        if not self.rows:
            self.standardizer = Standardizer(X.shape[1], active=self._standardize)
            rng = np.random.default_rng([self._seed, 2**31])
            self.reservoir = Reservoir.for_rows(X, rng, self._sample_rows, n_classes=self._n_classes)
        self.standardizer.update_with_gaps(X).require_scalable(X)
        self.rows += X.shape[0]
        self.n_values += int(X.nnz if sparse.issparse(X) else X.size)
        self.count(X, targets)

    @abstractmethod
    def count(self, X: Any, targets: NDArray[Any]) -> None:
        """Count the rows of each class, and offer them to the sample."""

    def end_pass(self) -> bool:
        return False


class TwoClassPass(FirstPass):
    """The first pass over rows of two classes."""

    def __init__(self, seed: int, *, standardize: bool, sample_rows: float):
        super().__init__(seed, standardize=standardize, sample_rows=sample_rows)
        self.positive_rows = 0
        self.weight, self.squares = [0.0, 0.0], [0.0, 0.0]

    @property
    def mean_weight(self) -> float:
        return sum(self.weight) / self.rows

    @property
    def points(self) -> tuple[float, float]:
        """Effective points of both classes."""
        positive, negative = (equal_rows(*one) for one in zip(self.weight, self.squares, strict=True))
        return positive, negative

    def count(self, X: Any, targets: NDArray[Any]) -> None:
        self.reservoir.add(X, targets)
        self.positive_rows += int(np.count_nonzero(targets > 0))
        for side, weight in enumerate(kernels.weight_moments(targets)):
            (self.weight if side < 2 else self.squares)[side % 2] += weight


class WindowTrainingRows:
    """Windows of a stream, transformed as they come; a row's own bits say which fold it belongs to."""

    whole_steps = False
    frequent_rows = None

    def __init__(
        self,
        source: WindowSource,
        found: TwoClassPass,
        transform: Transform,
        folds: int,
        row_limit: float | None,
    ):
        X, weights = found.reservoir.sample()
        warn_of_far_columns(X)
        fold_of_row = kernels.fold_of_each_row(X, folds)
        if not both_classes_in_all(fold_of_row, weights, folds):
            folds, fold_of_row = 1, np.zeros(weights.size, dtype=np.uint64)
        self.n_folds = folds
        self.points = found.points
        self.points_per_pass = found.rows
        self._source, self._found, self._row_limit = source, found, row_limit
        self.transform = transform
        self._sample = ArrayRows(X, weights, transform, source.rng(2), fold_of_row=fold_of_row, n_folds=folds)
        self.training_samples = [self._sample.without_fold(fold) for fold in range(folds)]
        shares = np.abs(self._sample.signed_weights)
        self._squared_row = float(np.average(kernels.square_rows(self._sample.X), weights=shares))
        self.leverage = self._squared_row + self._sample.summary.entry_square

    def summary(self, fold: int) -> RowTotals:
        found, folds = self._found, self.n_folds
        points = found.rows if folds == 1 else max(found.rows * (folds - 1) // folds, 1)
        positive, negative = (weight / found.mean_weight for weight in found.weight)
        entry_square = self._sample.summary.entry_square
        return RowTotals(points, positive, negative, self._squared_row * points, entry_square)

    def train(self, runs: Sequence[tuple[int, Run]]) -> list[Run]:
        runners = [Runner(run, fold, self.summary(fold)) for fold, run in runs]
        trained: _Training = self._source.run(_Training(runners, self))
        return [runner.run for runner in trained.runners]

    def rows_of(self, X: Any, signed_weights: NDArray[Any], rng: np.random.Generator) -> ArrayRows:
        """Return the rows of a window, transformed."""
        weights = np.asarray(signed_weights / self._found.mean_weight, dtype=np.float32)
        fold_of_row = kernels.fold_of_each_row(X, self.n_folds)
        rows = ArrayRows(
            X, weights, self.transform, rng, fold_of_row=fold_of_row, n_folds=self.n_folds, threads=_THREADS
        )
        if self._row_limit is not None:
            rows.limit_rows(self._row_limit, self.leverage)
        return rows

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
        return Scores(*bins.as_scores(counted.weights / self._found.mean_weight), self._found.points)

    def own_scores(self, model: LinearModel) -> Scores:
        return Scores(self._sample.scores(*model), self._sample.signed_weights)

    def model_shift(self, model: LinearModel, of_folds: Sequence[LinearModel], threshold: float) -> ModelShift:
        parts = [self._sample.fold(k) for k in range(self.n_folds)]
        sampled = effective_points(self._sample.signed_weights)
        of_positives, of_negatives = (
            max(one / max(mine, 1.0), 1.0) for one, mine in zip(self._found.points, sampled, strict=True)
        )
        return model_shift(parts, model, of_folds, threshold, self.n_folds, (of_positives, of_negatives))


class _Training(WindowJob):
    """Training runs in lockstep: every window teaches all of them."""

    stage = "learning"

    def __init__(self, runners: list[Runner], rows: WindowTrainingRows):
        self.runners = runners
        self._rows: WindowTrainingRows | None = rows

    def resume(self, fresh: _Training) -> None:
        self._rows = fresh._rows

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_rows": None}

    def take(self, X: Any, signed_weights: NDArray[Any], rng: np.random.Generator) -> Rates | None:
        assert self._rows is not None
        rows = self._rows.rows_of(X, signed_weights, rng)
        for runner, own_rng in zip(self.runners, rng.spawn(len(self.runners)), strict=True):
            mine = rows.without_fold(runner.fold)
            if mine.n_points and not runner.run.finished:
                runner.feed(mine.with_rng(own_rng), self._rows.training_samples[runner.fold])
        return self.runners[0].run.progressive_rates()

    def end_pass(self) -> bool:
        assert self._rows is not None
        for runner in self.runners:
            runner.end_pass(self._rows.training_samples[runner.fold])
        return not all(runner.run.finished for runner in self.runners)


class _Counting(WindowJob):
    """The scores of all rows, each under the model of its fold, counted in bins."""

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


def both_classes_in_all(fold_of_row: NDArray[Any], weights: NDArray[Any], folds: int) -> bool:
    """Return whether all parts have both classes: equal rows, perhaps all of a class, are in one fold."""
    return all(np.unique(np.sign(weights[fold_of_row == fold])).size == 2 for fold in range(folds))


@contextmanager
def interrupts_held_back(wanted: bool) -> Iterator[Callable[[], bool]]:
    """Handle Ctrl-C between windows, when what was learned can be saved; handle a second one at once."""
    pressed = False

    def press(number: int, frame: Any) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    if not wanted or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def require_weights(totals: Sequence[float]) -> None:
    """Refuse rows in which one class has no weight."""
    if min(totals) == 0:
        raise ValueError("All rows of one class have weight 0: a classifier needs rows of both classes.")
