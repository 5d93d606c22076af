"""CPU time and test value of the default fit from 20,000 to 100,000 rows, every 10%: neither may jump.

Rows are drawn from the training part of a data set; the test part stays the same. Medians of three fits.
Writes benchmarks/results/sizes.json.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import datasets
from ratewise import MeasureClassifier
from ratewise.measures import get_measure

HERE = Path(__file__).parent
SIZES = [round(20_000 * 1.1**k) for k in range(17)] + [100_000]
LARGEST_JUMP = 2.0


def measured(X, y, X_test, y_test, measure: str, repeats: int) -> tuple[float, float]:
    """Median CPU seconds and mean test value."""
    seconds, values = [], []
    for seed in range(repeats):
        started = time.process_time()
        classifier = MeasureClassifier(measure, random_state=seed).fit(X, y)
        seconds.append(time.process_time() - started)
        values.append(get_measure(measure).score(y_test, classifier.predict(X_test)))
    return float(np.median(seconds)), float(np.mean(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    parser.add_argument("--only", nargs="*", default=["ijcnn1", "covtype-5", "adb_celeba", "adb_donors"])
    parser.add_argument("--measures", nargs="*", default=["f1", "gmean"])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    target = HERE / "results" / "sizes.json"
    report = json.loads(target.read_text()) if target.exists() else {}
    for name in options.only:
        problem = datasets.load(name, options.data)
        train, test = next(problem.splits(2))
        train = np.random.default_rng(0).permutation(train)
        for measure in options.measures:
            for size in (2_000, 30_000, 60_000, 100_000):  # compile
                some = train[:size]
                measured(problem.X[some], problem.y[some], problem.X[test], problem.y[test], measure, 1)
            found = [
                measured(
                    problem.X[train[:size]],
                    problem.y[train[:size]],
                    problem.X[test],
                    problem.y[test],
                    measure,
                    options.repeats,
                )
                for size in SIZES
                if size <= train.size
            ]
            seconds, values = (list(one) for one in zip(*found, strict=True))
            jumps = np.abs(np.diff(np.log(seconds)))
            report[f"{name}, {measure}"] = {"rows": SIZES[: len(found)], "seconds": seconds, "values": values}
            print(f"{name} {measure}: largest jump {np.exp(jumps.max()):.2f} (asked {LARGEST_JUMP})")
            for size, second, value in zip(SIZES, seconds, values, strict=False):
                print(f"  {size:8d} {second:8.3f} s {value:.4f}", flush=True)
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(report, indent=0) + "\n")
    temporary.replace(target)


if __name__ == "__main__":
    main()
