"""Level curves of a measure over a part of the plane of rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from .style import DARK_GREY, GREY, measure_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet

_GRID = 241
_LABEL_HEIGHT = 14.0  # in points, as the two that follow
_CHARACTER_WIDTH = 5.3
_GAP = 6.0


class Window(NamedTuple):
    """A part of the plane."""

    low_tpr: float
    high_tpr: float
    low_tnr: float
    high_tnr: float


def draw_level_curves(
    ax: Axes, measure: Measure, prevalence: float, window: Window, *, number: int, avoid: float | None
) -> QuadContourSet:
    """About so many level curves, with their levels written at the edges, where they hide nothing.

    ``avoid`` is the TPR at which something else crosses the lower edge.
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
    masked = np.ma.masked_invalid(values)
    curves = ax.contour(across, up, masked, levels=levels, colors=GREY, linewidths=0.8)
    ax.plot([], [], color=GREY, linewidth=0.8, label=f"levels of {measure_name(measure)}")
    _write_levels(ax, levels, tpr, tnr, values, avoid)
    return curves


def _write_levels(
    ax: Axes,
    levels: NDArray[np.float64],
    tpr: NDArray[np.float64],
    tnr: NDArray[np.float64],
    values: NDArray[np.float64],
    avoid: float | None,
) -> None:
    """Each level above the axes if its curve ends there, else to the right of them, else inside at the bottom."""
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
    point_across, point_up = _size_of_a_point(ax, tpr, tnr)
    width = point_across * (_CHARACTER_WIDTH * (digits + 2) + _GAP)
    _write_outside(ax, _well_apart(at_top, width), top=True)
    _write_outside(ax, _well_apart(at_right, point_up * _LABEL_HEIGHT), top=False)
    for place, text in _well_apart(at_bottom, width).items():
        crossed = avoid is not None and place - width < avoid < place + point_across * _GAP
        if place - width > tpr[0] and not crossed:
            _write_at_the_bottom(ax, place, text)


def _size_of_a_point(ax: Axes, tpr: NDArray[np.float64], tnr: NDArray[np.float64]) -> tuple[float, float]:
    """A typographer's point in the units of the axes; about, since laying out the figure shrinks them yet."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    extent = ax.get_window_extent()
    points = 0.75 * min(extent.width, extent.height) * 72.0 / figure.dpi
    return (tpr[-1] - tpr[0]) / points, (tnr[-1] - tnr[0]) / points


def _crossing(places: NDArray[np.float64], values: NDArray[np.float64], level: float) -> float | None:
    """Where the values along an edge first pass the level."""
    above = values > level
    passes = np.flatnonzero((above[1:] != above[:-1]) & np.isfinite(values[1:]) & np.isfinite(values[:-1]))
    if passes.size == 0:
        return None
    k = int(passes[0])
    share = (level - values[k]) / (values[k + 1] - values[k])
    return float(places[k] + share * (places[k + 1] - places[k]))


def _well_apart(texts: dict[float, str], least: float) -> dict[float, str]:
    """Without labels that would touch their neighbour."""
    kept: dict[float, str] = {}
    for place in sorted(texts, reverse=True):
        if not kept or min(kept) - place >= least:
            kept[place] = texts[place]
    return kept


def _write_outside(ax: Axes, texts: dict[float, str], *, top: bool) -> None:
    """As the tick labels of an axis of its own, so that titles keep clear of them."""
    if not texts:
        return
    if top:
        side = ax.secondary_xaxis("top")
        side.set_xticks(list(texts), list(texts.values()))
    else:
        side = ax.secondary_yaxis("right")
        side.set_yticks(list(texts), list(texts.values()))
    side.minorticks_off()
    side.tick_params(length=3, color=GREY, labelcolor=DARK_GREY, labelsize="small")


def _write_at_the_bottom(ax: Axes, place: float, text: str) -> None:
    from matplotlib.patheffects import withStroke

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
