"""The paper's figures: a measure on test rows against CPU time, one curve per method."""

from __future__ import annotations

from typing import Any

import numpy as np

from ratewise.measures import get_measure

from ..base import Figure, Method, MissingData, Reproduction
from ..comparison import Comparison
from ..datasets import get_data_set
from ..methods import METHODS, PAPERS_OWN
from ..protocol import make_runs, runs_of
from ..results import Curve, mean_curve

_COLUMNS = 4

Panels = tuple[tuple[str, ...], ...]


class CurveFigure(Figure):
    """One panel per data set, in the paper's order.

    A panel that names several data sets shows the first that is available: the paper's, or the one in its place.
    """

    def __init__(self, measure: str, title: str, panels: Panels, quick_panels: Panels):
        self.name = measure
        self.title = title
        self.caption = (
            f"{self.title} on test rows against CPU seconds: the mean over splits, and one standard deviation "
            "to either side. The diamond is ratewise's default fit, which the paper does not have."
        )
        self._panels = panels
        self._quick_panels = quick_panels

    def panels(self, quick: bool) -> Panels:
        return self._quick_panels if quick else self._panels

    def measure(self, reproduction: Reproduction) -> None:
        for names in self.panels(reproduction.quick):
            self._measure_first_available(names, reproduction)

    def _measure_first_available(self, names: tuple[str, ...], reproduction: Reproduction) -> None:
        for name in names:
            data_set = get_data_set(name)
            runs = runs_of(data_set, [self.name], reproduction.splits)
            try:
                make_runs(
                    data_set,
                    runs,
                    reproduction.results,
                    reproduction.data,
                    reproduction.splits,
                    reproduction.progress,
                )
                return
            except MissingData as error:
                if str(error) not in reproduction.notes:
                    reproduction.notes.append(str(error))

    def draw(self, reproduction: Reproduction) -> Any:
        measured = reproduction.results.data_sets(self.name)
        shown = [
            next(name for name in names if name in measured)
            for names in self.panels(reproduction.quick)
            if any(name in measured for name in names)
        ]
        if not shown:
            return None
        columns = min(len(shown), _COLUMNS)
        canvas, axes = self.blank(-(-len(shown) // columns), columns, width=3.5, height=3.0)
        for panel, name in zip(axes, shown, strict=False):
            self._draw_panel(panel, name, reproduction)
        axes[0].set_ylabel(self.title, fontsize=9)
        _draw_legend(canvas, axes, len(shown), columns)
        return canvas

    def _draw_panel(self, panel: Any, data: str, reproduction: Reproduction) -> None:
        for method in METHODS:
            curves = reproduction.results.curves(data, self.name, method.name)
            if curves and method.suits(get_measure(self.name)):
                _draw_method(panel, curves, method)
        _set_logarithmic_seconds(panel)
        panel.set_title(get_data_set(data).title, fontsize=9)
        panel.set_xlabel("CPU seconds", fontsize=9)
        self._set_limits(panel, data, reproduction)

    def _set_limits(self, panel: Any, data: str, reproduction: Reproduction) -> None:
        """Make room for all methods that aim at the measure; name at the lower edge one that ends far below."""
        found = Comparison(reproduction.results, data, self.name)
        ends = {method.name: found.value(method.name) for method in METHODS if method.name in found}
        aiming = [value for name, value in ends.items() if name not in found.rivals or name in found.tuned_rivals]
        top, bottom = max(ends.values()), min(aiming)
        margin = 0.5 * max(top - bottom, 0.04)
        panel.set_ylim(max(bottom - 2 * margin, -0.02), min(top + margin, 1.005))
        below = [f"{name}: {value:.2f}" for name, value in ends.items() if value < panel.get_ylim()[0]]
        if below:
            panel.text(0.98, 0.02, f"{', '.join(below)} ↓", transform=panel.transAxes, fontsize=7, ha="right")


def _draw_method(panel: Any, curves: list[Curve], method: Method) -> None:
    name, colour = method.name, method.colour
    if all(curve.seconds.size == 1 for curve in curves):
        values = [curve.last for curve in curves]
        taken = np.median([curve.seconds[-1] for curve in curves])
        panel.errorbar(
            taken, np.mean(values), np.std(values), fmt="D", color=colour, markersize=5, label=name, zorder=4
        )
        return
    seconds, mean, spread = mean_curve(curves)
    ours = method in PAPERS_OWN
    panel.plot(seconds, mean, color=colour, linewidth=2.2 if ours else 1.3, label=name, zorder=3 if ours else 2)
    panel.fill_between(seconds, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)


def _set_logarithmic_seconds(panel: Any) -> None:
    """Set a logarithmic axis with plain numbers at 1 and 3 of each decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda seconds, place: f"{seconds:g}"))
    panel.xaxis.set_minor_locator(NullLocator())


def _draw_legend(canvas: Any, axes: list[Any], shown: int, columns: int) -> None:
    """Draw the legend in the place of the first unused panel, or below them all."""
    handles: dict[str, Any] = {}
    for panel in axes[:shown]:
        found, labels = panel.get_legend_handles_labels()
        handles |= dict(zip(labels, found, strict=True))
    for panel in axes[shown:]:
        panel.set_axis_off()
    style = {"fontsize": 9, "frameon": False}
    if shown < len(axes):
        axes[shown].legend(list(handles.values()), list(handles), loc="center left", **style)
    else:
        row = len(handles) if columns > 2 else 3
        canvas.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=row, **style)
