"""One model in the making, from the windows of a stream."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Rates
from ..streams import ArrayStream, Summary, Units, squared_rows
from .base import StreamingRun, Task
from .history import History
from .learner import LinearModel
from .outlook import Outlook
from .selection_plan import start_for
from .sharpen import Sharpening, is_power_of_two
from .stream_halves import rows_where
from .stream_plan import StreamPlan

# To bring the rows of a window into units. One thread reads meanwhile: on two cores, more threads than cores leave
# neither idle.
_THREADS = min(os.cpu_count() or 1, 2)


class Track:
    """One model in the making: of all rows, or of those of one half."""

    def __init__(self, plan: StreamPlan, history: History, half: int | None):
        self._plan = plan
        self._history = history
        self._half = half
        self.finished = False
        self._passes = 0
        self._points = 0
        self._sharpened = 0
        self._sharpening: Sharpening | None = None
        self._models: dict[str, LinearModel] = {}

    def training_rows(self, X: Any, weights: NDArray[Any], halves: Any) -> tuple[Any, NDArray[Any]]:
        return (X, weights) if self._half is None else rows_where(halves != self._half, X, weights)

    def judging_rows(self, X: Any, weights: NDArray[Any], halves: Any) -> tuple[Any, NDArray[Any]]:
        return (X, weights) if self._half is None else rows_where(halves == self._half, X, weights)

    def begin(
        self,
        sample: Any,
        weights: NDArray[Any],
        units: Units,
        seen: Summary,
        rng: np.random.Generator,
        *,
        whitened: bool,
    ) -> None:
        """The solver to start with, and the sample to look at models with."""
        plan = self._plan
        points = seen.points if self._half is None else max(seen.points // 2, 1)
        self._sample = ArrayStream(sample, weights, units, rng)
        row = float(np.average(squared_rows(self._sample.X), weights=np.abs(self._sample.signed_weights)))
        self._seen = seen._replace(
            points=points, squared_rows=row * points, entry_square=self._sample.summary.entry_square
        )
        solver = plan.solver or start_for(plan.measure, seen.prevalence, points, whitened=whitened)
        sharpen = plan.sharpen
        self._to_start = solver.passes
        self._to_sharpen = 0 if sharpen is None else sharpen.passes_over(points)
        if plan.passes is not None:
            self._to_start = plan.passes if sharpen is None else max(min(solver.passes, plan.passes // 2), 1)
            self._to_sharpen = 0 if sharpen is None else plan.passes - self._to_start
        n_features = self._sample.n_features
        task = Task(
            plan.measure,
            n_features,
            np.dtype(np.float32),
            l2=plan.l2,
            points_a_pass=points,
        )
        run = solver.start(task)
        assert isinstance(run, StreamingRun)  # others learn from the sample, in memory
        self._run = run
        self._label = solver.label
        self._run.begin_pass()
        softness = 0.05 if sharpen is None else sharpen.softness
        self._outlook = Outlook(self._sample, plan.measure, softness, self._history, self._half or 0, points)

    def learn(self, X: Any, weights: NDArray[Any], units: Units, rng: np.random.Generator) -> Rates | None:
        if self.finished or X.shape[0] == 0:
            return None
        stream = ArrayStream(X, weights, units, rng, threads=_THREADS)
        if self._sharpening is None:
            self._run.feed(stream, stream.n_points, self._seen)
            rates = self._run.rates_met()
            self._points += stream.n_points
            if self._plan.sharpen is None:
                passes = self._points / self._seen.points
                value = float(self._plan.measure.value(*rates))
                self._history.record(passes=passes, points=self._points, tpr=rates.tpr, tnr=rates.tnr, value=value)
            return rates
        assert self._plan.sharpen is not None
        stream.limit_rows(self._plan.sharpen.row_limit, self._seen.leverage)
        for chunk in stream.take(stream.n_points):
            self._sharpening.learner.learn(chunk, self._settings, Sharpening.reward)
        return self._sharpening.learner.rates_met()

    def end_pass(self) -> None:
        if self.finished:
            return
        self._passes += 1
        if self._sharpening is None:
            self._end_starting_pass()
        else:
            self._end_sharpening_pass(self._sharpening)
        if self._sharpening is not None and not self.finished:
            self._settings = self._sharpening.begin_pass()

    def _end_starting_pass(self) -> None:
        if self._passes < self._to_start:
            self._run.begin_pass()
            return
        sharpen = self._plan.sharpen
        if sharpen is None:
            self._models[""] = self._run.model()
            self.finished = True
            return
        look = self._outlook.look(self._run.model(), self._passes)
        self.finished = self._to_sharpen == 0 or not math.isfinite(look.value)
        if not math.isfinite(look.value):
            return
        self._models[f"{self._label}, {self._passes} passes"] = look.model
        if not self.finished:
            self._sharpening = Sharpening(
                self._outlook,
                look,
                self._passes,
                sharpen,
                self._seen,
                self._seen.leverage,
                np.dtype(np.float32),
                self._plan.l2,
            )

    def _end_sharpening_pass(self, sharpening: Sharpening) -> None:
        self._sharpened += 1
        look = sharpening.end_pass(self._sharpened)
        self.finished = self._sharpened == self._to_sharpen
        if look is not None and (self.finished or is_power_of_two(self._sharpened)):
            self._models[f"{self._label}, sharpened {self._sharpened}"] = look.model

    def models(self) -> dict[str, LinearModel]:
        """By stage; their scores brought to one scale, so that those of two halves can be counted together."""
        return {stage: self._brought_to_scale(model) for stage, model in self._models.items()}

    def _brought_to_scale(self, model: LinearModel) -> LinearModel:
        """Scores of spread 1 on the sample, and of mean 0 if a threshold will be chosen."""
        scores = self._sample.scores(*model)
        shares = np.abs(self._sample.signed_weights, dtype=np.float64)
        mean = float(np.average(scores, weights=shares)) if self._plan.tune else 0.0
        spread = math.sqrt(max(float(np.average((scores - mean) ** 2, weights=shares)), 1e-24))
        return LinearModel(model.weights / spread, (model.intercept - mean) / spread)
