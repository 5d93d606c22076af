"""Test value and CPU time of every way to fit, recorded before a redesign and compared after it.

``--record FILE`` writes what the installed ratewise does: sixteen data sets, five measures, four ways to fit (rows
in memory, files, shards on the local engine, ``partial_fit``) and the plain solvers, on random 70/30 splits. What
FILE holds already is not computed again. ``--compare BEFORE AFTER`` prints the differences and checks the bars of
a redesign. The code of another commit is recorded by running this script in a checkout of it. ``--times SRC``
fits with the code in the folder SRC and with the installed one in turn, and compares CPU times alone. ``--state``
writes how large a pickled ``partial_fit`` state is on the way to 2,000,000 rows in batches of 100.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import datasets

HERE = Path(__file__).parent
BEFORE, AFTER = HERE / "results" / "frozen-before.json", HERE / "results" / "frozen-after.json"
TIMES = HERE / "results" / "frozen-times.json"
STATE = HERE / "results" / "frozen-state.json"
STATE_AT = [200_000, 1_000_000, 2_000_000]  # rows
STATE_BATCH, STATE_COLUMNS = 100, 10
TIMED = ["ijcnn1", "creditcard", "mammography", "covtype-5"]
TIMED_CELLS = [
    *(("f1", way) for way in ("fit", "stamp", "amp")),
    *((measure, way) for measure in ("gmean", "min") for way in ("fit", "spade")),
]
MEASURES = ["f1", "gmean", "min", "jaccard", "recall-at-precision-0.8"]
PLAIN = {"f1": ["stamp", "amp"], "jaccard": ["stamp"], "gmean": ["spade"], "min": ["spade"]}
RECALL = "recall-at-precision-0.8"
SHARDS = 4
BATCHES = 8
AMP_ROWS = 120_000
SHORT = 1.0  # seconds: such a fit is timed three times, and the median counts


def measure_of(name: str) -> Any:
    from ratewise.measures import RecallAtPrecision, get_measure

    if name != RECALL:
        return get_measure(name)
    try:
        return RecallAtPrecision(0.8, confidence=None)  # by its margin, as before there was a confidence
    except TypeError:
        return RecallAtPrecision(0.8)


class Rows:
    """The training rows of one split, in memory and as a file that streams are opened from."""

    def __init__(self, X: Any, y: np.ndarray, folder: Path):
        self.X, self.y = X, y.astype(np.int64)
        self._folder = folder

    def stream(self) -> Any:
        from ratewise import open_stream

        if sparse.issparse(self.X):
            path = self._folder / "train.npz"
            if not path.exists():
                X = self.X
                np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=self.y)
            return open_stream(path)
        path = self._folder / "train.parquet"
        if not path.exists():
            import pyarrow as pa
            from pyarrow import parquet

            columns = {f"x{k}": self.X[:, k] for k in range(self.X.shape[1])} | {"label": self.y}
            parquet.write_table(pa.table(columns), path, compression="lz4")
        return open_stream(path, target="label")

    def parts(self, number: int) -> Iterator[tuple[Any, np.ndarray]]:
        for part in np.array_split(np.arange(self.y.size), number):
            rows = slice(part[0], part[-1] + 1)
            yield self.X[rows], self.y[rows]


def fit_in_memory(rows: Rows, measure: Any, seed: int) -> Any:
    from ratewise import MeasureClassifier

    return MeasureClassifier(measure, random_state=seed).fit(rows.X, rows.y)


def fit_files(rows: Rows, measure: Any, seed: int) -> Any:
    from ratewise import MeasureClassifier

    return MeasureClassifier(measure, random_state=seed).fit_stream(rows.stream())


def fit_shards(rows: Rows, measure: Any, seed: int) -> Any:
    from dask import delayed

    from ratewise.distributed import DaskMeasureClassifier

    parts = [delayed(part) for part in rows.parts(SHARDS)]
    return DaskMeasureClassifier(measure, random_state=seed).fit(parts)


def fit_batches(rows: Rows, measure: Any, seed: int) -> Any:
    from ratewise import MeasureClassifier

    classifier = MeasureClassifier(measure, random_state=seed)
    for X, y in rows.parts(BATCHES):
        classifier.partial_fit(X, y, classes=[0, 1])
    return classifier


def plain(solver: str) -> Callable[[Rows, Any, int], Any]:
    def fit(rows: Rows, measure: Any, seed: int) -> Any:
        from ratewise import MeasureClassifier

        return MeasureClassifier(measure, solver=solver, sharpen=False, random_state=seed).fit(rows.X, rows.y)

    return fit


WAYS: dict[str, Callable[[Rows, Any, int], Any]] = {
    "fit": fit_in_memory,
    "fit_stream": fit_files,
    "shards": fit_shards,
    "partial_fit": fit_batches,
    "spade": plain("spade"),
    "stamp": plain("stamp"),
    "amp": plain("amp"),
}


def cells(rows: Rows) -> Iterator[tuple[str, str]]:
    for measure in MEASURES:
        for way in ("fit", "fit_stream", "shards", "partial_fit"):
            yield measure, way
        for way in PLAIN.get(measure, []):
            if way != "amp" or rows.y.size <= AMP_ROWS:
                yield measure, way


def measured(rows: Rows, measure: str, way: str, seed: int, X_test: Any, y_test: np.ndarray) -> list[float]:
    objective = measure_of(measure)
    seconds: list[float] = []
    while not seconds or (seconds[0] < SHORT and len(seconds) < 3):
        started = time.process_time()
        classifier = WAYS[way](rows, objective, seed)
        seconds.append(time.process_time() - started)
    predicted = np.asarray(classifier.predict(X_test)).astype(bool)
    return [objective.score(y_test, predicted), float(np.median(seconds))]


def record(path: Path, folder: Path, data: list[str], ways: list[str], splits: int) -> None:
    warnings.simplefilter("ignore")
    kept: dict[str, dict[str, list[float]]] = json.loads(path.read_text()) if path.exists() else {}
    for name in data:
        problem = datasets.load(name, folder)
        for split, (train, test) in enumerate(problem.splits(splits)):
            with tempfile.TemporaryDirectory() as temporary:
                rows = Rows(problem.X[train], problem.y[train], Path(temporary))
                rows.stream()
                for measure, way in cells(rows):
                    cell = kept.setdefault(f"{name}, {measure}, {way}", {})
                    if way not in ways or str(split) in cell:
                        continue
                    print(f"{name} {split} {measure} {way}" + " " * 20, end="\r", file=sys.stderr)
                    WAYS[way](_few(rows, Path(temporary)), measure_of(measure), 0)  # compile, off the clock
                    cell[str(split)] = measured(rows, measure, way, split, problem.X[test], problem.y[test])
                    _write(path, kept)


def _few(rows: Rows, folder: Path) -> Rows:
    """A hundred rows of each class, in a folder of their own."""
    own = folder / "few"
    own.mkdir(exist_ok=True)
    chosen = np.concatenate([np.flatnonzero(rows.y == label)[:100] for label in (0, 1)])
    chosen = np.random.default_rng(0).permutation(chosen)
    return Rows(rows.X[chosen], rows.y[chosen], own)


def _write(path: Path, kept: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n")
    temporary.replace(path)


def compare(before: Path, after: Path) -> bool:
    """Print every bar of a redesign with what was measured; whether all are met."""
    old, new = (json.loads(path.read_text()) for path in (before, after))
    for cell in set(old) & set(new):  # the same splits on both sides
        both = set(old[cell]) & set(new[cell])
        old[cell], new[cell] = ({split: side[cell][split] for split in both} for side in (old, new))
    means = {
        which: {cell: np.mean([v for v, _ in splits.values()]) for cell, splits in found.items() if splits}
        for which, found in (("old", old), ("new", new))
    }
    shared = sorted(set(means["old"]) & set(means["new"]))
    met = []

    def bar(text: str, measured: float, limit: float, *, above: bool) -> None:
        good = measured >= limit if above else measured <= limit
        met.append(good)
        print(f"{'met   ' if good else 'MISSED'} {text}: {measured:.4f} (asked {limit:g})")

    gain = {cell: means["new"][cell] - means["old"][cell] for cell in shared}
    for way in WAYS:
        mine = [cell for cell in shared if cell.endswith(f", {way}")]
        if not mine:
            continue
        changes = np.array([gain[cell] for cell in mine])
        worst = mine[int(changes.argmin())]
        if way in ("fit", "spade", "stamp", "amp"):
            bar(f"{way}, worst cell ({worst})", float(changes.min()), -0.003, above=True)
            bar(f"{way}, mean of {len(mine)} cells", float(changes.mean()), -0.0005, above=True)
        else:
            print(f"       {way}: mean {changes.mean():+.4f}, worst {changes.min():+.4f} ({worst})")
        ratios = {
            cell: np.median([s for _, s in new[cell].values()]) / np.median([s for _, s in old[cell].values()])
            for cell in mine
        }
        slowest = max(ratios, key=lambda cell: ratios[cell])
        mean_ratio = float(np.exp(np.mean(np.log(list(ratios.values())))))
        bar(f"{way}, CPU time against before, geometric mean", mean_ratio, 1.05, above=False)
        bar(f"{way}, CPU time against before, slowest ({slowest})", float(ratios[slowest]), 1.2, above=False)
    for way in ("fit_stream", "shards"):
        gaps = {
            cell: means["new"][cell] - means["new"][cell.replace(f", {way}", ", fit")]
            for cell in means["new"]
            if cell.endswith(f", {way}") and cell.replace(f", {way}", ", fit") in means["new"]
        }
        if gaps:
            worst = min(gaps, key=lambda cell: gaps[cell])
            bar(f"{way} against fit, mean", float(np.mean(list(gaps.values()))), -0.003, above=True)
            bar(f"{way} against fit, worst ({worst})", float(gaps[worst]), -0.01, above=True)
    return all(met)


def answer_requests(folder: Path) -> None:
    """Fit what each line of the input asks for, and print the CPU seconds."""
    warnings.simplefilter("ignore")
    rows: dict[str, Rows] = {}
    for line in sys.stdin:
        name, measure, way, seed = json.loads(line)
        if name not in rows:
            problem = datasets.load(name, folder)
            train, _ = next(problem.splits(1))
            rows = {name: Rows(problem.X[train], problem.y[train], Path())}
        started = time.process_time()
        WAYS[way](rows[name], measure_of(measure), seed)
        print(time.process_time() - started, flush=True)


def compare_times(src: Path, folder: Path, data: list[str], repeats: int) -> None:
    """Print and keep the median CPU seconds of both, measured in turn; compile time is off the clock."""
    sides = {}
    for side, more in (("before", {"PYTHONPATH": str(src)}), ("now", {})):
        command = [sys.executable, __file__, "--answer", "--data", str(folder)]
        sides[side] = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | more
        )
    kept = json.loads(TIMES.read_text()) if TIMES.exists() else {}
    for name in data:
        for measure, way in TIMED_CELLS:
            found: dict[str, list[float]] = {side: [] for side in sides}
            for seed in range(repeats + 1):
                for side, process in sides.items():
                    process.stdin.write(json.dumps([name, measure, way, seed]) + "\n")
                    process.stdin.flush()
                    found[side].append(float(process.stdout.readline()))
            cell = {side: float(np.median(seconds[1:])) for side, seconds in found.items()}
            kept[f"{name}, {measure}, {way}"] = cell
            print(f"{name} {measure} {way}: {cell['before']:.3f} s, {cell['now']:.3f} s", flush=True)
            _write(TIMES, kept)
    for process in sides.values():
        process.stdin.close()
        process.wait()
    ratios = {cell: one["now"] / one["before"] for cell, one in kept.items()}
    slowest = max(ratios, key=lambda cell: ratios[cell])
    mean = np.exp(np.mean(np.log(list(ratios.values()))))
    print(f"now / before: {mean:.2f} in the geometric mean, at most {ratios[slowest]:.2f} ({slowest})")


def record_state() -> None:
    """Print and keep the bytes of what ``partial_fit`` keeps from call to call, after so many rows.

    Of the run that forgets nothing, and of the classifier as it comes, whose learners forget at different speeds.
    """
    from ratewise import MeasureClassifier

    kept: dict[str, dict[str, int]] = json.loads(STATE.read_text()) if STATE.exists() else {}
    for name, half_life in (("f1", None), ("gmean", None), ("mcc", None), ("f1", "auto"), ("gmean", "auto")):
        rng = np.random.default_rng(0)
        classifier = MeasureClassifier(name, half_life=half_life, random_state=0)
        for rows in range(STATE_BATCH, STATE_AT[-1] + 1, STATE_BATCH):
            X = rng.standard_normal((STATE_BATCH, STATE_COLUMNS), dtype=np.float32)
            y = (X[:, 0] + rng.standard_normal(STATE_BATCH) > 1.5).astype(int)
            classifier.partial_fit(X, y, classes=[0, 1])
            if rows in STATE_AT:
                size = len(pickle.dumps(classifier))
                kept.setdefault(f"{name}, half_life={half_life}", {})[str(rows)] = size
                print(f"{name}, half_life={half_life}, {rows:,} rows: {size:,} bytes", flush=True)
                _write(STATE, kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, help="where to keep what is measured")
    parser.add_argument("--compare", type=Path, nargs=2, default=[BEFORE, AFTER], metavar=("BEFORE", "AFTER"))
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--ways", nargs="*", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--times", type=Path, metavar="SRC", help="the folder src of another commit")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--state", action="store_true", help="the size of a partial_fit state after many rows")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer_requests(options.data)
        return
    if options.state:
        record_state()
        return
    if options.times is not None:
        compare_times(options.times, options.data, options.only or TIMED, options.repeats)
        return
    if options.record is None:
        sys.exit(0 if compare(*options.compare) else 1)
    record(
        options.record, options.data, options.only or datasets.names(options.data), options.ways, options.splits
    )


if __name__ == "__main__":
    main()
