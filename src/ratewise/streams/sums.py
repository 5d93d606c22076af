"""What rows come to: their weights and squared lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import square_csr_rows, square_dense_rows, weight_moments
from .chunk import Summary


def summarize(X: Any, signed_weights: NDArray[Any]) -> Summary:
    """Count points, class weights and squared row lengths."""
    return Summary(int(X.shape[0]), *class_weights(signed_weights), sum_of_squares(X))


def class_weights(signed_weights: NDArray[Any]) -> tuple[float, float]:
    """The weight of all positives and of all negatives."""
    positive, negative, _, _ = weight_moments(signed_weights)
    return positive, negative


def effective_points(signed_weights: NDArray[Any]) -> tuple[float, float]:
    """As many points of each class, all weighted alike, as would tell as much."""
    positive, negative, positive_squares, negative_squares = weight_moments(signed_weights)
    return _alike(positive, positive_squares), _alike(negative, negative_squares)


def _alike(total: float, squares: float) -> float:
    return total**2 / squares if squares > 0 else 0.0


def squared_rows(X: Any) -> NDArray[np.floating[Any]]:
    """The squared length of every row."""
    squared: NDArray[np.floating[Any]]
    if not sparse.issparse(X):
        squared = np.empty(X.shape[0], dtype=X.dtype)
        square_dense_rows(X, squared)
        return squared
    squared = np.empty(X.shape[0], dtype=X.dtype)
    square_csr_rows(X.data, X.indptr, squared)
    return squared


def sum_of_squares(X: Any) -> float:
    """The squared lengths of all rows together."""
    values = X.data if sparse.issparse(X) else X.reshape(-1)
    return float(np.dot(values, values))


def sums_by_class(codes: NDArray[np.intp], values: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    """The values of the rows of each class, added up."""
    sums: NDArray[Any] = np.bincount(codes, weights=values, minlength=n_classes)
    return sums.astype(np.float64, copy=False)
