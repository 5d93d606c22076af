"""Streams, predicted and then learned from 1,000 rows at a time: the mean of the measure over windows.

    python benchmarks/streams_online.py [--data DIR] [--streams covtype ...] [--measures f1 gmean min]

``partial_fit`` with and without forgetting, scikit-learn's SGD, and river's logistic regression whose threshold is
chosen on recent scores. Needs river: pip install river.
"""

from __future__ import annotations

import argparse
import json
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from river.datasets import synth
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from datasets import DEFAULT_FOLDER, load
from ratewise import MeasureClassifier
from ratewise.measures import Measure, get_measure
from ratewise.solvers import best_threshold
from river import linear_model, preprocessing

WINDOW, ROWS, MOST_ROWS = 1_000, 40_000, 120_000
SHUFFLES = 3
PICTURED = ("turning slowly", "turning in jumps")  # docs/figures/streams.py
RESULTS = Path(__file__).parent / "results" / "streams_online.json"


def generated(first: Any, second: Any, positive: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one generator, then of another, with so large a share of positives."""
    parts = [list(islice(iter(one), ROWS // 2)) for one in (first, second)]
    X = np.array([list(x.values()) for part in parts for x, _ in part], dtype=np.float64)
    y = np.array([label == positive for part in parts for _, label in part])
    kept = ~y | (np.random.default_rng(0).random(y.size) < share * (1 - y.mean()) / (y.mean() * (1 - share)))
    return X[kept], y[kept].astype(int)


def turning(jumps: bool) -> tuple[np.ndarray, np.ndarray]:
    """Positives, 1 in 25, in a direction that turns once around."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(ROWS, 10))
    angle = np.repeat([0, 1.5, 3.0, 4.5], ROWS // 4) if jumps else np.linspace(0, 2 * np.pi, ROWS)
    score = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1] + 0.4 * rng.normal(size=ROWS)
    return X, (score > 1.9).astype(int)


def stored(name: str, folder: Path, shuffle: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A data set, in the order of its file or at random."""
    problem = load(name, folder)
    number = len(problem.y)
    rows = np.arange(number) if shuffle is None else np.random.default_rng(shuffle).permutation(number)
    rows = rows if name.startswith("kdd99") else rows[:MOST_ROWS]
    X = problem.X[rows]
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64), problem.y[rows].astype(int)


Made = list[Callable[[], tuple[np.ndarray, np.ndarray]]]


def streams(folder: Path) -> dict[str, Made]:
    """Streams by name; one of shuffled rows is several."""
    drifting: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
        "SEA": lambda: generated(synth.SEA(0, noise=0.05, seed=1), synth.SEA(3, noise=0.05, seed=2), 0, 0.2),
        "Agrawal": lambda: generated(synth.Agrawal(0, seed=1), synth.Agrawal(4, seed=2), 1, 0.1),
        "Hyperplane": lambda: generated(
            *(synth.Hyperplane(seed, n_features=10, n_drift_features=5, mag_change=1e-3) for seed in (1, 2)),
            1,
            0.1,
        ),
        "RBF": lambda: generated(
            *(
                synth.RandomRBFDrift(
                    1,
                    seed,
                    n_classes=2,
                    n_features=10,
                    n_centroids=20,
                    change_speed=5e-4,
                    n_drift_centroids=20,
                )
                for seed in (1, 2)
            ),
            1,
            0.2,
        ),
        "turning slowly": lambda: turning(False),
        "turning in jumps": lambda: turning(True),
    }
    made: dict[str, Made] = {name: [one] for name, one in drifting.items()}
    for name in ("covtype-5", "creditcard", "kdd99-ipsweep"):
        made[f"{name} in order"] = [partial(stored, name, folder)]
    for name in ("ijcnn1", "letter-1", "a9a", "mammography", "covtype-5"):
        made[f"{name} shuffled"] = [partial(stored, name, folder, shuffle) for shuffle in range(SHUFFLES)]
    return made


class Sgd:
    """Logistic regression by SGD, on columns standardized by all rows so far."""

    def __init__(self) -> None:
        self._scaler, self._model = StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._model.predict(self._scaler.transform(X))

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        self._model.partial_fit(self._scaler.partial_fit(X).transform(X), y, classes=[0, 1])


def river_scores(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the scores of river's logistic regression, of each window before it is learned from."""
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    scores = []
    for start in range(0, y.size, WINDOW):
        rows = [dict(enumerate(x)) for x in X[start : start + WINDOW].tolist()]
        scores += [model.predict_proba_one(x)[True] for x in rows]
        for x, label in zip(rows, y[start : start + WINDOW].tolist(), strict=True):
            model.learn_one(x, bool(label))
    return np.array(scores)


class River:
    """Scores of river; the threshold is the best on recent ones, as predicted."""

    def __init__(self, measure: Measure, scores: np.ndarray):
        self._measure, self._scores, self._threshold, self._row = measure, scores, 0.5, 0
        self._recent = {0: deque(maxlen=2_000), 1: deque(maxlen=500)}
        self._share = deque(maxlen=20_000)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return (self._scores[self._row : self._row + len(X)] > self._threshold).astype(int)

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        for label, score in zip(y.tolist(), self._scores[self._row : self._row + len(X)].tolist(), strict=True):
            self._recent[label].append(score)
            self._share.append(label)
        self._row += len(X)
        if all(self._recent.values()):
            p = np.mean(self._share)
            weights = [np.full(len(self._recent[k]), s / len(self._recent[k])) for k, s in ((0, p - 1), (1, p))]
            scores = np.concatenate([self._recent[0], self._recent[1]])
            self._threshold = best_threshold(scores, np.concatenate(weights), self._measure).threshold


class Ours:
    def __init__(self, measure: Measure, half_life: Any = "auto"):
        self._model = MeasureClassifier(measure, half_life=half_life, random_state=0)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._model.predict(X)

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        self._model.partial_fit(X, y, classes=[0, 1])


METHODS: dict[str, Callable[[Measure, np.ndarray], Any]] = {
    "no forgetting": lambda measure, scores: Ours(measure, None),
    "SGD": lambda measure, scores: Sgd(),
    "river": River,
    "ratewise": lambda measure, scores: Ours(measure),
}


def windows(method: Any, X: np.ndarray, y: np.ndarray, measure: Measure) -> Iterator[float]:
    """Yield the measure of each window that has both classes, predicted before it was learned from."""
    for start in range(0, y.size, WINDOW):
        rows = slice(start, start + WINDOW)
        if start and 0 < y[rows].sum() < y[rows].size:
            yield float(measure.score(y[rows], method.predict(X[rows])))
        method.learn(X[rows], y[rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--streams", nargs="*")
    parser.add_argument("--measures", nargs="*", default=["f1", "gmean", "min"])
    options = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    known = {(row["stream"], row["measure"]) for row in rows}
    for stream, make in streams(options.data).items():
        if options.streams and stream not in options.streams:
            continue
        if all((stream, name) in known for name in options.measures):
            continue
        row_sets = [one() for one in make]
        scores = [river_scores(X, y) for X, y in row_sets]
        for name in options.measures:
            row: dict[str, Any] = {"stream": stream, "measure": name}
            for method, begin in METHODS.items():
                measure = get_measure(name)
                values = [
                    list(windows(begin(measure, mine), X, y, measure))
                    for (X, y), mine in zip(row_sets, scores, strict=True)
                ]
                row[method] = round(float(np.mean(list(map(np.mean, values)))), 4)
                if stream in PICTURED and name == "f1":
                    row.setdefault("windows", {})[method] = [round(value, 3) for value in values[0]]
            rows.append(row)
            print("  ".join(f"{key} {value}" for key, value in row.items() if key != "windows"), flush=True)
            RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    for name in options.measures:
        mine = [row for row in rows if row["measure"] == name]
        print(name, {method: round(float(np.mean([row[method] for row in mine])), 4) for method in METHODS})


if __name__ == "__main__":
    main()
