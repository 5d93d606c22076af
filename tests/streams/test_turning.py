"""Rows in another order, standardised and turned on the way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.streams import Standardizer, Whitener
from ratewise.streams.side_by_side import fill_side_by_side
from ratewise.streams.turning import gather_turned, padded_triangle

quick = settings(deadline=None, max_examples=40)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("whole", [np.int32, np.int64])
@quick
@given(rows=st.integers(1, 60), taken=st.integers(0, 90), d=st.integers(1, 40), seed=st.integers(0, 999))
def test_rows_are_standardised_and_then_turned(dtype, whole, rows, taken, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-64, 64, size=(rows, d)).astype(dtype)
    centre, inverse = rng.integers(-8, 8, size=d).astype(dtype), (2.0 ** rng.integers(-3, 3, size=d)).astype(dtype)
    triangle = np.triu(rng.integers(-9, 9, size=(d, d))).astype(dtype)
    order = rng.integers(0, rows, size=taken).astype(whole)
    out = np.empty((taken, d), dtype=dtype)
    gather_turned(X, order, centre, inverse, padded_triangle(triangle, dtype), out)
    assert np.array_equal(out, ((X[order] - centre) * inverse) @ triangle)  # whole numbers: no rounding


def test_wide_rows_can_be_written_narrow():
    X = np.array([[1e8 + 1.0, 2.0], [1e8, 4.0]])
    out = np.empty((2, 2), dtype=np.float32)
    triangle = padded_triangle(np.array([[2.0, 1.0], [0.0, 1.0]]), np.float32)
    gather_turned(X, np.array([1, 0]), np.array([1e8, 0.0]), np.array([0.5, 1.0]), triangle, out)
    assert out.tolist() == [[0.0, 4.0], [1.0, 2.5]]


@pytest.mark.parametrize("whitened", [False, True])
def test_threads_change_nothing(whitened):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 5)).astype(np.float32)
    units = Standardizer(5).update(X)
    if whitened:
        units = Whitener(units, X, rng)
    order = rng.permutation(40_000)
    alone = units.transform(X, order, np.float32)
    together = units.transform(X, order, np.float32, threads=3)
    assert alone.tobytes() == together.tobytes()


def test_what_a_thread_raises_is_raised():
    def fill(order, out):
        raise MemoryError(f"no room for {out.size} numbers")

    with pytest.raises(MemoryError, match="no room"):
        fill_side_by_side(fill, np.arange(40_000), np.empty(40_000), threads=2)
