"""MeasureClassifier: the scikit-learn face of the solvers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ..measures import Measure, get_measure
from ..solvers import Solver, get_solver
from ..solvers.base import History
from ..training import FitConfig
from ._fits import (
    Coefficients,
    FitOptions,
    Fitted,
    fit_config,
    fit_task,
    one_blas_thread,
    threads_of,
    warn_of_constraints,
)
from ._notebook import NotebookCard
from ._online import OnlineClassifier
from ._prediction import LinearPrediction
from ._rows import CheckedRows, Columns, validate_rows
from ._streams import STREAM_ATTRIBUTES, StreamFitting
from ._targets import announced_classes, is_indicator, require_same_classes


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


class MeasureClassifier(LinearPrediction, StreamFitting, NotebookCard, ClassifierMixin, BaseEstimator):
    """A linear classifier trained for the measure you report.

    Of two classes, of more (then for the macro average of the measure, each class against the rest, the highest
    score wins), or of several labels that a row may have (an indicator matrix; one model per label).

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What to maximise: a name from :func:`ratewise.measures.measure_names` or a measure of your own.
    solver : {"auto", "spade", "stamp", "amp"} or solver object, default="auto"
        "auto" takes SPADE for concave measures and STAMP for pseudo-linear ones; with sharpening it starts from
        logistic regression, whose class weights suit the measure.
    sharpen : {"auto"}, bool or Sharpen, default="auto"
        Whether to go on from the solver's model with a bounded reward, on the measure itself, and let validation
        rows choose between the stages. "auto" does so unless ``threshold="zero"``; False leaves the paper's plain
        algorithm. A :class:`~ratewise.solvers.Sharpen` sets its details. ``partial_fit`` never sharpens. With
        more than two classes sharpening is of all classes at once, from multinomial logistic regression or from
        the solver you name; without it, each class has a run of the solver, and the highest log odds win.
    threshold : {"tune", "zero"}, default="tune"
        "tune" moves the intercept to the best threshold; "zero" leaves the model where the solver put it.
    alpha : float, default=0.0
        L2 strength, on standardised columns, in each step of the solver and of sharpening. With the default,
        validation rows choose the number of passes, which does the same work, and on small data among penalized
        models too.
    validation_fraction : float or "auto", default="auto"
        With sharpening: the share of rows that validate each fold, between 0 and 1/2. "auto" takes 1/5 on small
        data and 1/2 on large; there, if the rarer class has 50 points or more per column, all rows both train and
        choose.
    standardize : bool, default=True
        Bring columns to one scale before learning (and, with sharpening on many dense rows, whiten them);
        ``coef_`` and ``intercept_`` are of your columns all the same.
    pos_label : label, default=None
        The class whose rate is the TPR; ``classes_[1]`` unless given. For two classes.
    random_state : int, RandomState or None
        Decides the order of the points. The same int gives the same model, bit for bit.
    warm_start : bool, default=False
        Begin from the coefficients of the fit before.
    encode : {"auto"} or None, default=None
        "auto" takes tables of pandas, polars and Arrow as they are, in ``fit``, ``partial_fit``, ``predict``,
        ``decision_function`` and ``score``: text and categories are one-hot encoded (hashed beyond 256 values),
        booleans become 0 and 1, dates and times seconds, and the mean of the column stands in for a missing
        number, as in files. ``partial_fit`` learns the encoding from its first rows. None takes numbers only.
    low_memory : bool, default=False
        Learn from the rows where they lie, instead of from one float32 copy in random order: a fit takes a few
        times as long, and next to no memory above the data.
    n_jobs : int or None, default=None
        Folds, starts, classes or labels learned side by side, in threads; -1 for as many as there are cores. It
        pays on data small enough for folds, and with many classes; the outcome does not depend on it.
    verbose : int, default=0
        Above 0: a line to stderr at each checkpoint of the fit.

    Attributes
    ----------
    coef_ : array of shape (1, n_features), or (n_classes, n_features)
        ``get_feature_names_out`` says what each coefficient is of.
    intercept_ : array of shape (1,), or (n_classes,)
    classes_ : array of the classes, or the numbers of the labels
    multilabel_ : bool
        Whether the fit was to an indicator matrix.
    feature_spread_ : array of shape (n_features,)
        What each column was divided by: a coefficient times it tells how much the column moves scores.
    rates_ : Rates
        (tpr, tnr, prevalence): with sharpening, of out-of-fold scores where there are folds, moved by what the
        model differs from those of the folds; otherwise of the training rows. With more than two classes or with
        labels, a list of them.
    rates_interval_ : RatesInterval
        (tpr, tnr, value, confidence): between what the rates and the measure lie on new rows, with 95% or the
        confidence of the measure's bounds. With more than two classes or with labels, a list of them.
    constraints_met_ : bool
        Whether the measure's bounds, if it has any, hold on new rows with the confidence it states. ``fit`` warns
        with numbers where that cannot be promised (:class:`~ratewise.ConstraintWarning`). After ``partial_fit``
        it is no promise, because the rows it goes by were learned from.
    calibration_ : array of shape (n_models, 2 + 2 * n_knots)
        The curve from scores to log odds behind ``predict_proba``, one per row of ``coef_``
        (:class:`~ratewise.solvers.calibrate.Calibration`): slope, log odds at the cut, and up to 15 knots, each
        with the gain of the slope there.
    decision_threshold_ : float, or an array with one per label
        The probability at which ``predict`` changes its mind; not for more than two classes.
    stages_ : tuple of str
        With sharpening: the stages whose mean the model is.
    n_features_in_ : int
    feature_names_in_ : array of str, of a table
        Its columns as they were given; of a model from files, the columns they were encoded into.
    encoder_ : Encoder
        How tables and files become numbers: with ``encode="auto"``, and of a model from files.
    history_ : dict of arrays
        One row per checkpoint: pass, points, seconds, tpr, tnr, value, and the dual pair or the challenge level;
        with sharpening also the run, one for each fold and start. With many classes the rates are their means,
        and the value the macro average, of validation rows; without sharpening a column names the class.
    measure_ : Measure
        What the name stood for.
    solver_ : Solver
        What made the model: the start of the best stage with sharpening, the solver itself without. With many
        classes sharpening starts from a ``MultinomialLogistic`` unless a solver is named.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ratewise import MeasureClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = MeasureClassifier(measure="gmean", random_state=0).fit(X, y == 8)
    >>> classifier.score(X, y == 8) > 0.9
    True
    """

    # Group splitters ask for groups by default, and so does what hands groups to them.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

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
        encode: str | None = None,
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
        self.encode = encode
        self.low_memory = low_memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        target_prevalence: float | None = None,
        groups: Any = None,
    ) -> Self:
        """Learn from rows X and labels y.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
        y : array of shape (n_rows,), or indicator matrix of shape (n_rows, n_labels)
            Two classes, or more; or, dense or sparse, a column of 0 and 1 for each label that a row may have.
        sample_weight : array of shape (n_rows,), optional
            Rows count so many times.
        target_prevalence : float, optional
            The share of positives where the model is to be used, if it is another than here: the measure is
            maximised as it will be there. For two classes.
        groups : array of shape (n_rows,), optional
            Rows of one group are never parted between the inner folds.
        """
        settings = fit_config(self, threads=threads_of(self.n_jobs))
        checked, columns = Columns.of(X, self, occupied_only=not self.warm_start)
        options = FitOptions(settings, bool(self.low_memory), self.pos_label, groups)
        task = fit_task(checked, y, sample_weight, options, target_prevalence)
        before = self._models_before(checked.X.shape[1], task.n_models) if self.warm_start else None
        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        history = History(verbose=bool(self.verbose))
        with one_blas_thread():
            fitted = task.learn(before, rng, history)
        fitted = fitted._replace(result=fitted.result.widened(checked.occupied, columns.width))

        for name in STREAM_ATTRIBUTES:
            self.__dict__.pop(name, None)
        columns.store_on(self)
        if columns.encoder is not None:
            self.target_ = y.name if isinstance(getattr(y, "name", None), str) else None
        self.history_ = history.table()
        self._online = None
        self._store(fitted, settings)
        warn_of_constraints(fitted.message, stacklevel=2)
        return self

    @available_if(_solver_streams)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, seen once; the first call must name all ``classes``."""
        settings = fit_config(self, online=True)
        if is_indicator(y) or getattr(self, "multilabel_", False):
            raise ValueError("partial_fit learns classes, not an indicator matrix of labels: fit does.")
        first = not hasattr(self, "classes_")
        if first:
            checked, columns = Columns.of(X, self)
            known = announced_classes(classes)
        else:
            checked = CheckedRows(validate_rows(self, X, reset=False), None)
            encoder = getattr(self, "encoder_", None)
            columns = Columns(self.n_features_in_, getattr(self, "feature_names_in_", None), encoder)
            known = self.classes_
            require_same_classes(classes, known)
        fixed = (self.measure, self.solver, self.pos_label)
        online = getattr(self, "_online", None)
        if online is None:
            n_features = int(checked.X.shape[1])
            before = self._models_before(n_features, 1 if known.size == 2 else known.size)
            online = OnlineClassifier(
                settings, n_features, known, before, self.random_state, fixed, verbose=bool(self.verbose)
            )
        rows = online.rows(checked, y, sample_weight, self.pos_label)
        online.check(rows, settings, fixed)

        self._online = None  # if learning fails, the next call goes on from the model as it is now
        with one_blas_thread():
            online.learn(rows, threads_of(self.n_jobs))
            fitted = online.fitted(settings)
        columns.store_on(self)
        self._online = online
        self.history_ = online.history.table()
        self._store(fitted, settings)
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return what each coefficient is of: a column, or a value of one, such as ``colour=red``."""
        check_is_fitted(self, "coef_")
        encoder = getattr(self, "encoder_", None)
        if encoder is not None:
            return np.array(encoder.feature_names, dtype=object)
        return np.asarray(_check_feature_names_in(self, input_features))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags

    def _models_before(self, n_features: int, n_models: int) -> Coefficients | None:
        """The models of the fit before, if there was one."""
        if not hasattr(self, "coef_"):
            return None
        if self.coef_.shape[1] != n_features:
            raise ValueError(
                f"warm_start=True, but X has {n_features} features and the fit before had {self.coef_.shape[1]}."
            )
        if self.coef_.shape[0] != n_models:
            raise ValueError(
                f"warm_start=True, but y asks for {n_models} model(s), and the fit before was of "
                f"{self.coef_.shape[0]}."
            )
        return Coefficients(self.coef_, self.intercept_)

    def _store(self, fitted: Fitted, settings: FitConfig) -> None:
        result = fitted.result
        self.measure_, self.solver_ = settings.measure, result.solver
        self.classes_, self.multilabel_ = fitted.classes, fitted.multilabel
        self.coef_, self.intercept_ = result.coef, result.intercept
        self.feature_spread_ = result.scale
        self.rates_, self.rates_interval_, self.stages_ = result.rates, result.interval, result.stages
        self.calibration_ = result.calibration
        self.constraints_met_ = fitted.message is None
