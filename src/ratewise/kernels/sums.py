"""Sums over rows, columns, weights and scores in one pass, where numpy would make several."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._cache import njit

_BLOCK_ROWS = 256


@njit(cache=True, nogil=True)
def add_column_moments(data: Any, indices: Any, nonzeros: Any, squares: Any) -> None:
    """Add the number of non-zeros and the sum of squares of each column of sparse rows to the running totals."""
    for k in range(data.size):
        value = data[k]
        if value != 0:
            j = indices[k]
            nonzeros[j] += 1.0
            squares[j] += value * value


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def square_dense_rows(X: Any, squares: Any) -> None:
    """Set the squared length of every row."""
    for i in range(X.shape[0]):
        total = squares.dtype.type(0.0)
        for j in range(X.shape[1]):
            total += X[i, j] * X[i, j]
        squares[i] = total


@njit(cache=True, nogil=True)
def square_csr_rows(data: Any, indptr: Any, out: Any) -> None:
    """Set the squared length of every sparse row."""
    for i in range(out.size):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * data[k]
        out[i] = total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def weight_moments(signed_weights: Any) -> tuple[float, float, float, float]:
    """Return the weight of all positives and of all negatives, and the squares of the weights of both."""
    positive, negative, positive_squares, negative_squares = 0.0, 0.0, 0.0, 0.0
    for i in range(signed_weights.size):
        weight = np.float64(signed_weights[i])
        up, down = max(weight, 0.0), max(-weight, 0.0)
        positive += up
        negative += down
        positive_squares += up * up
        negative_squares += down * down
    return positive, negative, positive_squares, negative_squares


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
def merge_column_moments(X: Any, count: float, mean: Any, squares: Any) -> float:
    """Take dense rows into the mean and the squared deviations of ``count`` rows so far; return the new count.

    Deviations are taken from the mean so far, and folded in after every few rows, so that neither a large mean nor
    a long column costs digits.
    """
    d = X.shape[1]
    origin, sums, sums_of_squares = np.empty(d), np.empty(d), np.empty(d)
    for start in range(0, X.shape[0], _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, X.shape[0])
        for j in range(d):
            origin[j] = mean[j] if count > 0 else X[start, j]
            sums[j] = 0.0
            sums_of_squares[j] = 0.0
        rows = stop - start
        fours = start + rows // 4 * 4
        # Four rows at a time: the sums lie in memory, and fetching them would cost more than the arithmetic.
        for i in range(start, fours, 4):
            for j in range(d):
                a, b = np.float64(X[i, j]) - origin[j], np.float64(X[i + 1, j]) - origin[j]
                c, e = np.float64(X[i + 2, j]) - origin[j], np.float64(X[i + 3, j]) - origin[j]
                sums[j] += (a + b) + (c + e)
                sums_of_squares[j] += (a * a + b * b) + (c * c + e * e)
        for i in range(fours, stop):
            for j in range(d):
                gap = np.float64(X[i, j]) - origin[j]
                sums[j] += gap
                sums_of_squares[j] += gap * gap
        total = count + rows
        for j in range(d):
            mine = sums[j] / rows
            gap = origin[j] + mine - mean[j]
            spread = max(sums_of_squares[j] - mine * mine * rows, 0.0)
            squares[j] += spread + gap * gap * (count * rows / total)
            mean[j] += gap * (rows / total)
        count = total
    return count


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
