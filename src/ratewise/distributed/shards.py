"""Shards of rows that are in memory already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .protocol import Shard
from .rows import ReadRows


@dataclass(frozen=True)
class ArrayShard(Shard):
    """Rows, labels and perhaps weights, as arrays, a CSR matrix, or columns of a data frame."""

    X: Any
    y: Any
    weights: Any = None
    name: str = "this partition"

    def read(self) -> ReadRows:
        X = as_matrix(self.X, self.name)
        labels = _aligned(np.asarray(self.y).reshape(-1))
        if X.shape[0] == 0:
            raise ValueError(
                f"{self.name} holds no rows: drop it, or repartition the data so that every part has some."
            )
        if labels.size != X.shape[0]:
            raise ValueError(f"{self.name}: {X.shape[0]:,} rows in X, but {labels.size:,} labels in y.")
        weights = None if self.weights is None else _aligned(np.asarray(self.weights, np.float64).reshape(-1))
        if weights is not None and weights.size != X.shape[0]:
            raise ValueError(f"{self.name}: {X.shape[0]:,} rows in X, but {weights.size:,} sample weights.")
        return ReadRows(X, labels, weights)


def as_matrix(X: Any, name: str) -> Any:
    if sparse.issparse(X):
        X = sparse.csr_matrix(X)
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float32)
        parts = (_aligned(X.data), _aligned(X.indices), _aligned(X.indptr))
        return sparse.csr_matrix(parts, shape=X.shape, copy=False)
    if hasattr(X, "select_dtypes"):
        others = [str(column) for column in X.columns if X[column].dtype.kind not in "biuf"]
        if others:
            raise ValueError(
                f"{name}: column {others[0]!r} does not hold numbers. Encode it first, or write the table as "
                "Parquet and fit the folder, which encodes categories."
            )
        X = X.to_numpy(dtype=np.float32 if all(t == np.float32 for t in X.dtypes) else np.float64)
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"{name}: X must have two dimensions, rows and columns; it has {X.ndim}.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{name}: X must hold numbers; its type is {X.dtype}.")
    return _aligned(X.astype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64, copy=False))


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Rows that came over a wire may lie at odd addresses, where numpy sums in another order."""
    found: NDArray[Any] = np.require(array, requirements=["C", "A"])
    return found
