"""The plane of rates: what is drawn, and where."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ratewise.measures import GMean, Measure, Rates, get_measure, rates_from_labels
from ratewise.plots import RatesPlaneDisplay
from ratewise.solvers import best_threshold

Y = np.array([0, 0, 1, 0, 1, 1])
SCORES = np.array([0.1, 0.2, 0.3, 0.4, 0.8, 0.9])


def vertices(curves):
    """(level, points) of every level curve drawn."""
    return [(level, path.vertices) for level, path in zip(curves.levels, curves.get_paths(), strict=True)]


# Where a measure leaps, as constraints make it do, a curve drawn on a grid is off by the width of a cell.
WITHOUT_LEAPS = ["min", "hmean", "qmean", "gmean", "f1", "f0.5", "f2", "jaccard", "gower-legendre", "kappa"]


@pytest.mark.parametrize("name", WITHOUT_LEAPS)
@pytest.mark.parametrize("prevalence", [0.02, 0.5])
def test_level_curves_pass_through_points_of_their_level(name, prevalence):
    display = RatesPlaneDisplay(measure=name, prevalence=prevalence).plot()
    drawn = vertices(display.level_curves_)
    assert len(drawn) >= 4
    for level, points in drawn:
        values = get_measure(name).value(points[:, 0], points[:, 1], prevalence)
        assert len(points)
        np.testing.assert_allclose(values, level, atol=0.02)


def test_levels_are_written_where_their_curves_end():
    display = RatesPlaneDisplay(measure="gmean", prevalence=0.3).plot()
    (top,) = display.ax_.child_axes
    places, texts = top.get_xticks(), [text.get_text() for text in top.get_xticklabels()]
    assert len(texts) >= 4
    values = [GMean().value(place, 1.0) for place in places]
    np.testing.assert_allclose(values, [float(text) for text in texts], atol=1e-3)


def test_the_frontier_holds_the_rates_at_every_threshold():
    display = RatesPlaneDisplay.from_predictions(Y, SCORES, measure="gmean")
    expected = [rates_from_labels(Y, cut < SCORES)[:2] for cut in [1.0, 0.85, 0.5, 0.35, 0.25, 0.15, 0.0]]
    np.testing.assert_allclose(display.frontier_line_.get_xydata(), expected)


def test_without_a_threshold_the_best_point_is_marked():
    display = RatesPlaneDisplay.from_predictions(Y, SCORES, measure="f1")
    best = best_threshold(SCORES, np.where(Y == 1, 1.0, -1.0), get_measure("f1"))
    assert display.chosen_mark_.get_xydata().tolist() == [list(best.rates[:2])]


def test_a_threshold_moves_the_marked_point():
    display = RatesPlaneDisplay.from_predictions(Y, SCORES, measure="f1", threshold=0.85)
    assert display.chosen_mark_.get_xydata().tolist() == [[pytest.approx(1 / 3), 1.0]]
    assert "chosen: f1 0.500" in [line.get_label() for line in display.ax_.get_lines()]


def test_a_fit_of_one_run_is_one_path(plain, rows):
    display = RatesPlaneDisplay.from_estimator(plain, *rows)
    (line,) = display.path_lines_
    np.testing.assert_array_equal(line.get_xdata(), plain.history_["tpr"])
    np.testing.assert_array_equal(line.get_ydata(), plain.history_["tnr"])
    assert display.median_path_ is None


def test_a_fit_of_many_runs_is_a_path_a_run_and_their_median(sharpened, rows):
    display = RatesPlaneDisplay.from_estimator(sharpened, *rows)
    history = sharpened.history_
    runs = np.unique(history["run"])
    assert len(display.path_lines_) == runs.size > 7
    long = [run for run in runs if (history["run"] == run).sum() > 1]
    first = [history["tpr"][history["run"] == run][0] for run in long]
    assert display.median_path_.get_xdata()[0] == pytest.approx(np.median(first))


def test_runs_may_be_chosen(sharpened, rows):
    display = RatesPlaneDisplay.from_estimator(sharpened, *rows, runs=[1])
    (line,) = display.path_lines_
    np.testing.assert_array_equal(line.get_xdata(), sharpened.history_["tpr"][sharpened.history_["run"] == 1])


def test_the_chosen_point_of_a_classifier_is_where_its_predictions_are(plain, rows):
    X, y = rows
    display = RatesPlaneDisplay.from_estimator(plain, X, y)
    assert tuple(display.chosen) == pytest.approx(tuple(rates_from_labels(y, plain.predict(X))))
    assert display.prevalence == pytest.approx(y.mean())


def test_a_classifier_of_scikit_learn_has_a_frontier_and_no_path(rows):
    X, y = rows
    model = LogisticRegression().fit(X, y)
    display = RatesPlaneDisplay.from_estimator(model, X, y, measure="gmean")
    assert display.path_lines_ == []
    assert tuple(display.chosen) == pytest.approx(tuple(rates_from_labels(y, model.predict(X))))
    assert any((display.frontier_line_.get_xydata() == display.chosen[:2]).all(axis=1))


def test_zooming_shows_all_of_the_path_and_no_zooming_the_whole_plane(plain, rows):
    near = RatesPlaneDisplay.from_estimator(plain, *rows).ax_
    low, high = near.get_xlim()
    assert 0.0 < low < plain.history_["tpr"].min()
    assert high > plain.history_["tpr"].max()
    low, high = near.get_ylim()
    assert 0.0 < low < plain.history_["tnr"].min()
    assert high > plain.history_["tnr"].max()
    whole = RatesPlaneDisplay.from_estimator(plain, *rows, zoom=False).ax_
    assert (whole.get_xlim()[0], whole.get_ylim()[0]) == (0.0, 0.0)


def test_axes_are_named_and_may_be_given(plain, rows):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    display = RatesPlaneDisplay.from_estimator(plain, *rows, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("TPR", "TNR", "MeasureClassifier")


def test_a_prevalence_that_is_no_share_is_refused():
    with pytest.raises(ValueError, match=r"prevalence must be a share between 0 and 1; got 1\.5"):
        RatesPlaneDisplay(measure="f1", prevalence=1.5)


def test_a_history_without_rates_is_refused():
    with pytest.raises(ValueError, match="The history has no column 'tpr'; it has 'value'"):
        RatesPlaneDisplay(measure="f1", prevalence=0.5, history={"value": [1.0]})


def test_a_measure_that_is_the_same_everywhere_is_refused():
    class Flat(Measure):
        def value(self, tpr, tnr, prevalence=None):
            return 0.5 + 0.0 * np.asarray(tpr)

    with pytest.raises(ValueError, match="has no level curves here"):
        RatesPlaneDisplay(measure=Flat(), prevalence=0.5).plot()


def test_a_measure_that_is_not_defined_everywhere_is_drawn_where_it_is():
    class Precision(Measure):
        def value(self, tpr, tnr, prevalence=None):
            called = prevalence * tpr + (1.0 - prevalence) * (1.0 - tnr)
            return np.where(called > 0, prevalence * tpr / np.where(called > 0, called, 1.0), np.nan)

    display = RatesPlaneDisplay(measure=Precision(), prevalence=0.3, chosen=Rates(0.8, 0.9, 0.3)).plot()
    assert len(display.level_curves_.levels) > 3


def test_labels_of_levels_do_not_overlap(sharpened, rows):
    display = RatesPlaneDisplay.from_estimator(sharpened, *rows)
    display.figure_.draw_without_rendering()
    for side in display.ax_.child_axes:
        boxes = [text.get_window_extent() for text in side.get_xticklabels() + side.get_yticklabels()]
        boxes = [box for box in boxes if box.width > 0]
        assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
