"""Operations on rows in plain numba: the reference for ``_llvm.py`` in tests, and its fallback.

Rows are a C-contiguous float32 or float64 matrix or, if sparse, the tuple (data, indices, indptr) of a CSR matrix.
A function below is the one for dense rows; the decorator names the one that replaces it for sparse rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import overload

from ._cache import njit

# Plain fastmath=True would let the compiler assume that no NaN exists, and a diverging run must be seen.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
VECTOR_BYTES = 32
BLOCK = 4  # dense rows that are learned from together
PAIRS = [(earlier, later) for later in range(BLOCK) for earlier in range(later)]
WHITENED_TOGETHER = 8  # rows


def or_sparse(sparse: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let compiled code call a function of dense rows, or this one where the rows are a tuple."""

    def decorate(dense: Callable[..., Any]) -> Callable[..., Any]:
        def choose(rows: Any, *others: Any) -> Callable[..., Any]:
            return sparse if isinstance(rows, types.BaseTuple) else dense

        choose.__signature__ = inspect.signature(dense)  # type: ignore[attr-defined]
        overload(dense, strict=False, jit_options={"fastmath": FASTMATH})(choose)
        return dense

    return decorate


@or_sparse(lambda rows: False)
def learned_in_blocks(rows: Any) -> Any:
    """Return whether rows of this layout are learned from four at a time."""
    return True


@njit(nogil=True)
def _whole_and_gap(rows: Any, vector: Any) -> Any:
    """Return how many columns fill whole vectors, and the gap in the model after them."""
    lanes = VECTOR_BYTES // rows.itemsize
    return rows.shape[1] // lanes * lanes, vector.size - rows.shape[1]


def _sparse_dot(rows: Any, i: Any, vector: Any) -> Any:
    data, indices, indptr = rows
    total = vector.dtype.type(0.0)
    for k in range(indptr[i], indptr[i + 1]):
        total += data[k] * vector[indices[k]]
    return np.float64(total)


@or_sparse(_sparse_dot)
def row_dot(rows: Any, i: Any, vector: Any) -> Any:
    """Return the product of row i and the vector."""
    whole, gap = _whole_and_gap(rows, vector)
    total = vector.dtype.type(0.0)
    for j in range(whole):
        total += rows[i, j] * vector[j]
    for j in range(whole, rows.shape[1]):
        total += rows[i, j] * vector[j + gap]
    return np.float64(total)


@njit(nogil=True, fastmath=FASTMATH)
def _product(a: Any, b: Any) -> Any:
    total = a.dtype.type(0.0)
    for j in range(a.size):
        total += a[j] * b[j]
    return np.float64(total)


# Sparse rows are learned from one by one: this is compiled, but never run.
@or_sparse(lambda rows, first, vector: (0.0,) * 10)
def look_ahead(rows: Any, first: Any, vector: Any) -> Any:
    """Return what learning from four rows takes: the product of each with the vector, and the six between them.

    The six are in the order of PAIRS: 01, 02, 12, 03, 13, 23.
    """
    a, b, c, d = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
    return (
        row_dot(rows, first, vector),
        row_dot(rows, first + 1, vector),
        row_dot(rows, first + 2, vector),
        row_dot(rows, first + 3, vector),
        _product(a, b),
        _product(a, c),
        _product(b, c),
        _product(a, d),
        _product(b, d),
        _product(c, d),
    )


def _add_sparse_row(rows: Any, first: Any, factors: Any, vector: Any) -> None:
    data, indices, indptr = rows
    factor = vector.dtype.type(factors[0])
    for k in range(indptr[first], indptr[first + 1]):
        vector[indices[k]] += factor * data[k]


@or_sparse(_add_sparse_row)
def add_rows(rows: Any, first: Any, factors: Any, vector: Any) -> None:
    """Add to the vector the rows from ``first`` on, one for each of ``factors``, each times its factor.

    Sparse rows are added one at a time.
    """
    whole, gap = _whole_and_gap(rows, vector)
    for row in range(len(factors)):
        factor = vector.dtype.type(factors[row])
        for j in range(whole):
            vector[j] += factor * rows[first + row, j]
        for j in range(whole, rows.shape[1]):
            vector[j + gap] += factor * rows[first + row, j]


def _squared_sparse_row(rows: Any, i: Any) -> Any:
    data, _, indptr = rows
    entries = data[indptr[i] : indptr[i + 1]]
    return _product(entries, entries)


@or_sparse(_squared_sparse_row)
def squared_row(rows: Any, i: Any) -> Any:
    """Return the squared length of row i."""
    return _product(rows[i], rows[i])


@or_sparse(lambda rows, start, stop: np.int64(rows[2][stop]) - np.int64(rows[2][start]))
def count_values(rows: Any, start: Any, stop: Any) -> Any:
    """Return how many values the rows from ``start`` to ``stop`` are made of."""
    return rows.shape[1] * (stop - start)


@njit(nogil=True)
def prefetch_row(X: Any, i: Any) -> None:
    """Do nothing: plain numba has no instruction that brings row i into the cache ahead of time."""


def check_standardizing(X: Any, centre: Any, inverse: Any, out: Any) -> None:
    """Refuse types of arrays that :func:`standardize_row` would misread."""
    if (
        any(array.layout != "C" for array in (X, centre, inverse, out))
        or not X.dtype == centre.dtype == inverse.dtype
    ):
        raise TypingError("The arrays must be C-contiguous, and the centre and the scale as wide as the rows.")


def standardize_row(X: Any, k: Any, centre: Any, inverse: Any, out: Any, i: Any) -> None:
    """Set ``out[i] = (X[k] - centre) * inverse``."""
    for j in range(X.shape[1]):
        out[i, j] = (X[k, j] - centre[j]) * inverse[j]


@overload(standardize_row)
def _standardize_row(X: Any, k: Any, centre: Any, inverse: Any, out: Any, i: Any) -> Callable[..., None]:
    check_standardizing(X, centre, inverse, out)
    return standardize_row


@njit(nogil=True, fastmath=FASTMATH)
def whiten_rows(rows: Any, triangle: Any, whitened: Any) -> None:
    """Set ``whitened = rows @ triangle``, for eight rows; the upper triangle is padded to whole vectors."""
    height, width = triangle.shape
    for i in range(WHITENED_TOGETHER):
        for column in range(width):
            total = whitened.dtype.type(0.0)
            for j in range(min(column + 1, height)):
                total += rows[i, j] * triangle[j, column]
            whitened[i, column] = total
