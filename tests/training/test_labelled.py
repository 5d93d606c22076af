"""Rows of many classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise.kernels import evenly_mixed_classes
from ratewise.training import labelled
from ratewise.training.labelled import MulticlassRows
from ratewise.training.memory import equal_ranges, order_by_group
from ratewise.transforms import Standardizer


def rows_of(X, codes, weights=None, **more):
    transform = Standardizer(X.shape[1], active=False)
    weights = np.ones(codes.size) if weights is None else weights
    return MulticlassRows(X, codes, weights, int(codes.max()) + 1, transform, np.random.default_rng(0), **more)


def numbered(n=100, n_classes=3):
    """Rows that tell their own number."""
    return np.arange(n, dtype=float)[:, np.newaxis], np.arange(n) % n_classes


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=200), st.integers(0, 100))
def test_a_mixed_order_has_every_row_once_and_every_class_in_every_stretch(codes, seed):
    codes = np.array(codes)
    order = evenly_mixed_classes(codes, np.random.default_rng(seed))
    assert sorted(order) == list(range(codes.size))
    half = codes[order][: codes.size // 2]
    for code in np.unique(codes):
        share = np.count_nonzero(half == code) - np.count_nonzero(codes == code) * half.size / codes.size
        assert abs(share) <= 5  # the half's own edge moves by one row per class


@pytest.mark.parametrize("low_memory", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("small", [0, 1 << 22], ids=["large", "small"])
def test_a_pass_has_every_row_once_with_its_own_class_and_weight(form, low_memory, small, monkeypatch):
    monkeypatch.setattr(labelled, "_SMALL", small)
    X, codes = numbered()
    rows = rows_of(form(X), codes, weights=1.0 + np.arange(100.0), low_memory=low_memory)
    seen = []
    for stored, targets, starts, stops in rows.part((0, 30), (60, 100)).one_pass(np.random.default_rng(1)):
        of_rows = sparse.csr_matrix(stored).toarray() if isinstance(stored, tuple) else stored
        which = np.concatenate([np.arange(*ends) for ends in zip(starts, stops, strict=True)])
        seen.append(np.column_stack([of_rows[which, 0], targets[which]]))
    number, code, weight = np.concatenate(seen).T
    assert np.unique(number).size == number.size == 70
    np.testing.assert_array_equal(code, number % 3)
    np.testing.assert_array_equal(weight, 1.0 + number)


def test_scores_and_classes_come_in_the_same_order():
    X, codes = numbered()
    part = rows_of(X, codes).part((20, 50))
    scores = part.scores(np.array([[1.0], [0.0], [2.0]]), np.array([0.0, 5.0, 1.0]))
    np.testing.assert_array_equal(scores[:, 0].astype(int) % 3, part.codes)
    np.testing.assert_array_equal(scores[:, 1], 5.0)
    np.testing.assert_array_equal(scores[:, 2], 2.0 * scores[:, 0] + 1.0)


def test_one_class_against_the_rest_has_the_same_rows():
    X, codes = numbered()
    part = rows_of(X, codes).part((0, 40))
    against = part.against_the_rest(2, np.random.default_rng(0))
    np.testing.assert_array_equal(against.signed_weights > 0, part.codes == 2)
    np.testing.assert_array_equal(against.scores(np.ones(1), 0.0).astype(int) % 3, part.codes)


def test_folds_without_groups_are_equal_ranges_of_the_rows_as_they_lie():
    X, codes = numbered()
    rows = rows_of(X, codes).in_folds(3, np.random.default_rng(0))
    everything = rows.codes
    ranges = [(0, 33), (33, 66), (66, 100)]
    assert ranges == equal_ranges(100, 3)
    for fold, (start, stop) in enumerate(ranges):
        np.testing.assert_array_equal(
            rows.without(fold).codes, np.concatenate([everything[:start], everything[stop:]])
        )


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 5), st.integers(6, 30), st.integers(0, 1000))
def test_an_order_by_group_parts_no_group_and_leaves_no_row_out(folds, n_groups, seed):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.concatenate([np.arange(n_groups), rng.integers(n_groups, size=100)]))
    codes = rng.integers(3, size=groups.size)
    order, ranges = order_by_group(groups, codes, folds, rng, evenly_mixed_classes)
    assert sorted(order) == list(range(groups.size))
    parts = [set(groups[order[start:stop]]) for start, stop in ranges]
    assert sum(map(len, parts)) == n_groups
    assert min(stop - start for start, stop in ranges) > 0


def test_groups_keep_their_rows_weights_and_codes_together_in_folds():
    X, codes = numbered(120)
    groups = np.arange(120) // 10
    rows = rows_of(X, codes, weights=1.0 + np.arange(120.0), groups=groups)
    split = rows.in_folds(3, np.random.default_rng(0))
    everything, met = set(range(12)), set()
    for fold in range(3):
        part = split.without(fold)
        number = part.scores(np.ones((1, 1)), np.zeros(1))[:, 0].astype(int)
        assert part.codes.tolist() == (number % 3).tolist()
        assert part.weights.tolist() == (1.0 + number).tolist()
        others = everything - set(groups[number].tolist())
        assert not met & others
        met |= others
    assert met == everything


@pytest.mark.parametrize("n", [100, 5_000])
def test_the_leverage_is_the_mean_squared_length_and_one_for_the_intercept(n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    rows = rows_of(X, np.arange(n) % 3)
    expected = (rows._stored.matrix[:4096].astype(np.float64) ** 2).sum(axis=1).mean() + 1.0
    assert rows.leverage() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("room", "is_sparse"), [(300, False), (299, True)])
def test_sparse_rows_that_take_little_room_are_stored_dense(room, is_sparse, monkeypatch):
    monkeypatch.setattr(labelled, "_SMALL", room)
    X, codes = sparse.csr_matrix(np.eye(100, 3)), np.arange(100) % 3
    assert rows_of(X, codes).sparse == is_sparse
    assert rows_of(X, codes, low_memory=True).sparse
