"""Bounds on classes: are the recalls of covtype kept on new rows where they were promised, and what is left?

Macro F1 with a recall of at least 0.5 of each of the seven classes (confidence 0.9), by rows drawn at random, and
the same without bounds. "Kept" is about all other rows: 2,600 of the rarest class, whose recall has a standard
error of 0.01. Prints a table of all splits kept in benchmarks/results/class_bounds.json, whatever part of them a
run adds.

    python benchmarks/class_bounds.py --only LightGBM --first 10 --splits 10   # the last ten of twenty
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import datasets
from output import RESULTS, read_json, write_json
from ratewise import ConstraintWarning, MeasureClassifier, MeasureMaximizer
from ratewise.measures import Constrained, confusion_measure

LEVEL = 0.5
KEPT = RESULTS / "class_bounds.json"


def models(measure: Any, seed: int) -> dict[str, Any]:
    logistic = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-3, max_iter=1_000))
    boosting = LGBMClassifier(n_estimators=40, random_state=seed, n_jobs=1, verbose=-1)
    return {
        "linear": MeasureClassifier(measure, random_state=seed),
        "logistic regression": MeasureMaximizer(logistic, measure),
        "LightGBM": MeasureMaximizer(boosting, measure, cv=3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the number of the first split, its seed")
    parser.add_argument("--rows", type=int, default=20_000, help="to learn from")
    parser.add_argument("--only", nargs="*", help="names of models")
    parser.add_argument("--bounded", action="store_true", help="leave out fits without bounds")
    options = datasets.parsed(parser)
    warnings.simplefilter("ignore", ConstraintWarning)  # the table tells
    loaded = datasets.load_classes("covtype", options.data)
    X, (labels, y) = np.asarray(loaded.X, dtype=np.float32), np.unique(loaded.y, return_inverse=True)
    print("| model | measure | promised | of them kept | least recall | macro F1 | s |")
    print("|---|---|---|---|---|---|---|")
    for name in options.only or models("f1", 0):
        measures = {"recalls >= 0.5": Constrained("f1", recall=LEVEL)} | (
            {} if options.bounded else {"no bound": "f1"}
        )
        for told, measure in measures.items():
            for split in range(options.first, options.first + options.splits):
                began = time.process_time()
                order = np.random.default_rng(split).permutation(y.size)
                train, test = order[: options.rows], order[options.rows :]
                model = models(measure, split)[name].fit(X[train], y[train])
                table = np.zeros((labels.size, labels.size))
                np.add.at(table, (y[test], model.predict(X[test])), 1.0)
                facts = {
                    "least": float((np.diag(table) / table.sum(axis=1)).min()),
                    "f1": float(confusion_measure("f1").value(table)),
                    "promised": bool(model.constraints_met_),
                    "seconds": time.process_time() - began,
                }
                results = read_json(KEPT)
                mine = results.setdefault(f"{name}, {told}, {options.rows:,} rows", {})
                mine[str(split)] = facts
                write_json(KEPT, results, sort_keys=True)
            found = list(mine.values())
            said = [one for one in found if one["promised"]]
            kept = sum(one["least"] >= LEVEL for one in said)
            means = {key: float(np.mean([one[key] for one in found])) for key in ("least", "f1", "seconds")}
            promised = f"{len(said)} of {len(found)}" if told != "no bound" else ""
            print(
                f"| {name} | {told} | {promised} | {kept if promised else ''} | {means['least']:.3f} "
                f"| {means['f1']:.3f} | {means['seconds']:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
