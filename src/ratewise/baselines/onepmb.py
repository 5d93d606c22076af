"""1PMB: stochastic gradient steps on SVMPerf's surrogate, one for each buffer of points."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from ..kernels import model_places
from ..measures import Measure
from ..rewards import Hinge
from ..solvers import LinearModel
from ..solvers.state import kernel_rows
from .labelling import learn_batches, table_loss_of
from .linear import Finish, FitContext, LinearBaseline, OnCheckpoint, ThresholdedModel, candidates

STEP_GRID = (1.0, 1e1, 1e2, 1e3)
"""The values among which ``step="tune"`` chooses."""


class OnePMB(LinearBaseline):
    """Minimize SVMPerf's surrogate by gradient steps, one for the most violated labelling of each buffer.

    This is 1PMB of Kar, Narasimhan and Jain (2014), for the measures that :class:`SVMPerf` takes. The steps fall
    as one over the square root of their number, models are kept in a ball, and the mean of the models is returned.
    In an extension of the paper, there may be several passes over the rows, in the same buffers but in another
    order; the mean is then that of the last pass. A measure that depends on the prevalence uses the prevalence of
    all rows. A buffer without points of both classes is left out.

    Parameters
    ----------
    measure : str or Measure, default="f1"
    step : "tune", float or floats, default="tune"
        The first step. If there are several, the best on the validation rows is used. "tune" tries 1 to 1000 by
        tens.
    buffer : int, default=500
        The number of points in a buffer.
    passes : int, default=25
        The number of passes over the rows for each step size; the paper gives its own methods as many.
    radius : float, default=1000.0
        The radius of the ball in which models are kept, on standardized columns.
    threshold : {"tune", "zero"}, default="tune"
        "tune" uses the threshold with the best measure on the validation rows; "zero" is the paper's choice.
    validation_fraction : float, default=0.2
        The share of validation rows, for the step and the threshold. 0 uses the training rows for them. There is
        no refit on all rows: the norm of the model depends on the number of buffers, and the threshold would not
        suit it.
    random_state : int, RandomState or None
        Determines the validation rows, and the order of the buffers.
    pos_label, on_checkpoint
        As for :class:`LogisticBaseline`.

    Attributes
    ----------
    step_ : float
        The step chosen.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise.baselines import OnePMB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> OnePMB("gmean", step=1.0, passes=5, random_state=0).fit(X, y).score(X, y) > 0.9
    True
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
        candidates("step", self.step, STEP_GRID, self)
        self._require("buffer", low=2, whole=True, at_low=True)
        self._require("passes", low=1, whole=True, at_low=True)
        self._require("radius", low=0)
        self._check_validation()

    def _learn(self, context: FitContext) -> ThresholdedModel:
        steps = candidates("step", self.step, STEP_GRID, self)
        if len(steps) == 1 and self.threshold == "zero":  # nothing to choose, so no validation rows
            context = context._replace(learning=context.stream)
        best, self.step_ = context.best_of(steps, self.threshold, partial(self._run, context))
        return best

    def _run(self, context: FitContext, step: float, at_checkpoint: Finish) -> LinearModel:
        """Return the mean model of the last pass over the training rows."""
        stream = context.learning
        loss = table_loss_of(context.measure, stream.summary.prevalence)
        edges = np.linspace(0, stream.n_points, -(-stream.n_points // self.buffer) + 1).astype(np.int64)
        buffers = edges.size - 1
        rows = kernel_rows(stream.X)
        room, places = model_places(rows, stream.n_features)
        model = np.zeros(room + 1, dtype=stream.dtype)
        mean = LinearModel(np.zeros(stream.n_features), 0.0)
        for number in range(self.passes):
            order = context.rng.permutation(buffers)
            steps = step / np.sqrt(1.0 + number * buffers + np.arange(buffers))
            total = np.zeros_like(model, dtype=np.float64)
            starts, stops, radius = edges[order], edges[order + 1], float(self.radius)
            learn_batches(rows, stream.signed_weights, starts, stops, model, total, steps, radius, loss, Hinge())
            mean = LinearModel(total[places] / buffers, float(total[-1]) / buffers)
            context.report(partial(at_checkpoint, mean))
        return mean
