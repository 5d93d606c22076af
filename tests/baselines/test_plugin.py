"""Logistic regression against scikit-learn's, and the plug-in threshold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from toy_problems import two_clouds

from ratewise.baselines import LogisticBaseline, PlugIn
from ratewise.measures import get_measure, measure_names
from ratewise.solvers import best_threshold


def scikit_learn(X, positive, C=1.0):
    """scikit-learn's coefficients of standardized columns, in the units of X."""
    scaler = StandardScaler().fit(X)
    reference = LogisticRegression(C=C, tol=1e-8, max_iter=10_000).fit(scaler.transform(X), positive)
    coef = reference.coef_[0] / scaler.scale_
    return coef, reference.intercept_[0] - coef @ scaler.mean_


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_logistic_regression_is_scikit_learns(C):
    X, positive = two_clouds()
    model = LogisticBaseline(C=C, tol=1e-7, random_state=0).fit(X, positive)
    coef, intercept = scikit_learn(X, positive, C)
    assert model.coef_[0] == pytest.approx(coef, abs=2e-3)
    assert model.intercept_[0] == pytest.approx(intercept, abs=2e-3)


def test_a_weight_of_two_is_a_row_twice():
    X, positive = two_clouds(200, 0.3)
    twice = LogisticBaseline(tol=1e-7).fit(np.concatenate([X, X[:50]]), np.concatenate([positive, positive[:50]]))
    weights = np.where(np.arange(200) < 50, 2.0, 1.0)
    weighted = LogisticBaseline(tol=1e-7).fit(X, positive, sample_weight=weights)
    # Columns are standardized by rows, not by weights, so that the penalty differs a little.
    assert weighted.coef_ == pytest.approx(twice.coef_, abs=0.02)


@pytest.mark.parametrize("name", measure_names())
def test_the_plug_in_does_better_than_one_half_where_the_threshold_matters(name):
    X, positive = two_clouds(3000, distance=1.5)
    test_X, test_positive = two_clouds(5000, distance=1.5, seed=1)
    plain = LogisticBaseline(name, random_state=0).fit(X, positive).score(test_X, test_positive)
    tuned = PlugIn(name, random_state=0).fit(X, positive).score(test_X, test_positive)
    assert tuned > plain - 0.1  # 60 positives held out know the threshold no better
    if name in ("f2", "gmean", "qmean", "hmean", "min"):
        assert tuned > plain + 0.1


def test_any_function_may_be_the_measure():
    X, positive = two_clouds(1000)
    model = PlugIn(lambda tpr, tnr: tpr + tnr - 1.0, random_state=0).fit(X, positive)
    assert model.score(X, positive) > 0.6


def test_without_rows_held_out_the_threshold_is_the_best_of_the_training_scores():
    X, positive = two_clouds()
    model = PlugIn("f1", validation_fraction=0.0, random_state=0).fit(X, positive)
    coef, intercept = scikit_learn(X, positive)
    best = best_threshold(X @ coef + intercept, np.where(positive, 1.0, -1.0), get_measure("f1"))
    assert model.score(X, positive) == pytest.approx(best.value, abs=0.01)


def test_a_fit_again_is_that_of_all_rows_up_to_the_threshold():
    X, positive = two_clouds()
    again = PlugIn("f1", tol=1e-7, random_state=0).fit(X, positive)
    once = PlugIn("f1", tol=1e-7, refit=False, random_state=0).fit(X, positive)
    coef, _ = scikit_learn(X, positive)
    assert again.coef_[0] == pytest.approx(coef, abs=2e-3)
    assert np.abs(once.coef_[0] - coef).max() > 1e-2


def test_too_few_rows_to_hold_any_out_are_all_used():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = PlugIn("f1", random_state=0).fit(X, [0, 0, 1, 1])
    assert model.predict(X).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("estimator", [LogisticBaseline(random_state=0), PlugIn(random_state=0)], ids=repr)
def test_labels_of_any_kind_and_a_positive_class_of_the_users_choice(estimator):
    X, positive = two_clouds(500, distance=3.0)
    labels = np.where(positive, "fault", "fine")
    model = estimator.set_params(pos_label="fault").fit(X, labels)
    assert model.classes_.tolist() == ["fault", "fine"]
    assert model.coef_[0, 0] < 0  # scores speak for classes_[1]
    assert model.score(X, labels) > 0.7


def test_sparse_rows_are_learned_from():
    X, positive = two_clouds(500, distance=3.0)
    X = np.maximum(X, 0.0)
    assert PlugIn("f1", random_state=0).fit(sparse.csr_matrix(X), positive).score(X, positive) > 0.6


def test_all_rows_of_a_class_with_weight_zero_are_refused():
    X, positive = two_clouds(60, 0.5)
    with pytest.raises(ValueError, match="needs rows of both classes"):
        PlugIn().fit(X, positive, sample_weight=np.where(positive, 0.0, 1.0))


@pytest.mark.parametrize("estimator", [LogisticBaseline, PlugIn])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C must be a number above 0"),
        ({"tol": "small"}, "tol must be a number above 0"),
        ({"max_iter": 0}, "max_iter must be a whole number of 1 or more"),
    ],
)
def test_parameters_out_of_range_are_refused(estimator, parameters, message):
    X, positive = two_clouds(60, 0.5)
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(X, positive)
