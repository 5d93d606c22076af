"""Detect rows that look ordered in time: the labels or a column drift from the first row to the last."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

# Chance never gives a correlation beyond 10 standard errors, and a correlation below 0.3 changes little.
_STANDARD_ERRORS, _CORRELATION = 10.0, 0.3
_SAMPLED_ROWS = 4000
_FEW_RUNS = 10


def warn_of_ordered_rows(X: Any, y: NDArray[Any], positive: Any, *, stacklevel: int) -> None:
    """Warn if the labels or a column drift along the rows: shuffled folds do not estimate the rates of later rows.

    A file that is sorted by label has few runs of equal labels. Its order is not an order in time.
    """
    is_positive = y == positive
    if np.count_nonzero(is_positive[1:] != is_positive[:-1]) < _FEW_RUNS:
        return
    drifting = next(_drifting(X, is_positive), None)
    if drifting is not None:
        warnings.warn(
            f"The rows look ordered: {drifting}. The folds are shuffled, so the rates hold for new "
            "rows from the same period. If the order is that of time, and later rows are to be predicted, give "
            "cv=TimeSeriesSplit() of sklearn.model_selection; otherwise shuffle the rows.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def _drifting(X: Any, is_positive: NDArray[np.bool_]) -> Iterator[str]:
    """Yield a description of each drift."""
    n_rows = is_positive.size
    share = is_positive.mean()
    # The unit is the largest correlation that labels of this share can have: when all positives come last.
    unit = math.sqrt(3.0 * share * (1.0 - share))
    if _drifts(is_positive.astype(np.float64), np.arange(n_rows), unit):
        tenth = max(n_rows // 10, 1)
        first, last = is_positive[:tenth].mean(), is_positive[-tenth:].mean()
        yield f"the share of positives goes from {first:.3g} in the first tenth to {last:.3g} in the last"
    sample = np.arange(0, n_rows, -(-n_rows // _SAMPLED_ROWS))
    for name, column in _numeric_columns(_safe_indexing(X, sample)):
        if _drifts(column, sample):
            yield f"the values of column {name!r} drift from the first row to the last"


def _drifts(values: NDArray[np.float64], row: NDArray[np.intp], unit: float = 1.0) -> bool:
    known = np.isfinite(values)
    if not known.any():
        return False
    values, row = values[known], row[known]
    with np.errstate(all="ignore"):
        values = values / np.abs(values).max()  # squares of very small or large numbers are 0 or infinite
        scaled, centred = values - values.mean(), row - row.mean()
        correlation = abs(float(scaled @ centred / math.sqrt(scaled @ scaled * float(centred @ centred))))
        return correlation > max(_STANDARD_ERRORS / math.sqrt(row.size), _CORRELATION * unit)


def _numeric_columns(X: Any) -> Iterator[tuple[Any, NDArray[np.float64]]]:
    """Yield the names and values of the columns of numbers, dates and times; nothing for sparse rows."""
    if sparse.issparse(X) or getattr(X, "ndim", 2) != 2:
        return
    found = getattr(X, "column_names", getattr(X, "columns", None))  # of Arrow, of pandas and polars
    names = None if found is None else list(found)
    columns = np.asarray(X).T if names is None else (np.asarray(X[name]) for name in names)
    for number, column in enumerate(columns):
        if column.dtype.kind in "iufmM":
            values = column.astype(np.float64)
            if column.dtype.kind in "mM":
                values[np.isnat(column)] = np.nan
            yield number if names is None else names[number], values
