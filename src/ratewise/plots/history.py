"""The measure on the way of a fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, get_measure
from .rows import innermost, measure_of
from .style import BLUE, LINES, axes_for, legend_below, measure_name, model_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AXIS_LABELS = {
    "points": "points seen in a run",
    "seconds": "seconds since the fit began",
    "pass": "passes in a run",
}
_FEW_RUNS = len(LINES)


class HistoryDisplay:
    """How the measure grew with the points seen, or with time.

    A default fit makes many runs, one for each fold and start, and each is a line; a start that is not sharpened
    is a dot. The values are those of ``history_``: on the rows the fit learned from, so above what to expect on
    new rows.

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
            The horizontal axis.
        runs : iterable of int, optional
            The runs to draw, by their numbers in the history; all unless given.
        """
        if against not in _AXIS_LABELS:
            raise ValueError(f"against must be one of {', '.join(map(repr, _AXIS_LABELS))}; got {against!r}.")
        across = checked_history(self.history, against)[against]
        chosen = split_runs(self.history, runs)
        ax = axes_for(ax, (6.4, 4.6))
        few = len(chosen) <= _FEW_RUNS
        self.lines_ = [
            ax.plot(
                across[rows],
                self.history["value"][rows],
                color=LINES[place] if few else BLUE,
                alpha=1.0 if few else 0.35,
                linewidth=1.6 if few else 0.9,
                marker="os^Dv<>"[place] if few else "o",
                markersize=4 if few else 2.5,
                label=f"run {number}" if few else (f"{len(chosen)} runs" if place == 0 else None),
            )[0]
            for place, (number, rows) in enumerate(chosen.items())
        ]
        name = "value" if self.measure is None else measure_name(self.measure)
        ax.set(xlabel=_AXIS_LABELS[against], ylabel=f"{name} on the training rows", title=self.name)
        ax.grid(alpha=0.3)
        if len(chosen) > 1:
            legend_below(ax, columns=min(len(chosen), 4))
        self.ax_, self.figure_ = ax, ax.figure
        return self


def checked_history(history: Mapping[str, Any], *needed: str) -> dict[str, NDArray[np.float64]]:
    """A history as equally long arrays, with the columns that are needed."""
    missing = [name for name in needed if name not in history]
    if missing:
        raise ValueError(f"The history has no column {missing[0]!r}; it has {', '.join(map(repr, history))}.")
    table = {name: np.asarray(column, dtype=np.float64) for name, column in history.items()}
    lengths = {name: column.shape for name, column in table.items()}
    if len(set(lengths.values())) != 1 or any(len(shape) != 1 for shape in lengths.values()):
        raise ValueError(f"The columns of a history must be equally long; they have the shapes {lengths}.")
    if table[next(iter(table))].size == 0:
        raise ValueError("The history is empty: there is nothing to draw.")
    return table


def split_runs(
    history: Mapping[str, NDArray[np.float64]], wanted: Iterable[int] | None = None
) -> dict[int, NDArray[np.intp]]:
    """The rows of each run, in the order they were written; a fit without runs is run 0."""
    run = history.get("run")
    numbers = np.zeros(len(history["value"])) if run is None else run
    known = {int(number): np.flatnonzero(numbers == number) for number in np.unique(numbers)}
    if wanted is None:
        return known
    wanted = list(wanted)
    strangers = [number for number in wanted if number not in known]
    if strangers or not wanted:
        raise ValueError(f"runs={wanted} must name runs of the history: {min(known)} to {max(known)}.")
    return {number: known[number] for number in wanted}
