"""CPU time of SVMPerf's search for the most violated labelling, sorting included, at growing numbers of points.

Scores of two overlapping normal clouds, times a factor: the smaller it is, the fewer tables can be ruled out
beforehand. Medians of five; compile time off the clock. Writes benchmarks/results/labelling.json.
"""

from __future__ import annotations

import time

import numpy as np

from output import RESULTS, write_json
from ratewise.baselines.labelling import most_violated_table, table_loss_of
from ratewise.measures import get_measure


def milliseconds(measure: str, n: int, prevalence: float, factor: float) -> float:
    rng = np.random.default_rng(0)
    n_positive = int(prevalence * n)
    positives = factor * rng.normal(1.0, 1.0, n_positive)
    negatives = factor * rng.normal(-1.0, 1.0, n - n_positive)
    loss = table_loss_of(get_measure(measure), prevalence)
    times = []
    for _ in range(6):  # the first may compile
        started = time.process_time()
        most_violated_table(loss, np.sort(positives), np.sort(negatives)[::-1])
        times.append(1e3 * (time.process_time() - started))
    return float(np.median(times[1:]))


def main() -> None:
    report = {}
    print(f"{'measure':10s}{'points':>10s}{'positives':>11s}{'small scores':>14s}{'large scores':>14s}   CPU ms")
    for measure in ("f1", "jaccard", "qmean", "min", "gmean"):
        for n in (10_000, 100_000, 1_000_000):
            for prevalence in (0.01, 0.5):
                small, large = (milliseconds(measure, n, prevalence, factor) for factor in (1e-3, 10.0))
                report[f"{measure}, {n} points, {prevalence:.0%} positive"] = {"small": small, "large": large}
                print(f"{measure:10s}{n:10d}{prevalence:11.0%}{small:14.2f}{large:14.2f}", flush=True)
    write_json(RESULTS / "labelling.json", report)


if __name__ == "__main__":
    main()
