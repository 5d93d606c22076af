"""The common style of the displays: colours, axes, legends, names and level curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, measure_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet
    from matplotlib.lines import Line2D

# Okabe and Ito's colours, distinguishable with every kind of colour vision. Markers and dashes differ too.
BLACK = "#000000"
BLUE = "#0072B2"
GREEN = "#009E73"
ORANGE = "#E69F00"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
VERMILLION = "#D55E00"
LINES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
GREY = "#8C8C8C"
DARK_GREY = "#595959"

# In font sizes: the distance of the legend from the axes, clear of tick labels and axis label, and of its rows.
_LEGEND_DROP = 4.2
_LEGEND_ROW = 1.7

_GRID = 241
# The size of the labels of level curves, in points.
_LABEL_HEIGHT, _CHARACTER_WIDTH, _LABEL_GAP = 14.0, 5.3, 6.0


def axes_for(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the axes given, or those of a new figure of this size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ModuleNotFoundError(
            'Plots need matplotlib: pip install "ratewise[plots]"', name="matplotlib"
        ) from error
    return ax if ax is not None else plt.subplots(figsize=size, layout="constrained")[1]


def legend_below(ax: Axes, *rows: Sequence[Line2D]) -> None:
    """Add a legend under the axes, where it hides nothing: rows of lines, each row centered."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties
    from matplotlib.transforms import ScaledTranslation

    font_size = FontProperties(size=rcParams["legend.fontsize"]).get_size_in_points()
    figure = ax.get_figure(root=True)
    assert figure is not None
    filled = [row for row in rows if row]
    for place, row in enumerate(filled):
        drop = font_size * (_LEGEND_DROP + place * _LEGEND_ROW)
        below = ax.transAxes + ScaledTranslation(0.0, -drop / 72.0, figure.dpi_scale_trans)
        legend = ax.legend(
            handles=row,
            ncols=len(row),
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=below,
            frameon=False,
            borderpad=0.0,
            borderaxespad=0.0,
        )
        for handle in legend.legend_handles:
            if handle is not None:
                handle.set_alpha(1.0)  # lines that are faint in the plot must be readable here
        if place + 1 < len(filled):
            ax.add_artist(legend)  # the next legend would replace it


def labelled_lines(ax: Axes) -> list[Line2D]:
    """Return the lines of the axes that have a label."""
    return [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]


def model_name(estimator: Any, name: str | None) -> str:
    """Return the name given, or the class name of the classifier (the last step of a pipeline)."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return type(last).__name__ if name is None else name


class PlaneWindow(NamedTuple):
    """A part of the plane."""

    low_tpr: float
    high_tpr: float
    low_tnr: float
    high_tnr: float


def draw_level_curves(
    ax: Axes, measure: Measure, prevalence: float, window: PlaneWindow, *, number: int, avoid: float | None
) -> QuadContourSet:
    """Draw about ``number`` level curves, with their levels at the edges of the axes, where they hide nothing.

    ``avoid`` is the TPR at which the frontier crosses the lower edge.
    """
    from matplotlib.ticker import MaxNLocator

    tpr = np.linspace(window.low_tpr, window.high_tpr, _GRID)
    tnr = np.linspace(window.low_tnr, window.high_tnr, _GRID)
    across, up = np.meshgrid(tpr, tnr)
    values = np.asarray(measure.value(across, up, prevalence), dtype=np.float64)
    finite = values[np.isfinite(values)]
    lowest, highest = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    if lowest == highest:
        raise ValueError(
            f"{measure.label} has no level curves here: it is the same all over this part of the plane."
        )
    rounding = 1e-9 * (highest - lowest)
    lowest, highest = lowest + rounding, highest - rounding
    ticks = np.asarray(MaxNLocator(number, steps=[1, 2, 2.5, 5, 10]).tick_values(lowest, highest))
    levels = ticks[(ticks > lowest) & (ticks < highest)]
    curves = ax.contour(across, up, np.ma.masked_invalid(values), levels=levels, colors=GREY, linewidths=0.8)
    ax.plot([], [], color=GREY, linewidth=0.8, label=f"levels of {measure_name(measure)}")
    _write_levels(ax, levels, tpr, tnr, values, avoid)
    return curves


def _write_levels(
    ax: Axes, levels: NDArray[Any], tpr: NDArray[Any], tnr: NDArray[Any], values: NDArray[Any], avoid: float | None
) -> None:
    """Write each level above the axes if its curve ends there, else to the right, else inside at the bottom."""
    from matplotlib.patheffects import withStroke

    digits = max(len(f"{level:.6f}".rstrip("0").split(".")[1]) for level in levels)
    at_top, at_right, at_bottom = {}, {}, {}
    for level in levels:
        text = f"{level:.{max(digits, 1)}f}"
        if (place := _crossing(tpr, values[-1], level)) is not None:
            at_top[place] = text
        elif (place := _crossing(tnr, values[:, -1], level)) is not None:
            at_right[place] = text
        elif (place := _crossing(tpr, values[0], level)) is not None:
            at_bottom[place] = text
    point_across, point_up = _point_size(ax, tpr, tnr)
    width = point_across * (_CHARACTER_WIDTH * (digits + 2) + _LABEL_GAP)
    _write_outside(ax, _without_overlap(at_top, width), top=True)
    _write_outside(ax, _without_overlap(at_right, point_up * _LABEL_HEIGHT), top=False)
    for place, text in _without_overlap(at_bottom, width).items():
        crossed = avoid is not None and place - width < avoid < place + point_across * _LABEL_GAP
        if place - width > tpr[0] and not crossed:
            ax.annotate(
                text,
                (place, 0.0),
                xycoords=ax.get_xaxis_transform(),
                xytext=(-3, 4),
                textcoords="offset points",
                ha="right",
                color=DARK_GREY,
                fontsize="small",
                path_effects=[withStroke(linewidth=3, foreground="white")],
            )


def _point_size(ax: Axes, tpr: NDArray[np.float64], tnr: NDArray[np.float64]) -> tuple[float, float]:
    """Return a typographic point in the units of the axes; approximate, since the layout still shrinks them."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    extent = ax.get_window_extent()
    points = 0.75 * min(extent.width, extent.height) * 72.0 / figure.dpi
    return (tpr[-1] - tpr[0]) / points, (tnr[-1] - tnr[0]) / points


def _crossing(places: NDArray[np.float64], values: NDArray[np.float64], level: float) -> float | None:
    """Return the place where the values along an edge first cross the level."""
    above = values > level
    crossings = np.flatnonzero((above[1:] != above[:-1]) & np.isfinite(values[1:]) & np.isfinite(values[:-1]))
    if crossings.size == 0:
        return None
    k = int(crossings[0])
    share = (level - values[k]) / (values[k + 1] - values[k])
    return float(places[k] + share * (places[k + 1] - places[k]))


def _without_overlap(texts: dict[float, str], least: float) -> dict[float, str]:
    """Drop labels that would touch their neighbor."""
    kept: dict[float, str] = {}
    for place in sorted(texts, reverse=True):
        if not kept or min(kept) - place >= least:
            kept[place] = texts[place]
    return kept


def _write_outside(ax: Axes, texts: dict[float, str], *, top: bool) -> None:
    """Write the tick labels of a secondary axis, so that titles are placed clear of them."""
    if not texts:
        return
    side = ax.secondary_xaxis("top") if top else ax.secondary_yaxis("right")
    (side.set_xticks if top else side.set_yticks)(list(texts), list(texts.values()))
    side.minorticks_off()
    side.tick_params(length=3, color=GREY, labelcolor=DARK_GREY, labelsize="small")
