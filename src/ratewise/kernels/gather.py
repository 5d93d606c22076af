"""Rows in another order, standardised or whitened on the way: one pass, one copy.

A row in random order is a cache miss, several times the arithmetic: dense rows are asked for ahead of time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from ._operations import named_by_fingerprint, prefetch_row, standardize_row, whiten_rows
from .rows import VECTOR_BYTES, WHITENED_TOGETHER

# Rows asked for before they are needed: whitening takes longer, so that fewer do.
_AHEAD, _AHEAD_WHITENED = 24, 12


@njit(cache=True, nogil=True, boundscheck=False)
@named_by_fingerprint
def gather_standardized(X: Any, order: Any, centre: Any, inverse: Any, out: Any) -> None:
    """Set ``out[i] = (X[order[i]] - centre) * inverse``; the rows must be C-contiguous."""
    n = out.shape[0]
    for i in range(n):
        if i + _AHEAD < n:
            prefetch_row(X, np.int64(order[i + _AHEAD]))
        standardize_row(X, np.int64(order[i]), centre, inverse, out, i)


def padded_triangle(triangle: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return an upper triangle with zeros added to the right, up to whole vectors."""
    lanes = VECTOR_BYTES // np.dtype(dtype).itemsize
    width = -(-triangle.shape[0] // lanes) * lanes
    out = np.zeros((triangle.shape[0], width), dtype=dtype)
    out[:, : triangle.shape[1]] = triangle
    return out


@njit(cache=True, nogil=True, fastmath={"contract"}, boundscheck=False)
@named_by_fingerprint
def gather_whitened(X: Any, order: Any, centre: Any, inverse: Any, triangle: Any, out: Any) -> None:
    """Set ``out[i] = ((X[order[i]] - centre) * inverse) @ triangle``, the triangle padded; X must be C-contiguous.

    BLAS would take a second pass and twice the arithmetic, and threads of its own, which get in the way of the one
    that reads ahead.
    """
    n, d = out.shape
    rows = np.zeros((WHITENED_TOGETHER, triangle.shape[1]), dtype=out.dtype)
    whitened = np.zeros((WHITENED_TOGETHER, triangle.shape[1]), dtype=out.dtype)
    for first in range(0, n, WHITENED_TOGETHER):
        count = min(WHITENED_TOGETHER, n - first)
        for row in range(count):
            i = first + row
            if i + _AHEAD_WHITENED < n:
                prefetch_row(X, np.int64(order[i + _AHEAD_WHITENED]))
            k = order[i]
            for j in range(d):
                rows[row, j] = (X[k, j] - centre[j]) * inverse[j]
        whiten_rows(rows, triangle, whitened)
        for row in range(count):
            for j in range(d):
                out[first + row, j] = whitened[row, j]


def gather_weights(weights: NDArray[Any], order: NDArray[np.signedinteger[Any]]) -> NDArray[np.float32]:
    """Return the weights in this order, as float32.

    (numpy would widen the order first, and then the weights again.)
    """
    out = np.empty(order.size, dtype=np.float32)
    _gather_weights(weights, order, out)
    return out


@njit(cache=True, nogil=True, boundscheck=False)
def _gather_weights(weights: Any, order: Any, out: Any) -> None:
    for i in range(order.size):
        out[i] = weights[order[i]]


def gather_scaled(X: Any, order: NDArray[np.signedinteger[Any]], factors: NDArray[np.float64], dtype: Any) -> Any:
    """Return the rows of a CSR matrix in this order, each column times its factor, with sorted columns."""
    lengths = np.diff(X.indptr)[order]
    indptr = np.zeros(order.size + 1, dtype=X.indptr.dtype)
    np.cumsum(lengths, out=indptr[1:])
    data, indices = np.empty(indptr[-1], dtype=dtype), np.empty(indptr[-1], dtype=X.indices.dtype)
    _gather_entries(X.data, X.indices, X.indptr, order, factors.astype(dtype), data, indices, indptr)
    gathered = sparse.csr_matrix((data, indices, indptr), shape=(order.size, X.shape[1]), copy=False)
    gathered.has_sorted_indices = X.has_sorted_indices
    gathered.sort_indices()
    return gathered


@njit(cache=True, nogil=True, boundscheck=False)
def _gather_entries(
    data: Any,
    indices: Any,
    indptr: Any,
    order: Any,
    factors: Any,
    new_data: Any,
    new_indices: Any,
    new_indptr: Any,
) -> None:
    for i in range(order.size):
        begin, place = indptr[order[i]], new_indptr[i]
        for k in range(new_indptr[i + 1] - place):
            column = indices[begin + k]
            new_indices[place + k] = column
            new_data[place + k] = data[begin + k] * factors[column]
