"""fit_stream over a file and fit over the same rows in memory: mean test values over splits of real data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import datasets
from ratewise import MeasureClassifier, open_stream
from ratewise.training.checkpoint import remove_checkpoint

PROBLEMS = ["ijcnn1", "covtype-5", "creditcard"]
MEASURES = ["f1", "gmean", "min"]


def measure(folder: Path, data: Path, splits: int) -> dict[str, Any]:
    report: dict[str, Any] = {}
    print(f"{'data':14s}{'measure':10s}{'fit':>8s}{'stream':>8s}{'gap':>9s}   mean test value of {splits} splits")
    for name in PROBLEMS:
        problem = datasets.load(name, data)
        X = problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray()
        values: dict[str, list[list[float]]] = {}
        for train, test in problem.splits(splits):
            for measure_name, pair in values_of(folder, X, problem.y, train, test).items():
                values.setdefault(measure_name, []).append(pair)
        for measure_name, pairs in values.items():
            in_memory, from_file = np.mean(pairs, axis=0).tolist()
            report.setdefault(name, {})[measure_name] = {"fit": in_memory, "fit_stream": from_file}
            gap = from_file - in_memory
            print(f"{name:14s}{measure_name:10s}{in_memory:8.4f}{from_file:8.4f}{gap:+9.4f}", flush=True)
    gaps = [abs(one["fit"] - one["fit_stream"]) for several in report.values() for one in several.values()]
    report["largest gap"] = max(gaps)
    print(f"largest gap {max(gaps):.4f}")
    return report


def values_of(folder: Path, X: Any, y: Any, train: Any, test: Any) -> dict[str, list[float]]:
    """Of each measure, the test values of the model of fit and of that of fit_stream."""
    path = folder / "train.parquet"
    table = pa.table({f"x{j}": np.ascontiguousarray(X[train, j]) for j in range(X.shape[1])} | {"y": y[train]})
    parquet.write_table(table, path, compression="lz4", row_group_size=1 << 14)
    found = {}
    for name in MEASURES:
        in_memory = MeasureClassifier(name, random_state=0).fit(X[train], y[train])
        kept = folder / f"{name}.checkpoint"  # without one, few rows would be fitted in memory as by fit
        from_file = MeasureClassifier(name, random_state=0).fit_stream(
            open_stream(path, target="y"), checkpoint=kept
        )
        remove_checkpoint(kept)
        rows = [(in_memory, X[test]), (from_file, X[test])]
        found[name] = [score(model, X_test, y[test]) for model, X_test in rows]
    path.unlink()
    return found


def score(model: MeasureClassifier, X: Any, y: Any) -> float:
    """The measure itself. (The model of a file knows its columns by name, and would miss the names.)"""
    called = X @ model.coef_[0] + model.intercept_[0] > 0
    return float(model.measure_.score(y, called))
