"""Standardize or whiten columns, and convert models back to the user's columns."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from . import kernels
from .kernels import add_column_moments, gather_scaled, gather_standardized, merge_column_moments

_SAMPLE_ROWS = 20_000  # for a covariance
_WHITENING_RIDGE = 0.01
_FEWEST_ROWS_PER_THREAD = 8192
_PARTS_PER_THREAD = 4  # so that a delayed thread does not delay the others for long


class Transform(Protocol):
    """The transform of rows for learning: a linear map of the user's columns."""

    @property
    def width(self) -> int:
        """The number of transformed columns."""

    @property
    def unit_scale(self) -> bool:
        """Whether transformed entries are about 1 in size."""

    @property
    def scale(self) -> NDArray[np.float64]:
        """The spread of each of the user's columns."""

    @property
    def centre(self) -> NDArray[np.float64]:
        """The centre of each of the user's columns, which is subtracted."""

    def transform(self, X: Any, order: NDArray[np.signedinteger[Any]], dtype: Any, threads: int = 1) -> Any:
        """Return the rows of X in this order, transformed."""

    def inverse_coef(self, weights: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        """Return a model of transformed columns as the same model of the user's columns."""

    def transform_coef(self, coef: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        """Return a model of the user's columns as a model of transformed columns."""


class Standardizer:
    """Running column statistics, and the standardization by them.

    Dense columns are centered and divided by their standard deviation. Columns of a sparse matrix are not
    centered, which would fill it. If they were divided by their standard deviation, rare words would outweigh
    everything else. If they were divided by the size of their entries, rare words would hardly count. The divisor
    lies midway. ``scaled=False`` only centres.
    """

    def __init__(self, n_features: int, *, active: bool = True, scaled: bool = True):
        self.active, self._scaled = active, scaled
        self.count = 0.0
        self.mean = np.zeros(n_features)
        self.squares = np.zeros(n_features)  # of deviations from the mean if dense, of entries if sparse
        self.nonzeros: NDArray[np.float64] | None = None  # of the columns of sparse rows
        self.missing: NDArray[np.float64] | None = None  # numbers of each column of dense rows
        self._narrow = True  # all rows so far were float32

    def update(self, X: Any) -> Standardizer:
        """Add more rows to the statistics."""
        if not self.active or X.shape[0] == 0:
            return self
        self._narrow = self._narrow and X.dtype == np.float32
        if sparse.issparse(X):
            self._update_sparse(X)
        else:
            self.count = merge_column_moments(np.ascontiguousarray(X), self.count, self.mean, self.squares)
        return self

    def update_with_gaps(self, X: Any) -> Standardizer:
        """Add more rows, in which a missing number (NaN) counts as the mean of its column."""
        if self.missing is None:
            before = self.snapshot()
            if not np.isnan(self.update(X).mean).any():
                return self
            self.__dict__.update(vars(before))
        block = Standardizer(self.mean.size, active=self.active, scaled=self._scaled).update(with_means(X))
        block.missing = np.isnan(X).sum(axis=0, dtype=np.float64)
        self.__dict__.update(vars(self.merge(block)))
        return self

    def _update_sparse(self, X: Any) -> None:
        if self.nonzeros is None:
            self.nonzeros = np.zeros(self.mean.size)
        add_column_moments(X.data, X.indices, self.nonzeros, self.squares)
        self.count += X.shape[0]

    def merge(self, other: Standardizer) -> Standardizer:
        """Merge the statistics of two standardizers, as if one had seen all rows."""
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
        mine: Any = self.count
        theirs: Any = other.count
        if self.missing is not None or other.missing is not None:
            mine, theirs = self._present, other._present
            merged.missing = merged.count - mine - theirs
        both = np.maximum(mine + theirs, 1.0)
        merged.mean = self.mean + gap * (theirs / both)
        merged.squares += gap * gap * (mine * theirs / both)
        return merged

    @property
    def _present(self) -> NDArray[np.float64]:
        """The number of values in each column that are not missing."""
        return self.count - (np.zeros_like(self.mean) if self.missing is None else self.missing)

    @property
    def centre(self) -> NDArray[np.float64]:
        """The centre of each column: its mean, as a float32 if the rows are, so that it is exact."""
        if self.nonzeros is not None or not self.active:
            return np.zeros_like(self.mean)
        return self.mean.astype(np.float32).astype(np.float64) if self._narrow else self.mean

    @property
    def scale(self) -> NDArray[np.float64]:
        """The divisor of each column; 1 for a constant column."""
        if not self.active or self.count == 0 or not self._scaled:
            return np.ones_like(self.mean)
        if self.nonzeros is not None:
            # The geometric mean of the root mean square over all rows and that over the non-zeros.
            spread = np.sqrt(self.squares / np.sqrt(self.count * np.maximum(self.nonzeros, 1.0)))
            return np.where(spread > 0, spread, 1.0)
        spread = np.sqrt(self.squares / self.count)
        # After rounding, a constant column has a spread of about 1e-16 of its size.
        return np.where(spread > 1e-12 * np.abs(self.mean), spread, 1.0)

    @property
    def width(self) -> int:
        return int(self.mean.size)

    @property
    def unit_scale(self) -> bool:
        return self.active

    def require_sound(self, n_features: int) -> None:
        """Refuse arrays, from a file, of another size or type."""
        for one in (self.mean, self.squares, *([] if self.nonzeros is None else [self.nonzeros])):
            if one.shape != (n_features,) or one.dtype != np.float64:
                raise ValueError("the statistics of the columns do not fit the model")

    def snapshot(self) -> Standardizer:
        """Return a copy that later updates do not change."""
        same = copy.copy(self)
        vars(same).update({name: one.copy() for name, one in vars(self).items() if isinstance(one, np.ndarray)})
        return same

    def inverse_coef(self, weights: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        """Return a model of standardized columns as the same model of the user's columns."""
        coef = np.asarray(weights, dtype=np.float64) / self.scale
        return coef, float(intercept - coef @ self.centre)

    def transform_coef(self, coef: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        """Return a model of the user's columns as a model of standardized columns."""
        coef = np.asarray(coef, dtype=np.float64)
        return coef * self.scale, float(intercept + coef @ self.centre)

    def transform(self, X: Any, order: NDArray[np.signedinteger[Any]], dtype: Any, threads: int = 1) -> Any:
        """Return the rows of X in this order, standardized: one copy, made in one pass over the rows."""
        if sparse.issparse(X):
            return gather_scaled(X, order, 1.0 / self.scale, dtype)
        out = np.empty((order.size, X.shape[1]), dtype=dtype)
        shift, factor = self.shift_and_factor(X.dtype)
        X = np.ascontiguousarray(X)
        _fill_in_threads(lambda mine, rows: gather_standardized(X, mine, shift, factor, rows), order, out, threads)
        return out

    def require_scalable(self, X: Any, names: Any = None, numbers: Any = None) -> None:
        """Refuse finite rows, already added, if one of their columns is too large or too small to be scaled.

        Squares must be numbers, and so must the inverse of the deviation in the width of the rows. ``numbers`` are
        the user's columns that X has, where these are not all.
        """
        if not self.active:
            return
        if not np.isfinite(self.squares).all():
            values = X.data if sparse.issparse(X) else X
            largest = int(np.nanargmax(np.abs(values)))
            column = int(X.indices[largest]) if sparse.issparse(X) else largest % X.shape[1]
            size, problem = f"{values.reshape(-1)[largest]:.3g}", "whose square is beyond all numbers"
        elif (column := self._tiny_column(X)) is not None:
            size = f"nothing beyond {np.abs(X[:, [column]]).max():.3g}"
            problem = f"whose values differ too little for {X.dtype} numbers"
        else:
            return
        column = column if numbers is None else int(numbers[column])
        name = f" ({names[column]!r})" if names is not None and column < len(names) else ""
        raise ValueError(
            f"X contains {size} in column {column}{name}, {problem}. Bring the column to another scale."
        )

    def _tiny_column(self, X: Any) -> int | None:
        """Return a column that varies so little that its squares, or 1 / deviation, are not finite numbers."""
        smallest = np.finfo(np.float32).tiny if X.dtype == np.float32 else np.sqrt(np.finfo(np.float64).tiny)
        tiny = np.flatnonzero(self.squares <= self.count * float(smallest) ** 2)
        if self.nonzeros is not None:
            vary = self.nonzeros[tiny] > 0
        else:
            values = X[:, tiny] if self.missing is None else with_means(X[:, tiny])
            vary = (values != values[:1]).any(axis=0)
        return int(tiny[vary][0]) if vary.any() else None

    def shift_and_factor(self, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the number to subtract from each column, and the factor to apply then, in the rows' precision.

        Subtracting the centre first is exact, since it is a float32 if the rows are.
        """
        return self.centre.astype(dtype), (1.0 / self.scale).astype(dtype)


def scalable_moments(X: Any, names: Any = None, numbers: Any = None) -> Standardizer:
    """Return the moments of rows, which must be finite or NaN (missing); refuse columns that cannot be scaled.

    ``numbers`` are the user's columns that X has, where these are not all.
    """
    with np.errstate(all="ignore"):
        moments = Standardizer(X.shape[1]).update_with_gaps(X)
    moments.require_scalable(X, names, numbers)
    return moments


def with_means(X: NDArray[Any]) -> NDArray[Any]:
    """Return the rows with missing numbers replaced by the mean of their column, or by 0 if it has no values."""
    missing = np.isnan(X)
    with np.errstate(all="ignore"):
        sums = np.where(missing, 0.0, X).sum(axis=0, dtype=np.float64)
    means = sums / np.maximum(X.shape[0] - missing.sum(axis=0), 1)
    return np.where(missing, means, X).astype(X.dtype, copy=False)


class Whitener:
    """Standardized columns, whitened so that no two are correlated.

    A method with one step size for all directions learns strong directions first and weak ones never. Whitening
    makes all directions equally strong: a few passes then replace a hundred. It costs one multiplication of the
    rows by a square matrix, so it pays with few columns.

    The covariance comes from a sample of rows, in which a rare column may not occur. So no column gets a smaller
    variance than standardizing gives it. ``covariance`` is that of standardized columns; the ridge is added to the
    variances, so that directions in which rows hardly differ are not amplified.
    """

    def __init__(
        self, standardizer: Standardizer, covariance: NDArray[np.float64], *, ridge: float = _WHITENING_RIDGE
    ):
        self._standardizer = standardizer
        self._triangle = _triangle_of(covariance, ridge)

    @classmethod
    def of_rows(cls, standardizer: Standardizer, X: Any, rng: np.random.Generator) -> Whitener:
        """Take the covariance from a random sample of rows in memory."""
        size = min(X.shape[0], sample_size(X.shape[1]))
        drawn = X[rng.choice(X.shape[0], size, replace=False)]
        return cls(standardizer, standardized_products(standardizer, drawn, np.arange(size)) / size)

    unit_scale = True

    @property
    def width(self) -> int:
        return self._standardizer.width

    @property
    def scale(self) -> NDArray[np.float64]:
        return self._standardizer.scale

    @property
    def centre(self) -> NDArray[np.float64]:
        return self._standardizer.centre

    def transform(self, X: Any, order: NDArray[np.signedinteger[Any]], dtype: Any, threads: int = 1) -> Any:
        out = np.empty((order.size, X.shape[1]), dtype=dtype)
        self.fill(X, order, out, threads)
        return out

    def fill(self, X: Any, order: NDArray[np.signedinteger[Any]], out: NDArray[Any], threads: int = 1) -> None:
        """Write the rows of X in this order, transformed, into ``out``."""
        triangle = kernels.padded_triangle(self._triangle, out.dtype)
        shift, factor = self._standardizer.shift_and_factor(X.dtype)
        X = np.ascontiguousarray(X)
        _fill_in_threads(
            lambda mine, rows: kernels.gather_whitened(X, mine, shift, factor, triangle, rows), order, out, threads
        )

    def inverse_coef(self, weights: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        return self._standardizer.inverse_coef(self._triangle @ weights, intercept)

    def transform_coef(self, coef: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        weights, intercept = self._standardizer.transform_coef(coef, intercept)
        return linalg.solve_triangular(self._triangle, weights), intercept


def standardized_products(
    standardizer: Standardizer, X: Any, rows: NDArray[np.signedinteger[Any]]
) -> NDArray[np.float64]:
    """Return the sum of the outer products of these rows, standardized; sums of several parts add up."""
    sample = standardizer.transform(X, rows, np.float32)
    products: NDArray[np.float64] = (sample.T @ sample).astype(np.float64)
    return products


def sample_size(n_features: int) -> int:
    """Return the number of rows that are enough for a covariance."""
    return max(_SAMPLE_ROWS, 50 * n_features)


def _triangle_of(covariance: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    covariance = covariance.copy()
    diagonal = np.diag_indices_from(covariance)
    covariance[diagonal] = np.maximum(covariance[diagonal], 1.0) + ridge
    lower = np.linalg.cholesky(covariance)
    triangle: NDArray[np.float64] = linalg.solve_triangular(lower, np.eye(covariance.shape[0]), lower=True).T
    return triangle


def _fill_in_threads(
    fill: Callable[[NDArray[np.signedinteger[Any]], NDArray[Any]], object],
    order: NDArray[np.signedinteger[Any]],
    out: NDArray[Any],
    threads: int,
) -> None:
    """Call ``fill(order, out)`` for all parts of both; the result does not depend on the number of threads."""
    if threads == 1 or order.size < 2 * _FEWEST_ROWS_PER_THREAD:
        fill(order, out)
        return
    rows = max(-(-order.size // (threads * _PARTS_PER_THREAD)), _FEWEST_ROWS_PER_THREAD)
    parts = [slice(start, start + rows) for start in range(0, order.size, rows)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part: fill(order[part], out[part]), parts))
