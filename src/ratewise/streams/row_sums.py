"""Sums over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .chunk import Summary


def summarize(X: Any, signed_weights: NDArray[Any]) -> Summary:
    """Count points, class weights and squared row lengths."""
    return Summary(int(X.shape[0]), *class_weights(signed_weights), sum_of_squares(X))


def class_weights(signed_weights: NDArray[Any]) -> tuple[float, float]:
    """The weight of all positives and of all negatives; by two plain sums, which take a tenth of masked ones."""
    both = float(np.abs(signed_weights).sum(dtype=np.float64))
    surplus = float(signed_weights.sum(dtype=np.float64))
    return 0.5 * (both + surplus), 0.5 * (both - surplus)


def squared_rows(X: Any) -> NDArray[np.floating[Any]]:
    """The squared length of every row."""
    squared: NDArray[np.floating[Any]]
    if not sparse.issparse(X):
        squared = np.einsum("ij,ij->i", X, X)
        return squared
    squared = np.zeros(X.shape[0], dtype=X.dtype)
    filled = np.flatnonzero(np.diff(X.indptr))  # reduceat would give an empty row its neighbour's entry
    squared[filled] = np.add.reduceat(X.data * X.data, X.indptr[filled])
    return squared


def sum_of_squares(X: Any) -> float:
    values = X.data if sparse.issparse(X) else X.reshape(-1)
    return float(np.dot(values, values))


def sums_by_class(codes: NDArray[np.intp], values: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    """The values of the rows of each class, added up."""
    sums: NDArray[Any] = np.bincount(codes, weights=values, minlength=n_classes)
    return sums.astype(np.float64, copy=False)
