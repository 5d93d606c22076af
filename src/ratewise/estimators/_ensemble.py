"""The ensemble of a meta-estimator: its members, their votes and weights, and the threshold of the votes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ..decisions.choose import half_standard_error
from ..decisions.cuts import BestThreshold, best_threshold, rates_at, smoothed_threshold
from ..decisions.intervals import ModelShift
from ..measures import Measure
from ..solvers.base import Scores
from ._boosters import booster_of, staged_scores
from ._stack import AdditiveModel, Join

_COMPARED_ROWS = 1500  # of each class: enough to estimate what the ensemble changes


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
    """The scores of a model after some or all of its trees, and their vote transform."""

    trees: int | None
    """None for all trees of a model, and for models other than boosting."""
    transform: VoteTransform
    join: Join | None = None
    """How the scores are combined with those of an additive model; None without an additive model."""


class EnsembleMember(NamedTuple):
    """One fitted model, its stages that vote, and its weight in the ensemble."""

    model: Any
    stages: tuple[Stage, ...]
    ratio: float
    """The weight of a positive row over that of a negative row in the model's fit."""
    weight: int = 1
    additive: AdditiveModel | None = None
    """The additive model of the same rows, if the member is a stack: all its stages are combined with it."""

    def votes(self, X: Any, positive: Any, added: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the mean vote of the stages; ``added`` are the log odds of the additive model, if known."""
        scores = self._scores(X, positive, self.stages[0].transform.response, added)
        votes = [stage.transform.votes(part) for stage, part in zip(self.stages, scores, strict=True)]
        mean: NDArray[np.float64] = np.mean(votes, axis=0)
        return mean

    def probabilities(
        self, X: Any, positive: Any, added: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the probability of the positive class, corrected to equally weighted rows."""
        scores = self._scores(X, positive, "predict_proba", added)
        weighted = np.mean(scores if self.stages[0].trees is None else expit(scores), axis=0)
        corrected: NDArray[np.float64] = weighted / (weighted + self.ratio * (1.0 - weighted))
        return corrected

    def _scores(
        self, X: Any, positive: Any, response: str, added: NDArray[np.float64] | None
    ) -> list[NDArray[np.float64]]:
        if self.stages[0].trees is None:
            return [positive_scores(self.model, X, response, positive)]
        scores = positive_stages(self.model, X, [stage.trees or 0 for stage in self.stages], positive)
        if self.additive is None:
            return scores
        added = self.additive.log_odds(X) if added is None else added
        pairs = zip(self.stages, scores, strict=True)
        return [stage.join.scores(added, part) if stage.join else part for stage, part in pairs]


def additive_log_odds(members: list[EnsembleMember], X: Any) -> list[NDArray[np.float64] | None]:
    """Return the log odds of each member's additive model or None; rows are encoded once for all folds."""
    models = [member.additive for member in members if member.additive is not None]
    if any(one.encoder is not models[0].encoder or one.basis is not models[0].basis for one in models):
        return [None if member.additive is None else member.additive.log_odds(X) for member in members]
    if not models:
        return [None] * len(members)
    ends = np.cumsum([one.intercept.size for one in models])[:-1]
    found = iter(np.split(AdditiveModel.joined(models).log_odds(X), ends, axis=1))
    return [None if member.additive is None else next(found) for member in members]


def weighted_mean(values: list[NDArray[np.float64]], members: list[EnsembleMember]) -> NDArray[np.float64]:
    """Return the mean of the members' votes or probabilities, by the weights of the members."""
    mean: NDArray[np.float64] = np.average(values, axis=0, weights=[member.weight for member in members])
    return mean


def response_of(model: Any, response_method: str) -> str:
    """Return the method that gives the scores: ``decision_function`` if it exists, else ``predict_proba``."""
    names = ["decision_function", "predict_proba"] if response_method == "auto" else [response_method]
    for name in names:
        if hasattr(model, name):
            return name
    raise ValueError(
        f"{type(model).__name__} has no {' or '.join(names)}: a threshold needs scores, not only labels."
    )


def positive_scores(model: Any, X: Any, response: str, positive: Any) -> NDArray[np.float64]:
    """Return the scores for the positive class, a finite number per row; the model may be from any library."""
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
        problem = f"its {response} gives {found.min():g} to {found.max():g}, which are not probabilities"
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
    neutral: float,
    scores: NDArray[Any],
    signed_weights: NDArray[Any],
    measure: Measure,
    rarer_points: float,
) -> BestThreshold:
    """Return the mean of the thresholds within noise of the best one, with its value and rates.

    With few rows the exact best threshold has a high variance. It may even lie between the scores that the models
    of different folds give to duplicate rows, which the mean vote cannot separate. If no threshold beats the
    neutral one, the best threshold nearest to neutral is returned.
    """
    scores = scores - neutral
    best = best_threshold(scores, signed_weights, measure)
    tolerance = noise_of(best, measure, rarer_points)
    smoothed = smoothed_threshold(scores, signed_weights, measure, tolerance)
    rates = rates_at(scores, signed_weights, smoothed)
    value = float(measure.value(*rates))
    value_at_neutral = float(measure.value(*rates_at(scores, signed_weights, 0.0)))
    # The mean of two separate good regions may lie in a bad one between them.
    if value_at_neutral >= best.value or value < best.value - tolerance:
        return best._replace(threshold=best.threshold + neutral)
    return BestThreshold(smoothed + neutral, value, rates)


def noise_of(best: BestThreshold, measure: Measure, rarer_points: float) -> float:
    """Return half the standard error of the best value: this number of points cannot order closer values."""
    return half_standard_error(best.value, measure.scale(best.rates.prevalence), rarer_points)


def some_of_each_class(signed_weights: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the indices of the rows to compare, evenly spread over each class."""
    places = [np.flatnonzero(signed_weights > 0), np.flatnonzero(signed_weights < 0)]
    return np.concatenate([mine[:: max(math.ceil(mine.size / _COMPARED_ROWS), 1)] for mine in places])


def ensemble_shift(
    X: Any,
    scores: Scores,
    some: NDArray[np.intp],
    of_folds: list[EnsembleMember],
    members: list[EnsembleMember],
    positive: Any,
) -> Callable[[float], ModelShift]:
    """Compare an ensemble with the models of single folds, at any threshold, on validation rows.

    All models except one have learned a row, and their votes differ from those for new rows if they overfit. The
    effect of averaging is estimated in two ways: from the votes of the models that have learned a row, or from the
    votes of all models. The first ignores that one fold's model may score on another scale than the rest (30
    positives, a low threshold: its error in the change of the TNR is 0.028 on average, that of the second 0.006).
    The second mistakes overfitting for a gain of averaging (in the TPR on copied rows: by 0.09). Each class uses a
    weighted mean of both. The weight is the share of the disagreement that is not overfitting. ``X`` are ``some``
    of the validation rows, whose out-of-fold votes are ``scores``.
    """
    assert scores.folds is not None
    folds, weights = len(scores.folds), scores.signed_weights[some]
    held_by = np.repeat(np.arange(folds), scores.folds)[some]
    others = [one for one in members if all(one.model is not mine.model for mine in of_folds)]
    averaged = len(members) > len(others)  # the models of the folds are also returned
    votes = np.empty((folds, some.size))
    of_fold = [of_folds[fold::folds] for fold in range(folds)]
    added = additive_log_odds(of_folds, X)
    for fold, mine in enumerate(of_fold):
        met = np.flatnonzero(held_by != fold)
        rows, parts = _safe_indexing(X, met), zip(mine, added[fold::folds], strict=True)
        found = [one.votes(rows, positive, None if part is None else part[met]) for one, part in parts]
        votes[fold, met] = weighted_mean(found, mine)
    out_of_fold = scores.values[some]
    votes[held_by, np.arange(some.size)] = out_of_fold
    shares = np.array([sum(one.weight for one in mine) if averaged else 0 for mine in of_fold])
    total = sum((one.weight * one.votes(X, positive) for one in others), shares @ votes)
    voters = np.full(some.size, sum(one.weight for one in members))
    own_share = shares[held_by]
    positives, negatives = (
        float((scores.signed_weights * sign > 0).sum() / max((weights * sign > 0).sum(), 1)) for sign in (1, -1)
    )

    def shift_at(threshold: float) -> ModelShift:
        scored = out_of_fold > threshold
        learned = (votes > threshold).sum(axis=0) - scored
        by_learned = total - own_share * out_of_fold > threshold * (voters - own_share)
        counts = ModelShift.tally(learned, scored, by_learned, weights, folds)
        shift = ModelShift.of_counts(counts, (positives, negatives))
        if averaged:
            of_all = ModelShift.tally(learned + scored, scored, total > threshold * voters, weights, folds + 1)
            shift = shift.blended(
                ModelShift.of_counts(of_all, (positives, negatives)), ModelShift.even_disagreement(counts)
            )
        return shift if others else shift._replace(folds=math.inf)

    return shift_at
