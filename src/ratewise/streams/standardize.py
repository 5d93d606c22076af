"""Columns brought to one scale, and models carried back to the user's units."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import add_column_moments, gather_scaled, gather_standardized, merge_column_moments
from .side_by_side import fill_side_by_side


class Standardizer:
    """Running column statistics, and the change of units they make.

    Dense columns are centred and divided by their standard deviation. Columns of a sparse matrix are not centred,
    which would fill it. Divided by their standard deviation, rare words would drown all else; by the size of
    their entries alone, they would hardly be heard: what they are divided by lies midway.
    """

    def __init__(self, n_features: int, *, active: bool = True):
        self.active = active
        self.count = 0.0
        self.mean = np.zeros(n_features)
        self.squares = np.zeros(n_features)  # dense: of the deviations from the mean; sparse: of the entries
        self.nonzeros: NDArray[np.float64] | None = None  # of the columns of sparse rows
        self._narrow = True  # all rows so far were float32

    def update(self, X: Any) -> Standardizer:
        """Take in more rows."""
        if not self.active or X.shape[0] == 0:
            return self
        self._narrow = self._narrow and X.dtype == np.float32
        if sparse.issparse(X):
            self._update_sparse(X)
        else:
            self.count = merge_column_moments(np.ascontiguousarray(X), self.count, self.mean, self.squares)
        return self

    def _update_sparse(self, X: Any) -> None:
        if self.nonzeros is None:
            self.nonzeros = np.zeros(self.mean.size)
        add_column_moments(X.data, X.indices, self.nonzeros, self.squares)
        self.count += X.shape[0]

    def merge(self, other: Standardizer) -> Standardizer:
        """The statistics of both: as if all rows had been seen by one."""
        if (self.nonzeros is None) != (other.nonzeros is None) and self.count and other.count:
            raise ValueError("Some rows are dense and others sparse: the two are scaled differently.")
        merged = self.snapshot() if self.count else other.snapshot()
        if not self.count or not other.count:
            return merged
        merged._narrow = self._narrow and other._narrow
        merged.count = self.count + other.count
        merged.squares = self.squares + other.squares
        if self.nonzeros is not None and other.nonzeros is not None:
            merged.nonzeros = self.nonzeros + other.nonzeros
            return merged
        gap = other.mean - self.mean
        merged.mean = self.mean + gap * (other.count / merged.count)
        merged.squares += gap * gap * (self.count * other.count / merged.count)
        return merged

    @property
    def centre(self) -> NDArray[np.float64]:
        """What is subtracted from each column: its mean, as a float32 if the rows are, so that it is exact."""
        if self.nonzeros is not None or not self.active:
            return np.zeros_like(self.mean)
        return self.mean.astype(np.float32).astype(np.float64) if self._narrow else self.mean

    @property
    def scale(self) -> NDArray[np.float64]:
        """What each column is divided by; 1 for a column that does not vary."""
        if not self.active or self.count == 0:
            return np.ones_like(self.mean)
        if self.nonzeros is not None:
            # The geometric mean of the root mean square over all rows and that over the non-zeros.
            spread = np.sqrt(self.squares / np.sqrt(self.count * np.maximum(self.nonzeros, 1.0)))
            return np.where(spread > 0, spread, 1.0)
        spread = np.sqrt(self.squares / self.count)
        # Rounding leaves a constant column a spread of about 1e-16 of its size.
        return np.where(spread > 1e-12 * np.abs(self.mean), spread, 1.0)

    @property
    def unit_scale(self) -> bool:
        return self.active

    def snapshot(self) -> Standardizer:
        """A copy that later updates leave alone."""
        return copy.deepcopy(self)

    def to_user_units(self, weights: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        """A model of standardised columns as the same model of the user's columns."""
        coef = np.asarray(weights, dtype=np.float64) / self.scale
        return coef, float(intercept - coef @ self.centre)

    def to_standard_units(self, coef: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        """The other way round."""
        coef = np.asarray(coef, dtype=np.float64)
        return coef * self.scale, float(intercept + coef @ self.centre)

    def transform(self, X: Any, order: NDArray[np.signedinteger[Any]], dtype: Any, threads: int = 1) -> Any:
        """The rows of X in this order, standardised: one copy, made in one pass over the rows."""
        if sparse.issparse(X):
            return gather_scaled(X, order, 1.0 / self.scale, dtype)
        out = np.empty((order.size, X.shape[1]), dtype=dtype)
        shift, factor = self.shift_and_factor(X.dtype)
        X = np.ascontiguousarray(X)
        fill_side_by_side(
            lambda mine, rows: gather_standardized(X, mine, shift, factor, rows), order, out, threads
        )
        return out

    def shift_and_factor(self, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """What to subtract from each column and what to multiply it by then, in the width of the rows.

        Subtracting the centre first loses nothing, since it is a float32 if the rows are.
        """
        return self.centre.astype(dtype), (1.0 / self.scale).astype(dtype)
