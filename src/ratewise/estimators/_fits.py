"""The kinds of fits (two classes, many classes, several labels) and their results."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from ..decisions.calibrate import Calibration, stacked
from ..decisions.sensitive import checked_sensitive, require_rates
from ..features.splines import Basis
from ..measures import (
    ConstrainedClasses,
    ConstraintWarning,
    Measure,
    Rates,
    RatesInterval,
    at_prevalence,
    confusion_measure,
    get_measure,
)
from ..solvers.base import History
from ..solvers.state import LinearModel, LinearModels
from ..training import ArraySource, FitConfig, FitResult, Trainer
from ..training.threads import in_threads
from ._positive import PositiveClass
from ._rows import CheckedRows
from ._settings import shared_basis
from ._targets import (
    CheckedLabels,
    TrainingSet,
    WeightedRows,
    checked_labels,
    indicator_array,
    is_indicator,
    positive_code,
    require_both_classes,
    require_no_positive,
    share_of_positives,
    training_set,
    with_mean_weight_one,
)


def first_message(names: Iterable[str], messages: Iterable[str | None]) -> str | None:
    """Return the message on the first class or label that misses a bound."""
    found = ((name, message) for name, message in zip(names, messages, strict=True) if message is not None)
    return next((f"{name}: {message}" for name, message in found), None)


def constraints_met(measure: Any, message: str | None, of_many: Any = None) -> bool | None:
    """Return whether the bounds of a measure are kept; None for a measure or a function without bounds."""
    if isinstance(measure, ConstrainedClasses) or isinstance(of_many, ConstrainedClasses):
        return message is None
    return message is None if isinstance(measure, Measure) and (measure.bounds or measure.group_bounds) else None


def store_fit(estimator: Any, fitted: Fitted, settings: FitConfig) -> None:
    """Set the fitted attributes that every classifier has, whatever the place of its rows."""
    result, many = fitted.result, fitted.classes.size > 2 and not fitted.multilabel
    estimator.classes_, estimator.solver_, estimator.confusion_ = fitted.classes, result.solver, result.table
    estimator.measure_ = confusion_measure(estimator.measure, fitted.classes) if many else settings.measure
    estimator.coef_, estimator.intercept_, estimator.basis_ = result.coef, result.intercept, result.basis
    estimator.feature_spread_, estimator.feature_mean_ = result.scale, result.centre
    estimator.rates_, estimator.rates_interval_, estimator.stages_ = result.rates, result.interval, result.stages
    estimator.calibration_ = result.calibration
    two = fitted.classes.size == 2 and not fitted.multilabel
    estimator._positive_code = positive_code(fitted.classes, estimator.pos_label) if two else None
    estimator.constraints_met_ = constraints_met(settings.measure, fitted.message, estimator.measure_)


def warn_of_constraints(message: str | None, stacklevel: int) -> None:
    if message is not None:
        warnings.warn(message, ConstraintWarning, stacklevel=stacklevel + 1)


class Fitted(NamedTuple):
    """A result with its classes, and one sentence if a constraint of the measure is not kept."""

    classes: NDArray[Any]
    result: FitResult
    message: str | None
    multilabel: bool = False


class FitTask(Protocol):
    """A fit to rows in memory that is checked but not yet started."""

    @property
    def n_models(self) -> int: ...

    def learn(self, before: LinearModels | None, rng: np.random.Generator, history: History) -> Fitted: ...


class FitOptions(NamedTuple):
    """The arguments of a fit besides its configuration."""

    settings: FitConfig
    measure: Any
    """The measure as the user named it: of two rates, or of many classes."""
    low_memory: bool
    pos_label: Any
    groups: Any
    splits: NDArray[np.int8] | None = None
    """The role of each row in each fold, if the user gave folds: see ``given_splits``."""
    sensitive_features: Any = None


def fit_task(
    rows: CheckedRows, y: Any, sample_weight: Any, options: FitOptions, target_prevalence: Any
) -> FitTask:
    """Return the fit for two classes, for many classes or for labels, depending on y."""
    from ._multiclass import MulticlassFit

    check_prevalence(target_prevalence)
    if is_indicator(y):
        _require_none(target_prevalence, "labels")
        _require_no_groups(options, "labels")
        return MultilabelFit.of(rows, y, sample_weight, options)
    labels = checked_labels(y, rows.number)
    if labels.found.size > 2:
        _require_none(target_prevalence, f"{labels.found.size} classes")
        _require_no_groups(options, f"{labels.found.size} classes")
        return MulticlassFit.of(rows, labels, sample_weight, options)
    target = None if target_prevalence is None else float(target_prevalence)
    return TwoClassFit.of(rows, labels, sample_weight, options, target)


def check_prevalence(prevalence: Any) -> None:
    if prevalence is None:
        return
    if isinstance(prevalence, bool) or not isinstance(prevalence, Real) or not 0.0 < float(prevalence) < 1.0:
        raise ValueError(
            f"target_prevalence must be the share of positives to expect, above 0 and below 1; got {prevalence!r}."
        )


def _require_none(prevalence: Any, what: str) -> None:
    if prevalence is not None:
        raise ValueError(
            f"target_prevalence is for two classes, and y has {what}. Weigh the classes by sample_weight instead."
        )


def _require_no_groups(options: FitOptions, what: str) -> None:
    if options.sensitive_features is not None:
        raise ValueError(f"sensitive_features are for two classes, and y has {what}.")


def fit_rows(
    rows: TrainingSet,
    settings: FitConfig,
    before: LinearModel | None,
    rng: np.random.Generator,
    history: History,
    *,
    low_memory: bool,
) -> FitResult:
    """Fit rows of two classes; scores are those of the positive class."""
    source = _kind_of_source(settings.threads)(
        rows.X,
        rows.signed_weights,
        rng,
        standardizer=rows.checked.statistics,
        groups=rows.groups,
        splits=rows.splits,
        sensitive=rows.sensitive,
        low_memory=low_memory,
        threads=settings.threads,
    )
    return Trainer(settings, history, before).fit(source)


def _kind_of_source(threads: int) -> type[ArraySource]:
    if threads == 1:
        return ArraySource
    from ..training.shards.shared import SharedSource

    return SharedSource


def fitted_two_classes(result: FitResult, classes: NDArray[Any], pos_label: Any) -> Fitted:
    """Turn scores of the positive class into scores of ``classes_[1]``."""
    if PositiveClass.of(classes, pos_label).sign < 0:
        other = stacked([Calibration.of_numbers(result.calibration[0]).of_the_other_class()])
        groups = result.groups
        groups = None if groups is None else groups._replace(thresholds=-groups.thresholds)
        result = result._replace(coef=-result.coef, intercept=-result.intercept, calibration=other, groups=groups)
    return Fitted(classes, result, result.message)


def measure_at(measure: Measure, target: float | None, share: float) -> Measure:
    """Return the measure at the share of positives for which it is maximized; ``share`` is that of the rows."""
    if target is None or math.isclose(target, share, rel_tol=1e-6):
        return measure
    return at_prevalence(measure, target)


def at_target(result: FitResult, target: float, share: float) -> FitResult:
    """Return the result for rows whose share of positives is ``target``."""
    curve = Calibration.of_numbers(result.calibration[0])
    calibration = stacked([curve._replace(constant=curve.constant + logit(target) - logit(share))])
    return result._replace(rates=result.rates._replace(prevalence=target), calibration=calibration)


@dataclass(frozen=True)
class TwoClassFit:
    """Everything that a fit of two classes needs, checked."""

    rows: TrainingSet
    options: FitOptions
    target_prevalence: float | None

    n_models = 1

    @classmethod
    def of(
        cls,
        checked: CheckedRows,
        labels: CheckedLabels,
        sample_weight: Any,
        options: FitOptions,
        target_prevalence: float | None,
    ) -> TwoClassFit:
        sensitive = checked_sensitive(options.sensitive_features, checked.number)
        if sensitive is not None and target_prevalence is not None:
            raise ValueError("target_prevalence is for all rows: it cannot be given with sensitive_features.")
        rows = training_set(
            checked,
            labels,
            sample_weight,
            pos_label=options.pos_label,
            groups=options.groups,
            splits=options.splits,
            sensitive=sensitive,
        )
        get_measure(options.measure)  # raises an error for a measure of many classes
        rows = with_mean_weight_one(rows)
        require_both_classes(rows)
        require_rates(options.settings.measure, rows.sensitive, rows.signed_weights)
        fit = cls(rows, options, target_prevalence)
        options.settings.solver.check(fit.learned_measure(), share_of_positives(rows))
        return fit

    def learned_measure(self) -> Measure:
        """Return the measure at the prevalence for which it is maximized."""
        return measure_at(self.options.settings.measure, self.target_prevalence, share_of_positives(self.rows))

    def learn(self, before: LinearModels | None, rng: np.random.Generator, history: History) -> Fitted:
        classes, pos_label = self.rows.classes, self.options.pos_label
        sign = PositiveClass.of(classes, pos_label).sign
        model = None if before is None else before.each()[0].times(sign)
        settings = dataclasses.replace(self.options.settings, measure=self.learned_measure())
        result = fit_rows(self.rows, settings, model, rng, history, low_memory=self.options.low_memory)
        if self.target_prevalence is not None:
            result = at_target(result, self.target_prevalence, share_of_positives(self.rows))
        return fitted_two_classes(result, classes, pos_label)


@dataclass(frozen=True)
class MultilabelFit:
    """Everything that a fit of several labels needs, checked: one model per label."""

    checked: CheckedRows
    indicator: NDArray[np.bool_]
    weights: NDArray[np.float32]
    groups: NDArray[np.intp] | None
    splits: NDArray[np.int8] | None
    options: FitOptions

    @classmethod
    def of(cls, checked: CheckedRows, y: Any, sample_weight: Any, options: FitOptions) -> MultilabelFit:
        require_no_positive(options.pos_label, "an indicator matrix of labels")
        get_measure(options.measure)  # for each label; raises an error for a measure of many classes
        indicator = indicator_array(y, checked.number)
        rows = WeightedRows.of(checked, indicator, sample_weight, options.groups, options.splits)
        weights = np.ones(rows.checked.number) if rows.weights is None else rows.weights
        fit = cls(rows.checked, rows.labels, weights.astype(np.float32), rows.groups, rows.splits, options)
        for k in fit.varying():
            options.settings.solver.check(options.settings.measure, share_of_positives(fit.rows_of(k)))
        return fit

    @property
    def n_models(self) -> int:
        return int(self.indicator.shape[1])

    def varying(self) -> list[int]:
        """Return the labels that some rows have and others do not."""
        some, every = self.indicator.any(axis=0), self.indicator.all(axis=0)
        return np.flatnonzero(some & ~every).tolist()

    def rows_of(self, k: int) -> TrainingSet:
        signed = np.where(self.indicator[:, k], self.weights, -self.weights)
        return with_mean_weight_one(TrainingSet(self.checked, signed, np.array([0, 1]), self.groups, self.splits))

    def learn(self, before: LinearModels | None, rng: np.random.Generator, history: History) -> Fitted:
        varying = self.varying()
        self._warn_of_constant_labels(varying)
        histories = [history.branch() for _ in range(self.n_models)]
        seeds = rng.spawn(self.n_models)
        settings = self._in_one_basis()
        alone = dataclasses.replace(settings, threads=1)

        def learned(k: int) -> FitResult:
            model = None if before is None else before.each()[k]
            rows = self.rows_of(k)
            return fit_rows(rows, alone, model, seeds[k], histories[k], low_memory=self.options.low_memory)

        found = dict(zip(varying, in_threads(learned, varying, settings.threads), strict=True))
        for k, one in enumerate(histories):
            history.join(one, label=float(k))
        basis = next((one.basis for one in found.values()), None)
        results = [found.get(k) or self._constant(k, basis) for k in range(self.n_models)]
        message = first_message((f"label {k}" for k in varying), (found[k].message for k in varying))
        return Fitted(np.arange(self.n_models), joined(results), message, multilabel=True)

    def _in_one_basis(self) -> FitConfig:
        """Return the settings of every label, with the basis that all labels share."""
        settings, checked = self.options.settings, self.checked
        if settings.basis is None or not self.varying():
            return settings
        asked = shared_basis(settings.basis, checked.X.shape[1], "several labels")
        rows = self.rows_of(self.varying()[0])
        source = ArraySource(
            rows.X, rows.signed_weights, np.random.default_rng(0), standardizer=checked.statistics
        )
        return dataclasses.replace(settings, basis=source.coded(asked).basis)

    def _constant(self, k: int, basis: Basis | None) -> FitResult:
        """Return the model of a label that either all rows or no rows have."""
        n_features = self.checked.X.shape[1] if basis is None else basis.width
        always = bool(self.indicator[0, k])
        return FitResult(
            np.zeros((1, n_features)),
            np.array([1.0 if always else -1.0]),
            np.ones(n_features),
            Rates(float(always), float(not always), float(always)),
            (),
            self.options.settings.solver,
            RatesInterval((0.0, 1.0), (0.0, 1.0), (math.nan, math.nan), 0.95),
            # The share that Laplace's rule of succession gives to an outcome that has always occurred.
            stacked([Calibration(math.log(self.checked.number + 1.0), 0.0)]),
        )

    def _warn_of_constant_labels(self, varying: list[int]) -> None:
        for k in sorted(set(range(self.n_models)) - set(varying)):
            value = int(self.indicator[0, k])
            warnings.warn(
                f"Label {k} is {value} in all training rows, so {value} is predicted for every row.",
                UserWarning,
                stacklevel=4,
            )


def joined(results: list[FitResult]) -> FitResult:
    """Return the models of several fits as one result."""
    learned = [one for one in results if one.coef.any()] or results
    return FitResult(
        np.concatenate([one.coef for one in results]),
        np.concatenate([one.intercept for one in results]),
        learned[-1].scale,
        [one.rates for one in results],
        tuple(one.stages for one in results),
        learned[0].solver,
        [one.interval for one in results],
        stacked([Calibration.of_numbers(one.calibration[0]) for one in results]),
        basis=learned[0].basis,
        centre=learned[-1].centre,
    )
