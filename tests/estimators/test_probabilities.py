"""Probabilities are calibrated, rise with the score, and leave ``predict`` to the measure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from ratewise import MeasureClassifier, load_model, save_model


@pytest.fixture(scope="module")
def clouds():
    """Two clouds, one row in ten positive: the log odds are a line in the columns."""
    rng = np.random.default_rng(0)
    y = rng.random(12_000) < 0.1
    X = rng.standard_normal((12_000, 4))
    X[y, 0] += 1.8
    return (X[:6_000], y[:6_000]), (X[6_000:], y[6_000:])


@pytest.fixture(scope="module")
def fitted(clouds):
    return MeasureClassifier("gmean", random_state=0).fit(*clouds[0])


def test_log_loss_is_that_of_logistic_regression(fitted, clouds):
    train, (X, y) = clouds
    best = log_loss(y, LogisticRegression().fit(*train).predict_proba(X))
    assert log_loss(y, fitted.predict_proba(X)) < 1.03 * best


def test_probabilities_rise_with_the_score_and_predict_is_the_measures_decision(fitted, clouds):
    X, _ = clouds[1]
    shares, scores = fitted.predict_proba(X), fitted.decision_function(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    order = np.argsort(scores)
    assert (np.diff(shares[order, 1]) >= 0).all()
    cut = fitted.decision_threshold_
    assert 0.02 < cut < 0.3, "G-mean calls rows positive that are more likely negative"
    np.testing.assert_array_equal(fitted.predict(X), shares[:, 1] > cut)


def test_the_first_class_may_be_the_positive_one(fitted, clouds):
    (X, y), (X_test, _) = clouds
    other = MeasureClassifier("gmean", pos_label="yes", random_state=0).fit(X, np.where(y, "yes", "zno"))
    np.testing.assert_allclose(other.predict_proba(X_test)[:, 0], fitted.predict_proba(X_test)[:, 1], rtol=1e-6)
    assert other.decision_threshold_ == pytest.approx(1.0 - fitted.decision_threshold_)


def test_probabilities_are_those_at_the_target_prevalence(clouds):
    (X, y), (X_test, y_test) = clouds
    rare = MeasureClassifier("gmean", random_state=0).fit(X, y, target_prevalence=0.01)
    there = np.where(y_test, 0.01 / y_test.mean(), 0.99 / (1.0 - y_test.mean()))  # the rows as drawn there
    assert np.average(rare.predict_proba(X_test)[:, 1], weights=there) == pytest.approx(0.01, rel=0.2)


def test_many_classes_share_out_one():
    rng = np.random.default_rng(1)
    y = rng.choice(3, size=3_000, p=[0.7, 0.2, 0.1])
    X = rng.standard_normal((3_000, 3)) + 1.5 * np.eye(3)[y]
    model = MeasureClassifier("f1", random_state=0).fit(X[:1500], y[:1500])
    shares = model.predict_proba(X[1500:])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    best = log_loss(y[1500:], LogisticRegression().fit(X[:1500], y[:1500]).predict_proba(X[1500:]))
    assert log_loss(y[1500:], shares) < 1.1 * best
    with pytest.raises(AttributeError, match="the highest score wins"):
        model.decision_threshold_  # noqa: B018


def test_rows_that_were_learned_by_heart_do_not_tell_how_sure_to_be_of_many_classes():
    """As many columns as rows: training rows are all right, new ones hardly better than guessed."""
    X, y = make_classification(1_300, 300, n_informative=10, n_classes=4, random_state=0)
    model = MeasureClassifier("f1", random_state=0).fit(X[:300], y[:300])
    assert log_loss(y[300:], model.predict_proba(X[300:])) < 1.05 * np.log(4)


def test_labels_have_a_column_each():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((1_000, 3))
    Y = X[:, :2] + rng.standard_normal((1_000, 2)) > [0.0, 1.5]
    model = MeasureClassifier("f1", random_state=0).fit(X, Y.astype(int))
    shares = model.predict_proba(X)
    assert shares.shape == (1_000, 2)
    np.testing.assert_allclose(shares.mean(axis=0), Y.mean(axis=0), atol=0.03)
    np.testing.assert_array_equal(model.predict(X), shares > model.decision_threshold_)


def test_rows_one_batch_at_a_time_are_calibrated_too(clouds):
    (X, y), (X_test, y_test) = clouds
    model = MeasureClassifier("f1", random_state=0)
    for part in np.array_split(np.arange(len(y)), 6):
        model.partial_fit(X[part], y[part], classes=[False, True])
    assert log_loss(y_test, model.predict_proba(X_test)) < 0.9 * log_loss(y_test, np.full(len(y_test), y.mean()))


def test_intervals_and_probabilities_are_kept_in_a_file(fitted, clouds, tmp_path):
    save_model(fitted, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    X, _ = clouds[1]
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.rates_interval_ == fitted.rates_interval_
    assert loaded.decision_threshold_ == fitted.decision_threshold_


def test_a_model_of_an_earlier_version_says_that_it_knows_no_probabilities(fitted, clouds):
    old = MeasureClassifier("gmean", random_state=0)
    old.__dict__.update({name: value for name, value in vars(fitted).items() if name != "calibration_"})
    with pytest.raises(AttributeError, match="Fit it again"):
        old.predict_proba(clouds[1][0])


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["f1", "gmean"])
def test_intervals_hold_the_rates_of_the_model(measure):
    """The true rates of a linear model of two clouds are known; 95% intervals miss them now and then."""
    inside = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = rng.random(2_000) < 0.2
        X = rng.standard_normal((2_000, 3))
        X[y, 0] += 1.5
        model = MeasureClassifier(measure, random_state=seed).fit(X, y)
        weights, intercept = model.coef_[0], model.intercept_[0]
        spread = np.linalg.norm(weights)
        tpr, tnr = norm.cdf((intercept + 1.5 * weights[0]) / spread), norm.cdf(-intercept / spread)
        found = model.rates_interval_
        inside += [found.tpr[0] <= tpr <= found.tpr[1], found.tnr[0] <= tnr <= found.tnr[1]]
        assert found.value[0] < float(model.measure_.value(*model.rates_)) < found.value[1]
    assert sum(inside) >= 20
