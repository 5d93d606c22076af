"""Scores as probabilities: a rising curve of log odds, as flexible as out-of-fold scores justify."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import chdtri

from ..kernels import mean_and_spread
from .cuts import ScoreBins
from .newton import curvature_of, log_loss_of, newton, only_free, platt_targets, solvable, usual_log_odds

_BINS = _MANY_SCORES = 2048
_SAMPLED = 1 << 14  # scores of a class that show their range
_REACH = 6.0  # standard deviations from the mean of a class
_GROUPS = 200
_KNOTS = 15
_POINTS_PER_KNOT = 5.0  # of the rarer class
_LEAST_SLOPE = 0.01  # log odds per spread of the scores; a curve must rise
_STIFFNESS = 10.0 ** np.arange(2.0, -7.0, -1.5)  # per point of the rarer class; the first gives almost a line
_NEWTON_STEPS, _TELLS = 50, 1e-6  # in log likelihood: smaller differences are ignored
_RIDGE = 1e-3  # so that classes that scores separate have finite odds


class Calibration(NamedTuple):
    """A rising curve from scores to log odds of the positive class: straight lines that meet at knots.

    At score s the log odds are constant + slope s + sum_k gain_k (max(s - knot_k, 0) - max(-knot_k, 0)). At the
    cut, where s = 0, they are the constant. Without knots the curve is Platt's line.
    """

    slope: float
    constant: float
    knots: tuple[float, ...] = ()
    gains: tuple[float, ...] = ()
    """The increase of the slope at each knot."""

    @classmethod
    def of_numbers(cls, numbers: NDArray[np.float64]) -> Calibration:
        """Return the curve of a row of ``calibration_``: slope, constant, and a knot and its gain in turn."""
        slope, constant, *more = numbers.tolist()
        return cls(slope, constant, tuple(more[::2]), tuple(more[1::2]))

    def log_odds(self, scores: Any) -> Any:
        scores = np.asarray(scores, dtype=np.float64)
        odds = self.slope * scores + self.constant
        for knot, gain in zip(self.knots, self.gains, strict=True):
            odds = odds + gain * (np.maximum(scores - knot, 0.0) - max(-knot, 0.0))
        return odds

    def of_the_other_class(self) -> Calibration:
        """Return the log odds of the negative class, for scores with the opposite sign."""
        knots, gains = tuple(-knot for knot in self.knots), tuple(-gain for gain in self.gains)
        return Calibration(self.slope - sum(gains), -self.constant, knots, gains)


def stacked(curves: Sequence[Calibration]) -> NDArray[np.float64]:
    """Return ``calibration_``: a row of numbers per curve, padded with knots of gain 0."""
    found = np.zeros((len(curves), 2 + 2 * max(len(one.knots) for one in curves)))
    for row, one in zip(found, curves, strict=True):
        n_knots = len(one.knots)
        row[:2] = one[:2]
        row[2 : 2 + 2 * n_knots : 2], row[3 : 3 + 2 * n_knots : 2] = one.knots, one.gains
    return found


def calibrated(scores: NDArray[Any], signed_weights: NDArray[Any], points: float, cut: float) -> Calibration:
    """Return the calibration of scores less the cut, from Platt's line to a free curve.

    Knots are where both classes have scores, and between. Changes of slope are penalized. The penalty with the
    best log likelihood is used, minus the gain of equally many useless parameters in one case of twenty.
    ``points`` is the effective number of points of the scores; rows scored several times count once.
    """
    rows = GroupedScores.of(scores, signed_weights, points)
    spread = rows.spread()
    places, weights = (rows.places - cut) / spread, rows.positive + rows.negative
    rarer = min(float(rows.positive.sum()), float(rows.negative.sum()))
    number = int(np.clip(rarer / _POINTS_PER_KNOT, 0, _KNOTS))
    knots = np.unique(np.interp(np.arange(1, number + 1) / (number + 1), rows.order(), places))

    # The length of each line between the cut and a score: its slope is the coefficient.
    low, high = np.append(-np.inf, knots), np.append(knots, np.inf)
    lengths = np.clip(places[:, np.newaxis], low, high) - np.clip(0.0, low, high)
    columns = np.column_stack([lengths, np.ones(places.size)])
    least = np.append(np.full(low.size, _LEAST_SLOPE), -np.inf)
    bends = np.diff(np.eye(low.size, least.size), axis=0)
    targets = platt_targets(rows.positive, rows.negative)
    found = np.append(np.ones(low.size), usual_log_odds(rows.positive, rows.negative))
    best, best_value = found, np.inf
    for stiffness in _STIFFNESS if knots.size else _STIFFNESS[:1]:
        penalty = stiffness * rarer * (bends.T @ bends)
        found = newton(columns, found, weights, targets, penalty, least)
        odds = columns @ found
        curvature = curvature_of(columns, weights, odds)
        free = found > least + 1e-9
        matrix = only_free(free, solvable(curvature + penalty))
        parameters = np.trace(np.linalg.solve(matrix, curvature * free[:, np.newaxis]))
        value = log_loss_of(weights, targets, odds) + worth_of(1) * float(parameters)
        if value < best_value:
            best, best_value = found, value
        elif value > best_value + worth_of(2):
            break
    slopes = best[:-1] / spread
    gains = np.diff(slopes)
    return Calibration(float(slopes[0]), float(best[-1]), tuple((knots * spread).tolist()), tuple(gains.tolist()))


def worth_of(parameters: int) -> float:
    """Return the log likelihood that this many useless parameters gain in one case of twenty."""
    return 0.5 * float(chdtri(parameters, 0.05))


class GroupedScores(NamedTuple):
    """A few hundred sorted scores that represent all scores, with the weight of each class at each."""

    places: NDArray[np.float64]
    positive: NDArray[np.float64]
    negative: NDArray[np.float64]

    @classmethod
    def of(cls, scores: NDArray[Any], signed_weights: NDArray[Any], points: float) -> GroupedScores:
        """Return scores with weights that add up to ``points``."""
        if scores.size > _MANY_SCORES:
            bins = bins_around(scores, signed_weights)
            weights = bins.empty()
            bins.add(scores, signed_weights, weights)
            occupied = np.flatnonzero(weights.any(axis=0))
            places, weights = bins.low + bins.width * (occupied.astype(np.float64) + 0.5), weights[:, occupied]
        else:
            places, where = np.unique(scores.astype(np.float64), return_inverse=True)
            weights = np.array([np.bincount(where, np.maximum(side * signed_weights, 0.0)) for side in (-1, 1)])
        negative, positive = weights * (max(points, 2.0) / weights.sum())
        rows = cls(places, positive, negative)
        return rows if places.size <= _GROUPS else rows._grouped()

    def _grouped(self) -> GroupedScores:
        share = self._share()
        group = np.minimum((self.order() * _GROUPS).astype(np.intp), _GROUPS - 1)
        sums = np.array([np.bincount(group, one) for one in (share, share * self.places, *self[1:])])
        total, places, positive, negative = sums[:, sums[0] > 0]
        return GroupedScores(places / total, positive, negative)

    def _share(self) -> Any:
        """The share of each score, with equal weight on both classes."""
        return sum(0.5 * side / max(float(side.sum()), 1e-300) for side in self[1:])

    def spread(self) -> float:
        share = self._share()
        return max(float(np.sqrt(share @ (self.places - share @ self.places) ** 2)), 1e-12)

    def order(self) -> NDArray[np.float64]:
        """The position of each score from 0 to 1: half by rank, with equal weight on both classes, half by score.

        The score counts between the medians of the classes: there the odds change, even if few rows are there.
        """
        ranks = np.array([(np.cumsum(one) - 0.5 * one) / max(float(one.sum()), 1e-300) for one in self[1:]])
        low, high = sorted(self.places[min(int(np.searchsorted(rank, 0.5)), rank.size - 1)] for rank in ranks)
        by_score = np.clip((self.places - low) / max(high - low, 1e-300), 0.0, 1.0)
        found: NDArray[np.float64] = 0.5 * ranks.mean(axis=0) + 0.5 * by_score
        return found


def bins_around(scores: NDArray[Any], signed_weights: NDArray[Any]) -> ScoreBins:
    """Return bins around the scores of each class: rare rows may score far from all others."""
    ends = []
    for mine in (signed_weights > 0, signed_weights < 0):
        which = np.flatnonzero(mine)
        some = scores[which[:: 1 + which.size // _SAMPLED]] if which.size else scores
        mean, deviation = mean_and_spread(some)
        ends += [mean - _REACH * deviation, mean + _REACH * deviation]
    return ScoreBins(min(ends), (max(ends) - min(ends) + 1e-30) / _BINS, _BINS)


def class_calibrations(
    scores: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[Any]
) -> NDArray[np.float64]:
    """Return a line per class, all with one slope, whose softmax has the least log loss.

    The lines have constants if these reduce the log loss. The most probable class may then differ from the class
    with the highest score.
    """
    n_rows, n_classes = scores.shape
    spread, rows = _scaled(scores, codes, weights)
    shared, loss_shared = _least_log_loss(np.eye(1, n_classes + 1)[0], rows, constants=False)
    each, loss_each = _least_log_loss(shared, rows, constants=True)
    found = each if n_rows * (loss_shared - loss_each) > worth_of(n_classes - 1) else shared
    return stacked([Calibration(found[0] / spread, float(constant)) for constant in found[1:]])


def _least_log_loss(
    start: NDArray[np.float64], rows: ClassRowsOfOneSpread, *, constants: bool
) -> tuple[NDArray[np.float64], float]:
    """Return the slope, at least 0, and the constants with the least log loss, and this loss (by Newton)."""
    free = np.full(start.size, constants)
    free[0] = True
    for _ in range(2):  # a second time if the slope must stay at 0
        found, (loss, gradient) = start, class_log_loss(start, *rows)
        for _ in range(_NEWTON_STEPS if free.any() else 0):
            curvature = only_free(free, class_curvature(found, rows.scores, rows.shares))
            step = np.linalg.solve(curvature, np.where(free, -gradient, 0.0))
            if -float(gradient @ step) * rows.codes.size < _TELLS:  # twice the gain of the step
                break
            while (there := class_log_loss(found + step, *rows))[0] > loss and np.abs(step).max() > 1e-9:
                step *= 0.5
            found, (loss, gradient) = found + step, there
        if found[0] >= 0.0:
            break
        free[0], start = False, np.append(0.0, start[1:])
    return found, loss


def class_slope(scores: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[Any]) -> float:
    """Return the slope with the least log loss of the softmax of all scores: the inverse temperature."""
    spread, rows = _scaled(scores, codes, weights)
    constants = np.zeros(scores.shape[1])

    def loss(log_slope: float) -> float:
        return class_log_loss(np.append(np.exp(log_slope), constants), *rows)[0]

    found = minimize_scalar(loss, bounds=(-5.0, 5.0), method="bounded", options={"xatol": 0.02})
    return float(np.exp(found.x)) / spread


class ClassRowsOfOneSpread(NamedTuple):
    """Rows of many classes, whose scores have a spread of 1."""

    scores: NDArray[np.float64]
    """A row per class: numpy adds up long rows several times as fast as many short ones."""
    codes: NDArray[np.intp]
    shares: NDArray[Any]
    """Weights that add up to 1."""


def _scaled(
    scores: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[Any]
) -> tuple[float, ClassRowsOfOneSpread]:
    """Return the spread of the scores, and the rows, divided by it."""
    spread = max(float(scores.std()), 1e-12)
    by_class = np.ascontiguousarray((scores / spread).T, dtype=np.float64)
    return spread, ClassRowsOfOneSpread(by_class, codes, weights / weights.sum(dtype=np.float64))


def class_log_loss(
    numbers: NDArray[np.float64], scores: NDArray[np.float64], codes: NDArray[np.intp], shares: NDArray[Any]
) -> tuple[float, NDArray[np.float64]]:
    """Return the log loss of one slope and a constant per class, with a small penalty; and its gradient."""
    mine = codes, np.arange(codes.size)
    odds = numbers[0] * scores + numbers[1:, np.newaxis]
    odds -= odds.max(axis=0)
    wrong = np.exp(odds)
    sums = wrong.sum(axis=0)
    value = float(shares @ (np.log(sums) - odds[mine])) + 0.5 * _RIDGE * float(numbers @ numbers) / codes.size
    wrong *= shares / sums
    wrong[mine] -= shares
    gradient = np.concatenate([[float(np.vdot(wrong, scores))], wrong.sum(axis=1)])
    return value, gradient + _RIDGE * numbers / codes.size


def class_curvature(
    numbers: NDArray[np.float64], scores: NDArray[np.float64], shares: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the second derivatives of :func:`class_log_loss`."""
    predicted = np.exp((odds := numbers[0] * scores + numbers[1:, np.newaxis]) - odds.max(axis=0))
    predicted /= predicted.sum(axis=0)
    weighted = predicted * shares
    above = scores - (predicted * scores).sum(axis=0)  # the mean of the row
    found = np.empty((numbers.size, numbers.size))
    found[0, 0] = np.vdot(weighted * above, above)
    found[0, 1:] = found[1:, 0] = (weighted * above).sum(axis=1)
    found[1:, 1:] = np.diag(weighted.sum(axis=1)) - weighted @ predicted.T
    return found + np.eye(numbers.size) * (_RIDGE / shares.size)


def log_odds_line(scores: NDArray[Any], signed_weights: NDArray[Any]) -> tuple[float, float]:
    """Return (slope, constant) of Platt's line, the positive class's log odds as a line in the scores.

    The slope is never negative.
    """
    spread = max(float(scores.std()), 1e-12)
    middle = float(scores.mean())
    columns = np.column_stack([(scores - middle) / spread, np.ones(scores.size)])
    positive, negative = (np.maximum(side * signed_weights, 0.0).astype(np.float64) for side in (1, -1))
    start = np.array([0.0, usual_log_odds(positive, negative)])
    line = newton(columns, start, positive + negative, platt_targets(positive, negative))
    slope = max(float(line[0]), 0.0) / spread
    return slope, float(line[1]) - slope * middle
