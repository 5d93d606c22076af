"""Which rows share a fold, and rows in the order of their folds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import hash_rows
from .targets import Targets, codes_of, mixed_order

ALL_ROWS = -1
"""Used in place of a fold number: no row is left out."""

Ranges = Sequence[tuple[int, int]]
FoldRanges = tuple[Ranges, Ranges]

_LARGE_GROUPS = 1000  # the largest groups, placed one by one; smaller ones are dealt out in turn
_COMMON_SHARE = 0.01  # a row whose copies are at least this share of all rows is spread over the folds


def order_by_fold(
    fold_of_row: NDArray[Any], targets: Targets, folds: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], list[tuple[int, int]]]:
    """Return a random order of rows in which each fold is a range, and the ranges."""
    parts = []
    for fold in range(folds):
        mine = np.flatnonzero(fold_of_row == fold)
        parts.append(mine[mixed_order(targets[mine], rng)])
    edges = np.cumsum([0, *(part.size for part in parts)]).tolist()
    return np.concatenate(parts), list(pairwise(edges))


class GivenFolds(NamedTuple):
    """Which rows must share a fold."""

    groups: NDArray[np.intp] | None = None
    fold_of_row: NDArray[np.intp] | None = None
    """None if any row may lie anywhere."""
    common: NDArray[np.intp] | None = None
    """One copy of each frequent row, the most frequent first."""


def folds_of_rows(
    X: Any, groups: NDArray[np.intp] | None, codes: NDArray[Any], folds: int, rng: np.random.Generator
) -> GivenFolds:
    """Return a fold for each row that keeps groups together; without groups, copies of a row.

    Scores of copies of training rows are too good. Rows that are equal by chance do not count as copies. Nor does
    a row that makes up a hundredth of all rows or more: new data will contain it too, so its copies are spread
    over the folds. If some class would be in one fold only, all rows may lie in any fold.
    """
    codes = codes.astype(np.intp)
    if groups is not None:
        return GivenFolds(groups, _fold_of_each_row(groups, codes, folds, rng))
    hashes = hash_rows(X)
    ordered = np.sort(hashes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not repeated.size:
        return GivenFolds()
    equal = _places_among(hashes, repeated)
    which = np.searchsorted(repeated, hashes[equal])
    _, first, counts = np.unique(which, return_index=True, return_counts=True)
    often = counts >= _COMMON_SHARE * codes.size + 1
    common = equal[first[often]][np.argsort(-counts[often], kind="stable")]
    copied = ~often & ~_equal_by_chance(X, equal[first], counts)
    if not copied.any():
        return GivenFolds(common=common)
    together = copied[which]  # every other row is a group of its own
    numbers = np.arange(codes.size) + repeated.size
    numbers[equal[together]] = which[together]
    found = _fold_of_each_row(numbers, codes, folds, rng)
    seen = np.zeros((int(codes.max()) + 1, folds), dtype=np.bool_)
    seen[codes, found] = True
    if (seen.sum(axis=1) == 1).any():  # a class in one fold alone
        return GivenFolds(common=common)
    return GivenFolds(numbers, found, common)


def _places_among(hashes: NDArray[np.uint64], values: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return the places, in order, of the hashes that are among some values."""
    some_bits = np.zeros(1 << 16, dtype=bool)  # excludes most of the other hashes before the search
    some_bits[values & np.uint64(0xFFFF)] = True
    likely = np.flatnonzero(some_bits[hashes & np.uint64(0xFFFF)])
    return likely[np.isin(hashes[likely], values)]


def _equal_by_chance(X: Any, rows: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which of these rows, each of which occurs ``counts`` times, may be equal by chance.

    Where columns have few values, only a part of the rows that are equal in every second column are equal in all
    columns. With copies, a row that is equal in half of the columns is equal in all. With one column this cannot
    be decided.
    """
    by_chance = np.ones(rows.size, dtype=np.bool_)
    for half in (X[:, ::2], X[:, 1::2]) if X.shape[1] > 1 else ():
        if not by_chance.any():
            break
        hashes = hash_rows(half)
        values, place = np.unique(hashes[rows], return_inverse=True)
        matches = np.searchsorted(values, hashes[_places_among(hashes, values)])
        by_chance &= np.bincount(matches, minlength=values.size)[place] > counts
    return by_chance


def parts_of_splits(splits: Any) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
    """Return the role of each part in each fold, and the part of each row."""
    roles, part_of_row = np.unique(splits, axis=0, return_inverse=True)
    return roles, part_of_row.reshape(-1)


def ranges_of_folds(roles: NDArray[np.int8], ranges: Ranges) -> list[FoldRanges]:
    """Return the training ranges and the validation ranges of each fold, where each part is a range."""
    return [
        (
            [ranges[k] for k, role in enumerate(fold) if role > 0],
            [ranges[k] for k, role in enumerate(fold) if role < 0],
        )
        for fold in roles.T.tolist()
    ]


def equal_ranges(n_rows: int, folds: int) -> list[tuple[int, int]]:
    """Return a range of rows for each fold."""
    return list(pairwise(n_rows * fold // folds for fold in range(folds + 1)))


def order_by_group(
    groups: NDArray[np.intp], targets: Targets, folds: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], list[tuple[int, int]]]:
    """Return a random order of rows and the range of each fold in that order; no group is in two folds."""
    return order_by_fold(_fold_of_each_row(groups, codes_of(targets), folds, rng), targets, folds, rng)


def _fold_of_each_row(
    groups: NDArray[np.intp], codes: NDArray[np.intp], folds: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return a fold for every row, equal within a group; each fold gets about its share of every class.

    Groups of several rows are placed first, in falling order of their largest share of a class. Each goes to the
    fold where it makes the folds least uneven. Single rows then fill the folds that have least of their class.
    """
    n_classes = int(codes.max()) + 1
    alone = np.bincount(groups)[groups] == 1
    per_row = 1.0 / np.maximum(np.bincount(codes, minlength=n_classes), 1)
    loads = np.zeros((folds, n_classes))
    found = np.empty(groups.size, dtype=np.intp)
    others = np.flatnonzero(~alone)
    if others.size:
        numbers = np.unique(groups[others], return_inverse=True)[1]
        counts = np.bincount(numbers * n_classes + codes[others], minlength=n_classes * (int(numbers.max()) + 1))
        shares = counts.reshape(-1, n_classes) * per_row
        found[others] = _folds_of_groups(shares, loads, rng)[numbers]
    for code in range(n_classes):
        mine = rng.permutation(np.flatnonzero(alone & (codes == code)))
        load = loads[:, code]
        room = np.maximum((load.sum() + mine.size * per_row[code]) / folds - load, 1e-9)
        ends = np.rint(np.cumsum(room) / room.sum() * mine.size).astype(np.intp)
        found[mine] = np.repeat(np.arange(folds), np.diff(ends, prepend=0))
    return found


def _folds_of_groups(
    shares: NDArray[np.float64], loads: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return a fold for every group, given its share of every class; add the shares to the loads of the folds."""
    found = np.empty(shares.shape[0], dtype=np.intp)
    shuffled = rng.permutation(shares.shape[0])
    by_size = shuffled[np.argsort(-shares[shuffled].sum(axis=1), kind="stable")]
    for group in by_size[:_LARGE_GROUPS]:
        unevenness = (loads * shares[group]).sum(axis=1)
        found[group] = np.argmin(unevenness)
        loads[found[group]] += shares[group]
    # Deal out the many other groups class by class, the larger groups first.
    others = by_size[_LARGE_GROUPS:]
    others = others[np.argsort(shares[others].argmax(axis=1), kind="stable")]
    found[others] = np.arange(others.size) % loads.shape[0]
    np.add.at(loads, found[others], shares[others])
    return found
