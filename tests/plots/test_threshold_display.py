"""The measure against the threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ratewise import MeasureClassifier
from ratewise.measures import GMean, get_measure
from ratewise.plots import ThresholdDisplay
from ratewise.solvers import best_threshold, rates_at


def drawn_at(line, threshold):
    """The height of a step line at a threshold."""
    x, y = line.get_xdata(), line.get_ydata()
    return y[np.searchsorted(x, threshold, side="right") - 1]


@settings(deadline=None, max_examples=25)
@given(
    points=st.lists(st.tuples(st.integers(-4, 4), st.booleans(), st.floats(0.5, 3.0)), min_size=2, max_size=20),
    threshold=st.floats(-4.5, 4.5),
)
def test_the_curves_have_the_measure_and_the_rates_of_every_threshold(points, threshold):
    import matplotlib.pyplot as plt

    scores, y, weights = (np.array(column) for column in zip(*points, strict=True))
    y[0], y[1] = True, False
    display = ThresholdDisplay.from_predictions(y, scores, measure="f1", sample_weight=weights)
    plt.close(display.figure_)
    rates = rates_at(scores.astype(float), np.where(y, weights, -weights), threshold)
    if display.curve_.get_xdata()[0] <= threshold <= display.curve_.get_xdata()[-1]:
        assert drawn_at(display.curve_, threshold) == pytest.approx(get_measure("f1").value(*rates))
        assert drawn_at(display.tpr_curve_, threshold) == pytest.approx(rates.tpr)
        assert drawn_at(display.tnr_curve_, threshold) == pytest.approx(rates.tnr)


@pytest.mark.parametrize("name", ["gmean", "f1", "min"])
def test_without_a_threshold_the_exact_best_is_marked(rows, name):
    X, y = rows
    scores = X.sum(axis=1)
    display = ThresholdDisplay.from_predictions(y, scores, measure=name)
    best = best_threshold(scores, np.where(y, 1.0, -1.0), get_measure(name))
    assert display.chosen_mark_.get_xydata().tolist() == [[best.threshold, best.value]]
    assert display.best_mark_ is None


def test_a_threshold_that_is_not_the_best_is_marked_beside_the_best(rows):
    X, y = rows
    display = ThresholdDisplay.from_predictions(y, X.sum(axis=1), measure="f1", threshold=-1.0)
    best = best_threshold(X.sum(axis=1), np.where(y, 1.0, -1.0), get_measure("f1"))
    assert display.chosen_mark_.get_xdata() == [-1.0]
    assert display.best_mark_.get_xydata().tolist() == [[best.threshold, best.value]]


def test_a_measure_classifier_cuts_at_zero(plain, rows):
    display = ThresholdDisplay.from_estimator(plain, *rows)
    assert display.chosen.threshold == 0.0
    assert display.chosen.value == pytest.approx(plain.score(*rows))
    assert display.measure == GMean()


def test_a_positive_class_of_the_users_own_turns_the_scores_round(rows):
    X, y = rows
    model = MeasureClassifier("f1", pos_label=False, sharpen=False, random_state=0).fit(X, y)
    display = ThresholdDisplay.from_estimator(model, X, y)
    assert display.chosen.value == pytest.approx(model.score(X, y))
    assert display.chosen.rates.prevalence == pytest.approx(1 - y.mean())


def test_probabilities_are_cut_at_a_half(rows):
    X, y = rows
    model = RandomForestClassifier(n_estimators=11, max_depth=3, random_state=0).fit(X, y)
    display = ThresholdDisplay.from_estimator(model, X, y, measure="f1")
    assert display.chosen.threshold == 0.5
    assert display.chosen.value == pytest.approx(get_measure("f1").score(y, model.predict(X)))


def test_a_tuned_threshold_is_shown_where_it_was_tuned_to(rows):
    X, y = rows
    model = TunedThresholdClassifierCV(LogisticRegression(), scoring=get_measure("f1").scorer()).fit(X, y)
    display = ThresholdDisplay.from_estimator(model, X, y, measure="f1")
    assert display.chosen.threshold == pytest.approx(model.best_threshold_)
    assert display.chosen.threshold != 0.5
    assert display.chosen.value == pytest.approx(get_measure("f1").score(y, model.predict(X)))


def test_the_measure_is_found_inside_a_pipeline_and_a_search(rows):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), MeasureClassifier("gmean", sharpen=False, random_state=0))
    search = GridSearchCV(pipeline, {"measureclassifier__alpha": [0.0]}, cv=2).fit(X, y)
    display = ThresholdDisplay.from_estimator(search, X, y)
    assert display.measure == GMean()
    assert display.chosen.value == pytest.approx(search.score(X, y))


def test_rates_are_left_out_on_request(rows):
    X, y = rows
    display = ThresholdDisplay.from_predictions(y, X[:, 0], measure="f1", rates=False)
    assert (display.tpr_curve_, display.tnr_curve_) == (None, None)
    assert display.ax_.get_ylabel() == "f1"
    assert display.ax_.get_xlabel() == "threshold on the score"


def test_a_few_scores_far_out_do_not_stretch_the_axis(rows):
    X, y = rows
    scores = X.sum(axis=1)
    scores[0], scores[1] = 1e6, -1e6
    low, high = ThresholdDisplay.from_predictions(y, scores, measure="f1").ax_.get_xlim()
    assert high - low < 50.0


def test_many_rows_are_drawn_in_few_steps_the_best_among_them():
    rng = np.random.default_rng(0)
    y = rng.random(50_000) < 0.1
    display = ThresholdDisplay.from_predictions(y, rng.normal(size=y.size) + y, measure="f1")
    assert display.values.size == 50_001
    assert display.curve_.get_xdata().size < 5_000
    assert drawn_at(display.curve_, display.best.threshold) == pytest.approx(display.best.value, abs=1e-12)


def test_where_a_measure_is_not_defined_nothing_is_drawn():
    def precision(tpr, tnr, prevalence):
        called = prevalence * tpr + (1.0 - prevalence) * (1.0 - tnr)
        return np.where(called > 0, prevalence * tpr / np.where(called > 0, called, 1.0), np.nan)

    display = ThresholdDisplay.from_predictions([0, 1, 1], [1.0, 2.0, 3.0], measure=precision)
    assert np.isnan(drawn_at(display.curve_, 3.01))
    assert drawn_at(display.curve_, 2.5) == 1.0


def test_scores_that_are_all_alike_are_drawn():
    display = ThresholdDisplay.from_predictions([0, 1, 1], [0.5, 0.5, 0.5], measure="f1")
    assert display.chosen.value == pytest.approx(0.8)


class NotACut(LogisticRegression):
    """Calls what it is least sure of."""

    def predict(self, X):
        proba = self.predict_proba(X)[:, 1]
        return self.classes_[((proba > 0.2) & (proba < 0.8)).astype(int)]


@pytest.mark.parametrize(
    ("y", "scores", "more", "message"),
    [
        ([0, 1], [[0.5, 0.5], [0.1, 0.9]], {}, "one number per row; got shape"),
        ([0, 1], ["a", "b"], {}, "scores must be numbers"),
        ([0, 1], [0.5, np.nan], {}, "1 value"),
        ([0, 1, 1], [0.5, 0.6], {}, "there are 2 rows"),
        ([1, 1], [0.5, 0.6], {}, "two classes, both of them; it holds 1"),
        ([0, 1, 2], [0.5, 0.6, 0.7], {}, "it holds 3"),
        ([0, 1], [0.5, 0.6], {"pos_label": 7}, "pos_label=7 is not among the labels"),
        ([0, 1], [0.5, 0.6], {"sample_weight": [1.0]}, "sample_weight has shape"),
        ([0, 1], [0.5, 0.6], {"sample_weight": [1.0, -1.0]}, "0 or more"),
        ([0, 1], [0.5, 0.6], {"sample_weight": [1.0, 0.0]}, "one class have sample_weight 0"),
        ([0, 1], [0.5, 0.6], {"measure": "fx"}, "There is no measure 'fx'"),
    ],
)
def test_input_that_makes_no_sense_is_refused(y, scores, more, message):
    with pytest.raises(ValueError, match=message):
        ThresholdDisplay.from_predictions(y, scores, **({"measure": "f1"} | more))


def test_a_classifier_that_was_not_trained_for_a_measure_needs_one(rows):
    model = LogisticRegression().fit(*rows)
    with pytest.raises(ValueError, match="LogisticRegression was not trained for a measure: say which"):
        ThresholdDisplay.from_estimator(model, *rows)


def test_predictions_that_do_not_cut_the_scores_are_refused(rows):
    model = NotACut().fit(*rows)
    with pytest.raises(ValueError, match=r"NotACut.predict does not cut its scores"):
        ThresholdDisplay.from_estimator(model, *rows, measure="f1")


def test_a_classifier_of_three_classes_is_refused(rows):
    X, _ = rows
    model = LogisticRegression().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="is not a classifier of two classes"):
        ThresholdDisplay.from_estimator(model, X, np.arange(len(X)) % 3, measure="f1")


def test_an_unfitted_classifier_is_refused_as_scikit_learn_does(rows):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        ThresholdDisplay.from_estimator(MeasureClassifier(), *rows, measure="f1")
