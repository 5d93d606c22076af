"""The confusion matrix of any number of classes, with recall and precision of each class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..counts import Counts, effective_points
from ..decisions.intervals import lower_bound
from ._style import BLUE, GREY, VERMILLION, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ERROR = 0.025  # on each side of an interval
_MOST_NUMBERS = 15  # with more classes the cells hold no numbers


class ConfusionDisplay:
    """The confusion matrix as a heat map, and beside it recall and precision of each class with 95% intervals.

    Parameters
    ----------
    counts : Counts
        ``counts_`` of a DecisionRule, or ``Counts.of_labels``.
    labels : array, optional
        Names of the classes; their numbers unless given.

    Attributes
    ----------
    ax_, rates_ax_, figure_ : matplotlib's axes and figure
    recall_, precision_ : arrays of shape (n_classes,)
    recall_interval_, precision_interval_ : arrays of shape (n_classes, 2)
        Clopper-Pearson intervals, from the effective number of rows.

    Examples
    --------
    >>> from ratewise.plots import ConfusionDisplay
    >>> display = ConfusionDisplay.from_predictions([0, 1, 1, 2], [0, 1, 2, 2])
    >>> display.recall_
    array([1. , 0.5, 1. ])
    """

    def __init__(self, counts: Counts, *, labels: ArrayLike | None = None):
        table = np.asarray(counts.weights, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            raise ValueError(f"counts must be a table [true, predicted] without groups; got shape {table.shape}.")
        self.counts = counts
        self.labels = np.arange(table.shape[0]) if labels is None else np.asarray(labels)
        if self.labels.shape != table.shape[:1]:
            raise ValueError(f"There are {table.shape[0]} classes and {self.labels.size} labels.")
        squares = np.asarray(counts.squared(), dtype=np.float64)
        right = np.diagonal(table)
        self.recall_, self.recall_interval_ = _shares(right, table.sum(axis=1), squares.sum(axis=1))
        self.precision_, self.precision_interval_ = _shares(right, table.sum(axis=0), squares.sum(axis=0))

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the decisions for rows whose classes are known."""
        true, predicted = np.asarray(y_true), np.asarray(y_pred)
        if true.ndim != 1 or true.shape != predicted.shape or not true.size:
            raise ValueError(
                f"y_true and y_pred must be one-dimensional and equally long; got {true.shape} and "
                f"{predicted.shape}."
            )
        labels = np.unique(np.concatenate([true, predicted]))
        codes = [np.searchsorted(labels, one) for one in (true, predicted)]
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        counts = Counts.of_labels(codes[0], codes[1], weights, n_classes=labels.size)
        return cls(counts, labels=labels).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the decisions of a fitted classifier, or of a DecisionRule for probabilities X."""
        return cls.from_predictions(y, estimator.predict(X), sample_weight=sample_weight, ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on these axes, or on new ones; recall and precision get new axes beside them."""
        table = np.asarray(self.counts.weights, dtype=np.float64)
        n_classes = self.labels.size
        side = min(3.0 + 0.45 * n_classes, 9.0)
        ax = axes_for(ax, (1.8 * side, side))
        from mpl_toolkits.axes_grid1 import make_axes_locatable  # type: ignore[import-untyped]

        shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
        ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        places, names = np.arange(n_classes), [str(label) for label in self.labels.tolist()]
        if n_classes <= _MOST_NUMBERS:
            for (true, predicted), weight in np.ndenumerate(table):
                colour = "white" if shares[true, predicted] > 0.5 else "black"
                ax.text(predicted, true, f"{weight:,.4g}", ha="center", va="center", color=colour)
        ax.set_xticks(places, names)
        ax.set_yticks(places, names)
        ax.set_xlabel("predicted class")
        ax.set_ylabel("true class")

        beside = make_axes_locatable(ax).append_axes("right", size="80%", pad=0.25)
        for offset, colour, name, values, ends in (
            (-0.15, BLUE, "recall", self.recall_, self.recall_interval_),
            (0.15, VERMILLION, "precision", self.precision_, self.precision_interval_),
        ):
            beside.hlines(places + offset, ends[:, 0], ends[:, 1], color=colour, linewidth=1.5)
            beside.plot(values, places + offset, "o" if offset < 0 else "s", color=colour, label=name)
        beside.set_ylim(ax.get_ylim())
        beside.set_xlim(-0.02, 1.02)
        beside.set_yticks(places, [""] * n_classes)
        beside.grid(axis="x", color=GREY, alpha=0.3)
        beside.set_xlabel("with 95% intervals")
        beside.legend(loc="best")
        self.ax_, self.rates_ax_, self.figure_ = ax, beside, ax.get_figure(root=True)
        return self


def _shares(
    right: NDArray[np.float64], totals: NDArray[np.float64], squares: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares of correct rows, and their intervals; from 0 to 1 if there are no rows."""
    values = right / np.maximum(totals, 1e-300)
    points = np.asarray(effective_points(totals, squares))
    low = lower_bound(values * points, points, _ERROR)
    high = 1.0 - lower_bound((1.0 - values) * points, points, _ERROR)
    ends = np.column_stack([np.where(points > 0, low, 0.0), np.where(points > 0, high, 1.0)])
    return values, ends
