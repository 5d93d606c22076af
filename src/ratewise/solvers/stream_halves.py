"""The two halves of a stream's rows: a row's own bits say which one it belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import hash_csr_rows, hash_dense_rows


def half_of_each_row(X: Any) -> NDArray[np.uint64]:
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    if sparse.issparse(X):
        hash_csr_rows(np.asarray(X.data, dtype=np.float32).view(np.uint32), X.indices, X.indptr, hashes)
    else:
        hash_dense_rows(np.ascontiguousarray(X, dtype=np.float32).view(np.uint32), hashes)
    return hashes & np.uint64(1)


def both_classes_in_both(halves: NDArray[np.uint64], weights: NDArray[Any]) -> bool:
    """Equal rows are in one half, and may be all there is of a class."""
    return all(np.unique(np.sign(weights[halves == half])).size == 2 for half in (0, 1))


def rows_where(wanted: NDArray[np.bool_], X: Any, weights: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    mine = np.flatnonzero(wanted)
    return X[mine], weights[mine]
