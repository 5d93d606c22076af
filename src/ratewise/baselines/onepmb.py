"""1PMB: stochastic gradient steps on SVMPerf's surrogate, one for each buffer of points."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..kernels import model_places
from ..measures import Measure
from ..rewards import Hinge
from ..solvers import LinearModel
from .checkpoints import OnCheckpoint
from .labelling import learn_batches
from .linear import Cut, Lesson, LinearBaseline, candidates, require_number
from .losses import table_loss_of

STEP_GRID = (1.0, 1e1, 1e2, 1e3)
"""What ``step="tune"`` chooses from."""


class OnePMB(LinearBaseline):
    """SVMPerf's surrogate by gradient steps: one for the most violated labelling of each buffer of points.

    This is 1PMB of Kar, Narasimhan and Jain (2014), for the measures that :class:`SVMPerf` takes. The steps fall
    as one over the root of their number, models are kept in a ball, and their mean is taken. Beyond their paper,
    rows may be passed over several times, in the same buffers but in another order; the mean is then that of the
    last pass. Where a measure depends on the share of positives, that of all rows is taken, and a buffer without
    points of both classes is left out.

    Parameters
    ----------
    measure : str or Measure, default="f1"
    step : "tune", float or floats, default="tune"
        The first step. Of several, or of those "tune" stands for (1 to 1000 by tens), the best on the validation
        part is taken.
    buffer : int, default=500
        Points in a buffer.
    passes : int, default=25
        Passes over the rows for each step size; what the paper allows its own methods.
    radius : float, default=1000.0
        Of the ball that models are kept in, on standardised columns.
    threshold : {"tune", "zero"}, default="tune"
        "tune" cuts the scores where the validation part's measure is best; "zero" is the paper's own.
    validation_fraction : float, default=0.2
        The share of rows held out for the step and the threshold. 0 uses the training rows for it. There is no
        refit on all rows: the model's length depends on the number of buffers, and the threshold would not fit it.
    pos_label : label, default=None
        The class whose rate is the TPR; ``classes_[1]`` unless given.
    random_state : int, RandomState or None
        Decides which rows are held out, and the order of the buffers.
    on_checkpoint : function of (cpu_seconds, coef, intercept), optional
        Called during the fit, with its clock stopped, with the model it would end with at that moment.

    Attributes
    ----------
    step_ : float
        The step chosen.
    """

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        step: str | float | Iterable[float] = "tune",
        buffer: int = 500,
        passes: int = 25,
        radius: float = 1000.0,
        threshold: str = "tune",
        validation_fraction: float = 0.2,
        pos_label: Any = None,
        random_state: Any = None,
        on_checkpoint: OnCheckpoint | None = None,
    ):
        self.measure = measure
        self.step = step
        self.buffer = buffer
        self.passes = passes
        self.radius = radius
        self.threshold = threshold
        self.validation_fraction = validation_fraction
        self.pos_label = pos_label
        self.random_state = random_state
        self.on_checkpoint = on_checkpoint

    def _check_parameters(self) -> None:
        candidates("step", self.step, STEP_GRID)
        require_number("buffer", self.buffer, low=2, whole=True, at_low=True)
        require_number("passes", self.passes, low=1, whole=True, at_low=True)
        require_number("radius", self.radius, low=0)
        self._check_validation()

    def _learn(self, lesson: Lesson) -> Cut:
        steps = candidates("step", self.step, STEP_GRID)
        if len(steps) == 1 and self.threshold == "zero":  # there is nothing to hold rows out for
            lesson = lesson._replace(learning=lesson.stream)
        judge = lesson.tuned if self.threshold == "tune" else lesson.at_zero
        best: Cut | None = None
        for step in steps:
            on_the_way = judge if best is None else best.whatever_the_model
            cut = judge(self._run(lesson, step, on_the_way))
            if best is None or cut.value > best.value:
                best, self.step_ = cut, step
        assert best is not None  # there is at least one step to try
        return best

    def _run(self, lesson: Lesson, step: float, on_the_way: Callable[[LinearModel], Cut]) -> LinearModel:
        """The mean model of the last pass over the rows to learn from, which are the first of all rows."""
        stream = lesson.learning
        loss = table_loss_of(lesson.measure, stream.summary.prevalence)
        edges = np.linspace(0, stream.n_points, -(-stream.n_points // self.buffer) + 1).astype(np.int64)
        buffers = edges.size - 1
        rows = stream.rows
        room, places = model_places(rows, stream.n_features)
        model = np.zeros(room + 1, dtype=stream.dtype)
        mean = LinearModel(np.zeros(stream.n_features), 0.0)
        for number in range(self.passes):
            order = lesson.rng.permutation(buffers)
            steps = step / np.sqrt(1.0 + number * buffers + np.arange(buffers))
            total = np.zeros_like(model, dtype=np.float64)
            learn_batches(
                rows,
                stream.signed_weights,
                edges[order],
                edges[order + 1],
                model,
                total,
                steps,
                float(self.radius),
                loss,
                Hinge(),
            )
            mean = LinearModel(total[places] / buffers, float(total[-1]) / buffers)
            _report(lesson, on_the_way, mean)
        return mean


def _report(lesson: Lesson, on_the_way: Callable[[LinearModel], Cut], model: LinearModel) -> None:
    lesson.report(lambda: on_the_way(model))
