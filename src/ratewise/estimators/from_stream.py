"""Fitting a MeasureClassifier to a stream of windows."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..measures import Rates
from ..solvers import MANY_ROWS, History, StreamFit, StreamPlan, StreamResult
from ..streams import DataError, Reservoir, Stream, Survey, Window
from .checkpoint import Checkpoint
from .labels import positive_label
from .settings import Settings
from .two_classes import WHITENED_COLUMNS, WHITENED_ROWS

Progress = Callable[[dict[str, Any]], object]
_SAMPLE_BYTES = 1 << 25
_CHECKPOINT_ROWS = 20_000_000


class Labels(NamedTuple):
    """The two classes of a stream, and which is positive."""

    classes: NDArray[Any]
    positive: Any

    @classmethod
    def of(cls, survey: Survey, pos_label: Any) -> Labels:
        if len(survey.label_counts) != 2:
            raise DataError("There are no labels to learn from: name their column, open_stream(..., target=...).")
        classes = np.array(sorted(survey.label_counts))
        return cls(classes, positive_label(classes, pos_label))

    def signed_weights(self, window: Window) -> NDArray[Any]:
        assert window.labels is not None  # the survey has seen them
        signs = np.where(window.labels == self.positive, np.float32(1.0), np.float32(-1.0))
        return signs if window.weights is None else signs * window.weights


def learn_from(
    stream: Stream,
    survey: Survey,
    labels: Labels,
    plan: StreamPlan,
    history: History,
    *,
    checkpoint: Any,
    checkpoint_every: int | None,
    progress: Progress | None,
) -> tuple[StreamResult, History]:
    """Pass after pass over the windows of a stream; goes on from a checkpoint of the same fit, if there is one."""
    state = StreamFit(plan, history)
    kept = None
    if checkpoint is not None:
        rows = {"rows": survey.rows, "labels": survey.label_counts, "columns": stream.feature_names}
        rows["window_rows"] = getattr(stream, "window_rows", None)  # windows are counted, to be skipped
        kept = Checkpoint(checkpoint, vars(plan) | rows)
        state = kept.load() or state
    every = _CHECKPOINT_ROWS if checkpoint_every is None else checkpoint_every
    _run(state, stream, labels, survey.rows, kept, every, progress)
    assert state.result is not None
    return state.result, state.history


def _run(
    state: StreamFit,
    stream: Stream,
    labels: Labels,
    rows: int,
    kept: Checkpoint | None,
    every: int,
    progress: Progress | None,
) -> None:
    since = 0
    with _interrupts_held_back(kept is not None) as interrupted, stream.passes(state.orders()) as windows:
        for window in windows:
            if window is None:
                state.end_pass()
                due = state.result is None
            else:
                rates = state.take(window.X, labels.signed_weights(window))
                since += window.X.shape[0]
                due = since >= every
                if progress is not None:
                    progress(_told(state, rows, rates))
            if kept is not None and (due or interrupted()):
                kept.save(state)
                since = 0
            if interrupted():
                raise KeyboardInterrupt
            if state.result is not None:
                return


def _told(state: StreamFit, rows: int, rates: Rates | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "stage": f"{state.phase}, pass {state.pass_number + 1}",
        "done_rows": state.rows_done,
        "total_rows": rows,
    }
    if rates is not None:
        told |= {"tpr": rates.tpr, "tnr": rates.tnr, "value": float(state.plan.measure.value(*rates))}
    return told


@contextmanager
def _interrupts_held_back(wanted: bool) -> Iterator[Callable[[], bool]]:
    """Ctrl-C is heard between windows, when what has been learned can be kept; a second one at once."""
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


def to_be_held_in_memory(stream: Stream, survey: Survey, settings: Settings) -> bool:
    """Whether a fit needs all rows at once, or is better off with them."""
    if not settings.solver.streaming:
        return True
    return settings.sharpen is not None and survey.rows < MANY_ROWS and fits_in_memory(stream, survey)


def fits_in_memory(stream: Stream, survey: Survey) -> bool:
    """Whether all rows are no more than the sample that a fit from a stream keeps anyway."""
    return not stream.sparse and survey.rows * len(stream.feature_names) * 4 <= _SAMPLE_BYTES


def stream_plan(settings: Settings, passes: Any, seed: int) -> StreamPlan:
    """What a fit to windows is asked to do."""
    return StreamPlan(
        settings.measure,
        None if settings.sharpen is not None and settings.start is None else settings.solver,
        settings.sharpen,
        None if passes == "auto" else int(passes),
        settings.tunes_threshold,
        settings.standardize,
        WHITENED_ROWS,
        WHITENED_COLUMNS,
        settings.alpha,
        seed,
    )


def rows_in_memory(stream: Stream, labels: Labels, seed: int) -> tuple[Any, NDArray[Any], NDArray[Any] | None]:
    """All rows of a small stream, or a fair sample of each class of a large one: rows, labels and weights."""
    reservoir: Reservoir | None = None
    for window in stream.windows():
        if reservoir is None:
            numbers = window.X.nnz * 2 if sparse.issparse(window.X) else window.X.size
            capacity = max(int(_SAMPLE_BYTES * window.X.shape[0] / max(4 * numbers, 1)), 1000)
            reservoir = Reservoir(capacity, np.random.default_rng(seed))
        reservoir.add(window.X, labels.signed_weights(window))
    assert reservoir is not None  # the survey has counted rows
    X, signed = reservoir.sample()
    negative = labels.classes[labels.classes != labels.positive][0]
    weights = np.abs(signed)
    return X, np.where(signed > 0, labels.positive, negative), None if np.ptp(weights) == 0 else weights


def windows_with_both_classes(windows: Iterable[Window]) -> Iterator[tuple[NDArray[Any], Window]]:
    """The windows of a stream that cannot be surveyed, each with the classes, once both have been seen."""
    waiting: list[Window] = []
    classes: NDArray[Any] | None = None
    for window in windows:
        if window.labels is None:
            raise DataError("There are no labels to learn from: name their column, open_stream(..., target=...).")
        if classes is not None:
            yield classes, window
            continue
        waiting.append(window)
        found = np.unique(np.concatenate([one.labels for one in waiting if one.labels is not None]))
        if found.size > 2:
            raise DataError(
                f"The target has {found.size} classes or more; from a stream two are learned. Make it two-valued, "
                "or read the rows into memory: fit takes any number of classes."
            )
        if found.size > 1:
            classes = found
            for one in waiting:
                yield classes, one
            waiting.clear()
    if classes is None:
        raise DataError("There are rows of one class only, or none at all: a classifier needs rows of both.")
