"""One million mixed rows: what ``fit_stream`` takes beside one scan of the file, and one-hot logistic regression.

    python benchmarks/tables_million.py FOLDER

Writes generated rows of 13 columns (6 numbers, 5 categories of 4 to 3,000 values, yes and no, a date in texts; 6%
are positive) to the folder. CPU seconds are those of one thread, once everything is compiled. Logistic regression
gets all values of the categories and the parts of the dates; its cut is the best on the training rows.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_recall_curve
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ratewise import MeasureClassifier, open_stream

DAY = 86_400


def rows(n: int, seed: int) -> pd.DataFrame:
    rng, effects = np.random.default_rng(seed), np.random.default_rng(99)
    numbers = rng.normal(size=(n, 6))
    score = numbers @ np.array([0.8, -0.5, 0.3, 0.2, 0.0, 0.0])
    columns: dict[str, Any] = {f"n{j}": np.round(numbers[:, j] * 10.0 + 50.0, 3) for j in range(6)}
    for j, size in enumerate((4, 20, 100, 800, 3000)):
        effect, shares = effects.normal(size=size) * 0.7, 1.0 / np.arange(1, size + 1) ** 0.7
        values = rng.choice(size, n, p=shares / shares.sum())
        score += effect[values]
        columns[f"c{j}"] = np.char.add(f"v{j}_", values.astype(str))
    flag, seconds = rng.random(n) < 0.3, rng.integers(0, 2 * 365 * DAY, n)
    score += 0.5 * flag + 0.6 * np.sin(seconds // 3600 % 24 / 24.0 * 2.0 * np.pi)
    columns["flag"] = np.where(flag, "yes", "no")
    columns["when"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(seconds, unit="s")).strftime(
        "%Y-%m-%d %H:%M:%S"
    )
    columns["y"] = (score - 4.2 + rng.logistic(size=n) > 0).astype(int)
    return pd.DataFrame(columns)


def cpu(do: Callable[[], Any]) -> float:
    began = time.process_time()
    do()
    return time.process_time() - began


def with_parts(frame: pd.DataFrame) -> pd.DataFrame:
    when = pd.to_datetime(frame["when"])
    turn = (when.dt.hour + when.dt.minute / 60.0) / 24.0 * 2.0 * np.pi
    parts = {"sine": np.sin(turn), "cosine": np.cos(turn), "days": (when - when.min()).dt.days}
    named = {"weekday": when.dt.day_name(), "month": when.dt.month_name()}
    return frame.drop(columns=["when", "y"]).assign(**parts, **named)


def by_logistic_regression(train: pd.DataFrame, test: pd.DataFrame) -> float:
    A, B = with_parts(train), with_parts(test)
    numeric = A.select_dtypes("number").columns.tolist()
    named = [name for name in A if name not in numeric]
    one_hot = OneHotEncoder(handle_unknown="ignore", dtype=np.float32)
    encoder = make_column_transformer((one_hot, named), (StandardScaler(), numeric), sparse_threshold=1.0)
    X = encoder.fit_transform(A)
    model = LogisticRegression(max_iter=300).fit(X, train["y"])
    precision, recall, cuts = precision_recall_curve(train["y"], model.decision_function(X))
    f1 = 2.0 * precision * recall / np.maximum(precision + recall, 1e-12)
    cut = cuts[np.argmax(f1[:-1])]
    return float(f1_score(test["y"], model.decision_function(encoder.transform(B)) >= cut))


def main(folder: Path) -> None:
    train, test = rows(1_000_000, 0), rows(250_000, 1)
    train.to_csv(folder / "rows.csv", index=False)
    train.to_parquet(folder / "rows.parquet", index=False)
    serial = pyarrow.csv.ReadOptions(use_threads=False)
    scans: dict[str, Callable[[], Any]] = {
        "rows.parquet": lambda: pyarrow.parquet.read_table(folder / "rows.parquet", use_threads=False),
        "rows.csv": lambda: pyarrow.csv.read_csv(folder / "rows.csv", read_options=serial),
    }
    for name, scan in scans.items():
        models = [MeasureClassifier("f1", random_state=seed) for seed in (0, 0, 1)]  # the first one compiles
        fits = [cpu(lambda m=m, n=name: m.fit_stream(open_stream(folder / n, target="y"))) for m in models]  # type: ignore[misc]
        once, fit = min(cpu(scan) for _ in range(3)), min(fits[1:])
        values = [f1_score(test["y"], model.predict(test.drop(columns="y"))) for model in models[1:]]
        shown = ", ".join(f"{value:.4f}" for value in values)
        print(f"{name}: scan {once:.2f} s, fit {fit:.2f} s, ratio {fit / once:.0f}, F1 {shown}", flush=True)
    print(f"one-hot logistic regression: F1 {by_logistic_regression(train, test):.4f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
