"""The curves and pairs of a model: the contribution of each column to the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ._style import BLUE, DARK_GREY, GREY, VERMILLION, axes_for
from ._terms import NORMAL_95, Axis, Curve, Pair, Shapes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PER_ROW = 3
_PANEL = (4.2, 3.3)  # inches
_ROOM = 30  # letters below a panel
_DENSITY_SHARE = 0.2  # of the height of a panel


class ShapesDisplay:
    """A panel per column and per pair of columns, the most important first.

    Parameters
    ----------
    curves : list of Curve
        The contribution of each column to the score, at each of its values.
    pairs : list of Pair
        The joint contributions of two columns.
    positive : str
        The class whose score is shown.
    note : str
        The data behind the density and the band, and the columns that are not shown.

    Attributes
    ----------
    figure_ : matplotlib's figure
    axes_ : dict of axes by the name of the column or pair
    density_axes_ : dict of axes by name
        The axes below the curves, which show the density of the data. Empty without data.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise import MeasureClassifier
    >>> from ratewise.plots import shapes
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = MeasureClassifier("f1", basis="splines", random_state=0).fit(X, y)
    >>> display = shapes(classifier, X, most=4)
    >>> len(display.axes_)
    4
    """

    def __init__(self, *, curves: list[Curve], pairs: list[Pair], positive: str, note: str = ""):
        self.curves, self.pairs = curves, pairs
        self.positive = positive
        self.note = note

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, most: int = 12, columns: Any = None, label: Any = None
    ) -> Self:
        """Draw a fitted classifier; see :func:`shapes`."""
        if not isinstance(most, int) or most < 1:
            raise ValueError(f"most must be a whole number of 1 or more; got {most!r}.")
        found = Shapes(estimator, X, label)
        if columns is None:
            curves, pairs = found.curves(), found.pairs(most)
        else:
            wanted = [columns] if isinstance(columns, str) else [str(name) for name in columns]
            unknown = [name for name in wanted if name not in found.names]
            if unknown:
                raise ValueError(f"columns: the model has no column {unknown[0]!r}. It has {found.names[:20]}.")
            curves, pairs = found.curves(wanted), []
        shown = _by_importance(curves, pairs)[:most]
        return cls(
            curves=[one for one in shown if isinstance(one, Curve)],
            pairs=[one for one in shown if isinstance(one, Pair)],
            positive=found.positive,
            note=found.note,
        ).plot()

    def plot(self, figure: Any = None) -> Self:
        """Draw on this figure, or on a new one."""
        shown = _by_importance(self.curves, self.pairs)
        if not shown:
            raise ValueError("There is nothing to draw: the model has no column of numbers or categories.")
        per_row = min(_PER_ROW, len(shown))
        rows = -(-len(shown) // per_row)
        if figure is None:
            axes_for_figure = axes_for(None, (per_row * _PANEL[0], rows * _PANEL[1]))
            figure = axes_for_figure.figure
            axes_for_figure.remove()
        self.figure_ = figure
        self.axes_: dict[str, Any] = {}
        self.density_axes_: dict[str, Any] = {}
        cells = figure.add_gridspec(rows, per_row)
        ends = self._ends()
        darkest = max((float(np.abs(pair.values).max()) for pair in self.pairs), default=1.0)
        for place, one in enumerate(shown):
            cell = cells[place // per_row, place % per_row]
            if isinstance(one, Pair):
                self._draw_pair(figure.add_subplot(cell), one, darkest)
            else:
                self._draw_curve(figure.add_subplot(cell), one, ends)
        figure.suptitle(f"What each column adds to the score of {self.positive}")
        figure.supxlabel(self.note, fontsize="small", color=DARK_GREY)
        return self

    def _ends(self) -> tuple[float, float]:
        """Return the limits of all curves: one scale, so that panels can be compared."""
        values = np.concatenate([*(one.values for one in self.curves), [0.0]])
        low, high = float(values.min()), float(values.max())
        margin = 0.12 * (high - low) or 1.0
        return low - margin, high + margin

    def _draw_curve(self, ax: Axes, curve: Curve, ends: tuple[float, float]) -> None:
        density = curve.density()
        shares = curve.axis.shares if curve.points is None else None
        below = None
        if density is not None or shares is not None:
            below = ax.inset_axes((0.0, -_DENSITY_SHARE - 0.02, 1.0, _DENSITY_SHARE), sharex=ax)
            self.density_axes_[curve.name] = below
            ax.tick_params(labelbottom=False)
        self.axes_[curve.name] = ax
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        points = np.arange(len(curve.labels)) if curve.points is None else curve.points
        self._draw_values(ax, curve, points)
        if curve.missing is not None:
            ax.plot([1.0], [curve.missing], marker="D", color=VERMILLION, linestyle="none", clip_on=False,
                    transform=ax.get_yaxis_transform(), zorder=4)  # fmt: skip
            from matplotlib.patheffects import withStroke

            halo = [withStroke(linewidth=3, foreground=ax.get_facecolor())]  # a curve may pass behind
            ax.annotate("missing", (1.0, curve.missing), xycoords=ax.get_yaxis_transform(), xytext=(-8, 5),
                        textcoords="offset points", ha="right", fontsize="small", color=VERMILLION,
                        path_effects=halo, zorder=5)  # fmt: skip
        ax.set_ylim(*ends)
        ax.set_title(curve.name, fontsize="medium")
        ax.grid(alpha=0.3)
        lowest = ax if below is None else below
        _name_ticks(lowest, "x", curve.axis, points)
        if below is None:
            return
        if density is not None:
            edges, share = density
            below.stairs(share, edges, fill=True, color=GREY)
        elif shares is not None:
            below.bar(points, shares, color=GREY, width=0.6)
        below.set_yticks([])
        below.set_ylim(0.0, None)

    @staticmethod
    def _draw_values(ax: Axes, curve: Curve, points: Any) -> None:
        band = None if curve.deviations is None else NORMAL_95 * curve.deviations
        if curve.points is None:
            ax.errorbar(points, curve.values, yerr=band, fmt="o", color=BLUE, capsize=3)
            ax.set_xlim(-0.6, len(points) - 0.4)
            return
        if band is not None:
            ax.fill_between(points, curve.values - band, curve.values + band, color=BLUE, alpha=0.2, linewidth=0)
        ax.plot(points, curve.values, color=BLUE, linewidth=2.0)
        ax.set_xlim(points[0], points[-1])

    def _draw_pair(self, ax: Axes, pair: Pair, darkest: float) -> None:
        across = np.arange(len(pair.first.labels)) if pair.first.points is None else pair.first.points
        up = np.arange(len(pair.second.labels)) if pair.second.points is None else pair.second.points
        mesh = ax.pcolormesh(
            across, up, pair.values, cmap="RdBu_r", vmin=-darkest, vmax=darkest, shading="nearest", rasterized=True
        )
        _name_ticks(ax, "x", pair.first, across)
        _name_ticks(ax, "y", pair.second, up)
        ax.set_title(pair.name, fontsize="medium")
        ax.set_xlabel(pair.first.name)
        ax.set_ylabel(pair.second.name)
        bar = self.figure_.colorbar(mesh, cax=ax.inset_axes((1.03, 0.0, 0.05, 1.0)))
        bar.set_ticks([-darkest, 0.0, darkest], labels=[f"{-darkest:.2g}", "0", f"{darkest:.2g}"])
        bar.ax.tick_params(labelsize="small", labelcolor=DARK_GREY)
        self.axes_[pair.name] = ax


def shapes(model: Any, X: Any = None, *, most: int = 12, columns: Any = None, label: Any = None) -> ShapesDisplay:
    """Draw what each column, and each pair of columns, adds to the score, the most important first.

    A column of numbers has a curve, a category has a point per value, and a pair of columns has a heat map. All
    curves have the same scale, and contributions are relative to the mean of the column. Below each curve is the
    density of the data. Around the curve is a band of 95%, from the curvature of the logistic loss on these rows.

    Parameters
    ----------
    model : MeasureClassifier, or a pipeline or search that ends in one
    X : rows, optional
        Rows for the density and the band, for example those of the fit; no labels. Without rows the density comes
        from the 21 quantiles of each column that a basis keeps, and there is no band. A model without a basis then
        has no density.
    most : int
        The largest number of panels.
    columns : str or list of str, optional
        Draw these columns only, and no pairs.
    label : class or number of a label, optional
        With more than two classes, or several labels: the one whose score is drawn.

    Returns
    -------
    ShapesDisplay
        ``figure_`` is the figure; ``curves`` and ``pairs`` hold the numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise import MeasureClassifier
    >>> from ratewise.plots import shapes
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = MeasureClassifier("f1", basis="splines", random_state=0).fit(X, y)
    >>> list(shapes(classifier, X, columns="worst area").axes_)
    ['worst area']
    """
    return ShapesDisplay.from_estimator(model, X, most=most, columns=columns, label=label)


def _by_importance(curves: list[Curve], pairs: list[Pair]) -> list[Curve | Pair]:
    shown: list[Curve | Pair] = [*curves, *pairs]
    return sorted(shown, key=lambda one: -one.importance)


def _name_ticks(ax: Axes, side: str, axis: Axis, places: Any) -> None:
    """Write the names of the values of a category or a date; rotate names that would overlap."""
    named = [*zip(places, axis.labels, strict=False)] if axis.points is None else axis.ticks
    if not named:
        return
    shown = [_shortened(label) for _, label in named]
    (ax.set_xticks if side == "x" else ax.set_yticks)([place for place, _ in named], shown)
    if side == "x" and len(named) > 2 and sum(map(len, shown)) > _ROOM:
        ax.tick_params(axis="x", rotation=90 if len(named) > 8 else 30)


def _shortened(label: str) -> str:
    return label if len(label) <= 14 else f"{label[:13]}\N{HORIZONTAL ELLIPSIS}"
