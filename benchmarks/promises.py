"""Promises: are bounds kept as often as said, do intervals cover, are probabilities calibrated?

    python benchmarks/promises.py population --number 200
    python benchmarks/promises.py real --number 20
    python benchmarks/promises.py intervals --number 5
    python benchmarks/promises.py probabilities --number 1
    python benchmarks/promises.py wide --number 40

``population``: two Gaussian clouds in ten columns, 20,000 rows, 5% positive. The true rates of a linear model
follow from its coefficients, so nothing is left to test rows. ``real``: 70/30 splits of real data; "kept" then
holds the noise of the test rows. Beside ratewise stand MAPIE's BinaryClassificationController (logistic regression
on one half of the rows, thresholds on the other half, MAPIE's own defaults) and scikit-learn's
TunedThresholdClassifierCV cut at the bound. Prints tables and adds to benchmarks/results/promises.json.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy.special import logit
from scipy.stats import norm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import datasets
from output import RESULTS, read_json, write_json
from ratewise import ConstraintWarning, MeasureClassifier
from ratewise.measures import GMean, Measure, PrecisionAtRecall, RecallAtPrecision, TPRAtTNR, rates_from_labels
from ratewise.solvers import best_threshold, certify
from ratewise.training import trainer
from rivals import ColumnScaler, logistic

# What is bounded, at what, and the names MAPIE has for it.
BOUNDS: dict[str, tuple[Callable[[float, float | None], Measure], float, str]] = {
    "precision": (lambda bound, sure: RecallAtPrecision(bound, confidence=sure), 0.8, "precision"),
    "tnr": (lambda bound, sure: TPRAtTNR(bound, confidence=sure), 0.98, "fpr"),
    "tpr": (lambda bound, sure: PrecisionAtRecall(bound, confidence=sure), 0.7, "recall"),
}
REAL = {"creditcard": 0.8, "ijcnn1": 0.8, "mammography": 0.7, "coil_2000": 0.15}
"""Real data, and the precision asked for."""
SUITE = (
    *("coil_2000", "mammography", "sms_spam", "letter-1", "creditcard", "ijcnn1", "a9a", "w8a_train"),
    *("protein_homo", "kdd99-ipsweep", "covtype-5", "adb_donors", "adb_celeba", "mnist-8", "mnist-0"),
    "reuters_lasvm",
)


class Facts(NamedTuple):
    tpr: float
    tnr: float
    precision: float

    @classmethod
    def of(cls, tpr: float, tnr: float, prevalence: float) -> Facts:
        called = prevalence * tpr + (1.0 - prevalence) * (1.0 - tnr)
        return cls(tpr, tnr, prevalence * tpr / called if called > 0 else 0.0)


class Population:
    """Two Gaussian clouds of one shape: the best model is linear, and the rates of any linear one are known."""

    columns, prevalence, distance = 10, 0.05, 2.27

    def __init__(self) -> None:
        rng = np.random.default_rng(12345)
        self._shape = rng.standard_normal((self.columns, self.columns)) / np.sqrt(self.columns) + np.eye(
            self.columns
        )
        direction = rng.standard_normal(self.columns)
        self._shift = direction / np.linalg.norm(direction) * self.distance

    def draw(self, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        y = rng.random(rows) < self.prevalence
        Z = rng.standard_normal((rows, self.columns))
        Z[y] += self._shift
        return Z @ self._shape.T, y

    def facts(self, coef: np.ndarray, intercept: float) -> Facts:
        weights = coef @ self._shape
        spread = np.linalg.norm(weights)
        tpr, fpr = norm.sf(-(intercept + weights @ self._shift) / spread), norm.sf(-intercept / spread)
        return Facts.of(float(tpr), float(1.0 - fpr), self.prevalence)


Linear = tuple[np.ndarray, float]


def ratewise(X: Any, y: Any, name: str, bound: float, confidence: float | None, seed: int) -> Linear | None:
    measure = BOUNDS[name][0](bound, confidence)
    model = MeasureClassifier(measure, random_state=seed).fit(X, y)
    return (model.coef_[0], float(model.intercept_[0])) if model.constraints_met_ else None


def mapie(X: Any, y: Any, name: str, bound: float, confidence: float | None, seed: int) -> Linear | None:
    from mapie.risk_control import BinaryClassificationController

    X_fit, X_sure, y_fit, y_sure = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    model = make_pipeline(ColumnScaler(), logistic()).fit(X_fit, y_fit)
    risk = BOUNDS[name][2]
    controller = BinaryClassificationController(
        model.predict_proba, risk, 1.0 - bound if risk == "fpr" else bound, confidence_level=confidence
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        controller.calibrate(X_sure, y_sure.astype(int))
    cut = controller.best_predict_param
    if cut is None or cut == 0.0:
        return None
    scaler, last = model[0], model[-1]
    coef, intercept = _unscaled(scaler, last)
    return coef, intercept - float(logit(cut))


def _unscaled(scaler: Any, last: Any) -> Linear:
    """The linear model of the columns as they were, by its scores of the origin and of the unit vectors."""
    n = last.coef_.shape[1]
    origin = float(last.decision_function(scaler.transform(np.zeros((1, n))))[0])
    return last.decision_function(scaler.transform(np.eye(n))) - origin, origin


def at_the_bound(X: Any, y: Any, name: str, bound: float, confidence: float | None, seed: int) -> Any:
    """scikit-learn's: the threshold with the best value of the measure, by its penalty, in cross-validation."""
    measure = BOUNDS[name][0](bound, None)
    model = TunedThresholdClassifierCV(
        make_pipeline(ColumnScaler(), logistic()), scoring=measure.scorer(), thresholds=500, random_state=seed
    )
    return model.fit(X, y).predict


def at_confidences(X: Any, y: Any, name: str, bound: float, seed: int) -> dict[float | None, Linear | None]:
    """ratewise at several confidences, by one fit: they differ in the last step only, the threshold."""
    seen: list[tuple[Any, ...]] = []

    def decide(scores: Any, measure: Any, threshold: float, points: Any, **more: Any) -> Any:
        seen.append((scores, threshold, points))
        return certify.decide(scores, measure, threshold, points, **more)

    with mock.patch.object(trainer, "decide", decide):
        model = MeasureClassifier(BOUNDS[name][0](bound, 0.9), random_state=seed).fit(X, y)
    scores, by_margin, points = seen[-1]
    before = certify.decide(scores, model.measure_, by_margin, points)
    found: dict[float | None, Linear | None] = {}
    for confidence in (0.9, 0.95, None):
        chosen = certify.decide(scores, BOUNDS[name][0](bound, confidence), by_margin, points)
        moved = float(model.intercept_[0]) + before.threshold - chosen.threshold
        found[confidence] = (model.coef_[0], moved) if chosen.message is None else None
    return found


def population(name: str, draws: int, folder: Path) -> dict[str, Any]:
    people, bound = Population(), BOUNDS[name][1]
    models: dict[tuple[float | None, str], list[Linear | None]] = {}
    for draw in range(draws):
        X, y = people.draw(20_000, draw)
        for confidence, model in at_confidences(X, y, name, bound, draw).items():
            models.setdefault((confidence, "ratewise"), []).append(model)
        for confidence in (0.9, 0.95):
            models.setdefault((confidence, "MAPIE"), []).append(mapie(X, y, name, bound, confidence, draw))
    found: dict[str, Any] = {}
    for (confidence, method), mine in models.items():
        reached = [people.facts(*model) for model in mine if model is not None]
        said, kept = len(reached), sum(getattr(facts, name) >= bound for facts in reached)
        tpr, _, precision = np.mean(reached, axis=0).tolist() if reached else (0.0, 0.0, 0.0)
        row = {"draws": draws, "said": said, "kept": int(kept), "tpr": tpr, "precision": precision}
        found[f"{name} {bound}, {confidence}, {method}"] = row
        share = f"{said} of {draws} | {kept} ({kept / said:.1%})" if said else f"0 of {draws} | -"
        print(f"| {name} {bound} | {confidence} | {method} | {share} | {tpr:.3f} | {precision:.3f} |", flush=True)
    return found


def real(name: str, splits: int, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    bound, problem = REAL[name], datasets.load(name, folder)
    for method in (ratewise, mapie, at_the_bound):
        said = kept = 0
        tprs = []
        for split, (train, test) in enumerate(problem.splits(splits)):
            model = method(problem.X[train], problem.y[train], "precision", bound, 0.9, split)
            if model is None:
                continue
            X = problem.X[test]
            called = model(X) if callable(model) else X @ model[0] + model[1] > 0
            facts = Facts.of(*rates_from_labels(problem.y[test], np.asarray(called, dtype=bool)))
            said += 1
            kept += facts.precision >= bound
            tprs.append(facts.tpr)
        tpr = float(np.mean(tprs)) if tprs else 0.0
        row = {"splits": splits, "said": said, "kept": int(kept), "tpr": tpr}
        found[f"{name} {bound}, {method.__name__}"] = row
        print(f"| {name} | {bound} | {method.__name__} | {said} of {splits} | {kept} | {tpr:.3f} |", flush=True)
    return found


def intervals(name: str, splits: int, folder: Path) -> dict[str, Any]:
    """How often a rate on test rows lies in the 95% interval, widened by the noise of the test rows."""
    problem = datasets.load(name, folder)
    inside: dict[str, list[bool]] = {"tpr": [], "tnr": []}
    for measure in ("f1", "gmean", "min"):
        for split, (train, test) in enumerate(problem.splits(splits)):
            groups = None if problem.block is None else problem.block[train]
            model = MeasureClassifier(measure, random_state=split).fit(
                problem.X[train], problem.y[train], groups=groups
            )
            y_test = problem.y[test]
            rates = rates_from_labels(y_test, model.predict(problem.X[test]))
            for side, rows in (("tpr", int(y_test.sum())), ("tnr", int((~y_test).sum()))):
                ends, claimed = getattr(model.rates_interval_, side), getattr(model.rates_, side)
                inside[side].append(_agrees(getattr(rates, side), rows, ends, claimed))
    print(f"| {name} | {sum(inside['tpr'])} | {sum(inside['tnr'])} | {len(inside['tpr'])} |", flush=True)
    return {name: {side: [int(sum(mine)), len(mine)] for side, mine in inside.items()}}


def _agrees(seen: float, rows: int, interval: tuple[float, float], claimed: float) -> bool:
    """Whether a rate seen on test rows lies in the interval, its ends moved out by the test rows' own error."""
    low, high = interval
    error = 1.96 * np.sqrt(max(claimed * (1.0 - claimed), 0.25 / rows) / rows)
    below, above = claimed - low, high - claimed
    return bool(claimed - np.hypot(below, error) <= seen <= claimed + np.hypot(above, error))


def probabilities(name: str, splits: int, folder: Path, seed: int = 1) -> dict[str, Any]:
    """Compare log loss and calibration error with calibrated logistic regression, and what the orders allow.

    Splits of seed 0 were looked at when the knots were placed.
    """
    found: dict[str, Any] = {}
    problem = datasets.load(name, folder)
    rows: dict[str, list[list[float]]] = {"f1": [], "gmean": []}
    for split, (train, test) in enumerate(problem.splits(splits, seed)):
        X, y, X_test, y_test = problem.X[train], problem.y[train], problem.X[test], problem.y[test]
        rival = make_pipeline(ColumnScaler(), CalibratedClassifierCV(LogisticRegression(max_iter=1000)))
        theirs = rival.fit(X, y).predict_proba(X_test)[:, 1]
        for measure, mine in rows.items():
            ours = MeasureClassifier(measure, random_state=split).fit(X, y).predict_proba(X_test)[:, 1]
            scores = (log_loss, calibration_error, least_log_loss)
            mine.append([score(y_test, shares) for score in scores for shares in (ours, theirs)])
    for measure, mine in rows.items():
        names = ("log_loss", "rival", "ece", "rival_ece", "order", "rival_order")
        row: dict[str, Any] = dict(zip(names, np.mean(mine, axis=0).tolist(), strict=True))
        found[f"{name}, {measure}"] = {**row, "rows": int(problem.y.size), "splits": splits, "seed": seed}
        losses = f"{row['log_loss']:.4f} | {row['rival']:.4f} | {row['log_loss'] / row['rival']:.3f}"
        order = f"{row['order'] / row['rival_order']:.3f}"
        print(
            f"| {name} | {measure} | {losses} | {order} | {row['ece']:.4f} | {row['rival_ece']:.4f} |", flush=True
        )
    return found


def wide(name: str, draws: int, folder: Path) -> dict[str, Any]:
    """200 rows of 5,000 columns, 20 of them informative: are the rates on new rows those that were claimed?

    Beside it, logistic regression with its penalty and its threshold chosen in cross-validation; and the G-mean at
    the threshold that is best for the test rows themselves.
    """
    first, measure, rows = int(name), GMean(), []
    for seed in range(first, first + draws):
        X, y = make_classification(4_200, 5_000, n_informative=20, weights=[0.9], random_state=seed)
        X, y, X_test, y_test = X[:200], y[:200] > 0, X[200:], y[200:] > 0
        model = MeasureClassifier(measure, random_state=seed).fit(X, y)
        seen = rates_from_labels(y_test, model.predict(X_test))
        best = best_threshold(model.decision_function(X_test), np.where(y_test, 1.0, -1.0), measure).value
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        pipeline = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=300))
        grid = {"logisticregression__C": [1e-5, 1e-4, 1e-3, 1e-2, 1.0]}
        search = GridSearchCV(pipeline, grid, scoring="roc_auc", cv=folds).fit(X, y)
        rival = TunedThresholdClassifierCV(search.best_estimator_, scoring=measure.scorer(), cv=folds).fit(X, y)
        value = float(measure.value(*seen))
        rows.append([*model.rates_[:2], *seen[:2], value, best, measure.score(y_test, rival.predict(X_test))])
    means, errors = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(draws)
    names = ("claimed_tpr", "claimed_tnr", "tpr", "tnr", "gmean", "best_gmean", "rival_gmean")
    found = {one: [float(mean), float(error)] for one, mean, error in zip(names, means, errors, strict=True)}
    shown = " | ".join(f"{mean:.3f} +- {error:.3f}" for mean, error in zip(means, errors, strict=True))
    print(f"| {first} to {first + draws - 1} | {shown} |", flush=True)
    return {f"draws {first} to {first + draws - 1}": found}


def least_log_loss(y: np.ndarray, shares: np.ndarray) -> float:
    """The log loss of the best rising curve for these very rows: what their order alone decides."""
    ranks = np.unique(shares, return_inverse=True)[1]  # shares may be too small to divide by
    best = IsotonicRegression(y_min=0.0, y_max=1.0).fit_transform(ranks, y)
    return float(log_loss(y, np.clip(best, 1e-12, 1.0 - 1e-12)))


def calibration_error(y: np.ndarray, shares: np.ndarray, bins: int = 15) -> float:
    """The expected calibration error in bins of equal width."""
    place = np.minimum((shares * bins).astype(int), bins - 1)
    gaps = np.bincount(place, weights=shares - y, minlength=bins)
    return float(np.abs(gaps).sum() / y.size)


SECTIONS: dict[str, tuple[Callable[..., dict[str, Any]], str, tuple[str, ...]]] = {
    "population": (
        population,
        "| bound | confidence | method | said | of them true | TPR | precision |",
        tuple(BOUNDS),
    ),
    "real": (real, "| data | precision | method | said | kept on test rows | TPR where said |", tuple(REAL)),
    "intervals": (intervals, "| data | TPR inside | TNR inside | of |", SUITE),
    "probabilities": (
        probabilities,
        "| data | measure | log loss | logistic | ratio | by order | ECE | theirs |",
        SUITE,
    ),
    "wide": (wide, "| draws | claimed TPR | claimed TNR | TPR | TNR | G-mean | at best | logistic |", ("200",)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="+", choices=list(SECTIONS))
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER, help="folder of NAME.npz files")
    parser.add_argument("--number", type=int, default=5, help="of draws or of splits")
    parser.add_argument("--names", nargs="*", help="of bounds or of data sets; all unless given")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", ConstraintWarning)
    for section in options.sections:
        work, headings, names = SECTIONS[section]
        print(headings + "\n" + "|---" * (headings.count("|") - 1) + "|")
        for name in options.names or names:
            keep(section, work(name, options.number, options.data))


def keep(section: str, found: dict[str, Any]) -> None:
    """Add to the file of results, so that a long run can be made in pieces."""
    place = RESULTS / "promises.json"
    before = read_json(place)
    write_json(place, before | {section: before.get(section, {}) | found}, sort_keys=True)


if __name__ == "__main__":
    main()
