"""Draw the figures of docs/choosing-a-measure.md: level curves of measures in the plane of the two rates.

make figures
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from ratewise.measures import Constraint, FunctionMeasure, Measure, get_measure
from ratewise.plots._style import BLUE, VERMILLION, PlaneWindow, draw_level_curves

FOLDER = Path(__file__).parent
WHOLE = PlaneWindow(0.0, 1.0, 0.0, 1.0)
TITLES = {
    "min": "Min: the worse rate",
    "gmean": "G-mean",
    "balanced-accuracy": "balanced accuracy",
    "f1": "F1",
    "mcc": "Matthews correlation",
    "kappa": "Cohen's kappa",
}


def panel(ax: plt.Axes, measure: Measure, prevalence: float, window: PlaneWindow, title: str) -> None:
    draw_level_curves(ax, measure, prevalence, window, number=6, avoid=None)
    ax.set_xlim(window.low_tpr, window.high_tpr)
    ax.set_ylim(window.low_tnr, window.high_tnr)
    ax.plot([1.0], [1.0], marker="*", markersize=11, color=VERMILLION, clip_on=False, zorder=3)
    ax.set_xlabel("TPR")
    ax.set_ylabel("TNR")
    ax.set_title(title)
    ax.set_box_aspect(1)


def save(figure: plt.Figure, name: str) -> None:
    figure.savefig(FOLDER / name, dpi=110, metadata={"Software": None})
    plt.close(figure)


def six_measures() -> None:
    """Draw six measures where one row in ten is positive."""
    figure, axes = plt.subplots(2, 3, figsize=(10.0, 7.2), layout="constrained")
    for ax, (name, title) in zip(axes.flat, TITLES.items(), strict=True):
        panel(ax, get_measure(name), 0.1, WHOLE, title)
    save(figure, "measures.png")


def three_prevalences() -> None:
    """Draw F1 at three prevalences."""
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.8), layout="constrained")
    for ax, prevalence in zip(axes, (0.5, 0.1, 0.01), strict=True):
        panel(ax, get_measure("f1"), prevalence, WHOLE, f"F1, {prevalence:.0%} positives")
    save(figure, "prevalence.png")


def not_below_zero(measure: Measure, prevalence: float, tpr: Any, tnr: Any) -> Any:
    """Return the value, cut off at 0: below the bound it falls so steeply that level curves say nothing."""
    return np.maximum(measure.value(tpr, tnr, prevalence), 0.0)


def bound_at(bound: Constraint, tpr: float) -> float:
    """Return the TNR at which a bound just holds."""
    return -(bound.constant + bound.on_tpr * tpr) / bound.on_tnr


def constraints() -> None:
    """Draw two measures with a bound, and the line where it holds."""
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.9), layout="constrained")
    corner = PlaneWindow(0.0, 1.0, 0.97, 1.0)
    titles = {"tpr-at-tnr-0.99": "TPR at TNR 0.99", "recall-at-precision-0.9": "recall at precision 0.9"}
    for ax, (name, title) in zip(axes, titles.items(), strict=True):
        measure = get_measure(name)
        (bound,) = measure.constraints(0.1)
        panel(ax, FunctionMeasure(partial(not_below_zero, measure, 0.1)), 0.1, corner, title)
        ax.axline((0.0, bound_at(bound, 0.0)), (1.0, bound_at(bound, 1.0)), color=BLUE, linewidth=2.0)
        ax.set_xlim(0.0, 1.0)
    save(figure, "constraints.png")


if __name__ == "__main__":
    six_measures()
    three_prevalences()
    constraints()
