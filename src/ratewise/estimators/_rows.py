"""Check all rows that a user passes (arrays, sparse matrices, tables) before anything is changed."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    validate_data,
)

from .. import kernels
from .._input_checks import canonical_csr, plain_matrix, warn_of_far_columns
from ..features.encode import Encoder
from ..features.learn import learn_encoder
from ..features.tables import is_table, parts_of, refuse_dicts
from ..kernels import numpy_fallbacks
from ..training.source import occupied_columns
from ..transforms import Standardizer, scalable_moments

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_UNIT = {np.dtype(np.float32): 2.0**-22, np.dtype(np.float64): 2.0**-51}  # with room to spare
_WORTH_LOADING = 1 << 30  # values: scoring them takes longer than loading compiled loops
_SCREENED_BYTES = 1 << 19  # of float32 rows that are multiplied, and whose largest number is found, at a time
_FAR, _TINY = 1e37, 1e-37  # limits of float32, with a margin
_WIDENED_BYTES = 1 << 18  # of float32 rows that become float64 at a time: they stay in the cache


class Columns(NamedTuple):
    """What a fit stores about the columns."""

    number: int
    names: NDArray[Any] | None
    encoder: Encoder | None = None
    """The encoder of a table; None for a matrix."""

    @classmethod
    def of(cls, X: Any, estimator: BaseEstimator, *, occupied_only: bool = False) -> tuple[CheckedRows, Columns]:
        """Check X as a fit does, without changing the estimator: a failed fit must leave it unchanged.

        ``occupied_only`` leaves out columns of sparse rows that have no entry, if there are many.
        """
        if getattr(estimator, "encode", None) is not None:
            matrix, columns = cls._encoded(X, estimator)
        elif getattr(estimator, "columns", None) is not None:
            raise ValueError("columns= says what the columns of a table are: it needs encode='auto'.")
        else:
            probe = copy.copy(estimator)
            matrix = _as_rows(probe, X, reset=True)
            columns = cls(probe.n_features_in_, getattr(probe, "feature_names_in_", None))
        kept, occupied = occupied_columns(matrix) if occupied_only else (matrix, None)
        # One pass over the rows gives their statistics, and whether they contain NaN.
        with np.errstate(all="ignore"):
            statistics = Standardizer(kept.shape[1]).update(kept)
        if np.isfinite(statistics.squares).all():
            statistics.require_scalable(kept, columns.names, occupied)
        else:  # a basis makes missing values a separate level
            allow_nan = _has_basis(estimator) and not sparse.issparse(kept)
            require_finite(matrix, columns.names, estimator, allow_nan=allow_nan)
            statistics = scalable_moments(kept, columns.names, occupied)
        if sparse.issparse(matrix):
            warn_of_far_columns(matrix)
        return CheckedRows(kept, statistics, occupied), columns

    @property
    def width(self) -> int:
        """The number of columns of the matrix."""
        return self.number if self.encoder is None else self.encoder.n_features

    @property
    def matrix_names(self) -> Any:
        """The names of the columns of the matrix, if they have names."""
        return self.encoder.feature_names if self.encoder is not None and self.encoder.named else self.names

    @classmethod
    def _encoded(cls, X: Any, estimator: BaseEstimator) -> tuple[Any, Columns]:
        if is_table(X):
            parts = list(parts_of(X, "X"))
            encoder = learn_encoder(parts, getattr(estimator, "columns", None))
            encoder.leaves_gaps = _has_basis(estimator)
            named = all(isinstance(name, str) for name in _column_names(X))
            names = np.array(encoder.columns, dtype=object) if named else None
            return encoder.matrix(parts), cls(encoder.n_columns, names, encoder)
        if getattr(estimator, "columns", None) is not None:
            raise ValueError("columns= is for tables, whose columns have names. X is a matrix.")
        probe = copy.copy(estimator)
        matrix = _as_rows(probe, _with_nan(X), reset=True)
        if sparse.issparse(matrix):
            return matrix, cls(probe.n_features_in_, None)
        encoder = Encoder(matrix.shape[1])
        missing = np.isnan(matrix)
        if missing.any():
            with np.errstate(all="ignore"):
                sums = np.where(missing, 0.0, matrix).sum(axis=0, dtype=np.float64)
            encoder.means = sums / np.maximum(matrix.shape[0] - missing.sum(axis=0), 1)
        encoder.fitted, encoder.leaves_gaps = True, _has_basis(estimator)
        kept = matrix if encoder.leaves_gaps else encoder.filled(matrix)
        return kept, cls(probe.n_features_in_, None, encoder)

    def store_on(self, estimator: Any) -> None:
        estimator.n_features_in_ = self.number
        if self.encoder is not None:
            estimator.encoder_ = self.encoder.leaving_gaps(getattr(estimator, "basis_", None) is not None)
        if self.names is not None:
            estimator.feature_names_in_ = self.names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_


class CheckedRows(NamedTuple):
    """Checked rows for a fit, and the statistics of their columns."""

    X: Any
    statistics: Standardizer | None
    occupied: NDArray[np.integer[Any]] | None = None
    """The user's columns that X contains; None for all columns."""

    @property
    def number(self) -> int:
        return int(self.X.shape[0])

    def where(self, kept: NDArray[np.bool_]) -> CheckedRows:
        """Return some of the rows."""
        return CheckedRows(self.X[kept], None, self.occupied)

    def standardizer(self) -> Standardizer:
        """Return the standardization of these rows."""
        return Standardizer(self.X.shape[1]).update(self.X) if self.statistics is None else self.statistics


def validate_rows(estimator: BaseEstimator, X: Any) -> Any:
    """Return X as a C-contiguous float array or CSR matrix of finite numbers, with the columns of the fit.

    A table becomes a matrix by the encoder of the model, if it has one and the table is not encoded already.
    """
    X = _encoded_rows(estimator, X)
    allow_nan = getattr(estimator, "basis_", None) is not None and not sparse.issparse(X)
    require_finite(X, getattr(estimator, "feature_names_in_", None), estimator, allow_nan=allow_nan)
    return X


def _encoded_rows(estimator: BaseEstimator, X: Any, *, canonical: bool = True) -> Any:
    encoder = getattr(estimator, "encoder_", None)
    if encoder is not None and encoder.named and is_table(X) and not _is_encoded(X, encoder):
        return encoder.transform(X, "X")
    X = _as_rows(estimator, X, reset=False, canonical=canonical)
    if encoder is not None and getattr(estimator, "encode", None) is not None:
        if X.shape[1] != encoder.n_features:
            raise ValueError(
                f"The model was fitted on a table, of which {', '.join(map(repr, encoder.several[:5]))} became "
                f"other columns: give a table, with the columns {', '.join(encoder.used[:5])} ..."
            )
        X = X if sparse.issparse(X) or encoder.leaves_gaps else encoder.filled(X)
    return X


def scores_of_rows(estimator: BaseEstimator, X: Any, score: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    """Return ``score`` of X checked as by :func:`validate_rows`, but without an extra pass for the check.

    A product with a model adds up entries that are stored twice. It is finite only if all numbers are finite.
    """
    X = _encoded_rows(estimator, X, canonical=False)
    with np.errstate(all="ignore"):
        scores = score(X)
        is_finite = bool(np.isfinite(scores.sum()))
    if not is_finite:
        require_finite(X, getattr(estimator, "feature_names_in_", None), estimator)
    return scores


def linear_scores(rows: Any, coef: NDArray[np.float64], intercept: Any) -> NDArray[np.float64]:
    """Return ``rows @ coef + intercept`` in float64, without a copy of all rows if they are float32."""
    if rows.dtype == np.float64 or sparse.issparse(rows):
        product: NDArray[np.float64] = np.asarray(rows @ coef) + intercept
        return product
    n_rows, width = rows.shape
    scores = np.empty((n_rows, *coef.shape[1:]))
    at_once = max(_WIDENED_BYTES // (8 * width) & -8, 8)
    widened = np.empty((min(at_once, n_rows), width))
    for start in range(0, n_rows, at_once):
        part = rows[start : start + at_once]
        np.copyto(widened[: part.shape[0]], part)
        np.matmul(widened[: part.shape[0]], coef, out=scores[start : start + at_once])
    scores += intercept
    return scores


def rows_above_zero(
    estimator: Any, X: Any, coef: NDArray[np.float64], intercept: float
) -> NDArray[np.bool_] | None:
    """Return which rows :func:`scores_of_rows` would score above 0, computed in the rows' own width.

    Return None if the rows must be checked first, or if this would save no time.
    """
    if (
        type(X) not in (np.ndarray, sparse.csr_array, sparse.csr_matrix)
        or getattr(estimator, "encode", None) is not None
        or not _is_ready(X, estimator)
    ):
        return None
    if not sparse.issparse(X):
        return _dense_above_zero(X, coef, intercept)
    enough = numpy_fallbacks.FEW_VALUES if "numba" in sys.modules else _WORTH_LOADING
    number, smallest = X.dtype.type, float(np.finfo(X.dtype).tiny)
    if X.data.size <= enough or not _is_whole(X) or np.any((np.abs(coef) < smallest) & (coef != 0)):
        return None
    signs = np.empty(X.shape[0], dtype=np.uint8)
    with np.errstate(over="ignore"):
        narrow = coef.astype(X.dtype), number(intercept), number(_UNIT[X.dtype])
    in_doubt = kernels.sparse_signs(X.data, X.indices, X.indptr, *narrow, signs)
    if in_doubt < 0:
        return None
    if in_doubt:
        rows = np.flatnonzero(signs == kernels.DOUBT)
        signs[rows] = scores_of_rows(estimator, X[rows], lambda some: linear_scores(some, coef, intercept)) > 0
    return signs.view(np.bool_)


def _dense_above_zero(X: NDArray[Any], coef: NDArray[np.float64], intercept: float) -> NDArray[np.bool_] | None:
    """Return which float32 rows score above 0: by a product in float32, and in float64 for the rows in doubt.

    A score is in doubt if rounding might change its sign. The bound for this comes from the largest number of a
    block of rows, which is still in the cache when the product is computed.
    """
    rows, width = X.shape
    if X.dtype != np.float32 or X.size <= numpy_fallbacks.FEW_VALUES:
        return None
    above, at_once = np.empty(rows, dtype=np.bool_), max(_SCREENED_BYTES // (4 * width), 1)
    size, unit, tiny = float(np.abs(coef).sum()), (width + 4) * _UNIT[X.dtype], (width + 4) * _TINY
    in_doubt, doubts = [], 0
    with np.errstate(all="ignore"):
        narrow, offset = coef.astype(np.float32), np.float32(intercept)
        for start in range(0, rows, at_once):
            block = X[start : start + at_once]
            largest = max(float(block.max()), -float(block.min()))
            reach = size * largest + abs(intercept)
            if not reach < _FAR:  # NaN too
                return None
            rough = block @ narrow
            rough += offset
            np.greater(rough, 0.0, out=above[start : start + at_once])
            unsure = np.flatnonzero(np.abs(rough) <= np.float32(unit * reach + tiny * (1.0 + largest)))
            doubts += unsure.size
            if 8 * doubts > start + block.shape[0]:
                return None
            in_doubt.append(start + unsure)
    doubtful = np.concatenate(in_doubt)
    scores = linear_scores(X[doubtful], coef, intercept)
    sizes = np.abs(X[doubtful]).astype(np.float64) @ np.abs(coef) + abs(intercept)
    if np.any(np.abs(scores) <= (width + 4) * _UNIT[np.dtype(np.float64)] * sizes):
        return None  # the whole product may round differently
    above[doubtful] = scores > 0
    return above


def _is_whole(X: Any) -> bool:
    """Return whether each row of a CSR matrix lies inside its arrays."""
    n_rows, ends = X.shape[0], X.indptr
    shapes = X.data.ndim == X.indices.ndim == ends.ndim == 1 and ends.shape == (n_rows + 1,)
    if not shapes or ends[0] != 0 or ends[-1] > min(X.data.size, X.indices.size):
        return False
    return not np.any(ends[1:] < ends[:-1])


def scores_in_basis(estimator: BaseEstimator, X: Any, score: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    """Return ``score`` of X checked as by :func:`validate_rows`, where NaN is a missing value."""
    X = validate_rows(estimator, X)
    return score(X.toarray() if sparse.issparse(X) else X)


def _is_encoded(X: Any, encoder: Encoder) -> bool:
    """Return whether a table has the columns that an encoder returns, not the columns that it takes."""
    return bool(encoder.several) and _column_names(X) == list(encoder.feature_names)


def _as_rows(estimator: BaseEstimator, X: Any, *, reset: bool, canonical: bool = True) -> Any:
    refuse_dicts(X)
    if type(X) is not np.ndarray:  # scikit-learn checks those
        X = plain_matrix(X)
    if not reset and _is_ready(X, estimator):
        return canonical_csr(X) if canonical and sparse.issparse(X) else X
    if _are_all_dates(X):  # numpy would convert dates to numbers, in their own unit
        raise TypeError(_with_hint(str(_not_numbers(X)), X, estimator))
    try:
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
        )
    except (TypeError, ValueError) as error:
        message = _not_numbers(X)
        if message is None:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{_with_hint(message, X, estimator)} ({error})") from error
    return canonical_csr(checked) if canonical and sparse.issparse(checked) else checked


def _with_hint(message: str, X: Any, estimator: Any) -> str:
    if not hasattr(estimator, "encode"):
        return message
    if is_table(X):
        return f"{message} Or let MeasureClassifier(encode='auto') encode the table."
    return f"{message} Or give a table, such as pandas.DataFrame(X), to MeasureClassifier(encode='auto')."


def _are_all_dates(X: Any) -> bool:
    """Return whether rows hold only dates or times: together with numbers they are objects, which is an error."""
    if not isinstance(X, np.ndarray):
        names = _column_names(X)
        X = np.asarray(X[names[0]]) if names and not sparse.issparse(X) else np.empty(0)
    return bool(X.dtype.kind in "mM")


def _is_ready(X: Any, estimator: Any) -> bool:
    """Return whether rows need no check or conversion by scikit-learn, which takes 0.1 ms."""
    if type(X) is np.ndarray:
        in_order = X.ndim == 2 and X.flags.c_contiguous
    else:
        in_order = sparse.issparse(X) and X.format == "csr"
    return (
        in_order
        and X.dtype in _FLOATS
        and X.shape == (max(X.shape[0], 1), estimator.n_features_in_)
        and not hasattr(estimator, "feature_names_in_")
    )


def _not_numbers(X: Any) -> str | None:
    """Return one sentence on the first column that cannot be read as numbers; None if there is none."""
    names = _column_names(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUSmM":
        names = list(range(X.shape[1]))
    for name in names:
        column = np.asarray(X[:, name] if isinstance(X, np.ndarray) else X[name])
        if not _is_numeric(column):
            if column.dtype.kind in "mM":
                return (
                    f"X: column {name!r} holds dates or times. Make numbers of them, such as days since the "
                    "first, or leave the column out."
                )
            shown = next((repr(value) for value in column.tolist() if value is not None), "nothing")
            return (
                f"X: column {name!r} holds {shown[:40]}, which is not a number. Make numbers of it, for instance "
                "with sklearn.preprocessing.OneHotEncoder, or leave it out."
            )
    return None


def _column_names(X: Any) -> list[Any]:
    """Return the names of the columns of a table of Arrow, pandas or polars."""
    return list(getattr(X, "column_names", getattr(X, "columns", ())))


def _is_numeric(column: NDArray[Any]) -> bool:
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return column.dtype.kind not in "Mm"


def _with_nan(X: Any) -> Any:
    """Return an array with NaN for masked values."""
    masked = isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X)
    return np.ma.filled(X.astype(np.float64), np.nan) if masked else X


def _has_basis(estimator: BaseEstimator) -> bool:
    return getattr(estimator, "basis", None) is not None


_IMPUTE = "Impute it first, for instance with sklearn.impute.SimpleImputer in a pipeline"
_REPLACE = "Replace it by a finite number first"


def require_finite(
    X: Any,
    names: Sequence[Any] | NDArray[Any] | None,
    estimator: Any = None,
    advice: str = _IMPUTE,
    *,
    allow_nan: bool = False,
) -> None:
    """Raise an error for NaN and infinity, with the names of their columns and what to do about them."""
    values = X.data if sparse.issparse(X) else X
    with np.errstate(all="ignore"):
        if math.isfinite(values.sum()):
            return
    bad = np.isinf(values) if allow_nan else ~np.isfinite(values)
    if not bad.any():
        return  # a sum beyond the largest number of the rows' width
    columns = np.unique(X.indices[bad]) if sparse.issparse(X) else np.flatnonzero(bad.any(axis=0))
    kind = "NaN" if np.isnan(values[bad]).any() else "infinity"
    shown = [f"{column} ({names[column]!r})" if names is not None else str(column) for column in columns[:5]]
    more = f" and {columns.size - 5} more" if columns.size > 5 else ""
    plural = "s" if columns.size > 1 else ""
    if kind == "infinity":
        advice = _REPLACE
    elif hasattr(estimator, "encode"):
        advice += ", or let MeasureClassifier(encode='auto') put the mean of the column there"
    raise ValueError(f"X contains {kind} in column{plural} {', '.join(shown)}{more}. {advice}.")
