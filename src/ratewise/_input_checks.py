"""Checks that turn arrays from users into arrays that compiled loops can read safely.

Compiled loops check no index. So arrays from a caller, a file or another machine pass through here once: every
index of a sparse matrix must be inside its shape, and every offset of an Arrow array inside its buffers.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

LARGEST_UNPACKED = 1 << 30
"""The most bytes that may be unpacked in one step, whatever the file says."""

_SAMPLED_ROWS, _FEWEST_ROWS, _FAR, _FLOAT32_WHOLE = 256, 8, 30.0, 2.0**24


class FarColumnWarning(UserWarning):
    """A column of sparse rows is so far from 0 that its information is lost.

    Sparse rows are not centered, because zeros would become other numbers. Subtract a usual value from the column
    first.

    Examples
    --------
    >>> import ratewise
    >>> issubclass(ratewise.FarColumnWarning, UserWarning)
    True
    """


def plain_matrix(X: Any, what: str = "X") -> Any:
    """Check X as far as possible without changing it, and return it; refuse arrays that would lose information.

    The arrays of a sparse matrix may be too short, or point outside of it. Masked and complex arrays would lose
    their mask and their imaginary part in the conversion to floats.
    """
    require_table(X, what)
    if isinstance(X, np.ma.MaskedArray):
        return X.data
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError(
            f"Complex data not supported: {what} has the type {X.dtype}. Give real and imaginary parts."
        )
    return _checked_sparse(X, what) if sparse.issparse(X) else X


def require_table(X: Any, what: str = "X") -> None:
    """Refuse a LazyFrame of polars, which has no rows yet, masked values, and two columns of one name."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError(f"{what} is a LazyFrame, whose rows are not read yet: give {what}.collect().")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        masked = int(np.ma.getmaskarray(X).sum())
        raise ValueError(
            f"{what} is a masked array with {masked:,} masked values. Fill them first: "
            f"{what}.filled(numpy.nan), then sklearn.impute.SimpleImputer."
        )
    names: Any = getattr(X, "columns", None)
    if not getattr(names, "is_unique", True):  # of pandas; other tables cannot have one name twice
        raise ValueError(f"{what}: there are two columns {names[names.duplicated()][0]!r}. Rename one of them.")


def is_text(array: Any) -> bool:
    """Return whether all numbers in an array of texts are valid character codes."""
    numbers = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))).view(np.uint32)
    return bool(numbers.size == 0 or numbers.max() <= sys.maxunicode)


def trusted_csr(X: Any, what: str = "X") -> Any:
    """Return a sparse matrix as checked CSR with sorted indices, none twice in a row.

    Duplicate entries are added up, as in scipy. Nothing is copied unless something must be changed.
    """
    X = plain_matrix(X, what)
    return canonical_csr(X if X.format == "csr" else X.tocsr())


def canonical_csr(X: Any) -> Any:
    """Return a checked CSR matrix with sorted indices, none twice in a row."""
    if X.has_canonical_format:
        return X
    X = X.astype(np.float64) if X.dtype.kind != "f" else X.copy()
    X.sum_duplicates()
    return X


def warn_of_far_columns(X: Any) -> None:
    """Warn of columns of CSR training rows that, in a sample, have a value far from 0 in every row.

    Sparse rows are not centered. Such a column acts as a second intercept, and the differences between rows are
    lost in it.
    """
    if not sparse.issparse(X):
        return
    sample = X[:: -(-X.shape[0] // _SAMPLED_ROWS) or 1]
    if sample.shape[0] < _FEWEST_ROWS:
        return
    full = np.flatnonzero(np.bincount(sample.indices) == sample.shape[0])
    values = sample[:, full].toarray().astype(np.float64)
    sizes, differ = np.abs(values.mean(axis=0)), np.ptp(values, axis=0) > 0.0
    differ |= (sizes >= _FLOAT32_WHOLE) & (X.dtype == np.float32)  # such values may be equal by rounding alone
    far = np.flatnonzero((sizes > _FAR * values.std(axis=0)) & differ)
    if far.size:
        near, more = values[0, far[0]], f" and {far.size - 1:,} more" if far.size > 1 else ""
        warnings.warn(
            f"Column {full[far[0]]} of the sparse rows{more}: all values are near {near:g}. Sparse rows are not "
            "centered, so that what differs between rows is lost: subtract that number first, or give dense rows.",
            FarColumnWarning,
            stacklevel=2,
        )


def _checked_sparse(X: Any, what: str) -> Any:
    """Return a new matrix of the same arrays, because flags that a caller has set may be wrong."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            X = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
            _check_places(X)
        elif X.format == "coo":
            X = type(X)((X.data, (X.row, X.col)), shape=X.shape)
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"{what} is not a whole sparse matrix: its indices do not fit its shape {X.shape}. ({error})"
        ) from error
    return X


def _check_places(X: Any) -> None:
    """Check what scipy's ``check_format(full_check=True)`` does, in one pass over the indices instead of two."""
    minor = X.shape[0] if X.format == "csc" else X.shape[1]
    if X.format == "bsr":
        X.check_format(full_check=True)
    elif X.indices.size:
        unsigned = X.indices.view(f"u{X.indices.itemsize}")  # what is below 0 becomes large
        if int(unsigned.max()) >= minor:
            raise ValueError(f"indices must be at least 0 and below {minor:,}")
    if np.any(X.indptr[1:] < X.indptr[:-1]):
        raise ValueError("indptr must not fall")


def trusted_batch(batch: Any) -> Any:
    """Return an Arrow record batch, its offsets, dictionary indices and texts checked; ValueError otherwise."""
    batch.validate(full=True)
    return batch


def array_of(values: Any) -> NDArray[Any]:
    """Return values as an array; numpy would turn all values of a mixed list, such as 1 and NaN, into texts."""
    found: NDArray[Any] = np.asarray(values)
    if found.dtype.kind in "US" and found.ndim == 1 and any(not isinstance(one, str) for one in values):
        return np.array(values, dtype=object) if isinstance(values, list | tuple) else found
    return found


def plain_labels(y: Any) -> NDArray[Any]:
    """Return labels of any library as an array that can be sorted; refuse missing ones and mixed types."""
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError("Input y contains masked values; every row needs a label.")
    labels = array_of(y)
    if labels.dtype.kind in "mM" and np.isnat(labels).any():
        raise ValueError("Input y contains NaT; every row needs a label.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity; every row needs a label.")
    if labels.dtype.kind == "T":
        labels = labels.astype(object)
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return labels
    kinds = {type(value) for value in labels.tolist()}
    if all(issubclass(kind, str) for kind in kinds):
        return labels
    if any(value is None or not _equals_itself(value) for value in labels.tolist()):
        raise ValueError("Input y contains NaN, None or NA; every row needs a label.")
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return labels.astype(bool)
    numeric = (int, float, np.number)
    if all(issubclass(kind, numeric) and not issubclass(kind, bool) for kind in kinds):
        return np.array(labels.tolist())
    if len(kinds) > 1:
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"y mixes labels of different types ({found}): give all of them one type.")
    return labels


def labels_of_both(true: NDArray[Any], predicted: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that occur in either array; refuse texts that would have to equal numbers."""
    texts = [is_of_texts(labels) for labels in (true, predicted)]
    if texts[0] != texts[1]:
        kinds = ["texts" if one else "numbers" for one in texts]
        raise ValueError(
            f"y_true holds {kinds[0]} and y_pred {kinds[1]}, which are never equal: give labels of one type."
        )
    return np.unique(np.concatenate([np.unique(true), np.unique(predicted)]))


def is_of_texts(labels: NDArray[Any]) -> bool:
    """Return whether labels, as ``plain_labels`` returns them, are texts."""
    first = labels.flat[0] if labels.size else None
    return labels.dtype.kind in "US" or isinstance(first, str)


def _equals_itself(value: Any) -> bool:
    """Return False for NaN and NaT, and for pandas' NA, which is neither equal to itself nor different."""
    equal = value == value
    return isinstance(equal, bool | np.bool_) and bool(equal)


def has_two_whole_values(y: NDArray[Any]) -> bool:
    """Return whether labels are two whole numbers, without sorting, which would take as long as learning."""
    if y.dtype.kind not in "biuf" or y.size == 0:
        return False
    low, high = y.min(), y.max()
    if low == high or (y.dtype.kind == "f" and (low % 1 or high % 1)):
        return False
    return int(np.count_nonzero(y == low) + np.count_nonzero(y == high)) == y.size


def label_values(y: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that occur, in order."""
    return np.array([y.min(), y.max()]) if has_two_whole_values(y) else np.unique(y)
