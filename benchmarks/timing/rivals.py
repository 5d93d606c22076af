"""(g) Fits in memory against scikit-learn's LogisticRegression, and what wraps a model against the model itself.

LogisticRegression has its defaults. Values are F1 (macro-F1 of three classes) on as many rows again, by
predictions at 0; those of LogisticRegression by its own predictions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from ratewise import MeasureClassifier, MeasureMaximizer

from .clock import medians

TURNS = 3
SHAPES = {  # rows, columns, classes
    "three classes": (100_000, 30, 3),
    "128 columns": (20_000, 128, 2),
    "2,000 columns": (5_000, 2_000, 2),
}
BOUNDED = ("f1", "f1-at-precision-0.5", "f1-at-tnr-0.95", "recall-at-precision-0.5")
ROWS, COLUMNS, MEMBERS, PREDICTED = 1_000_000, 30, 5, 50_000


def measure(folder: Path) -> dict[str, Any]:
    return {
        "fits": {name: fits(*shape) for name, shape in SHAPES.items()},
        "bounds": bounds(),
        "members": members(),
    }


def made_up(rows: int, columns: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns)).astype(np.float32)
    scores = X @ rng.normal(size=(columns, classes)) / np.sqrt(columns) + rng.normal(size=(rows, classes))
    return X, np.argmax(scores - np.arange(classes) * 1.2, axis=1)


def fits(rows: int, columns: int, classes: int) -> dict[str, Any]:
    X, y = made_up(2 * rows, columns, classes)
    found: dict[str, Any] = {}

    def fitted(name: str, model: Any) -> None:
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            model.fit(X[:rows], y[:rows])
        found[name] = model

    ways = {
        "LogisticRegression": lambda: fitted("LogisticRegression", LogisticRegression()),
        "MeasureClassifier": lambda: fitted("MeasureClassifier", classifier(classes)),
    }
    times = medians(ways, TURNS)
    average = "macro" if classes > 2 else "binary"
    values = {k: float(f1_score(y[rows:], model.predict(X[rows:]), average=average)) for k, model in found.items()}
    return {"rows": rows, "columns": columns, "classes": classes, "seconds": times, "values": values}


def classifier(classes: int) -> Any:
    return MeasureClassifier("f1" if classes == 2 else "macro-f1", random_state=0)


def bounds() -> dict[str, float]:
    """Return the time of a fit for each measure."""
    X, y = made_up(ROWS, COLUMNS, 2)
    ways: dict[str, Callable[[], Any]] = {
        name: lambda name=name: MeasureClassifier(name, random_state=0).fit(X, y) for name in BOUNDED
    }
    return medians(ways, TURNS)


def members() -> dict[str, Any]:
    """Return the time to predict many rows and one row by LightGBM, and by MeasureMaximizer's members of it."""
    from lightgbm import LGBMClassifier

    X, y = made_up(20_000, COLUMNS, 2)
    one = LGBMClassifier(n_jobs=1, verbose=-1).fit(X, y)
    model = MeasureMaximizer(LGBMClassifier(n_jobs=1, verbose=-1), "f1", cv=MEMBERS).fit(X, y)
    many, row = made_up(PREDICTED, COLUMNS, 2)[0], X[:1].copy()
    ways: dict[str, Callable[[], Any]] = {
        "booster": lambda: one.predict(many),
        "members": lambda: model.predict(many),
        "each member": lambda: [member.predict(many) for member in model.estimators_],
    }
    times = medians(ways, TURNS)
    rows = {
        "booster, one row": lambda: [one.predict(row) for _ in range(200)],
        "members, one row": lambda: [model.predict(row) for _ in range(200)],
    }
    return times | {name: time / 200 for name, time in medians(rows, TURNS).items()}
