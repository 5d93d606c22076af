"""CPU time of the whole default fit against logistic regression with an exact threshold, side by side.

One process, one thread each (set OPENBLAS_NUM_THREADS=1), the two taking turns, medians of five; compile time off
the clock. Both are given raw rows: the rival's time includes its standardizing, as ours does. Writes
benchmarks/results/fit_time.json.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import datasets
from output import RESULTS, write_json
from rivals import fit_rival

LARGE = ["ijcnn1", "covtype-5", "creditcard", "protein_homo", "adb_celeba", "adb_donors", "kdd99-ipsweep"]


def seconds(method: str, X, y, measure: str) -> float:
    started = time.process_time()
    fit_rival(method, X, y, [measure], 0)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    parser.add_argument("--only", nargs="*", default=LARGE)
    parser.add_argument("--measures", nargs="*", default=["f1", "gmean", "min"])
    options = parser.parse_args()
    report = {}
    print(f"{'data':16s}{'measure':10s}{'ratewise':>10s}{'plug-in':>10s}{'ratio':>8s}   CPU seconds")
    for name in options.only:
        problem = datasets.load(name, options.data)
        train, _ = next(problem.splits(5))
        X, y = problem.X[train], problem.y[train]
        for measure in options.measures:
            seconds("ratewise", X, y, measure)  # compile
            turns = [(seconds("ratewise", X, y, measure), seconds("plug-in", X, y, measure)) for _ in range(5)]
            ours, rival = np.median(turns, axis=0)
            report[f"{name}, {measure}"] = {"ratewise": ours, "plug-in": rival, "ratio": ours / rival}
            print(f"{name:16s}{measure:10s}{ours:10.3f}{rival:10.3f}{ours / rival:8.2f}", flush=True)
    write_json(RESULTS / "fit_time.json", report)


if __name__ == "__main__":
    main()
