"""Small data: the default fit beside logistic regression with a tuned threshold, and the fit that it replaced.

All data sets under 50,000 rows of the folder and of its ``suite``; F1, G-mean and the worse of the two rates;
70/30 splits. CPU seconds and test values, one process, side by side. ``before`` is the default fit of the commit
named in the results, recorded once (``--side before`` with that commit on the path). Rules were chosen on splits
100 to 299. Three splits tell a cell to about 0.01 only: small_fits-fresh.json has splits 300 to 311 of the tables
in ``suite``, which no rule was chosen on (``--show --results FILE --seeds 300 301 ...``). Resumable; writes
benchmarks/results/small_fits.json.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import datasets
from output import RESULTS, read_json, write_json
from ratewise import MeasureClassifier
from ratewise.measures import get_measure
from rivals import ColumnScaler

LARGE = 50_000
MEASURES = ("f1", "gmean", "min")


def names(folder: Path) -> list[str]:
    """All problems of fewer than 50,000 rows, the smallest files first."""
    npz = [name for name in datasets.names(folder) if small_file(name, folder)]
    return sorted(path.stem for path in (folder / "suite").glob("*.parquet")) + npz


def small_file(name: str, folder: Path) -> bool:
    file, _ = datasets.ONE_AGAINST_REST.get(name, (name, 1))
    with np.load(folder / f"{file}.npz", allow_pickle=False) as data:
        return data["y"].size < LARGE


def load(name: str, folder: Path):
    """Rows, and whether each is positive; text columns of a table one-hot, as both sides need numbers."""
    table = folder / "suite" / f"{name}.parquet"
    if not table.exists():
        problem = datasets.load(name, folder)
        return problem.X, problem.y
    import pandas as pd

    frame = pd.read_parquet(table)
    y = frame.pop("target").to_numpy() == 1
    return pd.get_dummies(frame).astype(np.float32).fillna(0.0).to_numpy(), y


def rival(measure: str, seed: int, sparse: bool):
    # Scaled as standard on sparse rows, logistic regression does far worse on text.
    scaler = ColumnScaler() if sparse else StandardScaler()
    base = make_pipeline(scaler, LogisticRegression(max_iter=1000))
    return TunedThresholdClassifierCV(base, scoring=get_measure(measure).scorer())


def ours(measure: str, seed: int, sparse: bool):
    return MeasureClassifier(measure, random_state=seed)


SIDES = {"before": ours, "rival": rival, "now": ours}


def fitted_cell(side: str, X, y, measure: str, seed: int) -> list[float]:
    """CPU seconds (the faster of two fits where they are short) and the test value."""
    train, test = next(StratifiedShuffleSplit(1, test_size=0.3, random_state=seed).split(np.zeros(len(y)), y))
    rows, labels = X[train], y[train]
    seconds = []
    while not seconds or (len(seconds) < 2 and seconds[0] < 1.0):
        model = SIDES[side](measure, seed, not isinstance(X, np.ndarray))
        started = time.process_time()
        model.fit(rows, labels)
        seconds.append(time.process_time() - started)
    return [min(seconds), float(get_measure(measure).score(y[test], model.predict(X[test])))]


def many_tiny_fits() -> float:
    """CPU seconds of 100 fits of 200 rows x 10 columns."""
    from sklearn.datasets import make_classification

    X, y = make_classification(200, 10, weights=[0.85], random_state=0)
    ours("f1", 0, False).fit(X, y)
    started = time.process_time()
    for seed in range(100):
        ours("f1", seed, False).fit(X, y)
    return time.process_time() - started


def summary(cells: dict, seeds: list[int]) -> str:
    """Geometric means of time, means of values, and the worst cells."""
    lines = []
    table: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for key, found in cells.items():
        name, measure, seed = key.split("|")
        if int(seed) in seeds:
            for side, cell in found.items():
                table.setdefault((name, measure), {}).setdefault(side, []).append(cell)
    means = {key: {side: np.mean(cell, axis=0) for side, cell in one.items()} for key, one in table.items()}
    sides = [side for side in SIDES if any(side in one for one in means.values())]
    lines.append(f"{'':32s}" + "".join(f"{side:>9s} s {'value':>7s}" for side in sides))
    for (name, measure), one in sorted(means.items()):
        lines.append(
            f"{name[:24]:24s} {measure:7s}"
            + "".join("{:11.3f} {:7.4f}".format(*one.get(side, (np.nan, np.nan))) for side in sides)
        )
    for other in ("rival", "before"):
        shared: dict[tuple[str, str], list[tuple]] = {}  # of the same splits
        for key, found in cells.items():
            name, measure, seed = key.split("|")
            if int(seed) in seeds and other in found and "now" in found:
                shared.setdefault((name, measure), []).append((found[other], found["now"]))
        both = {
            key: dict(zip((other, "now"), np.mean(pairs, axis=0), strict=True)) for key, pairs in shared.items()
        }
        if not both:
            continue
        ratio = {key: one["now"][0] / one[other][0] for key, one in both.items()}
        gain = {key: one["now"][1] - one[other][1] for key, one in both.items()}
        slowest, worst = max(ratio, key=ratio.get), min(gain, key=gain.get)
        cpu, value = np.exp(np.mean(np.log(list(ratio.values())))), np.mean(list(gain.values()))
        lines.append(
            f"now / {other}: {cpu:.2f}x CPU in the geometric mean, at most {ratio[slowest]:.2f}x "
            f"({', '.join(slowest)}); value {value:+.4f}, at worst {gain[worst]:+.4f} ({', '.join(worst)}); "
            f"{len(both)} cells"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    parser.add_argument("--side", nargs="*", default=["rival", "now"], choices=SIDES)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--again", action="store_true", help="measure cells that are there already")
    parser.add_argument("--results", type=Path, default=RESULTS / "small_fits.json")
    parser.add_argument("--show", action="store_true", help="print the table and measure nothing")
    options = parser.parse_args()
    report = read_json(options.results)
    cells = report.setdefault("cells", {})
    for name in [] if options.show else options.only or names(options.data):
        X, y = load(name, options.data)
        fitted_cell("now", X[:200], np.arange(200) % 7 == 0, "f1", 0)  # imports off the clock
        for seed in options.seeds:
            for measure in MEASURES:
                cell = cells.setdefault(f"{name}|{measure}|{seed}", {})
                for side in options.side:
                    if options.again or side not in cell:
                        cell[side] = fitted_cell(side, X, y, measure, seed)
        write_json(options.results, report, indent=0)
        print(name, flush=True)
    if not options.show and "now" in options.side and not options.only:
        report["100 fits of 200 x 10, CPU s"] = many_tiny_fits()
        write_json(options.results, report, indent=0)
    print(summary(cells, options.seeds))
    print(f"100 fits of 200 x 10: {report.get('100 fits of 200 x 10, CPU s', np.nan):.1f} CPU s")


if __name__ == "__main__":
    main()
