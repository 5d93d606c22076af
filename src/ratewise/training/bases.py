"""The basis of a fit: learned from rows or from a sample, and chosen among three if basis="auto"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..decisions.choose import half_standard_error, near_best
from ..features.coded import CodedColumns
from ..features.pairs import FEW_COLUMNS, MOST_SCREENED_COLUMNS, all_pairs, require_few_enough, screened_pairs
from ..features.splines import Basis, BasisSettings, fit_basis
from ..measures import Measure
from ..transforms import Standardizer, Transform, Whitener, sample_size, standardized_products
from . import config
from .source import DataShape, FitResult, RowSource

INDICATORS = BasisSettings(n_knots=0)
"""The basis of the user's columns, with indicators of missing values."""

_SPLINES, _PAIRS = BasisSettings(), BasisSettings(pairs=True)


def candidates(asked: BasisSettings | Basis | str, source: RowSource) -> Sequence[BasisSettings | Basis | None]:
    """Return the candidates for the basis, the simplest first: the user's columns, curves, curves with products.

    "auto" chooses among all, except for pairs of too many columns. Few points do not distinguish curves from
    noise. So with few points, curves that the user requested are used only if they do better than the user's
    columns.
    """
    if isinstance(asked, Basis):
        return (asked,)
    statistics = source.statistics()
    if isinstance(asked, str):
        return (None, _SPLINES, _PAIRS) if statistics.n_features <= MOST_SCREENED_COLUMNS else (None, _SPLINES)
    few = min(statistics.points) < config.FEW_CURVE_POINTS
    return (None, asked) if few and asked in (_SPLINES, _PAIRS) else (asked,)


def basis_of_rows(
    asked: BasisSettings | Basis,
    X: NDArray[Any],
    signed_weights: NDArray[Any],
    moments: Standardizer,
    rows: int,
    rng: np.random.Generator,
) -> Basis:
    """Return the requested basis.

    ``X`` holds all rows or a fair sample of each class; ``rows`` and ``moments`` are the number and the moments of
    all rows.
    """
    n_columns = int(X.shape[1])
    if isinstance(asked, Basis):
        if asked.n_columns != n_columns:
            raise ValueError(
                f"The basis was fitted on {asked.n_columns} columns, and X has {n_columns}: give X the columns of "
                "the basis, or a basis that is not fitted."
            )
        return asked
    if asked.pairs:  # before any work on the columns
        require_few_enough(n_columns)
    few = rows < config.FEW_ROWS
    n_knots, deviation = asked.n_knots, asked.hinge_deviation
    if n_knots is None:
        per_knot = config.POINTS_PER_KNOT if few else config.POINTS_PER_KNOT_AND_COLUMN * n_columns
        n_knots = min(_knots_for(signed_weights, per_knot), config.CURVED_COLUMNS // n_columns - 1)
    bend = _bend_for(signed_weights) if few else 1.0
    if deviation is None:
        deviation = config.HINGE_DEVIATION * bend if few else 1.0
    drawn = np.arange(X.shape[0])
    if drawn.size > config.BASIS_ROWS:
        weights = np.abs(signed_weights, dtype=np.float64)
        drawn = rng.choice(drawn.size, config.BASIS_ROWS, p=weights / weights.sum())
    sample, centre, spread = X[drawn].astype(np.float64), moments.centre, moments.scale

    def made(pairs: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None) -> Basis:
        return fit_basis(
            sample,
            centre,
            spread,
            n_knots=max(n_knots, 0),
            hinge_deviation=deviation,
            product_deviation=bend * bend,
            pairs=pairs,
        )

    if not asked.pairs:
        return made()
    varying = np.flatnonzero(moments.squares > 0)
    if varying.size <= FEW_COLUMNS:
        return made(all_pairs(varying))
    return made(screened_pairs(X, signed_weights, made(), rng))


def transform_by_sample(
    sample: tuple[Any, NDArray[Any]],
    standardizer: Standardizer,
    basis: Basis | None,
    rng: np.random.Generator,
    *,
    whiten: bool,
) -> Transform:
    """Return the transform of rows; a weighted fair sample of each class determines the whitening, if any."""
    if not whiten:
        return standardizer if basis is None else CodedColumns(basis)
    X, weights = sample
    share = np.abs(weights, dtype=np.float64)
    share /= share.sum()
    drawn = rng.choice(share.size, sample_size(X.shape[1] if basis is None else basis.width), p=share)
    if basis is not None:
        return CodedColumns.whitened(basis, X, drawn)
    products = standardized_products(standardizer, X[drawn], np.arange(drawn.size))
    return Whitener(standardizer, products / drawn.size)


def _knots_for(signed_weights: NDArray[Any], points_per_knot: int) -> int:
    return min(max(2 + _rarer(signed_weights) // points_per_knot, config.FEWEST_KNOTS), config.MOST_KNOTS)


def _bend_for(signed_weights: NDArray[Any]) -> float:
    """Return the factor on the deviations of hinges; products use its square."""
    share = _rarer(signed_weights) / config.PLENTY_TO_BEND
    return min(max(math.sqrt(share), config.LEAST_BEND), 1.0)


def _rarer(signed_weights: NDArray[Any]) -> int:
    return int(min((signed_weights > 0).sum(), (signed_weights < 0).sum()))


def simplest_of_the_best(results: Sequence[FitResult], measure: Measure, statistics: DataShape) -> int:
    """Return the index of the first result whose value is within half a standard error of the best."""
    values = [float(measure.value(*one.rates)) for one in results]
    noise = half_standard_error(max(values), measure.scale(statistics.prevalence), min(statistics.points))
    return near_best(values, noise)[0]
