"""Coverage: how often do intervals hold the true rates, and how often are promises kept, on known populations?

    python benchmarks/interval_coverage.py --number 200

3,000 rows of five populations (``populations.py``), MeasureClassifier, and MeasureMaximizer around LightGBM: 40
trees of 15 leaves, alone (boosting) and with an additive model where that is better (stack, the default). The true
rates of a model are those on 60,000 fresh rows, others for each draw: the same rows for all draws would move all
comparisons the same way. Draws are added to benchmarks/results/interval_coverage.json, so that a run
can be stopped and continued; the table is made of that file.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from typing import Any, ClassVar

import joblib
import numpy as np
from lightgbm import LGBMClassifier

from output import RESULTS, read_json, write_json
from populations import POPULATIONS, Population
from ratewise import MeasureClassifier, MeasureMaximizer
from ratewise.measures import PrecisionAtRecall, RecallAtPrecision, TPRAtTNR

ROWS, POSITIVES, NEGATIVES = 3_000, 10_000, 50_000
FIRST_SEED = 50_000  # none of these draws was looked at when the intervals were made
PLACE = RESULTS / "interval_coverage.json"
MEASURES = ("f1", "gmean", "min")
BOUNDS = ("precision", "tnr", "tpr")
AT_ONCE = 5  # draws of all cases, before they are written
ESTIMATORS = ("classifier", "boosting", "stack")


def estimator_of(name: str, measure: Any, seed: int) -> Any:
    if name == "classifier":
        return MeasureClassifier(measure, random_state=seed)
    booster = RememberingBooster(n_estimators=40, num_leaves=15, n_jobs=1, verbose=-1, random_state=seed)
    return MeasureMaximizer(booster, measure, stack="auto" if name == "stack" else False)


class RememberingBooster(LGBMClassifier):
    """Fits and predictions of a draw are the same for all measures, and most of the time: they are kept."""

    known: ClassVar[dict[Any, Any]] = {}

    def fit(self, X: Any, y: Any, **arguments: Any) -> RememberingBooster:
        key = joblib.hash((self.get_params(), X, y, arguments))
        if key not in self.known:
            super().fit(X, y, **arguments)
            self.known[key] = vars(self) | {"fit_": key}
        vars(self).update(self.known[key])
        return self

    @property
    def booster_(self) -> Any:
        return Remembered(super().booster_, self.fit_, self.known)


class Remembered:
    """A booster whose predictions are kept."""

    def __init__(self, booster: Any, fit: str, known: dict[Any, Any]):
        self._booster, self._fit, self._known = booster, fit, known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._booster, name)

    def predict(self, X: Any, **arguments: Any) -> Any:
        key = self._fit, X.shape, float(X.sum()), *arguments.values()
        if key not in self._known:
            self._known[key] = self._booster.predict(X, **arguments)
        return self._known[key]


def measure_of(name: str, population: Population) -> tuple[Any, float]:
    """Return the measure, and the level that it promises at a confidence of 0.9."""
    match name:
        case "precision":
            return RecallAtPrecision(population.precision, confidence=0.9), population.precision
        case "tnr":
            return TPRAtTNR(0.9, confidence=0.9), 0.9
        case "tpr":
            return PrecisionAtRecall(0.6, confidence=0.9), 0.6
        case _:
            return name, 0.0


def one_draw(population: Population, who: str, what: str, seed: int, new_rows: Any) -> list[float]:
    """Return where the rates lie, the widths of their intervals, whether a promise was made, and if it is true.

    A rate lies below (-1), in (0) or above (1) its interval.
    """
    X, y = population.draw(ROWS, seed)
    measure, level = measure_of(what, population)
    model = estimator_of(who, measure, seed).fit(X, y)
    X_new, y_new = new_rows
    called = model.predict(X_new).astype(bool)
    true = {"tpr": float(called[y_new].mean()), "tnr": float(1.0 - called[~y_new].mean())}
    hits, alarms = population.prevalence * true["tpr"], (1.0 - population.prevalence) * (1.0 - true["tnr"])
    true["precision"] = hits / max(hits + alarms, 1e-300)
    ends = model.rates_interval_.tpr, model.rates_interval_.tnr
    sides = [
        float(rate > high) - float(rate < low) for rate, (low, high) in zip(true.values(), ends, strict=False)
    ]
    said = what in BOUNDS and bool(model.constraints_met_)
    kept = said and true[what] >= level
    return [*sides, *(round(high - low, 5) for low, high in ends), float(said), float(kept)]


def run(number: int, who: list[str], what: list[str], names: list[str]) -> None:
    known = read_json(PLACE)
    for draw, name, estimator in product(range(number), names, who):
        RememberingBooster.known.clear()
        population, seed = POPULATIONS[name], FIRST_SEED + draw
        found = [known.setdefault(f"{name}, {estimator}, {measure}", []) for measure in what]
        if all(len(rows) > draw for rows in found):
            continue
        new_rows = population.new_rows(POSITIVES, NEGATIVES, seed)
        for measure, rows in zip(what, found, strict=True):
            if len(rows) == draw:
                rows.append(one_draw(population, estimator, measure, seed, new_rows))
        if draw % AT_ONCE == AT_ONCE - 1:
            write_json(PLACE, known, indent=None)


def show() -> None:
    found = {key: np.array(rows) for key, rows in read_json(PLACE).items()}
    print("| population | estimator | measure | draws | TPR held | TNR held | mean widths |\n" + "|---" * 7 + "|")
    for key, rows in found.items():
        if not key.endswith(BOUNDS):
            tpr, tnr = (rows[:, :2] == 0).mean(axis=0)
            widths = " and ".join(f"{width:.3f}" for width in rows[:, 2:4].mean(axis=0))
            print(f"| {key.replace(', ', ' | ')} | {len(rows)} | {tpr:.1%} | {tnr:.1%} | {widths} |")
    print("\n| population | estimator | bound | draws | promised | of them true |\n|---|---|---|---|---|---|")
    for key, rows in found.items():
        if key.endswith(BOUNDS):
            said, kept = rows[:, 4:].sum(axis=0).astype(int)
            share = f"{kept} ({kept / said:.1%})" if said else "-"
            print(f"| {key.replace(', ', ' | ')} | {len(rows)} | {said} | {share} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=200, help="of draws")
    parser.add_argument("--populations", nargs="*", default=list(POPULATIONS), choices=list(POPULATIONS))
    parser.add_argument("--estimators", nargs="*", default=list(ESTIMATORS), choices=ESTIMATORS)
    parser.add_argument("--measures", nargs="*", default=[*MEASURES, *BOUNDS], choices=[*MEASURES, *BOUNDS])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    run(options.number, options.estimators, options.measures, options.populations)
    show()


if __name__ == "__main__":
    main()
