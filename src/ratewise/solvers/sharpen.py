"""Sharpening: from a concave start to the measure itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, Rates
from ..rewards import Sigmoid
from ..streams import ArrayStream
from .base import Solver, StreamingRun, Task, leverage_settings, require_number
from .history import History
from .learner import Learner, LinearModel
from .threshold import BestThreshold, quick_threshold

_ENOUGH_POINTS = 300_000
_MANY_POINTS = 420_000
_SAMPLE_OF_A_CLASS = 20_000
# The penalty on a constraint missed would make the sigmoid far too narrow: soft rates may miss it by far.
_SOFTER = 40.0


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


class Snapshot(NamedTuple):
    """A model on the way, with its scores on the rows it was trained on and the best value they allow."""

    stage: str
    model: LinearModel
    scores: NDArray[np.floating[Any]]
    value: float


class _Look(NamedTuple):
    """Where a model stands on the rows it was trained on."""

    model: LinearModel
    scores: NDArray[np.floating[Any]]
    best: BestThreshold

    @property
    def value(self) -> float:
        return self.best.value

    def snapshot(self, stage: str) -> Snapshot:
        return Snapshot(stage, self.model, self.scores, self.value)


class Trajectory:
    """The way of one model from its start to the last sharpening pass.

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
        self._history = history
        self._number = number
        self._whole_start = whole_start

    def snapshots(self) -> Iterator[Snapshot]:
        """The models after 1, 2, 4, ... passes of each stage, and at its end."""
        for number, model in self._start():
            look = self._look(model, number)
            if not math.isfinite(look.value):
                return
            yield look.snapshot(f"{self._start_solver.label}, {number} passes")
        yield from self._sharpen(look)

    def _start(self) -> Iterator[tuple[int, LinearModel]]:
        """Models of the start with the passes they took, pass by pass where its solver learns point by point."""
        task = Task(
            self._measure, self._stream.n_features, self._stream.X.dtype, l2=self._l2, initial=self._initial
        )
        run = self._start_solver.start(task)
        self._start_passes = self._start_solver.passes
        if not isinstance(run, StreamingRun):
            run.solve(self._stream)
            yield self._start_passes, run.model()
            return
        for number in range(1, self._start_passes + 1):
            run.feed(self._stream, self._stream.n_points, self._stream.summary)
            if number == self._start_passes or (self._whole_start and _is_power_of_two(number)):
                yield number, run.model()

    def _sharpen(self, look: _Look) -> Iterator[Snapshot]:
        width = self._sigmoid_width(look)
        learner = Learner(
            self._stream.n_features,
            self._stream.X.dtype,
            LinearModel(look.model.weights / width, (look.model.intercept - look.best.threshold) / width),
        )
        learner.restart_steps(self._stream.n_points)
        learner.pair = self._pair_at(look, width)
        step = self._settings.step
        best, best_model = look.value, learner.current()
        useless, _ = self._measure.scale(look.best.rates.prevalence)
        for number in range(1, self._passes + 1):
            self._learn_one_pass(learner, step)
            look = self._look(learner.mean(), self._start_passes + number, learner.pair)
            if not look.value >= best - 0.2 * abs(best - useless):  # NaN included: the steps were too long
                step /= 4.0
                learner.set_model(best_model)
                continue
            learner.pair = self._pair_at(look, 1.0)
            current = learner.current()
            learner.set_model(current._replace(intercept=current.intercept - look.best.threshold))
            if look.value > best:
                best, best_model = look.value, learner.current()
            if _is_power_of_two(number) or number == self._passes:
                yield look.snapshot(f"{self._start_solver.label}, sharpened {number}")

    def _learn_one_pass(self, learner: Learner, step: float) -> None:
        settings = leverage_settings(self._stream, step=step, leverage=self._leverage, l2=self._l2)
        learner.restart_mean()
        for chunk in self._stream.take(self._stream.n_points):
            learner.learn(chunk, settings, Sigmoid(1.0))

    def _look(self, model: LinearModel, passes: int, pair: tuple[float, float] | None = None) -> _Look:
        """Where a model stands after so many passes, start included."""
        scores = self._stream.scores(*model)
        if not math.isfinite(float(scores.sum(dtype=np.float64))):
            return _Look(model, scores, BestThreshold(0.0, math.nan, Rates(math.nan, math.nan, math.nan)))
        best = quick_threshold(scores, self._stream.signed_weights, self._measure, caution=None)
        more = {} if pair is None else {"alpha": pair[0], "beta": pair[1]}
        self._history.record(
            run=self._number,
            passes=passes,
            points=passes * self._stream.n_points,
            tpr=best.rates.tpr,
            tnr=best.rates.tnr,
            value=best.value,
            **more,
        )
        return _Look(model, scores, best)

    def _pair_at(self, look: _Look, width: float) -> tuple[float, float]:
        """What a positive and a negative weigh in the next pass: the measure's slopes, shared out per point."""
        rates = look.best.rates
        slopes = self._measure.slopes(*rates) if self._measure.smooth else self._balance_at_the_cut(look, width)
        useless, perfect = self._measure.scale(rates.prevalence)
        least = 1e-3 * (perfect - useless)
        weights = (max(slopes[0], least) / rates.prevalence, max(slopes[1], least) / (1.0 - rates.prevalence))
        return weights[0] / max(weights), weights[1] / max(weights)

    def _balance_at_the_cut(self, look: _Look, width: float) -> tuple[float, float]:
        """Slopes for a measure with a corner, where those of either side are of no use.

        Moving the best threshold by a little gains as much on one class as it loses on the other:
        alpha f+ = beta f-, with f the densities of the two classes' scores at the cut. So the densities tell the
        slopes; they are taken through the sigmoid's own window.
        """
        scores, weights = _thinned_out(look.scores, self._stream.signed_weights)
        window = Sigmoid(1.0).slope((scores - look.best.threshold) / width)
        on_positives, on_negatives = _class_means(window, weights)
        # A constraint may ask for a cut where hardly a negative is left and TNR is dear; a corner of Min does not.
        p = look.best.rates.prevalence
        least = 0.1 * min(p, 1.0 - p) if self._measure.constraints(p) else 0.05
        share = min(max(on_negatives / max(on_positives + on_negatives, 1e-300), least), 1.0 - least)
        return share, 1.0 - share

    def _sigmoid_width(self, look: _Look) -> float:
        """As wide as the softness allows: wide sigmoids learn from more points, narrow ones are truer."""
        scores, weights = _thinned_out(look.scores, self._stream.signed_weights)
        margins = np.sign(weights) * (scores - look.best.threshold)
        width = 2.0 * float(scores.std()) + 1e-30
        prevalence = look.best.rates.prevalence
        useless, _ = self._measure.scale(prevalence)
        softness = self._settings.softness * (_SOFTER if self._measure.constraints(prevalence) else 1.0)
        for _ in range(24):
            soft_rates = _class_means(Sigmoid(1.0).value(margins / width), weights)
            soft = float(self._measure.value(*soft_rates, prevalence))
            if soft >= look.value - softness * abs(look.value - useless):
                break
            width /= 1.4
        return width


def _thinned_out(scores: NDArray[Any], weights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """A part of the rows, each class thinned on its own: enough to take a mean from."""
    classes = (np.flatnonzero(weights > 0), np.flatnonzero(weights < 0))
    chosen = np.concatenate([mine[:: max(mine.size // _SAMPLE_OF_A_CLASS, 1)] for mine in classes])
    return scores[chosen], weights[chosen]


def _class_means(values: NDArray[Any], weights: NDArray[Any]) -> tuple[float, float]:
    positive = weights > 0
    return (
        float(np.average(values[positive], weights=weights[positive])),
        float(np.average(values[~positive], weights=-weights[~positive])),
    )


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
