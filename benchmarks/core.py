"""The core's figures: quality of the plain algorithms on ijcnn1, and what a second process pays to start.

Needs the folder of data sets (``--data``, default ../shared/data); says so and goes on where it is absent.
Writes benchmarks/results/core.json.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

import datasets
from output import RESULTS, write_json
from ratewise import MeasureClassifier
from ratewise.solvers import Spade, Stamp

START_UP = """
import time
started = time.perf_counter()
import numba, sklearn.base, sklearn.metrics
others = time.perf_counter() - started
import numpy as np
from ratewise import MeasureClassifier
X = np.random.default_rng(0).standard_normal((1000, 20))
y = X[:, 0] > 1
MeasureClassifier({measure!r}).fit(X, y)
print(time.perf_counter() - started, others)
"""


def plain_quality(folder: Path, splits: int = 5) -> dict[str, float]:
    """Test values after 25 passes, 70/30 splits: plain SPADE at threshold zero, STAMP with a tuned one."""
    data = np.load(folder / "ijcnn1.npz", allow_pickle=False)
    cases = {
        "Q-mean, plain SPADE": MeasureClassifier(
            "qmean", solver=Spade(passes=25), sharpen=False, threshold="zero", random_state=0
        ),
        "F1, STAMP with tuned threshold": MeasureClassifier(
            "f1", solver=Stamp(passes=25), sharpen=False, random_state=0
        ),
    }
    results = {}
    for name, classifier in cases.items():
        values = []
        for seed in range(splits):
            X_train, X_test, y_train, y_test = train_test_split(
                data["X"], data["y"], test_size=0.3, stratify=data["y"], random_state=seed
            )
            values.append(classifier.fit(X_train, y_train).score(X_test, y_test))
        results[name] = float(np.mean(values))
    return results


def start_up(repeats: int = 5) -> dict[str, float]:
    """Seconds from the start of a process to the end of its first fit, with a warm cache; medians."""
    results = {}
    for measure in ("f1", "gmean"):
        runs = []
        for _ in range(repeats + 1):
            started = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", START_UP.format(measure=measure)],
                capture_output=True,
                text=True,
                check=True,
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            )
            inside, others = map(float, done.stdout.split())
            runs.append((time.perf_counter() - started, inside, others))
        whole, inside, others = np.median(runs[1:], axis=0)  # the first run fills the cache
        results[f"{measure}: whole process"] = float(whole)
        results[f"{measure}: import and first fit of 1,000 points"] = float(inside)
        results[f"{measure}: of which numba's and scikit-learn's imports"] = float(others)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    folder = parser.parse_args().data
    report: dict[str, dict[str, float]] = {"start-up, seconds": start_up()}
    if (folder / "ijcnn1.npz").exists():
        report["ijcnn1, mean test value of 5 splits"] = plain_quality(folder)
    else:
        print(f"No ijcnn1.npz in {folder}: give --data to measure quality.", file=sys.stderr)
    for title, rows in report.items():
        print(f"\n{title}")
        for name, value in rows.items():
            print(f"  {name:50s} {value:8.3f}")
    write_json(RESULTS / "core.json", report, indent=2)


if __name__ == "__main__":
    main()
