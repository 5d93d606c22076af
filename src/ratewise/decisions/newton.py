"""Logistic regression on few columns by Newton's method, which fits curves of log odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

_TELLS = 0.01  # in log likelihood: smaller differences are ignored


def usual_log_odds(positive: NDArray[np.float64], negative: NDArray[np.float64]) -> float:
    """Return the log odds of a row with unknown score, as a start."""
    return float(np.log((positive.sum() + 1.0) / (negative.sum() + 1.0)))


def platt_targets(positive: NDArray[np.float64], negative: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Platt's shares of positives, which are one point short of certainty.

    So classes that a curve separates have finite odds.
    """
    above, below = float(positive.sum()), float(negative.sum())
    right = positive * (above + 1.0) / (above + 2.0) + negative / (below + 2.0)
    found: NDArray[np.float64] = right / np.maximum(positive + negative, 1e-300)
    return found


def newton(
    columns: NDArray[np.float64],
    start: NDArray[np.float64],
    weights: NDArray[np.float64],
    targets: NDArray[np.float64],
    penalty: NDArray[np.float64] | None = None,
    least: NDArray[np.float64] | float = -np.inf,
) -> NDArray[np.float64]:
    """Return the coefficients, none below ``least``, of a logistic regression on few columns."""
    penalty = np.zeros((start.size, start.size)) if penalty is None else penalty

    def loss(coefficients: NDArray[np.float64]) -> float:
        return log_loss_of(weights, targets, columns @ coefficients) + 0.5 * float(
            coefficients @ penalty @ coefficients
        )

    found = np.maximum(start, least)
    lowest = loss(found)
    for _ in range(30):
        odds = columns @ found
        gradient = columns.T @ (weights * (targets - expit(odds))) - penalty @ found
        curvature = solvable(curvature_of(columns, weights, odds) + penalty)
        step = step_within(curvature, gradient, np.asarray(least - found))
        last = float(gradient @ step) < _TELLS  # twice the gain of the step
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        before = lowest
        while (lowest := loss(found + step)) > before + 1e-9 and float(np.abs(step).max()) > 1e-9:
            step *= 0.5
        found = found + step
        if last or before - lowest < _TELLS:
            break
    return found


def step_within(
    curvature: NDArray[np.float64], gradient: NDArray[np.float64], least: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return Newton's step; a coefficient that would fall below its least value stops there."""
    stopped = (least >= 0.0) & (gradient <= 0.0)
    while True:
        forced = np.where(stopped, least, 0.0)
        wanted = np.where(stopped, least, gradient - curvature @ forced)
        step = np.asarray(np.linalg.solve(only_free(~stopped, curvature), wanted), dtype=np.float64)
        beyond = ~stopped & (step < least)
        if not beyond.any():
            return np.asarray(step, dtype=np.float64)
        stopped |= beyond


def only_free(free: NDArray[np.bool_], curvature: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the curvature of free coefficients; other coefficients have only ones on the diagonal."""
    found: NDArray[np.float64] = curvature * np.outer(free, free)
    found[~free, ~free] = 1.0
    return found


def log_loss_of(weights: NDArray[np.float64], targets: NDArray[np.float64], odds: NDArray[np.float64]) -> float:
    return float(weights @ (np.logaddexp(0.0, odds) - targets * odds))


def curvature_of(
    columns: NDArray[np.float64], weights: NDArray[np.float64], odds: NDArray[np.float64]
) -> NDArray[np.float64]:
    share = expit(odds)
    telling = weights * np.maximum(share * (1.0 - share), 1e-10)
    found: NDArray[np.float64] = (columns * telling[:, np.newaxis]).T @ columns
    return found


def solvable(curvature: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix, with a little more on its diagonal."""
    curvature.flat[:: curvature.shape[0] + 1] += 1e-9 * np.trace(curvature)
    return curvature
