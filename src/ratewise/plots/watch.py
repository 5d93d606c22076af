"""A monitored measure over the rows, and the evidence that its bound no longer holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..estimators.monitor import Monitor
from ..measures import Bound, get_measure, measure_name
from ._style import BLUE, GREY, VERMILLION, axes_for
from .history import checked_history

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_DRAWN_EVIDENCE = 1e-4, 1e2  # relative to the alarm: evidence is drawn within these limits


class MonitorDisplay:
    """The history of a Monitor: the measure on recent rows and, below it, the evidence against its bounds.

    An alarm is raised when the evidence reaches 1, and drawn as a vertical line through both panels.

    Parameters
    ----------
    history : dict of arrays
        The ``history_`` of a Monitor: rows, value and evidence.
    alarm_row : int, optional
        The row that raised the alarm.
    label : str, default="value"
        The name of the value that is followed.
    level : float, optional
        The bound on the value, drawn as a dashed line.

    Attributes
    ----------
    value_line_ : Line2D
    evidence_line_ : Line2D or None
        None if no bound is watched.
    alarm_lines_ : list of Line2D
        One on each of the axes, if there was an alarm.
    axes_, figure_ : list of matplotlib's axes, and their figure

    Examples
    --------
    >>> from ratewise import Monitor
    >>> from ratewise.plots import MonitorDisplay
    >>> monitor = Monitor("f1").update([1, 0, 1], [1, 0, 0]).update([1, 1, 0], [1, 1, 0])
    >>> MonitorDisplay.from_monitor(monitor).value_line_.get_xdata()
    array([3., 6.])
    """

    def __init__(
        self,
        history: Mapping[str, Any],
        *,
        alarm_row: int | None = None,
        label: str = "value",
        level: float | None = None,
    ):
        self.history = checked_history(history, "rows", "value")
        self.alarm_row, self.label, self.level = alarm_row, label, level

    @classmethod
    def from_monitor(cls, monitor: Monitor, *, axes: Sequence[Axes] | None = None) -> Self:
        """Draw the history of a Monitor so far."""
        if not monitor.n_rows_:
            raise ValueError("The monitor has not seen any rows yet: update it first.")
        measure = monitor.measure
        label = (measure.kind or "share") if isinstance(measure, Bound) else measure_name(get_measure(measure))
        level = measure.level if isinstance(measure, Bound) else monitor.at_least
        history = monitor.history_
        if not monitor.watches:
            del history["evidence"]
        return cls(history, alarm_row=monitor.alarm_row_, label=label, level=level).plot(axes)

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        """Draw on these axes, or on new ones: the value and, if a bound is watched, the evidence."""
        rows, evidence = self.history["rows"], self.history.get("evidence")
        number = 1 if evidence is None else 2
        self.axes_ = _stacked_axes(number) if axes is None else list(axes)
        if len(self.axes_) != number:
            raise ValueError(f"{number} axes are needed; got {len(self.axes_)}.")
        (self.value_line_,) = self.axes_[0].plot(rows, self.history["value"], color=BLUE, linewidth=1.6)
        self.axes_[0].set(ylabel="value on recent rows", title=self.label)
        if self.level is not None:
            self.axes_[0].axhline(self.level, color=GREY, linewidth=1.0, linestyle="--")
        self.evidence_line_: Line2D | None = None
        if evidence is not None:
            ax = self.axes_[1]
            drawn = np.clip(evidence, *_DRAWN_EVIDENCE)
            (self.evidence_line_,) = ax.plot(rows, drawn, color=BLUE, linewidth=1.6)
            ax.axhline(1.0, color=GREY, linewidth=1.0, linestyle="--")
            ax.set(yscale="log", ylabel="evidence (alarm at 1)")
        self.alarm_lines_ = []
        for ax in self.axes_:
            if self.alarm_row is not None:
                self.alarm_lines_.append(ax.axvline(self.alarm_row, color=VERMILLION, linewidth=1.2))
            ax.grid(alpha=0.3)
        self.axes_[-1].set_xlabel("rows")
        self.figure_ = self.axes_[0].figure
        return self


def _stacked_axes(number: int) -> list[Axes]:
    first = axes_for(None, (6.4, 3.0 * number))
    if number == 1:
        return [first]
    figure = first.get_figure(root=True)
    assert figure is not None
    first.remove()
    return list(figure.subplots(number, 1, sharex=True))
