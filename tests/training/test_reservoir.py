"""A fair sample of everything seen, class by class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise.training.reservoir import Reservoir

quick = settings(deadline=None, max_examples=60)
dense_or_sparse = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
# Lists of (positives, negatives) in each call of add.
batches = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=1, max_size=6).filter(
    lambda sizes: sum(map(sum, sizes)) > 0
)


def numbered_rows(first, positives, negatives):
    """Rows that hold their own number, from ``first`` on; positives first."""
    numbers = np.arange(first, first + positives + negatives, dtype=float)[:, None]
    return numbers, np.repeat([1.0, -1.0], [positives, negatives])


def filled(capacity, sizes, *, form=np.asarray, seed=0, weight=None):
    """A reservoir that was offered numbered rows in these batches, and all of those rows' signed weights."""
    reservoir = Reservoir(capacity, np.random.default_rng(seed))
    everything = []
    for positives, negatives in sizes:
        numbers, signs = numbered_rows(1 + sum(map(len, everything)), positives, negatives)
        signed_weights = signs * (1.0 if weight is None else weight(numbers[:, 0]))
        reservoir.add(form(numbers), signed_weights)
        everything.append(signed_weights)
    return reservoir, np.concatenate(everything)


def sampled(reservoir):
    """Row numbers and signed weights of the sample."""
    rows, signed_weights = reservoir.sample()
    return np.asarray(rows.sum(axis=1)).astype(int), signed_weights


@dense_or_sparse
@quick
@given(sizes=batches, capacity=st.integers(1, 20))
def test_each_class_keeps_all_its_rows_until_full_and_never_more(form, sizes, capacity):
    reservoir, everything = filled(capacity, sizes, form=form)
    numbers, signed_weights = sampled(reservoir)
    assert len(set(numbers)) == numbers.size  # no row twice
    for sign in (1.0, -1.0):
        assert (signed_weights * sign > 0).sum() == min((everything * sign > 0).sum(), capacity)


@quick
@given(sizes=batches, capacity=st.integers(1, 20))
def test_a_sampled_row_keeps_its_class(sizes, capacity):
    reservoir, everything = filled(capacity, sizes)
    numbers, signed_weights = sampled(reservoir)
    assert np.array_equal(np.sign(signed_weights), np.sign(everything[numbers - 1]))


@dense_or_sparse
@quick
@given(sizes=batches, capacity=st.integers(1, 20))
def test_each_class_weighs_as_much_as_all_that_was_seen_of_it(form, sizes, capacity):
    reservoir, everything = filled(capacity, sizes, form=form, weight=lambda number: 0.5 + number % 4)
    _, signed_weights = sampled(reservoir)
    assert signed_weights[signed_weights > 0].sum() == pytest.approx(everything[everything > 0].sum())
    assert signed_weights[signed_weights < 0].sum() == pytest.approx(everything[everything < 0].sum())


def test_within_a_class_rows_keep_the_proportions_of_their_weights():
    reservoir, everything = filled(5, [(40, 0)], weight=lambda number: number)
    numbers, signed_weights = sampled(reservoir)
    assert signed_weights / signed_weights[0] == pytest.approx(everything[numbers - 1] / numbers[0])


@dense_or_sparse
def test_dense_and_sparse_rows_come_back_as_they_were_given(form):
    reservoir, _ = filled(100, [(5, 3), (2, 2)], form=form)
    rows, _ = reservoir.sample()
    assert sparse.issparse(rows) == (form is sparse.csr_array)
    assert rows.shape == (12, 1)


def test_dense_and_sparse_rows_are_sampled_the_same():
    sizes = [(7, 9), (30, 2), (1, 50)]
    dense, _ = sampled(filled(6, sizes)[0])
    compressed, _ = sampled(filled(6, sizes, form=sparse.csr_array)[0])
    assert dense.tolist() == compressed.tolist()


@pytest.mark.parametrize("sizes", [[(8, 0), (5, 0)], [(0, 8), (0, 5)]], ids=["positives", "negatives"])
def test_a_sample_can_be_had_while_one_class_only_was_seen(sizes):
    numbers, signed_weights = sampled(filled(10, sizes)[0])
    assert numbers.size == 10
    assert abs(signed_weights.sum()) == pytest.approx(13.0)


def test_rows_of_weight_zero_are_not_kept():
    reservoir = Reservoir(5, np.random.default_rng(0))
    reservoir.add(np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 0.0, -1.0]))
    assert sampled(reservoir)[0].tolist() == [1, 3]


@pytest.mark.parametrize("sizes", [[(40, 0)], [(4, 0), (36, 0)], [(2, 0)] * 20, [(13, 0), (14, 0), (13, 0)]])
def test_every_row_is_equally_likely_to_be_kept(sizes):
    # 40 rows, 10 places: each row is kept with chance 1/4. Over 1000 seeds the share has standard deviation
    # sqrt(3/16 / 1000) = 0.0137; the bound is five of them, and the seeds are fixed.
    kept = np.zeros(41)
    for seed in range(1000):
        kept[sampled(filled(10, sizes, seed=seed)[0])[0]] += 1
    assert kept[1:] / 1000 == pytest.approx(np.full(40, 0.25), abs=0.0685)


def test_the_same_seed_keeps_the_same_rows():
    sizes = [(30, 30), (20, 20)]
    first, second, other = (sampled(filled(8, sizes, seed=seed)[0])[0].tolist() for seed in (3, 3, 4))
    assert first == second
    assert first != other


def test_wide_rows_are_sampled_less_and_never_fewer_than_a_thousand():
    rng = np.random.default_rng(0)
    assert Reservoir.for_rows(np.zeros((10, 4), np.float32), rng).capacity == (1 << 24) // 16
    assert Reservoir.for_rows(np.zeros((10, 4), np.float32), rng, most=500).capacity == 1_000
    assert Reservoir.for_rows(np.zeros((10, 4)), rng, most=9_000).capacity == 9_000
    assert Reservoir.for_rows(np.zeros((2, 100_000)), rng).capacity == 1_000
    assert Reservoir.for_rows(sparse.eye(8, 100_000, format="csr"), rng).capacity == (1 << 24) // 8
