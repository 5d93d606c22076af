"""What a monitor has seen."""

from __future__ import annotations

import numpy as np
import pytest

from ratewise import Monitor
from ratewise.measures import Bound, RecallAtPrecision
from ratewise.plots import MonitorDisplay


@pytest.fixture
def alarmed():
    monitor, rng = Monitor(RecallAtPrecision(0.9)), np.random.default_rng(0)
    for precision in (0.95, 0.95, 0.6, 0.6):
        monitor.update(rng.random(300) < precision, np.ones(300))
    assert monitor.alarm_row_ is not None
    return monitor


def test_the_value_is_above_the_evidence_and_an_alarm_crosses_both(alarmed):
    display = MonitorDisplay.from_monitor(alarmed)
    np.testing.assert_array_equal(display.value_line_.get_xdata(), [300, 600, 900, 1_200])
    np.testing.assert_array_equal(display.value_line_.get_ydata(), alarmed.history_["value"])
    assert display.evidence_line_.get_ydata()[1] == pytest.approx(alarmed.history_["evidence"][1])
    assert [line.get_xdata()[0] for line in display.alarm_lines_] == [alarmed.alarm_row_] * 2
    assert display.axes_[1].get_yscale() == "log"
    assert display.axes_[1].get_xlabel() == "rows"


def test_without_a_bound_there_is_a_value_only():
    display = MonitorDisplay.from_monitor(Monitor("gmean").update([0, 1, 1], [0, 1, 0]))
    assert display.evidence_line_ is None
    assert display.alarm_lines_ == []
    assert [ax.get_title() for ax in display.axes_] == ["gmean"]


def test_a_bound_is_named_by_its_kind():
    monitor = Monitor(Bound((None, 1), (None, None), 0.5, at_least=False)).update([0, 1], [0, 1])
    assert MonitorDisplay.from_monitor(monitor).axes_[0].get_title() == "share of rows predicted positive"


def test_axes_of_the_user_are_drawn_on(alarmed):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1)
    assert MonitorDisplay.from_monitor(alarmed, axes=axes).figure_ is figure
    with pytest.raises(ValueError, match="2 axes are needed; got 1"):
        MonitorDisplay.from_monitor(alarmed, axes=axes[:1])


def test_a_monitor_that_has_seen_nothing_is_refused():
    with pytest.raises(ValueError, match="has not seen any rows yet"):
        MonitorDisplay.from_monitor(Monitor("f1"))


def test_the_bound_on_the_value_is_drawn_with_it():
    monitor = Monitor("f1", at_least=0.7).update([0, 1, 1], [0, 1, 0])
    dashed = [line for line in MonitorDisplay.from_monitor(monitor).axes_[0].lines if line.get_linestyle() == "--"]
    assert [line.get_ydata()[0] for line in dashed] == [0.7]
