"""Curves and pairs: what a basis adds to the linear model, and what boosted trees add, at what CPU time.

Prints tables and writes results/basis.json, which is read again: only what it lacks is computed.

    python benchmarks/basis.py                    # 25 tables, every method
    python benchmarks/basis.py --sets small       # the tables of fewer than 25,000 rows
    python benchmarks/basis.py --checks           # shuffled labels, a linear truth, promises
    python benchmarks/basis.py --stack            # MeasureMaximizer's stack against ensembles of LightGBM
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, TunedThresholdClassifierCV
from threadpoolctl import threadpool_limits

from datasets import DEFAULT_FOLDER, load
from output import RESULTS, read_json, write_json
from ratewise import MeasureClassifier, MeasureMaximizer
from ratewise.decisions.cuts import best_threshold
from ratewise.measures import get_measure

LARGE = ("adb_celeba", "adb_donors", "covtype-5", "creditcard", "ijcnn1", "protein_homo")
SMALL = ("coil_2000", "letter-1", "mammography")
MEASURES = ("f1", "gmean", "min")
BASES = ("linear", "splines", "pairs", "auto")
STACK_MEASURES = (*MEASURES, "mcc")
STACK_ROWS = 20_000  # of large tables
RIVALS = ("tiny LightGBM", "LightGBM", "HistGradientBoosting, tuned threshold")


def problem(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return rows, whether each is positive, and the blocks that rows come in."""
    path = folder / "suite" / f"{name}.parquet"
    if not path.exists():
        found = load(name, folder)
        return np.asarray(found.X, dtype=np.float32), np.asarray(found.y, dtype=bool), found.block
    table = pd.read_parquet(path)
    y = table.pop("target").to_numpy() == 1
    return pd.get_dummies(table, dtype=np.float32).to_numpy(np.float32), y, None


def suite(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (folder / "suite").glob("*.parquet")))


def splits(X: np.ndarray, y: np.ndarray, block: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """70/30 splits: three of small tables, one of large."""
    if block is not None:
        from sklearn.model_selection import GroupShuffleSplit

        yield from GroupShuffleSplit(1, test_size=0.3, random_state=0).split(X, y, block)
        return
    number = 3 if X.shape[0] < 25_000 else 1
    yield from StratifiedShuffleSplit(number, test_size=0.3, random_state=0).split(X, y)


def with_basis(basis: str, X: np.ndarray, y: np.ndarray, test: np.ndarray) -> Callable[[str], Any]:
    def predicted(measure: str) -> Any:
        model = MeasureClassifier(measure, basis=None if basis == "linear" else basis, random_state=0).fit(X, y)
        stated = float(model.measure_.value(*model.rates_))
        kind = "linear" if model.basis_ is None else model.basis_.kind
        return model.predict(test), {"stated": stated, "chosen": kind}

    return predicted


def lightgbm(folds: int, trees: int, leaves: int) -> Callable[..., Callable[[str], Any]]:
    """Return the mean log odds of some folds' models, cut where the out-of-fold log odds say."""

    def trained(X: np.ndarray, y: np.ndarray, test: np.ndarray) -> Callable[[str], Any]:
        from lightgbm import LGBMClassifier

        own, of_test = np.zeros(y.size), np.zeros(test.shape[0])
        for train, rest in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
            model = LGBMClassifier(n_estimators=trees, num_leaves=leaves, n_jobs=1, verbose=-1, random_state=0)
            model.fit(X[train], y[train])
            own[rest] = model.predict(X[rest], raw_score=True)
            of_test += model.predict(test, raw_score=True) / folds
        signs = np.where(y, 1.0, -1.0)
        return lambda measure: (of_test > best_threshold(own, signs, get_measure(measure)).threshold, {})

    return trained


def hist_gradient_boosting(X: np.ndarray, y: np.ndarray, test: np.ndarray) -> Callable[[str], Any]:
    def predicted(measure: str) -> Any:
        model = TunedThresholdClassifierCV(
            HistGradientBoostingClassifier(random_state=0), scoring=get_measure(measure).scorer(), random_state=0
        )
        return model.fit(X, y).predict(test), {}

    return predicted


METHODS: dict[str, Callable[..., Callable[[str], Any]]] = {
    **{basis: lambda *rows, basis=basis: with_basis(basis, *rows) for basis in BASES},
    "tiny LightGBM": lightgbm(3, 40, 15),
    "LightGBM": lightgbm(5, 200, 31),
    "HistGradientBoosting, tuned threshold": hist_gradient_boosting,
}


def compare(names: list[str], methods: list[str], folder: Path, found: dict[str, Any]) -> None:
    """Fill in what is missing of value and CPU seconds, by table, split, method and measure."""
    for name in names:
        wanted = [one for one in methods if not any(key.startswith(f"{name}|{one}|") for key in found)]
        if not wanted:
            continue
        X, y, block = problem(name, folder)
        for number, (train, test) in enumerate(splits(X, y, block)):
            for method in wanted:
                began = time.process_time()
                predict = METHODS[method](X[train], y[train], X[test])
                shared = time.process_time() - began
                for measure in MEASURES:
                    found[f"{name}|{method}|{measure}|{number}"] = evaluated(predict, measure, y[test], shared)
        save(found)
        print(name, {one: round(_mean(found, name, one, "f1", "value"), 4) for one in methods}, flush=True)


def _mean(found: dict[str, Any], name: str, method: str, measure: str, what: str) -> float:
    keys = [key for key in found if key.startswith(f"{name}|{method}|{measure}|")]
    return float(np.mean([found[key][what] for key in keys])) if keys else float("nan")


def table(names: list[str], methods: list[str], found: dict[str, Any]) -> None:
    print(f"\n| {len(names)} tables | " + " | ".join(f"{m}: mean / median / worst" for m in MEASURES) + " | CPU |")
    print("|---" * (len(MEASURES) + 2) + "|")
    for method in methods:
        cells = []
        for measure in MEASURES:
            gains = [
                _mean(found, name, method, measure, "value") - _mean(found, name, "linear", measure, "value")
                for name in names
            ]
            cells.append(f"{np.mean(gains):+.3f} / {np.median(gains):+.3f} / {min(gains):+.3f}")
        ratios = [
            np.mean([_mean(found, name, method, m, "seconds") for m in MEASURES])
            / np.mean([_mean(found, name, "linear", m, "seconds") for m in MEASURES])
            for name in names
        ]
        print(f"| {method} | " + " | ".join(cells) + f" | {np.exp(np.mean(np.log(ratios))):.1f} |")


def shuffled_labels(folder: Path, found: dict[str, Any], draws: int = 8) -> None:
    """Print the G-mean that fits state where labels tell nothing: .5 is the truth."""
    print("\nStated G-mean with shuffled labels: mean and largest over tables")
    for basis in BASES:
        stated = {}
        for name in ("climate_simulation_crashes", "coil_2000", "mammography", "optical_digits", "pie_chart"):
            X, y, _ = problem(name, folder)
            values = []
            for draw in range(draws):
                shuffled = np.random.default_rng(draw).permutation(y)
                model = MeasureClassifier("gmean", basis=None if basis == "linear" else basis, random_state=0)
                values.append(float(model.fit(X, shuffled).measure_.value(*model.rates_)))
            stated[name] = float(np.mean(values))
        found.setdefault("shuffled labels", {})[basis] = stated
        shown = {name: round(value, 3) for name, value in stated.items()}
        print(f"{basis:8} {np.mean(list(stated.values())):.3f} {max(stated.values()):.3f} {shown}", flush=True)


def linear_truth(found: dict[str, Any], draws: int = 10) -> None:
    """Print what a basis costs where a linear model is the truth."""
    print("\nLinear truth: F1 and G-mean against the linear model, mean over draws, and its standard error")
    for positives, rows in ((40, 800), (150, 3_000), (1_500, 15_000)):
        gaps: dict[str, list[float]] = {}
        for draw in range(draws):
            X, y = drawn_linear(rows, positives / rows, draw)
            test_X, test_y = drawn_linear(50_000, positives / rows, 1_000 + draw)
            for measure in ("f1", "gmean"):
                values = {
                    basis: MeasureClassifier(measure, basis=None if basis == "linear" else basis, random_state=0)
                    .fit(X, y)
                    .score(test_X, test_y)
                    for basis in BASES
                }
                for basis in BASES[1:]:
                    gaps.setdefault(f"{measure} {basis}", []).append(values[basis] - values["linear"])
        told = {
            key: [float(np.mean(all_)), float(np.std(all_, ddof=1) / np.sqrt(draws))] for key, all_ in gaps.items()
        }
        found.setdefault("linear truth", {})[f"{positives} of {rows}"] = told
        shown = ", ".join(f"{key} {mean:+.4f} +- {error:.4f}" for key, (mean, error) in told.items())
        print(f"{positives:6} positives of {rows:6}: {shown}", flush=True)


def drawn_linear(rows: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 8))
    scores = X @ [1.5, -1.0, 0.8, 0.5, 0.0, 0.0, 0.0, 0.0] + rng.logistic(size=rows)
    return X, scores > np.quantile(scores, 1.0 - share)


def promises(found: dict[str, Any], draws: int) -> None:
    """Print how often a bound that a fit promised holds on 50,000 new rows of the population."""
    print("\nPromises with a confidence of 90% or more that were kept on new rows")
    test_X, test_y = drawn_curved(50_000, 10_000)
    for basis in BASES:
        for measure, rate in (("tpr-at-tnr-0.9", "tnr"), ("recall-at-precision-0.8", "precision")):
            kept, promised = 0, 0
            for draw in range(draws):
                X, y = drawn_curved(3_000, draw)
                model = MeasureClassifier(measure, basis=None if basis == "linear" else basis, random_state=0)
                if not model.fit(X, y).constraints_met_:
                    continue
                promised += 1
                predicted = model.predict(test_X)
                holds = (~predicted[~test_y]).mean() >= 0.9 if rate == "tnr" else test_y[predicted].mean() >= 0.8
                kept += bool(holds)
            found.setdefault("promises", {})[f"{measure} {basis}"] = {
                "draws": draws,
                "promised": promised,
                "kept": kept,
            }
            print(f"{measure:24} {basis:8} kept {kept} of {promised} promised in {draws} draws", flush=True)
            save_checks(found)


def drawn_curved(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6))
    return X, np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.5 * rng.normal(size=rows) > 1.8


def maximizer(*, own_booster: bool = False, **settings: Any) -> Callable[..., Callable[[str], Any]]:
    """Return MeasureMaximizer as it is without settings, or around a small LightGBM."""

    def trained(X: np.ndarray, y: np.ndarray, test: np.ndarray) -> Callable[[str], Any]:
        from lightgbm import LGBMClassifier

        base = LGBMClassifier(n_estimators=40, num_leaves=15, n_jobs=1, verbose=-1, random_state=0)

        def predicted(measure: str) -> Any:
            more = {"estimator": base, "cv": 3} if own_booster else {}
            model = MeasureMaximizer(measure=measure, **more, **settings).fit(X, y)
            return model.predict(test), {
                "stated": float(model.measure_.value(*model.rates_)),
                "chosen": model.stacked_,
            }

        return predicted

    return trained


STACKS: dict[str, Callable[..., Callable[[str], Any]]] = {
    "LightGBM, 5 folds of 100 trees": lightgbm(5, 100, 31),
    "LightGBM, 3 folds of 40 trees": lightgbm(3, 40, 15),
    "MeasureMaximizer()": maximizer(),
    "MeasureMaximizer(stack=False)": maximizer(stack=False),
    "MeasureMaximizer(LightGBM, cv=3)": maximizer(own_booster=True),
}


def compare_stacks(names: list[str], number: int, folder: Path, found: dict[str, Any]) -> None:
    """Fill in what is missing of stacks, of boosting alone, and of the ensembles, on so many splits."""
    for name in names:
        X, y, block = problem(name, folder)
        for split, (train, test) in enumerate(splits(X, y, block)):
            if split >= number:
                break
            train = train[: STACK_ROWS if train.size > STACK_ROWS else None]
            for method, trained in STACKS.items():
                if f"{name}|{method}|{STACK_MEASURES[-1]}|{split}" not in found:
                    began = time.process_time()
                    predict = trained(X[train], y[train], X[test])
                    shared = time.process_time() - began
                    for measure in STACK_MEASURES:
                        found[f"{name}|{method}|{measure}|{split}"] = evaluated(predict, measure, y[test], shared)
        write_json(RESULTS / "stack.json", found)
        print(name, {one: round(_mean(found, name, one, "f1", "value"), 4) for one in STACKS}, flush=True)


def evaluated(predict: Callable[[str], Any], measure: str, y: np.ndarray, shared: float) -> dict[str, Any]:
    """Return the value on test rows, and the CPU seconds of one fit."""
    began = time.process_time()
    predicted, more = predict(measure)
    seconds = shared + time.process_time() - began
    return {
        "value": float(get_measure(measure).score(y, np.asarray(predicted, dtype=bool))),
        "seconds": seconds,
    } | more


def stack_table(names: list[str], found: dict[str, Any]) -> None:
    """Print gains in points of 100 over both ensembles, the worst table and the median ratio of CPU times."""
    fair, tiny = list(STACKS)[:2]

    def of(method: str, what: str) -> np.ndarray:
        return np.array([[_mean(found, name, method, m, what) for m in STACK_MEASURES] for name in names])

    print(
        f"\n| {len(names)} tables, points of 100 | over 5 x 100 | worst table | over 3 x 40 | worst table | CPU |"
    )
    print("|---|---|---|---|---|---|")
    for method in STACKS:
        cells = []
        for rival in (fair, tiny):
            gains = 100.0 * (of(method, "value") - of(rival, "value")).mean(axis=1)
            error = gains.std(ddof=1) / np.sqrt(gains.size)
            cells += [f"{gains.mean():+.2f} +- {error:.2f}", f"{gains.min():+.1f}"]
        ratio = np.median(of(method, "seconds").mean(axis=1) / of(fair, "seconds").mean(axis=1))
        print(f"| {method} | " + " | ".join(cells) + f" | {ratio:.2f} |")


def save(found: dict[str, Any]) -> None:
    write_json(RESULTS / "basis.json", found)


def save_checks(checks: dict[str, Any]) -> None:
    save(read_json(RESULTS / "basis.json") | {"checks": checks})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--sets", default="all", help="all, small, large, or names with commas")
    parser.add_argument("--methods", default=",".join(METHODS).replace(", ", "; "))
    parser.add_argument("--checks", action="store_true")
    parser.add_argument("--stack", action="store_true")
    parser.add_argument("--splits", type=int, default=1, help="of the stack, at most")
    parser.add_argument("--draws", type=int, default=200, help="of the promises")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.checks:
        checks = read_json(RESULTS / "basis.json").get("checks", {})
        with threadpool_limits(1):
            for name, check in (
                ("shuffled labels", lambda: shuffled_labels(arguments.data, checks)),
                ("linear truth", lambda: linear_truth(checks)),
                ("promises", lambda: promises(checks, arguments.draws)),
            ):
                if name not in checks:
                    check()
                    save_checks(checks)
        return
    groups = {"small": [*suite(arguments.data), *SMALL], "large": list(LARGE)}
    groups["all"] = groups["small"] + groups["large"]
    names = groups.get(arguments.sets) or arguments.sets.split(",")
    if arguments.stack:
        found = read_json(RESULTS / "stack.json")
        with threadpool_limits(1):
            compare_stacks(names, arguments.splits, arguments.data, found)
        stack_table(names, found)
        return
    methods = [one.replace("; ", ", ") for one in arguments.methods.split(",")]
    found = read_json(RESULTS / "basis.json")
    with threadpool_limits(1):
        compare(names, methods, arguments.data, found)
    table(names, methods, found)


if __name__ == "__main__":
    main()
