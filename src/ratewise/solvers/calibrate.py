"""Scores as probabilities: Platt's line or beta calibration, whichever explains out-of-fold scores better."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import chdtri, expit, logsumexp

from ..kernels import mean_and_spread
from .threshold import ScoreBins

_BINS = 512
_MANY_SCORES = 4 * _BINS
_REACH = 8.0  # standard deviations from the mean
_LEAST_SLOPE = 0.02  # of the line's; a curve must rise
_RIDGE = 1e-3  # so that classes that scores part have finite odds


class Calibration(NamedTuple):
    """A rising curve from scores to log odds of the positive class.

    With z = slope * score + constant the log odds are shift + above log(1 + e^z) - below log(1 + e^-z): a line
    where ``above`` and ``below`` are 1 (Platt 1999), two slopes that meet softly otherwise (beta calibration of
    the line's probabilities, Kull et al. 2017).
    """

    slope: float
    constant: float
    below: float = 1.0
    above: float = 1.0
    shift: float = 0.0

    @property
    def is_line(self) -> bool:
        return self.below == self.above == 1.0

    def log_odds(self, scores: Any) -> Any:
        z = self.slope * np.asarray(scores, dtype=np.float64) + self.constant
        if self.is_line:
            return z + self.shift
        return self.shift + self.above * np.logaddexp(0.0, z) - self.below * np.logaddexp(0.0, -z)

    def of_the_other_class(self) -> Calibration:
        """Return the log odds of the negative class, of scores of the other sign."""
        return Calibration(self.slope, -self.constant, self.above, self.below, -self.shift)


def calibrated(scores: NDArray[Any], signed_weights: NDArray[Any], points: float, cut: float) -> Calibration:
    """Return the calibration of scores less the cut: the simplest whose log loss is not clearly too high.

    A line that is 1/2 at the cut, so that the decision is for the likelier class; else any line; else a curve:
    more parameters are taken where a likelihood ratio test finds them worth it. ``points`` is the number of points
    that the scores are worth; rows scored several times count once.
    """
    scores, signed_weights = _summed_up(scores, signed_weights)
    scores = scores - cut
    signed_weights = signed_weights * (max(points, 2.0) / float(np.abs(signed_weights).sum()))
    line = Calibration(*log_odds_line(scores, signed_weights))
    curve = _curve(line, scores, signed_weights)
    through = Calibration(_slope_through_zero(scores, signed_weights), 0.0)
    of_through, of_line, of_curve = (
        _log_likelihood(one, scores, signed_weights) for one in (through, line, curve)
    )
    if of_curve - of_line > _worth(2) and min(curve.below, curve.above) >= _LEAST_SLOPE:
        return curve
    return line if of_line - of_through > _worth(1) or through.slope == 0.0 else through


def _worth(parameters: int) -> float:
    """Return the log likelihood that so many useless parameters gain in one case of twenty."""
    return 0.5 * float(chdtri(parameters, 0.05))


def _slope_through_zero(scores: NDArray[np.float64], signed_weights: NDArray[Any]) -> float:
    spread = max(float(np.sqrt(np.mean(scores**2))), 1e-12)
    slope = _newton((scores / spread)[:, np.newaxis], np.zeros(1), signed_weights)[0]
    return max(float(slope), 0.0) / spread


def _curve(line: Calibration, scores: NDArray[np.float64], signed_weights: NDArray[Any]) -> Calibration:
    """Return the beta calibration of a line's probabilities; a side that would fall is all but flat."""
    z = line.log_odds(scores)
    columns = np.column_stack([-np.logaddexp(0.0, -z), np.logaddexp(0.0, z), np.ones(z.size)])
    found = _newton(columns, np.array([1.0, 1.0, 0.0]), signed_weights)
    flat = int(np.argmin(found[:2]))
    if found[flat] < _LEAST_SLOPE:
        others = [1 - flat, 2]
        fixed = _LEAST_SLOPE * columns[:, flat]
        found[flat] = _LEAST_SLOPE
        found[others] = _newton(columns[:, others], np.array([1.0, 0.0]), signed_weights, fixed)
    return Calibration(line.slope, line.constant, *found.tolist())


def class_calibrations(
    scores: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[Any]
) -> NDArray[np.float64]:
    """Return a line per class, of one slope, so that their softmax has the least log loss.

    The lines have constants where the log loss gains by them: then the likeliest class need not be the one with
    the highest score.
    """
    n_rows, n_classes = scores.shape
    spread = max(float(scores.std()), 1e-12)
    scaled = (scores / spread).astype(np.float64)
    shares = weights / weights.sum(dtype=np.float64)
    mine = np.arange(n_rows), codes

    def loss(numbers: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = numbers[0] * scaled + numbers[1:]
        odds -= logsumexp(odds, axis=1, keepdims=True)
        value = -float(shares @ odds[mine]) + 0.5 * _RIDGE * float(numbers @ numbers) / n_rows
        wrong = np.exp(odds) * shares[:, np.newaxis]
        wrong[mine] -= shares
        gradient = np.concatenate([[float((wrong * scaled).sum())], wrong.sum(axis=0)])
        return value, gradient + _RIDGE * numbers / n_rows

    def least(constants: tuple[float | None, float | None]) -> Any:
        limits = [(0.0, None), *[constants] * n_classes]
        return minimize(loss, np.eye(1, n_classes + 1)[0], jac=True, method="L-BFGS-B", bounds=limits)

    alike, each = least((0.0, 0.0)), least((None, None))
    found = each if n_rows * (alike.fun - each.fun) > _worth(n_classes - 1) else alike
    return np.array([Calibration(found.x[0] / spread, float(constant)) for constant in found.x[1:]])


def log_odds_line(scores: NDArray[Any], signed_weights: NDArray[Any]) -> tuple[float, float]:
    """(slope, constant) of the positive class's log odds as a line in the scores: Platt's, by Newton's method.

    The targets are a point short of certainty, as Platt has them, so that classes that a line parts have finite
    odds. The slope is never negative.
    """
    spread = max(float(scores.std()), 1e-12)
    middle = float(scores.mean())
    columns = np.column_stack([(scores - middle) / spread, np.ones(scores.size)])
    above, below = (float(np.maximum(side * signed_weights, 0.0).sum(dtype=np.float64)) for side in (1, -1))
    line = _newton(columns, np.array([0.0, np.log((above + 1.0) / (below + 1.0))]), signed_weights)
    slope = max(float(line[0]), 0.0) / spread
    return slope, float(line[1]) - slope * middle


def _newton(
    columns: NDArray[np.float64],
    start: NDArray[np.float64],
    signed_weights: NDArray[Any],
    fixed: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.float64]:
    """Return the coefficients of a logistic regression on few columns, with Platt's targets and fixed log odds."""
    weights = np.abs(signed_weights).astype(np.float64)
    positive = signed_weights > 0
    above, below = float(weights[positive].sum()), float(weights[~positive].sum())
    target = np.where(positive, (above + 1.0) / (above + 2.0), 1.0 / (below + 2.0))
    found = start.copy()
    for _ in range(30):
        share = expit(columns @ found + fixed)
        gradient = columns.T @ (weights * (target - share))
        curvature = (columns * (weights * np.maximum(share * (1.0 - share), 1e-10))[:, np.newaxis]).T @ columns
        step = np.linalg.solve(curvature + 1e-9 * np.trace(curvature) * np.eye(start.size), gradient)
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        found += step
        if float(np.abs(step).max()) < 1e-6:
            break
    return found


def _log_likelihood(curve: Calibration, scores: NDArray[Any], signed_weights: NDArray[Any]) -> float:
    odds = curve.log_odds(scores)
    return -float(np.abs(signed_weights) @ np.logaddexp(0.0, np.where(signed_weights > 0, -odds, odds)))


def _summed_up(scores: NDArray[Any], signed_weights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the bins of a histogram in place of many scores."""
    if scores.size <= _MANY_SCORES:
        return scores.astype(np.float64), signed_weights
    mean, deviation = mean_and_spread(scores)
    width = 2.0 * _REACH * (deviation + 1e-30) / _BINS
    bins = ScoreBins(mean - 0.5 * _BINS * width, width, _BINS)
    weights = bins.empty()
    bins.add(scores, signed_weights, weights)
    return bins.as_scores(weights)
