"""SPADE and STAMP with the paper's settings: passes in pieces, a model at the end of each."""

from __future__ import annotations

import dataclasses
from typing import Any

from ratewise.measures import ConcaveMeasure, Measure, PseudoLinearMeasure
from ratewise.solvers import Spade, Stamp

from ..base import VALIDATION_FRACTION, Method, Record, Task
from ..library import OnlineRun, SplitRows, Stopwatch

STEPS = (0.1, 1.0, 10.0)
"""What the step is tuned over; 1 is the library's own."""

_FIRST_POINTS = 500
_GROWTH = 0.1  # a piece is a tenth of the points before it: some 100 models from 500 points to millions


class OnlineMethod(Method):
    """A streaming solver as a method.

    The clock runs while rows are checked, standardized and shuffled, and while points are learned from. The time
    of a model on the way includes that of its own threshold, exact on the validation part: it is what the fit
    would have taken had it ended there.
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
        rows = _split_rows(task)
        run = OnlineRun(solver, task.measure, rows.learning)
        points, total = 0, solver.passes * rows.learning.n_points
        while points < total:
            piece = min(max(_FIRST_POINTS, int(_GROWTH * points)), total - points)
            run.learn(piece)
            points += piece
            seconds = clock.seconds
            with clock.stopped():
                model, threshold_clock = run.model(), Stopwatch()
                coef, intercept = rows.with_threshold(model, task.measure)
                record(seconds + threshold_clock.seconds, coef, intercept)
        return f"step {step:g}"

    def _best_step(self, task: Task) -> float:
        """Return the step whose model does best on the validation part; the first of equals."""
        rows = _split_rows(task)

        def value(step: float) -> float:
            solver = dataclasses.replace(self._solver, step=step)
            run = OnlineRun(solver, task.measure, rows.learning)
            run.learn(solver.passes * rows.learning.n_points)
            return rows.validation_value(run.model(), task.measure)

        return max(STEPS, key=value)


def _split_rows(task: Task) -> SplitRows:
    return SplitRows(task.X, task.positive, VALIDATION_FRACTION, task.seed)


SPADE = OnlineMethod("SPADE", Spade(passes=25, reward="hinge"), ConcaveMeasure)  # type: ignore[type-abstract]
STAMP = OnlineMethod(
    "STAMP",
    Stamp(passes=25, reward="hinge", first_epoch=100, growth=2.0, level="actual"),
    PseudoLinearMeasure,  # type: ignore[type-abstract]
)
