"""Rows in files: read window by window in bounded memory, resumable between any two windows.

Every pass over the windows is one step of a fit: a :class:`WindowJob` that takes windows one by one and is plain
data in between. A checkpoint holds the finished jobs with their results, and the current job. A resumed fit asks
the same questions again, gets the stored answers, and continues from there.
"""

from __future__ import annotations

import copy
import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..features.splines import Basis, BasisSettings
from ..measures import Measure
from ..streams import FileSurvey, Stream, Window
from ..transforms import Transform
from . import config
from .bases import INDICATORS, basis_of_rows, transform_by_sample
from .checkpoint import Checkpoint
from .memory import ArraySource
from .source import DataShape, Progress
from .targets import class_targets, rarest_against_the_rest, weights_of, with_weights_divided
from .windows import FirstPass, WindowTrainingRows


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
    """The classes of a stream, in order; there may be more than two."""

    classes: NDArray[Any]

    def targets(self, window: Window) -> NDArray[np.float32]:
        """Return the number of each row's class, and its weight."""
        assert window.labels is not None  # the survey has seen them
        codes = np.searchsorted(self.classes, window.labels)
        return class_targets(codes, np.ones(codes.size) if window.weights is None else window.weights)


class WindowSource:
    """Rows in a stream; the measure is for progress reports.

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
            X, targets = found.reservoir.sample()
            signed = rarest_against_the_rest(targets)
            other._basis = basis_of_rows(asked, X, signed, found.standardizer, found.rows, self.rng(3))
        return other

    def sample(self) -> ArraySource:
        X, targets = self._first_pass().reservoir.sample()
        targets = with_weights_divided(targets, weights_of(targets).mean())
        return ArraySource(X, targets, self.rng(4), n_classes=self.n_classes)

    @property
    def n_classes(self) -> int:
        return int(self._labels.classes.size)

    def statistics(self) -> DataShape:
        found, basis = self._first_pass(), self._basis
        width = found.standardizer.width
        coded_width = None if basis is None else basis.width
        return DataShape.of_rows(found.classes, width, coded_width, found.n_values, self._stream.sparse)

    def _first_pass(self) -> FirstPass:
        if self._asked == 0:
            asked = FirstPass(
                self.seed, self.n_classes, standardize=self._standardize, sample_rows=self._sample_rows
            )
            self._found: FirstPass = self.run(asked)
            if self.n_classes == 2 or not self._found.rows:
                require_weights(self._found.classes.weights)
        return self._found

    def transform(self, *, standardize: bool, whiten: bool) -> Transform:
        found = self._first_pass()
        X, targets = found.reservoir.sample()
        sample = X, weights_of(targets)
        return transform_by_sample(sample, found.standardizer, self._basis, self.rng(1), whiten=whiten)

    def transformed(
        self, transform: Transform, folds: int = 1, repeats: int = 1, row_limit: float | None = None
    ) -> WindowTrainingRows:
        return WindowTrainingRows(self, self._first_pass(), transform, folds, row_limit)

    def discard_checkpoint(self) -> None:
        """Remove the checkpoint of a fit that failed: the same fit would fail again."""
        if self._checkpoint is not None:
            self._checkpoint.discard()

    def rng(self, use: int) -> np.random.Generator:
        """Return a random generator for one use; a resumed fit gets the same one."""
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
        X, targets = self._weighted_rows(window)
        rates = state.job.take(X, targets, rng) if X.shape[0] else None
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

    def _weighted_rows(self, window: Window) -> tuple[Any, NDArray[Any]]:
        """Return the rows of a window and their targets; rows of weight 0 are left out, as in memory."""
        targets = self._labels.targets(window)
        if window.weights is None or (weighted := weights_of(targets) > 0).all():
            return window.X, targets
        return window.X[weighted], targets[weighted]

    def _orders(self) -> Iterator[tuple[np.random.Generator, int]]:
        """Yield, for every pass, the generator that orders its rows, and the number of processed windows."""
        number, skip = self._state.pass_number, self._state.windows_done
        while True:
            yield np.random.default_rng([self.seed, number]), skip
            number, skip = number + 1, 0


class _Work:
    """The content of a checkpoint: the finished jobs, the current job, and its progress."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.job: Any = None
        self.pass_number = self.windows_done = self.rows_done = 0


@contextmanager
def interrupts_held_back(wanted: bool) -> Iterator[Callable[[], bool]]:
    """Handle Ctrl-C between windows, when the fit can be saved; handle a second Ctrl-C at once."""
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


def require_weights(totals: Any) -> None:
    """Refuse rows in which one of two classes has no weight."""
    if min(totals) == 0:
        raise ValueError("All rows of one class have weight 0: a classifier needs rows of both classes.")
