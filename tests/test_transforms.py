"""Columns standardized or whitened, and models carried to the user's columns and back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from ratewise import transforms
from ratewise.transforms import Standardizer, Whitener, standardized_products

quick = settings(deadline=None, max_examples=80)
seeds = st.integers(0, 2**32 - 1)
tables = arrays(np.float64, st.tuples(st.integers(1, 30), st.just(3)), elements=st.integers(-800, 800).map(float))
cut_lists = st.lists(st.integers(0, 30), max_size=5)


def pieces_of(X, cuts):
    """X cut into consecutive pieces, some of them perhaps empty."""
    edges = [0, *sorted(min(cut, X.shape[0]) for cut in cuts), X.shape[0]]
    return [X[low:high] for low, high in itertools.pairwise(edges)]


def some_dense_rows(n=50):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, 3)) * (0.01, 1.0, 300.0) + (5.0, 0.0, -2000.0)


def some_sparse_rows(n=50):
    rng = np.random.default_rng(2)
    X = sparse.random_array((n, 6), density=0.3, rng=rng, data_sampler=rng.normal, format="csr")
    X.data *= 10.0 ** (X.indices - 3)
    return X


def whole_order(X):
    return np.arange(X.shape[0])


@quick
@given(X=tables, cuts=cut_lists)
def test_statistics_are_numpys_however_the_rows_are_split(X, cuts):
    X = X / 8  # not whole, but exact in binary
    standardizer = Standardizer(3)
    for piece in pieces_of(X, cuts):
        standardizer.update(piece)
    spread = X.std(axis=0)
    assert standardizer.count == X.shape[0]
    assert standardizer.mean == pytest.approx(X.mean(axis=0), abs=1e-10)
    assert standardizer.scale == pytest.approx(np.where(np.ptp(X, axis=0) > 0, spread, 1.0), rel=1e-9)


@quick
@given(X=tables, cuts=cut_lists, as_sparse=st.booleans(), narrow=st.booleans())
def test_merged_statistics_are_those_of_all_rows(X, cuts, as_sparse, narrow):
    X = X.astype(np.float32) if narrow else X
    whole = Standardizer(3).update(sparse.csr_array(X) if as_sparse else X)
    merged = Standardizer(3)
    for piece in pieces_of(X, cuts):
        merged = merged.merge(Standardizer(3).update(sparse.csr_array(piece) if as_sparse else piece))
    assert merged.count == whole.count
    assert merged.centre == pytest.approx(whole.centre, rel=1e-6, abs=1e-6)
    assert merged.scale == pytest.approx(whole.scale, rel=1e-9)


def test_merging_changes_neither_of_the_two_and_takes_the_wider_type():
    first, second = Standardizer(1).update(np.float32([[1], [3]])), Standardizer(1).update(np.array([[1e9 + 0.3]]))
    merged = first.merge(second)
    assert (first.count, second.count, merged.count) == (2, 1, 3)
    assert merged.centre == pytest.approx([(4 + 1e9 + 0.3) / 3], rel=1e-15)


def test_dense_and_sparse_rows_are_not_merged():
    dense, csr = Standardizer(2).update(np.eye(2)), Standardizer(2).update(sparse.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match="scaled differently"):
        dense.merge(csr)
    assert dense.merge(Standardizer(2)).count == Standardizer(2).merge(csr).count == 2


def test_one_update_of_many_rows_is_read_in_blocks_to_the_same_effect():
    X = np.random.default_rng(0).normal(size=(10_000, 2)) * (1.0, 50.0) + (0.0, 7.0)
    standardizer = Standardizer(2).update(X)
    assert standardizer.mean == pytest.approx(X.mean(axis=0), abs=1e-10)
    assert standardizer.scale == pytest.approx(X.std(axis=0), rel=1e-10)


def test_a_small_spread_far_from_zero_is_not_lost_to_rounding():
    # A sum of squares less the squared mean would have no digit left: 1e16 against 1.
    X = 1e8 + np.random.default_rng(0).normal(size=(5000, 1))
    standardizer = Standardizer(1)
    for piece in np.array_split(X, 7):
        standardizer.update(piece)
    assert standardizer.scale == pytest.approx(X.std(axis=0), rel=1e-6)


@pytest.mark.parametrize("constant", [0.0, 0.1, -3.7e9, 1e-9])
def test_a_constant_column_gets_scale_one(constant):
    standardizer = Standardizer(1)
    for rows in (3, 10_000, 1, 77):
        standardizer.update(np.full((rows, 1), constant))
    assert standardizer.scale == [1.0]
    assert standardizer.mean == pytest.approx([constant])


def test_single_precision_rows_are_summed_in_double():
    X = (1e4 + np.random.default_rng(0).normal(size=(20_000, 1))).astype(np.float32)
    standardizer = Standardizer(1).update(X)
    assert standardizer.mean == pytest.approx(X.mean(axis=0, dtype=np.float64), rel=1e-12)


@quick
@given(seed=seeds, cuts=cut_lists)
def test_a_sparse_column_is_scaled_midway_between_all_rows_and_its_non_zeros(seed, cuts):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.3)
    standardizer = Standardizer(4)
    for piece in pieces_of(sparse.csr_array(dense), cuts):
        standardizer.update(piece)
    for column, scale in zip(dense.T, standardizer.scale, strict=True):
        nonzero = column[column != 0]
        if nonzero.size:
            over_nonzeros, over_all = np.sqrt(np.mean(nonzero**2)), np.sqrt(np.mean(column**2))
            assert scale == pytest.approx(np.sqrt(over_nonzeros * over_all))
        else:
            assert scale == 1.0
    assert not standardizer.mean.any()


def test_stored_zeros_do_not_count_as_non_zeros():
    X = sparse.csr_array((np.array([3.0, 0.0, 4.0]), np.array([0, 0, 0]), np.array([0, 1, 2, 3])), shape=(3, 1))
    # The geometric mean of sqrt(25 / 2), over the non-zeros, and sqrt(25 / 3), over all rows.
    assert Standardizer(1).update(X).scale == pytest.approx([(25 / 2 * 25 / 3) ** 0.25])


def test_a_sparse_matrix_keeps_its_zeros():
    X = some_sparse_rows()
    standardizer = Standardizer(6).update(X)
    out = standardizer.transform(X, whole_order(X), np.float64)
    assert sparse.issparse(out)
    assert out.toarray() == pytest.approx(X.toarray() / standardizer.scale)
    assert out.nnz == X.nnz


def test_dense_columns_come_out_centred_with_spread_one():
    X = some_dense_rows()
    out = Standardizer(3).update(X).transform(X, whole_order(X), np.float64)
    assert out.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-5)
    assert out.std(axis=0) == pytest.approx(np.ones(3))


def test_a_narrow_column_far_from_zero_comes_out_centred():
    X = 123_456_789.0 + np.random.default_rng(0).normal(size=(1000, 1))
    out = Standardizer(1).update(X).transform(X, whole_order(X), np.float32)
    assert abs(out.mean(dtype=np.float64)) < 1e-3


@pytest.mark.parametrize("constant", [0.1, 123_456_789.0, 1.7e18])
def test_a_constant_column_comes_out_as_zeros(constant):
    X = np.full((100, 1), constant)
    out = Standardizer(1).update(X).transform(X, whole_order(X), np.float32)
    assert np.abs(out).max() < 1e-6


@pytest.mark.parametrize("rows", [some_dense_rows, some_sparse_rows])
@pytest.mark.parametrize("active", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_leaves_the_users_rows_alone(rows, active, dtype):
    X = rows().astype(dtype)
    kept = X.copy()
    standardizer = Standardizer(X.shape[1], active=active).update(X)
    out = standardizer.transform(X, whole_order(X), dtype)
    (out.data if sparse.issparse(out) else out)[:] = 0.0
    assert (abs(X - kept)).sum() == 0.0


@pytest.mark.parametrize("rows", [some_dense_rows, some_sparse_rows])
def test_transform_puts_the_rows_in_the_order_asked_for(rows):
    X = rows(9000)  # more than two blocks
    order = np.random.default_rng(3).permutation(9000)
    standardizer = Standardizer(X.shape[1]).update(X)
    ordered = standardizer.transform(X, order, np.float64)
    plain = standardizer.transform(X, whole_order(X), np.float64)
    assert abs(ordered - plain[order]).max() == 0.0


@pytest.mark.parametrize("rows", [some_dense_rows, some_sparse_rows])
@pytest.mark.parametrize("active", [True, False])
def test_a_model_scores_the_same_on_standardised_rows_and_on_the_users(rows, active):
    X = rows()
    standardizer = Standardizer(X.shape[1], active=active).update(X)
    weights, intercept = np.random.default_rng(4).normal(size=X.shape[1]), 0.7
    standard = standardizer.transform(X, whole_order(X), np.float64) @ weights + intercept
    coef, user_intercept = standardizer.inverse_coef(weights, intercept)
    assert X @ coef + user_intercept == pytest.approx(standard, abs=1e-8)


@quick
@given(seed=seeds)
def test_a_model_carried_inverse_coef_and_back_is_the_same(seed):
    rng = np.random.default_rng(seed)
    standardizer = Standardizer(3).update(rng.normal(size=(20, 3)) * (0.1, 1.0, 10.0) + rng.normal(size=3))
    weights, intercept = rng.normal(size=3), float(rng.normal())
    back, back_intercept = standardizer.transform_coef(*standardizer.inverse_coef(weights, intercept))
    assert back == pytest.approx(weights, abs=1e-10)
    assert back_intercept == pytest.approx(intercept, abs=1e-9)


def test_an_inactive_standardizer_changes_nothing():
    X = some_dense_rows()
    standardizer = Standardizer(3, active=False).update(X)
    assert standardizer.scale.tolist() == [1.0, 1.0, 1.0]
    assert np.array_equal(standardizer.transform(X, whole_order(X), np.float64), X)
    coef, intercept = standardizer.inverse_coef(np.ones(3), 2.0)
    assert (coef.tolist(), intercept) == ([1.0, 1.0, 1.0], 2.0)


def test_before_any_row_columns_are_left_as_they_are():
    coef, intercept = Standardizer(2).inverse_coef(np.array([1.0, 2.0]), 3.0)
    assert (coef.tolist(), intercept) == ([1.0, 2.0], 3.0)


def test_a_snapshot_does_not_see_later_updates():
    X = some_dense_rows()
    standardizer = Standardizer(3).update(X)
    snapshot = standardizer.snapshot()
    standardizer.update(X * 10.0)
    assert snapshot.mean == pytest.approx(X.mean(axis=0))
    assert snapshot.scale == pytest.approx(X.std(axis=0))


def correlated(n=3_000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 10.0 ** np.arange(d) + np.arange(d)


def whitener_of(X):
    return Whitener.of_rows(Standardizer(X.shape[1]).update(X), X, np.random.default_rng(0))


def test_whitened_columns_are_uncorrelated_and_of_unit_size():
    X = correlated()
    standardizer = Standardizer(6).update(X)
    covariance = standardized_products(standardizer, X, whole_order(X)) / X.shape[0]
    rows = Whitener(standardizer, covariance, ridge=1e-9).transform(X, whole_order(X), np.float64)
    np.testing.assert_allclose(np.cov(rows.T), np.eye(6), atol=0.01)


def test_a_covariance_is_taken_from_a_sample_of_the_rows():
    X = correlated(60_000, 2)
    rows = whitener_of(X).transform(X, whole_order(X), np.float64)
    np.testing.assert_allclose(np.cov(rows.T), np.eye(2) / 1.01, atol=0.03)  # the ridge, and a third of the rows


def test_products_of_parts_add_up_to_those_of_all_rows():
    X = correlated(500)
    standardizer = Standardizer(6).update(X)
    parts = [standardized_products(standardizer, X, part) for part in np.array_split(whole_order(X), 3)]
    np.testing.assert_allclose(
        sum(parts), standardized_products(standardizer, X, whole_order(X)), rtol=1e-4, atol=1e-2
    )


def test_models_of_whitened_columns_come_back_to_the_users_columns_and_go_there():
    X = correlated()
    whitener = whitener_of(X)
    rng = np.random.default_rng(1)
    weights, intercept = rng.standard_normal(6), 0.7
    coef, user_intercept = whitener.inverse_coef(weights, intercept)
    rows = whitener.transform(X, whole_order(X), np.float64)
    np.testing.assert_allclose(X @ coef + user_intercept, rows @ weights + intercept, atol=1e-6)
    again, intercept_again = whitener.transform_coef(coef, user_intercept)
    np.testing.assert_allclose(again, weights, atol=1e-8)
    assert intercept_again == pytest.approx(intercept)


def test_whitened_rows_come_in_the_order_asked_for():
    X = correlated(50)
    whitener = whitener_of(X)
    order = np.random.default_rng(0).permutation(50)[:20]
    straight = whitener.transform(X, np.arange(50), np.float64)
    np.testing.assert_allclose(whitener.transform(X, order, np.float64), straight[order])


def test_repeated_and_constant_columns_are_not_blown_up():
    X = correlated(500, 3)
    X = np.column_stack([X, X[:, 0], X[:, 0] + 1e-9 * X[:, 1], np.full(500, 7.0)])
    rows = whitener_of(X).transform(X, whole_order(X), np.float64)
    assert np.isfinite(rows).all()
    assert np.abs(rows).max() < 100


def test_a_column_too_rare_for_the_sample_keeps_its_standardised_size():
    """One row in 60,000 differs; the sample of 20,000 rows most likely misses it."""
    X = np.random.default_rng(0).standard_normal((60_000, 2))
    X[:, 1] = 0.0
    X[123, 1] = 1.0
    narrow = X.astype(np.float32)
    rows = whitener_of(narrow).transform(narrow, whole_order(X), np.float64)
    standard = Standardizer(2).update(X).transform(X, np.arange(60_000), np.float64)
    assert abs(rows[123, 1]) < 1.2 * abs(standard[123, 1])


@pytest.mark.parametrize("whitened", [False, True])
def test_threads_change_nothing(whitened):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 5)).astype(np.float32)
    transform = Standardizer(5).update(X)
    if whitened:
        transform = Whitener.of_rows(transform, X, rng)
    order = rng.permutation(40_000)
    alone = transform.transform(X, order, np.float32)
    together = transform.transform(X, order, np.float32, threads=3)
    assert alone.tobytes() == together.tobytes()


def test_what_a_thread_raises_is_raised():
    def fill(order, out):
        raise MemoryError(f"no room for {out.size} numbers")

    with pytest.raises(MemoryError, match="no room"):
        transforms._fill_in_threads(fill, np.arange(40_000), np.empty(40_000), threads=2)


def test_no_rows_change_nothing_whatever_their_type():
    standardizer = Standardizer(1).update(np.float32([[0.1], [0.2], [0.4]]))
    before = standardizer.centre
    assert standardizer.update(np.empty((0, 1))).centre == before
    assert before == np.float32(before)


def test_a_column_of_tiny_numbers_is_scaled_as_any_other():
    X = np.array([[1.0], [2.0], [4.0]])
    assert Standardizer(1).update(X * 1e-20).scale == pytest.approx(Standardizer(1).update(X).scale * 1e-20)


def test_a_covariance_of_many_columns_is_taken_from_many_times_as_many_rows():
    assert transforms.sample_size(10_000) >= 10 * 10_000
    assert transforms.sample_size(2) >= 1_000


@pytest.mark.parametrize(("rows", "most"), [(1_000, 249), (20, 10), (19, 19)])
def test_threads_share_the_rows_unless_they_are_few(rows, most, monkeypatch):
    monkeypatch.setattr(transforms, "_FEWEST_ROWS_PER_THREAD", 10)
    sizes = []
    order, out = np.arange(rows), np.zeros((rows, 1))

    def fill(mine, part):
        sizes.append(mine.size)
        part[:, 0] = mine

    transforms._fill_in_threads(fill, order, out, 4)
    assert (out[:, 0] == order).all()
    assert sum(sizes) == rows
    assert 10 <= max(sizes) <= most
    assert len(sizes) > 4 or most < 249
    assert len(sizes) == 1 or rows >= 20


def test_sparse_columns_of_one_entry_and_of_none():
    X = sparse.csr_array((np.array([5.0]), np.array([0]), np.minimum(np.arange(17), 1)), shape=(16, 2))
    # The geometric mean of 5, over the one entry, and 5 / 4, over all rows.
    assert Standardizer(2).update(X).scale == pytest.approx([2.5, 1.0])
