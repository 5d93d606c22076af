"""Compare two decisions by the jackknife: by values without each block of rows in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..counts import Counts, sums_by_class
from ..measures import ConfusionMeasure
from .search import value_of

_BLOCKS = 21
# A rule, or class weights of a model, must be better by this many standard errors of the difference. (20 draws of
# 60 rows of 4 classes: half of one lost .010 of macro F1 on new rows in the mean and .122 at most, this loses .001
# and .026; from 300 rows on the worst recall gains .2 either way. Balanced weights within half a standard error of
# one rate of all rows cost the worst recall of wine .004 with LightGBM, and satimage, covtype and others .005.)
_CERTAIN = 1.64


def blocks_of_rows(codes: NDArray[np.intp], groups: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """Return the block of each row: each class, or each of ``groups``, is spread over the blocks."""
    if groups is not None:
        return np.asarray(np.unique(groups, return_inverse=True)[1] % _BLOCKS, dtype=np.intp)
    found = np.empty(codes.size, dtype=np.intp)
    found[np.argsort(codes, kind="stable")] = np.arange(codes.size) % _BLOCKS
    return found


def values_without_each_block(
    codes: NDArray[np.intp],
    predicted: NDArray[np.intp],
    weights: NDArray[Any],
    blocks: NDArray[np.intp],
    n_classes: int,
    measure: ConfusionMeasure,
) -> NDArray[np.float64]:
    """Return the measure without the rows of each block in turn and, last, of all rows."""
    numbers = np.unique(blocks, return_inverse=True)[1]
    n_blocks = int(numbers.max()) + 1

    def sums(classes: NDArray[np.intp], values: NDArray[Any]) -> NDArray[np.float64]:
        return sums_by_class(numbers * n_classes + classes, values, n_blocks * n_classes).reshape(-1, n_classes)

    if measure.by_class:
        right = sums(predicted, weights * (codes == predicted))
        found = np.stack([right, sums(predicted, weights), sums(codes, weights)], axis=1)
    else:
        found = Counts.of_labels(
            codes, predicted, weights, n_classes=n_classes, groups=numbers, n_groups=n_blocks
        ).weights
    everything = found.sum(axis=0)
    values = value_of(measure, np.concatenate([everything - found, everything[np.newaxis]]))
    return np.asarray(values, dtype=np.float64)


def costs_without_each_block(
    costs: NDArray[np.float64], weights: NDArray[Any], blocks: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return minus the mean cost without the rows of each block in turn and, last, of all rows."""
    numbers = np.unique(blocks, return_inverse=True)[1]
    found = np.array([np.bincount(numbers, one) for one in (-weights * costs, weights)])
    everything = found.sum(axis=1, keepdims=True)
    spent, weight = np.concatenate([everything - found, everything], axis=1)
    return np.asarray(spent / weight)


def clearly_better(
    values: NDArray[np.float64], others: NDArray[np.float64], *, most_error: float = np.inf
) -> bool:
    """Return whether values without each block of rows and, last, of all rows are better by more than noise.

    The standard error of the difference is limited to ``most_error``.
    """
    gain = values - others
    return bool(gain[-1] > _CERTAIN * min(standard_error(gain), most_error))


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the jackknife standard error, from values without each block of rows and, last, of all rows."""
    blocks = values[:-1]
    return float(np.sqrt((blocks.size - 1) / blocks.size * ((blocks - blocks.mean()) ** 2).sum()))
