"""The confusion matrix of many classes, with recall and precision of each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, precision_score, recall_score

from ratewise import DecisionRule
from ratewise.counts import Counts
from ratewise.plots import ConfusionDisplay

RNG = np.random.default_rng(0)
TRUTH = RNG.choice(np.array(["ash", "elm", "fir"]), 300, p=[0.6, 0.3, 0.1])
PREDICTED = np.where(RNG.random(300) < 0.7, TRUTH, RNG.permutation(TRUTH))


def test_cells_and_rates_are_those_of_scikit_learn():
    display = ConfusionDisplay.from_predictions(TRUTH, PREDICTED)
    shown = np.array([text.get_text() for text in display.ax_.texts]).reshape(3, 3)
    assert (shown == confusion_matrix(TRUTH, PREDICTED).astype(str)).all()
    np.testing.assert_allclose(display.recall_, recall_score(TRUTH, PREDICTED, average=None))
    np.testing.assert_allclose(display.precision_, precision_score(TRUTH, PREDICTED, average=None))
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["ash", "elm", "fir"]


def test_intervals_are_exact():
    display = ConfusionDisplay.from_predictions(TRUTH, PREDICTED)
    for k, label in enumerate(["ash", "elm", "fir"]):
        mine, found = np.equal(TRUTH, label), np.equal(PREDICTED, label)
        for rows, interval in ((mine, display.recall_interval_[k]), (found, display.precision_interval_[k])):
            exact = binomtest(int((mine & found).sum()), int(rows.sum())).proportion_ci(0.95)
            np.testing.assert_allclose(interval, (exact.low, exact.high), rtol=1e-6)


def test_a_class_without_rows_may_have_any_rate():
    display = ConfusionDisplay(Counts(np.array([[3, 1], [0, 0]]))).plot()
    assert display.recall_interval_[1].tolist() == [0.0, 1.0]


def test_a_rule_is_drawn_by_its_counts_or_on_new_rows():
    proba = RNG.dirichlet(np.ones(3), 400)
    y = np.array([RNG.choice(3, p=one) for one in proba])
    rule = DecisionRule("gmean").fit(proba, y)
    display = ConfusionDisplay(rule.counts_, labels=rule.classes_).plot()
    again = ConfusionDisplay.from_estimator(rule, proba, y)
    np.testing.assert_allclose(again.recall_, display.recall_)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="equally long"):
        ConfusionDisplay.from_predictions([0, 1], [0])
    with pytest.raises(ValueError, match="without groups"):
        ConfusionDisplay(Counts(np.ones((2, 3, 3))))
    with pytest.raises(ValueError, match="3 classes and 2 labels"):
        ConfusionDisplay(Counts(np.ones((3, 3))), labels=[0, 1])
