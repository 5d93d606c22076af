"""Random orders, compiled: numpy's shuffle would take longer than learning from the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@njit(cache=True, nogil=True)
def shuffle(values: Any, seed: Any) -> None:
    """Fisher and Yates' shuffle, in place, with the numbers of splitmix64."""
    state = np.uint64(seed)
    for i in range(values.size - 1, 0, -1):
        state += _GOLDEN
        z = state
        z = (z ^ (z >> _30)) * _FIRST
        z = (z ^ (z >> _27)) * _SECOND
        z = z ^ (z >> _31)
        # 32 random bits times the number of places: its upper half is a place.
        j = np.int64(((z >> _32) * np.uint64(i + 1)) >> _32)
        values[i], values[j] = values[j], values[i]


def evenly_mixed_order(positive: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.signedinteger[Any]]:
    """A random order in which every stretch of rows has its share of both classes."""
    whole: Any = np.int32 if positive.size <= np.iinfo(np.int32).max else np.int64
    rare, common = (np.flatnonzero(mine).astype(whole) for mine in (positive, ~positive))
    if rare.size > common.size:
        rare, common = common, rare
    # The k-th row of the rarer class goes to a random place in the k-th of as many equal stretches.
    edges = np.arange(rare.size + 1) * positive.size // max(rare.size, 1)
    places = edges[:-1] + (rng.random(rare.size) * np.diff(edges)).astype(np.int64)
    for mine in (rare, common):
        shuffle(mine, rng.integers(2**63, dtype=np.uint64))
    order = np.empty(positive.size, dtype=whole)
    free = np.ones(positive.size, dtype=bool)
    free[places] = False
    order[places] = rare
    order[free] = common
    return order


def evenly_mixed_classes(codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[np.intp]:
    """A random order in which every stretch of rows has its share of each of many classes.

    The k-th row of a class of m, in random order, goes to a random place in the k-th of m equal stretches.
    """
    by_class = np.argsort(codes + rng.random(codes.size), kind="stable")  # each class together, in random order
    sizes = np.bincount(codes)
    ranks = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = (ranks + rng.random(codes.size)) / np.repeat(sizes, sizes)
    order: NDArray[np.intp] = by_class[np.argsort(places, kind="stable")]
    return order
