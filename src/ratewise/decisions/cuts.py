"""Rates at a threshold, which thresholds keep a measure's constraints, and the one with the best measure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..counts import Rates
from ..counts import effective_points as equal_rows
from ..kernels import count_predicted, weight_moments
from ..measures import Constraint, Measure

_BINS, _REACH = 8192, 6.0  # bins, and how many standard deviations from the mean they cover
_TAILS = 48.0  # deviations that bins cover if bounds may put the threshold in a tail
_MANY_SCORES = 4 * _BINS
_TIE = 1e-12
_NEIGHBORS = 3  # occupied bins on each side of a cut, in which the exact cut is searched
_NEAR = 0.02  # in spreads of the scores; the next cut on each side is near, however far
_LARGEST_COST = 0.1  # in the measure's scale: a margin of a constraint that costs more is given up
_DOUBT = 1.0  # standard errors by which a constraint may then be missed


Points = tuple[float, float]
"""Effective points of the positive and of the negative class."""


class BestThreshold(NamedTuple):
    """A threshold, with its rates and value: a point with a higher score is predicted positive.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.measures import get_measure
    >>> from ratewise.solvers import best_threshold
    >>> best_threshold(np.array([0.1, 0.4, 0.9]), np.array([-1.0, 1.0, 1.0]), get_measure("f1")).rates
    Rates(tpr=1.0, tnr=1.0, prevalence=0.6666666666666666)
    """

    threshold: float
    value: float
    rates: Rates

    @staticmethod
    def nothing() -> BestThreshold:
        """Return the threshold of a model whose scores are not finite: all rows are negative."""
        return BestThreshold(0.0, math.nan, Rates(math.nan, math.nan, math.nan))


def effective_points(signed_weights: NDArray[Any]) -> tuple[float, float]:
    """Return the effective points of each class: the number of equally informative points of equal weight."""
    positive, negative, positive_squares, negative_squares = weight_moments(signed_weights)
    return equal_rows(positive, positive_squares), equal_rows(negative, negative_squares)


def rates_at(scores: NDArray[Any], signed_weights: NDArray[Any], threshold: float = 0.0) -> Rates:
    """Return TPR, TNR and prevalence when every score above the threshold is predicted positive.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.solvers import rates_at
    >>> rates_at(np.array([-1.0, 0.5, 2.0]), np.array([-1.0, -1.0, 1.0]), threshold=1.0)
    Rates(tpr=1.0, tnr=1.0, prevalence=0.3333333333333333)
    """
    return Rates.of_totals(*count_predicted(scores, signed_weights, float(threshold)))


def best_threshold(
    scores: NDArray[Any],
    signed_weights: NDArray[Any],
    measure: Measure,
    *,
    margin_scale: float | None = 1.0,
    points: Points | None = None,
) -> BestThreshold:
    """Return the exact best threshold for a measure: every cut between two different scores is tried.

    The threshold is midway between the scores that it separates. Of equally good cuts, the one nearest zero, the
    model's own cut, is returned.

    Cuts that keep the measure's constraints come first, if it has any (see :func:`constrained_ranks`);
    ``margin_scale`` multiplies the margins by which they must be kept, 0 asks for no margin, and None leaves the
    constraints to the measure's own penalty. ``points`` are the effective points of both classes, where scores are
    the bins of a histogram.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.measures import get_measure
    >>> from ratewise.solvers import best_threshold
    >>> scores, signed = np.array([0.1, 0.4, 0.35, 0.9]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> best = best_threshold(scores, signed, get_measure("gmean"))
    >>> best.threshold
    0.22499999999999998
    """
    if measure.bounds and margin_scale is not None:
        return Cuts(scores, signed_weights, measure, margin_scale=margin_scale, points=points).best()
    ranges = _ranges_to_search(scores, signed_weights, measure)
    found = [Cuts(scores, signed_weights, measure, within, margin_scale=None).best() for within in ranges]
    highest = max(best.value for best in found)
    return min((best for best in found if best.value >= highest - _TIE), key=lambda best: abs(best.threshold))


def quick_threshold(
    scores: NDArray[Any],
    signed_weights: NDArray[Any],
    measure: Measure,
    *,
    margin_scale: float | None = 1.0,
    points: Points | None = None,
    few: int = _MANY_SCORES,
) -> BestThreshold:
    """Return the best threshold to a 700th of the scores' spread, without sorting; exact where rows are ``few``.

    It serves evaluations during training, which the next steps soon replace, and the choice among stages. Under
    constraints, it returns the best cut near the best edge of a bin.
    """
    if scores.size < few or (measure.bounds and points is not None):
        return best_threshold(scores, signed_weights, measure, margin_scale=margin_scale, points=points)
    if measure.bounds:  # bounds may put the threshold in a tail
        histogram, points = ScoreHistogram.of(scores, signed_weights, _TAILS), effective_points(signed_weights)
        coarse = Cuts(*histogram.as_scores(), measure, margin_scale=margin_scale, points=points)
        near = histogram.around(coarse.best().threshold)
        return Cuts(scores, signed_weights, measure, near, margin_scale=margin_scale, points=points).best()
    histogram = ScoreHistogram.of(scores, signed_weights)
    values = histogram.values(measure)
    best = int(np.argmax(values))
    tpr, tnr, prevalence = histogram.rates
    rates = Rates(float(tpr[best]), float(tnr[best]), prevalence)
    return BestThreshold(float(histogram.edges[best]), float(values[best]), rates)


def smoothed_threshold(
    scores: NDArray[Any],
    signed_weights: NDArray[Any],
    measure: Measure,
    tolerance: float,
    *,
    margin_scale: float = 1.0,
    points: Points | None = None,
) -> float:
    """Return the mean of all thresholds that do nearly as well as the best, weighted by how well they do.

    With few points of a class, the exact best cut depends on one or two points; the mean varies less.
    ``tolerance`` is how far below the best value a threshold may be and still count. At 0, and under constraints,
    only the best threshold counts: a mean of thresholds that keep constraints need not keep them.
    """
    if tolerance <= 0.0 or measure.bounds:
        find = quick_threshold if measure.bounds else best_threshold
        return find(scores, signed_weights, measure, margin_scale=margin_scale, points=points).threshold
    ranges = _ranges_to_search(scores, signed_weights, measure, tolerance)
    found = [Cuts(scores, signed_weights, measure, within, margin_scale=None) for within in ranges]
    least = max(float(cuts.values.max()) for cuts in found) - tolerance
    thresholds, merits = [np.empty(0)], [np.empty(0)]
    for cuts in found:
        merit = np.maximum(cuts.values - least, 0.0)
        merit *= np.diff(cuts.tpr, prepend=cuts.tpr[0])  # a threshold counts as often as positives lie at it
        near = np.flatnonzero(merit > 0)
        thresholds.append(cuts.thresholds(near))
        merits.append(merit[near])
    weights = np.concatenate(merits)
    if weights.size == 0:
        return best_threshold(scores, signed_weights, measure).threshold
    return float(np.average(np.concatenate(thresholds), weights=weights))


def beside_tied_rows(
    threshold: float, scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure, tolerance: float
) -> float:
    """Return a threshold chosen on other scores of the rows, moved if it separates the model's own scores badly.

    Duplicate rows have one score under one model, and a score per fold under the models of the folds. A threshold
    between those scores seems to separate such rows, but the mean of the models predicts all of them positive or
    all negative. So if a nearby cut is clearly better for the model's own scores, that cut is returned.
    """
    if measure.bounds:
        return threshold
    reach = _NEAR * float(scores.std())
    cuts = Cuts(
        scores, signed_weights, measure, _around(threshold, reach, scores, signed_weights), margin_scale=None
    )
    thresholds = cuts.thresholds(np.arange(cuts.values.size))  # highest first
    above, below = np.searchsorted(-thresholds, [-(threshold + reach), -(threshold - reach)])
    near = np.arange(max(int(above) - 1, 0), min(int(below) + 1, thresholds.size))
    best = int(near[np.argmax(cuts.values[near])])
    now = float(measure.value(*rates_at(scores, signed_weights, threshold)))
    return float(thresholds[best]) if cuts.values[best] > now + 2.0 * tolerance else threshold


def _around(threshold: float, reach: float, scores: NDArray[Any], signed_weights: NDArray[Any]) -> ScoreRange:
    """Return the range of scores this near, and the next two scores on each side.

    The first and the last cut of a range are not known.
    """
    low, high = threshold - reach, threshold + reach
    for _ in range(2):
        low = float(scores.max(initial=-math.inf, where=scores < low))
        high = float(scores.min(initial=math.inf, where=scores > high))
    high = math.nextafter(high, math.inf)
    totals = count_predicted(scores, signed_weights, math.nextafter(high, -math.inf))
    positives, true_positives, negatives, true_negatives = totals
    return ScoreRange(low, high, true_positives, negatives - true_negatives, positives, negatives)


def _ranges_to_search(
    scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure, tolerance: float | None = None
) -> list[ScoreRange]:
    """Return the ranges to search completely: the best cut, and cuts up to ``tolerance`` below, may be there."""
    if measure.monotone and scores.size >= _MANY_SCORES:
        return ScoreHistogram.of(scores, signed_weights).where_the_best_may_lie(measure, tolerance or _TIE)
    return [_ALL_SCORES]


class ScoreRange(NamedTuple):
    """The scores from ``low`` to below ``high``, and the weight of each class above them."""

    low: float
    high: float
    true_positives: float
    false_positives: float
    positives: float | None
    """The weight of all scores, like ``negatives``; None if the range contains all scores."""
    negatives: float | None


_ALL_SCORES = ScoreRange(-math.inf, math.inf, 0.0, 0.0, None, None)


class ScoreBins(NamedTuple):
    """Bins of equal width around the mean of scores; all counts of scores use them."""

    low: float
    width: float
    number: int = _BINS

    @classmethod
    def around(cls, mean: float, deviation: float, reach: float = _REACH) -> ScoreBins:
        """Return bins up to ``reach`` standard deviations away; the outer bins contain all scores beyond."""
        deviation += 1e-30
        return cls(mean - reach * deviation, 2.0 * _REACH * deviation / _BINS, round(reach / _REACH * _BINS))

    def with_an_edge_at_zero(self) -> ScoreBins:
        """Return the bins, moved by less than their width, so that rates at threshold 0 are exact."""
        return self._replace(low=math.floor(self.low / self.width) * self.width)

    def empty(self) -> NDArray[np.float64]:
        """Return zero weights per bin, for negatives and for positives; weights of the same bins can be added."""
        return np.zeros((2, self.number))

    def add(self, scores: NDArray[Any], signed_weights: NDArray[Any], weights: NDArray[np.float64]) -> None:
        kernels.bin_scores(scores, signed_weights, self.low, self.width, weights)

    def as_scores(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the middles of occupied bins as scores, with their signed weights."""
        negatives, positives = (np.flatnonzero(side) for side in weights)
        middles = self.low + self.width * (np.concatenate([negatives, positives]) + 0.5)
        return middles, np.concatenate([-weights[0, negatives], weights[1, positives]])


class ScoreHistogram:
    """The rates at the edges of bins."""

    def __init__(self, bins: ScoreBins, weights: NDArray[np.float64]):
        self._bins, self._weights = bins, weights
        self._occupied = (weights[0] != 0.0) | (weights[1] != 0.0)
        # The weights at or above each edge.
        self._false_positives = np.append(weights[0][::-1].cumsum()[::-1], 0.0)
        self._true_positives = np.append(weights[1][::-1].cumsum()[::-1], 0.0)
        self._negatives, self._positives = float(self._false_positives[0]), float(self._true_positives[0])

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """The low end of each bin, and the high end of the last."""
        edges: NDArray[np.float64] = np.arange(self._bins.number + 1, dtype=np.float64)
        edges = self._bins.low + self._bins.width * edges
        edges[0], edges[-1] = -np.inf, np.inf
        return edges

    @cached_property
    def rates(self) -> Rates:
        """TPR and TNR of a threshold at each edge."""
        return Rates.above_cuts(self._true_positives, self._false_positives, self._positives, self._negatives)

    @classmethod
    def of(cls, scores: NDArray[Any], signed_weights: NDArray[Any], reach: float = _REACH) -> ScoreHistogram:
        bins = ScoreBins.around(*kernels.mean_and_spread(scores), reach)
        weights = bins.empty()
        bins.add(scores, signed_weights, weights)
        return cls(bins, weights)

    def values(self, measure: Measure) -> NDArray[np.float64]:
        """The measure at each edge that is a threshold."""
        values = _finite_values(measure, *self.rates)
        values[[0, -1]] = -np.inf
        return values

    def bins_of_the_best(self, measure: Measure, tolerance: float) -> NDArray[np.bool_]:
        """Return the bins that can contain the best cuts of a measure that increases with both rates.

        A cut inside a bin finds at most as many positives as a cut at its low edge, and as many true negatives as
        a cut at its high edge. If the measure at these rates is more than the tolerance below the best edge, the
        bin is left out.
        """
        tpr, tnr, prevalence = self.rates
        within, at_edges = (
            _finite_values(measure, tpr[:-1], tnr[1:], prevalence),
            _finite_values(measure, *self.rates),
        )
        found: NDArray[np.bool_] = self._occupied & (within >= at_edges.max() - tolerance)
        return found

    def where_the_best_may_lie(self, measure: Measure, tolerance: float) -> list[ScoreRange]:
        """Return :meth:`bins_of_the_best` as ranges of scores."""
        possible = self.bins_of_the_best(measure, tolerance)
        occupied = np.flatnonzero(self._occupied)
        runs: list[tuple[int, int]] = []
        for k in np.flatnonzero(possible[occupied]):
            # Include the neighboring bins: their scores determine the cuts at the ends.
            first, last = int(occupied[max(int(k) - 1, 0)]), int(occupied[min(int(k) + 1, occupied.size - 1)])
            if runs and first <= runs[-1][1]:
                runs[-1] = (runs[-1][0], last)
            else:
                runs.append((first, last))
        return [self._between(first, last, occupied) for first, last in runs]

    def around(self, threshold: float) -> ScoreRange:
        """Return the range of the occupied bins next to a cut, and of two more on each side."""
        occupied = np.flatnonzero(self._occupied)
        place = int(np.searchsorted(self.edges[occupied], threshold))
        first, last = occupied[max(place - _NEIGHBORS, 0)], occupied[min(place + _NEIGHBORS, occupied.size - 1)]
        return self._between(int(first), int(last), occupied)

    def as_scores(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The middles of occupied bins as scores, with their signed weights."""
        return self._bins.as_scores(self._weights)

    def _between(self, first: int, last: int, occupied: NDArray[np.intp]) -> ScoreRange:
        """Return the range of these occupied bins and of the bins between them."""
        return ScoreRange(
            float(self.edges[first]) if first > occupied[0] else -math.inf,
            float(self.edges[last + 1]) if last < occupied[-1] else math.inf,
            float(self._true_positives[last + 1]),
            float(self._false_positives[last + 1]),
            self._positives,
            self._negatives,
        )


class Cuts:
    """All cuts between different scores of a range, highest first, with the rates and the measure at each.

    ``tpr``, ``tnr`` and ``values`` have one entry per cut. The default range is all scores; the first cut then
    predicts no row positive and the last one all rows. Where the measure is not defined, its value is -inf.
    """

    def __init__(
        self,
        scores: NDArray[Any],
        signed_weights: NDArray[Any],
        measure: Measure,
        within: ScoreRange = _ALL_SCORES,
        margin_scale: float | None = 1.0,
        points: Points | None = None,
    ):
        if within is not _ALL_SCORES:
            low, high = (_at_least(bound, scores.dtype) for bound in (within.low, within.high))
            inside = np.flatnonzero((scores >= low) & (scores < high))
            scores, signed_weights = scores[inside], signed_weights[inside]
        order = np.argsort(scores)[::-1]
        self._ordered = scores[order]
        weights = signed_weights[order].astype(np.float64)
        # Cut k predicts the first k rows positive; only cuts between different scores are possible.
        inner = np.flatnonzero(self._ordered[1:] != self._ordered[:-1]) + 1
        self._at = np.concatenate([[0], inner, [scores.size]])
        found = within.true_positives + np.concatenate([[0.0], np.cumsum(np.maximum(weights, 0.0))])
        wrong = within.false_positives + np.concatenate([[0.0], np.cumsum(np.maximum(-weights, 0.0))])
        positives = float(found[-1]) if within.positives is None else within.positives
        negatives = float(wrong[-1]) if within.negatives is None else within.negatives
        self.tpr: NDArray[np.float64]
        self.tnr: NDArray[np.float64]
        self.tpr, self.tnr, self.prevalence = Rates.above_cuts(
            found[self._at], wrong[self._at], positives, negatives
        )
        self.values = _finite_values(measure, self.tpr, self.tnr, self.prevalence)
        # The ends of a range are between a score inside and a score outside, which is not known here.
        if within.high < math.inf:
            self.values[0] = -np.inf
        if within.low > -math.inf:
            self.values[-1] = -np.inf
        self._ranks = self.values
        if margin_scale is not None and measure.constraints(self.prevalence):
            if points is None:
                points = effective_points(signed_weights)
            self._ranks = constrained_ranks(
                self.values, measure, self.tpr, self.tnr, self.prevalence, points, margin_scale
            )

    def best(self, least_tpr: float = 0.0) -> BestThreshold:
        """Return the best cut with at least this TPR; of equally good cuts, the one nearest zero."""
        ranks = self._ranks if least_tpr <= 0.0 else np.where(self.tpr >= least_tpr, self._ranks, -np.inf)
        ties = np.flatnonzero(ranks >= ranks.max() - _TIE)
        thresholds = self.thresholds(ties)
        nearest = int(np.argmin(np.abs(thresholds)))
        chosen = int(ties[nearest])
        rates = Rates(float(self.tpr[chosen]), float(self.tnr[chosen]), self.prevalence)
        return BestThreshold(float(thresholds[nearest]), float(self.values[chosen]), rates)

    def thresholds(self, which: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the thresholds midway between the scores that these cuts separate."""
        at = self._at[which]
        last = self._ordered.size - 1
        highest, lowest = float(self._ordered[0]), float(self._ordered[last])
        beyond_highest = max(highest + 1.0, np.nextafter(highest, np.inf))
        beyond_lowest = min(lowest - 1.0, np.nextafter(lowest, -np.inf))
        above = np.where(at > 0, self._ordered[np.maximum(at - 1, 0)].astype(np.float64), beyond_highest)
        below = np.where(at <= last, self._ordered[np.minimum(at, last)].astype(np.float64), beyond_lowest)
        middle = below + 0.5 * (above - below)
        found: NDArray[np.float64] = np.where(middle < above, middle, below)  # no number between
        return found


def _at_least(bound: float, dtype: np.dtype[Any]) -> Any:
    """Return the smallest number of this type that is not below the bound, so that arrays keep their type."""
    with np.errstate(over="ignore"):
        near = dtype.type(bound)
    return near if np.float64(near) >= bound else np.nextafter(near, dtype.type(np.inf))


def _finite_values(
    measure: Measure, tpr: NDArray[np.float64], tnr: NDArray[np.float64], prevalence: float
) -> NDArray[np.float64]:
    values = np.array(measure.value(tpr, tnr, prevalence), dtype=np.float64)
    values[~np.isfinite(values)] = -np.inf
    return values


def constraint_slack(
    bounds: Iterable[Constraint],
    tpr: Any,
    tnr: Any,
    points: tuple[float, float],
    margin_scale: float = 1.0,
    *,
    in_doubt: bool = False,
) -> NDArray[np.float64]:
    """Return how far the rates keep the tightest bound beyond its margin, in standard errors.

    The result is infinity if there are no bounds. The standard error is that of the constraint's line in two
    binomial rates, each at least half a point away from 0 and 1, so that no rate counts as certain. Rates without
    true positives keep no constraint, because any precision could be claimed there. ``points`` are the positives
    and the negatives on which the rates were counted; ``margin_scale`` multiplies the margins.
    """
    tpr, tnr = np.asarray(tpr, dtype=np.float64), np.asarray(tnr, dtype=np.float64)
    tpr_variance, tnr_variance = _rate_variance(tpr, points[0]), _rate_variance(tnr, points[1])
    slack = np.full(np.broadcast_shapes(tpr.shape, tnr.shape), np.inf)
    for constraint in bounds:
        error = np.sqrt(constraint.on_tpr**2 * tpr_variance + constraint.on_tnr**2 * tnr_variance)
        rounding = 1e-12 * (abs(constraint.constant) + abs(constraint.on_tpr) + abs(constraint.on_tnr))
        excess = constraint.excess(tpr, tnr) + rounding
        margin = -_DOUBT if in_doubt else constraint.margin
        slack = np.minimum(slack, excess / error - margin_scale * margin)
    return np.where((tpr > 0) | np.isinf(slack), slack, -np.inf)


def constrained_ranks(
    values: NDArray[np.float64],
    measure: Measure,
    tpr: NDArray[np.float64],
    tnr: NDArray[np.float64],
    prevalence: float,
    points: tuple[float, float],
    margin_scale: float | None = 1.0,
) -> NDArray[np.float64]:
    """Return the values of the cuts that may be chosen, and -inf for others; without constraints, all may be
    chosen.

    Usually these are the cuts that keep the constraints by their margins. If that would cost more than a tenth
    of the measure's scale, penalties included, cuts that miss the constraints by at most one standard error are
    allowed too. If there are no such cuts, all are allowed, and the rank is how nearly they keep the constraints.

    ``margin_scale`` multiplies the margins; None ignores the constraints.
    """
    bounds = measure.constraints(prevalence)
    if margin_scale is None or not bounds:
        return values
    possible = values > -np.inf

    def best_of(kept: NDArray[np.bool_]) -> float:
        return float(values[kept].max()) if kept.any() else -np.inf

    slack = constraint_slack(bounds, tpr, tnr, points, margin_scale)
    for_sure = possible & (slack >= 0)
    doubtful = constraint_slack(bounds, tpr, tnr, points, margin_scale, in_doubt=True)
    perhaps = possible & (doubtful >= 0)
    useless, perfect = measure.scale(prevalence)
    if for_sure.any() and best_of(for_sure) >= best_of(perhaps) - _LARGEST_COST * (perfect - useless):
        return np.where(for_sure, values, -np.inf)
    if perhaps.any():
        return np.where(perhaps, values, -np.inf)
    near = np.where(possible, slack, -np.inf)
    return near if np.isfinite(near).any() else values


def _rate_variance(rate: NDArray[np.float64], points: float) -> NDArray[np.float64]:
    share = (points * rate + 0.5) / (points + 1.0)
    return share * (1.0 - share) / (points + 1.0)
