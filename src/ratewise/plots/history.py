"""The measure during a fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, get_measure, measure_name
from ._scores import inner_classifier, measure_of
from ._style import BLUE, GREY, LINES, axes_for, labelled_lines, legend_below, model_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

Runs = Mapping[int, NDArray[np.intp]]
"""The rows of a history that belong to each run."""

FEW_RUNS = 7  # more runs cannot be distinguished, and are shown by their median
_AXIS_LABELS = {"points": "rows seen in", "seconds": "seconds since the beginning of", "pass": "passes of"}
_MARKERS = "os^Dv<>"
_FAR_APART = 100.0


class HistoryDisplay:
    """The measure against the number of rows seen, or against time.

    A default fit makes many runs, one for each fold and start. Each run is a line, or a cross if it was evaluated
    only once. If there are many runs, they are drawn faintly, with their median. The values are those of
    ``history_``: on training rows, and therefore above what to expect on new rows.

    Parameters
    ----------
    history : dict of arrays
        The ``history_`` of a fit: points, seconds, value and, if there are several runs, run.
    measure : str or Measure, optional
        The measure that names the vertical axis.
    name : str, optional
        The name of the model.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure
    lines_ : list of Line2D
        One per run.
    median_line_ : Line2D or None
        The median, if there are more runs than can be distinguished.

    Examples
    --------
    >>> from ratewise.plots import HistoryDisplay
    >>> history = {"points": [100.0, 200.0, 400.0], "value": [0.5, 0.7, 0.8]}
    >>> HistoryDisplay(history, measure="f1").plot().ax_.get_ylabel()
    'f1 on the training rows'
    """

    def __init__(
        self, history: Mapping[str, Any], *, measure: str | Measure | None = None, name: str | None = None
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
        """Draw the fit of a MeasureClassifier, which may be inside a pipeline or a search."""
        history = getattr(inner_classifier(estimator), "history_", None)
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
            The horizontal axis. If a fit made several runs, each is counted from its own start. The axis is
            logarithmic if the distances between the checkpoints of a run grow.
        runs : iterable of int, optional
            The runs to draw, by their numbers in the history; all unless given.
        """
        if against not in _AXIS_LABELS:
            raise ValueError(f"against must be one of {', '.join(map(repr, _AXIS_LABELS))}; got {against!r}.")
        checked_history(self.history, against)
        drawn = split_runs(self.history, runs)
        across = _seconds_in_run(self.history, drawn) if against == "seconds" else self.history[against]
        ax = axes_for(ax, (6.4, 4.6))
        self.median_line_: Line2D | None = None
        self.lines_ = []
        if len(drawn) > FEW_RUNS:
            self._draw_many(ax, across, drawn)
        else:
            for colour, marker, (number, rows) in zip(LINES, _MARKERS, drawn.items(), strict=False):
                style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4.5, "linewidth": 1.6}
                self.lines_ += ax.plot(across[rows], self.history["value"][rows], label=f"run {number}", **style)
        name = "value" if self.measure is None else measure_name(self.measure)
        whose = "the fit" if len(drawn) == 1 else "a run"
        ax.set(xlabel=f"{_AXIS_LABELS[against]} {whose}", ylabel=f"{name} on the training rows", title=self.name)
        _scale(ax, across, drawn, whole=against != "seconds")
        ax.grid(alpha=0.3)
        if len(drawn) > 1:
            labelled = labelled_lines(ax)
            legend_below(ax, labelled[:4], labelled[4:])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_many(self, ax: Axes, across: NDArray[np.float64], runs: Runs) -> None:
        """Draw every run faintly, and their median."""
        value, longer = self.history["value"], long_runs(runs)
        labels = {"line": f"{len(longer)} runs", "cross": f"{len(runs) - len(longer)} runs of one checkpoint"}
        styles: dict[str, dict[str, Any]] = {
            "line": {"alpha": 0.35, "linewidth": 0.8},
            "cross": {"marker": "x", "markersize": 4, "linestyle": "none"},
        }
        for rows in runs.values():
            kind = "line" if rows.size > 1 else "cross"
            self.lines_ += ax.plot(
                across[rows], value[rows], color=GREY, label=labels.pop(kind, None), **styles[kind]
            )
        if longer and "pass" in self.history:
            middle = median_of_runs(self.history["pass"], longer, across, value)
            self.median_line_ = ax.plot(
                *middle, color=BLUE, linewidth=2.0, marker="o", markersize=4.5, label="median of the runs"
            )[0]


def _scale(ax: Axes, across: NDArray[np.float64], runs: Runs, *, whole: bool) -> None:
    """Make the axis logarithmic for epochs that double; otherwise write plain numbers."""
    from matplotlib.ticker import StrMethodFormatter

    shown = across[np.concatenate(list(runs.values()))]
    if shown.min() > 0 and shown.max() > _FAR_APART * shown.min():
        ax.set_xscale("log")
    elif whole:
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def checked_history(history: Mapping[str, Any], *needed: str) -> dict[str, NDArray[np.float64]]:
    """Return a history as equally long arrays; raise an error if a needed column is missing."""
    missing = [name for name in needed if name not in history]
    if missing:
        raise ValueError(f"The history has no column {missing[0]!r}; it has {', '.join(map(repr, history))}.")
    table = {name: np.asarray(column, dtype=np.float64) for name, column in history.items()}
    shapes = {name: column.shape for name, column in table.items()}
    if len(set(shapes.values())) != 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise ValueError(f"The columns of a history must be equally long; they have the shapes {shapes}.")
    if next(iter(table.values())).size == 0:
        raise ValueError("The history is empty: there is nothing to draw.")
    return table


def split_runs(history: Mapping[str, NDArray[np.float64]], wanted: Iterable[int] | None = None) -> Runs:
    """Return the rows of each run, in the order they were written; a fit without runs is run 0."""
    numbers = history["run"] if "run" in history else np.zeros(next(iter(history.values())).size)
    known = {int(number): np.flatnonzero(numbers == number) for number in np.unique(numbers)}
    if wanted is None:
        return known
    wanted = list(wanted)
    if not wanted or any(number not in known for number in wanted):
        raise ValueError(f"runs={wanted} must name runs of the history, which has {min(known)} to {max(known)}.")
    return {number: known[number] for number in wanted}


def long_runs(runs: Runs) -> Runs:
    """Return the runs with more than one checkpoint: a start without sharpening has only one."""
    return {number: rows for number, rows in runs.items() if rows.size > 1}


def median_of_runs(
    passes: NDArray[np.float64], runs: Runs, *columns: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return the median of each column over the runs, pass by pass, for passes that at least half of them have."""
    rows = np.concatenate(list(runs.values()))
    found, counts = np.unique(passes[rows], return_counts=True)
    met = [rows[passes[rows] == one] for one in found[counts >= 0.5 * len(runs)]]
    return [np.array([np.median(column[some]) for some in met]) for column in columns]


def _seconds_in_run(history: Mapping[str, NDArray[np.float64]], runs: Runs) -> NDArray[np.float64]:
    """Return the seconds since a run began: since the row before its first row was written."""
    seconds = history["seconds"].copy()
    for rows in runs.values():
        first = rows[0]
        seconds[rows] -= history["seconds"][first - 1] if first > 0 else 0.0
    return seconds
