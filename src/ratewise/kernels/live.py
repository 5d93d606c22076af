"""The learning loop of a stream: logistic regression, one row at a time, that forgets.

Each learner standardizes columns by decayed means and deviations, weighs classes by their decayed shares, and
takes AdaGrad's steps with decayed squared gradients. Its model is a running average of the models along the way.
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
    return weight * ratio**exponent * (chance - (1.0 if positive else 0.0))


@njit(nogil=True)
def _move_intercept(facts: Any, push: Any, decay: Any) -> Any:
    facts[3] = decay * facts[3] + push * push
    facts[4] -= STEP * push / math.sqrt(facts[3] + LEAST_SQUARES)


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
    stream. ``settings`` has the decay per row, the class-weight exponent, and the first learner of the same decay
    for each learner: means and deviations of columns are kept by that one.
    """
    n_features = rows.shape[1]
    standardized = np.empty((facts.shape[0], n_features))
    for i in range(rows.shape[0]):
        row = rows[i]
        overall[0, 0] += 1.0
        fresh = 1.0 / overall[0, 0]
        for j in range(n_features):
            gap = row[j] - overall[1, j]
            overall[1, j] += fresh * gap
            overall[2, j] = (1.0 - fresh) * (overall[2, j] + fresh * gap * gap)
        for k in range(facts.shape[0]):
            own, state = columns[k], facts[k]
            decay, exponent, like = settings[k, 0], settings[k, 1], int(settings[k, 2])
            z = standardized[like]
            state[0] = decay * state[0] + 1.0
            if like == k:
                fresh = 1.0 / state[0]
                for j in range(n_features):
                    gap = row[j] - own[0, j]
                    own[0, j] += fresh * gap
                    own[1, j] = (1.0 - fresh) * (own[1, j] + fresh * gap * gap)
                    if standardize:
                        spread = math.sqrt(max(own[1, j], LEAST_SPREAD * LEAST_SPREAD * overall[2, j]))
                        z[j] = (row[j] - own[0, j]) / spread if spread > 1e-12 * abs(own[0, j]) else 0.0
                    else:
                        z[j] = row[j]
            farthest = FARTHEST if standardize else np.inf
            score = state[4]
            for j in range(n_features):
                score += own[3, j] * min(max(z[j], -farthest), farthest)
            push = _push(state, signed_weights[i], exponent, decay, score)
            _move_intercept(state, push, decay)
            newest = min(1.0, AVERAGED / state[0])
            for j in range(n_features):
                slope = push * min(max(z[j], -farthest), farthest) + l2 * own[3, j]
                own[2, j] = decay * own[2, j] + slope * slope
                own[3, j] -= STEP * slope / math.sqrt(own[2, j] + LEAST_SQUARES)
                own[4, j] += newest * (own[3, j] - own[4, j])
            state[5] += newest * (state[4] - state[5])


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

    Columns decay, and models are averaged, after every 50 rows and after the last ones.
    """
    data, indices, indptr = rows
    n_rows = indptr.size - 1
    for begin in range(0, n_rows, SPARSE_ROWS_TOGETHER):
        end = min(begin + SPARSE_ROWS_TOGETHER, n_rows)
        for k in range(facts.shape[0]):
            own, state = columns[k], facts[k]
            decay, exponent = settings[k, 0], settings[k, 1]
            for i in range(begin, end):
                state[0] = decay * state[0] + 1.0
                score = state[4]
                for at in range(indptr[i], indptr[i + 1]):
                    j, value = indices[at], data[at]
                    own[0, j] += value * value
                    own[1, j] += 1.0
                    z = value / _sparse_scale(own[0, j], own[1, j], state[0]) if standardize else value
                    score += own[3, j] * (min(max(z, -FARTHEST), FARTHEST) if standardize else z)
                push = _push(state, signed_weights[i], exponent, decay, score)
                _move_intercept(state, push, decay)
                newest = min(1.0, AVERAGED / state[0])
                state[5] += newest * (state[4] - state[5])
                for at in range(indptr[i], indptr[i + 1]):
                    j, z = indices[at], data[at]
                    if standardize:
                        z = z / _sparse_scale(own[0, j], own[1, j], state[0])
                        z = min(max(z, -FARTHEST), FARTHEST)
                    slope = push * z + l2 * own[3, j]
                    own[2, j] += slope * slope
                    own[3, j] -= STEP * slope / math.sqrt(own[2, j] + LEAST_SQUARES)
            forgotten = decay ** (end - begin)
            newest = 1.0 - (1.0 - min(1.0, AVERAGED / state[0])) ** (end - begin)
            for j in range(own.shape[1]):
                own[0, j] *= forgotten
                own[1, j] *= forgotten
                own[2, j] *= forgotten
                own[4, j] += newest * (own[3, j] - own[4, j])
    overall[0, 0] += n_rows


@njit(nogil=True)
def _sparse_scale(squares: Any, entries: Any, count: Any) -> Any:
    """Return the geometric mean of the root mean squares over all rows and over the entries."""
    found = math.sqrt(squares / math.sqrt(max(count * entries, 1e-300)))
    return found if found > 0.0 else 1.0
