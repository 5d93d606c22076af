"""(a) What a pass costs, next to the least that could be asked of it: one product of the same rows and a vector.

A pass is a solver's whole run over standardized rows in memory divided by its 25 passes, STAMP's level stages
included. The product is ``X @ w`` on the very same array, by OpenBLAS or scipy, 25 times.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import datasets
from ratewise.measures import get_measure
from ratewise.solvers import Solver, Spade, Stamp, Task
from ratewise.training.answers import Runner
from ratewise.training.rows import ArrayRows

from .clock import median_ratio, take_turns
from .points import made_up_dense, made_up_sparse, real_or_made_up, rows_of

PASSES = 25
SOLVERS: dict[str, tuple[Solver, str]] = {
    "STAMP, f1": (Stamp(passes=PASSES), "f1"),
    "SPADE, qmean": (Spade(passes=PASSES), "qmean"),
    "SPADE, min": (Spade(passes=PASSES), "min"),
    "SPADE, hmean": (Spade(passes=PASSES), "hmean"),
    "SPADE, gmean": (Spade(passes=PASSES), "gmean"),
}
DENSE = [("ijcnn1", 141_691, 22), ("covtype-5", 581_012, 54), ("mnist-0", 70_000, 784)]
SPARSE = ["kdd99-ipsweep", "w8a_train", "a9a", "reuters_lasvm"]
VALUES = 20_000_000  # of a made-up dense matrix
NONZEROS = (10, 30, 100)


def measure(folder: Path) -> dict[str, Any]:
    return {"dense": dense_rows(folder), "sparse": sparse_rows(folder)}


def dense_rows(folder: Path) -> list[dict[str, Any]]:
    found = []
    for name, number, columns in DENSE:
        label, X, y = real_or_made_up(name, number, columns, folder)
        found.append(cost_of_a_pass(label, rows_of(X, y)))
    found.insert(2, cost_of_a_pass("made up", rows_of(*made_up_dense(VALUES // 117, 117))))
    return found


def sparse_rows(folder: Path) -> list[dict[str, Any]]:
    found = []
    for name in [name for name in SPARSE if name in datasets.names(folder)]:
        problem = datasets.load(name, folder)
        found.append(cost_of_a_pass(name, rows_of(problem.X, problem.y)))
    for nonzeros in NONZEROS:
        X, y = made_up_sparse(VALUES // (2 * nonzeros), nonzeros)
        found.append(cost_of_a_pass(f"made up, {nonzeros}", rows_of(X, y)))
    return found


def solve(solver: Solver, measure_name: str, rows: ArrayRows) -> None:
    task = Task(get_measure(measure_name), rows.n_features, rows.dtype)
    Runner(solver.start(task), 0, rows.summary).to_the_end(rows)


def cost_of_a_pass(label: str, rows: ArrayRows) -> dict[str, Any]:
    X = rows.X
    w = np.random.default_rng(1).standard_normal(rows.n_features).astype(X.dtype)

    def multiply() -> None:
        for _ in range(PASSES):
            X @ w

    ratios, products = {}, []
    for name, (solver, measure_name) in SOLVERS.items():
        turns = take_turns([lambda s=solver, m=measure_name: solve(s, m, rows), multiply])
        ratios[name] = median_ratio(turns, 0, 1)
        products.append(float(np.median(turns[:, 1])))
    found = {
        "data": label,
        "rows": rows.n_points,
        "columns": rows.n_features,
        "values a row": rows.n_values / rows.n_points,
        "product, ns a row": 1e9 * float(np.median(products)) / PASSES / rows.n_points,
        "pass / product": ratios,
    }
    shown = "  ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    print(f"  {label:20s} {found['values a row']:6.1f} values a row   {shown}", flush=True)
    return found
