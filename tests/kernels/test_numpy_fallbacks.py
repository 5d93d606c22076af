"""Numpy's versions for few values do what the compiled loops do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ratewise.kernels import numpy_fallbacks, passes


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def many():
    """Any number of values is many."""
    with numpy_fallbacks.compiled_only():
        yield


def results(rng):
    X = rng.standard_normal((50, 7)).astype(np.float32)
    rows = sparse.csr_matrix(np.where(X > 0.5, X, 0.0))
    weights, scores = rng.standard_normal(50).astype(np.float32), rng.standard_normal(50)
    order = rng.permutation(50)
    mean, squares, nonzeros, of_columns = np.zeros(7), np.zeros(7), np.zeros(7), np.zeros(7)
    numpy_fallbacks.merge_column_moments(X, 0.0, mean, squares)
    numpy_fallbacks.add_column_moments(rows.data, rows.indices, nonzeros, of_columns)
    out = np.empty_like(X)
    numpy_fallbacks.gather_standardized(X, order, X[0], X[1], out)
    bins = np.ones((2, 8))
    numpy_fallbacks.bin_scores(scores, weights, -1.0, 0.25, bins)
    return [
        *(mean, squares, nonzeros, of_columns, out, bins),
        np.array(numpy_fallbacks.mean_and_spread(scores)),
        np.array(numpy_fallbacks.weight_moments(weights)),
        np.array(numpy_fallbacks.count_predicted(scores, weights, 0.3)),
        numpy_fallbacks.square_rows(X),
        numpy_fallbacks.square_rows(rows),
        numpy_fallbacks.gather_weights(scores, order),
        numpy_fallbacks.gather_scaled(rows, order, np.arange(1.0, 8.0), np.float32).toarray(),
    ]


def test_they_agree_with_the_compiled_loops():
    by_numpy = results(np.random.default_rng(0))
    with numpy_fallbacks.compiled_only():
        by_loops = results(np.random.default_rng(0))
    for one, other in zip(by_numpy, by_loops, strict=True):
        assert one == pytest.approx(other, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("limit", [0, 1 << 21])
def test_equal_rows_have_equal_hashes_and_others_do_not(rng, dtype, limit, monkeypatch):
    monkeypatch.setattr(numpy_fallbacks, "FEW_VALUES", limit)
    X = rng.integers(0, 3, size=(300, 4)).astype(dtype)
    _, number = np.unique(X, axis=0, return_inverse=True)
    for rows in (X, sparse.csr_matrix(X)):
        _, hashed = np.unique(numpy_fallbacks.hash_rows(rows), return_inverse=True)
        assert hashed.max() == number.max()
        assert len(set(zip(hashed.tolist(), number.tolist(), strict=True))) == number.max() + 1


def test_every_stretch_has_its_share_of_the_rarer_class(rng):
    positive = rng.random(1_000) < 0.1
    mixed = positive[numpy_fallbacks.evenly_mixed_order(positive, rng)]
    assert sorted(numpy_fallbacks.evenly_mixed_order(positive, rng).tolist()) == list(range(1_000))
    shares = mixed.reshape(5, 200).sum(axis=1)
    assert shares.max() - shares.min() <= 2


def test_many_rows_are_ordered_by_the_compiled_loop(many, rng):
    positive = rng.random(100) < 0.1
    ours = numpy_fallbacks.evenly_mixed_order(positive, np.random.default_rng(1))
    assert ours.tolist() == passes.evenly_mixed_order(positive, np.random.default_rng(1)).tolist()
    assert numpy_fallbacks.weight_moments(np.ones(3)) == passes.weight_moments(np.ones(3))


def test_many_rows_are_hashed_as_their_folds_are(many, rng):
    X = rng.standard_normal((20, 3)).astype(np.float32)
    for rows in (X, sparse.csr_matrix(np.where(X > 0, X, 0))):
        assert np.array_equal(numpy_fallbacks.hash_rows(rows) % np.uint64(5), passes.fold_of_each_row(rows, 5))


def test_moments_of_parts_add_up_and_no_rows_add_nothing(rng):
    X = rng.standard_normal((100, 3)) + 1e6
    mean, squares = np.zeros(3), np.zeros(3)
    count = 0.0
    for part in (X[:30], X[30:30], X[30:]):
        count = numpy_fallbacks.merge_column_moments(part, count, mean, squares)
    assert count == 100.0
    np.testing.assert_allclose(mean, X.mean(axis=0))
    np.testing.assert_allclose(squares, 100 * X.var(axis=0), rtol=1e-6)


def calls(rng):
    """Each function of few values, with arguments for it."""
    X = rng.standard_normal((6, 3)).astype(np.float32)
    rows, weights, order = sparse.csr_matrix(X), rng.standard_normal(6), np.arange(6)
    return {
        "mean_and_spread": (weights,),
        "bin_scores": (weights, weights, -1.0, 0.5, np.zeros((2, 4))),
        "weight_moments": (weights,),
        "count_predicted": (weights, weights, 0.0),
        "merge_column_moments": (X, 0.0, np.zeros(3), np.zeros(3)),
        "add_column_moments": (rows.data, rows.indices, np.zeros(3), np.zeros(3)),
        "evenly_mixed_order": (weights > 0, rng),
        "gather_weights": (weights, order),
        "gather_standardized": (X, order, np.zeros(3, np.float32), np.ones(3, np.float32), np.empty_like(X)),
        "gather_scaled": (rows, order, np.ones(3), np.float32),
        "square_rows": (X,),
        "hash_rows": (X,),
    }


@pytest.mark.parametrize("name", calls(np.random.default_rng(0)))
def test_few_values_need_no_compiled_loop_and_more_of_them_do(name, rng, monkeypatch):
    """As many as the limit are still few: a fit to them must not import numba."""
    loops = {"square_rows": "square_dense_rows", "hash_rows": "hash_dense_rows"}
    loop, used = getattr(passes, loops.get(name, name)), []
    monkeypatch.setattr(passes, loops.get(name, name), lambda *given: used.append(1) or loop(*given))
    arguments = calls(rng)[name]
    by_values = name in ("merge_column_moments", "add_column_moments", "square_rows", "hash_rows")
    limit = "FEW_VALUES" if by_values or name.startswith("gather_s") else "FEW_ROWS"
    size = 18 if limit == "FEW_VALUES" else 6
    monkeypatch.setattr(numpy_fallbacks, limit, size)
    getattr(numpy_fallbacks, name)(*arguments)
    assert not used
    monkeypatch.setattr(numpy_fallbacks, limit, size - 1)
    getattr(numpy_fallbacks, name)(*arguments)
    assert used
