"""One round of a meta-estimator: a model a fold, and scores of rows by models that have not seen them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from ..measures import Measure
from ..solvers.threshold import BestThreshold, best_threshold, half_standard_error, rates_at, smoothed_threshold
from .inner import fitted, response_of, scores_of

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Rows:
    """The training set, as the learner gets it and as it is scored."""

    X: Any
    X_learned: Any
    """X, or a coarser copy that is quicker to learn from."""
    y: NDArray[Any]
    positive: Any
    weights: NDArray[np.float64] | None
    """The user's own."""
    params: dict[str, Any]
    folds: list[Fold]

    def signed_weights(self) -> NDArray[np.float64]:
        """Of the rows held out, fold after fold."""
        held_out = np.concatenate([held for _, held in self.folds])
        weights = np.ones(held_out.size) if self.weights is None else self.weights[held_out]
        signed: NDArray[np.float64] = np.where(self.y[held_out] == self.positive, weights, -weights)
        return signed

    def learning_weights(self, learn: NDArray[np.intp], ratio: float) -> NDArray[np.float64] | None:
        """Positives weigh ``ratio`` times as much as negatives, the mean as if all weighed alike."""
        own = None if self.weights is None else self.weights[learn]
        if ratio == 1.0:
            return own
        factors = np.where(self.y[learn] == self.positive, ratio, 1.0)
        combined: NDArray[np.float64] = factors if own is None else factors * own
        total = float(combined.sum())
        return combined * ((learn.size if own is None else float(own.sum())) / total) if total > 0 else combined


class Ballot(NamedTuple):
    """How a score turns into a vote between 0 and 1, which is 1/2 at the threshold.

    Scores of different models are averaged as votes: far from the threshold a model is sure, however far, so that
    one that has run away does not outshout the others, and rounds of different weights come to one scale.
    """

    response: str
    threshold: float
    scale: float

    def votes(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.response == "predict_proba":
            cut = min(max(self.threshold, 1e-12), 1.0 - 1e-12)
            for_it, against = scores * (1.0 - cut), (1.0 - scores) * cut
            return for_it / np.maximum(for_it + against, 1e-300)
        votes: NDArray[np.float64] = expit((scores - self.threshold) / self.scale)
        return votes


@dataclass(frozen=True)
class Round:
    """The models of all folds at one weighting of the classes."""

    ratio: float
    models: list[Any]
    scores: NDArray[np.float64]
    """Of the rows held out, fold after fold."""
    best: BestThreshold
    ballot: Ballot

    def votes(self) -> NDArray[np.float64]:
        return self.ballot.votes(self.scores)


class CrossFitter:
    """Fits the estimator to every fold's rows and scores the rest."""

    def __init__(
        self,
        estimator: Any,
        rows: Rows,
        measure: Measure,
        *,
        response_method: str,
        warm_start: bool | str,
        n_jobs: int | None,
    ):
        self.estimator = estimator
        self.rows = rows
        self._measure = measure
        self._response_method = response_method
        self._warm_start = warm_start
        self._n_jobs = n_jobs
        self.signed_weights = rows.signed_weights()

    def round(self, ratio: float, previous: Round | None) -> Round:
        starts = [None] * len(self.rows.folds) if previous is None else previous.models
        found = Parallel(n_jobs=self._n_jobs)(
            delayed(_fit_and_score)(
                self.estimator, self.rows, fold, ratio, start, self._response_method, self._warm_start
            )
            for fold, start in zip(self.rows.folds, starts, strict=True)
        )
        models, responses, parts = zip(*found, strict=True)
        scores = np.concatenate(parts)
        neutral = 0.5 if responses[0] == "predict_proba" else 0.0
        best = threshold_near(neutral, scores, self.signed_weights, self._measure)
        # Log odds come on the scale of votes; other decision functions on any.
        scale = 1.0 if hasattr(models[0], "predict_proba") else max(float(scores.std()), 1e-12)
        return Round(ratio, list(models), scores, best, Ballot(responses[0], best.threshold, scale))


def threshold_near(
    neutral: float, scores: NDArray[np.float64], signed_weights: NDArray[np.float64], measure: Measure
) -> BestThreshold:
    """The middle of the thresholds that rows held out cannot tell from the best, and what it comes to.

    Where rows are few the very best cut is an accident. It may even lie between the scores that the models of
    different folds give to rows that are alike, and then their mean vote goes for all of them or for none. If no
    cut beats the one that would be made unasked, that is the one.
    """
    scores = scores - neutral
    best = best_threshold(scores, signed_weights, measure)
    tolerance = noise_in(best, signed_weights, measure)
    steady = smoothed_threshold(scores, signed_weights, measure, tolerance)
    rates = rates_at(scores, signed_weights, steady)
    value = float(measure.value(*rates))
    unasked = float(measure.value(*rates_at(scores, signed_weights, 0.0)))
    if unasked >= best.value or value < best.value - tolerance:  # the middle of two good places need not be one
        return best._replace(threshold=best.threshold + neutral)
    return BestThreshold(steady + neutral, value, rates)


def noise_in(best: BestThreshold, signed_weights: NDArray[np.float64], measure: Measure) -> float:
    """Values closer than this cannot be told apart by these rows."""
    rarer = float(min((signed_weights > 0).sum(), (signed_weights < 0).sum()))
    return half_standard_error(best.value, measure.scale(best.rates.prevalence), rarer)


def _fit_and_score(
    estimator: Any,
    rows: Rows,
    fold: Fold,
    ratio: float,
    start: Any,
    response_method: str,
    warm_start: bool | str,
) -> tuple[Any, str, NDArray[np.float64]]:
    learn, held_out = fold
    model = fitted(
        estimator,
        _safe_indexing(rows.X_learned, learn),
        rows.y[learn],
        rows.learning_weights(learn, ratio),
        _check_method_params(rows.X, rows.params, indices=learn),
        previous=start,
        warm_start=warm_start,
    )
    response = response_of(model, response_method)
    scores = scores_of(model, _safe_indexing(rows.X, held_out), response, rows.positive)
    return model, response, scores
