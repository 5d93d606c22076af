"""Alert budgets, and gaps between groups: are bounds kept on test rows where they were promised, and what is left?

    python benchmarks/group_bounds.py alerts
    python benchmarks/group_bounds.py gap --first 10 --splits 10   # the last ten of twenty

``alerts``: at most 2% of rows predicted positive, 70/30 splits of a9a and creditcard. ``gap``: the TPR of men and
women in a9a at most 0.05 apart, beside fairlearn (``pip install fairlearn``): ThresholdOptimizer for balanced
accuracy, which draws some predictions at random, and ExponentiatedGradient, both of logistic regression.
"Kept" holds the noise of the test rows: the TPR of the women has a standard error of 0.023. Prints a table and
keeps the facts of every split in benchmarks/results/group_bounds.json, whatever part of them a run makes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression

import datasets
from output import RESULTS, read_json, write_json
from ratewise import ConstraintWarning, MeasureClassifier, MeasureMaximizer
from ratewise.measures import Constrained, RecallAtAlertRate, rates_from_labels

BUDGET, GAP = 0.02, 0.05
KEPT = RESULTS / "group_bounds.json"
FEMALE = 71  # of the columns of a9a
Predict = Callable[[Any, np.ndarray], np.ndarray]


def linear(measure: Any, seed: int) -> Any:
    return MeasureClassifier(measure, random_state=seed)


def logistic(measure: Any, seed: int) -> Any:
    return MeasureMaximizer(LogisticRegression(max_iter=300), measure)


def lightgbm(measure: Any, seed: int) -> Any:
    return MeasureMaximizer(LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1), measure)


MODELS = {"linear": linear, "logistic regression": logistic, "LightGBM": lightgbm}


def ours(make: Any, measure: Any) -> Any:
    def fit(X: Any, y: np.ndarray, group: np.ndarray | None, seed: int) -> tuple[Predict, bool]:
        model = make(measure, seed).fit(X, y, sensitive_features=group)
        return (lambda rows, groups: model.predict(rows, sensitive_features=groups)), bool(model.constraints_met_)

    return fit


def threshold_optimizer(X: Any, y: np.ndarray, group: np.ndarray, seed: int) -> tuple[Predict, bool]:
    from fairlearn.postprocessing import ThresholdOptimizer

    model = ThresholdOptimizer(
        estimator=LogisticRegression(max_iter=300),
        constraints="true_positive_rate_parity",
        objective="balanced_accuracy_score",
        predict_method="predict_proba",
    )
    model.fit(X.toarray(), y.astype(int), sensitive_features=group)
    return (
        lambda rows, groups: model.predict(rows.toarray(), sensitive_features=groups, random_state=seed) == 1
    ), True


def exponentiated_gradient(X: Any, y: np.ndarray, group: np.ndarray, seed: int) -> tuple[Predict, bool]:
    from fairlearn.reductions import ExponentiatedGradient, TruePositiveRateParity

    model = ExponentiatedGradient(LogisticRegression(max_iter=300), TruePositiveRateParity(difference_bound=GAP))
    model.fit(X.toarray(), y.astype(int), sensitive_features=group)
    return (lambda rows, groups: model.predict(rows.toarray(), random_state=seed) == 1), True


def gap_methods(confidences: list[float]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for confidence in confidences:
        for name, make in MODELS.items():
            for measure in ("f1", "balanced-accuracy"):
                asked = Constrained(measure, tpr_gap=GAP, confidence=confidence)
                found[f"{name}, {measure}, {confidence:g}"] = ours(make, asked)
    free = {f"{name}, f1, no bound": ours(make, "f1") for name, make in MODELS.items()}
    rivals = {"ThresholdOptimizer": threshold_optimizer, "ExponentiatedGradient": exponentiated_gradient}
    return found | free | rivals


def facts_of(y: np.ndarray, predicted: np.ndarray, group: np.ndarray) -> dict[str, float]:
    tpr, tnr, prevalence = rates = rates_from_labels(y, predicted)
    of_groups = [predicted[y & (group == code)].mean() for code in np.unique(group)]
    return {
        "f1": float(2 * prevalence * tpr / (prevalence + predicted.mean())),
        "balanced": (tpr + tnr) / 2,
        "tpr": tpr,
        "precision": float(rates.precision),
        "alerts": float(predicted.mean()),
        "gap": float(max(of_groups) - min(of_groups)),
    }


def run(name: str, methods: dict[str, Any], key: str, level: float, options: Any) -> None:
    problem = datasets.load(name, options.data)
    X = problem.X.astype(np.float64)
    group = np.asarray(X[:, [FEMALE]].todense()).ravel() if key == "gap" else np.zeros(problem.y.size)
    splits = list(problem.splits(options.first + options.splits, options.seed))[options.first :]
    for method, fit in methods.items():
        if options.only and not any(part in method for part in options.only):
            continue
        for split, (train, test) in enumerate(splits, start=options.first):
            started = time.process_time()
            given = group[train] if key == "gap" else None
            predict, promised = fit(X[train], problem.y[train], given, split)
            predicted = np.asarray(predict(X[test], group[test] if key == "gap" else None), dtype=bool)
            facts = facts_of(problem.y[test], predicted, group[test]) | {"promised": float(promised)}
            facts |= {"seconds": time.process_time() - started}
            results = read_json(KEPT)
            mine = results.setdefault(f"{key}, {name}", {}).setdefault(method, {})
            mine[f"{options.seed}:{split}"] = facts
            write_json(KEPT, results, sort_keys=True)
        found = list(mine.values())
        means = {one: float(np.mean([fact[one] for fact in found])) for one in found[0]}
        said = [fact for fact in found if fact["promised"]]
        kept = sum(fact[key] <= level for fact in said)
        values = " | ".join(f"{means[one]:.4f}" for one in (key, "f1", "balanced", "tpr", "precision", "seconds"))
        print(f"| {name} | {method} | {len(said)} of {len(found)} | {kept} | {values} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=["alerts", "gap"])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the number of the first split")
    parser.add_argument("--seed", type=int, default=0, help="of the splits")
    parser.add_argument("--confidences", type=float, nargs="*", default=[0.9, 0.99])
    parser.add_argument("--names", nargs="*", default=["a9a", "creditcard"], help="of the data, for alerts")
    parser.add_argument("--only", nargs="*", help="parts of the names of methods")
    options = datasets.parsed(parser)
    warnings.simplefilter("ignore", ConstraintWarning)  # the table tells
    print("| data | method | promised | of them kept | bounded | F1 | balanced accuracy | TPR | precision | s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    if options.section == "gap":
        run("a9a", gap_methods(options.confidences), "gap", GAP, options)
    else:
        methods = {name: ours(make, RecallAtAlertRate(BUDGET)) for name, make in MODELS.items()}
        for name in options.names:
            run(name, methods, "alerts", BUDGET, options)


if __name__ == "__main__":
    main()
