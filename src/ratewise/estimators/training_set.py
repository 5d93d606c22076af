"""Rows, labels and weights checked together, ready for a fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from .labels import positive_label, require_known
from .validation import (
    CheckedRows,
    Labels,
    checked_weights,
    require_more_than_one_class,
    require_two_classes,
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
    labels: Labels,
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
    labels: Labels,
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
