"""Decisions among many classes that keep bounds on single classes, with a confidence.

The highest score wins, after an offset per class. First, each class that must be found more often is raised to the
least offset at which enough of its rows are found. Each class that must be predicted less often, or with a higher
precision, is lowered. This repeats in turn until nothing changes. Raising one class only takes rows from the
others, so the offsets rise to the least that keep all recalls, if there are any: this solves the dual of the
linear program coordinate by coordinate. Then the offsets move, one by one, to the best value of the measure that
keeps the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts import effective_points, sums_by_class
from ..measures import Bound, ConstrainedClasses
from .blocks import blocks_of_rows, values_without_each_block
from .class_offsets import ClassScores, best_offsets
from .offsets import ClassGains, best_gains, calibration_lines
from .shares import ShareEnds

# The rows that certify the offsets also choose them: tests use only this share of the error, divided among at
# least this many tests. (One bound on 4 classes with all of the share was kept in 175 of 200 draws.)
_ERROR_SHARE_OF_CHOICE, _FEWEST_TESTS = 0.7, 3
_ROUNDS, _PATIENCE = 300, 30  # rounds of raising classes; rounds without progress towards the bounds
_ROUNDS_OF_MOVES = 4
_MOVED = 1 << 26  # rows times classes squared, up to which offsets are moved one by one
_MOST_ROWS = 1e9
_LEAST = 1e-12
_ROUNDING = 1e-9
_CUTS = 2000
_UNKEPT = 1e6  # the cost of a missed bound in a rank
_TOLD = 3  # how many missed bounds a message names


class BoundedRule(NamedTuple):
    """A rule for probabilities that keeps bounds on classes."""

    rule: ClassGains
    values: NDArray[np.float64]
    """The measure of the same rows, without each block in turn and, last, of all."""
    message: str | None
    """A message if the bounds cannot be guaranteed."""


class BoundedOffsets(NamedTuple):
    """The offsets on the scores of each class, and a message if they are not guaranteed to keep the bounds."""

    offsets: NDArray[np.float64]
    rank: float
    message: str | None


def bounded_gains(
    probabilities: NDArray[Any],
    codes: NDArray[np.intp],
    weights: NDArray[Any],
    measure: ConstrainedClasses,
    *,
    groups: NDArray[np.intp] | None = None,
) -> BoundedRule:
    """Return the rule with the best measure among those that keep its bounds, from out-of-fold probabilities."""
    slope, constants = calibration_lines(probabilities, codes, weights)
    n_classes = probabilities.shape[1]
    calibrated = ClassGains(slope, constants, np.ones((2, n_classes))).calibrated(probabilities)
    free = best_gains(probabilities, codes, weights, measure.measure, groups=groups).rule
    logs = np.log(np.maximum(calibrated, _LEAST))
    starts = [np.zeros(n_classes)]
    if free.gains.shape[0] == 2 and (free.gains[0] > 0).all() and not free.gains[1].any():
        starts.append(np.log(free.gains[0]))
    found = bounded_offsets(ClassScores(logs, codes, weights), measure, groups=groups, starts=starts)
    rule = ClassGains(
        slope, constants, np.array([np.exp(found.offsets - found.offsets.max()), np.zeros(n_classes)])
    )
    if len(starts) == 1 and free.offsets is None:  # the best rule without bounds has another form
        expected = ClassScores(free.expected(probabilities).astype(np.float64), codes, weights)
        other = bounded_offsets(expected, measure, groups=groups, starts=starts, balanced=False)
        if other.rank > found.rank:
            found, gains = other, free.gains + other.offsets
            gains = np.array([free.gains[0], gains[1]]) if gains.shape[0] == 2 else gains
            rule = ClassGains(free.slope, free.constants, gains)
    blocks, predicted = blocks_of_rows(codes, groups), rule.predict(probabilities)
    values = values_without_each_block(codes, predicted, weights, blocks, n_classes, measure.measure)
    return BoundedRule(rule, values, found.message)


def bounded_offsets(
    rows: ClassScores,
    measure: ConstrainedClasses,
    *,
    groups: NDArray[np.intp] | None = None,
    starts: list[NDArray[np.float64]] | None = None,
    balanced: bool = True,
) -> BoundedOffsets:
    """Return the offsets with the best measure among those that keep its bounds with their confidence.

    If there are none, return the offsets that keep the bounds by their margins, or come nearest, and a message.
    Rows of one of ``groups`` count as one. ``balanced`` adds a start with equal class weights, for logarithms of
    probabilities.
    """
    problem = _ClassProblem(rows, measure, groups)
    starts = list(starts or [np.zeros(rows.scores.shape[1])])
    if balanced:
        starts.append(-np.log(np.maximum(problem.totals, _LEAST)))
    by_promise = [problem.best_from(start, promised=True) for start in starts]
    offsets, rank = max(by_promise, key=lambda one: one[1])
    if rank >= -_UNKEPT / 2:
        return BoundedOffsets(offsets, rank, None)
    if measure.confidence is None:
        return BoundedOffsets(offsets, rank, problem.message(offsets))
    offsets, rank = max((problem.best_from(one, promised=False) for one in starts), key=lambda one: one[1])
    return BoundedOffsets(offsets, rank - 2.0 * _UNKEPT, problem.message(offsets))


@dataclass(frozen=True)
class _Ranked:
    """A ranking of tables: by the measure if they keep the bounds, otherwise by how nearly they keep them."""

    problem: _ClassProblem
    promised: bool

    by_class: ClassVar[bool] = False

    def value(self, table: NDArray[Any]) -> Any:
        slack = self.problem.slack(table, promised=self.promised)
        values = np.asarray(self.problem.measure.measure.value(table), dtype=np.float64)
        return np.where(slack >= 0, values, _UNKEPT * (slack - 1.0))


class _ClassProblem:
    """Rows of many classes, and the bounds that their decisions must keep."""

    def __init__(self, rows: ClassScores, measure: ConstrainedClasses, groups: NDArray[np.intp] | None):
        self.rows, self.measure = rows, measure
        self.n_classes = rows.scores.shape[1]
        self.bounds = measure.class_bounds(self.n_classes)
        weights = rows.weights.astype(np.float64)
        self.totals = sums_by_class(rows.codes, weights, self.n_classes)
        # For each class, the sum of squared weights that corresponds to its effective number of rows.
        self._per_weight = self._squares(weights, groups) / np.maximum(self.totals, 1e-300)
        confidence = measure.confidence
        self._error = (
            None
            if confidence is None
            else (1.0 - confidence) * _ERROR_SHARE_OF_CHOICE / max(len(self.bounds), _FEWEST_TESTS)
        )
        self._classes = np.array([bound.numerator[1] for bound in self.bounds])
        self._levels = np.array([bound.level for bound in self.bounds])
        self._kinds = np.array([_kind(bound) for bound in self.bounds])
        self._least = {promised: self._least_shares(promised=promised) for promised in (True, False)}

    def _squares(self, weights: NDArray[np.float64], groups: NDArray[np.intp] | None) -> NDArray[np.float64]:
        if groups is None:
            return sums_by_class(self.rows.codes, weights**2, self.n_classes)
        cells = np.unique(groups, return_inverse=True)[1] * self.n_classes + self.rows.codes
        summed = np.bincount(cells, weights)
        return sums_by_class(np.arange(summed.size) % self.n_classes, summed**2, self.n_classes)

    def _shares(self, tables: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounded shares of tables [..., true, predicted], [..., bound], and their effective rows."""
        per_weight, of_bound = self._per_weight, self._classes
        right = np.diagonal(tables, axis1=-2, axis2=-1)
        true, predicted = tables.sum(axis=-1), tables.sum(axis=-2)
        predicted_squares = np.einsum("...tp,t->...p", tables, per_weight)
        everything, every_square = true.sum(axis=-1, keepdims=True), true @ per_weight
        part = np.where(self._kinds == "alert_rate", predicted[..., of_bound], right[..., of_bound])
        kinds = [self._kinds == "recall", self._kinds == "precision"]
        whole = np.select(kinds, [true[..., of_bound], predicted[..., of_bound]], everything)
        squares = [(true * per_weight)[..., of_bound], predicted_squares[..., of_bound]]
        square = np.select(kinds, squares, every_square[..., np.newaxis])
        return part / np.maximum(whole, 1e-300), effective_points(whole, square)

    def ends(self, tables: NDArray[Any], times: float = 1.0) -> ShareEnds:
        """Return the intervals of the shares of all bounds, [..., bound]."""
        share, rows = self._shares(tables)
        return ShareEnds.of_rows(share, times * rows, self.measure.margin, self._error)

    def _kept_by(self, ends: ShareEnds) -> NDArray[np.float64]:
        """Return the margin by which each share certainly keeps its bound."""
        return np.where(self._kinds == "alert_rate", self._levels - ends.high, ends.low - self._levels)

    def _least_shares(self, *, promised: bool) -> NDArray[np.float64]:
        """Return the least share that keeps each bound; the largest for an alert rate; NaN for a precision."""
        rows = self._shares(np.diag(self.totals))[1]
        low, high = np.zeros(rows.size), np.ones(rows.size)
        for _ in range(50):
            middle = 0.5 * (low + high)
            ends = ShareEnds.of_rows(middle, rows, self.measure.margin, self._error if promised else None)
            up = np.where(self._kinds == "alert_rate", self._kept_by(ends) >= 0, self._kept_by(ends) < 0)
            low, high = np.where(up, middle, low), np.where(up, high, middle)
        # With too few rows, no share is enough.
        high, low = np.where(high > 1.0 - _ROUNDING, 2.0, high), np.where(low < _ROUNDING, -1.0, low)
        return np.select([self._kinds == "recall", self._kinds == "alert_rate"], [high, low], np.nan)

    def slack(self, tables: NDArray[Any], *, promised: bool) -> NDArray[np.float64]:
        """Return the margin by which the tightest bound is certainly kept."""
        share, rows = self._shares(tables)
        least = self._least[promised]
        found = np.where(self._kinds == "alert_rate", least - share, share - least)
        unknown = np.isnan(least)
        if unknown.any():
            error = self._error if promised else None
            ends = ShareEnds.of_rows(share[..., unknown], rows[..., unknown], self.measure.margin, error)
            found[..., unknown] = ends.low - self._levels[unknown]
        tightest: NDArray[np.float64] = found.min(axis=-1) + _ROUNDING
        return tightest

    def best_from(self, start: NDArray[np.float64], *, promised: bool) -> tuple[NDArray[np.float64], float]:
        """Return the best offsets found from this start, and their rank."""
        ranked = _Ranked(self, promised)
        offsets = self._feasible(start, promised=promised)
        if self.rows.scores.size * self.n_classes <= _MOVED:
            scores = self.rows.plus(offsets)
            offsets = offsets + best_offsets(scores, ranked, rounds=_ROUNDS_OF_MOVES)
        return offsets, float(ranked.value(self.rows.plus(offsets).table()))

    def _feasible(self, start: NDArray[np.float64], *, promised: bool) -> NDArray[np.float64]:
        """Return offsets that keep the bounds, raised and lowered from the start, or the nearest offsets."""
        offsets, best, most, since = start.copy(), start, -np.inf, 0
        recalls, others = (np.flatnonzero(one) for one in (self._kinds == "recall", self._kinds != "recall"))
        for _ in range(_ROUNDS):
            slack = float(self.slack(self.rows.plus(offsets).table(), promised=promised))
            since = 0 if slack > most + 1e-9 else since + 1
            if slack > most:
                best, most = offsets.copy(), slack
            if slack >= 0 or since > _PATIENCE:
                break
            offsets = self._raised(offsets, recalls, self._least[promised])
            for bound in others:
                offsets = self._lowered(offsets, int(bound), promised=promised)
        return best

    def _raised(
        self, offsets: NDArray[np.float64], recalls: NDArray[np.intp], least: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return offsets at which enough rows of each class would be found if no other class were raised."""
        scores, codes, weights = self.rows.plus(offsets)
        places = np.arange(codes.size)
        own = scores[places, codes]
        rivals = scores.copy()
        rivals[places, codes] = -np.inf
        leads = own - rivals.max(axis=1)
        found = offsets.copy()
        for bound in recalls:
            k = self._classes[bound]
            mine = np.flatnonzero(codes == k)
            order = mine[np.argsort(-leads[mine], kind="stable")]
            enough = float(least[bound] * self.totals[k]) * (1.0 - _ROUNDING)
            reached = int(np.searchsorted(np.cumsum(weights[order], dtype=np.float64), enough))
            lead = float(leads[order[min(reached, order.size - 1)]])
            if lead <= 0.0:
                found[k] += _just_above(-lead)
        return found

    def _lowered(self, offsets: NDArray[np.float64], bound: int, *, promised: bool) -> NDArray[np.float64]:
        """Return offsets with one class lowered until its precision, or its share of the rows, keeps its bound."""
        k = self._classes[bound]
        scores, codes, weights = self.rows.plus(offsets)
        others = scores.copy()
        others[:, k] = -np.inf
        leads = scores[:, k] - others.max(axis=1)
        order = np.argsort(-leads, kind="stable")
        order = order[: int(np.count_nonzero(leads > 0))]
        if not order.size:
            return offsets
        cuts = np.unique(np.linspace(0, order.size - 1, _CUTS).astype(np.intp))  # the last row that is predicted
        predicted, squares = (
            np.cumsum(weights[order] * one, dtype=np.float64)[cuts]
            for one in (np.ones(order.size), self._per_weight[codes[order]])
        )
        if self._kinds[bound] == "precision":
            right = np.cumsum(weights[order] * (codes[order] == k), dtype=np.float64)[cuts]
            error = self._error if promised else None
            rows = effective_points(predicted, squares)
            kept = (
                ShareEnds.of_rows(right / predicted, rows, self.measure.margin, error).low >= self._levels[bound]
            )
        else:
            kept = predicted / self.totals.sum() <= self._least[promised][bound]
        if kept[-1] or not kept.any():
            return offsets
        last = int(cuts[np.flatnonzero(kept)[-1]])
        found = offsets.copy()
        found[k] -= 0.5 * float(leads[order[last]] + leads[order[last + 1]])
        return found

    def message(self, offsets: NDArray[np.float64]) -> str:
        """Return a message, with numbers, on the bounds that cannot be guaranteed at these offsets."""
        table, measure = self.rows.plus(offsets).table(), self.measure
        ends = self.ends(table)
        kept = self._kept_by(ends)
        missed = [int(one) for one in np.argsort(kept) if kept[one] < 0]
        sure = "" if measure.confidence is None else f" with a confidence of {measure.confidence:g}"
        said = []
        for one in missed[:_TOLD]:
            bound = self.bounds[one]
            how, can = ("least", ends.low[one]) if bound.at_least else ("most", ends.high[one])
            said.append(
                f"{measure.named(bound)} is {ends.share[one]:.3g} here, at {how} {float(can):.3g} can be "
                f"promised, and at {how} {bound.level:g} is asked"
            )
        more = f"; and {len(missed) - _TOLD} more" if len(missed) > _TOLD else ""
        return (
            f"{measure.label}: no useful decisions keep all bounds{sure}. At the nearest, {'; '.join(said)}"
            f"{more}. {self._advice(table, missed)}"
        )

    def _advice(self, table: NDArray[np.float64], missed: list[int]) -> str:
        times = 1.0
        while (self._kept_by(self.ends(table, times)) < 0).any():
            times *= 1.1
            if times * self.totals.sum() > _MOST_ROWS:
                return "Ask for less, or give the model more rows or columns."
        rows = self.totals[self._classes] / np.maximum(self._per_weight[self._classes], 1e-300)
        rarest = min(missed, key=lambda one: float(rows[one]))
        k = int(self._classes[rarest])
        label = k if self.measure.classes is None else self.measure.classes[k]
        return (
            f"About {math.ceil(times * rows[rarest]):,} rows of {label!r} would be needed (there are "
            f"{rows[rarest]:,.0f}); or ask for less."
        )


def _kind(bound: Bound) -> str:
    if bound.numerator[0] is None:
        return "alert_rate"
    return "recall" if bound.denominator[1] is None else "precision"


def _just_above(number: float) -> float:
    return float(np.nextafter(number, np.inf)) + 1e-9 * max(abs(number), 1e-3)
