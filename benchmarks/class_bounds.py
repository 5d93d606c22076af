"""Bounds on classes: are the recalls of covtype kept on new rows where they were promised, and what is left?

Macro F1 with a recall of at least 0.5 of each of the seven classes (confidence 0.9), by rows drawn at random, and
the same without bounds. "Kept" is about all other rows: 2,600 of the rarest class, whose recall has a standard
error of 0.01. Prints a table and writes benchmarks/results/class_bounds.json.

    python benchmarks/class_bounds.py --splits 20 --rows 20000
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
    parser.add_argument("--seed", type=int, default=0, help="of the first split")
    parser.add_argument("--rows", type=int, default=20_000, help="to learn from")
    parser.add_argument("--only", nargs="*", help="names of models")
    options = datasets.parsed(parser)
    warnings.simplefilter("ignore", ConstraintWarning)  # the table tells
    loaded = datasets.load_classes("covtype", options.data)
    X, (labels, y) = np.asarray(loaded.X, dtype=np.float32), np.unique(loaded.y, return_inverse=True)
    inner = confusion_measure("f1")
    kept_in = RESULTS / "class_bounds.json"
    results: dict[str, Any] = read_json(kept_in)
    print("| model | measure | promised | of them kept | least recall | macro F1 | s |")
    print("|---|---|---|---|---|---|---|")
    for name in models("f1", 0):
        if options.only and name not in options.only:
            continue
        for told, measure in (("recalls >= 0.5", Constrained("f1", recall=LEVEL)), ("no bound", "f1")):
            facts, began = [], time.process_time()
            for split in range(options.seed, options.seed + options.splits):
                order = np.random.default_rng(split).permutation(y.size)
                train, test = order[: options.rows], order[options.rows :]
                model = models(measure, split)[name].fit(X[train], y[train])
                table = np.zeros((labels.size, labels.size))
                np.add.at(table, (y[test], model.predict(X[test])), 1.0)
                least = float((np.diag(table) / table.sum(axis=1)).min())
                facts.append(
                    {"least": least, "f1": float(inner.value(table)), "promised": bool(model.constraints_met_)}
                )
            said = [one for one in facts if one["promised"]]
            kept = sum(one["least"] >= LEVEL for one in said)
            means = {key: float(np.mean([one[key] for one in facts])) for key in ("least", "f1")}
            seconds = (time.process_time() - began) / len(facts)
            promised = f"{len(said)} of {len(facts)}" if told != "no bound" else ""
            print(
                f"| {name} | {told} | {promised} | {kept if promised else ''} | {means['least']:.3f} "
                f"| {means['f1']:.3f} | {seconds:.1f} |",
                flush=True,
            )
            results[f"{name}, {told}"] = {"facts": facts, "seconds": seconds}
            write_json(kept_in, results, sort_keys=True)


if __name__ == "__main__":
    main()
