"""MeasureMaximizer: any classifier with sample weights, trained for the measure you report."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names, _check_n_features, _num_samples, check_is_fitted

from ..decisions.certify import relative_groups
from ..decisions.scores import Sensitive
from ..decisions.sensitive import checked_sensitive, require_rates, require_sensitive
from ..measures import Measure, at_prevalence, get_measure
from ._boosters import (
    FEW_ROWS,
    MANY_ROWS,
    Booster,
    bin_columns,
    booster_of,
    default_boosting,
    prepared,
    require_usable,
)
from ._contributions import explain_votes
from ._crossfit import (
    CrossFit,
    CrossFitRows,
    CrossFitter,
    history_table,
)
from ._ensemble import EnsembleMember, additive_log_odds, weighted_mean
from ._explain import Explanation
from ._fits import check_prevalence, constraints_met, warn_of_constraints
from ._folds import draws_own_folds, make_folds
from ._maximizer_checks import check_maximizer, number_of_rounds, require_rows_to_learn, rows_checked_once
from ._maximizer_classes import class_cross_fit, mean_probabilities
from ._notebook import NotebookCard
from ._row_order import warn_of_ordered_rows
from ._sensitive import GroupedPrediction
from ._stack import AdditiveRows
from ._targets import (
    fitted_positive,
    is_multiclass,
    labels_to_score,
    positive_code,
    positive_label,
    two_class_targets,
)
from ._weighted_table import WeightedTable
from .decision_rule import DecisionRule

_DEFAULT_FOLDS = 3  # for boosting without an estimator of the user's: more folds take longer and are no better


def _base_estimator_has_probabilities(maximizer: MeasureMaximizer) -> bool:
    models = getattr(maximizer, "estimators_", None)
    base = models[0] if models else maximizer._base()
    getattr(base, "predict_proba")  # noqa: B009 - raises the base estimator's own message if it has none
    return True


class MeasureMaximizer(GroupedPrediction, NotebookCard, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Train any classifier that takes sample weights for the measure you report.

    ``MeasureMaximizer(measure="f1")`` combines gradient boosting with curves of the columns. On a table in memory
    nothing else in this library reaches higher values.

    With a classifier of your own it replaces
    :class:`~sklearn.model_selection.TunedThresholdClassifierCV`.

    LightGBM, XGBoost, CatBoost and ``HistGradientBoosting``, alone or at the end of a pipeline, are fitted once
    per fold. Limited leaves keep them from overshooting where positives are rare. The out-of-fold value of the
    measure after each tenth of the trees decides how many trees are used. From 20,000 rows on, 1.5 times as many
    trees are grown.

    An additive model is fitted to the same rows: logistic regressions on the columns and on curves of them. A
    logistic regression combines the out-of-fold log odds of both into a *stack*. The stack replaces boosting
    alone, unless the out-of-fold value of boosting alone is higher by more than half a standard error.

    Other classifiers are fitted once per fold and reweighting iteration. The out-of-fold rates give the class
    weights of the next iteration: AMP's weights at the level reached for pseudo-linear measures, the dual pair for
    concave ones.

    The candidates (stages, iterations) with the best out-of-fold values are kept. Their models form an ensemble.
    The threshold of its mean vote is the mean of all thresholds whose value is within noise of the best.

    With more than two classes, or costs per row, plain and weighted models are fitted once per fold. The weights
    balance the classes; with costs they are what is at stake in each row, or its square root. A
    :class:`~ratewise.DecisionRule` turns the out-of-fold probabilities into decisions.

    Parameters
    ----------
    estimator : classifier, default=None
        The base estimator, with ``decision_function`` or ``predict_proba``. Its ``fit`` must take
        ``sample_weight`` (that of the last step, if it is a pipeline), unless ``rounds=1``. None means
        ``HistGradientBoostingClassifier`` with settings that suit the number of rows. Up to 8,000 rows: 40 trees
        of 15 leaves on 3 folds, or 80 trees if the last of the 40 still lower the log loss clearly. More rows: 100
        trees of 31 leaves.
    measure : str or Measure, default="f1"
        What to maximize: a name from :func:`ratewise.measures.measure_names`, a Measure, or a function of
        the two rates.
    rounds : int or "auto", default="auto"
        The largest number of reweighting iterations. The first has equal class weights. Each fits one model per
        fold. "auto" is 1 for boosting, where more trees help as much as other class weights do, and 2 otherwise.
    cv : int, splitter or iterable, default=None
        The folds. None means 5, or 3 without an estimator, stratified and shuffled. If ``cv`` is None or a number,
        the folds keep the rows of a group together if ``fit`` gets ``groups``; otherwise they keep copies of a row
        together. For rows in the order of time, use :class:`~sklearn.model_selection.TimeSeriesSplit`: then
        ``rates_`` are those of later rows. A warning says so if the labels or a column drift along the rows.
    ensemble : bool, default=True
        Whether to average the votes of the models of all folds (and of all iterations kept). This gives better
        values than one model fitted again to all rows and takes no longer to fit, but up to ``rounds`` models per
        fold must be kept and evaluated. With fewer than 20,000 rows the ensemble also has one model of all rows,
        except for boosting. False keeps only one model of all rows, with the class weights of the best iteration
        and the number of trees of the best stage.
    stack : "auto" or bool, default="auto"
        Whether boosting is combined with an additive model in each fold. "auto" does so unless the out-of-fold
        value of boosting alone is higher by more than half a standard error. It uses boosting alone if X cannot be
        turned into columns of finite numbers (tables are encoded as by ``MeasureClassifier(encode="auto")``), or
        has more than 1,000 dense columns. True always stacks, or raises an error that says why it cannot.
    warm_start : "auto" or bool, default="auto"
        Whether an iteration continues from the models of the iteration before. "auto" does so for linear models
        and neural networks, where it saves time, and for ``HistGradientBoosting`` if early stopping did not end
        the previous fit (it then grows up to ``max_iter`` more trees). True does so wherever it is possible: with
        any ``HistGradientBoosting``, and by ``init_model`` or ``xgb_model``.
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
        With ``ensemble=False``: the only member.
    threshold_ : float
        The threshold of the mean vote. It is near 1/2, because each member votes 1/2 at its own threshold.
    rates_ : Rates
        (tpr, tnr, prevalence) of out-of-fold predictions, corrected for the effect of averaging.
    rates_interval_ : RatesInterval
        (tpr, tnr, value, confidence): intervals for the rates and the measure on new rows.
    constraints_met_ : bool or None
        Whether the bounds of the measure hold on new rows with its confidence; ``fit`` warns if that cannot be
        promised. None without bounds.
    groups_, group_thresholds_ : arrays
        With bounds on groups: the groups of ``sensitive_features``, and the threshold of each group, relative to
        ``threshold_``.
    rates_by_group_, rates_interval_by_group_ : dict
        With ``sensitive_features``: Rates and RatesInterval of each group.
    stacked_ : bool
        Whether the members are stacks of boosting and an additive model.
    feature_importances_ : array
        The mean of the members' importances, if they have any; for a stack, those of boosting.
    rule_ : DecisionRule or None
        With more than two classes, or costs per row: the rule that turns mean probabilities into decisions.
    history_ : dict of arrays
        One row per candidate: with ``rule_`` its weights ("plain", "balanced", "both"; with costs "plain", "root
        of costs", "costs", "all"), value and whether it was kept. Otherwise round, trees and stacked (boosting),
        weight_positive and weight_negative (of a row), level or the dual pair (alpha, beta) that these come from,
        out-of-fold tpr, tnr and value, and whether it was kept.
    classes_ : array of shape (n_classes,)
    measure_ : the measure that ``measure`` names
    n_features_in_, feature_names_in_ : as the estimator has them

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from ratewise import MeasureMaximizer
    >>> X, y = load_digits(return_X_y=True)
    >>> maximizer = MeasureMaximizer(measure="gmean").fit(X[:1200], y[:1200] == 8)
    >>> maximizer.score(X[1200:], y[1200:] == 8) > 0.85
    True
    >>> boosting = HistGradientBoostingClassifier(max_iter=10, random_state=0)
    >>> maximizer = MeasureMaximizer(boosting, measure="gmean", stack=False, cv=3).fit(X[:1200], y[:1200] == 8)
    >>> maximizer.stacked_
    False
    """

    rule_: DecisionRule | None = None
    _members: list[Any]

    # Group splitters request groups by default, and so does an estimator that passes groups to them.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self,
        estimator: Any = None,
        measure: str | Measure = "f1",
        *,
        rounds: int | str = "auto",
        cv: Any = None,
        ensemble: bool = True,
        stack: bool | str = "auto",
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
        self.stack = stack
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
        sensitive_features: Any = None,
        costs: Any = None,
        **params: Any,
    ) -> Self:
        """Fit to rows X and labels y.

        A row counts ``sample_weight`` times. The folds keep rows with the same entry in ``groups`` together.
        ``target_prevalence`` is the share of positives where the model will be used; the measure is maximized for
        that share.
        ``sensitive_features`` is the group of each row (sex, region, ...) for bounds per group such as
        ``Constrained("f1", tpr_gap=0.05)``; the estimator does not learn from it.
        ``costs``, with ``measure="cost"``, have the form that :meth:`ratewise.DecisionRule.fit` takes.
        ``params`` are passed to the estimator's ``fit``; arrays as long as y are split with the folds.
        """
        check_maximizer(self, self._base(), weighted=sample_weight is not None)
        if costs is not None or is_multiclass(y):
            if sensitive_features is not None:
                raise ValueError("sensitive_features are for two classes, without costs; leave them out.")
            return self._fit_classes(X, y, sample_weight, groups, target_prevalence, costs, params)
        reported = get_measure(self.measure)
        check_prevalence(target_prevalence)
        require_sensitive(reported, sensitive_features is not None)
        if sensitive_features is not None and target_prevalence is not None:
            raise ValueError("target_prevalence is for all rows: it cannot be given with sensitive_features.")
        measure = reported if target_prevalence is None else at_prevalence(reported, float(target_prevalence))
        require_rows_to_learn(self, X)
        require_usable(self._base(), params)
        (X,) = indexable(X)
        targets = two_class_targets(y, _num_samples(X), sample_weight)
        sensitive = checked_sensitive(sensitive_features, _num_samples(X))
        table = WeightedTable.of(X, targets.y, targets.weights, groups, self._cv(), params)
        if sensitive is not None:
            sensitive = sensitive._replace(codes=table.of_rows(sensitive.codes))
        fitter = self._cross_fitter(table, targets.classes, measure, sensitive)
        require_rates(measure, sensitive, np.where(targets.y == fitter.rows.positive, 1.0, -1.0))
        candidates = fitter.reweight(self._rounds())
        stacks = fitter.stack(candidates)
        candidates = stacks if self.stack is True else candidates + stacks
        kept = fitter.within_noise(candidates)[: None if self.ensemble else 1]
        members = self._members_of(fitter, candidates, kept)
        decision = fitter.decide(candidates, kept, members)
        self._store(members, X)
        self.rule_ = None
        self.stacked_ = candidates[kept[0]].stacked
        self.measure_, self.classes_ = reported, targets.classes
        self._positive_code = positive_code(targets.classes, self.pos_label)
        self.threshold_, self.rates_, self.rates_interval_ = decision.threshold, decision.rates, decision.interval
        self.history_ = history_table(candidates, kept, decision.rates.prevalence)
        if target_prevalence is not None:
            self.rates_ = self.rates_._replace(prevalence=float(target_prevalence))
        self.constraints_met_ = constraints_met(reported, decision.message)
        self._store_groups(relative_groups(decision), reported)
        warn_of_constraints(decision.message, stacklevel=2)
        if draws_own_folds(self.cv):
            warn_of_ordered_rows(table.X, table.y, positive_label(targets.classes, self.pos_label), stacklevel=2)
        return self

    def _fit_classes(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        target_prevalence: float | None,
        costs: Any,
        params: dict[str, Any],
    ) -> Self:
        """Fit models of the folds and a decision rule for their probabilities: many classes, or costs per row."""
        if target_prevalence is not None:
            raise ValueError("target_prevalence is for two classes and a measure; leave it out.")
        if self.stack is True:
            raise ValueError("stack=True is for two classes, without costs; leave it at 'auto'.")
        require_rows_to_learn(self, X)
        require_usable(self._base(), params)
        (X,) = indexable(X)
        rule = DecisionRule(self.measure, pos_label=self.pos_label)
        base = self._base(_num_samples(X))
        rows = class_cross_fit(base, rule, X, y, sample_weight, groups, costs, params, self._cv(), self.n_jobs)
        found = rows.fit(weighted=self.rounds != 1, ensemble=self.ensemble)
        self._store(found.members, X)
        self._store_groups(None, found.rule.measure_)
        self.stacked_ = False
        self.rule_, self.history_, self.classes_ = found.rule, found.history, rows.classes
        for name in ("measure_", "threshold_", "rates_", "rates_interval_", "constraints_met_"):
            setattr(self, name, getattr(found.rule, name))
        warn_of_constraints(found.message, stacklevel=3)
        if draws_own_folds(self.cv):
            warn_of_ordered_rows(X, rows.y, rows.classes[-1], stacklevel=3)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the mean vote minus the threshold, between -1 and 1: above 0 for ``classes_[1]``.

        With more than two classes, return the expected gain of predicting each class.
        """
        with rows_checked_once(self, X):
            if self.rule_ is not None:
                return self.rule_.decision_function(mean_probabilities(self._members, X))
            positive = fitted_positive(self)
            added = additive_log_odds(self._members, X)
            votes = [one.votes(X, positive, mine) for one, mine in zip(self._members, added, strict=True)]
        above = weighted_mean(votes, self._members) - self.threshold_
        return above if positive == self.classes_[1] else -above

    def predict(self, X: Any, sensitive_features: Any = None, *, costs: Any = None) -> NDArray[Any]:
        """Return the class of each row.

        ``sensitive_features``, the group of each row, is needed if each group has its own threshold. ``costs`` of
        these rows are needed if ``fit`` had costs.
        """
        check_is_fitted(self)
        if self.rule_ is not None:
            with rows_checked_once(self, X):
                found: NDArray[Any] = self.rule_.predict(mean_probabilities(self._members, X), costs=costs)
            return found
        if costs is not None:
            raise ValueError("The model was fitted without costs: leave costs= out.")
        above = self._above_threshold(X, sensitive_features)
        # A vote equal to the threshold is not above it, whichever class is positive.
        second = above > 0 if self._sign > 0 else above >= 0
        predicted: NDArray[Any] = self.classes_[second.astype(np.intp)]
        return predicted

    @property
    def _sign(self) -> float:
        return 1.0 if fitted_positive(self) == self.classes_[1] else -1.0

    def _above_threshold(self, X: Any, sensitive_features: Any) -> NDArray[np.float64]:
        """Return the decision function, minus the threshold of each row's group if groups have thresholds."""
        above = self.decision_function(X)
        return above - self._sign * self._row_thresholds(sensitive_features, above.shape[0])

    @available_if(_base_estimator_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return mean class probabilities, corrected for the class weights; ``predict`` does not use them."""
        with rows_checked_once(self, X):
            if self.rule_ is not None:
                return mean_probabilities(self._members, X, corrected=True)
            positive = fitted_positive(self)
            added = additive_log_odds(self._members, X)
            found = [one.probabilities(X, positive, mine) for one, mine in zip(self._members, added, strict=True)]
        means = weighted_mean(found, self._members)
        return np.column_stack([means if label == positive else 1.0 - means for label in self.classes_])

    def explain(self, X: Any) -> Explanation:
        """Return what each column of X adds to the score of the positive class, for boosting and the stack.

        The contributions of a row sum to its score, the mean vote minus the threshold; above 0 the positive class
        is predicted. The additive model contributes the values of its curves. LightGBM, XGBoost and CatBoost
        contribute their SHAP values, and ``HistGradientBoosting`` the steps on each row's path through the trees.
        If a pipeline changes the columns, boosting is a single term with the name of the booster. Contributions
        are in log odds at first; one factor per row and model converts them to votes.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> import numpy as np
        >>> from ratewise import MeasureMaximizer
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> maximizer = MeasureMaximizer(measure="f1", cv=2).fit(X, y)
        >>> found = maximizer.explain(X[:5])
        >>> bool(np.allclose(found.scores, maximizer.decision_function(X[:5])))
        True
        """
        with rows_checked_once(self, X):
            if self.rule_ is not None:
                raise ValueError("explain is for two classes, without costs.")
            X = X if hasattr(X, "shape") else np.asarray(X)
            return explain_votes(self._members, X, fitted_positive(self), self.threshold_)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The weighted mean of the members' importances, where the importances of each member sum to 1."""
        check_is_fitted(self)
        found = []
        for member in self._members:
            model = member.model[-1] if isinstance(member.model, Pipeline) else member.model
            importances = np.asarray(model.feature_importances_, dtype=np.float64)
            found.append(importances / max(float(importances.sum()), 1e-300))
        return weighted_mean(found, self._members)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, sensitive_features: Any = None, *, costs: Any = None
    ) -> float:
        """Return the measure of the predictions for X against y, or minus the mean of their ``costs``."""
        check_is_fitted(self)
        if self.rule_ is not None:
            with rows_checked_once(self, X):
                probabilities = mean_probabilities(self._members, X)
            return float(self.rule_.score(probabilities, y, sample_weight, costs=costs))
        predicted = self.predict(X) if sensitive_features is None else self.predict(X, sensitive_features)
        y = labels_to_score(y, predicted.shape[0], self.classes_)
        positive = fitted_positive(self)
        return self.measure_.score(y, predicted, sample_weight=sample_weight, pos_label=positive)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(self._base())
        tags.classifier_tags.multi_class = hasattr(self._base(), "predict_proba")
        tags.input_tags.sparse = base.input_tags.sparse
        tags.input_tags.allow_nan = base.input_tags.allow_nan
        return tags

    def _cross_fitter(
        self,
        table: WeightedTable,
        classes: NDArray[Any],
        measure: Measure,
        sensitive: Sensitive | None,
    ) -> CrossFitter:
        """Return the object that fits the base estimator to the folds; boosting gets settings for an ensemble."""
        X, y, weights, positive = table.X, table.y, table.weights, positive_label(classes, self.pos_label)
        folds, numbers = make_folds(table.cv, X, y, table.groups)
        base, booster = self._base(y.size), self._booster()
        estimator = base if booster is None else prepared(base, booster, y.size)
        X_binned = bin_columns(X, base) if self._rounds() > 1 else X
        rows = CrossFitRows(X, X_binned, y, positive, weights, table.params, folds, numbers, sensitive)
        additive = None if booster is None else self._additive_rows(X, y == positive, weights)
        how = self.response_method, self.warm_start, self.n_jobs
        may_grow = self.estimator is None and booster is not None and y.size <= FEW_ROWS
        return CrossFitter(estimator, rows, measure, *how, additive, may_grow and self._rounds() == 1)

    def _additive_rows(
        self, X: Any, positive: NDArray[np.bool_], sample_weight: NDArray[np.float64] | None
    ) -> AdditiveRows | None:
        """Return the rows for the additive member, or None if there is none: see ``stack``."""
        if self.stack is False:
            return None
        try:
            return AdditiveRows.of(X, positive, sample_weight)
        except ValueError as error:
            if self.stack == "auto":
                return None
            raise ValueError(f"stack=True is not possible: X {error}. Set stack='auto' or False.") from error

    def _base(self, rows: int = 0) -> Any:
        """Return the base estimator; if there is none, boosting with settings for this number of rows."""
        return default_boosting(rows) if self.estimator is None else self.estimator

    def _cv(self) -> Any:
        return _DEFAULT_FOLDS if self.cv is None and self.estimator is None else self.cv

    def _booster(self) -> Booster | None:
        """Return the boosting library if stages of boosting are the candidates."""
        return booster_of(self._base()) if self.response_method == "auto" else None

    def _members_of(
        self, fitter: CrossFitter, candidates: list[CrossFit], kept: list[int]
    ) -> list[EnsembleMember]:
        members = fitter.members_of_folds(candidates, kept) if self.ensemble else []
        few_rows = fitter.rows.y.size < MANY_ROWS and not fitter.staged
        if few_rows or not members:
            # This model weighs as much as all models of the folds: their errors average out, but it has all rows.
            weight = sum(member.weight for member in members)
            members.append(fitter.member_of_all_rows(candidates, kept[0], weight=max(weight, 1)))
        return members

    def _rounds(self) -> int:
        return number_of_rounds(self.rounds, self._base())

    def _store(self, members: list[Any], X: Any) -> None:
        self._members = members
        self.estimators_ = [member.model for member in members]
        for name in ("n_features_in_", "feature_names_in_", "estimator_"):
            self.__dict__.pop(name, None)
        if not self.ensemble:
            self.estimator_ = self.estimators_[0]
        _check_feature_names(self, X, reset=True)
        _check_n_features(self, X, reset=True)
