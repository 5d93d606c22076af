"""Random orders that spread the rarer class evenly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from ratewise.kernels import numpy_fallbacks
from ratewise.kernels.passes import SHUFFLED_IN_CACHE, evenly_mixed_order, shuffle


@settings(deadline=None, max_examples=60)
@given(n=st.integers(1, 300), positives=st.integers(0, 300), seed=st.integers(0, 99))
def test_every_row_comes_once_and_every_stretch_has_its_share_of_the_rarer_class(n, positives, seed):
    rng = np.random.default_rng(seed)
    positive = rng.permutation(n) < positives
    order = evenly_mixed_order(positive, rng)
    assert sorted(order.tolist()) == list(range(n))
    rarer = positive[order] if 2 * positive.sum() <= n else ~positive[order]
    number = int(rarer.sum())
    for k in range(number):
        assert rarer[k * n // number : (k + 1) * n // number].sum() == 1


@njit
def shuffled(n, seed):
    values = np.arange(n)
    shuffle(values, np.uint64(seed), np.empty(n, np.int64))
    return values


def test_all_orders_of_four_are_equally_likely():
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(4800):
        order = tuple(shuffled(4, 7919 * seed).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 50  # chi-squared, 23 degrees: p = 0.001


@pytest.mark.parametrize("n", [SHUFFLED_IN_CACHE, SHUFFLED_IN_CACHE + 1])
def test_many_numbers_are_shuffled_all_over(n):
    values = shuffled(n, 5)
    assert np.array_equal(np.sort(values), np.arange(n))
    met, _, _ = np.histogram2d(np.arange(n), values, bins=16)
    expected = n / 256
    assert ((met - expected) ** 2 / expected).sum() < 310  # 225 degrees of freedom, and less: p < 0.0002
    assert (values[1:] == values[:-1] + 1).sum() < 10  # one is expected: neighbors do not stay together
    assert (values[1:] > values[:-1]).mean() == pytest.approx(0.5, abs=0.005)  # nor in their order


def test_the_place_of_the_rarer_class_in_its_stretch_is_random():
    positive = np.arange(4_000) % 8 == 0
    places = np.flatnonzero(positive[evenly_mixed_order(positive, np.random.default_rng(0))]) % 8
    counts = np.bincount(places, minlength=8)
    assert ((counts - 62.5) ** 2 / 62.5).sum() < 25  # chi-squared, 7 degrees: p < 0.001


def test_what_decides_between_few_rows_and_many_does_not_decide_where_a_rare_row_goes():
    """One positive among a hundred: any place is as likely, and so with the classes turned round."""
    for mixed in (evenly_mixed_order, numpy_fallbacks.evenly_mixed_order):
        for rare in (True, False):
            positive = (np.arange(100) == 17) == rare
            places = [mixed(positive, np.random.default_rng(seed)).tolist().index(17) for seed in range(400)]
            assert np.mean(places) == pytest.approx(49.5, abs=6.0)  # four standard errors
            assert np.std(places) == pytest.approx(28.9, abs=3.0)


@settings(deadline=None, max_examples=60)
@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_every_class_is_spread_evenly_among_the_others(sizes, seed):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    order = numpy_fallbacks.evenly_mixed_classes(codes, rng)
    assert sorted(order.tolist()) == list(range(codes.size))
    # The k-th row of a class of m lies in the k-th of m stretches: two classes are never more than one row apart.
    so_far = np.cumsum(codes[order][:, np.newaxis] == np.arange(len(sizes)), axis=0)
    low, high = ((so_far - 1) / sizes).max(axis=1), ((so_far + 1) / sizes).min(axis=1)
    assert (low <= high + 1e-12).all()


def test_rows_of_a_class_come_in_random_order():
    codes = np.arange(100) % 2
    first = [
        numpy_fallbacks.evenly_mixed_classes(codes, np.random.default_rng(seed))[:2] // 2 for seed in range(200)
    ]
    assert np.mean(first) == pytest.approx(24.5, abs=3.0)
