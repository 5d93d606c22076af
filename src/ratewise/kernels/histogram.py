"""Counts and histograms of scores: the loops behind rates and thresholds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def count_called(scores: Any, signed_weights: Any, threshold: float) -> tuple[float, float, float, float]:
    """Return the weight of positives, of those above the threshold, of negatives, and of those not above it."""
    positives, hits, negatives, passes = 0.0, 0.0, 0.0, 0.0
    for i in range(scores.size):
        weight = np.float64(signed_weights[i])
        called = 1.0 if np.float64(scores[i]) > threshold else 0.0  # a branch would be predicted wrong
        positive, negative = max(weight, 0.0), max(-weight, 0.0)
        positives += positive
        negatives += negative
        hits += positive * called
        passes += negative * (1.0 - called)
    return positives, hits, negatives, passes


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def sum_rewards(scores: Any, signed_weights: Any, reward: Any) -> tuple[float, float]:
    """Return the sums of the rewards of positives and of negatives, each times its weight."""
    on_positives, on_negatives = 0.0, 0.0
    for i in range(scores.size):
        weight = np.float64(signed_weights[i])
        worth = reward.value(math.copysign(1.0, weight) * scores[i])
        on_positives += max(weight, 0.0) * worth
        on_negatives += max(-weight, 0.0) * worth
    return on_positives, on_negatives


@njit(cache=True, nogil=True)
def bin_scores(scores: Any, signed_weights: Any, low: float, width: float, weights: Any) -> None:
    """Add each point's weight to the bin of its score: ``weights[0]`` for negatives, ``weights[1]`` for positives.

    Bin k holds the scores from ``low + k * width``, it included; the first and last bins hold all beyond.
    """
    per_width = 1.0 / width
    last = weights.shape[1] - 1
    for i in range(scores.size):
        score = np.float64(scores[i])
        place = int(min(max((score - low) * per_width, 0.0), np.float64(last)))
        # Rounding may have put a score that lies at an edge on its wrong side.
        if place < last and score >= low + width * (place + 1):
            place += 1
        elif place > 0 and score < low + width * place:
            place -= 1
        weight = np.float64(signed_weights[i])
        weights[1 if weight > 0.0 else 0, place] += abs(weight)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def score_rows(X: Any, centre: Any, models: Any, intercepts: Any, scores: Any) -> None:
    """Set ``scores[k] = (X - centre) @ models[k] + intercepts[k]``, of all models in one pass over the rows."""
    for i in range(X.shape[0]):
        for k in range(models.shape[0]):
            total = X.dtype.type(intercepts[k])
            for j in range(X.shape[1]):
                total += (X[i, j] - centre[j]) * models[k, j]
            scores[k, i] = total


@njit(cache=True, nogil=True, fastmath={"contract"})
def bin_bent_scores(scores: Any, signed_weights: Any, weights: Any) -> None:
    """Add each point's weight to the bin of its score: ``weights[0]`` for negatives, ``weights[1]`` for positives.

    The bins are of equal width in score / (1 + |score|), which lies between -1 and 1: fine near 0, and unbounded.
    NaN counts as lowest.
    """
    last = weights.shape[1] - 1
    half = 0.5 * weights.shape[1]
    for i in range(scores.size):
        score = np.float64(scores[i])
        bent = score / (1.0 + abs(score)) if abs(score) < np.inf else (1.0 if score > 0.0 else -1.0)
        place = min(int(half + half * bent), last)
        weight = np.float64(signed_weights[i])
        weights[1 if weight > 0.0 else 0, place] += abs(weight)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def mean_and_spread(scores: Any) -> tuple[float, float]:
    """Return the mean and the standard deviation."""
    origin = np.float64(scores[0])
    total, squares = 0.0, 0.0
    for i in range(scores.size):
        gap = np.float64(scores[i]) - origin
        total += gap
        squares += gap * gap
    mean = total / scores.size
    return origin + mean, np.sqrt(max(squares / scores.size - mean * mean, 0.0))
