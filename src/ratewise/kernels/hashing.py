"""Hashes of rows, which do not depend on the order the rows come in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

_PRIME = np.uint64(1099511628211)
_START = np.uint64(14695981039346656037)
_SHIFT = np.uint64(33)
_MIX_ONCE, _MIX_AGAIN = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


@njit(cache=True, nogil=True)
def _mixed(h: Any) -> Any:
    """Apply Murmur3's last step: every bit changes every other, since whole numbers differ in few high bits."""
    h = (h ^ (h >> _SHIFT)) * _MIX_ONCE
    h = (h ^ (h >> _SHIFT)) * _MIX_AGAIN
    return h ^ (h >> _SHIFT)


@njit(cache=True, nogil=True)
def hash_dense_rows(bits: Any, hashes: Any) -> None:
    """Set one number per row, from the bits of its entries (FNV-1a over 32-bit words, then mixed)."""
    for i in range(bits.shape[0]):
        h = _START
        for j in range(bits.shape[1]):
            h = (h ^ np.uint64(bits[i, j])) * _PRIME
        hashes[i] = _mixed(h)


@njit(cache=True, nogil=True)
def hash_csr_rows(bits: Any, indices: Any, indptr: Any, hashes: Any) -> None:
    """Set one number per sparse row, from its columns and entries."""
    for i in range(indptr.size - 1):
        h = _START
        for k in range(indptr[i], indptr[i + 1]):
            h = (h ^ np.uint64(indices[k])) * _PRIME
            h = (h ^ np.uint64(bits[k])) * _PRIME
        hashes[i] = _mixed(h)


def fold_of_each_row(X: Any, folds: int) -> NDArray[np.uint64]:
    """Return the number of the fold that each row, dense or of a CSR matrix, belongs to.

    The bits of the row's own entries decide: equal rows are in one fold, in any window and on any machine.
    """
    if folds == 1:
        return np.zeros(X.shape[0], dtype=np.uint64)
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    if sparse.issparse(X):
        hash_csr_rows(np.asarray(X.data, dtype=np.float32).view(np.uint32), X.indices, X.indptr, hashes)
    else:
        bits = np.uint64 if X.dtype == np.float64 else np.uint32
        hash_dense_rows(np.ascontiguousarray(X).view(bits), hashes)
    return hashes % np.uint64(folds)
