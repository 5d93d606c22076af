"""One cut per group on the same scores: the best measure of all rows, with bounds on groups kept."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts import Counts
from ..measures import BalancedAccuracy, Bound, Gap, Measure
from .cuts import Cuts, Points, effective_points
from .scores import Scores
from .shares import ShareEnds, gap_room, kept_by, room

_CUTS = 400  # candidates per group, spread evenly over its TPR, its FPR and its alerts
# The search puts the rates of all groups within windows of these widths, in parts of the allowed gap, and uses
# these weights of a positive relative to a negative.
_LEVELS, _WIDTHS = {1: 80, 2: 24, 3: 10}, (0.9, 0.65, 0.4, 0.2, 0.05)
_ODDS = np.geomspace(1e-3, 1e3, 61)
_ROUNDS = 3  # rounds of moving one group's cut after the other
_MOST_ROWS = 1e9
# The rows that certify the cuts also choose them, among many pairs: tests use only this share of the error. (All
# of it spent, a gap in TPR was kept in 86 of 100 simulated draws where 90 were asked for.)
_ERROR_SHARE_OF_CHOICE = 0.7

Choice = NDArray[np.intp]
"""The index of each group's cut: (n_choices, n_groups)."""


class GroupDecision(NamedTuple):
    """The cut of each group's scores, and the counts of the groups there."""

    names: NDArray[Any]
    thresholds: NDArray[np.float64]
    counts: Counts
    """The counts on out-of-fold scores: [group, true, predicted]."""
    points: list[Points]
    """Effective points of both classes in each group."""
    message: str | None = None
    """A message if the bounds cannot be guaranteed."""


def decide_groups(scores: Scores, measure: Measure, points: Points, error_share: float) -> GroupDecision:
    """Choose the cuts with the best measure of all rows among those at which every bound is certified.

    With ``measure.group_cuts`` each group has its own cut, otherwise all groups have the same. ``points`` are the
    effective points of all rows, and ``error_share`` is the share of a bound's error that tests may use. If
    nothing can be certified, return the best cuts that keep the bounds by their margins, or the nearest cuts, and
    a message.
    """
    assert scores.sensitive is not None
    names = scores.sensitive.names
    together = not has_group_cuts(measure)
    common = _thresholds(scores.values, scores.signed_weights) if together else None
    curves = _curves(scores, points, common)
    problem = _GroupProblem(curves, measure, error_share, together=together)
    chosen, certified = problem.best_choice()
    found = _decision_at(curves, chosen, names)
    return found if certified else found._replace(message=problem.message(chosen, names))


def groups_at(scores: Scores, threshold: float, points: Points) -> GroupDecision:
    """Return the counts and points of the groups at one threshold for all rows."""
    assert scores.sensitive is not None
    names = scores.sensitive.names
    return _decision_at(_curves(scores, points, np.array([threshold])), np.zeros(names.size, dtype=np.intp), names)


def _decision_at(curves: list[_Curve], chosen: Choice, names: NDArray[Any]) -> GroupDecision:
    pairs = list(zip(curves, chosen, strict=True))
    weights, squares = (
        np.stack(one) for one in ([c.tables[k] for c, k in pairs], [c.squares[k] for c, k in pairs])
    )
    thresholds = np.array([curve.thresholds[k] for curve, k in pairs])
    return GroupDecision(names, thresholds, Counts(weights, squares), [curve.points for curve in curves])


def has_group_cuts(measure: Measure) -> bool:
    """Return whether each group has its own cut under this measure, so that predictions need the groups."""
    return bool(measure.group_bounds) and getattr(measure, "group_cuts", True)


class _Curve(NamedTuple):
    """The candidate cuts of a group, highest first, and its table of counts at each cut."""

    thresholds: NDArray[np.float64]
    tables: NDArray[np.float64]
    squares: NDArray[np.float64]
    """The sums of squared weights: weight^2 / square is the effective number of rows."""
    points: Points


def _curves(scores: Scores, points: Points, common: NDArray[np.float64] | None) -> list[_Curve]:
    """Return the curve of each group, at ``common`` thresholds if given."""
    assert scores.sensitive is not None
    of_weights = effective_points(scores.signed_weights)
    # Dependent rows, and rows scored several times, carry less information in every group.
    shares = [min(given / max(own, 1e-300), 1.0) for given, own in zip(points, of_weights, strict=True)]
    found = []
    for code in range(scores.sensitive.names.size):
        mine = scores.sensitive.codes == code
        values, weights = scores.values[mine], scores.signed_weights[mine].astype(np.float64)
        thresholds = _thresholds(values, weights) if common is None else common
        positives, negatives = effective_points(weights)
        own = positives * shares[0], negatives * shares[1]
        found.append(_Curve(thresholds, *_tables(values, weights, thresholds, own), own))
    return found


def _thresholds(values: NDArray[Any], weights: NDArray[Any]) -> NDArray[np.float64]:
    cuts = Cuts(values, weights, BalancedAccuracy(), margin_scale=None)
    tpr, fpr, p = cuts.tpr, 1.0 - cuts.tnr, cuts.prevalence
    progress = tpr + fpr + p * tpr + (1.0 - p) * fpr
    places = np.searchsorted(progress, np.linspace(0.0, progress[-1], _CUTS))
    return cuts.thresholds(np.unique(np.minimum(places, progress.size - 1)))


def _tables(
    values: NDArray[Any], weights: NDArray[np.float64], thresholds: NDArray[np.float64], points: Points
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the tables at these thresholds, and the sums of squared weights for this many effective points."""
    order = np.argsort(values)
    below = np.searchsorted(values[order].astype(np.float64), thresholds, side="right")
    tables = np.empty((thresholds.size, 2, 2))
    squares = np.empty_like(tables)
    for true, signed, number in ((0, -weights, points[1]), (1, weights, points[0])):
        summed = np.concatenate([[0.0], np.cumsum(np.maximum(signed[order], 0.0))])
        tables[:, true, 0], tables[:, true, 1] = summed[below], summed[-1] - summed[below]
        squares[:, true] = tables[:, true] * (summed[-1] / max(number, 1e-300))
    return tables, squares


class _GroupProblem:
    """Bounds on the tables of all groups, and the measure of their sum."""

    def __init__(self, curves: list[_Curve], measure: Measure, error_share: float, *, together: bool):
        self._curves, self._measure, self._together = curves, measure, together
        self._bounds, self._group_bounds = measure.bounds, measure.group_bounds
        groups = len(curves)
        tests = len(self._bounds) + sum(
            math.comb(groups, 2) if isinstance(one, Gap) else groups for one in self._group_bounds
        )
        self._error = _ERROR_SHARE_OF_CHOICE * error_share / max(tests, 1)
        self._promised = [self._ends(one, self._error_of(one)) for one in self._group_bounds]
        self._by_margin = [self._ends(one, None) for one in self._group_bounds]
        self._totals = np.sum([curve.tables[0].sum(axis=1) for curve in curves], axis=0)

    def _error_of(self, bound: Bound | Gap) -> float | None:
        return None if bound.confidence is None else (1.0 - bound.confidence) * self._error

    def _ends(self, bound: Bound | Gap, error: float | None) -> list[ShareEnds]:
        return [ShareEnds.of(bound, curve.tables, curve.squares, error) for curve in self._curves]

    def best_choice(self) -> tuple[Choice, bool]:
        """Return the cut of each group, and whether all bounds are certified there."""
        candidates = self._candidates()
        values = self._values(candidates)
        for promised in (True, False):
            slack = self._slack(candidates, promised=promised)
            ranks = np.where(slack >= 0, values, -np.inf)
            if np.isfinite(ranks).any():
                best = self._improved(candidates[int(np.argmax(ranks))], promised=promised)
                return best, bool(promised or self._slack(best[np.newaxis], promised=True)[0] >= 0)
        slack = np.where(np.isfinite(values), slack, -np.inf)
        near = np.flatnonzero(slack >= slack.max() - 1e-9)
        return candidates[near[int(np.argmax(values[near]))]], False

    def _candidates(self) -> Choice:
        if self._together:
            return np.repeat(np.arange(self._curves[0].thresholds.size)[:, np.newaxis], len(self._curves), axis=1)
        windows = list(self._windows())
        found = []
        for odds in _ODDS:
            gains = [
                odds * curve.tables[:, 1, 1] / self._totals[1] - curve.tables[:, 0, 1] / self._totals[0]
                for curve in self._curves
            ]
            for masks in windows:
                ranks = (np.where(mask, gain, -np.inf) for mask, gain in zip(masks, gains, strict=True))
                found.append(np.stack([one.argmax(axis=1) for one in ranks], axis=1))
        return np.unique(np.concatenate(found), axis=0)

    def _windows(self) -> Iterator[list[NDArray[np.bool_]]]:
        """Yield masks of the cuts of each group, with a row per window for the rates of all groups."""
        gaps = [k for k, one in enumerate(self._group_bounds) if isinstance(one, Gap)]
        allowed = [np.ones(curve.thresholds.size, dtype=np.bool_) for curve in self._curves]
        for k, bound in enumerate(self._group_bounds):
            if isinstance(bound, Bound):
                kept = [kept_by(bound, ends) >= 0 for ends in self._promised[k]]
                allowed = [a & b if (a & b).any() else a for a, b in zip(allowed, kept, strict=True)]
        if not gaps:
            yield [mask[np.newaxis] for mask in allowed]
            return
        places = np.linspace(0.0, 1.0, _LEVELS[len(gaps)])
        levels = [np.quantile(np.concatenate([ends.share for ends in self._by_margin[k]]), places) for k in gaps]
        for width in _WIDTHS:
            masks = []
            for g, mask in enumerate(allowed):
                of_gaps = []
                for k, begins in zip(gaps, levels, strict=True):
                    share = self._by_margin[k][g].share
                    end = begins + width * self._group_bounds[k].level
                    of_gaps.append(
                        (share >= begins[:, np.newaxis] - 1e-12) & (share <= end[:, np.newaxis] + 1e-12)
                    )
                every = [np.logical_and.reduce(one) for one in itertools.product(*of_gaps)]
                masks.append(np.array(every) & mask)
            possible = np.logical_and.reduce([mask.any(axis=1) for mask in masks])
            if possible.any():
                yield [mask[possible] for mask in masks]

    def _improved(self, chosen: Choice, *, promised: bool) -> Choice:
        """Return the choice after moving one group's cut after the other to the best that keeps the bounds."""
        if self._together:
            return chosen
        for _ in range(_ROUNDS):
            before = chosen
            for g, curve in enumerate(self._curves):
                tried = np.repeat(chosen[np.newaxis], curve.thresholds.size, axis=0)
                tried[:, g] = np.arange(curve.thresholds.size)
                ranks = np.where(self._slack(tried, promised=promised) >= 0, self._values(tried), -np.inf)
                best = int(np.argmax(ranks))
                chosen = tried[best] if ranks[best] > ranks[chosen[g]] + 1e-12 else chosen
            if (chosen == before).all():
                break
        return chosen

    def _sum(self, choices: Choice, *, squares: bool = False) -> NDArray[np.float64]:
        """Return the tables of all rows together."""
        found: NDArray[np.float64] = np.sum(
            [(one.squares if squares else one.tables)[choices[:, g]] for g, one in enumerate(self._curves)], axis=0
        )
        return found

    def _values(self, choices: Choice) -> NDArray[np.float64]:
        rates = Counts(self._sum(choices)).rates
        values = np.asarray(self._measure.value(*rates), dtype=np.float64)
        useful = np.isfinite(values) & (np.asarray(rates.tpr) > 0)
        return np.where(useful, values, -np.inf)

    def _slack(self, choices: Choice, *, promised: bool) -> NDArray[np.float64]:
        """Return how far the tightest bound is kept: with its confidence, or by its margin only."""
        slack = np.full(choices.shape[0], np.inf)
        ends = self._promised if promised else self._by_margin
        for bound, of_groups in zip(self._group_bounds, ends, strict=True):
            here = [one.at(choices[:, g]) for g, one in enumerate(of_groups)]
            slack = np.minimum(slack, room(bound, here))
        if self._bounds:
            tables, squares = self._sum(choices), self._sum(choices, squares=True)
            for bound in self._bounds:
                one = ShareEnds.of(bound, tables, squares, self._error_of(bound) if promised else None)
                slack = np.minimum(slack, kept_by(bound, one))
        return slack

    def message(self, chosen: Choice, names: NDArray[Any]) -> str:
        """Return a message on the bounds that cannot be guaranteed at these cuts."""
        in_groups = [f"{one.label}{' in every group' * isinstance(one, Bound)}" for one in self._group_bounds]
        wanted = [*in_groups, *(one.label for one in self._bounds)]
        sure = [one.confidence for one in (*self._group_bounds, *self._bounds) if one.confidence is not None]
        how = f" with a confidence of {max(sure):g}" if sure else ""
        said = [self._said(bound, chosen, names) for bound in self._group_bounds]
        return (
            f"{self._measure.label}: no useful thresholds keep {' and '.join(wanted)}{how}. At the nearest, "
            f"{' '.join(said)} {self._advice(chosen, names)}"
        )

    def _said(self, bound: Bound | Gap, chosen: Choice, names: NDArray[Any]) -> str:
        here = self._at(bound, chosen, 1.0)
        shares = ", ".join(f"{one.share[0]:.3g} in {name}" for name, one in zip(names, here, strict=True))
        if isinstance(bound, Gap):
            promised = f"a difference of at most {bound.level - float(gap_room(bound, here)[0]):.3g}"
        elif bound.at_least:
            promised = f"at least {min(float(one.low[0]) for one in here):.3g} in every group"
        else:
            promised = f"at most {max(float(one.high[0]) for one in here):.3g} in every group"
        return f"the {bound.kind} is {shares}, and {promised} can be promised."

    def _at(self, bound: Bound | Gap, chosen: Choice, times: float) -> list[ShareEnds]:
        return [
            ShareEnds.of(bound, curve.tables[[k]], curve.squares[[k]], self._error_of(bound), times)
            for curve, k in zip(self._curves, chosen, strict=True)
        ]

    def _advice(self, chosen: Choice, names: NDArray[Any]) -> str:
        """Return text that names the group that needs more rows."""
        times = 1.0
        while not self._enough(chosen, times):
            times *= 1.1
            if times * min(sum(one.points) for one in self._curves) > _MOST_ROWS:
                return "Ask for less, or give the model more rows or columns."
        least = [min(curve.points) for curve in self._curves]
        name, points = str(names[int(np.argmin(least))]), self._curves[int(np.argmin(least))].points
        return (
            f"About {times:.2g} times as many rows would be needed, first of all of {name} (there are "
            f"{points[0]:,.0f} positives and {points[1]:,.0f} negatives); or ask for less."
        )

    def _enough(self, chosen: Choice, times: float) -> bool:
        if any(room(bound, self._at(bound, chosen, times))[0] < 0 for bound in self._group_bounds):
            return False
        tables, squares = self._sum(chosen[np.newaxis]), self._sum(chosen[np.newaxis], squares=True)
        return all(
            kept_by(bound, ShareEnds.of(bound, tables, squares, self._error_of(bound), times))[0] >= 0
            for bound in self._bounds
        )
