"""What all pictures share: colours, axes, legends and names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..measures import Measure, get_measure, measure_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

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

_LEGEND_DROP = 42.0  # points below the axes: clear of tick labels and the axis label


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


def legend_below(ax: Axes, columns: int = 2) -> Legend:
    """A legend under the axes, where it hides nothing."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None
    below = ax.transAxes + ScaledTranslation(0.0, -_LEGEND_DROP / 72.0, figure.dpi_scale_trans)
    return ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below,
        ncols=columns,
        frameon=False,
        borderaxespad=0.0,
    )


def measure_name(measure: Measure) -> str:
    """The registry's name of a measure where it has one, its label otherwise."""
    for name in measure_names():
        if get_measure(name) == measure:
            return name
    return measure.label


def model_name(estimator: Any, name: str | None) -> str:
    return type(estimator).__name__ if name is None else name
