"""What a practitioner would use instead, and ratewise, behind one call.

A rival takes training rows and a list of measure names, and gives for each measure a function from rows to
predicted labels. Rivals that differ between measures only in a threshold learn once. To add a rival: a function,
and its line in RIVALS.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ratewise import MeasureClassifier
from ratewise.measures import get_measure
from ratewise.solvers import best_threshold

Predict = Callable[[Any], np.ndarray]


class Fitted(NamedTuple):
    """Predictions for one measure, and the CPU seconds it took to learn to make them."""

    predict: Predict
    seconds: float


class ColumnScaler(TransformerMixin, BaseEstimator):
    """Columns to one scale, so that no rival loses for want of it.

    Dense columns are standardized. Sparse ones are divided by the root mean square of their non-zero entries: with
    scikit-learn's StandardScaler(with_mean=False) logistic regression does far worse on text.
    """

    def fit(self, X, y=None):
        if sparse.issparse(X):
            squares = np.bincount(X.indices, weights=X.data.astype(np.float64) ** 2, minlength=X.shape[1])
            counts = np.bincount(X.indices, minlength=X.shape[1])
            self.centre_ = np.zeros(X.shape[1])
            spread = np.sqrt(squares / np.maximum(counts, 1))
        else:
            self.centre_ = X.mean(axis=0, dtype=np.float64)
            spread = X.std(axis=0, dtype=np.float64)
        self.scale_ = np.where(spread > 0, spread, 1.0)
        return self

    def transform(self, X):
        if sparse.issparse(X):
            X = X.copy()
            X.data /= self.scale_.astype(X.dtype)[X.indices]
            return X
        return ((X - self.centre_) / self.scale_).astype(np.float32)


def logistic(**settings):
    return LogisticRegression(max_iter=1000, **settings)


def thresholded(learner, scaler=ColumnScaler) -> Callable[..., dict[str, Fitted]]:
    """Learn once, then cut the training scores where each measure is best."""

    def fit(X, y, measures, seed) -> dict[str, Fitted]:
        started = time.process_time()
        model = make_pipeline(scaler(), learner(seed)).fit(X, y)
        scores = model.decision_function(X)
        shared = time.process_time() - started
        return {name: cut(model.decision_function, scores, y, name, shared) for name in measures}

    return fit


def cut(score_rows, scores, y, name, seconds) -> Fitted:
    started = time.process_time()
    threshold = best_threshold(scores, np.where(y, 1.0, -1.0), get_measure(name)).threshold
    return Fitted(lambda X: score_rows(X) > threshold, seconds + time.process_time() - started)


def at_one_half(X, y, measures, seed):
    started = time.process_time()
    model = make_pipeline(ColumnScaler(), logistic()).fit(X, y)
    fitted = Fitted(model.predict, time.process_time() - started)
    return dict.fromkeys(measures, fitted)


def class_weight_sweep(X, y, measures, seed):
    """Five class weights from none to balanced; the best on a held-out fifth, refitted on everything."""
    started = time.process_time()
    part, held_out, y_part, y_held_out = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    ratio = (1 - y.mean()) / y.mean()

    def learn(power, X, y):
        return make_pipeline(ColumnScaler(), logistic(class_weight={True: ratio**power, False: 1.0})).fit(X, y)

    powers = (0.0, 0.25, 0.5, 0.75, 1.0)
    trial = {power: learn(power, part, y_part) for power in powers}
    trial_scores = {power: model.decision_function(part) for power, model in trial.items()}
    held_out_scores = {power: model.decision_function(held_out) for power, model in trial.items()}
    final: dict[float, tuple[Any, np.ndarray, float]] = {}
    shared = time.process_time() - started
    results = {}
    for name in measures:
        started = time.process_time()
        measure, signs = get_measure(name), np.where(y_part, 1.0, -1.0)
        values = {}
        for power in powers:
            threshold = best_threshold(trial_scores[power], signs, measure).threshold
            values[power] = measure.score(y_held_out, held_out_scores[power] > threshold)
        best = max(values, key=values.__getitem__)
        own = time.process_time() - started
        if best not in final:
            started = time.process_time()
            model = learn(best, X, y)
            final[best] = (model, model.decision_function(X), time.process_time() - started)
        model, scores, seconds = final[best]
        results[name] = cut(model.decision_function, scores, y, name, shared + own + seconds)
    return results


def tuned_threshold_cv(X, y, measures, seed):
    """scikit-learn's own; one validation split instead of five on large data, to be done this year."""
    results = {}
    for name in measures:
        started = time.process_time()
        model = TunedThresholdClassifierCV(
            make_pipeline(ColumnScaler(), logistic()),
            scoring=get_measure(name).scorer(),
            cv=5 if X.shape[0] < 50_000 else 0.75,
            random_state=seed,
        ).fit(X, y)
        results[name] = Fitted(model.predict, time.process_time() - started)
    return results


def boosting(X, y, measures, seed):
    """The non-linear reference. It takes dense rows only; too wide a sparse matrix is left out."""
    if sparse.issparse(X) and X.shape[1] > 1000:
        return {}

    def dense(X):
        return X.toarray() if sparse.issparse(X) else X

    started = time.process_time()
    part, held_out, y_part, y_held_out = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    model = HistGradientBoostingClassifier(random_state=seed).fit(dense(part), y_part)
    scores = model.decision_function(dense(held_out))  # its training scores are too good to cut
    shared = time.process_time() - started
    return {
        name: cut(lambda X: model.decision_function(dense(X)), scores, y_held_out, name, shared)
        for name in measures
    }


def soft_confusion(X, y, measures, seed):
    """The measure of sigmoid-smoothed rates of a mini-batch, by Adam, in numpy; then the exact threshold."""
    results = {}
    for name in measures:
        started = time.process_time()
        scaler = ColumnScaler().fit(X)
        rows = scaler.transform(X)
        weights, intercept = _soft_confusion_model(rows, y, get_measure(name), seed)
        coef = weights / scaler.scale_
        intercept -= float(coef @ scaler.centre_)

        def score_rows(X, coef=coef, intercept=intercept):
            return np.asarray(X @ coef) + intercept

        results[name] = cut(score_rows, score_rows(X), y, name, time.process_time() - started)
    return results


def _soft_confusion_model(X, y, measure, seed, batch=2048, epochs=20, rate=0.01):
    rng = np.random.default_rng(seed)
    n, d = X.shape
    w = np.zeros(d + 1)
    first, second, t = np.zeros(d + 1), np.zeros(d + 1), 0
    prevalence = float(y.mean())
    w[-1] = np.log(prevalence / (1 - prevalence))
    for _ in range(max(epochs, 400 * batch // n)):
        order = rng.permutation(n)
        for start in range(0, n, batch):
            chosen = order[start : start + batch]
            positive = y[chosen]
            if not 0 < positive.sum() < positive.size:
                continue
            rows = X[chosen]
            called = 1 / (1 + np.exp(-np.clip(rows @ w[:-1] + w[-1], -30, 30)))
            slopes = measure.slopes(called[positive].mean(), 1 - called[~positive].mean(), prevalence)
            pull = np.where(positive, slopes[0] / positive.sum(), -slopes[1] / (~positive).sum())
            pull = pull * called * (1 - called)
            gradient = np.append(rows.T @ pull, pull.sum())
            t += 1
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            w += rate * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
    return w[:-1], float(w[-1])


def ratewise(**settings):
    def fit(X, y, measures, seed):
        results = {}
        for name in measures:
            started = time.process_time()
            model = MeasureClassifier(name, random_state=seed, **settings).fit(X, y)
            results[name] = Fitted(model.predict, time.process_time() - started)
        return results

    return fit


RIVALS: dict[str, Callable[..., dict[str, Fitted]]] = {
    "logistic at 0.5": at_one_half,
    "plug-in": thresholded(lambda seed: logistic()),
    "plug-in, StandardScaler": thresholded(lambda seed: logistic(), lambda: StandardScaler(with_mean=False)),
    "balanced plug-in": thresholded(lambda seed: logistic(class_weight="balanced")),
    "class-weight sweep": class_weight_sweep,
    "SGD hinge": thresholded(lambda seed: SGDClassifier(random_state=seed)),
    "soft confusion": soft_confusion,
    "TunedThresholdCV": tuned_threshold_cv,
    "boosting": boosting,
    "plain SPADE/STAMP": ratewise(sharpen=False, threshold="zero"),
    "ratewise": ratewise(),
}


def fit_rival(rival: str, X, y, measures, seed) -> dict[str, Fitted]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # L-BFGS at its limit is as good as it gets
        return RIVALS[rival](X, y, measures, seed)
