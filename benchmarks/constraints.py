"""Recall at a precision of 0.9, and TPR at a TNR of 0.99: is the bound kept on test rows, and what is left?

ratewise against the plug-in: logistic regression, cut where its training scores keep the bound with the highest
TPR. 5 random 70/30 splits (protein_homo by block, and ratewise is told the blocks as ``groups``), and 10 others
(``--seed 1 --splits 10``) on which nothing was chosen. By the margin; ``promises.py`` has confidences.
Prints a table and writes benchmarks/results/constraints.json, or constraints-seed-1.json.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

import datasets
from output import RESULTS, write_json
from ratewise import ConstraintWarning, MeasureClassifier
from ratewise.measures import Measure, RecallAtPrecision, TPRAtTNR, rates_from_labels
from ratewise.solvers import best_threshold
from rivals import ColumnScaler, logistic

# What to maximize, what is bounded and at what, and where.
TASKS: dict[str, tuple[Measure, str, float, list[str]]] = {
    "recall at precision 0.9": (
        RecallAtPrecision(0.9, confidence=None),
        "precision",
        0.9,
        ["creditcard", "protein_homo"],
    ),
    "TPR at TNR 0.99": (
        TPRAtTNR(0.99, confidence=None),
        "tnr",
        0.99,
        ["ijcnn1", "covtype-5", "creditcard", "protein_homo"],
    ),
}


def plug_in(X, y, measure, seed, block):
    """The highest TPR among the cuts that keep the bound on the training rows, these taken at their word."""
    model = make_pipeline(ColumnScaler(), logistic()).fit(X, y)
    signs = np.where(y, 1.0, -1.0)
    threshold = best_threshold(model.decision_function(X), signs, measure, margin_scale=0.0).threshold
    return lambda rows: model.decision_function(rows) > threshold, True


def ratewise(X, y, measure, seed, block):
    model = MeasureClassifier(measure, random_state=seed).fit(X, y, groups=block)
    return model.predict, model.constraints_met_


METHODS = {"plug-in": plug_in, "ratewise": ratewise}


def facts_of(y, predicted) -> dict[str, float]:
    tpr, tnr, p = rates_from_labels(y, predicted)
    called = p * tpr + (1 - p) * (1 - tnr)
    return {"tpr": tpr, "tnr": tnr, "precision": p * tpr / called if called > 0 else 0.0}


def run(task: str, name: str, folder: Path, splits: int, seed: int) -> dict[str, list[dict[str, float]]]:
    """Facts of each method on the test rows of each split."""
    measure = TASKS[task][0]
    problem = datasets.load(name, folder)
    found: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS}
    for split, (train, test) in enumerate(problem.splits(splits, seed)):
        for method, fit in METHODS.items():
            print(f"{task}, {name}: split {split + 1}/{splits}, {method}" + " " * 20, end="\r", file=sys.stderr)
            block = None if problem.block is None else problem.block[train]
            started = time.process_time()
            predict, met = fit(problem.X[train], problem.y[train], measure, split, block)
            seconds = time.process_time() - started
            predicted = np.asarray(predict(problem.X[test]), dtype=bool)
            facts = facts_of(problem.y[test], predicted)
            found[method].append(facts | {"said_to_be_met": float(met), "seconds": seconds})
    return found


def row(task: str, name: str, method: str, facts: list[dict[str, float]]) -> str:
    _, bounded, bound, _ = TASKS[task]

    def cell(key: str) -> str:
        values = np.array([one[key] for one in facts])
        error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else 0.0
        return f"{values.mean():.4f} ± {error:.4f}"

    said = f"{sum(one['said_to_be_met'] for one in facts):.0f} of {len(facts)}"
    seconds = np.median([one["seconds"] for one in facts])
    return (
        f"| {task} | {name} | {method} | {bounded} {cell(bounded)} (asked: {bound:g}) | {cell('tpr')} | {said} "
        f"| {seconds:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="of the splits")
    parser.add_argument("--tasks", nargs="*", choices=list(TASKS), default=list(TASKS))
    options = datasets.parsed(parser)
    warnings.simplefilter("ignore", ConvergenceWarning)  # L-BFGS at its limit is as good as it gets
    warnings.simplefilter("ignore", ConstraintWarning)  # the table tells
    results: dict[str, dict[str, dict[str, list[dict[str, float]]]]] = {}
    print("| task | data | method | bounded, on test rows | TPR on test rows | said to be met | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for task in options.tasks:
        for name in TASKS[task][3]:
            found = run(task, name, options.data, options.splits, options.seed)
            results.setdefault(task, {})[name] = found
            for method, facts in found.items():
                print(row(task, name, method, facts), flush=True)
    name = f"constraints-seed-{options.seed}.json" if options.seed else "constraints.json"
    write_json(RESULTS / name, results, sort_keys=True)


if __name__ == "__main__":
    main()
