"""The theorems, measured: four panels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import Figure, Reproduction
from ..results import Series
from ..theorems import PANELS, Panel

_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00")


class TheoryFigure(Figure):
    """SPADE's rate, AMP's rate, STAMP's samples and noisy AMP's bound."""

    name = "theory"
    caption = (
        "The theorems, measured on problems whose optimum is known. SPADE and STAMP: means over runs on a finite "
        "population, hinge rewards. AMP and noisy AMP: affine rewards on a disc, where the optimum is exact."
    )

    def measure(self, reproduction: Reproduction) -> None:
        for done, panel in enumerate(PANELS):
            reproduction.progress({"stage": f"theory: {panel.name}", "done": done, "total": len(PANELS)})
            if not reproduction.theory.of(panel.name):
                reproduction.theory.add(panel.measure(quick=reproduction.quick))

    def draw(self, reproduction: Reproduction) -> Any:
        if not reproduction.theory.series:
            return None
        measured = [panel for panel in PANELS if reproduction.theory.of(panel.name)]
        canvas, axes = self.blank(1, len(measured), width=3.5, height=3.4)
        for axis, panel in zip(axes, measured, strict=True):
            _draw_panel(axis, panel, reproduction.theory.of(panel.name))
        return canvas


def _draw_panel(axis: Any, panel: Panel, series: list[Series]) -> None:
    for one, colour in zip(series, _COLOURS, strict=False):
        label = one.name if panel.by_rounds else f"{one.name}: slope {one.slope:.2f}"
        axis.plot(one.x, one.y, color=colour, marker="o", markersize=3, linewidth=1.5, label=label)
        if np.isfinite(one.bound).all():
            axis.plot(one.x, one.bound, color=colour, linestyle="--", linewidth=1.0)
    for (slope, label), style in zip(panel.reference_slopes, ("--", ":"), strict=False):
        x = np.array([min(one.x[0] for one in series), max(one.x[-1] for one in series)])
        first = max(one.y[0] for one in series)
        axis.plot(x, first * (x / x[0]) ** slope, color="#777777", linestyle=style, linewidth=1.2, label=label)
    axis.set_yscale("log")
    if not panel.by_rounds:
        axis.set_xscale("log")
    axis.set_title(panel.title, fontsize=9)
    axis.set_xlabel(panel.x_label, fontsize=9)
    axis.set_ylabel(panel.y_label, fontsize=9)
    axis.legend(fontsize=7, frameon=False)
