"""Fits and predictions in several threads at once give what they give one after the other."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from ratewise import MeasureClassifier

THREADS = 4


def at_once(work, jobs):
    """Run all jobs, begun at the same moment."""
    gate = threading.Barrier(len(jobs))

    def begin(job):
        gate.wait()
        return work(job)

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(begin, jobs))


def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 6)) * (rng.random((400, 6)) < 0.7)
    return X, (X[:, 0] + 0.5 * rng.normal(size=400) > 0.8).astype(int)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    "options", [{"solver": "stamp", "sharpen": False}, pytest.param({}, marks=pytest.mark.slow)], ids=str
)
def test_fits_in_threads_equal_fits_in_turn(kind, options):
    def fit(seed):
        X, y = problem(seed)
        model = MeasureClassifier(random_state=seed, **options).fit(kind(X), y)
        return np.append(model.coef_, model.intercept_)

    in_turn = [fit(seed) for seed in range(THREADS)]
    for one, other in zip(in_turn, at_once(fit, range(THREADS)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_one_model_predicts_in_many_threads(kind):
    X, y = problem(0)
    X = kind(X)
    model = MeasureClassifier(solver="stamp", sharpen=False, random_state=0).fit(X, y)
    expected = model.decision_function(X)
    for found in at_once(lambda _: [model.decision_function(X) for _ in range(20)], range(THREADS)):
        for scores in found:
            np.testing.assert_array_equal(scores, expected)


def test_partial_fits_of_several_models_in_threads_equal_those_in_turn():
    def learn(seed):
        X, y = problem(seed)
        model = MeasureClassifier(random_state=seed)
        for start in range(0, 400, 100):
            model.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1])
        return model.coef_

    in_turn = [learn(seed) for seed in range(THREADS)]
    for one, other in zip(in_turn, at_once(learn, range(THREADS)), strict=True):
        np.testing.assert_array_equal(one, other)
