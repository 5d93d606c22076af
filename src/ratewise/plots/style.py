"""What all pictures share: colours, axes, legends and names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..measures import Measure, get_measure, measure_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Okabe and Ito's colours, which readers of every kind of colour vision tell apart. Markers and dashes differ too.
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

# In font sizes: the legend begins so far below the axes, clear of tick labels and the axis label, and its rows are
# so far apart.
_LEGEND_DROP = 4.2
_LEGEND_ROW = 1.7


def axes_for(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or those of a new figure of this size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ModuleNotFoundError(
            'Plots need matplotlib: pip install "ratewise[plots]"', name="matplotlib"
        ) from error
    if ax is not None:
        return ax
    return plt.subplots(figsize=size, layout="constrained")[1]


def legend_below(ax: Axes, *rows: Sequence[Line2D]) -> None:
    """A legend under the axes, where it hides nothing: rows of labelled lines, each row centred."""
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
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=below,
            ncols=len(row),
            frameon=False,
            borderpad=0.0,
            borderaxespad=0.0,
        )
        for handle in legend.legend_handles:
            if handle is not None:
                handle.set_alpha(1.0)  # what is faint in the picture must be readable here
        if place + 1 < len(filled):
            ax.add_artist(legend)  # the next legend would take its place


def measure_name(measure: Measure) -> str:
    """The registry's name of a measure where it has one, its label otherwise."""
    for name in measure_names():
        if get_measure(name) == measure:
            return name
    return measure.label


def model_name(estimator: Any, name: str | None) -> str:
    """The name given, or the class of the classifier, the last step of a pipeline."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return type(last).__name__ if name is None else name
