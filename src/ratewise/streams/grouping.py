"""Folds that keep rows of one group together."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ranges = list[tuple[int, int]]
Mixer = Callable[[NDArray[Any], np.random.Generator], NDArray[np.signedinteger[Any]]]


def equal_ranges(n_rows: int, folds: int) -> Ranges:
    """A range of rows for each fold."""
    return list(pairwise(n_rows * fold // folds for fold in range(folds + 1)))


def order_by_group(
    groups: NDArray[np.intp], codes: NDArray[Any], folds: int, rng: np.random.Generator, mixed: Mixer
) -> tuple[NDArray[np.intp], Ranges]:
    """An order of rows and the range of each fold in it, no group in two of them.

    ``codes`` are the classes of the rows, and ``mixed`` gives the order within a fold.
    """
    fold_of = _folds_of_groups(groups, codes.astype(np.intp), folds, rng)[groups]
    parts = []
    for fold in range(folds):
        mine = np.flatnonzero(fold_of == fold)
        parts.append(mine[mixed(codes[mine], rng)])
    edges = np.cumsum([0, *(part.size for part in parts)]).tolist()
    return np.concatenate(parts), list(pairwise(edges))


def _folds_of_groups(
    groups: NDArray[np.intp], codes: NDArray[np.intp], folds: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """A fold for every group, each with about its share of every class.

    The groups that hold most of some class come first; each goes where it makes the folds least uneven.
    """
    n_groups, n_classes = int(groups.max()) + 1, int(codes.max()) + 1
    counts = np.bincount(groups * n_classes + codes, minlength=n_groups * n_classes).reshape(n_groups, n_classes)
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    loads = np.zeros((folds, n_classes))
    found = np.empty(n_groups, dtype=np.intp)
    shuffled = rng.permutation(n_groups)
    for group in shuffled[np.argsort(-shares[shuffled].sum(axis=1), kind="stable")]:
        unevenness = (loads * shares[group]).sum(axis=1)
        found[group] = np.argmin(unevenness)
        loads[found[group]] += shares[group]
    return found
