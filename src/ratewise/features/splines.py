"""A basis of curves and products: columns in, more columns out, and models expressed in named columns.

A basis has four kinds of columns, in this order: the user's columns, an indicator for each column with missing
values, hinges (the excess of a column over a knot) and products of two columns. The columns have two forms:

- *coded* columns, in which models are learned. The user's columns have mean 0 and deviation 1. From each hinge the
  best line through its column is subtracted, and its deviation is smaller, so that a penalty bends curves back to
  lines.
- *named* columns, in which models are expressed: "age" in the user's units, "age > 30" for ``max(age - 30, 0)``,
  "age is missing" for 0 or 1, "age * income" for the product of both in deviations from their means.

A linear model of one form is exactly a linear model of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import code_rows
from ..kernels.numpy_fallbacks import FEW_VALUES as _COMPILED_VALUES

FAR = 20.0
"""Values are clipped at this distance from the mean, in deviations: heavy tails would outweigh everything else."""

NEAR = 4.0
"""The distance at which the factors of a product are clipped."""

QUANTILES = 21
"""The number of quantiles kept of every column, evenly spaced from the least value to the largest."""

_FLAT = 1e-3  # deviation of a column without information

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class BasisSettings:
    """The settings of a basis; a number that is None depends on the rows."""

    pairs: bool = False
    n_knots: int | None = None
    hinge_deviation: float | None = None


@dataclass(frozen=True, eq=False)
class Hinges:
    """The hinges of all columns: the coded column is ``(max(z - knot, 0) - slope * z - mean) * factor``."""

    column: Places
    knot: Floats
    """In deviations from the mean of the column."""
    slope: Floats
    mean: Floats
    factor: Floats
    deviation: Floats
    """The mean of ``max(z - knot, 0)``."""


@dataclass(frozen=True, eq=False)
class Products:
    """Products of two columns: the coded column is ``(left * right - mean) * factor``."""

    first: Places
    second: Places
    mean: Floats
    factor: Floats
    deviation: Floats | None = None
    """Of ``left * right``; None in the first model files that have a basis."""

    @property
    def spread(self) -> Floats:
        """The standard deviation of each product."""
        return 1.0 / self.factor if self.deviation is None else self.deviation


@dataclass(frozen=True, eq=False)
class Indicators:
    """Columns with missing values: the coded column is ``(is missing - mean) * factor``.

    Columns that are missing in the same rows, such as the parts of a date, share the indicator of the first.
    """

    column: Places
    mean: Floats
    factor: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Basis:
    """Curves, missing values and products of some columns. Plain data."""

    centre: Floats
    spread: Floats
    missing: Indicators
    hinges: Hinges
    products: Products
    quantiles: Floats | None = None
    """A row of quantiles per column, in the user's units; None in the first model files that have a basis."""

    def __post_init__(self) -> None:
        """Raise an error for parts that do not fit together, such as those of a damaged file."""
        for part in (self, self.missing, self.hinges, self.products):
            arrays = [
                value
                for name, value in vars(part).items()
                if isinstance(value, np.ndarray) and name != "quantiles"
            ]
            numbers = [value for value in arrays if value.dtype == np.float64]
            places = [value for value in arrays if value.dtype == np.intp]
            sound = (
                0 < len(arrays) == len(numbers) + len(places)
                and all(value.shape == (arrays[0].size,) for value in arrays)
                and all(np.isfinite(value).all() for value in numbers)
                and all(((value >= 0) & (value < self.centre.size)).all() for value in places)
            )
            if not sound or not self._has_quantiles():
                raise ValueError("The parts of a basis do not fit together.")

    def _has_quantiles(self) -> bool:
        found = self.quantiles
        if found is None:
            return True
        fits = isinstance(found, np.ndarray) and found.shape == (self.centre.size, QUANTILES)
        return fits and found.dtype == np.float64 and bool(np.isfinite(found).all())

    def __repr__(self) -> str:
        parts = f"{self.hinges.column.size} hinges, {self.products.first.size} products"
        return f"<{self.kind} of {self.n_columns} columns: {parts}, {self.missing.column.size} of missing values>"

    @property
    def n_columns(self) -> int:
        """The number of columns in."""
        return int(self.centre.size)

    @property
    def width(self) -> int:
        """The number of columns out."""
        return self.n_columns + self.missing.column.size + self.hinges.column.size + self.products.first.size

    @property
    def kind(self) -> str:
        """What the basis adds to the columns: "pairs", "splines" or, if nothing, "linear"."""
        return "pairs" if self.products.first.size else "splines" if self.hinges.column.size else "linear"

    def code(self, X: Any, order: NDArray[np.signedinteger[Any]] | None = None, dtype: Any = np.float32) -> Any:
        """Return the coded columns of the rows of X, in this order."""
        ones, zeros = np.ones(self.n_columns), np.zeros(self.n_columns)
        hinges, products, missing = self.hinges, self.products, self.missing
        return self._coded(
            X,
            order,
            dtype,
            (ones, zeros),
            (missing.mean, missing.factor),
            (hinges.slope, hinges.mean, hinges.factor),
            (products.mean, products.factor),
        )

    def named(self, X: Any) -> Floats:
        """Return the named columns of the rows of X."""
        hinges, products, missing = self.hinges, self.products, self.missing
        none, flat = np.zeros(missing.column.size), np.zeros(hinges.column.size)
        found: Floats = self._coded(
            X,
            None,
            np.float64,
            (self.spread, self.centre),
            (none, none + 1.0),
            (flat, flat, self.spread[hinges.column]),
            (np.zeros(products.first.size), np.ones(products.first.size)),
        )
        return found

    def scores(self, X: Any, coef: Floats, intercept: Any) -> Floats:
        """Return the product of the named columns and a model of them, a block of rows at a time."""
        rows = max(2 * _COMPILED_VALUES // self.width & -8, 8)
        blocks = [self.named(X[start : start + rows]) @ coef for start in range(0, max(X.shape[0], 1), rows)]
        return np.asarray(np.concatenate(blocks) + intercept)

    def _coded(
        self,
        X: Any,
        order: Any,
        dtype: Any,
        of_columns: tuple[Floats, Floats],
        of_missing: tuple[Floats, Floats],
        of_hinges: tuple[Floats, Floats, Floats],
        of_products: tuple[Floats, Floats],
    ) -> Any:
        order = np.arange(X.shape[0]) if order is None else order
        out = np.empty((order.size, self.width), dtype=dtype)
        code_rows(
            np.ascontiguousarray(X),
            order,
            (self.centre, 1.0 / self.spread, *of_columns),
            (self.missing.column, *of_missing),
            (self.hinges.column, self.hinges.knot, *of_hinges),
            (self.products.first, self.products.second, *of_products),
            (FAR, NEAR),
            out,
        )
        return out

    def inverse_coef(self, weights: NDArray[Any], intercept: float) -> tuple[Floats, float]:
        """Return a model of coded columns as the same model of named columns."""
        slopes, missing, bends, products = self._parts(np.asarray(weights, dtype=np.float64))
        hinges = self.hinges
        bends = bends * hinges.factor
        slopes = slopes - np.bincount(hinges.column, bends * hinges.slope, self.n_columns)
        slopes = slopes / self.spread
        missing, products = missing * self.missing.factor, products * self.products.factor
        constant = slopes @ self.centre + bends @ hinges.mean
        constant += missing @ self.missing.mean + products @ self.products.mean
        coef = np.concatenate([slopes, missing, bends / self.spread[hinges.column], products])
        return coef, float(intercept - constant)

    def transform_coef(self, coef: NDArray[Any], intercept: float) -> tuple[Floats, float]:
        """Return a model of named columns as the same model of coded columns."""
        slopes, missing, bends, products = self._parts(np.asarray(coef, dtype=np.float64))
        hinges = self.hinges
        constant = slopes @ self.centre + missing @ self.missing.mean + products @ self.products.mean
        bends = bends * self.spread[hinges.column]
        constant += bends @ hinges.mean
        slopes = slopes * self.spread + np.bincount(hinges.column, bends * hinges.slope, self.n_columns)
        weights = [slopes, missing / self.missing.factor, bends / hinges.factor, products / self.products.factor]
        return np.concatenate(weights), float(intercept + constant)

    def _parts(self, values: Floats) -> list[Floats]:
        sizes = [self.n_columns, self.missing.column.size, self.hinges.column.size]
        return np.split(values, np.cumsum(sizes))

    @property
    def scale(self) -> Floats:
        """The standard deviation of each named column."""
        hinges = self.hinges
        of_hinges = hinges.deviation * self.spread[hinges.column]
        return np.concatenate([self.spread, 1.0 / self.missing.factor, of_hinges, self.products.spread])

    @property
    def knots(self) -> list[Floats]:
        """The knots of every column, in the user's units."""
        values = self.centre[self.hinges.column] + self.hinges.knot * self.spread[self.hinges.column]
        return [values[self.hinges.column == column] for column in range(self.n_columns)]

    def names(self, columns: Sequence[Any]) -> list[str]:
        """Return the names of all columns out, given the names of the columns in."""
        hinges = [
            f"{columns[column]} > {shown}"
            for column, knots in enumerate(self.knots)
            for shown in _short_numbers(knots)
        ]
        missing = [f"{columns[column]} is missing" for column in self.missing.column]
        pairs = zip(self.products.first, self.products.second, strict=True)
        products = [f"{columns[first]} * {columns[second]}" for first, second in pairs]
        return [*map(str, columns), *missing, *hinges, *products]


def fit_basis(
    X: NDArray[Any],
    centre: Floats,
    spread: Floats,
    *,
    n_knots: int,
    hinge_deviation: float,
    product_deviation: float = 1.0,
    pairs: tuple[Places, Places] | None = None,
) -> Basis:
    """Return the basis of these columns: knots and moments from a sample of rows.

    Parameters
    ----------
    X : array
        A fair sample of the rows, or all of them; NaN where a value is missing.
    centre, spread : arrays
        The mean and the deviation of each column, over all rows that have it.
    n_knots : int
        The largest number of knots per column.
    hinge_deviation : float
        The deviation of coded hinges; that of the user's columns is 1.
    product_deviation : float
        The deviation of coded products.
    pairs : (array, array), optional
        The columns to multiply.
    """
    is_missing = np.isnan(X)
    with_gaps = _unlike_columns(is_missing, np.flatnonzero(is_missing.any(axis=0)))
    share = is_missing[:, with_gaps].mean(axis=0)
    kept = np.sqrt(share * (1.0 - share)) > _FLAT
    indicators = Indicators(with_gaps[kept], share[kept], 1.0 / np.sqrt(share * (1.0 - share))[kept])
    hinges, quantiles = [], np.empty((X.shape[1], QUANTILES))
    for column, (middle, unit) in enumerate(zip(centre, spread, strict=True)):
        values = np.sort(X[:, column])  # NaN last
        values = values[: values.size - np.count_nonzero(is_missing[:, column])]
        quantiles[column] = _quantiles(values, np.linspace(0.0, 1.0, QUANTILES)) if values.size else middle
        z = np.clip((values - middle) / unit, -FAR, FAR)
        hinges.append(_hinges_of(z, X.shape[0] - z.size, column, n_knots, hinge_deviation))
    joined = Hinges(*(np.concatenate(parts) for parts in zip(*hinges, strict=True)))
    return Basis(
        centre, spread, indicators, joined, _products(X, centre, spread, pairs, product_deviation), quantiles
    )


def _unlike_columns(table: NDArray[np.bool_], columns: Places) -> Places:
    """Return these columns without those that are equal to an earlier one."""
    first: dict[bytes, int] = {}
    for column in columns.tolist():
        first.setdefault(np.packbits(table[:, column]).tobytes(), column)
    return np.array(list(first.values()), dtype=np.intp)


def _quantiles(ordered: Floats, shares: Floats) -> Floats:
    """Return quantiles of sorted values, as ``numpy.quantile`` does, but without sorting them again."""
    return np.asarray(np.interp(shares * (ordered.size - 1), np.arange(ordered.size), ordered))


def _hinges_of(z: Floats, missing: int, column: int, n_knots: int, deviation: float) -> tuple[NDArray[Any], ...]:
    """Return the fields of the hinges of one column, given its sorted values, where missing values are 0."""
    knots = _knots_of(z[np.flatnonzero(np.diff(z, prepend=-np.inf))], n_knots)
    z = np.insert(z, np.searchsorted(z, 0.0), np.zeros(missing)) if missing else z
    above = np.searchsorted(z, knots, side="right")  # the first value beyond each knot
    sums, squares = (np.append(np.cumsum(powers[::-1])[::-1], 0.0) for powers in (z, z * z))
    rows, own, variance = max(z.size, 1), z.mean() if z.size else 0.0, z.var() if z.size else 0.0
    number, total = z.size - above, sums[above]
    mean = (total - number * knots) / rows
    slope = (squares[above] - knots * total) / rows - own * mean
    slope = slope / max(variance, 1e-300)
    spread = (squares[above] - 2.0 * knots * total + number * knots * knots) / rows - mean * mean
    residual = np.sqrt(np.maximum(spread - slope * slope * variance, 0.0))
    kept = residual > _FLAT
    knots, slope, mean, residual = knots[kept], slope[kept], mean[kept], residual[kept]
    shift = mean - slope * own  # in a sample, a line through the column may miss 0
    spread = np.sqrt(spread[kept])
    return np.full(knots.size, column, dtype=np.intp), knots, slope, shift, deviation / residual, spread


def _knots_of(values: Floats, number: int) -> Floats:
    """Return inner quantiles of distinct values, or the inner values themselves if there are few."""
    if values.size <= number + 2:
        return values[1:-1]
    return np.unique(_quantiles(values, np.arange(1, number + 1) / (number + 1)))


def _products(
    X: NDArray[Any], centre: Floats, spread: Floats, pairs: tuple[Places, Places] | None, unit: float
) -> Products:
    none = np.zeros(0, dtype=np.intp)
    if pairs is None:
        return Products(none, none, np.zeros(0), np.zeros(0), np.zeros(0))
    first, second = pairs
    near = np.clip(np.nan_to_num((X - centre) / spread, nan=0.0), -NEAR, NEAR)
    mean, deviation, own = (np.zeros(first.size) for _ in range(3))
    for start in range(0, first.size, 64):  # in small blocks: there may be many rows
        part = slice(start, start + 64)
        left, right = near[:, first[part]], near[:, second[part]]
        product = left * right
        mean[part], deviation[part] = product.mean(axis=0), product.std(axis=0)
        own[part] = _beyond_a_plane(product, left, right)
    kept = own > _FLAT
    return Products(first[kept], second[kept], mean[kept], unit / deviation[kept], deviation[kept])


def _beyond_a_plane(product: Floats, left: Floats, right: Floats) -> Floats:
    """Return the deviation of a product's residual from the plane of both factors: 0 for two values of a
    category.
    """
    product, left, right = (part - part.mean(axis=0) for part in (product, left, right))
    for _ in range(2):  # Gram-Schmidt, twice because of rounding
        for factor in (left, right - left * _ratio(right, left)):
            product = product - factor * _ratio(product, factor)
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", product, product) / max(product.shape[0], 1)))


def _ratio(of: Floats, to: Floats) -> Floats:
    squares = np.einsum("ij,ij->j", to, to)
    return np.asarray(np.einsum("ij,ij->j", of, to) / np.where(squares > 1e-12 * to.shape[0], squares, np.inf))


def _short_numbers(values: Floats) -> list[str]:
    """Return numbers as text, with as few digits as distinguish them."""
    for digits in range(4, 17):
        shown = [f"{value:.{digits}g}" for value in values]
        if len(set(shown)) == len(shown):
            break
    return shown if values.size else []
