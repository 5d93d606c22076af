"""Draw F1 of four kinds of model on 25 tables, from the results that benchmarks/basis.py left.

make figures
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from ratewise.plots._style import BLUE, DARK_GREY, GREY, ORANGE

FOLDER = Path(__file__).parent
RESULTS = FOLDER.parent.parent / "benchmarks" / "results" / "basis.json"
KINDS = {
    "linear": ("MeasureClassifier", GREY, "o"),
    "auto": ('MeasureClassifier(basis="auto")', BLUE, "D"),
    "tiny LightGBM": ("LightGBM, 3 folds of 40 trees, best threshold", ORANGE, "s"),
}


def mean_f1() -> dict[str, dict[str, float]]:
    """Return the mean test F1 of each kind on each table."""
    found: dict[str, dict[str, list[float]]] = {}
    results = json.loads(RESULTS.read_text())
    results.pop("checks", None)  # of `benchmarks/basis.py --checks`
    for key, result in results.items():
        table, kind, measure, _ = key.split("|")
        if measure == "f1" and kind in KINDS:
            found.setdefault(table, {}).setdefault(kind, []).append(result["value"])
    return {table: {kind: float(np.mean(one)) for kind, one in mine.items()} for table, mine in found.items()}


def draw() -> None:
    values = {table: mine for table, mine in mean_f1().items() if min(mine.values()) < 0.999}
    order = sorted(values, key=lambda table: values[table]["auto"] - values[table]["linear"])
    figure, ax = plt.subplots(figsize=(8.0, 6.6), layout="constrained")
    for place, table in enumerate(order):
        mine = values[table].values()
        ax.plot([min(mine), max(mine)], [place, place], color=GREY, linewidth=0.8, alpha=0.5, zorder=1)
    for kind, (label, color, marker) in KINDS.items():
        x = [values[table].get(kind, np.nan) for table in order]
        ax.scatter(x, range(len(order)), s=34, color=color, marker=marker, label=label, zorder=2)
    ax.set_yticks(range(len(order)), [table.replace("_", " ") for table in order], fontsize="small")
    ax.set_xlabel("F1 on test rows")
    ax.set_xlim(0.15, 1.02)
    ax.grid(axis="x", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=DARK_GREY)
    figure.legend(loc="outside upper left", ncols=2, frameon=False)
    figure.savefig(FOLDER / "gains.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    draw()
