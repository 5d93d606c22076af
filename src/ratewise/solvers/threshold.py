"""Rates at a threshold, and the threshold with the best measure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, Rates

_BINS = 8192


class BestThreshold(NamedTuple):
    """A point is called positive if its score is above the threshold."""

    threshold: float
    value: float
    rates: Rates


def rates_at(scores: NDArray[Any], signed_weights: NDArray[Any], threshold: float = 0.0) -> Rates:
    """TPR, TNR and prevalence when every score above the threshold is called positive."""
    positive = signed_weights > 0
    weights = np.abs(signed_weights, dtype=np.float64)
    called = scores > np.float64(threshold)  # a Python float would be rounded to the scores' width
    all_positive, all_negative = weights[positive].sum(), weights[~positive].sum()
    tpr = weights[positive & called].sum() / all_positive if all_positive > 0 else 0.0
    tnr = weights[~positive & ~called].sum() / all_negative if all_negative > 0 else 0.0
    return Rates(float(tpr), float(tnr), float(all_positive / (all_positive + all_negative)))


def best_threshold(scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure) -> BestThreshold:
    """The exact best threshold for a measure: every cut between two different scores is tried.

    O(n log n), for any measure. The threshold lies midway between the scores it parts; of cuts that do equally
    well, the one nearest zero is taken, where the model itself would have drawn the line.
    """
    cuts = Cuts(scores, signed_weights, measure)
    ties = np.flatnonzero(cuts.values >= cuts.values.max() - 1e-12)
    thresholds = cuts.thresholds(ties)
    nearest = int(np.argmin(np.abs(thresholds)))
    chosen = int(ties[nearest])
    rates = Rates(float(cuts.tpr[chosen]), float(cuts.tnr[chosen]), cuts.prevalence)
    return BestThreshold(float(thresholds[nearest]), float(cuts.values[chosen]), rates)


def quick_threshold(scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure) -> BestThreshold:
    """The best threshold to a 700th of the scores' spread, without sorting; exact where rows are few.

    For looks on the way, which the steps to come make out of date at once.
    """
    if scores.size < 4 * _BINS:
        return best_threshold(scores, signed_weights, measure)
    middle, spread = float(scores.mean()), float(scores.std()) + 1e-30
    low, width = middle - 6.0 * spread, 12.0 * spread / _BINS
    places = (scores - scores.dtype.type(low)) * scores.dtype.type(1.0 / width)
    bins = np.clip(places, 0, _BINS - 1, out=places).astype(np.intp)
    bins += np.where(signed_weights > 0, _BINS, 0)  # the positives' bins follow the negatives'
    weights = np.abs(signed_weights)
    alike = bool(weights.min() == weights.max())
    counts = np.bincount(bins, weights=None if alike else weights, minlength=2 * _BINS).astype(np.float64)
    alarms, hits = counts[_BINS - 1 :: -1].cumsum(), counts[: _BINS - 1 : -1].cumsum()
    tpr, tnr = hits / hits[-1], 1.0 - alarms / alarms[-1]
    prevalence = float(hits[-1] / (hits[-1] + alarms[-1]))
    values = np.asarray(measure.value(tpr, tnr, prevalence), dtype=np.float64)
    best = int(np.argmax(np.where(np.isfinite(values), values, -np.inf)))
    rates = Rates(float(tpr[best]), float(tnr[best]), prevalence)
    return BestThreshold(low + width * (_BINS - 1 - best), float(values[best]), rates)


def steady_threshold(
    scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure, tolerance: float
) -> float:
    """The mean of all thresholds that do nearly as well as the best, weighted by how well they do.

    With few points of a class the exact best cut is an accident of one or two points; its neighbours know better.
    ``tolerance`` is how much worse than the best a threshold may be and still have a say; at 0 the best one has
    all of it.
    """
    if tolerance <= 0.0:
        return best_threshold(scores, signed_weights, measure).threshold
    cuts = Cuts(scores, signed_weights, measure)
    merit = np.maximum(cuts.values - (cuts.values.max() - tolerance), 0.0)
    merit *= np.diff(cuts.tpr, prepend=0.0)  # a threshold counts as often as positives lie at it
    near = np.flatnonzero(merit > 0)
    if near.size == 0:
        return best_threshold(scores, signed_weights, measure).threshold
    return float(np.average(cuts.thresholds(near), weights=merit[near]))


class Cuts:
    """All cuts between different scores, highest first, with the rates and the measure at each.

    ``tpr``, ``tnr`` and ``values`` have an entry a cut; the first cut calls nothing, the last everything. Where
    the measure is not defined its value is -inf.
    """

    def __init__(self, scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure):
        order = np.argsort(scores)[::-1]
        self._ordered = scores[order]
        weights = signed_weights[order].astype(np.float64)
        # Cut k calls the first k points positive; only cuts between different scores can be made.
        inner = np.flatnonzero(self._ordered[1:] != self._ordered[:-1]) + 1
        self._at = np.concatenate([[0], inner, [scores.size]])
        hits = np.concatenate([[0.0], np.cumsum(np.maximum(weights, 0.0))])
        alarms = np.concatenate([[0.0], np.cumsum(np.maximum(-weights, 0.0))])
        positive, negative = float(hits[-1]), float(alarms[-1])
        self.tpr = hits[self._at] / positive if positive > 0 else np.zeros(self._at.size)
        self.tnr = 1.0 - alarms[self._at] / negative if negative > 0 else np.zeros(self._at.size)
        self.prevalence = positive / (positive + negative)
        values = np.asarray(measure.value(self.tpr, self.tnr, self.prevalence), dtype=np.float64)
        self.values = np.where(np.isfinite(values), values, -np.inf)

    def thresholds(self, which: NDArray[np.intp]) -> NDArray[np.float64]:
        """Midway between the scores that each of these cuts parts."""
        at = self._at[which]
        last = self._ordered.size - 1
        highest, lowest = float(self._ordered[0]), float(self._ordered[last])
        beyond_highest = max(highest + 1.0, np.nextafter(highest, np.inf))
        beyond_lowest = min(lowest - 1.0, np.nextafter(lowest, -np.inf))
        above = np.where(at > 0, self._ordered[np.maximum(at - 1, 0)].astype(np.float64), beyond_highest)
        below = np.where(at <= last, self._ordered[np.minimum(at, last)].astype(np.float64), beyond_lowest)
        middle = below + 0.5 * (above - below)
        found: NDArray[np.float64] = np.where(middle < above, middle, below)  # neighbours may touch
        return found
