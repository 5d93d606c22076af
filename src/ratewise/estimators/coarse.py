"""Columns rounded once to as many levels as histogram boosting tells apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

# With more rows HistGradientBoosting finds its bins on an unweighted sample, which is quick.
_MOST_ROWS = 300_000


def coarse_rows(X: Any, estimator: Any) -> Any:
    """X with columns of at most 255 values, in their own units, for histogram boosting; X itself for others.

    HistGradientBoosting sorts every column into bins anew in each fit, and with weights that takes scikit-learn
    1.9 ten times as long as growing the trees (254 weighted percentiles a column). Columns with no more values
    than bins it takes as they are. So the rounding is done here, once for all folds and rounds. The models stay
    in the user's units, and score rows that were never rounded.
    """
    if not _bins_would_be_slow(X, estimator):
        return X
    rounded = np.empty(X.shape, dtype=X.dtype, order="F")
    for column in range(X.shape[1]):
        rounded[:, column] = _rounded(np.ascontiguousarray(X[:, column]), estimator.max_bins)
    return rounded


def _bins_would_be_slow(X: Any, estimator: Any) -> bool:
    return (
        isinstance(estimator, HistGradientBoostingClassifier)
        and isinstance(estimator.categorical_features, str | None)  # by dtype, which an array of floats has not
        and isinstance(X, np.ndarray)
        and X.ndim == 2
        and X.dtype.kind == "f"
        and X.shape[0] <= _MOST_ROWS
    )


def _rounded(values: NDArray[Any], bins: int) -> NDArray[Any]:
    """Each value as the nearest of the means of equally full bins; NaN and infinity stay what they are.

    The nearest, not the mean of its own bin: boosting cuts midway between two values, and a row that was never
    rounded must fall on the side on which it was learned from.
    """
    finite = np.isfinite(values)
    known = values[finite]
    ordered = np.sort(known)
    distinct = 1 + np.count_nonzero(ordered[1:] != ordered[:-1])
    if distinct <= bins:
        return values
    upper_ends = np.unique(ordered[np.arange(1, bins) * ordered.size // bins])
    bin_of = np.searchsorted(upper_ends, known)
    sizes = np.bincount(bin_of)
    sums = np.bincount(bin_of, weights=known)
    levels = np.unique((sums[sizes > 0] / sizes[sizes > 0]).astype(values.dtype))
    midway = (levels[1:].astype(np.float64) + levels[:-1]) / 2.0
    rounded = values.copy()
    rounded[finite] = levels[np.searchsorted(midway, known)]
    return rounded
