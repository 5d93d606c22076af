"""(d) How the time of a whole fit grows with the number of points, and with the number of columns.

The fit is ``MeasureClassifier(..., sharpen=False)`` with five passes, on rows in memory as a user has them:
checks, column statistics, the shuffled copy, the passes and the threshold all count.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ratewise import MeasureClassifier
from ratewise.solvers import Spade, Stamp

from .clock import median_ratio, take_turns
from .points import made_up_dense

POINTS = (10_000, 100_000, 1_000_000, 10_000_000)
COLUMNS_OF_MANY_POINTS = 20
COLUMNS = (10, 100, 1_000, 10_000)
VALUES = 20_000_000
FITS = {"SPADE, qmean": ("qmean", Spade(passes=5)), "STAMP, f1": ("f1", Stamp(passes=5))}


def measure(folder: Path) -> dict[str, Any]:
    return {"points": with_points(), "columns": with_columns()}


def fit(name: str, X: np.ndarray, y: np.ndarray) -> None:
    measure_name, solver = FITS[name]
    MeasureClassifier(measure_name, solver=solver, sharpen=False, random_state=0).fit(X, y)


def with_points() -> dict[str, Any]:
    X, y = made_up_dense(POINTS[-1], COLUMNS_OF_MANY_POINTS)
    sizes = [(X[:n], y[:n]) for n in POINTS]
    fits = {}
    for name in FITS:
        turns = times(name, sizes)
        growth = median_ratio(turns, POINTS.index(10_000_000), POINTS.index(100_000))
        fits[name] = {"seconds": np.median(turns, axis=0).tolist(), "10^7 / 10^5": growth}
        print(f"  {name:14s} 10^5 to 10^7 points: {growth:.1f} times the time", flush=True)
    return {"columns": COLUMNS_OF_MANY_POINTS, "points": list(POINTS), "fits": fits}


def with_columns() -> dict[str, Any]:
    sizes = [made_up_dense(VALUES // d, d) for d in COLUMNS]
    fits = {}
    for name in FITS:
        fits[name] = {"seconds": np.median(times(name, sizes), axis=0).tolist()}
        seconds = "  ".join(f"{s:.3f}" for s in fits[name]["seconds"])
        print(f"  {name:14s} {COLUMNS} columns, as many values: {seconds} s", flush=True)
    return {"values": VALUES, "columns": list(COLUMNS), "fits": fits}


def times(name: str, sizes: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """CPU seconds of each size's fit, a row a turn."""
    copies = [X.nbytes + 20 * y.size for X, y in sizes]  # rows, and what is kept of each: order, weight, score
    return take_turns([lambda X=X, y=y: fit(name, X, y) for X, y in sizes], least=5, memory=copies)
