"""(f) A fit from files, and predictions, against reading and multiplying the same rows once.

Each fit is ``fit_stream`` with its defaults: with the decoded rows kept in memory, with those kept on disk, and
with the file read in every pass. The scan is pyarrow reading the same file once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from ratewise import MeasureClassifier, open_stream

from .clock import medians

ROWS, NUMBERS, TURNS = 500_000, 30, 3
VALUES = (10, 50, 300, 2_000, 10_000)  # of the texts of the mixed table


def measure(folder: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        return {"rows": ROWS, "columns": NUMBERS, "turns": TURNS, "fits": fits(Path(place)), "predict": predict()}


def fits(place: Path) -> dict[str, Any]:
    tables = {"numbers": numbers(), "mixed": mixed()}
    found = {}
    for name, rows, write, scan in (
        ("Parquet, snappy", "numbers", write_parquet("snappy"), parquet.read_table),
        ("Parquet, zstd", "numbers", write_parquet("zstd"), parquet.read_table),
        ("Parquet, zstd", "mixed", write_parquet("zstd"), parquet.read_table),
        ("CSV", "numbers", csv.write_csv, csv.read_csv),
        ("CSV", "mixed", csv.write_csv, csv.read_csv),
    ):
        path = place / ("rows.csv" if name == "CSV" else "rows.parquet")
        write(written_out(tables[rows]) if name == "CSV" else tables[rows], path)
        ways = {
            "scan": lambda path=path, scan=scan: scan(path),
            "in memory": lambda path=path: fit(path),
            "on disk": lambda path=path: fit(path, max_memory=0, disk_cache=place),
            "file read in every pass": lambda path=path: fit(path, max_memory=0),
        }
        found[f"{name}, {rows}"] = medians(ways, TURNS)
    return found


def fit(path: Path, **how: Any) -> None:
    stream = open_stream(path, target="label")
    MeasureClassifier("f1", random_state=0).fit_stream(stream, **how)


def predict() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1_000_000, NUMBERS)).astype(np.float32), rng.random(20_000) < 0.1
    classifier = MeasureClassifier("f1", random_state=0).fit(X[: y.size], y)
    coef, row = classifier.coef_[0].astype(np.float32), X[:1].copy()
    ways = {
        "product": lambda: X @ coef,
        "predict": lambda: classifier.predict(X),
        "one row": lambda: [classifier.predict(row) for _ in range(1_000)],
    }
    return medians(ways, 9)


def write_parquet(compression: str) -> Callable[[Any, Path], None]:
    return lambda rows, path: parquet.write_table(rows, path, compression=compression, row_group_size=100_000)


def written_out(rows: Any) -> Any:
    """Return a table without dictionaries, which CSV does not have."""
    columns = [one.cast(one.type.value_type) if pa.types.is_dictionary(one.type) else one for one in rows.columns]
    return pa.table(columns, names=rows.column_names)


def numbers() -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, NUMBERS)).astype(np.float32)
    scores = X @ rng.normal(size=NUMBERS) + 6.0 * rng.normal(size=ROWS)
    return pa.table({f"x{k}": X[:, k] for k in range(NUMBERS)} | {"label": (scores > 9.0).astype(np.int8)})


def mixed() -> Any:
    """Return a table of 20 numbers of which one misses some, five texts and two times."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{k}": rng.normal(size=ROWS).astype(np.float32) for k in range(20)}
    scores = sum(column * rng.normal() for column in columns.values())
    columns["x3"] = pa.array(columns["x3"], mask=rng.random(ROWS) < 0.05)
    for k, values in enumerate(VALUES):
        codes = rng.integers(0, values, size=ROWS)
        names = pa.array([f"value {code}" for code in range(values)])
        columns[f"t{k}"] = pa.DictionaryArray.from_arrays(pa.array(codes), names)
        scores = scores + rng.normal(size=values)[codes]
    for k in range(2):
        columns[f"d{k}"] = np.datetime64("2020-01-01T00:00:00", "s") + rng.integers(0, 10**8, size=ROWS)
    columns["label"] = (scores + 6.0 * rng.normal(size=ROWS) > 12.0).astype(np.int8)
    return pa.table(columns)
