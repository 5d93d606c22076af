"""The plane of the two rates, with the level curves of a measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..decisions.cuts import Cuts, best_threshold, rates_at
from ..decisions.labelled import LabelledScores
from ..measures import Measure, Rates, get_measure, measure_name
from ._scores import ScoredRows, ScoresDisplay, inner_classifier
from ._style import (
    BLACK,
    BLUE,
    SKY,
    VERMILLION,
    PlaneWindow,
    axes_for,
    draw_level_curves,
    labelled_lines,
    legend_below,
)
from .history import FEW_RUNS, Runs, checked_history, long_runs, median_of_runs, split_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RING = "\N{WHITE CIRCLE}"


class Frontier(NamedTuple):
    """The rates at every threshold of a model's scores."""

    tpr: NDArray[np.float64]
    tnr: NDArray[np.float64]


class RatesPlaneDisplay(ScoresDisplay):
    """A fit in the plane of TPR and TNR, over the level curves of its measure.

    The frontier shows the rates at other thresholds: the ROC curve. The chosen threshold is the best one if its
    point lies on the highest level curve that the frontier touches. A path is drawn if the estimator is, or
    contains, a MeasureClassifier.

    Parameters
    ----------
    measure : str or Measure
    prevalence : float
        The share of positives, on which the level curves of F1 and similar measures depend.
    history : dict of arrays, optional
        The ``history_`` of a fit; its path is drawn, one line per run, with the rates of training rows.
    frontier : Frontier, optional
        The rates (tpr, tnr) at every threshold.
    chosen : Rates, optional
        The rates of the model.
    name : str, optional
        The name of the model.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure
    level_curves_ : QuadContourSet
    frontier_line_, chosen_mark_ : Line2D or None
    path_lines_ : list of Line2D
        One per run.
    median_path_ : Line2D or None
        The median, if there are more runs than can be distinguished.

    Examples
    --------
    >>> from ratewise.plots import RatesPlaneDisplay
    >>> display = RatesPlaneDisplay.from_predictions([0, 1, 0, 1], [0.1, 0.2, 0.6, 0.9], measure="gmean")
    >>> display.ax_.get_xlabel()
    'TPR'
    """

    def __init__(
        self,
        *,
        measure: str | Measure,
        prevalence: float,
        history: Mapping[str, Any] | None = None,
        frontier: Frontier | None = None,
        chosen: Rates | None = None,
        name: str | None = None,
    ):
        self.measure = get_measure(measure)
        if not 0.0 < prevalence < 1.0:
            raise ValueError(f"prevalence must be a share between 0 and 1; got {prevalence!r}.")
        self.prevalence = prevalence
        self.history = None if history is None else checked_history(history, "tpr", "tnr", "value")
        self.frontier = frontier
        self.chosen = chosen
        self.name = name

    @classmethod
    def _of_estimator(cls, estimator: Any, scored: ScoredRows, measure: Measure) -> Self:
        chosen = rates_at(scored.predicted.astype(np.float64), scored.rows.signed_weights, 0.5)
        return cls._at(scored.rows, measure, chosen, getattr(inner_classifier(estimator), "history_", None))

    @classmethod
    def _of_scores(cls, rows: LabelledScores, measure: Measure, threshold: float | None) -> Self:
        chosen = best_threshold(*rows, measure).rates if threshold is None else rates_at(*rows, threshold)
        return cls._at(rows, measure, chosen)

    @classmethod
    def _at(cls, rows: LabelledScores, measure: Measure, chosen: Rates, history: Any = None) -> Self:
        cuts = Cuts(*rows, measure)
        frontier = Frontier(cuts.tpr, cuts.tnr)
        return cls(measure=measure, prevalence=cuts.prevalence, history=history, frontier=frontier, chosen=chosen)

    def plot(
        self, ax: Axes | None = None, *, levels: int = 10, runs: Iterable[int] | None = None, zoom: bool = True
    ) -> Self:
        """Draw on these axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        levels : int
            The approximate number of level curves.
        runs : iterable of int, optional
            The runs whose paths to draw; all unless given.
        zoom : bool
            Whether to show only the part with the path and the chosen point, instead of the whole plane.
        """
        paths = {} if self.history is None else split_runs(self.history, runs)
        ax = axes_for(ax, (6.4, 6.4))
        window = self._window(paths) if zoom else PlaneWindow(0.0, 1.0, 0.0, 1.0)
        ax.set_xlim(window.low_tpr, window.high_tpr + _beyond(window.low_tpr, window.high_tpr))
        ax.set_ylim(window.low_tnr, window.high_tnr + _beyond(window.low_tnr, window.high_tnr))
        crossing = None
        if self.frontier is not None:
            crossing = float(np.max(self.frontier.tpr[self.frontier.tnr >= window.low_tnr], initial=0.0))
        self.level_curves_ = draw_level_curves(
            ax, self.measure, self.prevalence, window, number=levels, avoid=crossing
        )
        self.frontier_line_ = self.chosen_mark_ = None
        if self.frontier is not None:
            self.frontier_line_ = ax.plot(*self.frontier, color=BLACK, linewidth=1.8, label="ROC frontier")[0]
        self._draw_paths(ax, paths)
        if self.chosen is not None:
            label = f"chosen: {measure_name(self.measure)} {float(self.measure.value(*self.chosen)):.3f}"
            self.chosen_mark_ = ax.plot(
                [self.chosen.tpr],
                [self.chosen.tnr],
                color=VERMILLION,
                marker="*",
                markersize=16,
                markeredgecolor="white",
                linestyle="none",
                zorder=5,
                label=label,
            )[0]
        ax.set_box_aspect(1)
        ax.set(xlabel="TPR", ylabel="TNR", title=self.name)
        labelled = labelled_lines(ax)
        legend_below(ax, labelled[:2], labelled[2:4], labelled[4:])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _window(self, paths: Runs) -> PlaneWindow:
        """Return the part of the plane that holds the paths and the chosen point, with room around them."""
        tpr = [] if self.chosen is None else [self.chosen.tpr]
        tnr = [] if self.chosen is None else [self.chosen.tnr]
        for rows in paths.values():
            assert self.history is not None
            tpr += self.history["tpr"][rows].tolist()
            tnr += self.history["tnr"][rows].tolist()
        if not tpr:
            return PlaneWindow(0.0, 1.0, 0.0, 1.0)
        return PlaneWindow(*_widened(min(tpr), max(tpr)), *_widened(min(tnr), max(tnr)))

    def _draw_paths(self, ax: Axes, paths: Runs) -> None:
        """Draw the path of each run; draw many runs faintly, with their median."""
        self.path_lines_, self.median_path_ = [], None
        if self.history is None:
            return
        tpr, tnr = self.history["tpr"], self.history["tnr"]
        few = len(paths) <= FEW_RUNS
        longer = long_runs(paths)
        strong: dict[str, Any] = {"color": BLUE, "linewidth": 1.6, "marker": "o", "markersize": 4}
        faint: dict[str, Any] = {"color": SKY, "linewidth": 0.7, "alpha": 0.35, "marker": ".", "markersize": 2}
        label: str | None = f"path from {_RING} (training rows)" if few else f"paths of {len(paths)} runs"
        for rows in paths.values():
            self.path_lines_ += ax.plot(tpr[rows], tnr[rows], label=label, **(strong if few else faint))
            label = None
        strong_paths = self.path_lines_ if few else []
        if not few and longer and "pass" in self.history:
            middle = median_of_runs(self.history["pass"], longer, tpr, tnr)
            self.median_path_ = ax.plot(*middle, label=f"median path from {_RING} (training rows)", **strong)[0]
            strong_paths = [self.median_path_]
        for line in strong_paths:
            first = np.asarray(line.get_xydata())[0]
            ax.plot(*first, marker="o", markersize=9, color=BLUE, markerfacecolor="white", zorder=3)


def _widened(low: float, high: float) -> tuple[float, float]:
    room = 0.2 * (high - low) if high > low else 0.5 * (1.0 - low)  # a single point: half the way to 1
    room = max(room, 0.01)
    return max(low - room, 0.0), min(high + room, 1.0)


def _beyond(low: float, high: float) -> float:
    """Return the room for a mark at the edge of the plane."""
    return 0.02 * (high - low) if high == 1.0 else 0.0
