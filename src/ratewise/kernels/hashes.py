"""Numbers that tell rows apart, whatever order they come in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_PRIME = np.uint64(1099511628211)
_START = np.uint64(14695981039346656037)
_SHIFT = np.uint64(33)
_MIX_ONCE, _MIX_AGAIN = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


@njit(cache=True, nogil=True)
def _mixed(h: Any) -> Any:
    """Murmur3's last step: every bit has a say in every other, as whole numbers differ in a few high bits only."""
    h = (h ^ (h >> _SHIFT)) * _MIX_ONCE
    h = (h ^ (h >> _SHIFT)) * _MIX_AGAIN
    return h ^ (h >> _SHIFT)


@njit(cache=True, nogil=True)
def hash_dense_rows(bits: Any, hashes: Any) -> None:
    """One number a row, from the bits of its entries (FNV-1a over 32-bit words, then mixed)."""
    for i in range(bits.shape[0]):
        h = _START
        for j in range(bits.shape[1]):
            h = (h ^ np.uint64(bits[i, j])) * _PRIME
        hashes[i] = _mixed(h)


@njit(cache=True, nogil=True)
def hash_csr_rows(bits: Any, indices: Any, indptr: Any, hashes: Any) -> None:
    """The same for sparse rows, from their columns and entries."""
    for i in range(indptr.size - 1):
        h = _START
        for k in range(indptr[i], indptr[i + 1]):
            h = (h ^ np.uint64(indices[k])) * _PRIME
            h = (h ^ np.uint64(bits[k])) * _PRIME
        hashes[i] = _mixed(h)
