"""Input checked in one place, whole, before anything is changed; each refusal is one clear sentence."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from .._foreign import canonical_csr, plain_matrix
from ..solvers import Solver
from ..training.rows import class_totals
from ..training.source import occupied_columns
from ..transforms import Standardizer


class Columns(NamedTuple):
    """What a fit remembers of the columns."""

    number: int
    names: NDArray[Any] | None

    @classmethod
    def of(cls, X: Any, estimator: BaseEstimator, *, occupied_only: bool = False) -> tuple[CheckedRows, Columns]:
        """Check X as a fit does, without touching the estimator: a refused fit must leave it as it was.

        ``occupied_only`` leaves out columns of sparse rows that have no entry, where there are many.
        """
        probe = copy.copy(estimator)
        checked = _as_rows(probe, X, reset=True)
        columns = cls(probe.n_features_in_, getattr(probe, "feature_names_in_", None))
        kept, occupied = occupied_columns(checked) if occupied_only else (checked, None)
        # One reading of the rows tells their statistics, and whether there is a NaN among them.
        with np.errstate(all="ignore"):
            statistics = Standardizer(kept.shape[1]).update(kept)
        if not np.isfinite(statistics.squares).all():
            _require_finite(checked, columns.names)
        return CheckedRows(kept, statistics, occupied), columns

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
    occupied: NDArray[np.integer[Any]] | None = None
    """The columns of the user's that X has; None for all."""

    @property
    def number(self) -> int:
        return int(self.X.shape[0])

    def where(self, kept: NDArray[np.bool_]) -> CheckedRows:
        """Some of them."""
        return CheckedRows(self.X[kept], None, self.occupied)

    def standardizer(self, *, active: bool = True) -> Standardizer:
        """Return the standardisation of these rows; none if it is not active."""
        if active and self.statistics is not None:
            return self.statistics
        return Standardizer(self.X.shape[1], active=active).update(self.X)


def validate_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X as a C-contiguous float array or CSR matrix of finite numbers, with the columns of the fit."""
    X = _as_rows(estimator, X, reset=reset)
    _require_finite(X, getattr(estimator, "feature_names_in_", None))
    return X


def scores_of_rows(estimator: BaseEstimator, X: Any, score: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    """Return what ``score`` returns for X as by :func:`validate_rows`, which is not read again to be checked.

    A product with a model adds up entries that are stored twice. It is finite only if all numbers are.
    """
    X = _as_rows(estimator, X, reset=False, canonical=False)
    with np.errstate(all="ignore"):
        scores = score(X)
        is_finite = bool(np.isfinite(scores.sum()))
    if not is_finite:
        _require_finite(X, getattr(estimator, "feature_names_in_", None))
    return scores


def _as_rows(estimator: BaseEstimator, X: Any, *, reset: bool, canonical: bool = True) -> Any:
    checked = validate_data(
        estimator,
        plain_matrix(X),
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        ensure_all_finite=False,
    )
    return canonical_csr(checked) if canonical and sparse.issparse(checked) else checked


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


class TwoClassTargets(NamedTuple):
    """Checked labels of two classes, with the user's weights."""

    y: NDArray[Any]
    classes: NDArray[Any]
    weights: NDArray[np.float64] | None


def two_class_targets(y: Any, n_rows: int, sample_weight: Any) -> TwoClassTargets:
    """Labels and weights checked for rows that another estimator will check."""
    if n_rows == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    y, classes = checked_labels(y, n_rows)
    require_two_classes(y, classes)
    if sample_weight is None:
        return TwoClassTargets(y, classes, None)
    weights = checked_weights(sample_weight, y)
    for label in classes:
        if not weights[y == label].any():
            raise ValueError(
                f"All rows of class {label!r} have weight 0, which leaves one class only: a classifier needs "
                "examples of two classes."
            )
    return TwoClassTargets(y, classes, weights)


class CheckedLabels(NamedTuple):
    """Checked labels of the rows, and those that occur."""

    y: NDArray[Any]
    found: NDArray[Any]


def checked_labels(y: Any, n_rows: int) -> CheckedLabels:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    if y.shape[0] != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} rows in X, "
            f"{y.shape[0]} labels in y."
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; every row needs a label.")
    if y.dtype.kind in "biu" and y.size and _has_two_values(y):
        return CheckedLabels(y, np.array([y.min(), y.max()]))
    check_classification_targets(y)
    return CheckedLabels(y, np.unique(y))


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
        "Wrap the estimator in sklearn.multiclass.OneVsRestClassifier for one model per class."
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


def positive_label(classes: NDArray[Any], pos_label: Any) -> Any:
    """The class called positive: the second unless the user says otherwise."""
    if pos_label is None:
        return classes[1]
    if pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not among the classes {classes.tolist()}.")
    return pos_label


def announced_classes(classes: Any) -> NDArray[Any]:
    """The classes named in the first call of partial_fit."""
    if classes is None:
        raise ValueError(
            "The first call of partial_fit needs classes=: all labels that will ever occur, because the first "
            "rows may not show them all."
        )
    found = np.unique(np.asarray(classes))
    if found.size < 2:
        raise ValueError(f"classes={found.tolist()} names fewer than two classes: a classifier needs two.")
    return found


def require_same_classes(classes: Any, known: NDArray[Any]) -> None:
    """Refuse other classes in a later call of partial_fit than in the first."""
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
        raise ValueError(
            f"classes={np.unique(np.asarray(classes)).tolist()} differ from those of the first call, "
            f"{known.tolist()}."
        )


def require_known(found: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse labels that the first call of partial_fit did not name."""
    if not np.isin(found, classes).all():
        strangers = found[~np.isin(found, classes)].tolist()
        raise ValueError(
            f"y contains labels that partial_fit has not been told of: {strangers}; the classes are "
            f"{classes.tolist()}. Name all classes in the first call: partial_fit(X, y, classes=...)."
        )


def is_indicator(y: Any) -> bool:
    """Whether y has a column of 0 and 1 for each of several labels; other tables are refused."""
    if y is None:
        return False
    if not sparse.issparse(y):
        y = np.asarray(y)
        if y.ndim != 2 or y.shape[1] < 2:
            return False
    if type_of_target(y) == "multilabel-indicator":
        return True
    raise ValueError(
        f"y has shape {y.shape}, which is for labels that a row may have several of: a column per label, of 0 and "
        "1 only. For one class per row give y as one column."
    )


def require_no_positive(pos_label: Any, what: str) -> None:
    """Refuse ``pos_label`` where every class, or label, is the positive one in its turn."""
    if pos_label is not None:
        raise ValueError(
            f"pos_label={pos_label!r} is for two classes; with {what} each is the positive one in its turn. "
            "Leave it out."
        )


class TrainingSet(NamedTuple):
    """Rows of two classes."""

    checked: CheckedRows
    signed_weights: NDArray[Any]
    """The sample weight of each row, negative for the negative class; short integers where all weigh 1."""
    classes: NDArray[Any]
    groups: NDArray[np.intp] | None = None
    """Rows of one number stay together in the inner folds."""

    @property
    def X(self) -> Any:
        return self.checked.X


class ManyClassSet(NamedTuple):
    """Rows of many classes."""

    checked: CheckedRows
    codes: NDArray[np.intp]
    """The place of each row's class among the classes."""
    weights: NDArray[np.float64]
    classes: NDArray[Any]
    groups: NDArray[np.intp] | None = None

    @property
    def X(self) -> Any:
        return self.checked.X

    def against_the_rest(self, code: int) -> TrainingSet:
        """One class as the positive one; ``classes`` are those of its own problem."""
        signed = np.where(self.codes == code, self.weights, -self.weights)
        return TrainingSet(self.checked, signed, np.array([False, True]), self.groups)


def training_set(
    checked: CheckedRows,
    labels: CheckedLabels,
    sample_weight: Any,
    *,
    pos_label: Any,
    classes: NDArray[Any] | None = None,
    groups: Any = None,
) -> TrainingSet:
    """Labels and weights checked against checked rows; rows of weight 0 are left out.

    ``classes`` are those announced to ``partial_fit``; None to find them in y, both of them.
    """
    y, found = labels
    if classes is None:
        classes = found
        require_two_classes(y, classes)
    else:
        require_known(found, classes)
    positive = positive_label(classes, pos_label)
    numbers = group_numbers(groups, checked.number)
    if sample_weight is None:
        signs = (y == positive) * np.int8(2) - np.int8(1)  # ten times as fast as np.where
        return TrainingSet(checked, signs, classes, numbers)
    weights = checked_weights(sample_weight, checked.X)
    signed = np.where(y == positive, weights, -weights)
    if not np.all(weights):
        kept = weights > 0
        checked, signed = checked.where(kept), signed[kept]
        numbers = None if numbers is None else numbers[kept]
    return TrainingSet(checked, signed, classes, numbers)


def many_class_set(
    checked: CheckedRows,
    labels: CheckedLabels,
    sample_weight: Any,
    *,
    classes: NDArray[Any] | None = None,
    groups: Any = None,
) -> ManyClassSet:
    """The same for any number of classes."""
    y, found = labels
    if classes is None:
        classes = found
        require_more_than_one_class(classes)
    else:
        require_known(found, classes)
    codes = np.searchsorted(classes, y)
    numbers = group_numbers(groups, checked.number)
    if sample_weight is None:
        return ManyClassSet(checked, codes, np.ones(codes.size), classes, numbers)
    weights = checked_weights(sample_weight, checked.X)
    if not np.all(weights):
        kept = weights > 0
        checked, codes, weights = checked.where(kept), codes[kept], weights[kept]
        numbers = None if numbers is None else numbers[kept]
    return ManyClassSet(checked, codes, weights, classes, numbers)


def group_numbers(groups: Any, n_rows: int) -> NDArray[np.intp] | None:
    """A number for the group of every row."""
    if groups is None:
        return None
    groups = column_or_1d(groups)
    check_consistent_length(groups, np.empty(n_rows))
    numbers: NDArray[np.intp] = np.unique(groups, return_inverse=True)[1].reshape(-1)
    if numbers.size and numbers.max() == 0:
        raise ValueError("groups holds one group only: some must be there to learn from and some to hold out.")
    return numbers


def with_mean_weight_one(rows: TrainingSet) -> TrainingSet:
    """Only the proportions of weights matter."""
    total = float(np.abs(rows.signed_weights).sum(dtype=np.float64))
    if total == 0:
        raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from.")
    if total == rows.signed_weights.size:
        return rows
    return rows._replace(signed_weights=rows.signed_weights * (rows.signed_weights.size / total))


def share_of_positives(rows: TrainingSet) -> float:
    positive, negative = class_totals(rows.signed_weights)
    return positive / (positive + negative)


def require_both_classes(rows: TrainingSet) -> None:
    if rows.signed_weights.min() >= 0 or rows.signed_weights.max() <= 0:
        raise ValueError("All rows of one class have sample_weight 0: a classifier needs rows of both classes.")


def indicator_array(y: Any, n_rows: int) -> NDArray[np.bool_]:
    """Return an indicator matrix, dense or sparse, as an array."""
    dense = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if dense.shape[0] != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} rows in X, "
            f"{dense.shape[0]} rows of labels in y."
        )
    return dense.astype(bool)


def check_stream_arguments(stream: Any, passes: Any, checkpoint_every: Any) -> None:
    if passes != "auto" and (not isinstance(passes, Integral) or isinstance(passes, bool) or passes < 1):
        raise ValueError(f"passes must be 'auto' or a whole number above 0; got {passes!r}.")
    if not hasattr(stream, "windows"):
        raise TypeError(
            f"fit_stream takes what open_stream returns; got {type(stream).__name__}. Rows in memory: fit."
        )
    if checkpoint_every is not None and (not isinstance(checkpoint_every, Integral) or checkpoint_every < 1):
        raise ValueError(f"checkpoint_every must be a whole number above 0; got {checkpoint_every!r}.")


def require_once_enough(solver: Solver, checkpoint: Any) -> None:
    """Refuse what needs more than one reading of a stream that can be read only once."""
    if not solver.streaming:
        raise ValueError(
            f"{solver.label} needs all rows at once, and this stream can be read once only. Use solver='auto'."
        )
    if checkpoint is not None:
        raise ValueError(
            "A stream that can be read once only cannot be gone on with: leave out checkpoint=, or give the "
            "rows as files or as a list of batches."
        )
