"""Count, cut and linearize: class weights and thresholds from the scores of a model on its training rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..decisions.cuts import BestThreshold, Cuts, quick_threshold
from ..measures import Measure
from ..measures.base import gains_of_slopes
from ..rewards import Sigmoid
from .base import Scores
from .requests import Cut, Evaluate

_SAMPLE_OF_A_CLASS = 20_000
# The penalty on a missed constraint would make the sigmoid far too narrow: soft rates may miss it by far.
_SOFTER = 40.0
# Widths of the sigmoid, from twice the deviation of the scores to a 28th: a narrower one learns from too few
# points. (covtype-5 at 100,000 rows: F1 +0.004.)
_NARROWINGS, _NARROWER = 12, 1.4
_LEAST_TPR = 0.02  # if no threshold keeps a precision
SIGMOID = Sigmoid(1.0)


def evaluate(request: Evaluate, scores: Scores) -> Cut:
    """Answer a request from the scores of its model; the answer is NaN if they are not finite."""
    evaluation = Evaluation(request.measure, request.prevalence, request.softness)
    evaluated = evaluation.of(scores)
    cut = Cut(evaluated.best)
    if not scores.finite:
        return cut
    if request.width is not None:
        width = request.width or evaluation.sigmoid_width(evaluated)
        cut = cut._replace(width=width, class_weights=evaluation.class_weights(evaluated, width))
    if not request.candidate:
        return cut
    value, measure = evaluated.value, request.measure
    if request.in_sample and measure.bounds:
        value = quick_threshold(scores.values, scores.signed_weights, measure, points=scores.points).value
    mean, deviation = (0.0, 1.0) if request.in_sample else scores.mean_and_deviation()
    return cut._replace(value=value, mean=mean, deviation=deviation)


class Evaluated(NamedTuple):
    """Scores of a model on the rows it learned from, and the best threshold for them."""

    scores: Scores
    best: BestThreshold

    @property
    def value(self) -> float:
        return self.best.value


class Evaluation:
    """Evaluates models on their training rows, and sets the class weights of the next pass."""

    def __init__(self, measure: Measure, prevalence: float, softness: float):
        self._measure = measure
        self._softness = softness
        self._prevalence = prevalence
        self.useless, perfect = measure.scale(prevalence)
        self._scale = perfect - self.useless
        self._constrained = bool(measure.bounds)
        # The rows with the highest scores of a start may all be negative. Then no threshold keeps a precision, and
        # the best one predicts no row positive. The next passes learn at a threshold that finds some positives.
        self._may_be_out_of_reach = any(bound.kind == "precision" for bound in measure.bounds)

    def of(self, scores: Scores) -> Evaluated:
        if not scores.finite:
            return Evaluated(scores, BestThreshold.nothing())
        best = quick_threshold(
            scores.values, scores.signed_weights, self._measure, margin_scale=None, points=scores.points
        )
        if self._may_be_out_of_reach and best.rates.tpr < _LEAST_TPR:
            best = Cuts(scores.values, scores.signed_weights, self._measure, margin_scale=None).best(_LEAST_TPR)
        return Evaluated(scores, best)

    def class_weights(self, evaluated: Evaluated, width: float) -> tuple[float, float]:
        """Return the weights of a positive and of a negative in the next pass: the measure's gains."""
        rates = evaluated.best.rates
        least = 1e-3 * self._scale
        if self._measure.smooth:
            weights = self._measure.gains(rates, least)
        else:
            weights = gains_of_slopes(self._balance_at_the_cut(evaluated, width), rates.prevalence, least)
        return weights[0] / max(weights), weights[1] / max(weights)

    def _balance_at_the_cut(self, evaluated: Evaluated, width: float) -> tuple[float, float]:
        """Return slopes for a measure with a corner, where the slopes of neither side are useful.

        Moving the best threshold by a little gains as much on one class as it loses on the other: alpha f+ = beta
        f-, with f the densities of the two classes' scores at the cut. So the densities give the slopes; they are
        estimated with the sigmoid's own window.
        """
        scores, weights = thinned_out(evaluated.scores)
        window = SIGMOID.slope((scores - evaluated.best.threshold) / width)
        on_positives, on_negatives = (_class_shares(weights) @ window).tolist()
        # A constraint may require a threshold with almost no false positives, where TNR has a large weight; a
        # corner of Min does not.
        least = 0.1 * min(self._prevalence, 1.0 - self._prevalence) if self._constrained else 0.05
        share = min(max(on_negatives / max(on_positives + on_negatives, 1e-300), least), 1.0 - least)
        return share, 1.0 - share

    def sigmoid_width(self, evaluated: Evaluated) -> float:
        """Return the largest width that the softness allows.

        Wide sigmoids learn from more points; narrow ones are closer to the measure.
        """
        scores, weights = thinned_out(evaluated.scores)
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


def thinned_out(scores: Scores) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a part of the scores, thinned within each class: enough for a mean."""
    values, weights = scores.values, scores.signed_weights
    if scores.points is not None:
        return values, weights
    chosen = np.concatenate([every_so_many(weights > 0), every_so_many(weights < 0)])
    return values[chosen], weights[chosen]


def every_so_many(mine: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the indices of the rows of a class; if it has many, of those found at regular intervals."""
    apart = max(int(np.count_nonzero(mine)) // _SAMPLE_OF_A_CLASS, 1)
    return np.flatnonzero(mine[::apart]) * apart


def _class_shares(weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return row weights whose product with values of the rows is the mean over positives, and over negatives."""
    shares: NDArray[np.float64] = np.maximum(np.stack([weights, -weights]), 0.0).astype(np.float64)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares
