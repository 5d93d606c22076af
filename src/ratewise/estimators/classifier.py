"""MeasureClassifier: a linear classifier with the scikit-learn interface."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ..features.splines import Basis
from ..measures import (
    ConfusionMeasure,
    ConstrainedClasses,
    Measure,
    confusion_measure,
    get_measure,
    one_vs_rest_measure,
)
from ..solvers import Solver, get_solver
from ..solvers.base import History
from ..solvers.state import LinearModels
from ..training import FitConfig
from ._costs import CostedRows
from ._fits import FitOptions, Fitted, fit_task, store_fit, warn_of_constraints
from ._folds import given_splits
from ._notebook import NotebookCard
from ._online import Asked, FromStream, OnlineBatch, OnlineClassifier, first_basis
from ._prediction import LinearPrediction
from ._rows import CheckedRows, Columns, validate_rows
from ._settings import fit_config, one_blas_thread, require_basis_columns, threads_of
from ._streams import STREAM_ATTRIBUTES, StreamFitting
from ._targets import announced_classes, is_indicator, require_same_classes


def _solver_streams(classifier: MeasureClassifier) -> bool:
    if classifier.solver == "auto":
        return True
    try:
        solver = get_solver(classifier.solver, one_vs_rest_measure(classifier.measure))
    except ValueError:
        return True  # the call itself raises the error
    if not solver.streaming:
        raise AttributeError(
            f"partial_fit needs a solver that learns point by point; {type(solver).__name__} sees all rows at "
            "once. Use solver='auto'."
        )
    return True


class MeasureClassifier(LinearPrediction, StreamFitting, NotebookCard, ClassifierMixin, BaseEstimator):
    """A linear classifier trained for the measure you report.

    It takes two classes, more than two (the class with the highest score is predicted), or several labels per row
    (an indicator matrix; each label has its own model).

    Parameters
    ----------
    measure : str, Measure, ConfusionMeasure or function, default="f1"
        What to maximize: a name from :func:`ratewise.measures.measure_names` or a measure of your own. With more
        than two classes a name has the meaning it has in scikit-learn and imbalanced-learn: "f1" is macro F1, and
        "gmean" is the geometric mean of the recalls (:func:`~ratewise.measures.confusion_measure`).
    solver : {"auto", "spade", "stamp", "amp"} or solver object, default="auto"
        The algorithm that learns the first model. "auto" uses SPADE for concave measures and STAMP for
        pseudo-linear ones if ``sharpen=False``. With sharpening it uses logistic regression, with class weights
        that suit the measure.
    sharpen : {"auto"}, bool or Sharpen, default="auto"
        Whether to continue from the solver's model with a bounded reward, on the measure itself. Validation rows
        choose between the stages. "auto" sharpens unless ``threshold="zero"``. False keeps the paper's plain
        algorithm. A :class:`~ratewise.solvers.Sharpen` sets the details. ``partial_fit`` never sharpens. With more
        than two classes, sharpening learns all classes together, from multinomial logistic regression or from the
        solver you name. Without sharpening, the solver learns each class against the rest.
    threshold : {"tune", "zero"}, default="tune"
        "tune" moves the intercept to the best threshold. "zero" keeps the solver's intercept.
    alpha : float, default=0.0
        L2 strength, on standardized columns, in each step of the solver and of sharpening. The default relies on
        validation rows instead: they choose the number of passes, and on small data also the penalty.
    validation_fraction : float or "auto", default="auto"
        With sharpening: the share of validation rows in each fold, between 0 and 1/2. "auto" is 1/5 for small
        data and 1/2 for large data. If large data have 50 rows or more of the rarer class per column, all rows
        are used both for training and for validation.
    cv : int, splitter or iterable, default=None
        With sharpening: the folds whose validation rows choose between the stages and set the threshold. An int is
        the number of folds; with None it depends on the number of rows. A splitter, such as scikit-learn's
        ``TimeSeriesSplit`` or ``GroupKFold``, or an iterable of pairs (train, validation) works in ``fit`` only.
        A row may be a validation row of one fold at most. The model is learned from all rows; ``rates_`` are
        those of the folds' models.
    standardize : bool, default=True
        Whether to standardize the columns before learning (and, with sharpening on many dense rows, to whiten
        them). ``coef_`` and ``intercept_`` always refer to your columns.
    pos_label : label, default=None
        The class whose rate is the TPR; ``classes_[1]`` unless given. For two classes.
    random_state : int, RandomState or None
        Sets the order of the rows. The same int gives the same model, bit for bit.
    warm_start : bool, default=False
        Whether to start from the coefficients of the previous fit.
    encode : "auto" or None, default=None
        "auto" accepts tables of pandas, polars and Arrow as they are, in ``fit``, ``partial_fit``, ``predict``,
        ``decision_function`` and ``score``. It recognizes numbers, booleans, categories, dates, texts and missing
        values by the same rules as for files. ``print(encoder_)`` shows the kind of each column.
        ``partial_fit`` learns the encoding from its first rows. Columns are found by name in any order. None
        accepts numbers only and treats names as scikit-learn does: another order is an error, and columns whose
        names are numbers are used in the order of the table.
    columns : dict, optional
        With ``encode="auto"`` and in ``fit_stream``: the kinds of columns, by name, where the rules would choose
        another kind: "number", "boolean", "category", "date", "text" or "ignore"; "elapsed" for a date without its
        parts, "day first" or "month first" for dates such as 3/4/2024, "decimal point" or "decimal comma" for
        numbers such as $1,234.50.
    basis : {None, "splines", "pairs", "auto"} or SplineBasis, default=None
        The columns in which the model is linear. None: your columns. "splines": a piecewise linear curve per
        column. "pairs": curves, and products of two columns (all products up to 25 columns; with more columns, the
        products that a screening step selects). "auto": the simplest of the three whose out-of-fold value is
        within half a standard error of the best. A :class:`~ratewise.features.SplineBasis` sets the details; a
        fitted one is used unchanged. With a basis, missing values (NaN) are a separate level. Sparse rows are not
        expanded.
    low_memory : bool, default=False
        Whether to learn from the rows in place, instead of from one float32 copy in random order. A fit in place
        needs almost no memory beyond the data, and takes a few times as long.
    half_life : {"auto"}, float or None, default="auto"
        How fast ``partial_fit`` forgets. "auto": learners with different half-lives run side by side, and the one
        with the best recent predictions is used (``stages_`` names it). A number: one learner, in which the weight
        of a row halves after this many further rows. None: nothing is forgotten. "auto" means None if a solver
        or ``threshold="zero"`` is given, and for measures with bounds. ``fit`` and ``fit_stream`` never forget.
    n_jobs : int or None, default=None
        The number of threads, -1 for one per core. Threads learn folds, starts, classes or labels at the same
        time, and their number does not change the result. With two classes and a million rows or more, several
        threads also share the rows; that model differs a little from the model of one thread.
    verbose : int, default=0
        Above 0: print a line to stderr at each checkpoint of the fit.

    Attributes
    ----------
    coef_ : array of shape (1, n_features), or (n_classes, n_features)
        ``get_feature_names_out`` names the column of each coefficient. With a basis there are more columns: "age"
        has the slope left of the first knot, "age > 30" the change of the slope at 30, and "age * income" the
        coefficient of the product of the two columns, each minus its mean.
    intercept_ : array of shape (1,), or (n_classes,)
    classes_ : array of the classes, or of the numbers of the labels
    multilabel_ : bool
        Whether y was an indicator matrix.
    feature_spread_ : array of shape (n_features,)
        The divisor of each column. A coefficient times this spread is the effect of the column on the scores.
    feature_mean_ : array of shape (n_features_in_,) or None
        The value subtracted from each column, and the reference row of ``explain``. None or 0 for sparse rows.
        With ``encode="auto"`` there is an entry per encoded column.
    n_samples_fit_ : int
        The number of rows given to ``fit``. ``fit_stream`` sets ``survey_`` instead.
    rates_ : Rates
        (tpr, tnr, prevalence) to expect on new rows. With folds they come from out-of-fold scores, corrected for
        the difference between the model and the models of the folds; otherwise from the training rows. With more
        than two classes or with labels, a list of them.
    rates_interval_ : RatesInterval
        (tpr, tnr, value, confidence): intervals for the rates and the measure on new rows, with 95% confidence or
        that of the measure's bounds. With more than two classes or with labels, a list of them.
    confusion_ : array of shape (n_classes, n_classes) or None
        With more than two classes: the confusion matrix [true, predicted] in weights of rows, out of fold where
        there are folds. ``measure_.value(confusion_)`` is the value to expect on new rows.
    constraints_met_ : bool or None
        Whether the measure's bounds hold on new rows with the stated confidence; None without bounds. If that
        cannot be promised, ``fit`` warns with numbers (:class:`~ratewise.ConstraintWarning`). After
        ``partial_fit`` it is only an estimate, because it uses training rows.
    calibration_ : array of shape (n_models, 2 + 2 * n_knots)
        The curve from scores to log odds behind ``predict_proba``, one per row of ``coef_``
        (:class:`~ratewise.decisions.calibrate.Calibration`): the slope, the log odds at the threshold, and up to
        15 knots, each with the change of the slope there.
    decision_threshold_ : float, or an array with one per label
        The probability above which ``predict`` predicts the positive class. It does not exist for more than two
        classes.
    basis_ : Basis or None
        The knots, pairs and moments of the basis as plain arrays; None for your columns.
    stages_ : tuple of str
        With sharpening: the model is the mean of these stages. After ``partial_fit``: the learner in use.
    n_features_in_ : int
    feature_names_in_ : array of str, of a table
        The names of its columns; of a model from files, the names of the encoded columns.
    encoder_ : Encoder
        How tables and files become numbers: with ``encode="auto"``, and of a model from files.
    groups_, group_thresholds_ : arrays
        With bounds on groups: the groups of ``sensitive_features``, and the threshold of each group, which
        ``predict`` uses in place of 0.
    fitted_to_costs_ : bool
        Whether ``fit`` had costs per row. If so, ``predict`` and ``score`` need costs too; ``measure_``,
        ``rates_`` and ``decision_function`` use one threshold for all rows, weighted by their costs.
    rates_by_group_, rates_interval_by_group_ : dict
        With ``sensitive_features``: Rates and RatesInterval of each group.
    history_ : dict of arrays
        One row per checkpoint: pass, points, seconds, tpr, tnr, value, and the dual pair or the challenge level;
        with sharpening also the run, one for each fold and start. With many classes the rates are means over the
        classes, on validation rows; without sharpening a column names the class.
    measure_ : Measure, or ConfusionMeasure with more than two classes
        The measure that ``measure`` names.
    solver_ : Solver
        The solver that made the model; with sharpening, the one that the best stage started from. With many
        classes that is a ``MultinomialLogistic`` unless a solver is named.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ratewise import MeasureClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = MeasureClassifier(measure="gmean", random_state=0).fit(X, y == 8)
    >>> classifier.score(X, y == 8) > 0.9
    True
    """

    coef_, intercept_, stages_, solver_ = FromStream(), FromStream(), FromStream(), FromStream()
    feature_spread_, feature_mean_, calibration_ = FromStream(), FromStream(), FromStream()
    rates_, rates_interval_, constraints_met_, history_ = FromStream(), FromStream(), FromStream(), FromStream()

    # Group splitters request groups by default, and so does an estimator that passes groups to them.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self,
        measure: str | Measure | ConfusionMeasure = "f1",
        *,
        solver: str | Solver = "auto",
        sharpen: str | bool = "auto",
        threshold: str = "tune",
        alpha: float = 0.0,
        validation_fraction: float | str = "auto",
        cv: Any = None,
        standardize: bool = True,
        pos_label: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        encode: str | None = None,
        columns: Mapping[str, str] | None = None,
        basis: Any = None,
        low_memory: bool = False,
        half_life: str | float | None = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.measure = measure
        self.solver = solver
        self.sharpen = sharpen
        self.threshold = threshold
        self.alpha = alpha
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.standardize = standardize
        self.pos_label = pos_label
        self.random_state = random_state
        self.warm_start = warm_start
        self.encode = encode
        self.columns = columns
        self.basis = basis
        self.low_memory = low_memory
        self.half_life = half_life
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
        sensitive_features: Any = None,
        costs: Any = None,
    ) -> Self:
        """Learn from rows X and labels y.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
        y : array of shape (n_rows,), or indicator matrix of shape (n_rows, n_labels)
            Two classes or more; or a dense or sparse matrix with a column of 0 and 1 per label.
        sample_weight : array of shape (n_rows,), optional
            How many times each row counts.
        target_prevalence : float, optional
            The share of positives where the model will be used, if it differs from the share in y. The measure is
            maximized for that share. For two classes.
        groups : array of shape (n_rows,), optional
            Rows of one group stay in the same inner fold. A splitter in ``cv`` receives them.
        sensitive_features : array of shape (n_rows,), optional
            The group of each row (sex, region, ...) for bounds per group, such as
            ``Constrained("f1", tpr_gap=0.05)``. The model does not learn from it. For two classes.
        costs : dict of numbers or columns, or array [row, true, predicted] or [true, predicted], optional
            With ``measure="cost"``: what each decision costs in each row, as :meth:`ratewise.DecisionRule.fit`
            takes it. Each row has the square root of its cost at stake as weight. ``predict`` then needs the
            costs of its rows, and returns the decision with the lowest expected cost for each. For two classes.
        """
        settings = fit_config(self, threads=threads_of(self.n_jobs), sensitive=sensitive_features is not None)
        if self.warm_start and settings.basis is not None and hasattr(self, "coef_"):
            settings = dataclasses.replace(settings, basis=getattr(self, "basis_", None))
        checked, columns = Columns.of(X, self, occupied_only=not self.warm_start)
        require_basis_columns(self.basis, columns.matrix_names)
        splits = given_splits(self.cv, y, groups)
        measure = self.measure
        if costs is not None:
            if sensitive_features is not None or target_prevalence is not None:
                raise ValueError("sensitive_features and target_prevalence are for measures, without costs.")
            sample_weight, measure = CostedRows.of(measure, costs, y, sample_weight, self.pos_label)
            settings = dataclasses.replace(settings, measure=measure)
        options = FitOptions(
            settings, measure, bool(self.low_memory), self.pos_label, groups, splits, sensitive_features
        )
        task = fit_task(checked, y, sample_weight, options, target_prevalence)
        width = settings.basis.width if isinstance(settings.basis, Basis) else checked.X.shape[1]
        before = self._models_before(width, task.n_models) if self.warm_start else None
        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        history = History(verbose=bool(self.verbose))
        with one_blas_thread():
            fitted = task.learn(before, rng, history)
        fitted = fitted._replace(result=fitted.result.widened(checked.occupied, columns.width))

        for name in STREAM_ATTRIBUTES:
            self.__dict__.pop(name, None)
        if columns.encoder is not None:
            self.target_ = y.name if isinstance(getattr(y, "name", None), str) else None
        self.n_samples_fit_ = checked.number
        self._online = None
        self.history_ = history.table()
        self._store(fitted, settings)
        columns.store_on(self)
        self.fitted_to_costs_ = costs is not None
        warn_of_constraints(fitted.message, stacklevel=2)
        return self

    @available_if(_solver_streams)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows, each seen once; the first call must name all ``classes``.

        The sizes of the batches do not change the model. ``half_life`` sets how fast old rows are forgotten.
        Attributes are updated when they are read. The knots of a basis come from the first rows, and
        ``basis="auto"`` means "splines".
        """
        online = getattr(self, "_online", None)
        asked = Asked.of(self, None if online is None else online.asked)
        if is_indicator(y) or getattr(self, "multilabel_", False):
            raise ValueError("partial_fit learns classes, not an indicator matrix of labels: fit does.")
        if getattr(self, "fitted_to_costs_", False):
            raise ValueError("The model was fitted to costs of rows, which partial_fit does not take: use fit.")
        first = not hasattr(self, "classes_")
        if first:
            checked, columns = Columns.of(X, self)
            require_basis_columns(self.basis, columns.matrix_names)
            known = announced_classes(classes)
        else:
            if np.shape(X) == (0, self.n_features_in_) and np.size(y) == 0:
                return self
            checked, columns = CheckedRows(validate_rows(self, X), None), None
            known = self.classes_
            require_same_classes(classes, known)
        if online is None or asked is not online.asked:
            if known.size == 2:
                get_measure(self.measure)  # raises an error for a measure of many classes
            elif isinstance(confusion_measure(self.measure), ConstrainedClasses):
                raise ValueError(
                    "Bounds on classes are for fit and fit_stream: partial_fit keeps no rows to prove them."
                )
        basis = first_basis(asked.settings.basis, checked) if first else getattr(self, "basis_", None)
        if basis is not None:
            checked = CheckedRows(basis.code(checked.X), None)
        batch = OnlineBatch.of(checked, y, sample_weight, known, self.pos_label)
        if first and not batch.size:
            raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from.")
        if online is None:
            n_features = int(checked.X.shape[1])
            before = self._models_before(n_features, 1 if known.size == 2 else known.size)
            if before is not None and basis is not None:
                before = before.mapped(basis.transform_coef)
            online = OnlineClassifier(
                asked, n_features, known, before, self.random_state, verbose=bool(self.verbose)
            )
        online.check(batch, asked)

        self._online = None  # if learning fails, the next call continues from the current model
        online.learn(batch, self.n_jobs)
        if columns is not None:
            self._store_read(online, basis)
            columns.store_on(self)
        self._online = online
        self.__dict__.pop("n_samples_fit_", None)  # describes a fit, not a stream of rows
        return self

    def refresh_from_stream(self) -> None:
        """Update the fitted attributes with the rows of ``partial_fit``; reading an attribute does the same."""
        online = vars(self).get("_online")
        if online is None or online.is_read:
            return
        self._online = None
        self._store_read(online, vars(self)["basis_"])
        self._online = online

    def _store_read(self, online: OnlineClassifier, basis: Basis | None) -> None:
        fitted, history = online.read(basis)
        self.history_ = history.table()
        self._store(fitted, online.settings)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the name of each coefficient: a column, a value (``color=red``), or a column of the basis.

        Columns of a basis are named "age is missing", "age > 30" and "age * income".
        """
        check_is_fitted(self, "coef_")
        encoder, basis = getattr(self, "encoder_", None), getattr(self, "basis_", None)
        if encoder is not None:
            names = np.array(encoder.feature_names, dtype=object)
        else:
            names = np.asarray(_check_feature_names_in(self, input_features))
        return names if basis is None else np.array(basis.names(names), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.basis is not None
        return tags

    def _models_before(self, n_features: int, n_models: int) -> LinearModels | None:
        """Return the models of the previous fit, if there was one."""
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
        return LinearModels(self.coef_, self.intercept_)

    def _store(self, fitted: Fitted, settings: FitConfig) -> None:
        self.multilabel_, self.fitted_to_costs_ = fitted.multilabel, False
        store_fit(self, fitted, settings)
        self._store_groups(fitted.result.groups, settings.measure)
