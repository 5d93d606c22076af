"""Column passes in one pass, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise.kernels import numpy_fallbacks, passes

add_column_moments, weight_moments = passes.add_column_moments, passes.weight_moments

quick = settings(deadline=None, max_examples=40)


def merged(pieces, d, merge_column_moments=passes.merge_column_moments):
    count, mean, squares = 0.0, np.zeros(d), np.zeros(d)
    for piece in pieces:
        count = merge_column_moments(piece, count, mean, squares)
    return count, mean, squares


@pytest.mark.parametrize("home", [numpy_fallbacks, passes])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@quick
@given(rows=st.integers(1, 1200), cuts=st.lists(st.integers(0, 1200), max_size=4), seed=st.integers(0, 999))
def test_moments_are_numpys_however_the_rows_are_split(home, dtype, rows, cuts, seed):
    X = (np.random.default_rng(seed).normal(size=(rows, 3)) * (1.0, 1e-3, 1e3) + (0.0, 5.0, -1e5)).astype(dtype)
    pieces = np.split(X, sorted(min(cut, rows) for cut in cuts))
    count, mean, squares = merged(pieces, 3, home.merge_column_moments)
    wide = X.astype(np.float64)
    assert count == rows
    assert mean == pytest.approx(wide.mean(axis=0), rel=1e-12, abs=1e-12)
    assert squares == pytest.approx(rows * wide.var(axis=0), rel=1e-8, abs=1e-12)


def test_a_large_first_row_costs_later_ones_no_digits():
    X = np.random.default_rng(0).normal(size=(100_000, 1)) + 1e9
    _, _, squares = merged([X], 1)
    assert squares / X.shape[0] == pytest.approx(X.var(axis=0), rel=1e-6)


def test_no_rows_change_nothing():
    mean, squares = np.array([2.0]), np.array([3.0])
    assert passes.merge_column_moments(np.empty((0, 1)), 5.0, mean, squares) == 5.0
    assert (mean[0], squares[0]) == (2.0, 3.0)


@quick
@given(seed=st.integers(0, 999))
def test_moments_of_sparse_columns_leave_out_stored_zeros(seed):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((30, 5), density=0.4, rng=rng, data_sampler=rng.normal, format="csr")
    X.data[::3] = 0.0
    nonzeros, squares = np.ones(5), np.full(5, 2.0)  # totals so far
    add_column_moments(X.data, X.indices, nonzeros, squares)
    dense = X.toarray()
    assert nonzeros - 1.0 == pytest.approx((dense != 0).sum(axis=0))
    assert squares - 2.0 == pytest.approx((dense**2).sum(axis=0))


def test_weights_are_summed_class_by_class():
    weights = np.array([1.0, -2.0, 0.0, 0.5, -1.0], dtype=np.float32)
    assert weight_moments(weights) == (1.5, 3.0, 1.25, 5.0)
