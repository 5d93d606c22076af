"""The learning loop of many classes: a column of scores per class, and steps of their softmax.

Dense rows take a model with a row per class, sparse rows one with a row per column: what a point changes lies
together.
As with two classes, the mean of the models along the way is taken from a sample of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._cache import njit
from .rows import FASTMATH, or_sparse

# A class that a point hardly concerns is not moved: the update would cost more than it changes.
NEGLIGIBLE_PUSH = 1e-4


def _sparse_class_scores(rows: Any, i: Any, model: Any, intercepts: Any, scores: Any) -> Any:
    data, indices, indptr = rows
    for c in range(scores.size):
        scores[c] = intercepts[c]
    for k in range(indptr[i], indptr[i + 1]):
        value, weights = data[k], model[indices[k]]
        for c in range(scores.size):
            scores[c] += value * weights[c]


@or_sparse(_sparse_class_scores)
def class_scores(rows: Any, i: Any, model: Any, intercepts: Any, scores: Any) -> Any:
    """Fill ``scores`` with the scores of row i for each class."""
    row = rows[i]
    for c in range(scores.size):
        weights = model[c]
        total = row.dtype.type(0.0)
        for j in range(row.size):
            total += weights[j] * row[j]
        scores[c] = total + intercepts[c]


def _sparse_add_to_classes(rows: Any, i: Any, model: Any, pushes: Any) -> Any:
    data, indices, indptr = rows
    for k in range(indptr[i], indptr[i + 1]):
        value, weights = data[k], model[indices[k]]
        for c in range(pushes.size):
            weights[c] += value * pushes[c]


@or_sparse(_sparse_add_to_classes)
def add_to_classes(rows: Any, i: Any, model: Any, pushes: Any) -> Any:
    """Add row i to the model of each class, times the class's push."""
    row = rows[i]
    for c in range(pushes.size):
        push = pushes[c]
        if push != 0.0:
            weights = model[c]
            for j in range(row.size):
                weights[j] += push * row[j]


@njit(nogil=True, fastmath=FASTMATH, error_model="numpy")
def _to_shares(scores: Any) -> Any:
    """Turn scores into shares by softmax, in place; return the class with the highest."""
    best = 0
    for c in range(1, scores.size):
        if scores[c] > scores[best]:
            best = c
    top, total = scores[best], 0.0
    for c in range(scores.size):
        scores[c] = math.exp(scores[c] - top)
        total += scores[c]
    for c in range(scores.size):
        scores[c] /= total
    return best


@njit(nogil=True, fastmath=FASTMATH, error_model="numpy")
def _shrink_and_add(model: Any, factor: Any, model_sum: Any, times: Any) -> None:
    """Multiply the model by a factor, and add it to the sum so many times. (numpy's would compile for seconds.)"""
    for a in range(model.shape[0]):
        for b in range(model.shape[1]):
            model[a, b] *= factor
            model_sum[a, b] += times * model[a, b]


@njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def learn_classes(
    rows: Any,
    targets: Any,
    starts: Any,
    stops: Any,
    model: Any,
    intercepts: Any,
    model_sum: Any,
    intercept_sum: Any,
    counts: Any,
    state: Any,
    steps: Any,
    class_weights: Any,
    gains: Any,
) -> None:
    """Learn from the points of some ranges of rows, in order; the arrays from ``model`` to ``state`` change.

    ``targets`` holds the number of each point's class, and its weight. ``state`` holds the points since the step
    sizes began, the points of the sums of models, and those since. ``steps`` is (step at t = 1, gain of the
    intercepts, L2 penalty, points between two models of the mean).

    ``gains[true, predicted]`` is what a share of a prediction is worth: a point moves the scores up the worth of
    its shares. None: a point moves them up its log likelihood, times the weight of its class. ``counts`` adds up
    [true, predicted] before each point is learned from.
    """
    step, gain, l2, every = steps
    shares = np.empty(intercepts.size, model.dtype)
    t, summed, unsummed = state[0], state[1], state[2]
    for k in range(starts.size):
        for i in range(starts[k], stops[k]):
            class_scores(rows, i, model, intercepts, shares)
            true, weight = int(targets[i, 0]), targets[i, 1]
            predicted = _to_shares(shares)
            counts[true, predicted] += weight
            t += 1.0
            size = step / math.sqrt(t) * weight
            if gains is None:
                size *= class_weights[true]
                for c in range(shares.size):
                    shares[c] = -size * shares[c]
                shares[true] += size
            else:
                mean = 0.0
                for c in range(shares.size):
                    mean += shares[c] * gains[true, c]
                for c in range(shares.size):
                    shares[c] *= size * (gains[true, c] - mean)
            for c in range(shares.size):
                if abs(shares[c]) < NEGLIGIBLE_PUSH * size:
                    shares[c] = 0.0
                intercepts[c] += gain * shares[c]
            add_to_classes(rows, i, model, shares)
            unsummed += 1.0
            if unsummed >= every:
                _shrink_and_add(model, max(1.0 - unsummed * l2 * step / math.sqrt(t), 0.0), model_sum, unsummed)
                for c in range(shares.size):
                    intercept_sum[c] += unsummed * intercepts[c]
                summed += unsummed
                unsummed = 0.0
    state[0], state[1], state[2] = t, summed, unsummed
