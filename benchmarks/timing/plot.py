"""The picture: test value against CPU time, a panel for each data set and measure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import reach

STYLES: dict[str, dict[str, Any]] = {
    reach.ONLINE: {"color": "C4", "marker": "d", "markersize": 4, "linewidth": 1.2},
    reach.PLAIN: {"color": "C0", "marker": "o", "markersize": 4, "linewidth": 1.2},
    reach.LOW_MEMORY: {"color": "C2", "marker": "s", "markersize": 4, "linewidth": 1.2},
    reach.SHARPENED: {"color": "C1", "marker": "^", "markersize": 4, "linewidth": 1.2},
    reach.DEFAULT: {"color": "C3", "marker": "*", "markersize": 11, "linestyle": "none"},
    reach.PLUG_IN: {"color": "k", "marker": "x", "markersize": 5, "linewidth": 1.0},
}


def draw(entries: list[dict[str, Any]], path: Path) -> None:
    """Write the picture to a file, in the format its ending names."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "speed"  # the same numbers give the same file
    import matplotlib.pyplot as plt

    data = list(dict.fromkeys(entry["data"] for entry in entries))
    measures = list(dict.fromkeys(entry["measure"] for entry in entries))
    figure, axes = plt.subplots(
        len(data), len(measures), figsize=(3.6 * len(measures), 2.9 * len(data)), squeeze=False
    )
    for entry in entries:
        panel(axes[data.index(entry["data"])][measures.index(entry["measure"])], entry)
    for row in axes:
        row[0].set_ylabel("test value")
    for axis in axes[-1]:
        axis.set_xlabel("CPU seconds of the fit")
    handles = {line.get_label(): line for axis in axes.flat for line in axis.get_lines()}
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    saved(figure, path)


def saved(figure: Any, path: Path) -> None:
    """Write a picture, whole or not at all."""
    import matplotlib.pyplot as plt

    temporary = path.with_name(f"{path.stem}.tmp{path.suffix}")
    figure.savefig(temporary, metadata={"Date": None} if path.suffix == ".svg" else None, bbox_inches="tight")
    plt.close(figure)
    temporary.replace(path)


def panel(axis: Any, entry: dict[str, Any]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    for curve, points in entry["curves"].items():
        seconds, values = [point["seconds"] for point in points], [point["value"] for point in points]
        axis.plot(seconds, values, label=curve, **STYLES[curve])
    goal = reach.target(entry)
    axis.axhline(goal["value"], color="0.6", linewidth=0.8, linestyle=":", label="the plug-in's value")
    axis.axvline(0.1 * goal["seconds"], color="0.6", linewidth=0.8, label="a tenth of its time")
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_title(f"{entry['data']}, {entry['measure']}", fontsize=10)
    best = max(point["value"] for points in entry["curves"].values() for point in points)
    room = max(best - goal["value"], 0.02 * goal["value"])
    axis.set_ylim(goal["value"] - 1.2 * room, best + 0.2 * room)  # the plug-in's first rounds may lie below
