"""(b) What a pass costs next to one of scikit-learn's SGDClassifier, hinge loss, averaging switched on.

The rival gets the same standardized rows, as float32 and as float64; the quicker of the two counts. Its time for
five passes is divided by five, which spreads its checks of the input as ours are spread.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

from .clock import median_ratio, take_turns
from .passes import PASSES, SOLVERS, solve
from .points import real_or_made_up, rows_of

DATA = [("ijcnn1", 141_691, 22), ("mnist-0", 70_000, 784)]
COMPARED = ["STAMP, f1", "SPADE, qmean", "SPADE, min"]
THEIR_PASSES = 5


def measure(folder: Path) -> list[dict[str, Any]]:
    return [against_sgd(*real_or_made_up(*shape, folder)) for shape in DATA]


def against_sgd(label: str, X: Any, y: np.ndarray) -> dict[str, Any]:
    rows = rows_of(X, y)
    narrow, labels = rows.X, rows.signed_weights > 0
    wide = narrow.astype(np.float64)

    def theirs(rows: np.ndarray) -> None:
        model = SGDClassifier(loss="hinge", average=True, max_iter=THEIR_PASSES, tol=None, random_state=0)
        model.fit(rows, labels)

    ours = [lambda s=SOLVERS[name]: solve(*s, rows) for name in COMPARED]
    turns = take_turns([*ours, lambda: theirs(narrow), lambda: theirs(wide)])
    turns /= [PASSES] * len(ours) + [THEIR_PASSES] * 2
    quicker = len(ours) + int(np.argmin(np.median(turns[:, -2:], axis=0)))
    medians = np.median(turns, axis=0)
    found = {
        "data": label,
        "rows": rows.n_points,
        "columns": rows.n_features,
        "passes a second": dict(zip(COMPARED, (1.0 / medians).tolist(), strict=False)),
        "SGDClassifier, passes a second": float(1.0 / medians[quicker]),
        "its rows": "float32" if quicker == len(ours) else "float64",
        "pass / its pass": {name: median_ratio(turns, k, quicker) for k, name in enumerate(COMPARED)},
    }
    shown = "  ".join(f"{name} {ratio:.3f}" for name, ratio in found["pass / its pass"].items())
    print(f"  {label:20s} {rows.n_features:4d} columns   {shown}", flush=True)
    return found
