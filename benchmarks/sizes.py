"""CPU time and test value of the default fit from 20,000 to 100,000 rows, every 10%: neither may jump.

Rows are drawn from the training part of a split; its test part stays the same. Median CPU time and mean value of
several splits: on one alone the value moves by more than a step is worth. Resumable; writes
benchmarks/results/sizes.json.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import datasets
from output import RESULTS, read_json, write_json
from ratewise import MeasureClassifier
from ratewise.measures import get_measure

SIZES = [round(20_000 * 1.1**k) for k in range(17)] + [100_000]
LARGEST_JUMP = 2.0


def fitted(problem: datasets.Problem, train, test, measure: str, seed: int) -> tuple[float, float]:
    """CPU seconds and test value."""
    X, y = problem.X[train], problem.y[train]
    started = time.process_time()
    classifier = MeasureClassifier(measure, random_state=seed).fit(X, y)
    seconds = time.process_time() - started
    return seconds, get_measure(measure).score(problem.y[test], classifier.predict(problem.X[test]))


def measured(problem: datasets.Problem, measure: str, splits: int) -> dict[str, list[float]]:
    drawn = [(np.random.default_rng(0).permutation(train), test) for train, test in problem.splits(splits)]
    sizes = [size for size in SIZES if size <= drawn[0][0].size]
    for size in (2_000, 30_000, 60_000, 100_000):  # compile
        fitted(problem, drawn[0][0][:size], drawn[0][1][:1000], measure, 0)
    found = np.array(
        [
            [fitted(problem, train[:size], test, measure, seed) for seed, (train, test) in enumerate(drawn)]
            for size in sizes
        ]
    )
    seconds, values = np.median(found[..., 0], axis=1), found[..., 1].mean(axis=1)
    return {"rows": sizes, "seconds": seconds.tolist(), "values": values.tolist(), "splits": splits}


def show(name: str, cell: dict[str, list[float]]) -> None:
    jumps = np.abs(np.diff(np.log(cell["seconds"])))
    print(f"{name}: largest jump {np.exp(jumps.max()):.2f} (asked {LARGEST_JUMP})")
    for size, second, value in zip(cell["rows"], cell["seconds"], cell["values"], strict=True):
        print(f"  {size:8d} {second:8.3f} s {value:.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    parser.add_argument("--only", nargs="*", default=["ijcnn1", "covtype-5", "adb_celeba", "adb_donors"])
    parser.add_argument("--measures", nargs="*", default=["f1", "gmean"])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--again", action="store_true", help="measure cells that are there already")
    options = parser.parse_args()
    report = read_json(RESULTS / "sizes.json")
    for name in options.only:
        problem = datasets.load(name, options.data)
        for measure in options.measures:
            cell = f"{name}, {measure}"
            if options.again or cell not in report:
                report[cell] = measured(problem, measure, options.splits)
                write_json(RESULTS / "sizes.json", report, indent=0)
            show(cell, report[cell])


if __name__ == "__main__":
    main()
