"""Rows of many classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise.kernels import evenly_mixed_classes
from ratewise.training import ArraySource
from ratewise.training.folds import ALL_ROWS, order_by_group
from ratewise.training.rows import ArrayRows
from ratewise.training.targets import class_targets, codes_of, rarest_against_the_rest, weights_of
from ratewise.transforms import Standardizer


def rows_of(X, codes, weights=None, **more):
    transform = Standardizer(X.shape[1], active=False)
    targets = class_targets(codes, np.ones(codes.size) if weights is None else weights)
    return ArrayRows(X, targets, transform, np.random.default_rng(0), n_classes=int(codes.max()) + 1, **more)


def numbered(n=100, n_classes=3):
    """Rows that tell their own number."""
    return np.arange(n, dtype=float)[:, np.newaxis], np.arange(n) % n_classes


def numbers_of(rows):
    return rows.scores(np.ones(1), 0.0).astype(int)


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
def test_a_pass_has_every_row_once_with_its_own_class_and_weight(form, low_memory):
    X, codes = numbered()
    rows = rows_of(form(X), codes, weights=1.0 + np.arange(100.0), low_memory=low_memory)
    seen = []
    for stored, targets, starts, stops in rows.part((0, 30), (60, 100)).take(70):
        of_rows = (
            sparse.csr_matrix(stored, (targets.shape[0], 1)).toarray() if isinstance(stored, tuple) else stored
        )
        which = np.concatenate([np.arange(*ends) for ends in zip(starts, stops, strict=True)])
        seen.append(np.column_stack([of_rows[which, 0], targets[which]]))
    number, code, weight = np.concatenate(seen).T
    assert np.unique(number).size == number.size == 70
    np.testing.assert_array_equal(code, number % 3)
    np.testing.assert_array_equal(weight, 1.0 + number)


def test_scores_and_classes_come_in_the_same_order():
    X, codes = numbered()
    part = rows_of(X, codes).part((20, 50))
    scores = part.scores(np.array([[1.0, 0.0, 2.0]]), np.array([0.0, 5.0, 1.0]))
    np.testing.assert_array_equal(scores[:, 0].astype(int) % 3, codes_of(part.targets))
    np.testing.assert_array_equal(scores[:, 1], 5.0)
    np.testing.assert_array_equal(scores[:, 2], 2.0 * scores[:, 0] + 1.0)


def test_one_class_against_the_rest_has_the_same_rows():
    X, codes = numbered()
    part = rows_of(X, codes).part((0, 40))
    against = part.against_the_rest(2, np.random.default_rng(0))
    np.testing.assert_array_equal(against.signed_weights > 0, codes_of(part.targets) == 2)
    np.testing.assert_array_equal(numbers_of(against) % 3, codes_of(part.targets))


def test_the_rarest_class_that_has_rows_is_the_positive_one():
    targets = class_targets(np.array([0, 0, 2, 3, 3, 3]), np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    np.testing.assert_array_equal(rarest_against_the_rest(targets), [-1.0, -2.0, 3.0, -4.0, -5.0, -6.0])


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 5), st.integers(6, 30), st.integers(0, 1000))
def test_an_order_by_group_parts_no_group_and_leaves_no_row_out(folds, n_groups, seed):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.concatenate([np.arange(n_groups), rng.integers(n_groups, size=100)]))
    targets = class_targets(rng.integers(3, size=groups.size), np.ones(groups.size))
    order, ranges = order_by_group(groups, targets, folds, rng)
    assert sorted(order) == list(range(groups.size))
    parts = [set(groups[order[start:stop]]) for start, stop in ranges]
    assert sum(map(len, parts)) == n_groups
    assert min(stop - start for start, stop in ranges) > 0


def folds_of(X, codes, folds, weights=None, groups=None):
    targets = class_targets(codes, np.ones(codes.size) if weights is None else weights)
    source = ArraySource(X, targets, np.random.default_rng(0), n_classes=3, groups=groups)
    return source.transformed(source.transform(standardize=False, whiten=False), folds)


def test_folds_leave_out_each_row_once():
    X, codes = numbered()
    training = folds_of(X, codes, 3)
    left_out = [set(range(100)) - set(numbers_of(training.training_rows(fold))) for fold in range(3)]
    assert sorted(number for some in left_out for number in some) == list(range(100))
    assert training.training_rows(ALL_ROWS).n_points == 100


def test_copies_of_a_row_share_a_fold():
    X, codes = numbered(120)
    X[60:] = X[:60]  # each row twice, whatever its class
    training = folds_of(np.hstack([X, X]), codes, 3)
    for fold in range(3):
        learned = training.training_rows(fold)
        counts = np.bincount(learned.scores(np.array([1.0, 0.0]), 0.0).astype(int))
        assert set(counts) <= {0, 2}


def test_groups_keep_their_rows_weights_and_codes_together_in_folds():
    X, codes = numbered(120)
    groups = np.arange(120) // 10
    training = folds_of(X, codes, 3, weights=1.0 + np.arange(120.0), groups=groups)
    everything, met = set(range(12)), set()
    for fold in range(3):
        part = training.training_rows(fold)
        number = numbers_of(part)
        assert codes_of(part.targets).tolist() == (number % 3).tolist()
        assert weights_of(part.targets).tolist() == (1.0 + number).tolist()
        others = everything - set(groups[number].tolist())
        assert not met & others
        met |= others
    assert met == everything


def test_the_totals_of_the_rows_are_those_of_their_classes():
    X = np.random.default_rng(0).normal(size=(100, 3))
    totals = rows_of(X, np.arange(100) % 3, weights=np.full(100, 2.0)).summary
    assert totals.class_weights == (68.0, 66.0, 66.0)
    assert totals.leverage == pytest.approx((X**2).sum(axis=1).mean() + totals.entry_square, rel=1e-5)
