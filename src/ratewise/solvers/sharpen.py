"""Sharpening: continue from a concave start with a bounded reward, on the measure itself."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .base import Algorithm, Solver, Task, leverage_settings, require_number
from .driver import Inner, Steps
from .evaluate import SIGMOID
from .requests import Cut, Evaluate, Learn, Record, Savepoint
from .state import LinearModel, RowTotals

_ENOUGH_POINTS = 300_000
_MANY_POINTS = 420_000


@dataclass(frozen=True)
class Sharpen:
    """Learn with a bounded reward, point by point, with the measure's own slopes at the rates reached so far.

    Concave rewards stop early: points far on the wrong side dominate them. A sigmoid reward is bounded, like the
    measure itself. Such points then have little effect, and the model improves on points that it can classify
    correctly. The sigmoid has many optima; a concave start and stochastic steps lead to a good one.

    The scores of the start are divided by the width of the sigmoid. Then every pass takes its class weights from
    the slopes of the measure at the rates of the last pass's mean model, cut at its best threshold.
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

    Examples
    --------
    >>> from ratewise import MeasureClassifier
    >>> from ratewise.solvers import Sharpen
    >>> MeasureClassifier("f1", sharpen=Sharpen(passes=4)).sharpen.passes
    4
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
        return min(max(math.ceil(_ENOUGH_POINTS / max(n_points, 1)), 4), 16)


class Candidate(NamedTuple):
    """A model on the path of a run: its stage, and its best value on the rows it learned from."""

    stage: str
    model: LinearModel
    value: float
    mean: float
    """The mean of the model's scores on those rows, or another centre for them."""
    deviation: float
    maker: Solver
    """The solver of the model, or of the model from which it was sharpened."""

    def normalized(self) -> LinearModel:
        """Return the model divided by the scale of its scores, so that folds are comparable."""
        return self.model.divided(self.deviation, self.mean)


@dataclass(frozen=True)
class Sharpened(Algorithm):
    """The path of one model from its start to the last sharpening pass, evaluated on its training rows on the way.

    Its result is the list of candidates.

    Parameters
    ----------
    solver : Solver
        The solver of the model to start from.
    settings : Sharpen
    passes : int
        Sharpening passes; 0 leaves the start as it is.
    leverage : float
        The mean squared length of a row, with the intercept's entry.
    number : int
        The number of this run in the history.
    whole_start : bool
        Evaluate the start after 1, 2, 4, ... passes, not only at its end.
    in_sample : bool
        The training rows choose among the candidates, so that bounds count in their values.
    damped : bool
        Move the class weights of a measure with a corner only half of the way to its slopes. Steps on all rows
        would otherwise oscillate about the corner.
    """

    solver: Solver
    settings: Sharpen
    passes: int
    leverage: float
    number: int = 0
    whole_start: bool = True
    in_sample: bool = False
    damped: bool = False

    # [algorithm]
    def algorithm(self, task: Task, seen: Callable[[], RowTotals]) -> Steps:
        """Learn the start; then, pass by pass, learn with the slopes of the measure after the last pass."""
        measure, passes = task.measure, self.passes if self.solver.sharpenable else 0
        state = yield Savepoint(None)
        if state is None:
            candidates, model, cut = yield from self._learn_start(task, seen, linearize=passes > 0)
            if passes == 0 or cut is None:
                return candidates
            model = model.divided(cut.width, cut.best.threshold)
            state = _Pass(1, model, cut.class_weights, self.settings.step, model, cut.best.value, candidates)
        while state.number <= passes:
            number, model, weights, step, best_model, best, candidates = state = yield Savepoint(state)
            settings = leverage_settings(seen(), task.n_features, step=step, leverage=self.leverage, l2=task.l2)
            learned = yield Learn(  # learn
                settings,
                SIGMOID,
                weights,
                passes=1,
                start=model,
                restart_mean=True,
                restart_steps=seen().points if number == 1 else None,
                keep_last=True,
            )
            kept = is_power_of_two(number) or number == passes
            cut = yield self._evaluate(learned.mean, task, seen(), width=1.0, candidate=kept)  # count, linearize
            weights = learned.class_weights  # the mean of shards that learn separately
            yield from self._record(cut, self.solver.passes + number, seen(), weights)
            state = state._replace(number=number + 1, class_weights=weights)
            useless, _ = measure.scale(seen().prevalence)
            if not cut.best.value >= best - 0.2 * abs(best - useless):  # NaN included: the steps were too long
                state = state._replace(model=best_model, step=step / 4.0)
                continue
            damped = self.damped and not measure.smooth
            weights = halfway(cut.class_weights, weights) if damped else cut.class_weights
            model = learned.last._replace(intercept=learned.last.intercept - cut.best.threshold)  # cut
            if cut.best.value > best:
                best_model, best = model, cut.best.value
            if kept:
                stage = f"{self.solver.label}, sharpened {number}"
                candidates = [*candidates, self._candidate(stage, learned.mean, cut)]
            state = _Pass(number + 1, model, weights, step, best_model, best, candidates)
        return state.candidates

    # [end]

    def _learn_start(self, task: Task, seen: Callable[[], RowTotals], *, linearize: bool) -> Steps:
        """Return the candidates of the start, its last model, and the cut of this model; None if it diverged."""
        start = Inner(self.solver.algorithm(dataclasses.replace(task, history=None), seen))
        candidates: list[Candidate] = []
        done, model, cut = 0, None, None
        while (request := start.request) is not None:
            answer = yield request
            start.answer(answer)
            learned = request.passes or 0 if isinstance(request, Learn) else 0
            done += learned
            ended = start.request is None
            if not ended and not (self.whole_start and learned and is_power_of_two(done)):
                continue
            model, passes = (start.result, self.solver.passes) if ended else (answer.mean, done)
            width = 0.0 if ended and linearize else None
            cut = yield self._evaluate(model, task, seen(), width=width, candidate=True)
            yield from self._record(cut, passes, seen())
            if not math.isfinite(cut.best.value):
                return candidates, model, None
            candidates.append(self._candidate(f"{self.solver.label}, {passes} passes", model, cut))
        return candidates, model, cut

    def _evaluate(
        self, model: LinearModel, task: Task, seen: RowTotals, *, width: float | None, candidate: bool
    ) -> Evaluate:
        return Evaluate(
            model, task.measure, seen.prevalence, self.settings.softness, width, candidate, self.in_sample
        )

    def _candidate(self, stage: str, model: LinearModel, cut: Cut) -> Candidate:
        return Candidate(stage, model, cut.value, cut.mean, cut.deviation, self.solver)

    def _record(
        self, cut: Cut, passes: int, seen: RowTotals, class_weights: tuple[float, float] | None = None
    ) -> Steps:
        if math.isfinite(cut.best.value):
            more = {} if class_weights is None else {"alpha": class_weights[0], "beta": class_weights[1]}
            more = {"run": self.number} | more
            yield Record(passes, passes * seen.points, more, cut.best.rates, cut.best.value)


class _Pass(NamedTuple):
    """The state at the beginning of a sharpening pass."""

    number: int
    model: LinearModel
    class_weights: tuple[float, float]
    step: float
    best_model: LinearModel
    best: float
    """The highest value so far, on the training rows."""
    candidates: list[Candidate]


def halfway(asked: tuple[float, float], before: tuple[float, float]) -> tuple[float, float]:
    """Return class weights moved half of the way on a log scale, so that they do not oscillate about a corner."""
    return math.sqrt(asked[0] * before[0]), math.sqrt(asked[1] * before[1])


def is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
