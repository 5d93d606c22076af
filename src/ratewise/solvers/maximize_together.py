"""The maximizer of several linear models of the same rows: each step reads the rows twice, for all models at once.

A product of rows with two dozen models takes little longer than with a few, because reading the rows takes most of
the time. So the folds and the penalties of a fit learn side by side. Along a line, the scores of a model change in
proportion to the step, so a line search needs no product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rewards import Reward

_REMEMBERED = 8  # steps that determine the curvature, as in L-BFGS
_TRIES = 8  # steps along a line
_RISES, _FLATTENS = 1e-4, 0.3  # shares: the least of the expected rise, the most of the slope left


@dataclass(frozen=True)
class SharedRows:
    """Rows, and for each model its row weights, 0 for rows it must not learn from, and its standardization.

    Models are rows of weights, with the intercept last. Columns have their ``centres`` subtracted, and are divided
    by ``scales``.
    """

    matrix: NDArray[np.float32]
    signs: NDArray[np.float32]
    weights: NDArray[np.float32]
    centres: NDArray[np.float64]
    scales: NDArray[np.float64]

    def of(self, which: NDArray[np.bool_]) -> SharedRows:
        """Return the same rows for some of the models."""
        return SharedRows(self.matrix, self.signs, self.weights[which], self.centres[which], self.scales[which])

    def margins(self, models: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return the scores, positive where the prediction is right."""
        coef = models[:, :-1] / self.scales
        offsets = models[:, -1] - np.sum(coef * self.centres, axis=1)
        scores: NDArray[np.float32] = coef.astype(np.float32) @ self.matrix.T
        scores += offsets.astype(np.float32)[:, np.newaxis]
        scores *= self.signs
        return scores

    def gradient(self, slopes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sum of the rows, each multiplied by its weight and the slope of its reward."""
        pull = np.multiply(self.weights * self.signs, slopes, dtype=np.float32)
        total = pull.sum(axis=1, dtype=np.float64)[:, np.newaxis]
        return np.hstack([(pull @ self.matrix - self.centres * total) / self.scales, total])


def maximize_together(
    rows: SharedRows,
    reward: Reward,
    starts: NDArray[np.float64],
    l2: NDArray[np.float64],
    *,
    tolerance: float,
    iterations: int,
) -> NDArray[np.float64]:
    """Return the models with the largest mean rewards less penalties; each stops when it no longer improves."""
    found = starts.copy()
    climbing = np.arange(len(starts))
    models, penalties = starts.copy(), np.repeat(l2[:, np.newaxis], starts.shape[1], axis=1)
    penalties[:, -1] = 0.0
    margins = rows.margins(models)
    loss, gradient = _loss_and_gradient(rows, reward, models, margins, penalties)
    memory = _Curvature()
    for _ in range(iterations):
        direction = -memory.times(gradient)
        changes = rows.margins(direction)
        line = _Line(rows.weights, reward, margins, changes, models, direction, penalties)
        lengths = line.search(loss, np.sum(gradient * direction, axis=1))[:, np.newaxis]
        models = models + lengths * direction
        margins = margins + lengths.astype(np.float32) * changes
        before, last = loss, gradient
        loss, gradient = _loss_and_gradient(rows, reward, models, margins, penalties)
        found[climbing] = models
        gains = (before - loss) / np.maximum(np.maximum(np.abs(before), np.abs(loss)), 1.0)
        on = (gains > 1e-2 * tolerance) & (np.abs(gradient).max(axis=1) > tolerance)
        if not on.any():
            break
        memory.add(lengths * direction, gradient - last)
        if not on.all():
            climbing, rows, loss = climbing[on], rows.of(on), loss[on]
            models, margins, gradient, penalties = models[on], margins[on], gradient[on], penalties[on]
            memory.keep(on)
    return found


def _loss_and_gradient(
    rows: SharedRows,
    reward: Reward,
    models: NDArray[np.float64],
    margins: NDArray[np.float32],
    penalties: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    values, slopes = reward.value_and_slope(margins)
    loss = -_sums(rows.weights * values) + 0.5 * np.sum(penalties * models**2, axis=1)
    return loss, penalties * models - rows.gradient(slopes)


def _sums(values: NDArray[Any]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = values.sum(axis=1).astype(np.float64)
    return found


@dataclass(frozen=True)
class _Line:
    """The losses of models along one line for each model."""

    weights: NDArray[np.float32]
    reward: Reward
    margins: NDArray[np.float32]
    changes: NDArray[np.float32]
    models: NDArray[np.float64]
    direction: NDArray[np.float64]
    penalties: NDArray[np.float64]

    def search(self, loss: NDArray[np.float64], slope: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the step length of each model; 0 for a model that does not improve."""
        penalty = 0.5 * np.sum(self.penalties * self.models**2, axis=1)
        tilt = np.sum(self.penalties * self.models * self.direction, axis=1)
        bend = np.sum(self.penalties * self.direction**2, axis=1)
        done = slope >= 0.0
        lengths = np.where(done, 0.0, 1.0)
        low, slope_low = np.zeros(loss.size), slope.copy()
        high, slope_high = np.full(loss.size, np.inf), np.full(loss.size, np.nan)
        for _ in range(_TRIES):
            if done.all():
                break
            moved = lengths.astype(np.float32)[:, np.newaxis] * self.changes
            values, slopes = self.reward.value_and_slope(self.margins + moved)
            there = penalty + lengths * (tilt + 0.5 * lengths * bend) - _sums(self.weights * values)
            slope_there = tilt + lengths * bend - _sums(self.weights * slopes * self.changes)
            worse = ~(there <= loss + _RISES * lengths * slope)  # NaN too
            done |= ~worse & (np.abs(slope_there) <= -_FLATTENS * slope)
            far, near = ~done & (worse | (slope_there > 0.0)), ~done & ~worse & (slope_there <= 0.0)
            high[far], slope_high[far] = lengths[far], np.where(worse, np.nan, slope_there)[far]
            low[near], slope_low[near] = lengths[near], slope_there[near]
            lengths = np.where(done, lengths, _between(low, slope_low, high, slope_high, slope))
        return np.where(done, lengths, low)


def _between(
    low: NDArray[np.float64],
    slope_low: NDArray[np.float64],
    high: NDArray[np.float64],
    slope_high: NDArray[np.float64],
    slope: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return where the slope may be 0: by the secant, but not near either end; the middle if the secant fails."""
    with np.errstate(all="ignore"):
        inside = slope_low / (slope_low - slope_high)
        inside = np.where(np.isfinite(inside), np.clip(inside, 0.1, 0.9), 0.4)
        beyond = low * np.clip(slope / (slope - slope_low), 2.0, 10.0)
        beyond = np.where(np.isfinite(beyond), beyond, 10.0 * low)
        return np.where(np.isinf(high), beyond, low + inside * (high - low))


class _Curvature:
    """An estimate of each model's inverse second derivatives from its last steps, as in L-BFGS."""

    def __init__(self) -> None:
        self._steps: list[NDArray[np.float64]] = []
        self._turns: list[NDArray[np.float64]] = []
        self._products: list[NDArray[np.float64]] = []

    def add(self, steps: NDArray[np.float64], turns: NDArray[np.float64]) -> None:
        products = np.sum(steps * turns, axis=1)
        bent = products > 1e-10 * np.sum(turns * turns, axis=1)
        self._steps.append(steps)
        self._turns.append(turns)
        self._products.append(np.where(bent, products, np.inf))  # a step without curvature has no information
        for kept in (self._steps, self._turns, self._products):
            del kept[:-_REMEMBERED]

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Forget the models that have stopped."""
        for kept in (self._steps, self._turns, self._products):
            kept[:] = [one[which] for one in kept]

    def times(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the inverse times the gradient of each model; before the first step, a direction of length 1."""
        found, parts = gradient.copy(), []
        past = list(zip(self._steps, self._turns, self._products, strict=True))
        for steps, turns, products in reversed(past):
            parts.append((np.sum(steps * found, axis=1) / products)[:, np.newaxis])
            found -= parts[-1] * turns
        found *= self._scales(gradient)[:, np.newaxis]
        for (steps, turns, products), part in zip(past, reversed(parts), strict=True):
            found += (part - (np.sum(turns * found, axis=1) / products)[:, np.newaxis]) * steps
        return found

    def _scales(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        scales: NDArray[np.float64] = 1.0 / np.maximum(np.sqrt(np.sum(gradient**2, axis=1)), 1e-300)
        for turns, products in zip(self._turns, self._products, strict=True):
            told = np.isfinite(products)
            scales[told] = (products / np.sum(turns * turns, axis=1))[told]
        return scales
