"""The compiled loop that codes rows in a basis: curves, missing values and products of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._cache import njit
from ._operations import named_by_fingerprint, prefetch_row
from .passes import AHEAD


@njit(cache=True, nogil=True, boundscheck=False)
@named_by_fingerprint
def code_rows(
    X: Any, order: Any, columns: Any, missing: Any, hinges: Any, pairs: Any, limits: Any, out: Any
) -> None:
    """Set ``out[i]`` to the basis columns of row ``order[i]``; see ``few.code_rows``, which does the same."""
    centre, inverse, factor, shift = columns
    missing_column, missing_mean, missing_factor = missing
    hinge_column, knot, slope, mean, hinge_factor = hinges
    first, second, pair_mean, pair_factor = pairs
    far, near = limits
    n, z = out.shape[0], np.empty(X.shape[1])
    for i in range(n):
        if i + AHEAD < n:  # (rows in random order: without it, waiting for them takes most of the time)
            prefetch_row(X, np.int64(order[i + AHEAD]))
        row = np.int64(order[i])
        for j in range(z.size):
            value = (np.float64(X[row, j]) - centre[j]) * inverse[j]
            if value != value:  # missing: the curve at its mean
                value = 0.0
            z[j] = min(max(value, -far), far)
            out[i, j] = z[j] * factor[j] + shift[j]
        at = z.size
        for k in range(missing_column.size):
            there = X[row, missing_column[k]]
            is_missing = 1.0 if there != there else 0.0
            out[i, at + k] = (is_missing - missing_mean[k]) * missing_factor[k]
        at += missing_column.size
        for k in range(hinge_column.size):
            value = z[hinge_column[k]]
            out[i, at + k] = (max(value - knot[k], 0.0) - slope[k] * value - mean[k]) * hinge_factor[k]
        at += hinge_column.size
        for k in range(first.size):
            left = min(max(z[first[k]], -near), near)
            right = min(max(z[second[k]], -near), near)
            out[i, at + k] = (left * right - pair_mean[k]) * pair_factor[k]
