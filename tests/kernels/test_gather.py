"""Rows in another order, standardized or whitened on the way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.errors import TypingError
from scipy import sparse

from ratewise.kernels.passes import gather_scaled, gather_standardized, gather_whitened, padded_triangle

quick = settings(deadline=None, max_examples=40)


types = pytest.mark.parametrize(("dtype", "whole"), [(np.float32, np.int32), (np.float64, np.int64)])


@st.composite
def gathered(draw):
    """Return a function that makes rows, their centre and scale, and an order of them, of such types."""
    rows, taken, d = draw(st.integers(1, 60)), draw(st.integers(0, 90)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    X, centre, powers = rng.integers(-64, 64, (rows, d)), rng.integers(-8, 8, d), rng.integers(-3, 3, d)
    order, triangle = rng.integers(0, rows, taken), np.triu(rng.integers(-9, 9, (d, d)))  # some rows twice
    return lambda dtype, whole: (
        *(part.astype(dtype) for part in (X, centre, 2.0**powers, triangle)),
        order.astype(whole),
        np.empty((taken, d), dtype),
    )


@types
@quick
@given(make=gathered())
def test_rows_come_in_the_order_asked_for_less_the_centre_over_the_scale(dtype, whole, make):
    X, centre, inverse, _, order, out = make(dtype, whole)
    gather_standardized(X, order, centre, inverse, out)
    assert np.array_equal(out, (X[order] - centre) * inverse)


@pytest.mark.parametrize("d", [1, 8, 11])
def test_wide_rows_can_be_written_narrow(d):
    X = np.array([[1e8 + 1.0] * d, [1e8] * d])
    out = np.empty((2, d), dtype=np.float32)
    gather_standardized(X, np.array([1, 0]), np.full(d, 1e8), np.full(d, 0.5), out)
    assert out.tolist() == [[0.0] * d, [0.5] * d]  # the centre is taken off before the rounding


def test_arrays_that_it_would_misread_are_refused():
    X, order, d = np.ones((4, 3)), np.array([0]), np.ones(3)
    for arguments in ((X.T, order, d, d, np.ones((1, 4))), (X, order, d.astype(np.float32), d, np.ones((1, 3)))):
        with pytest.raises(TypingError, match="C-contiguous"):
            gather_standardized(*arguments)


def test_rows_of_a_larger_matrix_are_found():
    large = np.arange(40.0).reshape(10, 4)
    out = np.empty((3, 4))
    gather_standardized(large[2:8], np.array([5, 0, 3]), np.zeros(4), np.ones(4), out)
    assert np.array_equal(out, large[[7, 2, 5]])


@types
@quick
@given(make=gathered())
def test_rows_are_standardised_and_then_whitened(dtype, whole, make):
    X, centre, inverse, triangle, order, out = make(dtype, whole)
    gather_whitened(X, order, centre, inverse, padded_triangle(triangle, dtype), out)
    assert np.array_equal(out, ((X[order] - centre) * inverse) @ triangle)  # whole numbers: no rounding


def test_wide_rows_can_be_whitened_into_narrow_ones():
    X = np.array([[1e8 + 1.0, 2.0], [1e8, 4.0]])
    out = np.empty((2, 2), dtype=np.float32)
    triangle = padded_triangle(np.array([[2.0, 1.0], [0.0, 1.0]]), np.float32)
    gather_whitened(X, np.array([1, 0]), np.array([1e8, 0.0]), np.array([0.5, 1.0]), triangle, out)
    assert out.tolist() == [[0.0, 4.0], [1.0, 2.5]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("in_order", [True, False], ids=["columns in order", "columns as they come"])
def test_sparse_rows_are_gathered_and_scaled_in_one_copy(dtype, in_order):
    rng = np.random.default_rng(3)
    X = sparse.random_array((40, 7), density=0.2, rng=rng, format="csr")  # some rows are empty
    if not in_order:
        X = sparse.csr_array((X.data[::-1], X.indices[::-1], (X.nnz - X.indptr)[::-1]), shape=X.shape)
        assert not X.has_sorted_indices
    order = rng.permutation(40).astype(np.int32)[:33]
    factors = rng.uniform(0.5, 2.0, 7)
    found = gather_scaled(X, order, factors, dtype)
    assert found.dtype == dtype
    assert found.has_sorted_indices
    np.testing.assert_allclose(found.toarray(), (X.toarray() * factors)[order], rtol=1e-6)
    assert found.nnz == np.count_nonzero(X.toarray()[order])


def test_a_few_sparse_rows_are_gathered_again_and_again():
    X = sparse.csr_array(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]]))
    order = np.tile([2, 0, 1], 30)
    assert np.array_equal(
        gather_scaled(X, order, np.array([3.0, 5.0]), np.float32).toarray()[:3], [[0, 0], [0, 5], [6, 0]]
    )


@pytest.mark.parametrize(
    ("d", "dtype", "width"), [(3, "f4", 8), (8, "f4", 8), (9, "f4", 16), (3, "f8", 4), (5, "f8", 8)]
)
def test_a_triangle_is_padded_to_whole_vectors_of_32_bytes(d, dtype, width):
    triangle = np.triu(np.ones((d, d)))
    padded = padded_triangle(triangle, np.dtype(dtype))
    assert padded.shape == (d, width)
    assert padded.dtype == dtype
    assert np.array_equal(padded[:, :d], triangle)
    assert not padded[:, d:].any()
