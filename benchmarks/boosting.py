"""MeasureMaximizer around gradient boosting and four rivals of the same folds: test values and CPU time.

    fair         the same booster in 5 folds, the mean log odds of the 5 models, and the threshold with the best
                 value of all cuts of the out-of-fold log odds
    probability  the same with mean probabilities
    balanced     the fair rival with balanced class weights
    tuned        TunedThresholdClassifierCV on the same 5 folds (100 cuts)
    reweighted   MeasureMaximizer as it treats other classifiers: two reweighting iterations, a model of all rows
    ours         MeasureMaximizer(booster, measure, stack=False)

Boosters have their defaults (100 trees), on one thread. Text columns go in as category codes. Splits are 70/30, by
block where rows of a block belong together. Files of more than 200,000 rows get one split. Of files of more than
``--rows`` rows a stratified sample is taken, and of those of more than 500 dense columns (mnist) one of 12,000.
Recall at a precision is asked for without a confidence, since no rival has one. A value of it below 0 counts as 0,
which is that of a model that predicts nothing positive. A fit that several methods or measures share is made once,
and its CPU time counts for each.

Results are kept in benchmarks/results/boosting.json as they come, and what is there is not computed again. From
nothing it takes hours; ``--only``, ``--boosters``, ``--methods``, ``--seeds`` and ``--rows`` make it less, and
``--fits`` keeps the fitted models, so that a change of what is done with them costs no fit. HistGradientBoosting
takes no sparse rows: the two data sets of more than 1000 sparse columns (reuters_lasvm, sms_spam) run without it.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import math
import os
import pickle
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TunedThresholdClassifierCV,
)
from xgboost import XGBClassifier

import datasets
from output import RESULTS, read_json, write_json
from ratewise import MeasureMaximizer
from ratewise.decisions.choose import half_standard_error
from ratewise.decisions.cuts import best_threshold
from ratewise.measures import Measure, RecallAtPrecision, get_measure
from ratewise.measures._rates import rates_from_labels

KEPT = RESULTS / "boosting.json"
MEASURES: dict[str, Measure] = {
    "f1": get_measure("f1"),
    "gmean": get_measure("gmean"),
    "min": get_measure("min"),
    "recall-at-precision-0.8": RecallAtPrecision(0.8, confidence=None),
}
METHODS = ["fair", "ours", "probability", "balanced", "tuned", "reweighted"]


class Clock:
    """The fits made so far, and the CPU seconds that shared fits would have taken again."""

    fits: dict[str, tuple[dict[str, Any], float]] = {}  # noqa: RUF012
    folder: Path | None = None
    """Where fits are kept from run to run."""
    saved = 0.0

    @classmethod
    def recall(cls, name: str) -> tuple[dict[str, Any], float] | None:
        kept = None if cls.folder is None else cls.folder / f"{name}.pickle"
        if name not in cls.fits and kept is not None and kept.exists():
            cls.fits[name] = pickle.loads(kept.read_bytes())
        return cls.fits.get(name)

    @classmethod
    def keep(cls, name: str, state: dict[str, Any], seconds: float) -> None:
        cls.fits[name] = (state, seconds)
        if cls.folder is not None:
            temporary = cls.folder / f"{name}.{os.getpid()}"
            temporary.write_bytes(pickle.dumps((state, seconds)))
            temporary.replace(cls.folder / f"{name}.pickle")


class _Remembered:
    """Boosting that is not fitted twice to the same rows with the same settings."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        key = hashlib.sha1(repr(sorted(self.get_params().items(), key=str)).encode())  # type: ignore[attr-defined]
        for part in (y, sample_weight, X.data if sparse.issparse(X) else X):
            key.update(b"none" if part is None else np.ascontiguousarray(part).data)
        name = type(self).__name__ + key.hexdigest()
        started = time.process_time()
        found = Clock.recall(name)
        if found is not None:
            vars(self).update(copy.copy(found[0]))
            Clock.saved += found[1] - (time.process_time() - started)
            return self
        started = time.process_time()
        super().fit(X, y, sample_weight=sample_weight)  # type: ignore[misc]
        seconds, writing = time.process_time() - started, time.process_time()
        Clock.keep(name, copy.copy(vars(self)), seconds)
        Clock.saved -= time.process_time() - writing
        return self


class LightGBM(_Remembered, LGBMClassifier):
    pass


class XGBoost(_Remembered, XGBClassifier):
    pass


class HistGB(_Remembered, HistGradientBoostingClassifier):
    pass


def booster(name: str, seed: int, y: np.ndarray, *, balanced: bool = False) -> Any:
    weight = "balanced" if balanced else None
    if name == "LightGBM":
        return LightGBM(n_jobs=1, verbosity=-1, random_state=seed, class_weight=weight)
    if name == "XGBoost":
        ratio = float((~y).sum() / y.sum()) if balanced else None
        return XGBoost(n_jobs=1, random_state=seed, scale_pos_weight=ratio)
    return HistGB(random_state=seed, class_weight=weight)


BOOSTERS = ["LightGBM", "HistGB", "XGBoost"]


class OutOfFoldEnsemble:
    """The fair rival: nothing but the booster, its folds, and the best of all cuts."""

    def __init__(self, base: Any, measure: Measure, folds: list[Any], *, probability: bool = False):
        self.base, self.measure, self.folds, self.probability = base, measure, folds, probability

    def scores(self, model: Any, X: Any) -> np.ndarray:
        if self.probability:
            found = model.predict_proba(X)[:, 1]
        elif isinstance(model, LGBMClassifier):
            found = model.predict(X, raw_score=True)
        elif isinstance(model, XGBClassifier):
            found = model.predict(X, output_margin=True)
        else:
            found = model.decision_function(X)
        return np.asarray(found, dtype=float)

    def fit(self, X: Any, y: np.ndarray) -> OutOfFoldEnsemble:
        self.models, scores, signs = [], [], []
        for train, validation in self.folds:
            model = copy.deepcopy(self.base).fit(X[train], y[train])
            scores.append(self.scores(model, X[validation]))
            signs.append(np.where(y[validation], 1.0, -1.0))
            self.models.append(model)
        found = best_threshold(np.concatenate(scores), np.concatenate(signs), self.measure, margin_scale=0.0)
        self.threshold = found.threshold
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.mean([self.scores(model, X) for model in self.models], axis=0) > self.threshold


def method(name: str, kind: str, measure: Measure, seed: int, y: np.ndarray, folds: list[Any]) -> Any:
    base = booster(kind, seed, y, balanced=name == "balanced")
    if name in ("fair", "balanced", "probability"):
        return OutOfFoldEnsemble(base, measure, folds, probability=name == "probability")
    if name == "tuned":
        return TunedThresholdClassifierCV(base, scoring=measure.scorer(), cv=folds)
    if name == "reweighted":
        return MeasureMaximizer(base, measure, cv=folds, rounds=2, response_method="predict_proba")
    return MeasureMaximizer(base, measure, cv=folds, stack=False)


def load(name: str, folder: Path, rows: int) -> tuple[datasets.Problem, int]:
    """A problem of at most so many rows, and the rows it had."""
    suite = folder / "suite" / f"{name}.parquet"
    if not suite.exists():
        problem = datasets.load(name, folder)
    else:
        import pandas

        table = pandas.read_parquet(suite)
        y = table.pop("target").to_numpy() == 1
        columns = [
            column if column.dtype.kind in "fiub" else column.astype("category").cat.codes
            for _, column in table.items()
        ]
        problem = datasets.Problem(name, np.column_stack(columns).astype(np.float32), y, None)
    problem = problem._replace(y=np.asarray(problem.y, dtype=bool))
    whole = problem.y.size
    if not sparse.issparse(problem.X) and problem.X.shape[1] > 500:
        rows = min(rows, 12_000)
    if whole > rows and problem.block is None:
        sampler = StratifiedShuffleSplit(1, train_size=rows, random_state=0)
        kept, _ = next(sampler.split(np.zeros(whole), problem.y))
        problem = problem._replace(X=problem.X[kept], y=problem.y[kept])
    return problem, whole


def names(folder: Path) -> list[str]:
    """The suite first, and then by the size of the files."""
    suite = sorted(path.stem for path in (folder / "suite").glob("*.parquet"))
    rows = ["mammography", "coil_2000", "letter-1", "sms_spam", "ijcnn1", "creditcard", "a9a", "w8a_train"]
    rows += ["covtype-5", "protein_homo", "adb_celeba", "adb_donors", "reuters_lasvm", "kdd99-ipsweep"]
    return [*suite, *rows, "mnist-0", "mnist-8"]


def one_split(problem: datasets.Problem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return next(problem.splits(1, seed))


def inner_folds(y: np.ndarray, block: np.ndarray | None) -> list[Any]:
    rows = np.zeros(y.size)
    if block is None:
        return list(StratifiedKFold(5).split(rows, y))
    return list(StratifiedGroupKFold(5).split(rows, y, block))


def result(problem: datasets.Problem, seed: int, kind: str, name: str, measure: Measure) -> list[float]:
    """Value, TPR, TNR, CPU seconds of the fit, positives among the test rows."""
    train, test = one_split(problem, seed)
    X, y = problem.X[train], problem.y[train]
    folds = inner_folds(y, None if problem.block is None else problem.block[train])
    Clock.saved, started = 0.0, time.process_time()
    fitted = method(name, kind, measure, seed, y, folds).fit(X, y)
    seconds = time.process_time() - started + Clock.saved
    rates = rates_from_labels(problem.y[test], np.asarray(fitted.predict(problem.X[test])).astype(bool))
    value = max(float(measure.value(*rates)), 0.0)
    return [value, float(rates.tpr), float(rates.tnr), seconds, float(problem.y[test].sum())]


def run(entries: dict[str, Any], options: argparse.Namespace) -> None:
    """All data sets with one split and the nearest rivals first, then the others, then more splits."""
    near = [one for one in options.methods if one not in ("balanced", "reweighted")]
    far = [[one] for one in ("balanced", "reweighted") if one in options.methods]
    for seeds in (options.seeds[:1], options.seeds[1:]):
        for methods in (near, *far):
            for name in options.only or names(options.data):
                run_data_set(name, methods, seeds, entries, options)


def run_data_set(
    name: str, methods: list[str], seeds: list[int], entries: dict[str, Any], options: argparse.Namespace
) -> None:
    def missing(kind: str, seed: int) -> list[tuple[str, str]]:
        return [
            (measure, one)
            for measure in options.measures
            for one in methods
            if str(seed) not in entries.get(f"{name}, {kind}, {measure}", {}).get(one, {})
        ]

    if not any(missing(kind, seed) for kind in options.boosters for seed in seeds):
        return
    problem, whole = load(name, options.data, options.rows)
    for kind in options.boosters:
        if kind == "HistGB" and sparse.issparse(problem.X):
            if problem.X.shape[1] > 1000:
                continue
            problem = problem._replace(X=problem.X.toarray())
        for seed in seeds if whole <= 200_000 else [seed for seed in seeds if seed == options.seeds[0]]:
            Clock.fits.clear()
            for measure, one in missing(kind, seed):
                place = entries.setdefault(f"{name}, {kind}, {measure}", {}).setdefault(one, {})
                try:
                    place[str(seed)] = result(problem, seed, kind, one, MEASURES[measure])
                except ValueError as error:
                    if one != "tuned" or "constant predictions" not in str(error):
                        raise
                    place[str(seed)] = None  # it refuses probabilities that are all the same
                write_json(options.out, entries, sort_keys=True)
            print(time.strftime("%H:%M:%S"), name, kind, seed, *methods, file=sys.stderr, flush=True)


def against(entries: dict[str, Any], rival: str, seeds: list[int], mine: str = "ours") -> list[dict[str, Any]]:
    """One row per cell that both methods have."""
    cells = []
    for key, methods in sorted(entries.items()):
        name, kind, measure = key.split(", ")
        common = [s for s in map(str, seeds) if methods.get(rival, {}).get(s) and methods.get(mine, {}).get(s)]
        if not common:
            continue
        ours, theirs = (np.array([methods[one][seed] for seed in common]) for one in (mine, rival))
        gains = ours[:, 0] - theirs[:, 0]
        sampling = 2.0 * half_standard_error(min(max(ours[:, 0].mean(), 0.01), 0.99), (0.0, 1.0), ours[:, 4].sum())
        error = float(gains.std(ddof=1) / math.sqrt(gains.size)) if gains.size > 1 else sampling
        cells.append(
            {
                "data": name,
                "booster": kind,
                "measure": measure,
                "splits": len(common),
                "rival": float(theirs[:, 0].mean()),
                "ours": float(ours[:, 0].mean()),
                "gain": float(gains.mean()),
                "error": error,
                "cpu": float(ours[:, 3].sum() / theirs[:, 3].sum()),
            }
        )
    return cells


def table(cells: list[dict[str, Any]]) -> str:
    lines = [
        f"{'data':28s}{'booster':10s}{'measure':25s}{'splits':>7s}{'rival':>8s}{'ours':>8s}{'gain':>8s}{'+-':>7s}{'CPU':>6s}"
    ]
    lines += [
        f"{c['data']:28s}{c['booster']:10s}{c['measure']:25s}{c['splits']:7d}{c['rival']:8.4f}{c['ours']:8.4f}"
        f"{c['gain']:+8.4f}{c['error']:7.4f}{c['cpu']:6.2f}"
        for c in cells
    ]
    return "\n".join(lines)


def verdict(cells: list[dict[str, Any]]) -> str:
    """The bars: +0.015 in the mean, 65% of cells above, none clearly below, 1.5 times the CPU time."""
    gains = np.array([c["gain"] for c in cells])
    below = [f"{c['data']} {c['booster']} {c['measure']}" for c in cells if c["gain"] < -0.01 - 2.0 * c["error"]]
    cpu = math.exp(float(np.mean([math.log(c["cpu"]) for c in cells])))
    lines = [
        f"{len(cells)} cells: mean {gains.mean():+.4f} (median {np.median(gains):+.4f}); "
        f"above {(gains > 0).mean():.0%}, equal {(gains == 0).mean():.0%}, below {(gains < 0).mean():.0%}; "
        f"CPU time x {cpu:.2f} in the geometric mean",
        f"clearly below -0.01: {'; '.join(below) or 'none'}",
    ]
    for measure in MEASURES:
        mine = np.array([c["gain"] for c in cells if c["measure"] == measure])
        if mine.size:
            lines.append(f"  {measure:25s}{mine.mean():+.4f}, above {(mine > 0).mean():.0%} of {mine.size}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER, help="folder of NAME.npz files")
    parser.add_argument("--only", "--sets", nargs="*", help="names of data sets")
    parser.add_argument("--boosters", nargs="*", default=BOOSTERS, choices=BOOSTERS)
    parser.add_argument("--measures", nargs="*", default=list(MEASURES), choices=list(MEASURES))
    parser.add_argument("--methods", nargs="*", default=METHODS, choices=METHODS)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--rows", type=int, default=120_000, help="at most so many rows of a data set")
    parser.add_argument("--redo", nargs="*", default=[], choices=METHODS, help="methods to compute anew")
    parser.add_argument("--fits", type=Path, help="folder that keeps fitted models")
    parser.add_argument("--out", type=Path, default=KEPT)
    parser.add_argument("--table", action="store_true", help="print what is there, and compute nothing")
    options = parser.parse_args()
    if not options.data.is_dir():
        sys.exit(f"There is no folder {options.data}: give one with --data.")
    entries = read_json(options.out)
    for methods in entries.values():
        for one in options.redo:
            methods.pop(one, None)
    Clock.folder = options.fits
    if not options.table:
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        rng = np.random.default_rng(0)
        X = rng.standard_normal((300, 2))
        for measure in MEASURES.values():  # compile, off the clock
            MeasureMaximizer(HistGradientBoostingClassifier(max_iter=3), measure, cv=2).fit(X, X[:, 0] > 1)
        run(entries, options)
    cells = against(entries, "fair", options.seeds)
    print(table(cells))
    for rival in METHODS:
        cells = against(entries, rival, options.seeds)
        if rival != "ours" and cells:
            print(f"\nAgainst {rival}: {verdict(cells)}")


if __name__ == "__main__":
    main()
