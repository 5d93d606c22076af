"""MeasureMaximizer: any classifier with sample weights, trained for the measure you report."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..measures import Measure, at_prevalence, get_measure
from ._boosters import MANY_ROWS, booster_of, prepared
from ._crossfit import (
    CrossFit,
    CrossFitRows,
    CrossFitter,
    bin_columns,
    draws_own_folds,
    history_table,
    make_folds,
    resampling_step,
    weight_keyword,
)
from ._ensemble import EnsembleMember, weighted_mean
from ._fits import check_prevalence, warn_of_constraints
from ._notebook import NotebookCard
from ._row_order import warn_of_ordered_rows
from ._targets import TwoClassTargets, group_numbers, positive_label, two_class_targets

_RESPONSES = ("auto", "decision_function", "predict_proba")


def _base_estimator_has_probabilities(maximizer: MeasureMaximizer) -> bool:
    models = getattr(maximizer, "estimators_", None)
    base = models[0] if models else maximizer.estimator
    getattr(base, "predict_proba")  # noqa: B009 - raises the base estimator's own message if it has none
    return True


class MeasureMaximizer(NotebookCard, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Train any classifier that takes sample weights for the measure you report.

    Where the data are not linear, wrap it around gradient boosting (or any other classifier) in place of
    :class:`~sklearn.model_selection.TunedThresholdClassifierCV`.

    LightGBM, XGBoost, CatBoost and ``HistGradientBoosting``, alone or at the end of a pipeline, are fitted once
    per fold, with leaves that cannot overshoot where positives are rare. The out-of-fold value of the measure
    after each tenth of the trees says how many of them are used. From 20,000 rows on half as many trees again are
    grown.

    Other classifiers are fitted once per fold and reweighting iteration. The out-of-fold rates give the class
    weights of the next iteration: AMP's weights at the level reached for pseudo-linear measures, the dual pair for
    concave ones.

    The candidates (stages, iterations) with the best out-of-fold values are kept. Their models form an ensemble,
    and the threshold of its mean vote is the mean of those within noise of the best.

    Parameters
    ----------
    estimator : classifier
        The base estimator, with ``decision_function`` or ``predict_proba``. Its ``fit`` must take
        ``sample_weight`` (that of the last step, if it is a pipeline), unless ``rounds=1``.
    measure : str or Measure, default="f1"
        What to maximise: a name from :func:`ratewise.measures.measure_names`, a Measure, or a function of
        the two rates.
    rounds : int or "auto", default="auto"
        The largest number of reweighting iterations. The first has equal class weights. Each fits one model per
        fold. "auto" is 1 for boosting, where more trees do as much as other class weights, and 2 for others.
    cv : int, splitter or iterable, default=None
        The folds; None for 5, stratified and shuffled. A number of folds keeps the rows of a group together if
        ``groups`` are given to ``fit``, and else equal rows. For rows in the order of time,
        :class:`~sklearn.model_selection.TimeSeriesSplit` tells the rates of later rows; a warning says so where
        the labels or a column drift along the rows.
    ensemble : bool, default=True
        Average the votes of the models of all folds (and of all iterations kept). This is better than one model
        fitted again to all rows and takes no longer to fit, but there are up to ``rounds`` models per fold to keep
        and to evaluate. With fewer than 20,000 rows one model of all rows joins them, unless it is boosting. False
        keeps only that one, with the class weights of the best iteration and the trees of the best stage.
    warm_start : "auto" or bool, default="auto"
        Whether an iteration continues from the models of the iteration before. "auto" does so for linear models
        and neural networks, where it saves time, and for ``HistGradientBoosting`` if early stopping had not yet
        ended the fit before (it then grows up to ``max_iter`` trees more). True does so wherever it is possible:
        with any ``HistGradientBoosting``, and by ``init_model`` or ``xgb_model``.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        The scores that the threshold applies to; "auto" takes the first that the estimator has, and log odds after
        each tenth of the trees for boosting. With any other value boosting is treated like other classifiers.
    pos_label : label, default=None
        The class whose rate is the TPR; ``classes_[1]`` unless given.
    n_jobs : int, default=None
        The number of folds fitted at the same time, by joblib.

    Attributes
    ----------
    estimators_ : list of classifiers
        The members of the ensemble.
    estimator_ : classifier
        With ``ensemble=False``: the only one.
    threshold_ : float
        Of the mean vote: 1/2 or near it, since every member's vote is 1/2 at its iteration's own threshold.
    rates_ : Rates
        (tpr, tnr, prevalence) of out-of-fold predictions.
    rates_interval_ : RatesInterval
        (tpr, tnr, value, confidence): between what the rates and the measure lie on new rows.
    constraints_met_ : bool
        Whether the bounds of the measure hold on new rows with its confidence; a warning says where they do not.
    feature_importances_ : array
        The mean of the members' importances, where they have them.
    history_ : dict of arrays
        One row per candidate: round, trees (of boosting), weight_positive and weight_negative (of a row), level or
        the dual pair (alpha, beta) that these come from, out-of-fold tpr, tnr and value, and whether it was kept.
    classes_ : array of shape (2,)
    measure_ : the Measure that ``measure`` names
    n_features_in_, feature_names_in_ : as the estimator has them

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from ratewise import MeasureMaximizer
    >>> X, y = load_digits(return_X_y=True)
    >>> boosting = HistGradientBoostingClassifier(max_iter=10, random_state=0)
    >>> maximizer = MeasureMaximizer(boosting, measure="gmean", cv=3).fit(X[:1200], y[:1200] == 8)
    >>> maximizer.score(X[1200:], y[1200:] == 8) > 0.85
    True
    """

    # Group splitters request groups by default, and so does an estimator that passes groups to them.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self,
        estimator: Any,
        measure: str | Measure = "f1",
        *,
        rounds: int | str = "auto",
        cv: Any = None,
        ensemble: bool = True,
        warm_start: bool | str = "auto",
        response_method: str = "auto",
        pos_label: Any = None,
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.measure = measure
        self.rounds = rounds
        self.cv = cv
        self.ensemble = ensemble
        self.warm_start = warm_start
        self.response_method = response_method
        self.pos_label = pos_label
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        target_prevalence: float | None = None,
        **params: Any,
    ) -> Self:
        """Fit to rows X and labels y.

        Rows count ``sample_weight`` times. The folds keep rows of one group together. The measure is maximised at
        ``target_prevalence``, the share of positives to expect where the model will be used, if it is given.
        ``params`` go to the estimator's ``fit``; those as long as y are cut to its rows.
        """
        reported = self._checked_parameters(sample_weight)
        check_prevalence(target_prevalence)
        measure = reported if target_prevalence is None else at_prevalence(reported, float(target_prevalence))
        (X,) = indexable(X)
        targets = two_class_targets(y, _num_samples(X), sample_weight)
        numbers = group_numbers(groups, targets.y.size)
        fitter = self._cross_fitter(X, targets, groups, measure, params)
        candidates = fitter.reweight(self._rounds())
        kept = fitter.within_noise(candidates)[: None if self.ensemble else 1]
        members = self._members_of(fitter, candidates, kept)
        decision = fitter.decide([candidates[k] for k in kept], numbers)
        self._store(members)
        self.measure_, self.classes_ = reported, targets.classes
        self.threshold_, self.rates_, self.rates_interval_ = decision.threshold, decision.rates, decision.interval
        self.history_ = history_table(candidates, kept, decision.rates.prevalence)
        if target_prevalence is not None:
            self.rates_ = self.rates_._replace(prevalence=float(target_prevalence))
        self.constraints_met_ = decision.message is None
        warn_of_constraints(decision.message, stacklevel=2)
        if draws_own_folds(self.cv):
            warn_of_ordered_rows(X, targets.y, positive_label(targets.classes, self.pos_label), stacklevel=2)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the mean vote less the threshold, between -1 and 1: above 0 for ``classes_[1]``."""
        check_is_fitted(self)
        positive = positive_label(self.classes_, self.pos_label)
        votes = [member.votes(X, positive) for member in self._members]
        above = weighted_mean(votes, self._members) - self.threshold_
        return above if positive == self.classes_[1] else -above

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        above = self.decision_function(X)
        # A vote at the threshold itself is not above it, whichever class is the positive one.
        second = above > 0 if positive_label(self.classes_, self.pos_label) == self.classes_[1] else above >= 0
        predicted: NDArray[Any] = self.classes_[second.astype(np.intp)]
        return predicted

    @available_if(_base_estimator_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return mean class probabilities, corrected for the class weights; ``predict`` does not use them."""
        check_is_fitted(self)
        positive = positive_label(self.classes_, self.pos_label)
        means = weighted_mean([member.probabilities(X, positive) for member in self._members], self._members)
        return np.column_stack([means if label == positive else 1.0 - means for label in self.classes_])

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The importances that the members have, each scaled to the sum 1: their mean by the members' weights."""
        check_is_fitted(self)
        found = []
        for member in self._members:
            model = member.model[-1] if isinstance(member.model, Pipeline) else member.model
            importances = np.asarray(model.feature_importances_, dtype=np.float64)
            found.append(importances / max(float(importances.sum()), 1e-300))
        return weighted_mean(found, self._members)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure of the predictions for X against y."""
        predicted = self.predict(X)
        positive = positive_label(self.classes_, self.pos_label)
        return self.measure_.score(y, predicted, sample_weight=sample_weight, pos_label=positive)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(self.estimator)
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = base.input_tags.sparse
        tags.input_tags.allow_nan = base.input_tags.allow_nan
        return tags

    def _cross_fitter(
        self, X: Any, targets: TwoClassTargets, groups: Any, measure: Measure, params: dict[str, Any]
    ) -> CrossFitter:
        """Return what fits the base estimator to the folds; boosting with the settings that suit an ensemble."""
        positive = positive_label(targets.classes, self.pos_label)
        folds = make_folds(self.cv, X, targets.y, groups)
        booster = booster_of(self.estimator) if self.response_method == "auto" else None
        estimator = self.estimator if booster is None else prepared(self.estimator, booster, targets.y.size)
        X_binned = bin_columns(X, self.estimator) if self._rounds() > 1 else X
        rows = CrossFitRows(X, X_binned, targets.y, positive, targets.weights, params, folds)
        return CrossFitter(estimator, rows, measure, self.response_method, self.warm_start, self.n_jobs)

    def _members_of(
        self, fitter: CrossFitter, candidates: list[CrossFit], kept: list[int]
    ) -> list[EnsembleMember]:
        members = fitter.members_of_folds(candidates, kept) if self.ensemble else []
        few_rows = fitter.rows.y.size < MANY_ROWS and not fitter.staged
        if few_rows or not members:
            # It has the weight of all models of the folds: their errors average out, but it learns from all rows.
            weight = sum(member.weight for member in members)
            members.append(fitter.member_of_all_rows(candidates, kept[0], weight=max(weight, 1)))
        return members

    def _rounds(self) -> int:
        if isinstance(self.rounds, str):
            return 1 if booster_of(self.estimator) is not None else 2
        return int(self.rounds)

    def _checked_parameters(self, sample_weight: Any) -> Measure:
        measure = get_measure(self.measure)
        whole = isinstance(self.rounds, Integral) and not isinstance(self.rounds, bool) and self.rounds >= 1
        if self.rounds != "auto" and not whole:
            raise ValueError(f"rounds must be 'auto' or a whole number of 1 or more; got {self.rounds!r}.")
        if self.response_method not in _RESPONSES:
            raise ValueError(
                f"response_method must be one of {', '.join(_RESPONSES)}; got {self.response_method!r}."
            )
        if not isinstance(self.warm_start, bool) and self.warm_start != "auto":
            raise ValueError(f"warm_start must be 'auto', True or False; got {self.warm_start!r}.")
        if not hasattr(self.estimator, "fit"):
            raise ValueError(
                f"estimator must be a classifier, such as LogisticRegression(); got {self.estimator!r}."
            )
        if (self._rounds() > 1 or sample_weight is not None) and weight_keyword(self.estimator) is None:
            way_out = "set rounds=1, which only cuts where it is best" if sample_weight is None else "give none"
            raise ValueError(
                f"{type(self.estimator).__name__} takes no sample_weight in fit, so its rows cannot be weighed. "
                f"Choose a classifier that does, or {way_out}."
            )
        resampling = resampling_step(self.estimator)
        if resampling is not None and (self._rounds() > 1 or sample_weight is not None):
            raise ValueError(
                f"The step {resampling!r} of the pipeline resamples rows, so that there would be more or fewer "
                "rows than sample weights. Leave the step out: the class weights and the threshold do its work. "
                "Or set rounds=1 and give no sample_weight: then only the threshold is chosen."
            )
        return measure

    def _store(self, members: list[EnsembleMember]) -> None:
        self._members = members
        self.estimators_ = [member.model for member in members]
        first = self.estimators_[0]
        attributes = {name: getattr(first, name, None) for name in ("n_features_in_", "feature_names_in_")}
        attributes["estimator_"] = None if self.ensemble else first
        for name, value in attributes.items():
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)
