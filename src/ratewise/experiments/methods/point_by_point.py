"""What SPADE and STAMP share as methods: passes in pieces, a model at the end of each."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...baselines._checkpoints import Stopwatch
from ...baselines.linear import split
from ...estimators import MeasureClassifier
from ...estimators.training_set import training_set
from ...estimators.validation import Columns, checked_labels
from ...measures import Measure
from ...solvers import LinearModel, Solver, StreamingRun, best_threshold
from ...solvers import Task as SolverTask
from ...streams import ArrayStream, Standardizer
from .base import VALIDATION_FRACTION, Record, Task

STEPS = (0.1, 1.0, 10.0)
"""What the step is tuned over; 1 is the library's own."""

_FIRST_POINTS = 500
_GROWTH = 0.1  # a piece is a tenth of the points before it: some 100 models from 500 points to millions


class PointByPoint:
    """A streaming solver as a method.

    The clock runs while rows are checked, standardised and mixed, and while points are learned from. The time of a
    model on the way includes that of its own threshold, exact on the validation part: it is what the fit would
    have taken had it ended there.
    """

    colour = "#D55E00"

    def __init__(self, name: str, solver: Any, measures: type[Measure]):
        self.name = name
        self._solver = solver
        self._measures = measures

    def suits(self, measure: Measure) -> bool:
        return isinstance(measure, self._measures)

    def run(self, task: Task, record: Record) -> str:
        step = self._best_step(task)
        solver = dataclasses.replace(self._solver, step=step)
        clock = Stopwatch()
        standardizer, learning, validation = _standardised(task)
        run = solver.start(_solver_task(task, learning))
        points, total = 0, solver.passes * learning.n_points
        while points < total:
            piece = min(max(_FIRST_POINTS, int(_GROWTH * points)), total - points)
            run.feed(learning, piece, learning.summary)
            points += piece
            seconds = clock.seconds
            with clock.stopped():
                _report(run.model(), standardizer, validation, task.measure, seconds, record)
        return f"step {step:g}"

    def _best_step(self, task: Task) -> float:
        """The step whose model does best on the validation part."""
        _, learning, validation = _standardised(task)

        def value(step: float) -> float:
            solver: Solver = dataclasses.replace(self._solver, step=step)
            run = solver.start(_solver_task(task, learning))
            assert isinstance(run, StreamingRun)
            run.feed(learning, solver.passes * learning.n_points, learning.summary)
            scores = validation.scores(*run.model())
            if not np.isfinite(scores).all():
                return -np.inf
            return best_threshold(scores, validation.signed_weights, task.measure).value

        return best_of(STEPS, value)


def best_of(candidates: tuple[float, ...], value: Callable[[float], float]) -> float:
    """The candidate of the highest value; the first of equals."""
    return max(candidates, key=value)


def _standardised(task: Task) -> tuple[Standardizer, ArrayStream, ArrayStream]:
    """Rows checked as every estimator checks them, the baselines too, standardised and mixed."""
    checked, _ = Columns.of(task.X, MeasureClassifier())
    rows = training_set(checked, checked_labels(task.positive, checked.number), None, pos_label=True)
    standardizer = rows.checked.standardizer()
    stream = ArrayStream(rows.X, rows.signed_weights, standardizer, np.random.default_rng(task.seed))
    return standardizer, *split(stream, VALIDATION_FRACTION)


def _solver_task(task: Task, learning: ArrayStream) -> SolverTask:
    return SolverTask(task.measure, learning.n_features, learning.X.dtype)


def _report(
    model: LinearModel,
    standardizer: Standardizer,
    validation: ArrayStream,
    measure: Measure,
    seconds: float,
    record: Record,
) -> None:
    before = time.process_time()
    threshold = best_threshold(validation.scores(*model), validation.signed_weights, measure).threshold
    coef, intercept = standardizer.to_user_units(*model)
    record(seconds + time.process_time() - before, coef, intercept - threshold)
