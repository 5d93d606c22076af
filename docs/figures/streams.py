"""Draw windowed F1 of two streams that drift, from the results that benchmarks/streams_online.py left.

make figures
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from ratewise.plots._style import BLUE, DARK_GREY, GREY, ORANGE

FOLDER = Path(__file__).parent
RESULTS = FOLDER.parent.parent / "benchmarks" / "results" / "streams_online.json"
WINDOW = 1_000
METHODS = {
    "no forgetting": ("half_life=None", GREY, "-"),
    "SGD": ("SGDClassifier", DARK_GREY, ":"),
    "river": ("river, recent threshold", ORANGE, "-"),
    "ratewise": ('half_life="auto"', BLUE, "-"),
}


def draw() -> None:
    drawn = [row for row in json.loads(RESULTS.read_text()) if "windows" in row]
    figure, axes = plt.subplots(len(drawn), figsize=(8.0, 5.6), sharex=True, sharey=True, layout="constrained")
    for row, ax in zip(drawn, axes, strict=True):
        for method, (label, color, style) in METHODS.items():
            values = row["windows"][method]
            rows = [WINDOW * (k + 1.5) for k in range(len(values))]
            ax.plot(rows, values, style, color=color, label=label, linewidth=2.0 if method == "ratewise" else 1.2)
        ax.set_title(f"The positive class is {row['stream']}", loc="left", fontsize="medium")
        ax.set_ylabel("F1 of 1,000 rows")
        ax.set_ylim(0.0, 1.0)
        ax.grid(axis="y", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(colors=DARK_GREY)
    axes[-1].set_xlabel("rows")
    axes[-1].xaxis.set_major_formatter("{x:,.0f}")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=4, frameon=False)
    figure.savefig(FOLDER / "streams.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    draw()
