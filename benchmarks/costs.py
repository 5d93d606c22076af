"""Costs per row: what decisions cost on new rows, against the threshold that costs least out of fold.

An alert costs 10, right or wrong, and a miss costs the row's amount. On creditcard the amounts are those of the
data. On the other data they are made up: lognormal, related to the columns of the row and known as another column.

For logistic regression and LightGBM: one threshold for all rows, the best of the out-of-fold rows;
``DecisionRule`` for the same probabilities; ``MeasureMaximizer``. Beside logistic regression also
``MeasureClassifier``, on the columns and on curves of them. On creditcard logistic regression is also fitted with
the log of the amount as one more column. The method was looked at with splits 1 to 4 and, on creditcard, 0, 1, 11
to 13 and 21 to 26. One thread. Prints a table of all splits kept in
benchmarks/results/costs.json, whatever part a run adds.

    python benchmarks/costs.py --only creditcard --seeds 31 32 33
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import datasets
from output import RESULTS, read_json, write_json
from ratewise import DecisionRule, MeasureClassifier, MeasureMaximizer
from ratewise.decisions.costs import row_costs

ALERT, ROWS = 10.0, 40_000
MADE_UP = ("mammography", "coil_2000", "ijcnn1", "protein_homo", "covtype-5", "adb_celeba")
KEPT = RESULTS / "costs.json"


def problem(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels and amounts."""
    if name == "creditcard":
        loaded = np.load(folder / "creditcard.npz")
        X, y = loaded["X"].astype(np.float64), loaded["y"].astype(int)
        return X, y, X[:, loaded["feature_names"].tolist().index("Amount")]
    random, loaded = np.random.default_rng(0), datasets.load(name, folder)
    some = random.permutation(loaded.y.size)[:ROWS]
    X, y = np.asarray(loaded.X[some], dtype=np.float64), loaded.y[some].astype(int)
    related = np.clip(StandardScaler().fit_transform(X), -3, 3) @ random.normal(size=X.shape[1])
    odds = 0.8 * (related / related.std()) + 0.8 * random.normal(size=y.size)
    amounts = ALERT * np.exp(odds) / y.mean() ** 0.7
    return np.column_stack([X, np.log(amounts)]), y, amounts


def with_log_of_last(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, np.log1p(X[:, -1])])


def models() -> dict[str, Any]:
    logistic, log_of_amount = LogisticRegression(max_iter=300), FunctionTransformer(with_log_of_last)
    return {
        "logistic regression": make_pipeline(StandardScaler(), logistic),
        "logistic regression, log of the amount": make_pipeline(log_of_amount, StandardScaler(), logistic),
        "LightGBM": LGBMClassifier(n_estimators=40, max_delta_step=10.0, verbose=-1, n_jobs=1),
    }


def costs_of(amounts: np.ndarray) -> dict[str, Any]:
    return {"false_positive": ALERT, "true_positive": ALERT, "false_negative": amounts}


def compare(
    X: np.ndarray, y: np.ndarray, amounts: np.ndarray, seed: int, *, raw_amounts: bool
) -> dict[str, dict[str, float]]:
    """Return what each way of deciding costs on the test rows, by model; of raw amounts logs are tried too."""
    train, test = train_test_split(np.arange(y.size), train_size=0.6, stratify=y, random_state=seed)
    known, new = costs_of(amounts[train]), costs_of(amounts[test])

    def spent(alerts: np.ndarray, rows: np.ndarray) -> float:
        return float(row_costs(costs_of(amounts[rows]), rows.size, 2)[np.arange(rows.size), y[rows], alerts].sum())

    found = {}
    for kind, model in models().items():
        if "log of" in kind and not raw_amounts:
            continue
        held = cross_val_predict(model, X[train], y[train], method="predict_proba")
        proba = model.fit(X[train], y[train]).predict_proba(X[test])
        here = row_costs(known, train.size, 2)[np.arange(train.size), y[train]]
        order = np.argsort(-held[:, 1])
        best = held[order[(here[:, 1] - here[:, 0])[order].cumsum().argmin()], 1]
        rule = DecisionRule("cost").fit(held, y[train], costs=known)
        maximizer = MeasureMaximizer(model, "cost").fit(X[train], y[train], costs=known)
        found[kind] = {
            "no model": spent(np.zeros(test.size, dtype=int), test),
            "tuned threshold": spent((proba[:, 1] >= best).astype(int), test),
            "DecisionRule": spent(rule.predict(proba, costs=new), test),
            "MeasureMaximizer": spent(maximizer.predict(X[test], costs=new), test),
        }
        if kind == "logistic regression":
            for basis, name in ((None, "MeasureClassifier"), ("splines", "MeasureClassifier, curves")):
                linear = MeasureClassifier("cost", basis=basis, random_state=0)
                linear.fit(X[train], y[train], costs=known)
                found[kind][name] = spent(linear.predict(X[test], costs=new), test)
    return found


def report(results: dict[str, Any]) -> None:
    """Print costs over those of the tuned threshold: means over splits, and the standard error of each mean."""
    for kind in models():
        found = [one[kind] for splits in results.values() for one in splits.values() if kind in one]
        names = next(iter(found), {})
        shown = [name for name in names if name != "tuned threshold"]
        print(f"\n| {kind} | splits | {' | '.join(shown)} |")
        print("|---|---|" + "---|" * len(shown))
        for data, splits in results.items():
            costs = [one[kind] for one in splits.values() if kind in one]
            if not costs:
                continue
            ratios = np.array([[one[name] / one["tuned threshold"] for name in shown] for one in costs])
            errors = ratios.std(axis=0, ddof=1) / np.sqrt(len(ratios)) if len(ratios) > 1 else 0.0 * ratios[0]
            cells = (f"{mean:.3f} ± {error:.3f}" for mean, error in zip(ratios.mean(axis=0), errors, strict=True))
            print(f"| {data} | {len(ratios)} | {' | '.join(cells)} |")


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="*", type=int, default=[31, 32, 33, 34, 35, 36], help="of the splits")
    parser.add_argument("--only", nargs="*", default=["creditcard", *MADE_UP], help="names of data")
    options = datasets.parsed(parser)
    for name in options.only:
        rows = problem(name, options.data)
        for seed in options.seeds:
            results = read_json(KEPT)
            results.setdefault(name, {})[str(seed)] = compare(*rows, seed, raw_amounts=name == "creditcard")
            write_json(KEPT, results, sort_keys=True)
    report(read_json(KEPT))


if __name__ == "__main__":
    main()
