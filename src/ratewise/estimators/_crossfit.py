"""Cross-fitting of a base estimator: folds, out-of-fold scores, and iterations that reweight the classes."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from ..decisions.certify import Decision, decide, points_of_groups
from ..decisions.choose import near_best
from ..decisions.cuts import Points, effective_points
from ..decisions.intervals import warn_of_unknown_rates
from ..decisions.scores import Sensitive
from ..measures import ConcaveMeasure, Measure, PseudoLinearMeasure, Rates
from ..measures.base import gains_of_slopes
from ..solvers import BestThreshold
from ..solvers.base import Scores
from ._boosters import booster_of, tree_count
from ._ensemble import (
    EnsembleMember,
    Stage,
    VoteTransform,
    choose_threshold,
    ensemble_shift,
    noise_of,
    positive_scores,
    positive_stages,
    response_of,
    some_of_each_class,
)
from ._folds import Fold
from ._stack import AdditiveModel, AdditiveRows, Join

_STAGES = 10
# Class weights that differ by a smaller factor give nearly the same model.
_SAME_WEIGHTS = 1.25
_SMALLEST_SLOPE = 1e-6
_VOTE_DIGITS = 12
# The decrease of the log loss by the last fifth of the trees from which twice as many trees help. (34 KEEL tables,
# mean of F1, G-mean, Min and MCC: +.001; the worst against an ensemble of LightGBM -.035 in place of -.075.)
_STILL_LEARNING = 0.05
# The arguments through which other libraries' boosting takes the model to continue from.
_MODEL_KEYWORDS = ("init_model", "xgb_model")


class CostWeights(NamedTuple):
    """The derivatives of the measure in the two rates, and the level at which they are taken."""

    on_tpr: float = math.nan
    on_tnr: float = math.nan
    level: float = math.nan
    """NaN for a measure that is not pseudo-linear: its derivatives are the dual pair."""

    def row_ratio(self, prevalence: float) -> float:
        """Return the weight of a positive row over that of a negative row."""
        on_positive, on_negative = gains_of_slopes((self.on_tpr, self.on_tnr), prevalence, _SMALLEST_SLOPE)
        return on_positive / on_negative

    def tempered_ratio(self, prevalence: float) -> float:
        """Return the geometric mean of the row ratio and the square root of (1-p)/p.

        The row ratio itself only moves the decision to 1/2, and the threshold search does that anyway. The weights
        also determine which rows the learner fits best, and both extremes are unstable there. With unweighted rows
        boosting fails if one row in a thousand is positive (the weights for F1 are almost equal). With balanced
        classes a few positives dominate the fit (the weights for G-mean are balanced).
        """
        return math.sqrt(self.row_ratio(prevalence) * math.sqrt((1.0 - prevalence) / prevalence))


def cost_weights_at(measure: Measure, rates: Rates) -> CostWeights:
    """Return the slopes of the measure at these rates or, if they jump, the dual pair of a primal-dual step."""
    level = float(measure.value(*rates)) if isinstance(measure, PseudoLinearMeasure) else math.nan
    if isinstance(measure, ConcaveMeasure) and not measure.smooth:
        # The derivatives jump at the best models: take one dual step from the middle, towards the worse rate.
        return CostWeights(*measure.project(0.5 - rates.tpr, 0.5 - rates.tnr), level)
    return CostWeights(*measure.slopes(*rates), level)


@dataclass(frozen=True)
class CrossFitRows:
    """The training set: models learn from ``X_binned`` and score ``X``."""

    X: Any
    X_binned: Any
    y: NDArray[Any]
    positive: Any
    sample_weight: NDArray[np.float64] | None
    params: dict[str, Any]
    folds: list[Fold]
    groups: NDArray[np.intp] | None = None
    """Rows with the same number belong together: groups of the user, or copies of a row."""
    sensitive: Sensitive | None = None
    """The groups that bounds concern."""

    def training_weights(self, train: NDArray[np.intp], ratio: float) -> NDArray[np.float64] | None:
        """Return the weights of training rows: those of positives times ``ratio``, with an unchanged sum."""
        own = None if self.sample_weight is None else self.sample_weight[train]
        if ratio == 1.0:
            return own
        factors = np.where(self.y[train] == self.positive, ratio, 1.0)
        combined: NDArray[np.float64] = factors if own is None else factors * own
        total = float(combined.sum())
        return combined * ((train.size if own is None else float(own.sum())) / total) if total > 0 else combined


@dataclass(frozen=True)
class CrossFit:
    """The models of all folds, fitted with one ratio of class weights, after all or some of their trees."""

    iteration: int
    ratio: float
    cost_weights: CostWeights
    models: list[Any]
    scores: NDArray[np.float64]
    """Out-of-fold scores, fold after fold."""
    best: BestThreshold
    stage: Stage
    additives: list[AdditiveModel] | None = None
    """The additive models of all folds, if the candidate is a stack."""

    @property
    def stacked(self) -> bool:
        return self.additives is not None

    def votes(self) -> NDArray[np.float64]:
        return self.stage.transform.votes(self.scores)


@dataclass(frozen=True)
class CrossFitter:
    """Fits copies of the base estimator to the training rows of every fold, and to all rows."""

    estimator: Any
    rows: CrossFitRows
    measure: Measure
    response_method: str
    warm_start: bool | str
    n_jobs: int | None
    additive: AdditiveRows | None = None
    """The rows for the additive member of a stack; None without one."""
    may_grow: bool = False
    """Whether boosting may grow twice as many trees if there are too few."""

    @cached_property
    def validation_rows(self) -> NDArray[np.intp]:
        """The places of the validation rows, fold after fold."""
        return np.concatenate([fold[1] for fold in self.rows.folds])

    @cached_property
    def signed_weights(self) -> NDArray[np.float64]:
        """The sample weights of the validation rows, fold after fold, negative for the negative class."""
        rows, validation = self.rows, self.validation_rows
        weights = np.ones(validation.size) if rows.sample_weight is None else rows.sample_weight[validation]
        signed: NDArray[np.float64] = np.where(rows.y[validation] == rows.positive, weights, -weights)
        return signed

    @cached_property
    def points(self) -> Points:
        """The effective points of both classes: a row that several folds hold out counts once, and the rows of a
        group count as dependent."""
        rows, once = np.unique(self.validation_rows, return_index=True)
        weights, groups = self.signed_weights[once], self.rows.groups
        return effective_points(weights) if groups is None else points_of_groups(weights, groups[rows])

    def reweight(self, most: int) -> list[CrossFit]:
        """Run iterations, each with the class weights of the measure at the rates of the previous iteration.

        The rates are out-of-fold, so an overfitted model does not inflate the level. The iterations stop before
        ``most`` when the weights no longer change. Boosting gives several candidates per iteration: its scores
        after a tenth of its trees, after two tenths and so on.
        """
        found = self._iteration(1, 1.0, CostWeights(), None)
        if self.may_grow and still_learning(found, self.signed_weights):
            found = replace(self, warm_start=True)._iteration(1, 1.0, CostWeights(), found[0].models)
        for iteration in range(2, most + 1):
            before = max((one for one in found if one.iteration == iteration - 1), key=lambda one: one.best.value)
            rates = before.best.rates
            cost_weights = cost_weights_at(self.measure, rates)
            ratio = cost_weights.tempered_ratio(rates.prevalence)
            if any(abs(math.log(ratio / one.ratio)) < math.log(_SAME_WEIGHTS) for one in found):
                break
            found += self._iteration(iteration, ratio, cost_weights, before.models)
        return found

    def stack(self, candidates: list[CrossFit]) -> list[CrossFit]:
        """Return candidates combined with an additive model per fold, by a regression on out-of-fold scores."""
        additive = self.additive
        if additive is None:
            return []
        models = Parallel(n_jobs=self.n_jobs)(delayed(additive.fit)(train) for train, _ in self.rows.folds)
        pairs = zip(models, self.rows.folds, strict=True)
        added = np.concatenate([additive.log_odds(model, held) for model, (_, held) in pairs])
        found = []
        for one in candidates[::-2][::-1]:  # every second stage, including the last
            join = Join.fitted(added, one.scores, self.signed_weights)
            scores = join.scores(added, one.scores)
            best = choose_threshold(0.0, scores, self.signed_weights, self.measure, min(self.points))
            stage = Stage(one.stage.trees, VoteTransform("decision_function", best.threshold, 1.0), join)
            found.append(replace(one, scores=scores, best=best, stage=stage, additives=models))
        return found

    def within_noise(self, candidates: list[CrossFit]) -> list[int]:
        """Return the best candidate and those that validation rows cannot distinguish from it, best first.

        Values of boosting are means over neighboring stages. Of the stages of an iteration that are within noise,
        the first, the middle and the last are returned: their mean vote varies less than the vote of one stage.
        Boosting alone is used if its best value is above that of the stack by more than noise.
        """
        values = np.empty(len(candidates))
        for stages in _by_iteration(candidates, range(len(candidates))):
            own = np.array([candidates[k].best.value for k in stages])
            padded = np.pad(own, 1, mode="edge")
            values[stages] = own if own.size == 1 else (padded[:-2] + own + padded[2:]) / 3.0
        stacked = np.array([one.stacked for one in candidates])
        if stacked.any() and not stacked.all():
            alone = int(np.argmax(np.where(stacked, -np.inf, values)))
            least = values[alone] - noise_of(candidates[alone].best, self.measure, min(self.points))
            values[stacked != (values[stacked].max() >= least)] = -np.inf
        best = int(np.argmax(values))
        near = near_best(values.tolist(), noise_of(candidates[best].best, self.measure, min(self.points)))
        kept = {best}
        for stages in _by_iteration(candidates, near):
            kept |= {stages[0], stages[len(stages) // 2], stages[-1]}
        return sorted(kept, key=lambda k: -values[k])

    def decide(self, candidates: list[CrossFit], kept: list[int], members: list[EnsembleMember]) -> Decision:
        """Return the threshold of the mean vote of the candidates kept, and the rates there."""
        rows, measure = self.rows, self.measure
        # Sums of the same leaves in another order differ in the last digits: no threshold may lie in between.
        votes: NDArray[np.float64] = np.mean([candidates[k].votes() for k in kept], axis=0).round(_VOTE_DIGITS)
        sizes = tuple(held.size for _, held in rows.folds)
        # This holds if every row is held out once, and learned by all other folds.
        partition = sum(sizes) == rows.y.size and all(
            train.size + size == rows.y.size for (train, _), size in zip(rows.folds, sizes, strict=True)
        )
        sensitive = rows.sensitive
        if sensitive is not None:
            sensitive = sensitive._replace(codes=sensitive.codes[self.validation_rows])
        folds = sizes if partition else None
        scores = Scores(votes, self.signed_weights, folds=folds, sensitive=sensitive)

        def choose(scores: Scores) -> float:
            return choose_threshold(0.5, *scores[:2], measure, min(self.points)).threshold

        shift_at = None
        if partition:
            some = some_of_each_class(self.signed_weights)
            X = _safe_indexing(rows.X, self.validation_rows[some])
            of_folds = self.members_of_folds(candidates, kept)
            shift_at = ensemble_shift(X, scores, some, of_folds, members, rows.positive)
        warn_of_unknown_rates(self.points)
        return decide(
            scores,
            measure,
            choose(scores),
            self.points,
            shift_at=shift_at,
            choose=choose,
        )

    def members_of_folds(self, candidates: list[CrossFit], kept: list[int]) -> list[EnsembleMember]:
        """Return the models of the folds, each with the stages that are kept."""
        members = []
        for stages in _by_iteration(candidates, kept):
            first, own = candidates[stages[0]], tuple(candidates[k].stage for k in stages)
            additives: Iterable[AdditiveModel | None] = first.additives or repeat(None, len(first.models))
            for model, additive in zip(first.models, additives, strict=True):
                members.append(EnsembleMember(model, own, _ratio_of(first), len(stages), additive))
        return members

    def member_of_all_rows(self, candidates: list[CrossFit], best: int, weight: int) -> EnsembleMember:
        """Fit one model to all rows, with the iterations that lead to the best candidate."""
        rows, last = self.rows, candidates[best]
        everything = np.arange(rows.y.size)
        path = {one.iteration: one for one in candidates if one.iteration < last.iteration} | {
            last.iteration: last
        }
        first = last.iteration
        while first > 1 and continues_from(path[first - 1].models[0], self.warm_start):
            first -= 1
        fitter, model = self, None
        if self.may_grow:  # the trees that the folds have grown
            trees = last.models[0].n_iter_
            fitter = replace(self, estimator=clone(self.estimator).set_params(max_iter=trees))
        for iteration in range(first, last.iteration + 1):
            weights = rows.training_weights(everything, path[iteration].ratio)
            model = fitter._fit(rows.X_binned, rows.y, weights, rows.params, previous=model)
        added = self.additive.fit(everything) if last.stacked and self.additive is not None else None
        return EnsembleMember(model, (last.stage,), _ratio_of(last), weight, added)

    @property
    def _fit(self) -> Callable[..., Any]:
        return partial(fit_base_estimator, self.estimator, warm_start=self.warm_start)

    def _iteration(
        self, iteration: int, ratio: float, cost_weights: CostWeights, previous: list[Any] | None
    ) -> list[CrossFit]:
        folds = self.rows.folds
        models = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_fold)(self._fit, self.rows, fold, ratio, start)
            for fold, start in zip(folds, previous or [None] * len(folds), strict=True)
        )
        response = response_of(models[0], self.response_method)
        stages = self._stages(models)
        parts = [self._scores(model, fold[1], stages, response) for model, fold in zip(models, folds, strict=True)]
        found = []
        for k, trees in enumerate(stages):
            scores = np.concatenate([part[k] for part in parts])
            neutral = 0.5 if trees is None and response == "predict_proba" else 0.0
            best = choose_threshold(neutral, scores, self.signed_weights, self.measure, min(self.points))
            # Log odds need no scaling; other decision functions have any scale.
            scale = 1.0 if hasattr(models[0], "predict_proba") else max(float(scores.std()), 1e-12)
            transform = VoteTransform(response if trees is None else "decision_function", best.threshold, scale)
            found.append(CrossFit(iteration, ratio, cost_weights, models, scores, best, Stage(trees, transform)))
        return found

    @property
    def staged(self) -> bool:
        """Whether the candidates are stages of boosting."""
        return self.response_method == "auto" and booster_of(self.estimator) is not None

    def _stages(self, models: list[Any]) -> list[int] | list[None]:
        booster = booster_of(self.estimator)
        if booster is None or not self.staged:
            return [None]
        most = max(tree_count(model, booster) for model in models)
        return sorted({math.ceil(most * tenth / _STAGES) for tenth in range(1, _STAGES + 1)})

    def _scores(
        self, model: Any, rows: NDArray[np.intp], stages: list[int] | list[None], response: str
    ) -> list[NDArray[np.float64]]:
        X, positive = _safe_indexing(self.rows.X, rows), self.rows.positive
        trees = [stage for stage in stages if stage is not None]
        return (
            positive_stages(model, X, trees, positive)
            if trees
            else [positive_scores(model, X, response, positive)]
        )


def still_learning(stages: list[CrossFit], signed_weights: NDArray[np.float64]) -> bool:
    """Return whether the last fifth of the trees clearly lowered the out-of-fold log loss, to its minimum."""
    signs, weights = np.sign(signed_weights), np.abs(signed_weights)
    losses = [float(weights @ np.logaddexp(0.0, -signs * one.scores)) for one in stages]
    fifth = losses[-1 - _STAGES // 5 :]
    return fifth[-1] == min(losses) and fifth[-1] < (1.0 - _STILL_LEARNING) * fifth[0]


def _ratio_of(candidate: CrossFit) -> float:
    """Return the ratio of class weights for which scores are corrected: a stack is combined without weights."""
    return 1.0 if candidate.stacked else candidate.ratio


def _by_iteration(candidates: list[CrossFit], which: Iterable[int]) -> list[list[int]]:
    """Return the indices of these candidates, a list per iteration and kind, ordered by their trees."""
    ordered = sorted(int(k) for k in which)
    kind = [(one.stacked, one.iteration) for one in candidates]
    return [list(group) for _, group in groupby(ordered, key=lambda k: kind[k])]


def _fit_fold(fit: Callable[..., Any], rows: CrossFitRows, fold: Fold, ratio: float, previous: Any) -> Any:
    train, _ = fold
    X, weights = _safe_indexing(rows.X_binned, train), rows.training_weights(train, ratio)
    params = _check_method_params(rows.X, rows.params, indices=train)
    return fit(X, rows.y[train], weights, params, previous=previous)


def history_table(candidates: list[CrossFit], kept: list[int], prevalence: float) -> dict[str, NDArray[Any]]:
    """Return the candidates as a dict of equally long arrays."""
    ratios = np.array([one.ratio for one in candidates])
    weight_negative = 1.0 / (prevalence * ratios + 1.0 - prevalence)
    alpha, beta, level = map(np.array, zip(*(one.cost_weights for one in candidates), strict=True))
    staged, stacks = candidates[0].stage.trees is not None, any(one.stacked for one in candidates)
    return {
        "round": np.array([one.iteration for one in candidates]),
        **({"trees": np.array([one.stage.trees for one in candidates])} if staged else {}),
        **({"stacked": np.array([one.stacked for one in candidates])} if stacks else {}),
        "weight_positive": ratios * weight_negative,
        "weight_negative": weight_negative,
        **({"level": level} if np.isfinite(level).any() else {"alpha": alpha, "beta": beta}),
        "tpr": np.array([one.best.rates.tpr for one in candidates]),
        "tnr": np.array([one.best.rates.tnr for one in candidates]),
        "value": np.array([one.best.value for one in candidates]),
        "kept": np.isin(np.arange(len(candidates)), kept),
    }


def weight_keyword(estimator: Any) -> str | None:
    """Return the argument through which ``fit`` takes sample weights; None if it takes no weights.

    A pipeline passes it to its last step, a search to its base estimator.
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        keyword = weight_keyword(last)
        return None if keyword is None else f"{name}__{keyword}"
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return weight_keyword(estimator.estimator)
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def resampling_step(estimator: Any) -> str | None:
    """Return the name of a pipeline's step that changes the number of rows, such as those of imbalanced-learn."""
    steps = estimator.steps if isinstance(estimator, Pipeline) else []
    return next((str(name) for name, step in steps if hasattr(step, "fit_resample")), None)


def fit_base_estimator(
    estimator: Any,
    X: Any,
    y: Any,
    weights: NDArray[np.float64] | None,
    params: dict[str, Any],
    *,
    previous: Any = None,
    warm_start: bool | str = False,
) -> Any:
    """Fit a copy of the base estimator to weighted rows; continue from the previous model if that helps."""
    model, more = _model_to_fit(estimator, previous, warm_start)
    arguments = params | more
    if weights is not None:
        arguments[str(weight_keyword(estimator))] = weights
    # The keyword names the step. Metadata requests concern the user's arguments, not these weights.
    routed = isinstance(estimator, Pipeline | GridSearchCV | RandomizedSearchCV) and not params
    with config_context(enable_metadata_routing=False) if routed else nullcontext():
        return model.fit(X, y, **arguments)


def _model_to_fit(estimator: Any, previous: Any, warm_start: bool | str) -> tuple[Any, dict[str, Any]]:
    """Return the model to call ``fit`` on, and the extra arguments of ``fit``."""
    if not continues_from(previous, warm_start):
        return clone(estimator), {}
    if isinstance(previous, HistGradientBoostingClassifier):
        # Losses of differently weighted rows cannot be compared, so early stopping is off.
        settings = {"warm_start": True, "early_stopping": False, "max_iter": previous.n_iter_ + previous.max_iter}
        return copy.deepcopy(previous).set_params(**settings), {}
    if _keeps_coefficients(previous):
        return copy.deepcopy(previous).set_params(warm_start=True), {}
    return clone(estimator), {_model_keywords(previous)[0]: previous}


def continues_from(previous: Any, warm_start: bool | str) -> bool:
    """Return whether a fit continues from the previous iteration's model."""
    if previous is None or not warm_start:
        return False
    if isinstance(previous, HistGradientBoostingClassifier):
        unfinished = bool(previous.do_early_stopping_) and previous.n_iter_ == previous.max_iter
        return unfinished or warm_start is True
    return _keeps_coefficients(previous) or (warm_start is True and bool(_model_keywords(previous)))


def _keeps_coefficients(model: Any) -> bool:
    can = hasattr(model, "coef_") or hasattr(model, "coefs_")
    return can and "warm_start" in model.get_params(deep=False)


def _model_keywords(model: Any) -> list[str]:
    return [name for name in _MODEL_KEYWORDS if has_fit_parameter(model, name)]
