"""MeasureMaximizer: any classifier with sample weights, trained for the measure you report."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..measures import Measure, get_measure
from ._validation import positive_label, two_class_targets
from .coarse import coarse_rows
from .crossfit import CrossFitter, Round, Rows, threshold_near
from .folds import make_folds
from .inner import fitted, goes_on, weight_keyword
from .rounds import history_table, indistinguishable, play_rounds
from .voters import Voter, mean_probability, mean_vote, voters_of

# With fewer, what the folds hold out is missed by their models.
_FEW_ROWS = 20_000
_RESPONSES = ("auto", "decision_function", "predict_proba")


def _inner_has_probabilities(maximizer: MeasureMaximizer) -> bool:
    fitted_ones = getattr(maximizer, "estimators_", None)
    inner = fitted_ones[0] if fitted_ones else maximizer.estimator
    getattr(inner, "predict_proba")  # noqa: B009 - the inner estimator's own words if it has none
    return True


class MeasureMaximizer(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Any classifier that takes sample weights, trained for the measure you report.

    Where the data are not linear, wrap it around gradient boosting (or any other classifier) in place of
    :class:`~sklearn.model_selection.TunedThresholdClassifierCV`. In each round a model a fold is fitted; the rows
    held out say what the measure is and so how much a positive row is to weigh in the next round: AMP's valuation
    at the level reached for pseudo-linear measures, the dual pair for concave ones. The rounds that do best on
    rows held out are kept, their models vote, and the threshold is the middle of those that do best on such votes.

    Parameters
    ----------
    estimator : classifier
        With ``decision_function`` or ``predict_proba``. Its ``fit`` must take ``sample_weight`` (that of the last
        step, if it is a pipeline), unless ``rounds=1``.
    measure : str or Measure, default="f1"
        What to maximise: a name from :func:`ratewise.measures.measure_names`, a Measure, or a function of
        the two rates.
    rounds : int, default=2
        At most so many weightings, the first of them with the rows as they are. Each costs a fit for every fold.
    cv : int, splitter or iterable, default=None
        The folds; None for 5, stratified, and by group if ``groups`` are given to ``fit``.
    ensemble : bool, default=True
        Let the models of all folds (and of the rounds kept) vote: better than one model fitted again on all rows,
        and no dearer to fit; but there are up to ``rounds`` times as many models as folds to keep and to ask. With
        fewer than 20,000 rows one model of all rows joins them. False keeps only that one, with the weights of the
        best round.
    warm_start : "auto" or bool, default="auto"
        Whether a round goes on from the models of the round before. "auto" does so for linear models and neural
        networks, which it saves time, and for ``HistGradientBoosting`` where early stopping had not yet ended the
        fit before (it then grows up to ``max_iter`` trees more). True does so wherever it can be done: with any
        ``HistGradientBoosting``, and by ``init_model`` or ``xgb_model``.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What of the estimator is cut by the threshold; "auto" takes the first it has.
    pos_label : label, default=None
        The class whose rate is the TPR; ``classes_[1]`` unless given.
    n_jobs : int, default=None
        Folds fitted at the same time, by joblib.

    Attributes
    ----------
    estimators_ : list of classifiers
        Those that vote.
    estimator_ : classifier
        With ``ensemble=False``: the only one.
    threshold_ : float
        Of the mean vote: 1/2 or near it, since every model's vote is 1/2 at its round's own threshold.
    rates_ : Rates
        (tpr, tnr, prevalence) of rows held out.
    history_ : dict of arrays
        One row a round: round, weight_positive and weight_negative (of a row), level or the dual pair (alpha,
        beta) that these came from, tpr, tnr and value of rows held out, and whether the round was kept.
    classes_ : array of shape (2,)
    measure_ : what the name stood for
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

    # Group splitters ask for groups by default, and so does what hands groups to them.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self,
        estimator: Any,
        measure: str | Measure = "f1",
        *,
        rounds: int = 2,
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **params: Any) -> Self:
        """Learn from rows X and labels y.

        Rows count ``sample_weight`` times; rows of one group are never parted between the folds. ``params`` go to
        the estimator's ``fit``, those as long as y cut to its rows.
        """
        measure = self._checked_parameters(sample_weight)
        (X,) = indexable(X)
        targets = two_class_targets(y, _num_samples(X), sample_weight)
        positive = positive_label(targets.classes, self.pos_label)
        folds = make_folds(self.cv, X, targets.y, groups)
        X_learned = coarse_rows(X, self.estimator) if self.rounds > 1 else X
        rows = Rows(X, X_learned, targets.y, positive, targets.weights, params, folds)
        fitter = CrossFitter(
            self.estimator,
            rows,
            measure,
            response_method=self.response_method,
            warm_start=self.warm_start,
            n_jobs=self.n_jobs,
        )
        rounds, valuations = play_rounds(fitter, measure, self.rounds)
        kept = indistinguishable(rounds, fitter.signed_weights, measure) if self.ensemble else [_best(rounds)]
        votes = np.mean([rounds[k].votes() for k in kept], axis=0)
        best = threshold_near(0.5, votes, fitter.signed_weights, measure)

        voters = voters_of(rounds, kept) if self.ensemble else []
        if not voters or targets.y.size < _FEW_ROWS:
            # It votes as much as all models of the folds: they know each other's mistakes, it knows all the rows.
            voters.append(self._voter_of_all_rows(fitter, rounds[: _best(rounds) + 1], say=max(len(voters), 1)))
        self._store(voters)
        self.measure_, self.classes_ = measure, targets.classes
        self.threshold_, self.rates_ = best.threshold, best.rates
        self.history_ = history_table(rounds, valuations, kept, best.rates.prevalence)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The mean vote less the threshold, between -1 and 1: above 0 for ``classes_[1]``."""
        check_is_fitted(self)
        positive = positive_label(self.classes_, self.pos_label)
        above = mean_vote(self._voters, X, positive) - self.threshold_
        return above if positive == self.classes_[1] else -above

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        above = self.decision_function(X)
        # A vote at the threshold itself is not above it, whichever class is the positive one.
        second = above > 0 if positive_label(self.classes_, self.pos_label) == self.classes_[1] else above >= 0
        predicted: NDArray[Any] = self.classes_[second.astype(np.intp)]
        return predicted

    @available_if(_inner_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Mean probabilities of the classes, the weights of the rounds undone; ``predict`` does not cut these."""
        check_is_fitted(self)
        positive = positive_label(self.classes_, self.pos_label)
        means = mean_probability(self._voters, X, positive)
        columns = [means if label == positive else 1.0 - means for label in self.classes_]
        return np.column_stack(columns)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The measure itself, of the predictions for X against y."""
        predicted = self.predict(X)
        positive = positive_label(self.classes_, self.pos_label)
        return self.measure_.score(y, predicted, sample_weight=sample_weight, pos_label=positive)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    def _checked_parameters(self, sample_weight: Any) -> Measure:
        measure = get_measure(self.measure)
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, Integral) or self.rounds < 1:
            raise ValueError(f"rounds must be a whole number of 1 or more; got {self.rounds!r}.")
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
        if (self.rounds > 1 or sample_weight is not None) and weight_keyword(self.estimator) is None:
            way_out = (
                "give none" if sample_weight is not None else "set rounds=1, which only cuts where it is best"
            )
            raise ValueError(
                f"{type(self.estimator).__name__} takes no sample_weight in fit, so its rows cannot be weighed. "
                f"Choose a classifier that does, or {way_out}."
            )
        return measure

    def _voter_of_all_rows(self, fitter: CrossFitter, rounds: list[Round], say: int) -> Voter:
        """One model of all rows, by the same way through the rounds as those of the folds."""
        rows, last = fitter.rows, rounds[-1]
        everything = np.arange(rows.y.size)
        model = None
        afresh = [k for k, one in enumerate(rounds[:-1], 1) if not goes_on(one.models[0], self.warm_start)]
        for one in rounds[max(afresh, default=0) :]:
            weights = rows.learning_weights(everything, one.ratio)
            model = fitted(
                self.estimator,
                rows.X_learned,
                rows.y,
                weights,
                rows.params,
                previous=model,
                warm_start=self.warm_start,
            )
        return Voter(model, last.ballot, last.ratio, say)

    def _store(self, voters: list[Voter]) -> None:
        self._voters = voters
        self.estimators_ = [one.model for one in voters]
        first = self.estimators_[0]
        attributes = {name: getattr(first, name, None) for name in ("n_features_in_", "feature_names_in_")}
        attributes["estimator_"] = None if self.ensemble else first
        for name, value in attributes.items():
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)


def _best(rounds: list[Round]) -> int:
    return int(np.argmax([one.best.value for one in rounds]))
