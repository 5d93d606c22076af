"""Sums over columns, rows and weights in one pass, where numpy would make several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

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
