"""Hashes of rows, and the folds they make."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise.kernels import fold_of_each_row, hash_csr_rows, hash_dense_rows
from ratewise.kernels.numpy_fallbacks import bits_of

quick = settings(deadline=None, max_examples=40)
MOST = 2**64


def dense_hashes(X):
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    hash_dense_rows(bits_of(np.ascontiguousarray(X if X.dtype.kind == "f" else X.astype(np.float32))), hashes)
    return hashes


def csr_hashes(X):
    X = sparse.csr_array(X.astype(np.float32))
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    hash_csr_rows(X.data.view(np.uint32), X.indices, X.indptr, hashes)
    return hashes


def reference(words):
    """The same in Python's whole numbers."""
    h = 14695981039346656037
    for word in words:
        h = ((h ^ int(word)) * 1099511628211) % MOST
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = ((h ^ (h >> 33)) * factor) % MOST
    return h ^ (h >> 33)


def some_rows(n=200, d=4, seed=0):
    return np.random.default_rng(seed).integers(0, 3, size=(n, d)).astype(np.float32)


def test_a_dense_row_hashes_to_what_the_formula_says():
    X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    assert dense_hashes(X).tolist() == [reference(row) for row in X.view(np.uint32)]


def test_a_sparse_row_hashes_to_what_the_formula_says():
    X = sparse.csr_array(np.array([[0, 1.5, 0, -2.0], [0, 0, 0, 0], [3.0, 0, 0, 0]], dtype=np.float32))
    bits = X.data.view(np.uint32)
    expected = [reference([1, bits[0], 3, bits[1]]), reference([]), reference([0, bits[2]])]
    assert csr_hashes(X).tolist() == expected


@pytest.mark.parametrize("hashes_of", [dense_hashes, csr_hashes])
@quick
@given(seed=st.integers(0, 10**6))
def test_the_order_of_the_rows_changes_no_hash(hashes_of, seed):
    X = some_rows()
    order = np.random.default_rng(seed).permutation(X.shape[0])
    assert np.array_equal(hashes_of(X[order]), hashes_of(X)[order])


@pytest.mark.parametrize("hashes_of", [dense_hashes, csr_hashes])
def test_equal_rows_share_a_hash_and_others_do_not(hashes_of):
    X = some_rows(2000)
    distinct = np.unique(X, axis=0)
    assert distinct.shape[0] < 2000  # some rows are there twice
    assert np.unique(hashes_of(X)).size == distinct.shape[0]
    assert np.unique(hashes_of(distinct)).size == distinct.shape[0]


def test_the_places_of_the_entries_matter():
    X = np.eye(6, dtype=np.float32)
    assert np.unique(dense_hashes(X)).size == 6
    assert np.unique(csr_hashes(X)).size == 6


@pytest.mark.parametrize("hashes_of", [dense_hashes, csr_hashes])
@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(lambda rng: rng.normal(size=(20_000, 5)), id="normal"),
        pytest.param(lambda rng: np.arange(20_000.0)[:, None] + 1.0, id="whole numbers"),
        pytest.param(lambda rng: rng.integers(0, 2, size=(20_000, 30)), id="zeros and ones"),
        pytest.param(lambda rng: 2.0 ** rng.integers(-60, 60, size=(20_000, 4)), id="powers of two"),
    ],
)
def test_the_bit_that_two_folds_go_by_is_fair_and_independent_of_the_entries(hashes_of, rows):
    X = np.unique(rows(np.random.default_rng(0)), axis=0)
    half = hashes_of(X) % np.uint64(2)
    assert half.mean() == pytest.approx(0.5, abs=2.5 / np.sqrt(X.shape[0]))
    for column in X.T:
        large = column > column.mean()
        assert half[large].mean() == pytest.approx(half[~large].mean(), abs=0.05)


@pytest.mark.parametrize("folds", [2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_fold_of_a_row_is_its_hash_modulo_the_number_of_folds(folds, dtype):
    X = np.random.default_rng(1).normal(size=(300, 4)).astype(dtype)
    X[X < 0] = 0.0
    dense, csr = fold_of_each_row(X, folds), fold_of_each_row(sparse.csr_matrix(X), folds)
    assert np.array_equal(dense, dense_hashes(X) % np.uint64(folds))
    assert np.array_equal(csr, csr_hashes(X) % np.uint64(folds))
    assert set(dense) == set(csr) == set(range(folds))
    assert np.array_equal(fold_of_each_row(X[100:200], folds), dense[100:200])  # whatever rows come before


def test_rows_that_only_float64_tells_apart_are_in_different_folds():
    X = 1e9 + np.arange(200.0)[:, np.newaxis]
    assert set(fold_of_each_row(X, 2)) == {0, 1}


def test_rows_that_are_not_contiguous_have_the_same_folds():
    X = some_rows()
    assert np.array_equal(fold_of_each_row(np.asfortranarray(X), 3), fold_of_each_row(X, 3))


def test_the_bits_of_wide_entries_are_folded_so_that_high_ones_count():
    X = np.array([1.5, -3.0, 1e300])
    words = [int(word) for word in X.view(np.uint64)]
    assert bits_of(X).tolist() == [word ^ (word >> 32) for word in words]
    narrow = X[:2].astype(np.float32)
    assert bits_of(narrow).tolist() == narrow.view(np.uint32).tolist()
