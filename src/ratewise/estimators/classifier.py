"""MeasureClassifier: the scikit-learn face of the solvers."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..measures import ConstraintWarning, Measure, Rates, get_measure
from ..solvers import (
    MANY_ROWS,
    History,
    LinearModel,
    Sharpen,
    Solver,
    StreamingRun,
    StreamPlan,
    Task,
    best_threshold,
    constraint_slack,
    effective_points,
    get_solver,
    rates_at,
    sharpen_and_select,
    solve_with_care,
)
from ..streams import (
    NOTHING_SEEN,
    ArrayStream,
    Reservoir,
    Standardizer,
    Stream,
    Summary,
    Survey,
    Units,
    Whitener,
    class_weights,
    summarize,
)
from .from_stream import (
    Labels,
    Progress,
    fits_in_memory,
    learn_from,
    rows_in_memory,
    windows_with_both_classes,
)
from .validation import (
    Columns,
    TrainingSet,
    announced_classes,
    positive_label,
    training_set,
    validate_rows,
)

_RESERVOIR_ROWS = 2000  # of each class
# Turning the columns pays where they are few, and where rows are many enough to tell signal from noise in all.
_WHITENED_COLUMNS = 256
_WHITENED_ROWS = 50_000


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
        measure, solver = self._checked_parameters()
        X, columns = Columns.of(X, self)
        rows = training_set(X, y, sample_weight, pos_label=self.pos_label)
        rows = _with_mean_weight_one(rows)
        _require_both_classes(rows)
        if self.warm_start and hasattr(self, "coef_") and columns.number != self.n_features_in_:
            raise ValueError(
                f"warm_start=True, but X has {columns.number} features and the fit before had "
                f"{self.n_features_in_}."
            )
        solver.check(measure, _share_of_positives(rows))

        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        history = History(verbose=bool(self.verbose))
        fit = self._fit_sharpened if self._sharpens() else self._fit_plain
        fitted = fit(rows, measure, solver, rng, history)

        self._forget_stream()
        columns.store_on(self)
        self.measure_, self.solver_, self.classes_ = measure, solver, rows.classes
        self.history_ = history.table()
        self._online: _OnlineFit | None = None
        self._store(fitted)
        self._check_constraints(effective_points(rows.signed_weights))
        self._warn_of_constraints(stacklevel=3)
        return self

    def _fit_plain(
        self, rows: TrainingSet, measure: Measure, solver: Solver, rng: np.random.Generator, history: History
    ) -> _Fitted:
        """The paper's algorithm, and the best threshold on the training scores."""
        units = Standardizer(rows.X.shape[1], active=self.standardize).update(rows.X)
        stream = ArrayStream(rows.X, rows.signed_weights, units, rng, low_memory=bool(self.low_memory))
        initial = self._initial_model(units) if self.warm_start else None
        task = Task(measure, stream.n_features, stream.dtype, l2=self.alpha, initial=initial, history=history)
        model = solve_with_care(solver, task, stream)
        threshold, rates = self._choose_threshold(stream.scores(*model), stream.signed_weights, measure)
        return _Fitted(units, model, threshold, rates, ())

    def _fit_sharpened(
        self, rows: TrainingSet, measure: Measure, solver: Solver, rng: np.random.Generator, history: History
    ) -> _Fitted:
        """A start, sharpening, and the choice between stages by rows held out."""
        n_features = rows.X.shape[1]
        standardizer = Standardizer(n_features, active=self.standardize).update(rows.X)
        whitened = (
            self.standardize
            and not sparse.issparse(rows.X)
            and rows.X.shape[0] >= _WHITENED_ROWS
            and n_features <= _WHITENED_COLUMNS
        )
        units = Whitener(standardizer, rows.X, rng) if whitened else standardizer
        stream = ArrayStream(rows.X, rows.signed_weights, units, rng, low_memory=bool(self.low_memory))
        selected = sharpen_and_select(
            stream,
            measure,
            None if self.solver == "auto" else solver,
            self._sharpen_settings(),
            whitened=whitened,
            initial=self._initial_model(units) if self.warm_start else None,
            l2=self.alpha,
            held_out_share=None if self.validation_fraction == "auto" else float(self.validation_fraction),
            rng=rng,
            history=history,
            threads=effective_n_jobs(self.n_jobs),
        )
        return _Fitted(units, selected.model, selected.threshold, selected.rates, selected.stages)

    @available_if(_solver_streams)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, seen once; the first call must name all ``classes``."""
        measure, solver = self._checked_parameters()
        online = getattr(self, "_online", None)
        first = not hasattr(self, "classes_")
        if first:
            X, columns = Columns.of(X, self)
            known = announced_classes(classes, y)
        else:
            X = validate_rows(self, X, reset=False)
            columns = Columns(self.n_features_in_, getattr(self, "feature_names_in_", None))
            known = self.classes_
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
                raise ValueError(
                    f"classes={np.unique(np.asarray(classes)).tolist()} differ from those of the first call, "
                    f"{known.tolist()}."
                )
        rows = training_set(X, y, sample_weight, pos_label=self.pos_label, classes=known)

        if online is None:
            online = _OnlineFit.begin(self, measure, solver, columns.number)
        online.check(self, rows, measure, solver)

        columns.store_on(self)
        self.measure_, self.solver_, self.classes_ = measure, solver, known
        self._online = online
        online.learn(rows)
        self.history_ = online.history.table()
        sample, signed_weights = online.reservoir.sample()
        model = online.run.model()
        coef, intercept = online.standardizer.to_user_units(*model)
        scores = np.asarray(sample @ coef) + intercept
        threshold, rates = self._choose_threshold(scores, signed_weights, measure)
        self._store(_Fitted(online.standardizer, model, threshold, rates, ()))
        self._check_constraints(effective_points(signed_weights))
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
        measure, solver = self._checked_parameters()
        if passes != "auto" and (not isinstance(passes, Integral) or isinstance(passes, bool) or passes < 1):
            raise ValueError(f"passes must be 'auto' or a whole number above 0; got {passes!r}.")
        if not hasattr(stream, "windows"):
            raise TypeError(
                f"fit_stream takes what open_stream returns; got {type(stream).__name__}. Rows in memory: fit."
            )
        if checkpoint_every is not None and (not isinstance(checkpoint_every, Integral) or checkpoint_every < 1):
            raise ValueError(f"checkpoint_every must be a whole number above 0; got {checkpoint_every!r}.")
        if not stream.repeatable:
            self._require_once_enough(solver, checkpoint)
            return self._fit_stream_once(stream, progress)
        survey = stream.survey(progress)
        labels = Labels.of(survey, self.pos_label)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        small = self._sharpens() and survey.rows < MANY_ROWS and fits_in_memory(stream, survey)
        if small or not solver.streaming:
            X, y, weights = rows_in_memory(stream, labels, seed)
            self._become(clone(self).fit(X, y, sample_weight=weights))
        else:
            self._fit_windows(
                stream,
                survey,
                labels,
                StreamPlan(
                    measure,
                    None if self._sharpens() and self.solver == "auto" else solver,
                    self._sharpen_settings() if self._sharpens() else None,
                    None if passes == "auto" else int(passes),
                    self.threshold == "tune",
                    self.standardize,
                    _WHITENED_ROWS,
                    _WHITENED_COLUMNS,
                    float(self.alpha),
                    seed,
                ),
                solver,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                progress=progress,
            )
        self._remember_stream(stream, survey)
        return self

    def _fit_windows(
        self, stream: Stream, survey: Survey, labels: Labels, plan: StreamPlan, solver: Solver, **how: Any
    ) -> None:
        solver.check(plan.measure, survey.label_counts[labels.positive] / survey.rows)
        history = History(verbose=bool(self.verbose))
        result, history = learn_from(stream, survey, labels, plan, history, **how)
        self.n_features_in_ = len(stream.feature_names)
        self.measure_, self.solver_, self.classes_ = plan.measure, solver, labels.classes
        self.history_ = history.table()
        self._online = None
        self._store(_Fitted(*result))
        positives = float(survey.label_counts[labels.positive])
        self._check_constraints((positives, survey.rows - positives))
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
        self._become(fitted)
        self._remember_stream(stream, None)
        return self

    def _require_once_enough(self, solver: Solver, checkpoint: Any) -> None:
        if not solver.streaming:
            raise ValueError(
                f"{solver.label} needs all rows at once, and this stream can be read once only. Use solver='auto'."
            )
        if checkpoint is not None:
            raise ValueError(
                "A stream that can be read once only cannot be gone on with: leave out checkpoint=, or give the "
                "rows as files or as a list of batches."
            )

    def _become(self, fitted: MeasureClassifier) -> None:
        """Take over what a clone has learned, and leave the parameters as they are."""
        parameters = self.get_params(deep=False)
        self.__dict__.update({name: value for name, value in vars(fitted).items() if name not in parameters})

    def _remember_stream(self, stream: Stream, survey: Survey | None) -> None:
        """What a model needs to read other files as it read these."""
        self._forget_stream()
        self.encoder_ = stream.encoder
        self.target_ = getattr(stream, "target", None)
        if survey is not None:
            self.survey_ = survey
        if stream.encoder.named:
            self.feature_names_in_ = np.array(stream.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _forget_stream(self) -> None:
        for name in ("encoder_", "target_", "survey_"):
            self.__dict__.pop(name, None)

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

    def _checked_parameters(self) -> tuple[Measure, Solver]:
        measure = get_measure(self.measure)
        solver = get_solver(self.solver, measure)
        if self.threshold not in ("tune", "zero"):
            raise ValueError(f"threshold must be 'tune' or 'zero'; got {self.threshold!r}.")
        if not isinstance(self.sharpen, (bool, Sharpen)) and self.sharpen != "auto":
            raise ValueError(f"sharpen must be 'auto', True, False or a Sharpen; got {self.sharpen!r}.")
        if self.threshold == "zero" and self.sharpen not in ("auto", False):
            raise ValueError(
                "threshold='zero' needs sharpen=False: sharpening ends with the choice of a threshold."
            )
        if not isinstance(self.alpha, Real) or not 0 <= self.alpha < np.inf:
            raise ValueError(f"alpha must be a finite number of 0 or more; got {self.alpha!r}.")
        fraction = self.validation_fraction
        if fraction != "auto" and not (isinstance(fraction, Real) and 0 < fraction <= 0.5):
            raise ValueError(f"validation_fraction must be 'auto' or above 0 and at most 0.5; got {fraction!r}.")
        return measure, solver

    def _sharpens(self) -> bool:
        return self.threshold == "tune" if self.sharpen == "auto" else bool(self.sharpen)

    def _sharpen_settings(self) -> Sharpen:
        return self.sharpen if isinstance(self.sharpen, Sharpen) else Sharpen()

    def _choose_threshold(
        self, scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure
    ) -> tuple[float, Rates]:
        if self.threshold == "zero":
            return 0.0, rates_at(scores, signed_weights)
        best = best_threshold(scores, signed_weights, measure)
        return best.threshold, best.rates

    def _initial_model(self, units: Units) -> LinearModel | None:
        if not hasattr(self, "coef_"):
            return None
        sign = self._positive_sign()
        return LinearModel(*units.to_standard_units(sign * self.coef_[0], sign * float(self.intercept_[0])))

    def _store(self, fitted: _Fitted) -> None:
        coef, intercept = fitted.units.to_user_units(*fitted.model)
        sign = self._positive_sign()
        self.coef_ = sign * coef[np.newaxis, :]
        self.intercept_ = np.array([sign * (intercept - fitted.threshold)])
        self.feature_spread_ = fitted.units.scale
        self.rates_ = fitted.rates
        self.stages_ = fitted.stages

    def _check_constraints(self, points: tuple[float, float]) -> None:
        slack = constraint_slack(self.measure_, *self.rates_, points)
        self.constraints_met_ = bool(slack > -1e-6)  # rates of a mean of folds are rounded

    def _warn_of_constraints(self, stacklevel: int) -> None:
        if not self.constraints_met_:
            sentence = _constraint_sentence(self.measure_, self.rates_)
            warnings.warn(sentence, ConstraintWarning, stacklevel=stacklevel)

    def _positive_sign(self) -> float:
        """Scores speak for the positive class, scikit-learn's decision function for ``classes_[1]``."""
        return 1.0 if positive_label(self.classes_, self.pos_label) == self.classes_[1] else -1.0


class _Fitted(NamedTuple):
    """What a fit came to, in the units it was made in."""

    units: Units
    model: LinearModel
    threshold: float
    rates: Rates
    stages: tuple[str, ...]


class _OnlineFit:
    """What ``partial_fit`` keeps from call to call: bounded, and picklable."""

    def __init__(
        self, classifier: MeasureClassifier, run: StreamingRun, standardizer: Standardizer, history: History
    ):
        self.run = run
        self.standardizer = standardizer
        self.history = history
        self._rng = np.random.default_rng(check_random_state(classifier.random_state).randint(2**31 - 1))
        self.reservoir = Reservoir(_RESERVOIR_ROWS, self._rng)
        self._seen: Summary = NOTHING_SEEN
        self._settings = (classifier.measure, classifier.solver, classifier.pos_label)
        self._sparse: bool | None = None

    @classmethod
    def begin(cls, classifier: MeasureClassifier, measure: Measure, solver: Solver, n_features: int) -> _OnlineFit:
        standardizer = Standardizer(n_features, active=classifier.standardize)
        history = History(verbose=bool(classifier.verbose))
        initial = classifier._initial_model(standardizer)
        task = Task(
            measure, n_features, np.dtype(np.float32), l2=classifier.alpha, initial=initial, history=history
        )
        run = solver.start(task)
        assert isinstance(run, StreamingRun)  # partial_fit is there for streaming solvers only
        return cls(classifier, run, standardizer, history)

    def check(self, classifier: MeasureClassifier, rows: TrainingSet, measure: Measure, solver: Solver) -> None:
        """Refuse what the fit so far cannot go on with, before anything is changed."""
        seen = self._seen.merge(summarize(rows.X, rows.signed_weights))
        solver.check(measure, seen.prevalence)
        settings = (classifier.measure, classifier.solver, classifier.pos_label)
        if settings != self._settings:
            raise ValueError(
                "measure, solver and pos_label cannot change between calls of partial_fit: they were "
                f"{self._settings} and are {settings} now. Begin anew with a clone of the classifier."
            )

    def learn(self, rows: TrainingSet) -> None:
        X = self._in_the_first_form(rows.X)
        self._refresh_units(X)
        stream = ArrayStream(X, rows.signed_weights, self.standardizer, self._rng)
        self._seen = self._seen.merge(stream.summary)
        self.run.begin_pass()
        self.run.feed(stream, stream.n_points, self._seen)
        self.reservoir.add(X, rows.signed_weights)

    def _in_the_first_form(self, X: Any) -> Any:
        """Dense or CSR as the first rows were: the two are scaled differently."""
        if self._sparse is None:
            self._sparse = sparse.issparse(X)
        if self._sparse:
            return sparse.csr_matrix(X)
        return X.toarray() if sparse.issparse(X) else X

    def _refresh_units(self, X: Any) -> None:
        """Take the rows into the column statistics, and re-express what was learned in the new units."""
        before = self.standardizer.snapshot()
        after = self.standardizer.update(X)
        self.run.change_units(lambda weights, b: after.to_standard_units(*before.to_user_units(weights, b)))


def _with_mean_weight_one(rows: TrainingSet) -> TrainingSet:
    total = float(np.abs(rows.signed_weights).sum(dtype=np.float64))
    if total == 0:
        raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from.")
    if total == rows.signed_weights.size:
        return rows
    return rows._replace(signed_weights=rows.signed_weights * (rows.signed_weights.size / total))


def _constraint_sentence(measure: Measure, rates: Rates) -> str:
    tpr, tnr, p = rates
    called = p * tpr + (1.0 - p) * (1.0 - tnr)
    precision = f"{p * tpr / called:.3g}" if called > 0 else "not defined"
    wanted = " and ".join(
        f"{constraint.label} (by {constraint.margin:g} standard errors)" for constraint in measure.constraints(p)
    )
    return (
        f"{measure.label}: no threshold worth having keeps {wanted}. On new rows expect a TPR of {tpr:.3g}, a TNR "
        f"of {tnr:.4g} and a precision of {precision}. Ask for less, or give the model more rows or columns."
    )


def _share_of_positives(rows: TrainingSet) -> float:
    positive, negative = class_weights(rows.signed_weights)
    return positive / (positive + negative)


def _require_both_classes(rows: TrainingSet) -> None:
    if rows.signed_weights.min() >= 0 or rows.signed_weights.max() <= 0:
        raise ValueError("All rows of one class have sample_weight 0: a classifier needs rows of both classes.")
