"""(c) CPU time until the test measure is as good as the plug-in's, and the way there.

Every point of a curve is something that a user can call, timed from raw rows to the finished classifier: a fit to
all rows, or the first few calls of ``partial_fit``, an eighth of the rows each. The test rows are scored off the
clock. The plug-in is StandardScaler, logistic regression by L-BFGS (up to 1,000 rounds) and the exact threshold;
stopped after fewer rounds it gives a curve too. Five random 70/30 splits: medians of the times, means of the test
values.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import datasets
from ratewise import MeasureClassifier
from ratewise.measures import ConcaveMeasure, get_measure
from ratewise.solvers import Sharpen, Spade, Stamp, best_threshold

DATA = ["ijcnn1", "covtype-5", "mnist-0"]
MEASURES = ["qmean", "min", "f1"]
SPLITS = 5
EIGHTHS = (1, 2, 4, 8)
PASSES = (1, 2, 3, 5, 10, 25)
SHARPENING_PASSES = (1, 2, 4)
ROUNDS = (3, 10, 30, 100, 1000)
PLUG_IN = "plug-in, by rounds of L-BFGS"
PLAIN = "SPADE/STAMP"
ONLINE = "SPADE/STAMP, partial_fit"
LOW_MEMORY = "SPADE/STAMP, low_memory"
SHARPENED = "SPADE/STAMP, one pass, then sharpened"
DEFAULT = "ratewise, default fit"


class Fit(NamedTuple):
    """One point of a curve: how to make the classifier, and what it is called."""

    curve: str
    at: str
    learn: Callable[[Any, np.ndarray, int], Callable[[Any], np.ndarray]]
    """(rows, labels, seed) -> a function from rows to predicted labels."""


def measure(folder: Path) -> list[dict[str, Any]]:
    found = []
    for name in DATA:
        if name not in datasets.names(folder):
            print(f"  No data for {name} in {folder}: left out.")
            continue
        problem = datasets.load(name, folder)
        for measure_name in MEASURES:
            found.append({"data": name, "measure": measure_name, "curves": curves_of(problem, measure_name)})
            print_line(found[-1])
    return found


def curves_of(problem: datasets.Problem, measure_name: str) -> dict[str, list[dict[str, Any]]]:
    fits = [*our_fits(measure_name), *plug_in_fits(measure_name)]
    outcomes = np.empty((SPLITS, len(fits), 2))
    for split, (train, test) in enumerate(problem.splits(SPLITS)):
        X, y = problem.X[train], problem.y[train]
        rows, labels = problem.X[test], problem.y[test]
        if split == 0:
            warm_up(fits, X, y)
        fits[0].learn(X, y, split)  # whoever reads a split's rows first would pay for fetching them
        for k, fit in enumerate(fits):
            outcomes[split, k] = time_and_value(fit, X, y, rows, labels, measure_name, split)
    curves: dict[str, list[dict[str, Any]]] = {}
    for k, fit in enumerate(fits):
        seconds, value = float(np.median(outcomes[:, k, 0])), float(outcomes[:, k, 1].mean())
        curves.setdefault(fit.curve, []).append({"at": fit.at, "seconds": seconds, "value": value})
    return curves


def warm_up(fits: list[Fit], X: Any, y: np.ndarray) -> None:
    """Compile off the clock: one fit of each of our curves."""
    for curve in {fit.curve for fit in fits} - {PLUG_IN}:
        next(fit for fit in fits if fit.curve == curve).learn(X, y, 0)


def time_and_value(
    fit: Fit, X: Any, y: np.ndarray, rows: Any, labels: np.ndarray, measure_name: str, seed: int
) -> tuple[float, float]:
    started = time.process_time()
    predict = fit.learn(X, y, seed)
    seconds = time.process_time() - started
    return seconds, get_measure(measure_name).score(labels, predict(rows))


def our_fits(measure_name: str) -> Iterator[Fit]:
    kind = Spade if isinstance(get_measure(measure_name), ConcaveMeasure) else Stamp

    def fit(curve: str, at: str, **settings: Any) -> Fit:
        def learn(X: Any, y: np.ndarray, seed: int) -> Callable[[Any], np.ndarray]:
            return MeasureClassifier(measure_name, random_state=seed, **settings).fit(X, y).predict

        return Fit(curve, at, learn)

    for k in EIGHTHS:
        yield Fit(ONLINE, f"{k}/8 of the rows", online_learner(measure_name, kind(passes=1), k))
    for k in PASSES:
        yield fit(PLAIN, passes(k), solver=kind(passes=k), sharpen=False)
    for k in PASSES:
        yield fit(LOW_MEMORY, passes(k), solver=kind(passes=k), sharpen=False, low_memory=True)
    for k in SHARPENING_PASSES:
        yield fit(SHARPENED, f"1 + {k} passes", solver=kind(passes=1), sharpen=Sharpen(passes=k))
    yield fit(DEFAULT, "")


def online_learner(measure_name: str, solver: Any, eighths: int) -> Callable[..., Callable[[Any], np.ndarray]]:
    """The rows of a split come in random order, so its first eighths are a sample."""

    def learn(X: Any, y: np.ndarray, seed: int) -> Callable[[Any], np.ndarray]:
        model = MeasureClassifier(measure_name, random_state=seed, solver=solver, sharpen=False)
        edges = np.linspace(0, y.size, max(EIGHTHS) + 1).astype(int)
        for start, stop in pairwise(edges[: eighths + 1]):
            model.partial_fit(X[start:stop], y[start:stop], classes=[False, True])
        return model.predict

    return learn


def passes(number: int) -> str:
    return "1 pass" if number == 1 else f"{number} passes"


def plug_in_fits(measure_name: str) -> Iterator[Fit]:
    measure = get_measure(measure_name)

    def learner(rounds: int) -> Callable[[Any, np.ndarray, int], Callable[[Any], np.ndarray]]:
        def learn(X: Any, y: np.ndarray, seed: int) -> Callable[[Any], np.ndarray]:
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=rounds))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # being stopped early is the point
                model.fit(X, y)
            scores = model.decision_function(X)
            threshold = best_threshold(scores, np.where(y, 1.0, -1.0), measure).threshold
            return lambda rows: model.decision_function(rows) > threshold

        return learn

    for rounds in ROUNDS:
        yield Fit(PLUG_IN, f"{rounds} rounds", learner(rounds))


class Arrival(NamedTuple):
    """The first fit whose test value is at least the plug-in's."""

    curve: str
    at: str
    seconds: float

    @property
    def way(self) -> str:
        return f"{self.curve}, {self.at}" if self.at else self.curve


def target(entry: dict[str, Any]) -> dict[str, Any]:
    """The whole plug-in: its last point."""
    return entry["curves"][PLUG_IN][-1]


def arrival(entry: dict[str, Any], *, of_plug_in: bool = False, online: bool = True) -> Arrival | None:
    """The cheapest of our fits that does as well as the plug-in, or of the plug-in's own; None if none does.

    Without ``online``, the cheapest that learns from all rows.
    """
    there = [
        Arrival(curve, point["at"], point["seconds"])
        for curve, points in entry["curves"].items()
        if (curve == PLUG_IN) == of_plug_in and (online or curve != ONLINE)
        for point in points
        if point["value"] >= target(entry)["value"]
    ]
    return min(there, key=lambda one: one.seconds, default=None)


def print_line(entry: dict[str, Any]) -> None:
    theirs, ours = target(entry), arrival(entry)
    there = "not reached"
    if ours is not None:
        there = f"{ours.seconds:.3f} s ({ours.way}), {ours.seconds / theirs['seconds']:.3f} of it"
    head = f"  {entry['data']:12s}{entry['measure']:7s}"
    print(f"{head}plug-in {theirs['value']:.4f} in {theirs['seconds']:.3f} s   {there}", flush=True)
