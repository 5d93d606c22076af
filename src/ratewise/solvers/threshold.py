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


def best_threshold(
    scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure, *, caution: float = 1.0
) -> BestThreshold:
    """The exact best threshold for a measure: every cut between two different scores is tried.

    O(n log n), for any measure. The threshold lies midway between the scores it parts; of cuts that do equally
    well, the one nearest zero is taken, where the model itself would have drawn the line.

    Cuts that keep the measure's constraints come first, if it has any; ``caution`` multiplies the margins by which
    they must be kept, and 0 takes the rows at their word. If no cut keeps them, the one that comes nearest is
    taken.
    """
    cuts = _Cuts(scores, signed_weights, measure, caution)
    ties = np.flatnonzero(cuts.ranks >= cuts.ranks.max() - 1e-12)
    thresholds = cuts.thresholds(ties)
    nearest = int(np.argmin(np.abs(thresholds)))
    chosen = int(ties[nearest])
    rates = Rates(float(cuts.tpr[chosen]), float(cuts.tnr[chosen]), cuts.prevalence)
    return BestThreshold(float(thresholds[nearest]), float(cuts.values[chosen]), rates)


def quick_threshold(
    scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure, *, caution: float = 1.0
) -> BestThreshold:
    """The best threshold to a 700th of the scores' spread, without sorting; exact where rows are few.

    For looks on the way, which the steps to come make out of date at once.
    """
    if scores.size < 4 * _BINS:
        return best_threshold(scores, signed_weights, measure, caution=caution)
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
    slack = constraint_slack(measure, tpr, tnr, prevalence, signed_weights, caution)
    best = int(np.argmax(_ranks(np.where(np.isfinite(values), values, -np.inf), slack)))
    rates = Rates(float(tpr[best]), float(tnr[best]), prevalence)
    return BestThreshold(low + width * (_BINS - 1 - best), float(values[best]), rates)


def steady_threshold(
    scores: NDArray[Any],
    signed_weights: NDArray[Any],
    measure: Measure,
    tolerance: float,
    *,
    caution: float = 1.0,
) -> float:
    """The mean of all thresholds that do nearly as well as the best, weighted by how well they do.

    With few points of a class the exact best cut is an accident of one or two points; its neighbours know better.
    ``tolerance`` is how much worse than the best a threshold may be and still have a say; at 0 the best one has
    all of it, and under constraints too: a mean of thresholds that keep them need not keep them.
    """
    if tolerance <= 0.0 or measure.constraints(0.5):
        return best_threshold(scores, signed_weights, measure, caution=caution).threshold
    cuts = _Cuts(scores, signed_weights, measure, caution)
    merit = np.maximum(cuts.ranks - (cuts.ranks.max() - tolerance), 0.0)
    merit *= np.diff(cuts.tpr, prepend=0.0)  # a threshold counts as often as positives lie at it
    near = np.flatnonzero(merit > 0)
    if near.size == 0:
        return best_threshold(scores, signed_weights, measure).threshold
    return float(np.average(cuts.thresholds(near), weights=merit[near]))


def constraint_slack(
    measure: Measure,
    tpr: Any,
    tnr: Any,
    prevalence: float,
    signed_weights: NDArray[Any],
    caution: float = 1.0,
) -> NDArray[np.float64] | None:
    """How far the rates keep the tightest of the measure's constraints beyond its margin, in standard errors.

    None if the measure has no constraints. The standard error is that of the constraint's line in two binomial
    rates, each half a point away from 0 and 1, so that no rate is ever taken for certain. Rates at which no
    positive is found keep no constraint: there, any precision could be claimed.
    """
    constraints = measure.constraints(prevalence)
    if not constraints:
        return None
    tpr, tnr = np.asarray(tpr, dtype=np.float64), np.asarray(tnr, dtype=np.float64)
    positives, negatives = _effective_points(signed_weights)
    tpr_variance, tnr_variance = _rate_variance(tpr, positives), _rate_variance(tnr, negatives)
    slack = np.full(np.broadcast_shapes(tpr.shape, tnr.shape), np.inf)
    for constraint in constraints:
        error = np.sqrt(constraint.on_tpr**2 * tpr_variance + constraint.on_tnr**2 * tnr_variance)
        rounding = 1e-12 * (abs(constraint.constant) + abs(constraint.on_tpr) + abs(constraint.on_tnr))
        excess = constraint.excess(tpr, tnr) + rounding
        slack = np.minimum(slack, excess / error - caution * constraint.margin)
    return np.where(tpr > 0, slack, -np.inf)


def _effective_points(signed_weights: NDArray[Any]) -> tuple[float, float]:
    """As many points of each class, all weighted alike, as would tell as much."""
    weights = signed_weights.astype(np.float64)
    numbers = []
    for mine in (weights[weights > 0], weights[weights < 0]):
        squares = float(mine @ mine)
        numbers.append(float(mine.sum()) ** 2 / squares if squares > 0 else 0.0)
    return numbers[0], numbers[1]


def _rate_variance(rate: NDArray[np.float64], points: float) -> NDArray[np.float64]:
    share = (points * rate + 0.5) / (points + 1.0)
    return share * (1.0 - share) / (points + 1.0)


def _ranks(values: NDArray[np.float64], slack: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Cuts by their values where constraints are kept; by how nearly they are kept where none keeps them."""
    if slack is None:
        return values
    kept = slack >= 0
    if kept.any():
        return np.where(kept, values, -np.inf)
    return slack if np.isfinite(slack).any() else values


class _Cuts:
    """All cuts between different scores, highest first, with the rates and the measure at each."""

    def __init__(self, scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure, caution: float = 1.0):
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
        slack = constraint_slack(measure, self.tpr, self.tnr, self.prevalence, signed_weights, caution)
        self.ranks = _ranks(self.values, slack)

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
