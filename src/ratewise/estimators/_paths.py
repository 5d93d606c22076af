"""Contributions of each column to the trees of ``HistGradientBoostingClassifier``, which does not provide them.

The value of a node is the mean of its leaves, weighted by their training rows. On a row's path through a tree,
each split changes the value from that of the node to that of a child. The change belongs to the split's column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

Floats = NDArray[np.float64]
_STEPS_AT_ONCE = 1 << 20


class _Trees(NamedTuple):
    """The nodes of all trees, one after another."""

    nodes: NDArray[Any]
    mean: Floats
    roots: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    bits: NDArray[np.uint32]
    """Bitsets of the categories that go left, a row per split node; ``bitset_idx`` counts over all trees."""


def path_contributions(model: HistGradientBoostingClassifier, X: Any, trees: int) -> Floats | None:
    """Return what each column adds to the log odds of the first trees; the last entry is the remainder.

    Return None if this version of scikit-learn stores its trees in another way: its attributes are private.
    """
    try:
        rows = np.asarray(model._preprocess_X(X, reset=False), dtype=np.float64)
        found = _of_trees(_trees_of(model, trees), rows, model)
        found[:, -1] += float(np.ravel(model._baseline_prediction)[0])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None
    return found


def _trees_of(model: Any, number: int) -> _Trees:
    predictors = [stage[0] for stage in model._predictors[:number]]
    sizes = [one.nodes.size for one in predictors]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
    bitsets = [one.raw_left_cat_bitsets for one in predictors]
    first_bits = np.concatenate([[0], np.cumsum([one.shape[0] for one in bitsets])[:-1]])
    nodes = np.concatenate([one.nodes for one in predictors])
    nodes["bitset_idx"] += np.repeat(first_bits, sizes).astype(nodes["bitset_idx"].dtype)
    start = np.repeat(roots, sizes)
    left, right = start + nodes["left"], start + nodes["right"]
    mean = np.where(nodes["is_leaf"], nodes["value"], 0.0)
    weight = nodes["count"].astype(np.float64)
    for place in np.flatnonzero(nodes["is_leaf"] == 0)[::-1]:  # children come after their parents
        ends = [left[place], right[place]]
        mean[place] = np.average(mean[ends], weights=weight[ends] if weight[ends].sum() > 0 else None)
    return _Trees(nodes, mean, roots, left, right, np.concatenate(bitsets))


def _of_trees(trees: _Trees, rows: Floats, model: Any) -> Floats:
    width = rows.shape[1]
    column_of = np.arange(width)  # the user's column, since scikit-learn moves the categories to the front
    if getattr(model, "_preprocessor", None) is not None:
        is_category = np.asarray(model.is_categorical_)
        column_of = np.concatenate([np.flatnonzero(is_category), np.flatnonzero(~is_category)])
    known, place_of = model._bin_mapper.make_known_categories_bitsets()
    nodes = trees.nodes
    out = np.zeros((rows.shape[0], width + 1))
    out[:, -1] = trees.mean[trees.roots].sum()
    at_once = max(_STEPS_AT_ONCE // trees.roots.size, 1)
    for start in range(0, rows.shape[0], at_once):
        block = rows[start : start + at_once]
        row = np.repeat(np.arange(block.shape[0]), trees.roots.size)
        place = np.tile(trees.roots, block.shape[0])
        while True:
            inner = nodes["is_leaf"][place] == 0
            row, place = row[inner], place[inner]
            if not place.size:
                break
            column = nodes["feature_idx"][place]
            value = block[row, column]
            goes_left = value <= nodes["num_threshold"][place]
            lost = np.isnan(value)
            splits_categories = nodes["is_categorical"][place] == 1
            if splits_categories.any():
                some = np.flatnonzero(splits_categories & ~lost)
                category = value[some].astype(np.int64)
                mine = _has_bit(trees.bits, nodes["bitset_idx"][place[some]], category)
                goes_left[some] = mine
                unknown = (category < 0) | ~(mine | _has_bit(known, place_of[column[some]], category))
                lost[some] = unknown
            goes_left = np.where(lost, nodes["missing_go_to_left"][place] == 1, goes_left)
            there = np.where(goes_left, trees.left[place], trees.right[place])
            moved = trees.mean[there] - trees.mean[place]
            cells = (start + row) * (width + 1) + column_of[column]
            first = start * (width + 1)
            sums = np.bincount(cells - first, moved, block.shape[0] * (width + 1))
            out[start : start + at_once] += sums.reshape(block.shape[0], width + 1)
            place = there
    return out


def _has_bit(bitsets: NDArray[Any], which: NDArray[Any], number: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether bit ``number`` is set in the bitset of each row; numbers out of range are not set."""
    inside = (number >= 0) & (number < 32 * bitsets.shape[1])
    number = np.where(inside, number, 0)
    words = bitsets[which, number // 32].astype(np.int64)
    return np.asarray(inside & ((words >> (number % 32)) & 1 == 1))
