"""Rows held as a copy, and rows gathered as they are read: the same to whoever learns from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ratewise import MeasureClassifier
from ratewise.streams import ArrayStream, Standardizer, Whitener
from ratewise.streams import holding as holding_module

KINDS = ["dense", "sparse", "whitened"]


def rows_and_units(kind, n=3000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32) * 3.0 + 1.0
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(rng.random((n, d)) < 0.4, X, 0.0).astype(np.float32))
    units = Standardizer(d).update(X)
    return X, units if kind != "whitened" else Whitener(units, X, np.random.default_rng(1))


@pytest.fixture
def small_cache(monkeypatch):
    """So few rows at a time that small streams take several turns."""
    monkeypatch.setattr(holding_module, "_CACHED_BYTES", 1 << 13)


def both_streams(kind):
    X, units = rows_and_units(kind)
    weights = np.random.default_rng(2).choice([-2.0, -1.0, 1.0], size=X.shape[0])
    return [
        ArrayStream(X, weights, units, np.random.default_rng(3), low_memory=low_memory)
        for low_memory in (False, True)
    ]


def read(stream, points):
    """The rows and weights of the next points, in the order a kernel reads them."""
    rows, weights = [], []
    for chunk in stream.take(points):
        matrix = chunk.rows
        if isinstance(matrix, tuple):
            matrix = sparse.csr_matrix(matrix, shape=(matrix[2].size - 1, stream.n_features)).toarray()
        rows += [matrix[start:stop] for start, stop in zip(chunk.starts, chunk.stops, strict=True)]
        weights.append(chunk.weights)
    return np.concatenate(rows), np.concatenate(weights)


@pytest.mark.parametrize("kind", KINDS)
def test_both_give_the_same_rows_in_the_same_order(kind, small_cache):
    copied, gathered = both_streams(kind)
    for points in (1000, 4000, 7):
        rows, weights = read(copied, points)
        same_rows, same_weights = read(gathered, points)
        # A block of other rows goes through the matrix product in another way.
        tolerance = 1e-5 if kind == "whitened" else 0.0
        np.testing.assert_allclose(same_rows, rows, rtol=0, atol=tolerance)
        assert np.array_equal(same_weights, weights)


@pytest.mark.parametrize("kind", KINDS)
def test_gathered_rows_come_in_several_turns(kind, small_cache):
    _, gathered = both_streams(kind)
    assert len(list(gathered.take(3000))) > 3
    assert sum(chunk.points for chunk in gathered.take(3000)) == 3000


@pytest.mark.parametrize("kind", KINDS)
def test_sums_scores_and_limits_agree(kind, small_cache):
    copied, gathered = both_streams(kind)
    model = np.arange(1.0, 7.0), -0.5
    values = np.linspace(-1.0, 1.0, 3000)
    assert gathered.summary == pytest.approx(copied.summary, rel=1e-5)
    np.testing.assert_allclose(gathered.scores(*model), copied.scores(*model), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(gathered.weighted_sum(values), copied.weighted_sum(values), rtol=1e-4, atol=1e-3)
    assert gathered.limit_rows(1.5) == pytest.approx(copied.limit_rows(1.5), rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_and_other_orders_agree(kind, small_cache):
    streams = both_streams(kind)
    parts = [stream.part((100, 900), (2000, 2500), rng=np.random.default_rng(5)) for stream in streams]
    other = [stream.reshuffled(np.random.default_rng(6)) for stream in streams]
    for copied, gathered in (parts, other):
        rows, weights = read(copied, copied.n_points)
        same_rows, same_weights = read(gathered, gathered.n_points)
        np.testing.assert_allclose(same_rows, rows, rtol=0, atol=1e-5)
        assert np.array_equal(same_weights, weights)


def a_problem(kind, seed=0):
    n = 52_000 if kind == "whitened" else 2000  # so many rows are whitened
    X, _ = rows_and_units(kind, n, seed=seed)
    scores = np.asarray(X @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 2.0]))
    noise = np.random.default_rng(seed + 1).normal(size=n)
    return X, scores + noise > np.quantile(scores, 0.9)


def both_fits(X, y, **settings):
    return [
        MeasureClassifier("f1", random_state=0, low_memory=low_memory, **settings).fit(X, y)
        for low_memory in (False, True)
    ]


def assert_close(fit, other, X, y):
    # Chunks of another length are summed up in another order: the last digits differ, and steps make them more.
    assert np.linalg.norm(fit.coef_ - other.coef_) < 0.01 * np.linalg.norm(fit.coef_)
    assert fit.score(X, y) == pytest.approx(other.score(X, y), abs=3e-3)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_plain_fit_in_little_memory_agrees(kind, small_cache):
    X, y = a_problem(kind)
    assert_close(*both_fits(X, y, sharpen=False), X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sharpened_fit_in_little_memory_agrees(kind):
    X, y = a_problem(kind)
    assert_close(*both_fits(X, y, validation_fraction=0.5), X, y)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_jobs_side_by_side_come_to_the_same_model(kind):
    X, y = a_problem(kind)
    settings = {"validation_fraction": 0.5, "random_state": 0}
    one, two = (MeasureClassifier("gmean", n_jobs=jobs, **settings).fit(X, y) for jobs in (1, 2))
    assert two.coef_.tobytes() == one.coef_.tobytes()
    assert two.intercept_.tobytes() == one.intercept_.tobytes()
    assert two.stages_ == one.stages_
    assert two.history_["value"].tolist() == one.history_["value"].tolist()
