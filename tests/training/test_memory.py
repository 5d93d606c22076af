"""Fits to rows in memory: from a copy or from where they lie, in one thread or in several."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ratewise import MeasureClassifier
from ratewise.training import rows as rows_module
from ratewise.training.memory import ArraySource, ArrayTrainingRows


@pytest.fixture
def small_cache(monkeypatch):
    """So few rows at a time that a pass takes several chunks."""
    monkeypatch.setattr(rows_module, "_CACHED_BYTES", 1 << 13)


def a_problem(kind, seed=0):
    n = 20_000 if kind == "whitened" else 2000  # so many rows are whitened
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).astype(np.float32) * 3.0 + 1.0
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(rng.random((n, 6)) < 0.4, X, 0.0).astype(np.float32))
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
def test_a_plain_fit_in_low_memory_agrees(kind, small_cache):
    X, y = a_problem(kind)
    assert_close(*both_fits(X, y, sharpen=False), X, y)


@pytest.mark.parametrize("kind", ["dense", "sparse", "whitened"])
def test_a_sharpened_fit_in_low_memory_agrees(kind):
    X, y = a_problem(kind)
    assert_close(*both_fits(X, y, validation_fraction=0.5), X, y)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_threads_come_to_the_same_model(kind):
    X, y = a_problem(kind)
    settings = {"validation_fraction": 0.5, "random_state": 0}
    one, two = (MeasureClassifier("gmean", n_jobs=jobs, **settings).fit(X, y) for jobs in (1, 2))
    assert two.coef_.tobytes() == one.coef_.tobytes()
    assert two.intercept_.tobytes() == one.intercept_.tobytes()
    assert two.stages_ == one.stages_
    assert two.history_["value"].tolist() == one.history_["value"].tolist()


def test_the_first_folds_are_of_the_rows_as_they_lie_and_the_next_of_others():
    X, y = a_problem("dense")
    source = ArraySource(X, np.where(y, 1.0, -1.0), np.random.default_rng(0))
    rows = source.transformed(source.transform(standardize=True, whiten=False), 4)._rows
    split = ArrayTrainingRows(rows, 4, 2)
    weights = np.concatenate([fold.signed_weights for fold in split._validation])
    assert (weights[:2000] == rows.signed_weights).all()
    assert not (weights[2000:] == rows.signed_weights).all()
