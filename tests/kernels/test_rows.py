"""The hand-written LLVM against plain numba, operation by operation.

All entries are small whole numbers, so that no sum is rounded and the two must agree to the last bit.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError
from scipy import sparse

from ratewise.kernels import _llvm, model_places, padded_triangle, rows
from ratewise.kernels.rows import WHITENED_TOGETHER

quick = settings(deadline=None, max_examples=30)
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
layouts = pytest.mark.parametrize("layout", ["dense", "csr32", "csr64"])
# Each type of number and of index with each other layout would compile the same code again.
layouts_and_dtypes = pytest.mark.parametrize(
    ("layout", "dtype"),
    [("dense", np.float32), ("dense", np.float64), ("csr32", np.float32), ("csr64", np.float64)],
)
shapes = given(n=st.integers(4, 12), d=st.integers(1, 40), seed=st.integers(0, 999))


def in_compiled_code(module):
    """The operations of a module, each in a function that Python can call."""
    row_dot, look_ahead, add_rows = module.row_dot, module.look_ahead, module.add_rows
    squared_row, count_values, in_blocks = module.squared_row, module.count_values, module.learned_in_blocks
    standardize_row, whiten_rows, prefetch_row = module.standardize_row, module.whiten_rows, module.prefetch_row
    return SimpleNamespace(
        row_dot=njit(lambda rows, i, vector: row_dot(rows, i, vector)),
        look_ahead=njit(lambda rows, first, vector: look_ahead(rows, first, vector)),
        add_rows=njit(lambda rows, first, factors, vector: add_rows(rows, first, factors, vector)),
        squared_row=njit(lambda rows, i: squared_row(rows, i)),
        count_values=njit(lambda rows, start, stop: count_values(rows, start, stop)),
        learned_in_blocks=njit(lambda rows: in_blocks(rows)),
        standardize_row=njit(lambda X, k, centre, inverse, out, i: standardize_row(X, k, centre, inverse, out, i)),
        whiten_rows=njit(lambda rows, triangle, whitened: whiten_rows(rows, triangle, whitened)),
        prefetch_row=njit(lambda X, i: prefetch_row(X, i)),
    )


PLAIN, LLVM = in_compiled_code(rows), in_compiled_code(_llvm)
VERSIONS = [pytest.param(PLAIN, id="plain"), pytest.param(LLVM, id="llvm")]


def some_rows(n, d, dtype, layout, seed):
    """Rows between NaN, the same as a dense float64 matrix, and a model laid out for them."""
    rng = np.random.default_rng(seed)
    fenced = np.full((n + 2) * d, np.nan, dtype)
    X = fenced[d:-d].reshape(n, d)
    X[:] = rng.integers(-9, 10, size=(n, d)) * (rng.random((n, d)) < 0.6)
    dense, taken = X.astype(np.float64), X
    if layout != "dense":
        whole = np.int32 if layout == "csr32" else np.int64
        matrix = sparse.csr_matrix(X)
        taken = (matrix.data, matrix.indices.astype(whole), matrix.indptr.astype(whole))
    room, places = model_places(taken, d)
    vector = np.zeros(room, dtype)
    vector[places] = rng.integers(-9, 10, size=d)
    return taken, dense, vector, places


@layouts_and_dtypes
@quick
@shapes
def test_products_of_rows_are_the_same_and_numpys(layout, dtype, n, d, seed):
    taken, X, vector, places = some_rows(n, d, dtype, layout, seed)
    for i in range(n):
        expected = X[i] @ vector[places]
        assert PLAIN.row_dot(taken, i, vector) == LLVM.row_dot(taken, i, vector) == expected
        assert PLAIN.squared_row(taken, i) == LLVM.squared_row(taken, i) == X[i] @ X[i]


@dtypes
@quick
@shapes
def test_four_rows_give_their_scores_and_the_products_between_them(dtype, n, d, seed):
    taken, X, vector, places = some_rows(n, d, dtype, "dense", seed)
    for first in range(n - 3):
        four = X[first : first + 4]
        between = four @ four.T
        expected = (*(four @ vector[places]), *(between[pair] for pair in rows.PAIRS))
        assert PLAIN.look_ahead(taken, first, vector) == LLVM.look_ahead(taken, first, vector) == expected


@layouts_and_dtypes
@quick
@shapes
def test_rows_added_to_the_model_are_the_same_and_numpys(layout, dtype, n, d, seed):
    taken, X, vector, places = some_rows(n, d, dtype, layout, seed)
    for factors in ((2.0,), (1.0, -3.0, 0.0, 5.0)) if layout == "dense" else ((2.0,),):
        first = seed % (n - len(factors) + 1)
        expected = vector[places] + np.array(factors) @ X[first : first + len(factors)]
        plain, llvm = vector.copy(), vector.copy()
        PLAIN.add_rows(taken, first, factors, plain)
        LLVM.add_rows(taken, first, factors, llvm)
        assert plain.tobytes() == llvm.tobytes()
        assert np.array_equal(plain[places], expected)
        assert not np.delete(plain, places).any()  # the gap in the model stays 0


@layouts_and_dtypes
@quick
@shapes
def test_values_of_rows_are_counted(layout, dtype, n, d, seed):
    taken, X, _, _ = some_rows(n, d, dtype, layout, seed)
    start, stop = sorted((seed % n, n - seed % 3))
    expected = X[start:stop].size if layout == "dense" else np.count_nonzero(X[start:stop])
    assert PLAIN.count_values(taken, start, stop) == LLVM.count_values(taken, start, stop) == expected


@layouts
def test_only_dense_rows_are_learned_from_in_blocks(layout):
    taken, *_ = some_rows(4, 3, np.float32, layout, 0)
    assert PLAIN.learned_in_blocks(taken) == LLVM.learned_in_blocks(taken) == (layout == "dense")


@pytest.mark.parametrize("operations", VERSIONS)
@pytest.mark.parametrize(("dtype", "new_dtype"), [("f4", "f4"), ("f8", "f8"), ("f8", "f4")])
@quick
@shapes
def test_a_row_is_standardised_and_no_other_is_touched(operations, dtype, new_dtype, n, d, seed):
    X, _, _, _ = some_rows(n, d, np.dtype(dtype), "dense", seed)
    rng = np.random.default_rng(seed)
    centre = rng.integers(-8, 8, size=d).astype(dtype)
    inverse = (2.0 ** rng.integers(-3, 3, size=d)).astype(dtype)
    out = np.full((n, d), 7.0, dtype=new_dtype)
    expected = out.copy()
    expected[1] = (X[2] - centre) * inverse
    operations.standardize_row(X, 2, centre, inverse, out, 1)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("operations", VERSIONS)
@pytest.mark.parametrize("wrong", [0, 2, 3, 4])
def test_arrays_that_standardising_would_misread_are_refused(operations, wrong):
    """Not contiguous, one of them; or the centre narrower than the rows."""
    arrays = [np.ones((2, 3)), 0, np.ones(3), np.ones(3), np.ones((2, 3)), 0]
    operations.standardize_row(*arrays)
    apart = [*arrays]
    apart[wrong] = np.ones((4, 6))[::2, ::2] if np.ndim(arrays[wrong]) == 2 else np.ones(6)[::2]
    narrow = [*arrays]
    narrow[2] = np.ones(3, dtype=np.float32)
    for bad in (apart, narrow):
        with pytest.raises(TypingError, match="C-contiguous"):
            operations.standardize_row(*bad)


@dtypes
@quick
@given(d=st.integers(1, 40), seed=st.integers(0, 999))
def test_rows_are_whitened_to_the_same_and_numpys(dtype, d, seed):
    rng = np.random.default_rng(seed)
    triangle = padded_triangle(np.triu(rng.integers(-9, 9, size=(d, d))), dtype)
    X = np.zeros((WHITENED_TOGETHER, triangle.shape[1]), dtype)
    X[:, :d] = rng.integers(-9, 9, size=(WHITENED_TOGETHER, d))
    plain, llvm = np.full_like(X, np.nan), np.full_like(X, np.nan)
    PLAIN.whiten_rows(X, triangle, plain)
    LLVM.whiten_rows(X, triangle, llvm)
    assert plain.tobytes() == llvm.tobytes()
    assert np.array_equal(plain, X[:, :d] @ triangle)


@pytest.mark.parametrize("operations", VERSIONS)
@pytest.mark.parametrize("d", [1, 22, 100])
def test_a_row_that_is_asked_for_stays_as_it_is(operations, d):
    X = np.arange(4.0 * d).reshape(4, d)
    before = X.copy()
    for i in range(4):
        operations.prefetch_row(X, i)
    assert np.array_equal(X, before)


def test_both_versions_have_the_same_operations():
    operations = vars(LLVM).keys()
    assert operations == {name for name, _ in inspect.getmembers(_llvm) if hasattr(getattr(_llvm, name), "_defn")}
    assert all(hasattr(rows, name) for name in operations)


SCRIPT = """
import numpy as np
from ratewise import MeasureClassifier
from ratewise.kernels import _operations, numpy_fallbacks, learn
from ratewise.kernels.passes import gather_standardized
from ratewise.measures import MinRate

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 11))
y = X[:, 0] + rng.standard_normal(400) > 1
with numpy_fallbacks.compiled_only():
    classifier = MeasureClassifier(MinRate(), threshold="zero", sharpen=False, random_state=0).fit(X, y)
counts = [loop.stats for loop in (learn, gather_standardized)]
hits = sum(sum(count.cache_hits.values()) for count in counts)
misses = sum(sum(count.cache_misses.values()) for count in counts)
print(_operations.chosen.__name__, hits, misses, *classifier.coef_[0])
"""


def run(script, environment):
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    chosen, hits, misses, *coefficients = done.stdout.split()
    return chosen, int(hits), int(misses), [float(c) for c in coefficients]


@pytest.mark.slow
def test_plain_kernels_fit_the_same_model_and_keep_loops_of_their_own_on_disk(tmp_path):
    # The loops beside the package would be read too.
    cache = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    chosen, hits, misses, by_llvm = run(SCRIPT, cache)
    assert (chosen, hits) == ("ratewise.kernels._llvm", 0)
    assert misses >= 2

    chosen, hits, misses_of_plain, by_plain = run(SCRIPT, cache | {"RATEWISE_PLAIN_KERNELS": "1"})
    assert (chosen, hits, misses_of_plain) == ("ratewise.kernels.rows", 0, misses)
    assert by_plain == pytest.approx(by_llvm, abs=1e-4)  # float32, summed in another order

    assert run(SCRIPT, cache) == ("ratewise.kernels._llvm", misses, 0, by_llvm)


def test_a_changed_llvmlite_gives_a_warning_and_plain_kernels():
    script = """
from llvmlite import ir
del ir.IRBuilder.load_atomic
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from ratewise.kernels import _operations
assert any("load_atomic" in str(warning.message) for warning in caught)
print(_operations.chosen.__name__, 0, 0)
"""
    assert run(script, {})[0] == "ratewise.kernels.rows"
