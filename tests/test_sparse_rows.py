"""Ranges and stacks of CSR matrices are those of SciPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ratewise._sparse_rows import row_range, stacked


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(0, 2**16), st.booleans(), st.booleans())
def test_ranges_and_stacks_are_those_of_scipy(sizes, seed, wide, matrix):
    rng = np.random.default_rng(seed)
    kind = sparse.csr_matrix if matrix else sparse.csr_array
    parts = [kind(rng.normal(size=(size, 5)) * (rng.random((size, 5)) < 0.4)) for size in sizes]
    if wide:
        parts[0].indices, parts[0].indptr = parts[0].indices.astype(np.int64), parts[0].indptr.astype(np.int64)
    expected = sparse.vstack(parts, format="csr")
    found = stacked(parts)
    found.check_format(full_check=True)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    start, stop = sorted(rng.integers(0, found.shape[0] + 1, size=2).tolist())
    mine = row_range(found, start, stop)
    assert mine.nnz == 0 or np.shares_memory(mine.data, found.data)
    mine.check_format(full_check=True)
    np.testing.assert_array_equal(mine.toarray(), expected.toarray()[start:stop])
