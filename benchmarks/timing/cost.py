"""(h) What a fit costs beside its rivals, against rows, columns and classes; (i) how much faster threads are.

All have their defaults, on the made-up rows of section (g). CPU seconds with one thread each; of several threads,
the time on the clock.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import TunedThresholdClassifierCV

from ratewise import MeasureClassifier

from .clock import Work, medians
from .rivals import classifier, made_up

TURNS, COLUMNS = 3, 30
ROWS = (1_000, 10_000, 100_000, 1_000_000)
WIDTHS, ROWS_OF_WIDTHS = (10, 30, 100, 300), 20_000
CLASSES, ROWS_OF_CLASSES = (2, 3, 5), 50_000
ROWS_OF_THREADS = 2_000_000

LOGISTIC = "LogisticRegression"
OURS = "MeasureClassifier"
RIVALS: dict[str, tuple[Callable[[], Any], int]] = {  # and the most rows that they are given
    LOGISTIC: (LogisticRegression, 1_000_000),
    "LogisticRegression, threshold tuned": (
        lambda: TunedThresholdClassifierCV(LogisticRegression(), scoring="f1"),
        1_000_000,
    ),
    "SGDClassifier, log loss": (lambda: SGDClassifier(loss="log_loss", random_state=0), 1_000_000),
    "HistGradientBoosting": (lambda: HistGradientBoostingClassifier(random_state=0), 100_000),
}


def measure(folder: Path) -> dict[str, Any]:
    return {"rows": by_rows(), "columns": by_columns(), "classes": by_classes()}


def by_rows() -> list[dict[str, Any]]:
    X, y = made_up(ROWS[-1], COLUMNS, 2)
    vector = np.ones(COLUMNS, dtype=np.float32)
    found = []
    for rows in ROWS:
        some, labels = X[:rows], y[:rows]
        ways = {"one product": lambda some=some: some @ vector, OURS: fit(classifier(2), some, labels)}
        ways |= {name: fit(make(), some, labels) for name, (make, most) in RIVALS.items() if rows <= most}
        found.append({"rows": rows, "columns": COLUMNS, "seconds": medians(ways, TURNS)})
    return found


def by_columns() -> list[dict[str, Any]]:
    return [beside_logistic(ROWS_OF_WIDTHS, width, 2) for width in WIDTHS]


def by_classes() -> list[dict[str, Any]]:
    return [beside_logistic(ROWS_OF_CLASSES, COLUMNS, classes) for classes in CLASSES]


def beside_logistic(rows: int, columns: int, classes: int) -> dict[str, Any]:
    X, y = made_up(rows, columns, classes)
    ways = {OURS: fit(classifier(classes), X, y), LOGISTIC: fit(LogisticRegression(), X, y)}
    return {"rows": rows, "columns": columns, "classes": classes, "seconds": medians(ways, TURNS)}


def fit(model: Any, X: Any, y: Any) -> Work:
    def work() -> None:
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            model.fit(X, y)

    return work


def measure_threads(folder: Path) -> list[dict[str, Any]]:
    """Return the time on the clock of one fit, and of one product of the same rows shared out among threads."""
    X, y = made_up(ROWS_OF_THREADS, COLUMNS, 2)
    vector = np.ones(COLUMNS, dtype=np.float32)
    found = []
    for threads in range(1, (os.cpu_count() or 1) + 1):
        model = MeasureClassifier("f1", random_state=0, n_jobs=threads)
        parts = np.array_split(X, threads)
        with ThreadPoolExecutor(threads) as pool:
            ways = {
                OURS: lambda model=model: model.fit(X, y),
                "one product": lambda pool=pool, parts=parts: list(pool.map(lambda part: part @ vector, parts)),
            }
            found.append({"threads": threads, "seconds": {name: on_the_clock(way) for name, way in ways.items()}})
    return found


def on_the_clock(work: Work, turns: int = 7) -> float:
    """Return the median time on the clock, after a turn that is not counted."""
    times = []
    for _ in range(turns + 1):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return float(np.median(times[1:]))
