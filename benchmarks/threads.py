"""What ``n_jobs=2`` saves in wall-clock on one large fit: two million rows of 30 columns in memory.

One thread and two alternate in one process; each figure is the least of the repetitions. Values are those of
500,000 other rows. It needs two idle cores for some seconds.

    python benchmarks/threads.py
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from output import RESULTS, write_json
from ratewise import MeasureClassifier
from ratewise.measures import get_measure

HELD_ROWS = 500_000


def made_up(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns)).astype(np.float32)
    return X, (X @ rng.normal(size=columns) / 5 + rng.normal(size=rows) > 2.2).astype(int)


def measured(name: str, rows: int, columns: int, repetitions: int) -> dict[str, float]:
    X, y = made_up(rows + HELD_ROWS, columns)
    held, (X, y) = (X[rows:], y[rows:]), (X[:rows], y[:rows])
    walls: dict[int, list[float]] = {1: [], 2: []}
    models = {}
    for _ in range(repetitions):
        for n_jobs, found in walls.items():
            began = time.perf_counter()
            model = MeasureClassifier(name, random_state=0, n_jobs=n_jobs).fit(X, y)
            found.append(time.perf_counter() - began)
            models[n_jobs] = model
    measure = get_measure(name)
    scores = {k: float(measure.score(held[1], model.predict(held[0]))) for k, model in models.items()}
    one, two = (min(found[1:]) for found in walls.values())  # the first ones compile
    return {"one": one, "two": two, "ratio": one / two, "value_of_one": scores[1], "value_of_two": scores[2]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--repetitions", type=int, default=6)
    options = parser.parse_args()
    found = {}
    print(f"{'measure':8} {'1 thread':>9} {'2 threads':>9} {'ratio':>6} {'value':>7} {'value':>7}")
    for name in ("f1", "gmean", "min"):
        row = found[name] = measured(name, options.rows, options.columns, options.repetitions)
        print(
            f"{name:8} {row['one']:8.2f}s {row['two']:8.2f}s {row['ratio']:6.2f} {row['value_of_one']:7.4f} "
            f"{row['value_of_two']:7.4f}",
            flush=True,
        )
    write_json(RESULTS / "threads.json", found)


if __name__ == "__main__":
    main()
