"""Sharpening: from a concave start to the measure itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..measures import Measure
from ..rewards import Sigmoid
from ..streams import ArrayStream, Summary
from .base import Solver, StreamingRun, Task, leverage_settings, require_number
from .history import History
from .learner import Learner, LearnSettings, LinearModel
from .outlook import Look, Outlook, Snapshot

_ENOUGH_POINTS = 300_000
_MANY_POINTS = 420_000


@dataclass(frozen=True)
class Sharpen:
    """Learn with a bounded reward, point by point, for the measure's own slopes at the rates reached so far.

    Concave rewards stop early: they pay for points that are far beyond saving. A sigmoid reward is bounded as
    the measure itself is, so a hopeless point stops pulling, and the model is free to serve the points that can
    be won. It has many optima; a concave start and stochastic steps lead to a good one.

    The scores of the start are divided by the width of the sigmoid. Then every pass takes its weights on the two
    classes from the slopes of the measure at the rates of the last pass's mean model, cut at its best threshold.
    For a pseudo-linear measure these are the valuation's weights at the current level (STAMP's), for a concave
    one the dual optimum (SPADE's); any other function of the rates has slopes too.

    Parameters
    ----------
    passes : int or "auto"
        Sharpening passes; "auto" takes 4 on large data, fewer on huge, up to 16 on small.
    step : float
        In units of a point's own leverage 1 / (|x|^2 + 1); falls as 1 / sqrt(1 + passes made).
    softness : float
        The sigmoid is made as wide as it can be while the measure of the soft rates stays within this share of
        the measure itself.
    row_limit : float
        A row longer than this many mean squared lengths takes a proportionally smaller step.
    """

    passes: int | str = "auto"
    step: float = 8.0
    softness: float = 0.05
    row_limit: float = 4.0

    def __post_init__(self) -> None:
        if self.passes != "auto":
            require_number("passes", self.passes, "Sharpen", low=0, whole=True)
        for setting in ("step", "softness", "row_limit"):
            require_number(setting, getattr(self, setting), "Sharpen", low=0)

    def passes_over(self, n_points: int) -> int:
        if self.passes != "auto":
            return int(self.passes)
        if n_points > _MANY_POINTS:
            return max(int(4 * _MANY_POINTS / n_points), 2)
        wanted = math.ceil(math.log2(max(_ENOUGH_POINTS / max(n_points, 1), 1.0)))
        return int(min(max(2**wanted, 4), 16))


class Sharpening:
    """The bounded-reward stage in progress, whoever feeds it the rows of each pass.

    Parameters
    ----------
    outlook : Outlook
    start : Look
        Where it begins.
    start_passes : int
        Passes made before.
    settings : Sharpen
    pass_summary : Summary
        Of the rows of one pass.
    leverage : float
        The mean squared length of a row.
    dtype : float32 or float64
    l2 : float
    """

    reward = Sigmoid(1.0)

    def __init__(
        self,
        outlook: Outlook,
        start: Look,
        start_passes: int,
        settings: Sharpen,
        pass_summary: Summary,
        leverage: float,
        dtype: Any,
        l2: float,
    ):
        width = outlook.sigmoid_width(start)
        model = start.model
        self.learner = Learner(
            model.weights.size,
            dtype,
            LinearModel(model.weights / width, (model.intercept - start.best.threshold) / width),
        )
        self.learner.restart_steps(pass_summary.points)
        self.learner.pair = outlook.pair_at(start, width)
        self._outlook = outlook
        self._start_passes = start_passes
        self._pass_summary, self._leverage, self._l2 = pass_summary, leverage, l2
        self._step = settings.step
        self._best, self._best_model = start.value, self.learner.current()

    def begin_pass(self) -> LearnSettings:
        """The settings of the next pass."""
        self.learner.restart_mean()
        return leverage_settings(
            self._pass_summary,
            self._best_model.weights.size,
            step=self._step,
            leverage=self._leverage,
            l2=self._l2,
        )

    def end_pass(self, number: int) -> Look | None:
        """Look at the mean model of the ``number``-th pass; None if its steps were so long that it is lost."""
        learner = self.learner
        look = self._outlook.look(learner.mean(), self._start_passes + number, learner.pair)
        if not look.value >= self._best - 0.2 * abs(self._best - self._outlook.useless):  # NaN included
            self._step /= 4.0
            learner.set_model(self._best_model)
            return None
        learner.pair = self._outlook.pair_at(look, 1.0)
        current = learner.current()
        learner.set_model(current._replace(intercept=current.intercept - look.best.threshold))
        if look.value > self._best:
            self._best, self._best_model = look.value, learner.current()
        return look


class Trajectory:
    """The way of one model from its start to the last sharpening pass, over rows in memory.

    Parameters
    ----------
    stream : ArrayStream
        Its rows already limited by ``settings.row_limit``.
    start : Solver
        Makes the model to start from.
    measure : Measure
    settings : Sharpen
    leverage : float
        The mean squared length of a row, as :meth:`ArrayStream.limit_rows` gave it.
    passes : int
        Sharpening passes.
    initial : LinearModel, optional
        Where the start begins.
    l2 : float
    history : History
    number : int
        Tells this trajectory's rows in the history from those of others.
    whole_start : bool
        Whether to stop and look on the way through the start, or at its end only.
    """

    def __init__(
        self,
        stream: ArrayStream,
        start: Solver,
        measure: Measure,
        settings: Sharpen,
        *,
        leverage: float,
        passes: int,
        initial: LinearModel | None,
        l2: float,
        history: History,
        number: int = 0,
        whole_start: bool = True,
    ):
        self._stream = stream
        self._start_solver = start
        self._measure = measure
        self._settings = settings
        self._leverage = leverage
        self._passes = passes
        self._initial = initial
        self._l2 = l2
        self._outlook = Outlook(stream, measure, settings.softness, history, number, stream.n_points)
        self._whole_start = whole_start

    def snapshots(self) -> Iterator[Snapshot]:
        """The models after 1, 2, 4, ... passes of each stage, and at its end."""
        label = self._start_solver.label
        for passes, model in self._start():
            look = self._outlook.look(model, passes)
            if not math.isfinite(look.value):
                return
            yield look.snapshot(f"{label}, {passes} passes")
        # A look holds as many scores as there are rows: let go of each before the next is taken.
        looks = self._sharpen(look, self._start_solver.passes)
        del look
        for number, sharpened in looks:
            if is_power_of_two(number) or number == self._passes:
                yield sharpened.snapshot(f"{label}, sharpened {number}")
            del sharpened

    def _start(self) -> Iterator[tuple[int, LinearModel]]:
        """Models of the start with the passes they took, pass by pass where its solver learns point by point."""
        task = Task(self._measure, self._stream.n_features, self._stream.dtype, l2=self._l2, initial=self._initial)
        run = self._start_solver.start(task)
        passes = self._start_solver.passes
        if not isinstance(run, StreamingRun):
            run.solve(self._stream)
            yield passes, run.model()
            return
        for number in range(1, passes + 1):
            run.begin_pass()
            run.feed(self._stream, self._stream.n_points, self._stream.summary)
            if number == passes or (self._whole_start and is_power_of_two(number)):
                yield number, run.model()

    def _sharpen(self, start: Look, start_passes: int) -> Iterator[tuple[int, Look]]:
        stream = self._stream
        sharpening = Sharpening(
            self._outlook,
            start,
            start_passes,
            self._settings,
            stream.summary,
            self._leverage,
            stream.dtype,
            self._l2,
        )
        del start
        for number in range(1, self._passes + 1):
            settings = sharpening.begin_pass()
            for chunk in stream.take(stream.n_points):
                sharpening.learner.learn(chunk, settings, Sharpening.reward)
            look = sharpening.end_pass(number)
            if look is not None:
                yield number, look
            del look


def is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
