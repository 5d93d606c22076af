"""Random orders, compiled: numpy's shuffle would take longer than learning from the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_IN_CACHE, _PILE = 1 << 21, 1 << 16  # numbers that are shuffled in place; numbers per pile
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@njit(nogil=True)
def _below(number: int, state: Any) -> Any:
    """Return a random whole number below ``number``, and the next state of splitmix64."""
    state += _GOLDEN
    z = state
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    z = z ^ (z >> _31)
    # 32 random bits times the number: the upper half is below it.
    return np.int64(((z >> _32) * np.uint64(number)) >> _32), state


@njit(nogil=True)
def _shuffle(values: Any, state: Any, spare: Any) -> Any:
    """Shuffle in place, with as much spare room; return the next state."""
    if values.size <= _IN_CACHE:
        return _shuffle_in_cache(values, state)
    # Swaps all over the memory would wait for it. So the values are dealt out at random into piles that fit into
    # the cache, and each pile is shuffled: again, all orders are equally likely.
    piles = 2
    while values.size > piles * _PILE:
        piles *= 2
    edges = np.zeros(piles + 1, np.int64)
    again = state
    for _ in range(values.size):
        pile, again = _below(piles, again)
        edges[pile + 1] += 1
    edges = np.cumsum(edges)
    dealt, tops = spare[: values.size], edges[:-1].copy()
    for i in range(values.size):
        pile, state = _below(piles, state)
        dealt[tops[pile]] = values[i]
        tops[pile] += 1
    for pile in range(piles):
        state = _shuffle_in_cache(dealt[edges[pile] : edges[pile + 1]], state)
    values[:] = dealt
    return state


@njit(nogil=True)
def _shuffle_in_cache(values: Any, state: Any) -> Any:
    """Shuffle in place by Fisher and Yates' method; return the next state."""
    for i in range(values.size - 1, 0, -1):
        j, state = _below(i + 1, state)
        values[i], values[j] = values[j], values[i]
    return state


@njit(cache=True, nogil=True)
def mix_evenly(positive: Any, positives: int, seed: Any, pool: Any, order: Any) -> None:
    """Fill ``order`` with all rows, each class shuffled, and the rarer one spread evenly; ``pool`` is spare room.

    The k-th row of the rarer class goes to a random place in the k-th of as many equal stretches.
    """
    n = positive.size
    rarer = positives <= n - positives
    number = positives if rarer else n - positives
    rare, common = pool[:number], pool[number:]
    r, c = 0, 0
    for i in range(n):
        if positive[i] == rarer:
            rare[r] = i
            r += 1
        else:
            common[c] = i
            c += 1
    state = _shuffle(common, _shuffle(rare, np.uint64(seed), order), order)
    c, end = 0, 0
    for k in range(max(number, 1)):
        begin, end = end, (k + 1) * n // max(number, 1)
        place = -1
        if number > 0:
            within, state = _below(end - begin, state)
            place = begin + within
            order[place] = rare[k]
        for i in range(begin, end):
            if i != place:
                order[i] = common[c]
                c += 1


def evenly_mixed_order(positive: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.signedinteger[Any]]:
    """Return a random order in which every stretch of rows has its share of both classes."""
    whole: Any = np.int32 if positive.size <= np.iinfo(np.int32).max else np.int64
    pool, order = np.empty(positive.size, dtype=whole), np.empty(positive.size, dtype=whole)
    mix_evenly(positive, int(np.count_nonzero(positive)), rng.integers(2**63, dtype=np.uint64), pool, order)
    return order


def evenly_mixed_classes(codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a random order in which every stretch of rows has its share of each of many classes.

    The k-th row of a class of m, in random order, goes to a random place in the k-th of m equal stretches.
    """
    by_class = np.argsort(codes + rng.random(codes.size), kind="stable")  # each class together, in random order
    sizes = np.bincount(codes)
    ranks = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = (ranks + rng.random(codes.size)) / np.repeat(sizes, sizes)
    order: NDArray[np.intp] = by_class[np.argsort(places, kind="stable")]
    return order
