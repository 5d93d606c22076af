"""The measure at every threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..decisions.cuts import BestThreshold, Cuts, best_threshold, rates_at
from ..decisions.labelled import LabelledScores
from ..measures import Measure, get_measure, measure_name
from ._scores import ScoresDisplay
from ._style import BLUE, GREEN, ORANGE, SKY, VERMILLION, axes_for, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_STEPS = 4000  # more than a screen has pixels
_EDGE_SHARE = 0.02


class ThresholdDisplay(ScoresDisplay):
    """The measure against the threshold: what another threshold would gain or cost.

    Parameters
    ----------
    measure : str or Measure
    thresholds : array
        Increasing thresholds. The rates do not change between one and the next. The first is -inf: all rows are
        predicted positive.
    values, tpr, tnr : arrays
        The measure and the rates from each threshold to the next.
    best : BestThreshold
        The exact best threshold of these rows.
    chosen : BestThreshold
        The threshold in use, with its value and rates; the best one if none is in use.
    name : str, optional
        The name of the model.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure
    curve_, tpr_curve_, tnr_curve_ : Line2D
        The last two are None unless drawn.
    chosen_mark_, best_mark_ : Line2D
        The second is None if the chosen threshold is the best.

    Examples
    --------
    >>> from ratewise.plots import ThresholdDisplay
    >>> display = ThresholdDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], measure="f1")
    >>> display.chosen.threshold
    0.5
    """

    def __init__(
        self,
        *,
        measure: str | Measure,
        thresholds: NDArray[Any],
        values: NDArray[Any],
        tpr: NDArray[Any],
        tnr: NDArray[Any],
        best: BestThreshold,
        chosen: BestThreshold | None = None,
        name: str | None = None,
    ):
        self.measure = get_measure(measure)
        self.thresholds = thresholds
        self.values = values
        self.tpr = tpr
        self.tnr = tnr
        self.best = best
        self.chosen = best if chosen is None else chosen
        self.name = name

    @classmethod
    def _of_scores(cls, rows: LabelledScores, measure: Measure, threshold: float | None) -> Self:
        cuts = Cuts(*rows, measure)
        chosen = None
        if threshold is not None:
            at = rates_at(*rows, threshold)
            chosen = BestThreshold(float(threshold), float(measure.value(*at)), at)
        best, thresholds = best_threshold(*rows, measure), np.concatenate([[-np.inf], np.unique(rows.scores)])
        return cls(
            measure=measure,
            thresholds=thresholds,
            values=cuts.values[::-1],
            tpr=cuts.tpr[::-1],
            tnr=cuts.tnr[::-1],
            best=best,
            chosen=chosen,
        )

    def plot(self, ax: Axes | None = None, *, rates: bool = True) -> Self:
        """Draw on these axes, or on new ones; ``rates`` adds the TPR and the TNR."""
        ax = axes_for(ax, (6.4, 4.8))
        shown = self._shown()
        low, high = self._limits()
        name = measure_name(self.measure)
        values = np.where(np.isfinite(self.values), self.values, np.nan)
        self.curve_ = self._steps(ax, values, shown, color=BLUE, linewidth=2.0, zorder=2.5, label=name)
        self.tpr_curve_ = self.tnr_curve_ = None
        if rates:
            self.tpr_curve_ = self._steps(ax, self.tpr, shown, color=SKY, linestyle="--", label="TPR")
            self.tnr_curve_ = self._steps(ax, self.tnr, shown, color=ORANGE, linestyle="-.", label="TNR")
        self._mark_thresholds(ax)
        ax.set(xlabel="threshold on the score", ylabel=f"{name}, TPR, TNR" if rates else name, title=self.name)
        ax.set_xlim(low, high)
        ax.grid(alpha=0.3)
        curves = [self.curve_, self.tpr_curve_, self.tnr_curve_]
        marks = [self.chosen_mark_, self.best_mark_]
        legend_below(ax, *([line for line in row if line is not None] for row in (curves, marks)))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark_thresholds(self, ax: Axes) -> None:
        ax.axvline(self.chosen.threshold, color=VERMILLION, linewidth=1.2, linestyle=":")
        is_best = self.chosen.value >= self.best.value - 1e-12
        self.chosen_mark_ = _mark(
            ax,
            self.chosen,
            "chosen, the best here" if is_best else "chosen",
            color=VERMILLION,
            marker="o",
            markersize=8,
        )
        self.best_mark_ = None
        if not is_best:
            self.best_mark_ = _mark(
                ax,
                self.best,
                "best here",
                color=GREEN,
                marker="D",
                markersize=9,
                markerfacecolor="none",
                markeredgewidth=1.8,
            )

    def _steps(self, ax: Axes, values: NDArray[Any], shown: NDArray[np.intp], **style: Any) -> Any:
        """Draw a line that is flat from each threshold to the next, and beyond the last."""
        low, high = self._limits()
        edges = self.thresholds[shown].astype(np.float64)
        edges[0] = min(low, self.thresholds[1] - 1e-9 * (high - low))
        last = max(high, edges[-1])
        return ax.plot(
            np.append(edges, last), np.append(values[shown], values[-1]), drawstyle="steps-post", **style
        )[0]

    def _shown(self) -> NDArray[np.intp]:
        """Return as many steps as can be seen, including the best one."""
        count = self.thresholds.size
        if count <= _MOST_STEPS:
            return np.arange(count)
        best = int(np.searchsorted(self.thresholds, self.best.threshold, side="right")) - 1
        kept = np.linspace(0, count - 1, _MOST_STEPS).astype(np.intp)
        # The neighbors keep the best step from being drawn wider than it is.
        return np.unique(np.concatenate([kept, np.clip([best - 1, best, best + 1], 0, count - 1)]))

    def _limits(self) -> tuple[float, float]:
        """Return the limits of the axis, without the outermost scores of either class, which may be extreme."""
        all_positive = (self.tnr < _EDGE_SHARE) & (self.tpr > 1.0 - _EDGE_SHARE)
        none_positive = (self.tpr < _EDGE_SHARE) & (self.tnr > 1.0 - _EDGE_SHARE)
        ends = [self.chosen.threshold, self.best.threshold, *self.thresholds[~all_positive & ~none_positive]]
        if none_positive.any():
            ends.append(self.thresholds[none_positive].min())
        ends = [end for end in ends if np.isfinite(end)]
        low, high = float(min(ends)), float(max(ends))
        margin = 0.05 * (high - low) or 1.0
        return low - margin, high + margin


def _mark(ax: Axes, at: BestThreshold, name: str, **style: Any) -> Any:
    label = f"{name}: {at.value:.3f} at {at.threshold:.3g}"
    return ax.plot([at.threshold], [at.value], linestyle="none", zorder=3, label=label, **style)[0]
