"""Looking at models on the way, to read off them how to go on."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, Rates
from ..rewards import Sigmoid
from ..streams import Summary
from .history import History
from .learner import LinearModel
from .threshold import BestThreshold, quick_threshold

_SAMPLE_OF_A_CLASS = 20_000
# The penalty on a constraint missed would make the sigmoid far too narrow: soft rates may miss it by far.
_SOFTER = 40.0


class Snapshot(NamedTuple):
    """A model on the way, with its scores on the rows it was trained on and the best value they allow."""

    stage: str
    model: LinearModel
    scores: NDArray[np.floating[Any]]
    value: float


class Look(NamedTuple):
    """Where a model stands on the rows it was trained on, or on a fair sample of them."""

    model: LinearModel
    scores: NDArray[np.floating[Any]]
    best: BestThreshold

    @property
    def value(self) -> float:
        return self.best.value

    def snapshot(self, stage: str) -> Snapshot:
        return Snapshot(stage, self.model, self.scores, self.value)


class ScoredRows(Protocol):
    """Rows to look at models with, wherever they lie; an ArrayStream is one."""

    @property
    def summary(self) -> Summary:
        """What the rows come to."""

    @property
    def signed_weights(self) -> NDArray[np.floating[Any]]:
        """The weight of each score that was asked for last, negative for the negative class."""

    def scores(self, weights: NDArray[Any], intercept: float) -> NDArray[np.floating[Any]]:
        """The rows' scores under a model."""


class Outlook:
    """Looks at models on the way, and reads off them how to go on.

    Parameters
    ----------
    rows : ScoredRows
        The rows to look at, such as those of an ArrayStream.
    measure : Measure
    softness : float
        See :class:`Sharpen`.
    history : History
    number : int
        Tells this run's rows in the history from those of others.
    points_a_pass : int
        Rows learned from in a pass.
    """

    def __init__(
        self,
        rows: ScoredRows,
        measure: Measure,
        softness: float,
        history: History,
        number: int,
        points_a_pass: int,
    ):
        self._rows = rows
        self._measure = measure
        self._softness = softness
        self._history = history
        self._number = number
        self._points_a_pass = points_a_pass
        self._prevalence = rows.summary.prevalence
        self.useless, perfect = measure.scale(self._prevalence)
        self._scale = perfect - self.useless
        self._constrained = bool(measure.constraints(self._prevalence))

    def look(self, model: LinearModel, passes: int, pair: tuple[float, float] | None = None) -> Look:
        """Where a model stands after so many passes, start included."""
        scores = self._rows.scores(*model)
        if not math.isfinite(float(scores.sum(dtype=np.float64))):
            return Look(model, scores, BestThreshold(0.0, math.nan, Rates(math.nan, math.nan, math.nan)))
        best = quick_threshold(scores, self._rows.signed_weights, self._measure, caution=None)
        more = {} if pair is None else {"alpha": pair[0], "beta": pair[1]}
        self._history.record(
            run=self._number,
            passes=passes,
            points=passes * self._points_a_pass,
            tpr=best.rates.tpr,
            tnr=best.rates.tnr,
            value=best.value,
            **more,
        )
        return Look(model, scores, best)

    def pair_at(self, look: Look, width: float) -> tuple[float, float]:
        """What a positive and a negative weigh in the next pass: the measure's slopes, shared out per point."""
        rates = look.best.rates
        slopes = self._measure.slopes(*rates) if self._measure.smooth else self._balance_at_the_cut(look, width)
        least = 1e-3 * self._scale
        weights = (max(slopes[0], least) / rates.prevalence, max(slopes[1], least) / (1.0 - rates.prevalence))
        return weights[0] / max(weights), weights[1] / max(weights)

    def _balance_at_the_cut(self, look: Look, width: float) -> tuple[float, float]:
        """Slopes for a measure with a corner, where those of either side are of no use.

        Moving the best threshold by a little gains as much on one class as it loses on the other:
        alpha f+ = beta f-, with f the densities of the two classes' scores at the cut. So the densities tell the
        slopes; they are taken through the sigmoid's own window.
        """
        scores, weights = _thinned_out(look.scores, self._rows.signed_weights)
        window = Sigmoid(1.0).slope((scores - look.best.threshold) / width)
        on_positives, on_negatives = (_class_shares(weights) @ window).tolist()
        # A constraint may ask for a cut where hardly a negative is left and TNR is dear; a corner of Min does not.
        least = 0.1 * min(self._prevalence, 1.0 - self._prevalence) if self._constrained else 0.05
        share = min(max(on_negatives / max(on_positives + on_negatives, 1e-300), least), 1.0 - least)
        return share, 1.0 - share

    def sigmoid_width(self, look: Look) -> float:
        """As wide as the softness allows: wide sigmoids learn from more points, narrow ones are truer."""
        scores, weights = _thinned_out(look.scores, self._rows.signed_weights)
        margins = np.sign(weights) * (scores - look.best.threshold)
        width = 2.0 * float(scores.std()) + 1e-30
        softness = self._softness * (_SOFTER if self._constrained else 1.0)
        shares = _class_shares(weights)
        for _ in range(24):
            tpr, tnr = (shares @ Sigmoid(1.0).value(margins / width)).tolist()
            soft = float(self._measure.value(tpr, tnr, look.best.rates.prevalence))
            if soft >= look.value - softness * abs(look.value - self.useless):
                break
            width /= 1.4
        return width


def _thinned_out(scores: NDArray[Any], weights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """A part of the rows, each class thinned on its own: enough to take a mean from."""
    chosen = np.concatenate([_some(weights > 0), _some(weights < 0)])
    return scores[chosen], weights[chosen]


def _some(mine: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Where the rows of a class are; of many, those among every so many rows."""
    apart = max(int(np.count_nonzero(mine)) // _SAMPLE_OF_A_CLASS, 1)
    return np.flatnonzero(mine[::apart]) * apart


def _class_shares(weights: NDArray[Any]) -> NDArray[np.float64]:
    """Times values of the rows: their mean over the positives, and over the negatives."""
    shares: NDArray[np.float64] = np.maximum(np.stack([weights, -weights]), 0.0).astype(np.float64)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares
