"""Several models side by side."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ratewise import MeasureClassifier
from ratewise.measures import get_measure, rates_from_labels
from ratewise.plots import ComparisonDisplay

Y = [0, 0, 1, 1]
PREDICTIONS = {"careful": [0, 0, 0, 1], "bold": [0, 1, 1, 1]}


def test_each_model_has_a_mark_for_the_measure_and_for_each_rate():
    display = ComparisonDisplay.from_predictions(Y, PREDICTIONS, measure="f1")
    assert display.marks_["TPR"].get_xdata().tolist() == [0.5, 1.0]
    assert display.marks_["TNR"].get_xdata().tolist() == [1.0, 0.5]
    assert display.marks_["measure"].get_xdata().tolist() == pytest.approx([2 / 3, 0.8])
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["careful", "bold"]
    assert display.ax_.get_xlabel() == "f1, TPR, TNR"


def test_models_stand_from_top_to_bottom():
    display = ComparisonDisplay.from_predictions(Y, PREDICTIONS, measure="f1")
    bottom, top = display.ax_.get_ylim()
    assert bottom > top
    heights = display.marks_["TPR"].get_ydata()
    assert heights[0] < heights[1]


def test_marks_of_equal_value_do_not_hide_one_another():
    display = ComparisonDisplay.from_predictions(Y, {"perfect": Y}, measure="gmean")
    heights = sorted(float(line.get_ydata()[0]) for line in display.marks_.values())
    assert np.diff(heights).min() > 0.2


def test_every_mark_has_its_number_beside_it_inside_the_axes():
    display = ComparisonDisplay.from_predictions(Y, PREDICTIONS | {"perfect": Y}, measure="f1")
    display.figure_.draw_without_rendering()
    frame = display.ax_.get_window_extent()
    texts = [text for text in display.ax_.texts if text.get_text()]
    assert sorted(text.get_text() for text in texts) == sorted(
        f"{number:.3f}" for line in display.marks_.values() for number in line.get_xdata()
    )
    for text in texts:
        box = text.get_window_extent()
        assert frame.x0 < box.x0
        assert box.x1 < frame.x1


def test_estimators_are_compared_by_what_they_predict(rows, plain):
    X, y = rows
    models = {"ratewise": plain, "logistic": LogisticRegression().fit(X, y)}
    display = ComparisonDisplay.from_estimators(models, X, y)
    assert display.measure == plain.measure_
    assert display.values.tolist() == pytest.approx(
        [plain.score(X, y), get_measure("gmean").score(y, models["logistic"].predict(X))]
    )


def test_weights_and_the_positive_class_count(rows, plain):
    X, y = rows
    weights = np.where(X[:, 0] > 0, 2.0, 1.0)
    display = ComparisonDisplay.from_estimators({"one": plain}, X, y, sample_weight=weights, pos_label=False)
    expected = rates_from_labels(y, plain.predict(X), sample_weight=weights, pos_label=False)
    assert tuple(display.rates[0]) == pytest.approx(tuple(expected))


def test_models_trained_for_different_measures_need_one_named(rows, plain, sharpened):
    models = {"a": plain, "b": sharpened}
    with pytest.raises(ValueError, match=r"different measures \(gmean, f1\)"):
        ComparisonDisplay.from_estimators(models, *rows)
    assert ComparisonDisplay.from_estimators(models, *rows, measure="f2").measure == get_measure("f2")


def test_models_that_disagree_on_the_positive_class_need_it_named(rows, plain):
    X, y = rows
    other = MeasureClassifier("gmean", pos_label=False, sharpen=False, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="do not agree on the positive class"):
        ComparisonDisplay.from_estimators({"a": plain, "b": other}, X, y)
    display = ComparisonDisplay.from_estimators({"a": plain, "b": other}, X, y, pos_label=True)
    assert len(display.rates) == 2


def test_models_without_a_measure_need_one(rows):
    with pytest.raises(ValueError, match="No model was trained for a measure"):
        ComparisonDisplay.from_estimators({"logistic": LogisticRegression().fit(*rows)}, *rows)


@pytest.mark.parametrize("models", [{}, [1, 2]])
def test_models_must_come_by_name(models):
    with pytest.raises(ValueError, match="predictions must be a dict by the names to show"):
        ComparisonDisplay.from_predictions(Y, models, measure="f1")


def test_a_name_a_model_is_needed():
    with pytest.raises(ValueError, match="got 1 names and 0 rates"):
        ComparisonDisplay(measure="f1", names=["a"], rates=[])
