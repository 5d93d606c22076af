"""The pictures of what a fit costs: rows per second beside rivals, and what rows, columns, classes, threads do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .cost import LOGISTIC, OURS
from .plot import saved

_STYLES = {
    OURS: {"color": "C3", "marker": "o", "linewidth": 2.2},
    LOGISTIC: {"color": "k", "marker": "x"},
    "LogisticRegression, threshold tuned": {"color": "0.5", "marker": "x", "linestyle": "--"},
    "SGDClassifier, log loss": {"color": "C0", "marker": "s"},
    "HistGradientBoosting": {"color": "C2", "marker": "^"},
    "one product": {"color": "0.7", "marker": "", "linestyle": ":"},
}


def draw_rates(found: dict[str, Any], path: Path) -> None:
    """Draw rows per second against rows."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(6.4, 4.0))
    for name in _STYLES:
        points = [
            (one["rows"], one["rows"] / one["seconds"][name]) for one in found["rows"] if name in one["seconds"]
        ]
        axis.loglog(*zip(*points, strict=True), label=name, markersize=5, **_STYLES[name])
    axis.set_xlabel(f"rows (of {found['rows'][0]['columns']} columns)")
    axis.set_ylabel("rows per CPU second")
    axis.grid(alpha=0.25)
    axis.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    saved(figure, path)


def draw_costs(found: dict[str, Any], path: Path) -> None:
    """Draw the cost against rows, columns, classes and threads, a panel for each that was measured."""
    plt = _pyplot()
    panels = {key: fixed for key, fixed in _fixed(found).items() if key in found}
    figure, axes = plt.subplots(1, len(panels), figsize=(3.0 * len(panels), 3.2))
    for axis, (key, fixed) in zip(axes, panels.items(), strict=True):
        one_thread = key == "threads"
        names: Sequence[str] = (OURS, "one product") if one_thread else (OURS, LOGISTIC)
        for name in names:
            sizes = [one[key] for one in found[key]]
            seconds = [one["seconds"][name] for one in found[key]]
            if one_thread:
                seconds = [seconds[0] / each for each in seconds]
            axis.plot(sizes, seconds, label=name, markersize=5, **_STYLES[name])
        if one_thread:
            axis.plot(sizes, sizes, color="0.85", linewidth=0.8, zorder=0)
        else:
            axis.set_xscale("log")
            axis.set_yscale("log")
        axis.set_xticks(sizes, [_short(size) for size in sizes], minor=False)
        axis.xaxis.set_minor_formatter("")
        axis.set_xlabel(key)
        axis.set_title(fixed, fontsize=9)
        axis.set_ylabel("times as fast, on the clock" if one_thread else "CPU seconds of a fit")
        axis.grid(alpha=0.25)
        if key in ("rows", "threads"):
            axis.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    saved(figure, path)


def _fixed(found: dict[str, Any]) -> dict[str, str]:
    """Return what is the same in each panel."""
    rows, columns, classes = (found[key][0] for key in ("rows", "columns", "classes"))
    return {
        "rows": f"{rows['columns']} columns",
        "columns": f"{columns['rows']:,} rows",
        "classes": f"{classes['rows']:,} rows of {classes['columns']} columns",
        "threads": "2,000,000 rows of 30 columns",
    }


def _short(size: int) -> str:
    """Return a number of rows as 10k or 1M."""
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if size >= unit:
            return f"{size // unit}{letter}"
    return str(size)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "speed"  # the same numbers give the same file
    import matplotlib.pyplot as plt

    return plt
