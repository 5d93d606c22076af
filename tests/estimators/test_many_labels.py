"""Indicator matrices: one model per label."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from ratewise import MeasureClassifier
from ratewise.measures import Rates


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(800, n_features=10, n_classes=3, random_state=0)
    return train_test_split(X, Y, random_state=0)


def plain(**parameters):
    return MeasureClassifier("f1", sharpen=False, random_state=0, **parameters)


def test_every_label_has_the_model_of_its_own_fit_in_shape_and_quality(data):
    X_train, X_test, Y_train, Y_test = data
    together = plain().fit(X_train, Y_train)
    assert together.coef_.shape == (3, 10)
    assert together.multilabel_
    assert together.classes_.tolist() == [0, 1, 2]
    assert together.decision_function(X_test).shape == together.predict(X_test).shape == Y_test.shape
    np.testing.assert_array_equal(together.predict(X_test), (together.decision_function(X_test) > 0).astype(int))
    for k in range(3):
        alone = plain().fit(X_train, Y_train[:, k])
        mine = f1_score(Y_test[:, k], together.predict(X_test)[:, k])
        assert mine == pytest.approx(alone.score(X_test, Y_test[:, k]), abs=0.05)


def test_score_is_the_macro_average_over_labels(data):
    X_train, X_test, Y_train, Y_test = data
    classifier = plain().fit(X_train, Y_train)
    assert classifier.score(X_test, Y_test) == pytest.approx(
        f1_score(Y_test, classifier.predict(X_test), average="macro")
    )


def test_sharpening_and_the_rates_of_each_label(data):
    X_train, X_test, Y_train, Y_test = data
    classifier = MeasureClassifier("gmean", random_state=0, n_jobs=2).fit(X_train, Y_train)
    predicted = classifier.predict(X_test)
    for k, rates in enumerate(classifier.rates_):
        assert isinstance(rates, Rates)
        assert rates.prevalence == pytest.approx(Y_train[:, k].mean(), abs=1e-6)
        assert rates.tpr == pytest.approx(predicted[Y_test[:, k] == 1, k].mean(), abs=0.12)
    assert set(classifier.history_["label"]) == {0.0, 1.0, 2.0}
    assert len(classifier.stages_) == 3


def test_sparse_indicators_and_threads_give_the_same_models(data):
    X_train, _, Y_train, _ = data
    dense = plain().fit(X_train, Y_train)
    for other in (sparse.csr_matrix(Y_train), Y_train.astype(bool), Y_train.astype(float)):
        np.testing.assert_array_equal(plain(n_jobs=2).fit(X_train, other).coef_, dense.coef_)


def test_rows_of_weight_zero_are_as_if_not_there(data):
    X_train, _, Y_train, _ = data
    weights = (np.arange(len(X_train)) % 3 > 0) * 1.0
    with_zeros = plain().fit(X_train, Y_train, weights)
    without = plain().fit(X_train[weights > 0], Y_train[weights > 0])
    np.testing.assert_array_equal(with_zeros.coef_, without.coef_)


@pytest.mark.parametrize("value", [0, 1])
def test_a_label_of_one_value_is_warned_of_and_predicted_so(value, data):
    X_train, X_test, Y_train, _ = data
    Y = Y_train.copy()
    Y[:, 1] = value
    with pytest.warns(UserWarning, match=f"Label 1 is {value} in all training rows"):
        classifier = plain().fit(X_train, Y)
    predicted = classifier.predict(X_test)
    assert (predicted[:, 1] == value).all()
    assert 0 < predicted[:, 0].mean() < 1
    assert classifier.rates_[1] == Rates(float(value), float(1 - value), float(value))


def test_what_is_for_classes_is_refused_for_labels(data):
    X_train, _, Y_train, _ = data
    with pytest.raises(ValueError, match="pos_label=1 is for two classes; with an indicator matrix"):
        plain(pos_label=1).fit(X_train, Y_train)
    with pytest.raises(ValueError, match="partial_fit learns classes, not an indicator matrix"):
        plain().partial_fit(X_train, Y_train, classes=[0, 1])
    with pytest.raises(ValueError, match=r"y has shape \(600, 3\).*of 0 and 1 only"):
        plain().fit(X_train, Y_train * 2 + np.arange(3))
    with pytest.raises(ValueError, match="600 rows in X, 599 rows of labels"):
        plain().fit(X_train, Y_train[:-1])
