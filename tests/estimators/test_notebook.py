"""What a notebook shows of an estimator: scikit-learn's diagram, and after a fit a card."""

from __future__ import annotations

from collections import namedtuple
from xml.etree import ElementTree

import pytest
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression

from ratewise import MeasureClassifier, MeasureMaximizer
from ratewise.estimators._notebook import card_of


@pytest.fixture(scope="module")
def fitted():
    return MeasureClassifier("gmean", sharpen=False, random_state=0).fit(*load_breast_cancer(return_X_y=True))


def test_before_a_fit_there_is_the_diagram_alone():
    estimator = MeasureClassifier("gmean")
    assert card_of(estimator) == ""
    assert "value to expect" not in estimator._repr_html_()
    assert "sk-" in estimator._repr_html_()


def test_a_fitted_estimator_shows_measure_rates_threshold_and_a_picture(fitted):
    for shown in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
        assert "sk-" in shown
        assert "gmean" in shown
        assert f"{fitted.rates_.tpr:.3f}" in shown
        assert f"{-fitted.intercept_[0]:.4g}" in shown
    ElementTree.fromstring(card_of(fitted))  # well formed
    assert "<svg" in card_of(fitted)


def test_where_diagrams_are_switched_off_so_is_the_card(fitted):
    with config_context(display="text"):
        assert "text/html" not in fitted._repr_mimebundle_()


def test_intervals_of_the_rates_are_shown_where_they_are_known(fitted):
    fitted.rates_interval_ = namedtuple("Ends", "tpr tnr")((0.9, 0.95), (0.8, 0.85))
    try:
        assert "(0.900 to 0.950)" in card_of(fitted)
    finally:
        del fitted.rates_interval_


def test_many_classes_show_the_value_to_expect():
    estimator = MeasureClassifier("f1", sharpen=False, random_state=0).fit(*load_iris(return_X_y=True))
    assert "value to expect" in card_of(estimator)


def test_a_maximizer_shows_the_threshold_of_its_vote():
    X, y = load_breast_cancer(return_X_y=True)
    estimator = MeasureMaximizer(LogisticRegression(max_iter=5000), "f1", rounds=1, cv=3).fit(X[:, :4], y)
    assert f"{estimator.threshold_:.4g}" in card_of(estimator)
    ElementTree.fromstring(card_of(estimator))


def test_names_of_measures_are_text_and_not_markup():
    def odd(tpr, tnr):
        return min(tpr, tnr)

    odd.__name__ = "<b>"
    estimator = MeasureClassifier(odd, random_state=0, sharpen=True)
    X, y = load_breast_cancer(return_X_y=True)
    assert "<b>" not in card_of(estimator.fit(X[:, :3], y))
