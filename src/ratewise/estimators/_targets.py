"""Check all labels, weights and groups that a user passes, before anything is changed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
)

from .._input_checks import has_two_whole_values, label_values, plain_labels
from ..decisions.scores import Sensitive
from ..measures import UnknownRateWarning
from ..solvers.state import class_totals
from ..streams.rare_labels import mistyped_as
from ._rows import CheckedRows

_FEW_ROWS, _FEW_SHARE, _FEW_SHOWN = 10, 0.01, 3  # a label with fewer rows than both may be a mistake

_LIGHTEST, _HEAVIEST = 1e-30, 1e30  # weights whose squares float32 can hold, or nearly so


class TwoClassTargets(NamedTuple):
    """Checked labels of two classes, with the user's weights."""

    y: NDArray[Any]
    classes: NDArray[Any]
    weights: NDArray[np.float64] | None


def two_class_targets(y: Any, n_rows: int, sample_weight: Any) -> TwoClassTargets:
    """Check labels and weights for rows that another estimator will check."""
    if n_rows == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    y, classes = checked_labels(y, n_rows)
    require_two_classes(y, classes)
    if sample_weight is None:
        return TwoClassTargets(y, classes, None)
    weights = checked_weights(sample_weight, y)
    require_weight_of_each_class(y, classes, weights)
    return TwoClassTargets(y, classes, weights)


def require_weight_of_each_class(y: NDArray[Any], classes: NDArray[Any], weights: NDArray[np.float64]) -> None:
    """Raise an error for a class whose rows all have weight 0."""
    for number, label in enumerate(classes.tolist()):
        if not weights[y == classes[number]].any():
            left = "one class only" if classes.size == 2 else "no example of it"
            raise ValueError(
                f"All rows of class {label!r} have weight 0, which leaves {left}: a classifier needs examples of "
                f"{'two' if classes.size == 2 else 'all'} classes."
            )


def is_multiclass(y: Any) -> bool:
    """Return whether labels have more than two classes; the labels are checked later."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or has_two_whole_values(y):
        return False
    try:
        plain = np.asarray(y.tolist()) if y.dtype == object else y
        return bool(type_of_target(plain) == "multiclass")
    except (TypeError, ValueError):
        return False


class CheckedLabels(NamedTuple):
    """Checked labels of the rows, and the labels that occur."""

    y: NDArray[Any]
    found: NDArray[Any]


def checked_labels(y: Any, n_rows: int) -> CheckedLabels:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    y = plain_labels(column_or_1d(plain_labels(y), warn=True))
    if y.shape[0] != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} rows in X, "
            f"{y.shape[0]} labels in y."
        )
    if not has_two_whole_values(y):
        check_classification_targets(y)
    return CheckedLabels(y, label_values(y))


def labels_to_score(y: Any, n_rows: int, classes: NDArray[Any]) -> NDArray[Any]:
    """Return checked labels with which a model of these classes is scored."""
    checked = checked_labels(y, n_rows)
    require_known_labels(checked.found, classes)
    return checked.y


def require_known_labels(found: NDArray[Any], classes: NDArray[Any]) -> None:
    """Raise an error for labels that a model does not know: the text "1" is not the number 1."""
    known = classes.tolist()
    for label in found.tolist():
        if label not in known:
            raise ValueError(f"y holds the label {label!r}, which is not among the classes {known} of the model.")


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
    if not np.isfinite(weights).all() or np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight contains NaN, infinity or masked values.")
    negative = int((weights < 0).sum())
    if negative:
        raise ValueError(f"sample_weight has {negative} negative value(s); weights must be 0 or more.")
    largest = float(weights.max(initial=0.0))
    if largest == 0.0:  # scikit-learn 1.6 accepts them
        raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from.")
    if not _LIGHTEST <= largest <= _HEAVIEST:  # only their proportions matter
        weights = weights / largest
        largest = 1.0
    negligible = weights < _LIGHTEST * largest  # in float32 they would be 0
    return np.where(negligible, 0.0, weights) if negligible.any() else weights


def positive_label(classes: NDArray[Any], pos_label: Any) -> Any:
    """Return the positive class: the second unless the user gives another."""
    if pos_label is None:
        return classes[1]
    if pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not among the classes {classes.tolist()}.")
    return pos_label


def positive_code(classes: NDArray[Any], pos_label: Any) -> int:
    """Return the number of the positive class, 0 or 1."""
    return int(positive_label(classes, pos_label) == classes[1])


def fitted_positive(model: Any) -> Any:
    """Return the positive class that a model of two classes was fitted for, whatever ``pos_label`` is now."""
    code = getattr(model, "_positive_code", None)
    if code is None:  # of an earlier version
        return positive_label(model.classes_, getattr(model, "pos_label", None))
    return model.classes_[code]


def announced_classes(classes: Any) -> NDArray[Any]:
    """Return the classes named in the first call of partial_fit."""
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
    """Raise an error if a later call of partial_fit names other classes than the first."""
    if classes is None or (type(classes) is list and classes == known.tolist()):
        return
    if not np.array_equal(np.unique(np.asarray(classes)), known):
        raise ValueError(
            f"classes={np.unique(np.asarray(classes)).tolist()} differ from those of the first call, "
            f"{known.tolist()}."
        )


def require_known(found: NDArray[Any], classes: NDArray[Any]) -> None:
    """Raise an error for labels that the first call of partial_fit did not name."""
    if not np.isin(found, classes).all():
        unknown = found[~np.isin(found, classes)].tolist()
        raise ValueError(
            f"y contains labels that the first partial_fit did not name: {unknown}; the classes are "
            f"{classes.tolist()}. Name all classes in the first call: partial_fit(X, y, classes=...)."
        )


def is_indicator(y: Any) -> bool:
    """Return whether y has a column of 0 and 1 for each of several labels; other tables are an error."""
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
    """Raise an error for ``pos_label`` if every class, or label, is positive in turn."""
    if pos_label is not None:
        raise ValueError(
            f"pos_label={pos_label!r} is for two classes; with {what} each is the positive one in turn. "
            "Leave it out."
        )


def warn_of_rare_labels(counts: Mapping[Any, int]) -> None:
    """Warn about labels that very few rows of a file have: a mistyped label becomes a class."""
    rows = sum(counts.values())
    few = [label for label, count in counts.items() if count < min(_FEW_ROWS, _FEW_SHARE * rows)]
    said = [
        f"label {label!r} has {counts[label]} rows of {rows:,}: {mistyped_as(label, counts)}"
        for label in few[:_FEW_SHOWN]
    ]
    if len(few) > _FEW_SHOWN:
        said.append(f"{len(few) - _FEW_SHOWN:,} more of the {len(counts):,} labels have as few.")
    if said:
        warnings.warn("; ".join(said), UnknownRateWarning, stacklevel=4)


class TrainingSet(NamedTuple):
    """Rows of two classes."""

    checked: CheckedRows
    signed_weights: NDArray[Any]
    """The sample weight of each row, negative for the negative class; short integers if all weights are 1."""
    classes: NDArray[Any]
    groups: NDArray[np.intp] | None = None
    """Rows with the same number stay together in the inner folds."""
    splits: NDArray[np.int8] | None = None
    """The role of each row in each fold, if the user gave folds."""
    sensitive: Sensitive | None = None
    """The groups that bounds concern."""

    @property
    def X(self) -> Any:
        return self.checked.X


class ManyClassSet(NamedTuple):
    """Rows of many classes."""

    checked: CheckedRows
    codes: NDArray[np.intp]
    """The number of each row's class."""
    weights: NDArray[np.float64]
    classes: NDArray[Any]
    groups: NDArray[np.intp] | None = None
    splits: NDArray[np.int8] | None = None

    @property
    def X(self) -> Any:
        return self.checked.X


class WeightedRows(NamedTuple):
    """Rows that have a weight, with their weights and groups."""

    checked: CheckedRows
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None
    """None if all weights are 1."""
    groups: NDArray[np.intp] | None
    splits: NDArray[np.int8] | None
    sensitive: Sensitive | None

    @classmethod
    def of(
        cls,
        checked: CheckedRows,
        labels: NDArray[Any],
        sample_weight: Any,
        groups: Any,
        splits: NDArray[np.int8] | None,
        sensitive: Sensitive | None = None,
    ) -> WeightedRows:
        """Check weights and groups against checked rows; rows of weight 0 are left out."""
        numbers = group_numbers(groups, checked.number)
        if sample_weight is None:
            return cls(checked, labels, None, numbers, splits, sensitive)
        weights = checked_weights(sample_weight, checked.X)
        if np.all(weights):
            return cls(checked, labels, weights, numbers, splits, sensitive)
        kept = weights > 0
        numbers = None if numbers is None else numbers[kept]
        splits = None if splits is None else splits[kept]
        sensitive = None if sensitive is None else sensitive._replace(codes=sensitive.codes[kept])
        return cls(checked.where(kept), labels[kept], weights[kept], numbers, splits, sensitive)


def training_set(
    checked: CheckedRows,
    labels: CheckedLabels,
    sample_weight: Any,
    *,
    pos_label: Any,
    classes: NDArray[Any] | None = None,
    groups: Any = None,
    splits: NDArray[np.int8] | None = None,
    sensitive: Sensitive | None = None,
) -> TrainingSet:
    """Check labels and weights against checked rows; rows of weight 0 are left out.

    ``classes`` are those announced to ``partial_fit``; with None, y must contain both.
    """
    y, found = labels
    if classes is None:
        classes = found
        require_two_classes(y, classes)
    else:
        require_known(found, classes)
    positive = positive_label(classes, pos_label)
    rows = WeightedRows.of(checked, y, sample_weight, groups, splits, sensitive)
    is_positive, weights = rows.labels == positive, rows.weights
    # As bytes if all weights are 1: ten times as fast as np.where.
    signed = is_positive * np.int8(2) - np.int8(1) if weights is None else np.where(is_positive, weights, -weights)
    return TrainingSet(rows.checked, signed, classes, rows.groups, rows.splits, rows.sensitive)


def many_class_set(
    checked: CheckedRows,
    labels: CheckedLabels,
    sample_weight: Any,
    *,
    classes: NDArray[Any] | None = None,
    groups: Any = None,
    splits: NDArray[np.int8] | None = None,
) -> ManyClassSet:
    """Check labels and weights of any number of classes; rows of weight 0 are left out."""
    y, found = labels
    if classes is None:
        classes = found
        require_more_than_one_class(classes)
    else:
        require_known(found, classes)
    rows = WeightedRows.of(checked, np.searchsorted(classes, y), sample_weight, groups, splits)
    weights = np.ones(rows.labels.size) if rows.weights is None else rows.weights
    return ManyClassSet(rows.checked, rows.labels, weights, classes, rows.groups, rows.splits)


def group_numbers(groups: Any, n_rows: int) -> NDArray[np.intp] | None:
    """Return a number for the group of every row."""
    if groups is None:
        return None
    groups = column_or_1d(groups)
    check_consistent_length(groups, np.empty(n_rows))
    try:
        numbers: NDArray[np.intp] = np.unique(groups, return_inverse=True)[1].reshape(-1)
    except TypeError:  # texts and None: rows without a group form one group, as in files
        numbers = np.unique([str(value) for value in groups], return_inverse=True)[1].reshape(-1)
    if numbers.size and numbers.max() == 0:
        raise ValueError("groups holds one group only: some must be there to learn from and some to hold out.")
    return numbers


def with_mean_weight_one(rows: TrainingSet) -> TrainingSet:
    """Return the rows with weights of mean 1, because only the proportions of weights matter."""
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
