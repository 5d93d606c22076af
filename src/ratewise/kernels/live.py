"""The learning loop of a stream: logistic regression, one row at a time, that forgets.

Each learner standardizes columns by decayed means and deviations, weighs classes by their decayed shares, and
takes AdaGrad's steps with decayed squared gradients. Its model is a running average of the models along the way.
A learner with a constant step differs in the last two: its model is the newest one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._cache import njit
from .rows import FASTMATH

COLUMN_FACTS = 5
"""What a learner keeps of each column: decayed mean and mean squared deviation (of sparse rows: the sum of squares
and the number of entries), sum of squared gradients, weight, and averaged weight."""
FACTS = 6
"""And besides: decayed number of rows, weight of positives and of all rows, and the intercept's sum of squared
gradients, the intercept, and its average."""
SETTINGS = 4
"""Of a learner: the decay per row, the class-weight exponent, the first learner of the same decay, which keeps
means and deviations of columns for both, and the constant step, 0 for AdaGrad's."""

FARTHEST = 8.0
"""Standard deviations from the mean at which a value is clipped, while it is learned from."""
STEP = 0.5
"""Of AdaGrad."""
LEAST_SQUARES = 0.1
"""Added to squared gradients that decay: in a long stretch of one class all of them go to 0, and steps would not.
(kdd99-ipsweep in order, 575,000 negatives first: F1 .80, .60 without.)"""
AVERAGED = 8.0
"""The average of models gives the newest one the weight 8/t, where t is the decayed number of rows."""
LEAST_SPREAD = 0.1
"""Of a column's recent deviation, per that over the whole stream: a column that is constant for a while and moves
again would otherwise send scores to infinity."""
SPARSE_ROWS_TOGETHER = 50
"""Sparse rows between two decays: each of these touches all columns."""


@njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def learn_live_dense(
    rows: Any,
    signed_weights: Any,
    overall: Any,
    columns: Any,
    facts: Any,
    settings: Any,
    l2: Any,
    standardize: Any,
) -> None:
    """Learn from rows in order; ``overall``, ``columns`` and ``facts`` change.

    ``overall`` holds the number of rows, and the mean and the mean squared deviation of each column over the whole
    stream.
    """
    z = np.empty((facts.shape[0], rows.shape[1]))
    for i in range(rows.shape[0]):
        row = rows[i]
        overall[0, 0] += 1.0
        _move_moments(row, overall[1], overall[2], 1.0 / overall[0, 0])
        for k in range(facts.shape[0]):
            own, state = columns[k], facts[k]
            decay, exponent, like, step = settings[k, 0], settings[k, 1], int(settings[k, 2]), settings[k, 3]
            state[0] = decay * state[0] + 1.0
            if like == k:
                _move_moments(row, own[0], own[1], 1.0 / state[0])
                if standardize:
                    _standardized(row, own[0], own[1], overall[2], z[k])
                else:
                    z[k] = row
            score = state[4]
            for j in range(row.size):
                score += own[3, j] * z[like, j]
            push = _push(state, signed_weights[i], exponent, decay, score)
            newest = min(1.0, AVERAGED / state[0]) if step == 0.0 else 1.0
            _move_intercept(state, push, decay, step, newest)
            if step == 0.0:
                _adagrad(own, z[like], push, decay, l2, newest)
            else:
                for j in range(row.size):
                    own[3, j] -= step * (push * z[like, j] + l2 * own[3, j])
                    own[4, j] = own[3, j]


@njit(nogil=True, fastmath=FASTMATH, error_model="numpy")
def _move_moments(row: Any, means: Any, squares: Any, fresh: Any) -> None:
    """Take a row into means and mean squared deviations, in which it has the weight ``fresh``."""
    for j in range(row.size):
        gap = row[j] - means[j]
        means[j] += fresh * gap
        squares[j] = (1.0 - fresh) * (squares[j] + fresh * gap * gap)


@njit(nogil=True, fastmath=FASTMATH, error_model="numpy")
def _standardized(row: Any, means: Any, squares: Any, overall: Any, z: Any) -> None:
    for j in range(row.size):
        spread = math.sqrt(max(squares[j], LEAST_SPREAD * LEAST_SPREAD * overall[j]))
        far = min(max((row[j] - means[j]) / spread, -FARTHEST), FARTHEST)
        z[j] = far if spread > 1e-12 * abs(means[j]) else 0.0


@njit(nogil=True)
def _push(facts: Any, signed_weight: Any, exponent: Any, decay: Any, score: Any) -> Any:
    """Take in the class of a row; return the slope of its loss by its score."""
    weight = abs(signed_weight)
    positive = signed_weight > 0.0
    facts[1] = decay * facts[1] + (weight if positive else 0.0)
    facts[2] = decay * facts[2] + weight
    share = (facts[1] + 1.0) / (facts[2] + 2.0)
    ratio = 0.5 / (share if positive else 1.0 - share)
    chance = 1.0 / (1.0 + math.exp(-min(max(score, -40.0), 40.0)))
    return weight * _power(ratio, exponent) * (chance - (1.0 if positive else 0.0))


@njit(nogil=True)
def _power(ratio: Any, exponent: Any) -> Any:
    """Return ratio^exponent; a general power takes as long as 10 columns do."""
    if exponent == 0.5:
        return math.sqrt(ratio)
    if exponent == 0.0 or exponent == 1.0:
        return ratio if exponent else 1.0
    return ratio**exponent


@njit(nogil=True)
def _move_intercept(facts: Any, push: Any, decay: Any, step: Any, newest: Any) -> None:
    facts[3] = decay * facts[3] + push * push
    facts[4] -= push * (STEP / math.sqrt(facts[3] + LEAST_SQUARES) if step == 0.0 else step)
    facts[5] += newest * (facts[4] - facts[5])


@njit(nogil=True, fastmath=FASTMATH, error_model="numpy")
def _adagrad(own: Any, z: Any, push: Any, decay: Any, l2: Any, newest: Any) -> None:
    """Take AdaGrad's step in each column, and average."""
    squares, weights, averaged = own[2], own[3], own[4]
    for j in range(z.size):
        slope = push * z[j] + l2 * weights[j]
        squares[j] = decay * squares[j] + slope * slope
        weights[j] -= STEP * slope / math.sqrt(squares[j] + LEAST_SQUARES)
        averaged[j] += newest * (weights[j] - averaged[j])


@njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def learn_live_sparse(
    rows: Any,
    signed_weights: Any,
    overall: Any,
    columns: Any,
    facts: Any,
    settings: Any,
    l2: Any,
    standardize: Any,
) -> None:
    """The same for CSR rows (data, indices, indptr), whose columns are scaled and not centered.

    Columns decay, and models are averaged, after every 50 rows and after the last ones. Each learner keeps the
    scale of its columns.
    """
    data, indices, indptr = rows
    n_rows = indptr.size - 1
    for begin in range(0, n_rows, SPARSE_ROWS_TOGETHER):
        end = min(begin + SPARSE_ROWS_TOGETHER, n_rows)
        for k in range(facts.shape[0]):
            own, state = columns[k], facts[k]
            decay, exponent, step = settings[k, 0], settings[k, 1], settings[k, 3]
            for i in range(begin, end):
                state[0] = decay * state[0] + 1.0
                score = state[4]
                for at in range(indptr[i], indptr[i + 1]):
                    j, value = indices[at], data[at]
                    own[0, j] += value * value
                    own[1, j] += 1.0
                    score += own[3, j] * _sparse_value(own, state, j, value, standardize)
                push = _push(state, signed_weights[i], exponent, decay, score)
                _move_intercept(state, push, decay, step, min(1.0, AVERAGED / state[0]) if step == 0.0 else 1.0)
                for at in range(indptr[i], indptr[i + 1]):
                    j = indices[at]
                    slope = push * _sparse_value(own, state, j, data[at], standardize) + l2 * own[3, j]
                    own[2, j] += slope * slope
                    own[3, j] -= slope * (STEP / math.sqrt(own[2, j] + LEAST_SQUARES) if step == 0.0 else step)
            forgotten = decay ** (end - begin)
            newest = 1.0 - (1.0 - min(1.0, AVERAGED / state[0])) ** (end - begin) if step == 0.0 else 1.0
            for j in range(own.shape[1]):
                own[0, j] *= forgotten
                own[1, j] *= forgotten
                own[2, j] *= forgotten
                own[4, j] += newest * (own[3, j] - own[4, j])
    overall[0, 0] += n_rows


@njit(nogil=True)
def _sparse_value(own: Any, state: Any, j: Any, value: Any, standardize: Any) -> Any:
    """Return a value, per the geometric mean of its column's root mean squares over all rows and over entries."""
    if not standardize:
        return value
    scale = math.sqrt(own[0, j] / math.sqrt(max(state[0] * own[1, j], 1e-300)))
    return min(max(value / scale, -FARTHEST), FARTHEST) if scale > 0.0 else value


@njit(cache=True, nogil=True)
def count_live(scores: Any, thresholds: Any, signed_weights: Any, weights: Any, counts: Any) -> None:
    """Add the weights of rows, and their squares, to ``counts[:, expert, true, predicted]``.

    ``signed_weights`` tell the classes, ``weights`` count.
    """
    for k in range(thresholds.size):
        for i in range(weights.size):
            true, predicted = int(signed_weights[i] > 0.0), int(scores[k, i] > thresholds[k])
            counts[0, k, true, predicted] += weights[i]
            counts[1, k, true, predicted] += weights[i] * weights[i]


@njit(cache=True, nogil=True)
def keep_recent(scores: Any, signed_weights: Any, kept: Any, kept_weights: Any, seen: Any) -> None:
    """Write the scores and weights of rows over the oldest kept ones of their class."""
    for i in range(signed_weights.size):
        label = int(signed_weights[i] > 0.0)
        place = seen[label] % kept_weights[label].size
        kept[label][:, place] = scores[:, i]
        kept_weights[label][place] = abs(signed_weights[i])
        seen[label] += 1
