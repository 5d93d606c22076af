"""The measure on the way of a fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, get_measure
from .rows import innermost, measure_of
from .runs import FEW_RUNS, Runs, checked_history, long_runs, median_of_runs, seconds_in_run, split_runs
from .style import BLUE, GREY, LINES, axes_for, legend_below, measure_name, model_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_AXIS_LABELS = {"points": "points seen in", "seconds": "seconds since the beginning of", "pass": "passes of"}
_MARKERS = "os^Dv<>"
_FAR_APART = 100.0


class HistoryDisplay:
    """How the measure grew with the points seen, or with time.

    A default fit makes many runs, one for each fold and start. Each is a line, or a cross if it was looked at but
    once; more than a few are drawn faintly, with their median. The values are those of ``history_``: on the rows
    the fit learned from, so above what to expect on new rows.

    Parameters
    ----------
    history : dict of arrays
        The ``history_`` of a fit: points, seconds, value and, where there are several, run.
    measure : str or Measure, optional
        Names the vertical axis.
    name : str, optional
        Of the model.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure
    lines_ : list of Line2D
        One a run.
    median_line_ : Line2D or None
        Where there are more runs than can be told apart.

    Examples
    --------
    >>> from ratewise.plots import HistoryDisplay
    >>> history = {"points": [100.0, 200.0, 400.0], "value": [0.5, 0.7, 0.8]}
    >>> HistoryDisplay(history, measure="f1").plot().ax_.get_ylabel()
    'f1 on the training rows'
    """

    def __init__(
        self,
        history: Mapping[str, Any],
        *,
        measure: str | Measure | None = None,
        name: str | None = None,
    ):
        self.history = checked_history(history, "value")
        self.measure = None if measure is None else get_measure(measure)
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        against: str = "points",
        runs: Iterable[int] | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the fit of a MeasureClassifier, which may sit in a pipeline or a search."""
        history = getattr(innermost(estimator), "history_", None)
        if history is None:
            raise ValueError(
                f"{type(estimator).__name__} has no history_: fit a MeasureClassifier first, or use "
                "HistoryDisplay(history) with a table of your own."
            )
        display = cls(history, measure=measure_of(estimator, None), name=model_name(estimator, name))
        return display.plot(ax, against=against, runs=runs)

    def plot(self, ax: Axes | None = None, *, against: str = "points", runs: Iterable[int] | None = None) -> Self:
        """Draw on these axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        against : {"points", "seconds", "pass"}
            The horizontal axis. Where a fit made several runs, each is counted from its own beginning. The axis is
            logarithmic where the checkpoints of a run lie far apart.
        runs : iterable of int, optional
            The runs to draw, by their numbers in the history; all unless given.
        """
        if against not in _AXIS_LABELS:
            raise ValueError(f"against must be one of {', '.join(map(repr, _AXIS_LABELS))}; got {against!r}.")
        checked_history(self.history, against)
        drawn = split_runs(self.history, runs)
        across = seconds_in_run(self.history, drawn) if against == "seconds" else self.history[against]
        ax = axes_for(ax, (6.4, 4.6))
        self.median_line_: Line2D | None = None
        if len(drawn) <= FEW_RUNS:
            self._draw_each(ax, across, drawn)
        else:
            self._draw_many(ax, across, drawn)
        name = "value" if self.measure is None else measure_name(self.measure)
        whose = "the fit" if len(drawn) == 1 else "a run"
        ax.set(xlabel=f"{_AXIS_LABELS[against]} {whose}", ylabel=f"{name} on the training rows", title=self.name)
        _scale(ax, across, drawn, whole=against != "seconds")
        ax.grid(alpha=0.3)
        if len(drawn) > 1:
            labelled = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
            legend_below(ax, labelled[:4], labelled[4:])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_each(self, ax: Axes, across: NDArray[np.float64], runs: Runs) -> None:
        self.lines_ = [
            ax.plot(
                across[rows],
                self.history["value"][rows],
                color=LINES[place],
                linewidth=1.6,
                marker=_MARKERS[place],
                markersize=4.5,
                label=f"run {number}",
            )[0]
            for place, (number, rows) in enumerate(runs.items())
        ]

    def _draw_many(self, ax: Axes, across: NDArray[np.float64], runs: Runs) -> None:
        """Every run faintly, and their median."""
        value, longer = self.history["value"], long_runs(runs)
        labels = {"line": f"{len(longer)} runs", "dot": f"{len(runs) - len(longer)} runs of one checkpoint"}
        self.lines_ = []
        for rows in runs.values():
            kind = "line" if rows.size > 1 else "dot"
            look = (
                {"alpha": 0.35, "linewidth": 0.8}
                if kind == "line"
                else {"marker": "x", "markersize": 4, "linestyle": "none"}
            )
            self.lines_ += ax.plot(across[rows], value[rows], color=GREY, label=labels.pop(kind, None), **look)
        if longer and "pass" in self.history:
            middle = median_of_runs(self.history["pass"], longer, across, value)
            self.median_line_ = ax.plot(
                *middle, color=BLUE, linewidth=2.0, marker="o", markersize=4.5, label="median of the runs"
            )[0]


def _scale(ax: Axes, across: NDArray[np.float64], runs: Runs, *, whole: bool) -> None:
    """Logarithmic for epochs that double; otherwise in plain figures."""
    from matplotlib.ticker import StrMethodFormatter

    shown = across[np.concatenate(list(runs.values()))]
    if shown.min() > 0 and shown.max() > _FAR_APART * shown.min():
        ax.set_xscale("log")
    elif whole:
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
