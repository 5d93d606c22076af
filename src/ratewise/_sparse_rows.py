"""Rows of CSR matrices without the copies and checks of SciPy's slices and stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def csr_of(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], like: Any, n_columns: int) -> Any:
    """Return a matrix of the type ``like`` with these arrays themselves.

    The constructor would copy slices of larger arrays, and check all indices.
    """
    rows = like((indptr.size - 1, n_columns), dtype=data.dtype)
    rows.data, rows.indices, rows.indptr = data, indices, indptr
    return rows


def row_range(X: Any, start: int, stop: int) -> Any:
    """Return the rows from start to stop of a dense or a CSR matrix; none of their entries is copied."""
    if stop - start == X.shape[0]:
        return X
    if not sparse.issparse(X):
        return X[start:stop]
    first, last = X.indptr[start], X.indptr[stop]
    indptr = X.indptr[start : stop + 1] - first
    return csr_of(X.data[first:last], X.indices[first:last], indptr, type(X), X.shape[1])


def stacked(parts: Sequence[Any]) -> Any:
    """Return CSR matrices of equal width stacked row-wise, copied once; a single one is returned as it is."""
    if len(parts) == 1:
        return parts[0]
    types = {part.indices.dtype for part in parts} | {part.indptr.dtype for part in parts}
    entries = sum(int(part.data.size) for part in parts)
    whole: Any = max(types, key=lambda dtype: dtype.itemsize)
    if entries > np.iinfo(whole).max:
        whole = np.dtype(np.int64)
    ends, indptr = 0, [np.zeros(1, dtype=whole)]
    for part in parts:
        indptr.append(part.indptr[1:].astype(whole) + whole.type(ends))
        ends += int(part.data.size)
    data = np.concatenate([part.data for part in parts])
    indices = np.concatenate([part.indices for part in parts]).astype(whole, copy=False)
    return csr_of(data, indices, np.concatenate(indptr), type(parts[0]), parts[0].shape[1])
