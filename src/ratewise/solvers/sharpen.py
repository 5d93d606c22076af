"""Sharpening: from a concave start to the measure itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from ..rewards import Sigmoid
from .base import (
    Evaluate,
    History,
    Learn,
    Request,
    Run,
    Scores,
    Solver,
    Task,
    leverage_settings,
    require_number,
)
from .state import Learner, LinearModel, Summary
from .threshold import BestThreshold, Cuts, quick_threshold

_ENOUGH_POINTS = 300_000
_MANY_POINTS = 420_000
_SAMPLE_OF_A_CLASS = 20_000
# The penalty on a constraint missed would make the sigmoid far too narrow: soft rates may miss it by far.
_SOFTER = 40.0
# Of the sigmoid, from twice the deviation of the scores to a twentieth: a narrower one learns from too few points.
# (covtype-5, 60,000 to 100,000 rows: F1 +0.004.)
_NARROWINGS, _NARROWER = 11, 1.4
_LEAST_TPR = 0.02  # where no cut keeps a precision
SIGMOID = Sigmoid(1.0)


@dataclass(frozen=True)
class Sharpen:
    """Learn with a bounded reward, point by point, for the measure's own slopes at the rates reached so far.

    Concave rewards stop early: points far on the wrong side dominate them. A sigmoid reward is bounded as the
    measure itself is, so such points stop pulling, and the model serves the points that can be won. It has many
    optima; a concave start and stochastic steps lead to a good one.

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
    """Of its scores on those rows, or where else they are to be seen from."""
    deviation: float

    def normalized(self) -> LinearModel:
        """Return the model on the scale of its scores: those of different folds are to be comparable."""
        return self.model.divided(self.deviation, self.mean)


class SharpenedRun(Run):
    """The path of one model from its start to the last sharpening pass, evaluated on its training rows on the way.

    Parameters
    ----------
    start : Solver
        Makes the model to start from.
    task : Task
    settings : Sharpen
    passes : int
        Sharpening passes; 0 leaves the start as it is.
    leverage : float
        The mean squared length of a row, with the intercept's entry.
    number : int
        Tells this run's rows in the history from those of others.
    whole_start : bool
        Evaluate the start after 1, 2, 4, ... passes, not at its end only.
    in_sample : bool
        The training rows choose between the candidates, so that bounds count in their values.
    damped : bool
        Move the class weights of a measure with a corner by half of what its slopes ask: for steps on all rows at
        once, which would swing from side to side of the corner.
    """

    def __init__(
        self,
        start: Solver,
        task: Task,
        settings: Sharpen,
        *,
        passes: int,
        leverage: float,
        number: int = 0,
        whole_start: bool = True,
        in_sample: bool = False,
        damped: bool = False,
    ):
        self.start = start
        self._in_sample = in_sample
        self._label = start.label
        self._start_passes = start.passes
        self._run = start.start(Task(task.measure, task.n_features, task.dtype, l2=task.l2, initial=task.initial))
        self._task, self._settings = task, settings
        self._passes = passes if start.sharpenable else 0
        self._leverage = leverage
        self._number = number
        self._whole_start = whole_start
        self._damped = damped
        self._done = 0  # passes of the present stage
        self._sharpening: Sharpening | None = None
        self._to_evaluate: LinearModel | None = None
        self.candidates: list[Candidate] = []

    def request(self, seen: Summary) -> Request:
        self._seen = seen
        self._evaluation = Evaluation(self._task.measure, seen.prevalence, self._settings.softness)
        if self._to_evaluate is not None:
            return Evaluate(self._to_evaluate)
        if self._sharpening is not None:
            return self._sharpening.request(seen)
        request = self._run.request(seen)
        self._learned = request.passes or 0 if isinstance(request, Learn) else 0
        return request

    def receive(self, answer: Any) -> None:
        if self._to_evaluate is not None:
            self._take_scores(answer)
        elif self._sharpening is None:
            self._run.receive(answer)
            self._done += self._learned
            on_the_way = self._whole_start and self._learned and is_power_of_two(self._done)
            if self._run.finished or on_the_way:
                self._to_evaluate = self._run.model()
        else:
            self._done += 1
            self._to_evaluate = self._sharpening.learner.mean()

    def _take_scores(self, scores: Scores) -> None:
        model, self._to_evaluate = self._to_evaluate, None
        assert model is not None
        evaluated = self._evaluation.of(model, scores)
        if self._sharpening is None:
            self._take_start(evaluated)
            return
        self._record(evaluated, self._start_passes + self._done, self._sharpening.learner.class_weights)
        self.finished = self._done >= self._passes
        if self._sharpening.take(evaluated, self._evaluation) and (is_power_of_two(self._done) or self.finished):
            self._add(f"{self._label}, sharpened {self._done}", evaluated)

    def _take_start(self, evaluated: Evaluated) -> None:
        ended = self._run.finished
        passes = self._start_passes if ended else self._done
        self._record(evaluated, passes)
        if not math.isfinite(evaluated.value):
            self.finished = True
            return
        self._add(f"{self._label}, {passes} passes", evaluated)
        if ended:
            self.finished = self._passes == 0
            self._done = 0
            if not self.finished:
                self._sharpening = Sharpening(
                    evaluated,
                    self._evaluation,
                    self._settings,
                    self._task,
                    self._seen,
                    self._leverage,
                    self._damped,
                )

    def _add(self, stage: str, evaluated: Evaluated) -> None:
        scores, measure, value = evaluated.scores, self._task.measure, evaluated.value
        if self._in_sample and measure.constraints(0.5):
            value = quick_threshold(scores.values, scores.signed_weights, measure, points=scores.points).value
        spread = (0.0, 1.0) if self._in_sample else scores.mean_and_deviation()
        self.candidates.append(Candidate(stage, evaluated.model, value, *spread))

    def _record(self, evaluated: Evaluated, passes: int, class_weights: tuple[float, float] | None = None) -> None:
        history = self._task.history
        if history is None or not math.isfinite(evaluated.value):
            return
        more = {} if class_weights is None else {"alpha": class_weights[0], "beta": class_weights[1]}
        rates = evaluated.best.rates
        history.record(
            run=self._number,
            passes=passes,
            points=passes * self._seen.points,
            tpr=rates.tpr,
            tnr=rates.tnr,
            value=evaluated.value,
            **more,
        )

    @property
    def history(self) -> History:
        return self._task.history or History()

    def model(self) -> LinearModel:
        return self.candidates[-1].model

    def rates_met(self) -> Any:
        return self._run.rates_met() if self._sharpening is None else self._sharpening.learner.rates_met()


class Sharpening:
    """The bounded-reward stage: a learner, and the rule that sets its class weights and step after every pass."""

    def __init__(
        self,
        start: Evaluated,
        evaluation: Evaluation,
        settings: Sharpen,
        task: Task,
        seen: Summary,
        leverage: float,
        damped: bool,
    ):
        width = evaluation.sigmoid_width(start)
        self.learner = Learner(task.n_features, task.dtype, start.model.divided(width, start.best.threshold))
        self.learner.restart_steps(seen.points)
        self.learner.class_weights = evaluation.class_weights(start, width)
        self._n_features, self._l2, self._leverage = task.n_features, task.l2, leverage
        self._step = settings.step
        self._damped = damped and not task.measure.smooth
        self._best, self._best_model = start.value, self.learner.current()

    def request(self, seen: Summary) -> Learn:
        settings = leverage_settings(seen, self._n_features, step=self._step, leverage=self._leverage, l2=self._l2)
        return Learn(self.learner, settings, SIGMOID, passes=1, restart_mean=True)

    def take(self, evaluated: Evaluated, evaluation: Evaluation) -> bool:
        """Set the next pass by the mean model of the last; False if its steps were so long that it diverged."""
        learner = self.learner
        if not evaluated.value >= self._best - 0.2 * abs(self._best - evaluation.useless):  # NaN included
            self._step /= 4.0
            learner.set_model(self._best_model)
            return False
        before, asked = learner.class_weights, evaluation.class_weights(evaluated, 1.0)
        if self._damped:
            asked = halfway(asked, before)
        learner.class_weights = asked
        current = learner.current()
        learner.set_model(current._replace(intercept=current.intercept - evaluated.best.threshold))
        if evaluated.value > self._best:
            self._best, self._best_model = evaluated.value, learner.current()
        return True


class Evaluated(NamedTuple):
    """A model with its scores on the rows it learned from, and the best threshold for them."""

    model: LinearModel
    scores: Scores
    best: BestThreshold

    @property
    def value(self) -> float:
        return self.best.value


class Evaluation:
    """Evaluates models on their training rows, and reads off the scores how to go on."""

    def __init__(self, measure: Measure, prevalence: float, softness: float):
        self._measure = measure
        self._softness = softness
        self._prevalence = prevalence
        self.useless, perfect = measure.scale(prevalence)
        self._scale = perfect - self.useless
        bounds = measure.constraints(prevalence)
        self._constrained = bool(bounds)
        # The highest scores of a start may all be of negatives. Then no cut keeps a precision, and the best one,
        # which predicts no row positive, is no place to learn at: the next passes learn at one that finds some.
        self._may_be_out_of_reach = any(bound.on_tpr > 0 and bound.on_tnr > 0 for bound in bounds)

    def of(self, model: LinearModel, scores: Scores) -> Evaluated:
        if not scores.finite:
            return Evaluated(model, scores, BestThreshold.nothing())
        best = quick_threshold(
            scores.values, scores.signed_weights, self._measure, caution=None, points=scores.points
        )
        if self._may_be_out_of_reach and best.rates.tpr < _LEAST_TPR:
            best = Cuts(scores.values, scores.signed_weights, self._measure, caution=None).best(_LEAST_TPR)
        return Evaluated(model, scores, best)

    def class_weights(self, evaluated: Evaluated, width: float) -> tuple[float, float]:
        """Return what a positive and a negative weigh in the next pass: the measure's slopes, per point."""
        rates = evaluated.best.rates
        slopes = (
            self._measure.slopes(*rates) if self._measure.smooth else self._balance_at_the_cut(evaluated, width)
        )
        least = 1e-3 * self._scale
        weights = (max(slopes[0], least) / rates.prevalence, max(slopes[1], least) / (1.0 - rates.prevalence))
        return weights[0] / max(weights), weights[1] / max(weights)

    def _balance_at_the_cut(self, evaluated: Evaluated, width: float) -> tuple[float, float]:
        """Return slopes for a measure with a corner, where those of either side are of no use.

        Moving the best threshold by a little gains as much on one class as it loses on the other:
        alpha f+ = beta f-, with f the densities of the two classes' scores at the cut. So the densities tell the
        slopes; they are taken through the sigmoid's own window.
        """
        scores, weights = _thinned_out(evaluated.scores)
        window = SIGMOID.slope((scores - evaluated.best.threshold) / width)
        on_positives, on_negatives = (_class_shares(weights) @ window).tolist()
        # A constraint may ask for a cut where hardly a negative is left and TNR is dear; a corner of Min does not.
        least = 0.1 * min(self._prevalence, 1.0 - self._prevalence) if self._constrained else 0.05
        share = min(max(on_negatives / max(on_positives + on_negatives, 1e-300), least), 1.0 - least)
        return share, 1.0 - share

    def sigmoid_width(self, evaluated: Evaluated) -> float:
        """Return a width as large as the softness allows: wide sigmoids learn from more points, narrow ones are
        closer to the measure.
        """
        scores, weights = _thinned_out(evaluated.scores)
        margins = np.sign(weights) * (scores - evaluated.best.threshold)
        width = 2.0 * _deviation(scores, evaluated.scores)
        softness = self._softness * (_SOFTER if self._constrained else 1.0)
        shares = _class_shares(weights)
        for _ in range(_NARROWINGS):
            tpr, tnr = (shares @ SIGMOID.value(margins / width)).tolist()
            soft = float(self._measure.value(tpr, tnr, evaluated.best.rates.prevalence))
            if soft >= evaluated.value - softness * abs(evaluated.value - self.useless):
                break
            width /= _NARROWER
        return width


def _deviation(thinned_out: NDArray[Any], scores: Scores) -> float:
    return (scores if scores.points is not None else scores._replace(values=thinned_out)).mean_and_deviation()[1]


def _thinned_out(scores: Scores) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a part of the scores, each class thinned on its own: enough to take a mean from."""
    values, weights = scores.values, scores.signed_weights
    if scores.points is not None:
        return values, weights
    chosen = np.concatenate([_some(weights > 0), _some(weights < 0)])
    return values[chosen], weights[chosen]


def _some(mine: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return where the rows of a class are; of many, those among every so many rows."""
    apart = max(int(np.count_nonzero(mine)) // _SAMPLE_OF_A_CLASS, 1)
    return np.flatnonzero(mine[::apart]) * apart


def _class_shares(weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return what, times values of the rows, is their mean over the positives, and over the negatives."""
    shares: NDArray[np.float64] = np.maximum(np.stack([weights, -weights]), 0.0).astype(np.float64)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def halfway(asked: tuple[float, float], before: tuple[float, float]) -> tuple[float, float]:
    """Return class weights moved by half of what is asked, on a log scale, so as not to swing about a corner."""
    return math.sqrt(asked[0] * before[0]), math.sqrt(asked[1] * before[1])


def is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
