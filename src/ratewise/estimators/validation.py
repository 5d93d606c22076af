"""Input checked in one place, whole, before anything is changed; each refusal is one clear sentence."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..streams import Standardizer


class Columns(NamedTuple):
    """What a fit remembers of the columns."""

    number: int
    names: NDArray[Any] | None

    @classmethod
    def of(cls, X: Any, estimator: BaseEstimator) -> tuple[CheckedRows, Columns]:
        """Check X as a fit does, without touching the estimator: a refused fit must leave it as it was."""
        probe = copy.copy(estimator)
        checked = _as_rows(probe, X, reset=True)
        columns = cls(probe.n_features_in_, getattr(probe, "feature_names_in_", None))
        # One reading of the rows tells their statistics, and whether there is a NaN among them.
        with np.errstate(all="ignore"):
            statistics = Standardizer(columns.number).update(checked)
        if not np.isfinite(statistics.squares).all():
            _require_finite(checked, columns.names)
        return CheckedRows(checked, statistics), columns

    def store_on(self, estimator: Any) -> None:
        estimator.n_features_in_ = self.number
        if self.names is not None:
            estimator.feature_names_in_ = self.names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_


class CheckedRows(NamedTuple):
    """Rows that a fit may learn from, and the statistics of their columns."""

    X: Any
    statistics: Standardizer | None

    @property
    def number(self) -> int:
        return int(self.X.shape[0])

    def where(self, kept: NDArray[np.bool_]) -> CheckedRows:
        """Some of them."""
        return CheckedRows(self.X[kept], None)

    def standardizer(self, *, active: bool = True) -> Standardizer:
        """The change of units that they ask for; none if it is not active."""
        if active and self.statistics is not None:
            return self.statistics
        return Standardizer(self.X.shape[1], active=active).update(self.X)


def validate_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X as a C-contiguous float array or CSR matrix of finite numbers, with the columns of the fit."""
    X = _as_rows(estimator, X, reset=reset)
    _require_finite(X, getattr(estimator, "feature_names_in_", None))
    return X


def _as_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    return validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        ensure_all_finite=False,
    )


def _require_finite(X: Any, names: NDArray[Any] | None) -> None:
    values = X.data if sparse.issparse(X) else X
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):
            return
    bad = ~np.isfinite(values)
    if not bad.any():
        return  # a sum beyond the largest number of the rows' width
    columns = np.unique(X.indices[bad]) if sparse.issparse(X) else np.flatnonzero(bad.any(axis=0))
    kind = "NaN" if np.isnan(values).any() else "infinity"
    shown = [f"{column} ({names[column]!r})" if names is not None else str(column) for column in columns[:5]]
    more = f" and {columns.size - 5} more" if columns.size > 5 else ""
    plural = "s" if columns.size > 1 else ""
    raise ValueError(
        f"X contains {kind} in column{plural} {', '.join(shown)}{more}. Impute it first, for instance with "
        "sklearn.impute.SimpleImputer in a pipeline."
    )


class Targets(NamedTuple):
    """Checked labels of two classes, with the user's weights."""

    y: NDArray[Any]
    classes: NDArray[Any]
    weights: NDArray[np.float64] | None


def two_class_targets(y: Any, n_rows: int, sample_weight: Any) -> Targets:
    """Labels and weights checked for rows that another estimator will check."""
    if n_rows == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    y, classes = checked_labels(y, n_rows)
    require_two_classes(y, classes)
    if sample_weight is None:
        return Targets(y, classes, None)
    weights = checked_weights(sample_weight, y)
    for label in classes:
        if not weights[y == label].any():
            raise ValueError(
                f"All rows of class {label!r} have weight 0, which leaves one class only: a classifier needs "
                "examples of two classes."
            )
    return Targets(y, classes, weights)


class Labels(NamedTuple):
    """Checked labels of the rows, and those that occur."""

    y: NDArray[Any]
    found: NDArray[Any]


def checked_labels(y: Any, n_rows: int) -> Labels:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    from sklearn.utils.validation import column_or_1d  # warns of a column vector as scikit-learn does

    y = column_or_1d(y, warn=True)
    if y.shape[0] != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} rows in X, "
            f"{y.shape[0]} labels in y."
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; every row needs a label.")
    if y.dtype.kind in "biu" and y.size and _has_two_values(y):
        return Labels(y, np.array([y.min(), y.max()]))
    check_classification_targets(y)
    return Labels(y, np.unique(y))


def _has_two_values(y: NDArray[Any]) -> bool:
    """Without sorting, which for a million labels would take as long as learning from them."""
    low, high = y.min(), y.max()
    return bool(low != high and np.count_nonzero(y == low) + np.count_nonzero(y == high) == y.size)


def require_two_classes(y: NDArray[Any], classes: NDArray[Any]) -> None:
    require_more_than_one_class(classes)
    if classes.size > 2:
        raise ValueError(_not_binary(type_of_target(y), classes))


def require_more_than_one_class(classes: NDArray[Any]) -> None:
    if classes.size == 1:
        raise ValueError(
            f"y holds one class only ({classes.tolist()[0]!r}): a classifier needs examples of two classes."
        )


def _not_binary(kind: str, classes: NDArray[Any]) -> str:
    return (
        f"Only binary classification is supported. The type of the target is {kind}: {classes.size} classes. "
        "Wrap the estimator in sklearn.multiclass.OneVsRestClassifier for one model a class."
    )


def checked_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    weights = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity.")
    negative = int((weights < 0).sum())
    if negative:
        raise ValueError(f"sample_weight has {negative} negative value(s); weights must be 0 or more.")
    if not weights.any():  # scikit-learn 1.6 lets them pass
        raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from.")
    return weights
