"""Cross-fitting of a base estimator: folds, out-of-fold scores, and iterations that reweight the classes."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import (
    GridSearchCV,
    PredefinedSplit,
    RandomizedSearchCV,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_consistent_length, has_fit_parameter

from ..measures import ConcaveMeasure, Measure, PseudoLinearMeasure, Rates
from ..solvers import BestThreshold
from ..solvers.base import Scores
from ..solvers.certify import Decision, decide, points_of_groups
from ..solvers.threshold import effective_points
from ..training.memory import folds_of_rows
from ._boosters import booster_of, tree_count
from ._ensemble import (
    EnsembleMember,
    Stage,
    VoteTransform,
    choose_threshold,
    noise_of,
    positive_scores,
    positive_stages,
    response_of,
)

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

_FOLDS = 5
_STAGES = 10
# Class weights that differ by a smaller factor give nearly the same model.
_SAME_WEIGHTS = 1.25
_SMALLEST_SLOPE = 1e-6
# With more rows HistGradientBoosting finds its bins on an unweighted sample, which is quick.
_MOST_BINNED_ROWS = 300_000
# The arguments by which the fit of other libraries' boosting takes the model to continue from.
_MODEL_KEYWORDS = ("init_model", "xgb_model")


class CostWeights(NamedTuple):
    """The derivatives of the measure in the two rates, and the level they are taken at."""

    on_tpr: float = math.nan
    on_tnr: float = math.nan
    level: float = math.nan
    """NaN for a measure that is not pseudo-linear: its derivatives are the dual pair."""

    def row_ratio(self, prevalence: float) -> float:
        """Return the weight of a positive row over that of a negative row."""
        per_positive = max(self.on_tpr, _SMALLEST_SLOPE) / prevalence
        per_negative = max(self.on_tnr, _SMALLEST_SLOPE) / (1.0 - prevalence)
        return per_positive / per_negative

    def tempered_ratio(self, prevalence: float) -> float:
        """Return the geometric mean of the row ratio and the square root of (1-p)/p.

        The row ratio itself only moves the decision to 1/2, and the threshold search does that anyway. The weights
        also set which rows the learner fits best, and there both extremes are unstable: with unweighted rows
        boosting fails where one row in a thousand is positive (F1 asks for hardly more), and with balanced classes
        a few positives dominate the fit (G-mean asks for that).
        """
        return math.sqrt(self.row_ratio(prevalence) * math.sqrt((1.0 - prevalence) / prevalence))


def cost_weights_at(measure: Measure, rates: Rates) -> CostWeights:
    """Return AMP's weights at the level of these rates, or the dual pair of the primal-dual scheme at them."""
    if isinstance(measure, PseudoLinearMeasure):
        level = float(measure.value(*rates))
        return CostWeights(*measure.valuation_weights(level, rates.prevalence), level)
    if isinstance(measure, ConcaveMeasure) and not measure.smooth:
        # The derivatives jump where the best models lie: one dual step from the middle, towards the worse rate.
        return CostWeights(*measure.project(0.5 - rates.tpr, 0.5 - rates.tnr))
    return CostWeights(*measure.slopes(*rates))


@dataclass(frozen=True)
class CrossFitRows:
    """The training set: ``X_binned`` is learned from, ``X`` is scored."""

    X: Any
    X_binned: Any
    y: NDArray[Any]
    positive: Any
    sample_weight: NDArray[np.float64] | None
    params: dict[str, Any]
    folds: list[Fold]

    def training_weights(self, train: NDArray[np.intp], ratio: float) -> NDArray[np.float64] | None:
        """Return the weights of training rows: positives times ``ratio``, scaled to an unchanged sum."""
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

    def reweight(self, most: int) -> list[CrossFit]:
        """Run iterations, each with the class weights that the measure asks for at the rates of the one before.

        The rates are out-of-fold, so an overfitted model does not inflate the level. Stop before ``most`` when the
        weights no longer change. Boosting gives several candidates per iteration: its scores after a tenth of its
        trees, after two tenths and so on.
        """
        found = self._iteration(1, 1.0, CostWeights(), None)
        for iteration in range(2, most + 1):
            before = max((one for one in found if one.iteration == iteration - 1), key=lambda one: one.best.value)
            rates = before.best.rates
            cost_weights = cost_weights_at(self.measure, rates)
            ratio = cost_weights.tempered_ratio(rates.prevalence)
            if any(abs(math.log(ratio / one.ratio)) < math.log(_SAME_WEIGHTS) for one in found):
                break
            found += self._iteration(iteration, ratio, cost_weights, before.models)
        return found

    def within_noise(self, candidates: list[CrossFit]) -> list[int]:
        """Return the best candidate and those that the validation rows cannot tell from it, best first.

        Values of boosting are means over neighbouring stages. Of the stages of an iteration that are within noise,
        the first, the middle and the last are returned: their mean vote varies less than that of one stage.
        """
        values = np.empty(len(candidates))
        for stages in _by_iteration(candidates, range(len(candidates))):
            own = np.array([candidates[k].best.value for k in stages])
            padded = np.pad(own, 1, mode="edge")
            values[stages] = own if own.size == 1 else (padded[:-2] + own + padded[2:]) / 3.0
        best = int(np.argmax(values))
        least = values[best] - noise_of(candidates[best].best, self.signed_weights, self.measure)
        kept = {best}
        for stages in _by_iteration(candidates, np.flatnonzero(values >= least)):
            kept |= {stages[0], stages[len(stages) // 2], stages[-1]}
        return sorted(kept, key=lambda k: -values[k])

    def decide(self, kept: list[CrossFit], groups: NDArray[np.intp] | None) -> Decision:
        """Return where the mean vote of these candidates is cut, and what is known of the rates there.

        A row that several folds hold out counts once, and the rows of a group as much as they are worth.
        """
        votes = np.mean([one.votes() for one in kept], axis=0)
        chosen = choose_threshold(0.5, votes, self.signed_weights, self.measure)
        rows, once = np.unique(self.validation_rows, return_index=True)
        weights = self.signed_weights[once]
        points = effective_points(weights) if groups is None else points_of_groups(weights, groups[rows])
        return decide(Scores(votes, self.signed_weights), self.measure, chosen.threshold, points)

    def members_of_folds(self, candidates: list[CrossFit], kept: list[int]) -> list[EnsembleMember]:
        """Return the models of the folds, each with the stages kept."""
        return [
            EnsembleMember(
                model, tuple(candidates[k].stage for k in stages), candidates[stages[0]].ratio, len(stages)
            )
            for stages in _by_iteration(candidates, kept)
            for model in candidates[stages[0]].models
        ]

    def member_of_all_rows(self, candidates: list[CrossFit], best: int, weight: int) -> EnsembleMember:
        """Fit one model to all rows, by the iterations that lead to the best candidate."""
        rows, last = self.rows, candidates[best]
        everything = np.arange(rows.y.size)
        path = {one.iteration: one for one in candidates if one.iteration < last.iteration} | {
            last.iteration: last
        }
        first = last.iteration
        while first > 1 and continues_from(path[first - 1].models[0], self.warm_start):
            first -= 1
        model = None
        for iteration in range(first, last.iteration + 1):
            weights = rows.training_weights(everything, path[iteration].ratio)
            model = self._fit(rows.X_binned, rows.y, weights, rows.params, previous=model)
        return EnsembleMember(model, (last.stage,), last.ratio, weight)

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
            best = choose_threshold(neutral, scores, self.signed_weights, self.measure)
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


def _by_iteration(candidates: list[CrossFit], which: Iterable[int]) -> list[list[int]]:
    """Return the places of these candidates, a list per iteration, in the order of their trees."""
    ordered = sorted(int(k) for k in which)
    return [list(group) for _, group in groupby(ordered, key=lambda k: candidates[k].iteration)]


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
    staged = candidates[0].stage.trees is not None
    return {
        "round": np.array([one.iteration for one in candidates]),
        **({"trees": np.array([one.stage.trees for one in candidates])} if staged else {}),
        "weight_positive": ratios * weight_negative,
        "weight_negative": weight_negative,
        **({"level": level} if np.isfinite(level).any() else {"alpha": alpha, "beta": beta}),
        "tpr": np.array([one.best.rates.tpr for one in candidates]),
        "tnr": np.array([one.best.rates.tnr for one in candidates]),
        "value": np.array([one.best.value for one in candidates]),
        "kept": np.isin(np.arange(len(candidates)), kept),
    }


def draws_own_folds(cv: Any) -> bool:
    """Return whether the folds are drawn here, not by a splitter of the user's."""
    return cv is None or (isinstance(cv, Integral) and not isinstance(cv, bool))


def make_folds(cv: Any, X: Any, y: NDArray[Any], groups: Any) -> list[Fold]:
    """Return the training and validation rows of each fold, with both classes among the training rows.

    Unless ``cv`` says otherwise, rows are shuffled, and those of one group are in one fold; without groups, equal
    rows.
    """
    if groups is not None:
        check_consistent_length(y, groups)
    if draws_own_folds(cv):
        splits = _own_folds(_FOLDS if cv is None else int(cv), X, y, groups)
    else:
        splits = check_cv(cv, y=y, classifier=True).split(X, y, groups)
    folds = [(np.asarray(train), np.asarray(held)) for train, held in splits]
    classes = np.unique(y)
    for number, (train, _) in enumerate(folds, start=1):
        missing = np.setdiff1d(classes, y[train]).tolist()
        if missing:
            raise ValueError(
                f"Fold {number} of {len(folds)} leaves no row of class {missing[0]!r} to learn from. Use fewer "
                "folds (cv=), or a splitter that stratifies."
            )
    if np.unique(y[np.concatenate([fold[1] for fold in folds])]).size < classes.size:
        raise ValueError(f"cv={cv!r} holds out rows of one class only: no threshold can be drawn by them.")
    return folds


def _own_folds(wanted: int, X: Any, y: NDArray[Any], groups: Any) -> Any:
    if wanted < 2:
        raise ValueError(f"cv must be 2 folds or more, a splitter or an iterable of splits; got {wanted!r}.")
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"There is only 1 row of class {labels[counts.argmin()].tolist()!r}: some must be there to "
            "learn from and some to hold out, so at least 2 of each class are needed."
        )
    wanted = min(wanted, int(counts.min()))
    if groups is not None:
        most = np.unique(np.asarray(groups)).size
        return StratifiedGroupKFold(min(wanted, most), shuffle=True, random_state=0).split(X, y, groups)
    numbers = _rows_as_numbers(X)
    fold_of_row = None
    if numbers is not None:
        fold_of_row = folds_of_rows(numbers, None, codes, wanted, np.random.default_rng(0)).fold_of_row
    if fold_of_row is None:
        return StratifiedKFold(wanted, shuffle=True, random_state=0).split(np.zeros(y.size), y)
    return PredefinedSplit(fold_of_row).split()


def _rows_as_numbers(X: Any) -> Any:
    """Return X as rows that can be hashed; None where that would be slow or is unknown."""
    if hasattr(X, "hash_rows"):  # polars
        return np.asarray(X.hash_rows())[:, None]
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:
        import pandas

        return pandas.util.hash_pandas_object(X, index=False).to_numpy()[:, None]
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        return None
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def weight_keyword(estimator: Any) -> str | None:
    """Return the argument by which ``fit`` takes sample weights; None if it takes none.

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
    """Return the name of a pipeline's step that changes the number of rows, as imbalanced-learn's do."""
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
    """Fit a copy of the base estimator to weighted rows; continue from the previous model where that pays."""
    model, more = _model_to_fit(estimator, previous, warm_start)
    arguments = params | more
    if weights is not None:
        arguments[str(weight_keyword(estimator))] = weights
    # The keyword names the step. Metadata requests concern what the user routes, not these weights.
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


def bin_columns(X: Any, estimator: Any) -> Any:
    """Return X with at most 255 values per column, in their own units, for histogram boosting; else X itself.

    HistGradientBoosting bins every column again in each fit, and with weights that takes scikit-learn 1.9 ten
    times as long as growing the trees (254 weighted percentiles per column). It uses columns with no more values
    than bins as they are. So the binning is done here, once for all folds and iterations. The models stay in the
    user's units, and score unbinned rows.
    """
    floats = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f" and X.shape[0] <= _MOST_BINNED_ROWS
    if not floats or not isinstance(estimator, HistGradientBoostingClassifier):
        return X
    if not isinstance(estimator.categorical_features, str | None):  # by dtype, and floats are not categorical
        return X
    binned = np.empty(X.shape, dtype=X.dtype, order="F")
    for column in range(X.shape[1]):
        binned[:, column] = _bin_values(np.ascontiguousarray(X[:, column]), estimator.max_bins)
    return binned


def _bin_values(values: NDArray[Any], bins: int) -> NDArray[Any]:
    """Return each value as the nearest of the means of equally full bins; NaN and infinity are unchanged.

    The nearest mean, not that of its own bin: boosting splits midway between two values, and an unbinned row must
    fall on the same side of a split as its binned copy.
    """
    finite = np.isfinite(values)
    known = values[finite]
    ordered = np.sort(known)
    if np.count_nonzero(ordered[1:] != ordered[:-1]) < bins:
        return values
    upper_ends = np.unique(ordered[np.arange(1, bins) * ordered.size // bins])
    bin_of = np.searchsorted(upper_ends, known)
    sizes, sums = np.bincount(bin_of), np.bincount(bin_of, weights=known)
    means = np.unique((sums[sizes > 0] / sizes[sizes > 0]).astype(values.dtype))
    midway = (means[1:].astype(np.float64) + means[:-1]) / 2.0
    binned = values.copy()
    binned[finite] = means[np.searchsorted(midway, known)]
    return binned
