"""MeasureClassifier: the scikit-learn face of the solvers."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..measures import ConstraintWarning, Measure, get_measure
from ..solvers import LinearModel, Solver, StreamPlan, get_solver
from ..streams import Stream, Survey, effective_points
from .from_stream import (
    Labels,
    Progress,
    learn_from,
    rows_in_memory,
    stream_plan,
    to_be_held_in_memory,
    windows_with_both_classes,
)
from .kept_constraints import constraint_sentence, constraints_met
from .online import OnlineFit
from .settings import Settings
from .stream_arguments import check_stream_arguments, require_once_enough
from .stream_memory import forget_stream, remember_stream, take_over
from .two_classes import Fitted, fit_two_classes
from .validation import (
    Columns,
    announced_classes,
    positive_label,
    require_same_classes,
    training_set,
    validate_rows,
)
from .weighing import require_both_classes, share_of_positives, with_mean_weight_one


def _solver_streams(classifier: MeasureClassifier) -> bool:
    try:
        solver = get_solver(classifier.solver, get_measure(classifier.measure))
    except ValueError:
        return True  # the call itself says what is wrong
    if not solver.streaming:
        raise AttributeError(
            f"partial_fit needs a solver that learns point by point; {type(solver).__name__} sees all rows at "
            "once. Use solver='auto'."
        )
    return True


class MeasureClassifier(ClassifierMixin, BaseEstimator):
    """A linear classifier trained for the measure you report.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What to maximise: a name from :func:`ratewise.measures.measure_names` or a measure of your own.
    solver : {"auto", "spade", "stamp", "amp"} or solver object, default="auto"
        "auto" takes SPADE for concave measures and STAMP for pseudo-linear ones.
    sharpen : {"auto"}, bool or Sharpen, default="auto"
        Whether to go on from the solver's model with a bounded reward, on the measure itself, and let rows held
        out choose between the stages. "auto" does so unless ``threshold="zero"``; False leaves the paper's plain
        algorithm. A :class:`~ratewise.solvers.Sharpen` sets its details. ``partial_fit`` never sharpens.
    threshold : {"tune", "zero"}, default="tune"
        "tune" moves the intercept to the best threshold; "zero" leaves the model where the solver put it.
    alpha : float, default=0.0
        L2 strength, on standardised columns, in each step of the solver and of sharpening. With the default, rows
        held out choose the number of passes, which does the same work, and on small data among penalised models
        too.
    validation_fraction : float or "auto", default="auto"
        With sharpening: the share of rows that each fold holds out, between 0 and 1/2. "auto" takes 1/5 on small
        data and 1/2 on large; where the rarer class has 50 points or more a column, all rows teach and choose.
    standardize : bool, default=True
        Bring columns to one scale before learning (and, with sharpening on many dense rows, turn them so that
        they do not repeat one another); ``coef_`` and ``intercept_`` are in your units all the same.
    pos_label : label, default=None
        The class whose rate is the TPR; ``classes_[1]`` unless given.
    random_state : int, RandomState or None
        Decides the order of the points. The same int gives the same model, bit for bit.
    warm_start : bool, default=False
        Begin from the coefficients of the fit before.
    low_memory : bool, default=False
        Learn from the rows where they lie, instead of from one float32 copy in random order: a fit takes a few
        times as long, and next to no memory above the data.
    n_jobs : int or None, default=None
        Folds and starts learned side by side, in threads; -1 for as many as there are cores. It pays on data small
        enough for folds; the outcome does not depend on it.
    verbose : int, default=0
        Above 0: a line to stderr at each checkpoint of the fit.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
    classes_ : array of shape (2,)
    feature_spread_ : array of shape (n_features,)
        What each column was divided by: a coefficient times it tells how much the column moves scores.
    rates_ : Rates
        (tpr, tnr, prevalence): with sharpening, of rows scored by models that have not seen them where rows are
        held out; otherwise of the training rows.
    constraints_met_ : bool
        Whether ``rates_`` keep the measure's constraints, if it has any, by their margins. ``fit`` warns where
        they do not (:class:`~ratewise.ConstraintWarning`).
    stages_ : tuple of str
        With sharpening: the stages whose mean the model is.
    history_ : dict of arrays
        One row a checkpoint: pass, points, seconds, tpr, tnr, value, and the dual pair or the challenge level;
        with sharpening also the run, one for each fold and start.
    measure_, solver_ : what the names stood for

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ratewise import MeasureClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = MeasureClassifier(measure="gmean", random_state=0).fit(X, y == 8)
    >>> classifier.score(X, y == 8) > 0.9
    True
    """

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        solver: str | Solver = "auto",
        sharpen: str | bool = "auto",
        threshold: str = "tune",
        alpha: float = 0.0,
        validation_fraction: float | str = "auto",
        standardize: bool = True,
        pos_label: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        low_memory: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.measure = measure
        self.solver = solver
        self.sharpen = sharpen
        self.threshold = threshold
        self.alpha = alpha
        self.validation_fraction = validation_fraction
        self.standardize = standardize
        self.pos_label = pos_label
        self.random_state = random_state
        self.warm_start = warm_start
        self.low_memory = low_memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and labels y; rows count ``sample_weight`` times."""
        settings = Settings.of(self)
        X, columns = Columns.of(X, self)
        rows = training_set(X, y, sample_weight, pos_label=self.pos_label)
        rows = with_mean_weight_one(rows)
        require_both_classes(rows)
        if self.warm_start and hasattr(self, "coef_") and columns.number != self.n_features_in_:
            raise ValueError(
                f"warm_start=True, but X has {columns.number} features and the fit before had "
                f"{self.n_features_in_}."
            )
        settings.solver.check(settings.measure, share_of_positives(rows))

        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        history = settings.new_history()
        before = self._model_before() if self.warm_start else None
        fitted = fit_two_classes(rows, settings, before, rng, history)

        forget_stream(self)
        columns.store_on(self)
        self.classes_, self.history_ = rows.classes, history.table()
        self._online: OnlineFit | None = None
        self._store(fitted, settings, effective_points(rows.signed_weights))
        self._warn_of_constraints(stacklevel=3)
        return self

    @available_if(_solver_streams)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, seen once; the first call must name all ``classes``."""
        settings = Settings.of(self)
        online = getattr(self, "_online", None)
        first = not hasattr(self, "classes_")
        if first:
            X, columns = Columns.of(X, self)
            known = announced_classes(classes, y)
        else:
            X = validate_rows(self, X, reset=False)
            columns = Columns(self.n_features_in_, getattr(self, "feature_names_in_", None))
            known = self.classes_
            require_same_classes(classes, known)
        rows = training_set(X, y, sample_weight, pos_label=self.pos_label, classes=known)

        fixed = (self.measure, self.solver, self.pos_label)
        if online is None:
            online = OnlineFit(settings, columns.number, self._model_before(), self.random_state, fixed)
        online.check(rows, settings, fixed)

        columns.store_on(self)
        self.classes_, self._online = known, online
        online.learn(rows)
        self.history_ = online.history.table()
        fitted, signed_weights = online.fitted(settings)
        self._store(fitted, settings, effective_points(signed_weights))
        return self

    def fit_stream(
        self,
        stream: Stream,
        passes: int | str = "auto",
        *,
        checkpoint: Any = None,
        checkpoint_every: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from a stream of rows that need not fit in memory; see :func:`ratewise.open_stream`.

        Besides the passes over the rows to learn from them, one surveys them, one takes statistics and one chooses
        the threshold. A stream that can be read only once is learned from as by ``partial_fit``; a solver that
        needs all rows at once (AMP) learns from a fair sample. ``warm_start`` has no say here.

        Parameters
        ----------
        stream : Stream
        passes : int or "auto"
            Passes to learn in.
        checkpoint : path, optional
            Where to keep work in progress. If the file is there, the fit goes on from it, to the same model bit
            for bit (given a ``random_state``). It is left in place when the fit is done.
        checkpoint_every : int, optional
            Rows between checkpoints; 20 million unless given, and after every pass.
        progress : function, optional
            Called after every window with a dict of stage, done_rows, total_rows and, while learning, tpr, tnr and
            value.
        """
        settings = Settings.of(self)
        check_stream_arguments(stream, passes, checkpoint_every)
        if not stream.repeatable:
            require_once_enough(settings.solver, checkpoint)
            return self._fit_stream_once(stream, progress)
        survey = stream.survey(progress)
        labels = Labels.of(survey, self.pos_label)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if to_be_held_in_memory(stream, survey, settings):
            X, y, weights = rows_in_memory(stream, labels, seed)
            take_over(self, clone(self).fit(X, y, sample_weight=weights))
        else:
            how = {"checkpoint": checkpoint, "checkpoint_every": checkpoint_every, "progress": progress}
            self._fit_windows(stream, survey, labels, settings, stream_plan(settings, passes, seed), how)
        remember_stream(self, stream, survey)
        return self

    def _fit_windows(
        self,
        stream: Stream,
        survey: Survey,
        labels: Labels,
        settings: Settings,
        plan: StreamPlan,
        how: dict[str, Any],
    ) -> None:
        positives = float(survey.label_counts[labels.positive])
        settings.solver.check(settings.measure, positives / survey.rows)
        result, history = learn_from(stream, survey, labels, plan, settings.new_history(), **how)
        self.n_features_in_ = len(stream.feature_names)
        self.classes_, self.history_ = labels.classes, history.table()
        self._online = None
        self._store(Fitted(*result), settings, (positives, survey.rows - positives))
        self._warn_of_constraints(stacklevel=4)

    def _fit_stream_once(self, stream: Stream, progress: Progress | None) -> Self:
        fitted, rows = clone(self), 0
        for classes, window in windows_with_both_classes(stream.windows()):
            fitted.partial_fit(window.X, window.labels, classes=classes, sample_weight=window.weights)
            rows += window.X.shape[0]
            if progress is not None:
                value = float(fitted.measure_.value(*fitted.rates_))
                told = {"tpr": fitted.rates_.tpr, "tnr": fitted.rates_.tnr, "value": value}
                progress({"stage": "learning", "done_rows": rows, "total_rows": stream.n_rows} | told)
        take_over(self, fitted)
        remember_stream(self, stream, None)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Signed scores: above 0 for ``classes_[1]``."""
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False)
        scores: NDArray[np.float64] = np.asarray(X @ self.coef_[0]) + self.intercept_[0]
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        above = self.decision_function(X) > 0
        predicted: NDArray[Any] = self.classes_[above.astype(np.intp)]
        return predicted

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The measure itself, of the predictions for X against y."""
        predicted = self.predict(X)
        positive = positive_label(self.classes_, self.pos_label)
        return self.measure_.score(y, predicted, sample_weight=sample_weight, pos_label=positive)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _model_before(self) -> LinearModel | None:
        """The model of the fit before, if there was one; its scores speak for the positive class."""
        if not hasattr(self, "coef_"):
            return None
        sign = self._positive_sign()
        return LinearModel(sign * self.coef_[0], sign * float(self.intercept_[0]))

    def _store(self, fitted: Fitted, settings: Settings, points: tuple[float, float]) -> None:
        """Keep what a fit came to; ``points`` are those of each class that its rates were seen on."""
        coef, intercept = fitted.in_user_units()
        sign = self._positive_sign()
        self.measure_, self.solver_ = settings.measure, settings.solver
        self.coef_ = sign * coef[np.newaxis, :]
        self.intercept_ = np.array([sign * intercept])
        self.feature_spread_ = fitted.units.scale
        self.rates_, self.stages_ = fitted.rates, fitted.stages
        self.constraints_met_ = constraints_met(settings.measure, fitted.rates, points)

    def _warn_of_constraints(self, stacklevel: int) -> None:
        if not self.constraints_met_:
            sentence = constraint_sentence(self.measure_, self.rates_)
            warnings.warn(sentence, ConstraintWarning, stacklevel=stacklevel)

    def _positive_sign(self) -> float:
        """Scores speak for the positive class, scikit-learn's decision function for ``classes_[1]``."""
        return 1.0 if positive_label(self.classes_, self.pos_label) == self.classes_[1] else -1.0
