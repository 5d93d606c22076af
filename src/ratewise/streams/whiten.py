"""Columns that do not repeat one another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..kernels import gather_whitened, padded_triangle
from .side_by_side import fill_side_by_side
from .standardize import Standardizer

_SAMPLE_ROWS = 20_000


class Whitener:
    """Standardised columns, turned so that no two are correlated.

    A method that takes one step for all directions learns the strong ones first and the weak ones never.
    Whitening makes all directions equally strong: a few passes then do what took a hundred. It costs one
    multiplication of the rows by a square matrix, so it pays where columns are few.

    The covariance is taken from a sample of rows, which may miss a rare column altogether: no column is taken
    to vary less than standardising says it does.

    Parameters
    ----------
    standardizer : Standardizer
        Has seen all rows.
    X : array
    rng : numpy Generator
        Draws the sample.
    ridge : float
        Added to the variances, so that directions in which rows hardly differ are not blown up.
    """

    def __init__(self, standardizer: Standardizer, X: Any, rng: np.random.Generator, *, ridge: float = 0.01):
        size = min(X.shape[0], sample_size(X.shape[1]))
        sample = standardizer.transform(
            X[rng.choice(X.shape[0], size, replace=False)], np.arange(size), np.float32
        )
        self._standardizer = standardizer
        self._turn = _turn_for((sample.T @ sample).astype(np.float64) / size, ridge)

    @classmethod
    def of_covariance(
        cls, standardizer: Standardizer, covariance: NDArray[np.float64], *, ridge: float = 0.01
    ) -> Whitener:
        """From the covariance of standardised rows, wherever they are."""
        whitener = cls.__new__(cls)
        whitener._standardizer = standardizer
        whitener._turn = _turn_for(covariance, ridge)
        return whitener

    unit_scale = True

    @property
    def scale(self) -> NDArray[np.float64]:
        return self._standardizer.scale

    def transform(self, X: Any, order: NDArray[np.signedinteger[Any]], dtype: Any, threads: int = 1) -> Any:
        out = np.empty((order.size, X.shape[1]), dtype=dtype)
        triangle = padded_triangle(self._turn, dtype)
        shift, factor = self._standardizer.shift_and_factor(X.dtype)
        X = np.ascontiguousarray(X)
        fill_side_by_side(
            lambda mine, rows: gather_whitened(X, mine, shift, factor, triangle, rows), order, out, threads
        )
        return out

    def to_user_units(self, weights: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        return self._standardizer.to_user_units(self._turn @ weights, intercept)

    def to_standard_units(self, coef: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        weights, intercept = self._standardizer.to_standard_units(coef, intercept)
        return linalg.solve_triangular(self._turn, weights), intercept


def sample_size(n_features: int) -> int:
    """Rows enough to take a covariance from."""
    return max(_SAMPLE_ROWS, 50 * n_features)


def _turn_for(covariance: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    covariance = covariance.copy()
    diagonal = np.diag_indices_from(covariance)
    covariance[diagonal] = np.maximum(covariance[diagonal], 1.0) + ridge
    lower = np.linalg.cholesky(covariance)
    turn: NDArray[np.float64] = linalg.solve_triangular(lower, np.eye(covariance.shape[0]), lower=True).T
    return turn
