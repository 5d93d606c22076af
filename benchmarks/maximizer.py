"""MeasureMaximizer against TunedThresholdClassifierCV around the same gradient boosting: test values and CPU time.

Both get the same learner and the same 5 inner folds (by block where rows of a block belong together); one thread
(set OMP_NUM_THREADS=1). Results are kept in benchmarks/results/maximizer.json as they come, and what is there is
not computed again; ``--redo`` forgets it. From nothing it takes hours;
``--only``, ``--splits`` and ``--rows`` make it less.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, TunedThresholdClassifierCV

import datasets
from output import RESULTS, read_json, write_json
from ratewise import MeasureMaximizer
from ratewise.measures import get_measure

KEPT = RESULTS / "maximizer.json"
DATA = ["mammography", "creditcard", "ijcnn1", "protein_homo", "covtype-5"]
MEASURES = ["f1", "jaccard", "gmean", "min"]
METHODS = ["tuned", "maximizer"]


def learner(method: str, measure: str, seed: int, folds: list[Any]) -> Any:
    boosting = HistGradientBoostingClassifier(random_state=seed)
    if method == "tuned":
        return TunedThresholdClassifierCV(boosting, scoring=get_measure(measure).scorer(), cv=folds)
    return MeasureMaximizer(boosting, measure, cv=folds)


def inner_folds(y: np.ndarray, block: np.ndarray | None) -> list[Any]:
    rows = np.zeros(y.size)
    if block is None:
        return list(StratifiedKFold(5).split(rows, y))
    return list(StratifiedGroupKFold(5).split(rows, y, block))


def value_and_seconds(
    problem: datasets.Problem, train: np.ndarray, test: np.ndarray, method: str, measure: str, seed: int
) -> tuple[float, float]:
    X, y = problem.X[train], problem.y[train]
    folds = inner_folds(y, None if problem.block is None else problem.block[train])
    started = time.process_time()
    fitted = learner(method, measure, seed, folds).fit(X, y)
    seconds = time.process_time() - started
    return get_measure(measure).score(problem.y[test], fitted.predict(problem.X[test])), seconds


def cut(problem: datasets.Problem, rows: int | None) -> datasets.Problem:
    """Some of the rows of a large problem without blocks."""
    if rows is None or problem.block is not None or problem.y.size <= rows:
        return problem
    kept = np.random.default_rng(0).permutation(problem.y.size)[:rows]
    return datasets.Problem(f"{problem.name}, {rows} rows", problem.X[kept], problem.y[kept], None)


def run(entries: dict[str, Any], options: argparse.Namespace) -> None:
    for name in options.only:
        problem = cut(datasets.load(name, options.data), options.rows)
        for split, (train, test) in enumerate(problem.splits(5)):
            for measure in options.measures if split < options.splits else []:
                for method in METHODS:
                    place = entries.setdefault(problem.name, {}).setdefault(measure, {}).setdefault(method, {})
                    if str(split) not in place:
                        place[str(split)] = value_and_seconds(problem, train, test, method, measure, split)
                        write_json(KEPT, entries, sort_keys=True)
                        print(
                            f"{problem.name}, {measure}, split {split}: {method}",
                            place[str(split)],
                            file=sys.stderr,
                        )


def table(entries: dict[str, Any]) -> str:
    lines = [
        f"{'data':28s}{'measure':10s}{'splits':>7s}{'tuned':>9s}{'maximizer':>11s}{'gain':>9s}{'CPU ratio':>11s}"
    ]
    gains, ratios = [], []
    for name, measures in entries.items():
        for measure, methods in measures.items():
            common = sorted(set(methods.get("tuned", {})) & set(methods.get("maximizer", {})))
            if not common:
                continue
            tuned, ours = (np.array([methods[method][split] for split in common]) for method in METHODS)
            gains.append(float(ours[:, 0].mean() - tuned[:, 0].mean()))
            ratios.append(float(ours[:, 1].sum() / tuned[:, 1].sum()))
            lines.append(
                f"{name:28s}{measure:10s}{len(common):7d}{tuned[:, 0].mean():9.4f}{ours[:, 0].mean():11.4f}"
                f"{gains[-1]:+9.4f}{ratios[-1]:11.2f}"
            )
    if gains:
        lines.append(
            f"mean gain {np.mean(gains):+.4f}, worst {min(gains):+.4f}; CPU ratio at most {max(ratios):.2f}"
        )
    return "\n".join(lines)


def warm_up() -> None:
    """Compile, off the clock."""
    X = np.random.default_rng(0).standard_normal((300, 2))
    for measure in MEASURES:
        learner("maximizer", measure, 0, inner_folds(X[:, 0] > 1, None)).fit(X, X[:, 0] > 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=DATA, help="names of data sets")
    parser.add_argument("--measures", nargs="*", default=MEASURES)
    parser.add_argument("--splits", type=int, default=5, help="how many of the 5 splits")
    parser.add_argument("--rows", type=int, help="at most so many rows of a data set")
    parser.add_argument("--redo", nargs="*", choices=METHODS, default=[], help="methods to compute anew")
    options = datasets.parsed(parser)
    entries = read_json(KEPT)
    for measures in entries.values():
        for methods in measures.values():
            for method in options.redo:
                methods.pop(method, None)
    warm_up()
    run(entries, options)
    print(table(entries))


if __name__ == "__main__":
    main()
