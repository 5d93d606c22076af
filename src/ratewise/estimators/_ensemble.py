"""The ensemble of a meta-estimator: its members, their votes and weights, and the threshold of the votes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.validation import _num_samples

from ..measures import Measure
from ..solvers.threshold import BestThreshold, best_threshold, half_standard_error, rates_at, smoothed_threshold
from ._boosters import booster_of, staged_scores


class VoteTransform(NamedTuple):
    """A map from scores to votes between 0 and 1, with 1/2 at the threshold.

    Members are averaged by their votes, not by their scores: votes are bounded, so one member with very large
    scores does not outweigh the others, and members fitted with different class weights have one scale.
    """

    response: str
    threshold: float
    scale: float

    def votes(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.response == "predict_proba":
            cut = min(max(self.threshold, 1e-12), 1.0 - 1e-12)
            positive, negative = scores * (1.0 - cut), (1.0 - scores) * cut
            return positive / np.maximum(positive + negative, 1e-300)
        votes: NDArray[np.float64] = expit((scores - self.threshold) / self.scale)
        return votes


class Stage(NamedTuple):
    """The scores of a model after some of its trees, or after all of them, and their vote transform."""

    trees: int | None
    """None where all of a model is meant, and for models that are no boosting."""
    transform: VoteTransform


class EnsembleMember(NamedTuple):
    """One fitted model, the stages of it that vote, and its weight in the ensemble."""

    model: Any
    stages: tuple[Stage, ...]
    ratio: float
    """The weight of a positive row over that of a negative row in the model's fit."""
    weight: int = 1

    def votes(self, X: Any, positive: Any) -> NDArray[np.float64]:
        scores = self._scores(X, positive, self.stages[0].transform.response)
        votes = [stage.transform.votes(part) for stage, part in zip(self.stages, scores, strict=True)]
        mean: NDArray[np.float64] = np.mean(votes, axis=0)
        return mean

    def probabilities(self, X: Any, positive: Any) -> NDArray[np.float64]:
        """Return the probability of the positive class, corrected to equally weighted rows."""
        scores = self._scores(X, positive, "predict_proba")
        weighted = np.mean(scores if self.stages[0].trees is None else expit(scores), axis=0)
        corrected: NDArray[np.float64] = weighted / (weighted + self.ratio * (1.0 - weighted))
        return corrected

    def _scores(self, X: Any, positive: Any, response: str) -> list[NDArray[np.float64]]:
        if self.stages[0].trees is None:
            return [positive_scores(self.model, X, response, positive)]
        return positive_stages(self.model, X, [stage.trees or 0 for stage in self.stages], positive)


def weighted_mean(values: list[NDArray[np.float64]], members: list[EnsembleMember]) -> NDArray[np.float64]:
    """Return the mean of the members' votes or probabilities, by the weights of the members."""
    mean: NDArray[np.float64] = np.average(values, axis=0, weights=[member.weight for member in members])
    return mean


def response_of(model: Any, response_method: str) -> str:
    """Return the method that gives the scores: ``decision_function`` if there is one, else ``predict_proba``."""
    names = ["decision_function", "predict_proba"] if response_method == "auto" else [response_method]
    for name in names:
        if hasattr(model, name):
            return name
    raise ValueError(
        f"{type(model).__name__} has no {' or '.join(names)}: a threshold needs scores, not only labels."
    )


def positive_scores(model: Any, X: Any, response: str, positive: Any) -> NDArray[np.float64]:
    """Return the model's scores for the positive class, a finite number per row; it may be anybody's."""
    found, rows = np.asarray(getattr(model, response)(X)), _num_samples(X)
    classes = np.asarray(getattr(model, "classes_", ()))
    column, is_table = np.flatnonzero(classes == positive), response == "predict_proba"
    shapes = [(rows, classes.size)] if is_table else [(rows,), (rows, 1)]
    if column.size != 1:
        problem = f"its classes_ are {classes.tolist()}, without {positive}"
    elif found.dtype.kind not in "biuf" or found.shape not in shapes:
        problem = f"its {response} gives {found.dtype} of shape {found.shape} for {rows:,} rows"
    elif not np.isfinite(found).all():
        problem = f"its {response} gives NaN or infinity"
    elif is_table and rows and not -0.01 < found.min() <= found.max() < 1.01:
        problem = f"its {response} gives {found.min():g} to {found.max():g}, which are no probabilities"
    else:
        scores = (found[:, column[0]] if is_table else found.reshape(-1)).astype(np.float64, copy=False)
        return scores if is_table or classes[-1] == positive else -scores
    raise ValueError(f"{type(model).__name__} gives no scores to choose a threshold by: {problem}.")


def positive_stages(model: Any, X: Any, trees: list[int], positive: Any) -> list[NDArray[np.float64]]:
    """Return the scores of boosting for the positive class after each of these numbers of trees."""
    booster = booster_of(model)
    assert booster is not None
    sign = 1.0 if model.classes_[1] == positive else -1.0
    return [sign * scores for scores in staged_scores(model, booster, X, trees)]


def choose_threshold(
    neutral: float, scores: NDArray[np.float64], signed_weights: NDArray[np.float64], measure: Measure
) -> BestThreshold:
    """Return the mean of the thresholds within noise of the best one, with its value and rates.

    With few rows the exact best threshold has a high variance. It may even lie between the scores that the models
    of different folds give to duplicate rows, which the mean vote cannot separate. If no threshold beats the
    neutral one, the best threshold nearest to neutral is returned.
    """
    scores = scores - neutral
    best = best_threshold(scores, signed_weights, measure)
    tolerance = noise_of(best, signed_weights, measure)
    smoothed = smoothed_threshold(scores, signed_weights, measure, tolerance)
    rates = rates_at(scores, signed_weights, smoothed)
    value = float(measure.value(*rates))
    value_at_neutral = float(measure.value(*rates_at(scores, signed_weights, 0.0)))
    # The mean of two separate good regions may lie in a bad one between them.
    if value_at_neutral >= best.value or value < best.value - tolerance:
        return best._replace(threshold=best.threshold + neutral)
    return BestThreshold(smoothed + neutral, value, rates)


def noise_of(best: BestThreshold, signed_weights: NDArray[np.float64], measure: Measure) -> float:
    """Return half the standard error of the best value: these rows cannot order values closer than that."""
    rarer = float(min((signed_weights > 0).sum(), (signed_weights < 0).sum()))
    return half_standard_error(best.value, measure.scale(best.rates.prevalence), rarer)
