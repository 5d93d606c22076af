"""The measure on the way of a fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ratewise.plots import HistoryDisplay

THREE = {
    "pass": [1, 2, 1, 2, 1],
    "points": [10, 20, 10, 20, 10],
    "seconds": [1.0, 1.5, 2.5, 4.0, 5.0],
    "value": [0.1, 0.2, 0.3, 0.4, 0.5],
    "run": [0, 0, 1, 1, 2],
}


def test_a_fit_of_one_run_is_one_line_of_its_values(plain):
    display = HistoryDisplay.from_estimator(plain)
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_xdata(), plain.history_["points"])
    np.testing.assert_array_equal(line.get_ydata(), plain.history_["value"])
    assert display.ax_.get_xlabel() == "rows seen in the fit"
    assert display.ax_.get_ylabel() == "gmean on the training rows"
    assert display.ax_.get_legend() is None


def test_few_runs_are_lines_in_colours_and_markers_of_their_own():
    display = HistoryDisplay(THREE).plot()
    assert [line.get_ydata().tolist() for line in display.lines_] == [[0.1, 0.2], [0.3, 0.4], [0.5]]
    assert len({(line.get_color(), line.get_marker()) for line in display.lines_}) == 3
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["run 0", "run 1", "run 2"]


def test_seconds_are_counted_from_the_beginning_of_each_run():
    display = HistoryDisplay(THREE).plot(against="seconds")
    assert [line.get_xdata().tolist() for line in display.lines_] == [[1.0, 1.5], [1.0, 2.5], [1.0]]
    assert display.ax_.get_xlabel() == "seconds since the beginning of a run"


def test_many_runs_are_faint_lines_and_their_median(sharpened):
    display = HistoryDisplay.from_estimator(sharpened)
    history = sharpened.history_
    runs = [np.flatnonzero(history["run"] == run) for run in np.unique(history["run"])]
    assert len(display.lines_) == len(runs)
    last = [history["value"][rows[-1]] for rows in runs if rows.size > 1]
    assert display.median_line_.get_ydata()[-1] == pytest.approx(np.median(last))
    assert display.median_line_.get_xdata().size == max(rows.size for rows in runs)


def test_runs_may_be_chosen(sharpened):
    display = HistoryDisplay.from_estimator(sharpened, runs=[2, 0])
    assert [line.get_label() for line in display.lines_] == ["run 2", "run 0"]
    assert display.median_line_ is None


def test_epochs_that_double_are_drawn_on_a_logarithmic_axis():
    points = 100.0 * 2.0 ** np.arange(9)
    doubling = HistoryDisplay({"points": points, "value": np.linspace(0, 1, 9)}).plot()
    steady = HistoryDisplay({"points": np.arange(1.0, 10.0), "value": np.linspace(0, 1, 9)}).plot()
    assert (doubling.ax_.get_xscale(), steady.ax_.get_xscale()) == ("log", "linear")


@pytest.mark.parametrize(
    ("history", "options", "message"),
    [
        ({"points": [1.0]}, {}, "The history has no column 'value'; it has 'points'"),
        ({"points": [1.0], "value": [0.5, 0.6]}, {}, "equally long"),
        ({"points": [], "value": []}, {}, "empty"),
        ({"points": [1.0], "value": [0.5]}, {"against": "hours"}, "against must be one of 'points', 'seconds'"),
        ({"points": [1.0], "value": [0.5]}, {"against": "seconds"}, "no column 'seconds'"),
        (THREE, {"runs": [3]}, r"runs=\[3\] must name runs of the history, which has 0 to 2"),
        (THREE, {"runs": []}, r"runs=\[\] must name runs"),
    ],
)
def test_input_that_makes_no_sense_is_refused(history, options, message):
    with pytest.raises(ValueError, match=message):
        HistoryDisplay(history).plot(**options)


def test_a_model_without_a_history_is_refused(rows):
    with pytest.raises(ValueError, match="LogisticRegression has no history_: fit a MeasureClassifier first"):
        HistoryDisplay.from_estimator(LogisticRegression().fit(*rows))
