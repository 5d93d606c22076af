"""Logistic regression with class weights: point by point, or solved to the end as scikit-learn does."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from ratewise.measures import FBeta
from ratewise.solvers import Task, WeightedLogistic
from ratewise.solvers.logistic import PenalizedLogistic, class_ratio
from ratewise.training.answers import Runner
from ratewise.training.rows import ArrayRows
from ratewise.transforms import Standardizer

plain_and_balanced = pytest.mark.parametrize(("exponent", "class_weight"), [(0.0, None), (1.0, "balanced")])


def logistic_data(n, shift):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    return X, X @ [1.0, -0.5, 0.0, 0.3] + rng.logistic(size=n) > shift


def model_of(solver, X, positive):
    signs = np.where(positive, 1.0, -1.0)
    rows = ArrayRows(X, signs, Standardizer(4, active=False), np.random.default_rng(0), np.float64)
    run = solver.start(Task(FBeta(1.0), 4, np.float64))
    Runner(run, 0, rows.summary).to_the_end(rows)
    return run.model()


@plain_and_balanced
def test_a_few_passes_come_near_the_batch_solution(exponent, class_weight):
    X, positive = logistic_data(20_000, 2.5)
    weights, intercept = model_of(WeightedLogistic(exponent, passes=5), X, positive)
    batch = LogisticRegression(C=1e6, class_weight=class_weight).fit(X, positive)
    np.testing.assert_allclose(weights, batch.coef_[0], atol=0.12)
    assert intercept == pytest.approx(batch.intercept_[0], abs=0.25)


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("C", [0.03, 1.0])
@plain_and_balanced
def test_penalized_logistic_agrees_with_scikit_learn(exponent, class_weight, C, as_csr):
    X, positive = logistic_data(500, 1.5)
    # Balanced weights sum to twice the points of a class there, and to ((1-p) + (1-p)) times them here.
    total = 2 * (1 - positive.mean()) if exponent else 1.0
    weights, intercept = model_of(PenalizedLogistic(exponent, C), sparse.csr_matrix(X) if as_csr else X, positive)
    theirs = LogisticRegression(C=C * total, class_weight=class_weight, tol=1e-8).fit(X, positive)
    np.testing.assert_allclose(weights, theirs.coef_[0], atol=0.01)
    assert intercept == pytest.approx(theirs.intercept_[0], abs=0.01)


def test_a_penalty_of_nothing_is_refused():
    with pytest.raises(ValueError, match="PenalizedLogistic: C must be a number above 0; got 0"):
        PenalizedLogistic(C=0)


@pytest.mark.parametrize("settings", [{"passes": 0}, {"passes": 1.5}, {"step": 0}, {"alpha": -1}])
def test_settings_out_of_range_are_refused_by_name(settings):
    with pytest.raises(ValueError, match=f"WeightedLogistic: {next(iter(settings))} must be"):
        WeightedLogistic(**settings)


def test_the_class_weight_exponent_goes_from_equal_points_to_equal_classes():
    assert class_ratio(0.1, 0.0) == 1.0
    assert class_ratio(0.1, 0.5) == pytest.approx(3.0)
    assert class_ratio(0.1, 1.0) == pytest.approx(9.0)


@pytest.mark.parametrize("solver", [WeightedLogistic(0.7), PenalizedLogistic(0.7)])
def test_a_model_file_that_calls_the_exponent_emphasis_is_read(solver):
    state = {("emphasis" if name == "exponent" else name): value for name, value in vars(solver).items()}
    old = object.__new__(type(solver))
    old.__setstate__(state)
    assert old == solver
    assert pickle.loads(pickle.dumps(solver)) == solver
