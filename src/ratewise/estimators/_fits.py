"""What a classifier's parameters and its target ask for: the configuration of a fit, and its kind."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.special import logit
from threadpoolctl import ThreadpoolController

from ..measures import ConstraintWarning, Measure, Rates, RatesInterval, at_prevalence, get_measure
from ..solvers import Sharpen, WeightedLogistic, get_solver
from ..solvers.base import History
from ..solvers.calibrate import Calibration, stacked
from ..solvers.state import LinearModel
from ..training import ArraySource, FitConfig, FitResult, Trainer
from ..training.memory import in_threads
from ._rows import CheckedRows
from ._targets import (
    CheckedLabels,
    TrainingSet,
    checked_labels,
    checked_weights,
    group_numbers,
    indicator_array,
    is_indicator,
    positive_label,
    require_both_classes,
    require_no_positive,
    share_of_positives,
    training_set,
    with_mean_weight_one,
)

_MOST_PASSES = 100_000


def fit_config(classifier: Any, *, online: bool = False, **more: Any) -> FitConfig:
    """Return what a classifier's parameters ask of a fit, or raise one sentence on what is wrong with them.

    ``online`` is for rows that come one batch at a time: nothing sharpens then.
    """
    measure = get_measure(classifier.measure)
    named = None if classifier.solver == "auto" else get_solver(classifier.solver, measure)
    _check(classifier)
    sharpens = classifier.threshold == "tune" if classifier.sharpen == "auto" else bool(classifier.sharpen)
    # Sharpening starts from logistic regression, whatever the measure.
    suited = WeightedLogistic() if sharpens and not online else None
    sharpen = classifier.sharpen if isinstance(classifier.sharpen, Sharpen) else Sharpen()
    share = getattr(classifier, "validation_fraction", "auto")
    return FitConfig(
        measure,
        named or suited or get_solver("auto", measure),
        named,
        sharpen if sharpens else None,
        tune=classifier.threshold == "tune",
        l2=float(classifier.alpha),
        validation_fraction=None if share == "auto" else float(share),
        standardize=bool(classifier.standardize),
        **more,
    )


def passes_asked_for(passes: Any) -> int | None:
    """Return the passes over the data that a user asks for; None leaves their number to the fit."""
    if isinstance(passes, str) and passes == "auto":
        return None
    if not isinstance(passes, Integral) or isinstance(passes, bool) or not 0 < int(passes) <= _MOST_PASSES:
        raise ValueError(f"passes must be 'auto' or a whole number from 1 to {_MOST_PASSES:,}; got {passes!r}.")
    return int(passes)


def threads_of(n_jobs: int | None) -> int:
    return int(effective_n_jobs(n_jobs))


def _check(classifier: Any) -> None:
    if classifier.threshold not in ("tune", "zero"):
        raise ValueError(f"threshold must be 'tune' or 'zero'; got {classifier.threshold!r}.")
    if not isinstance(classifier.sharpen, (bool, Sharpen)) and classifier.sharpen != "auto":
        raise ValueError(f"sharpen must be 'auto', True, False or a Sharpen; got {classifier.sharpen!r}.")
    if classifier.threshold == "zero" and classifier.sharpen not in ("auto", False):
        raise ValueError("threshold='zero' needs sharpen=False: sharpening ends with the choice of a threshold.")
    if not isinstance(classifier.alpha, Real) or not 0 <= float(classifier.alpha) < np.inf:
        raise ValueError(f"alpha must be a finite number of 0 or more; got {classifier.alpha!r}.")
    encode = getattr(classifier, "encode", None)
    if encode is not None and encode != "auto":
        raise ValueError(f"encode must be 'auto' or None; got {encode!r}.")
    fraction = getattr(classifier, "validation_fraction", "auto")
    if fraction != "auto" and not (isinstance(fraction, Real) and 0 < float(fraction) <= 0.5):
        raise ValueError(f"validation_fraction must be 'auto' or above 0 and at most 0.5; got {fraction!r}.")


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread.

    A fit asks for thousands of products that take microseconds each: its threads would wait for one another for
    most of the time. Threads asked for by ``n_jobs`` share larger pieces of work.
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    """Finding the libraries takes longer than many a fit: once will do."""
    return ThreadpoolController()


def first_message(names: Iterable[str], messages: Iterable[str | None]) -> str | None:
    """Return the message on the first of several classes or labels that misses a bound."""
    found = ((name, message) for name, message in zip(names, messages, strict=True) if message is not None)
    return next((f"{name}: {message}" for name, message in found), None)


def warn_of_constraints(message: str | None, stacklevel: int) -> None:
    if message is not None:
        warnings.warn(message, ConstraintWarning, stacklevel=stacklevel + 1)


class Coefficients(NamedTuple):
    """Linear models of the user's columns, as scikit-learn keeps them: one row per model."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]


class Fitted(NamedTuple):
    """A result with the classes it is of, and one sentence if a constraint of the measure is not kept."""

    classes: NDArray[Any]
    result: FitResult
    message: str | None
    multilabel: bool = False


class FitTask(Protocol):
    """A fit to rows in memory, checked and not yet begun."""

    @property
    def n_models(self) -> int: ...

    def learn(self, before: Coefficients | None, rng: np.random.Generator, history: History) -> Fitted: ...


class FitOptions(NamedTuple):
    """What a fit is given besides its configuration."""

    settings: FitConfig
    low_memory: bool
    pos_label: Any
    groups: Any


def fit_task(
    rows: CheckedRows, y: Any, sample_weight: Any, options: FitOptions, target_prevalence: Any
) -> FitTask:
    """Return the fit of two classes, of many, or of labels, as y has it."""
    from ._multiclass import MulticlassFit

    check_prevalence(target_prevalence)
    if is_indicator(y):
        _require_none(target_prevalence, "labels")
        return MultilabelFit.of(rows, y, sample_weight, options)
    labels = checked_labels(y, rows.number)
    if labels.found.size > 2:
        _require_none(target_prevalence, f"{labels.found.size} classes")
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


def fit_rows(
    rows: TrainingSet,
    settings: FitConfig,
    before: LinearModel | None,
    rng: np.random.Generator,
    history: History,
    *,
    low_memory: bool,
) -> FitResult:
    """Fit rows of two classes; scores speak for the positive class."""
    source = ArraySource(
        rows.X,
        rows.signed_weights,
        rng,
        standardizer=rows.checked.statistics,
        groups=rows.groups,
        low_memory=low_memory,
        threads=settings.threads,
    )
    return Trainer(settings, history, before).fit(source)


def positive_sign(classes: NDArray[Any], pos_label: Any) -> float:
    """Scores speak for the positive class, scikit-learn's decision function for ``classes_[1]``."""
    return 1.0 if positive_label(classes, pos_label) == classes[1] else -1.0


def fitted_two_classes(result: FitResult, classes: NDArray[Any], pos_label: Any) -> Fitted:
    """Turn scores of the positive class into those of ``classes_[1]``."""
    if positive_sign(classes, pos_label) < 0:
        other = stacked([Calibration.of_numbers(result.calibration[0]).of_the_other_class()])
        result = result._replace(coef=-result.coef, intercept=-result.intercept, calibration=other)
    return Fitted(classes, result, result.message)


@dataclass(frozen=True)
class TwoClassFit:
    """All that a fit of two classes needs, checked."""

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
        rows = training_set(checked, labels, sample_weight, pos_label=options.pos_label, groups=options.groups)
        rows = with_mean_weight_one(rows)
        require_both_classes(rows)
        fit = cls(rows, options, target_prevalence)
        options.settings.solver.check(fit.learned_measure(), share_of_positives(rows))
        return fit

    def learned_measure(self) -> Measure:
        """Return the measure at the prevalence it is to be good at."""
        measure, target = self.options.settings.measure, self.target_prevalence
        if target is None or math.isclose(target, share_of_positives(self.rows), rel_tol=1e-6):
            return measure
        return at_prevalence(measure, target)

    def learn(self, before: Coefficients | None, rng: np.random.Generator, history: History) -> Fitted:
        classes, pos_label = self.rows.classes, self.options.pos_label
        sign = positive_sign(classes, pos_label)
        model = None if before is None else LinearModel(sign * before.coef[0], sign * float(before.intercept[0]))
        settings = dataclasses.replace(self.options.settings, measure=self.learned_measure())
        result = fit_rows(self.rows, settings, model, rng, history, low_memory=self.options.low_memory)
        if self.target_prevalence is not None:
            shift = logit(self.target_prevalence) - logit(share_of_positives(self.rows))
            curve = Calibration.of_numbers(result.calibration[0])
            calibration = stacked([curve._replace(constant=curve.constant + shift)])
            rates = result.rates._replace(prevalence=self.target_prevalence)
            result = result._replace(rates=rates, calibration=calibration)
        return fitted_two_classes(result, classes, pos_label)


@dataclass(frozen=True)
class MultilabelFit:
    """All that a fit of several labels needs, checked: one model per label."""

    checked: CheckedRows
    indicator: NDArray[np.bool_]
    weights: NDArray[np.float32]
    groups: NDArray[np.intp] | None
    options: FitOptions

    @classmethod
    def of(cls, checked: CheckedRows, y: Any, sample_weight: Any, options: FitOptions) -> MultilabelFit:
        require_no_positive(options.pos_label, "an indicator matrix of labels")
        indicator = indicator_array(y, checked.number)
        numbers = group_numbers(options.groups, checked.number)
        weights = np.ones(checked.number)
        if sample_weight is not None:
            weights = checked_weights(sample_weight, checked.X)
            kept = weights > 0
            checked, indicator, weights = checked.where(kept), indicator[kept], weights[kept]
            numbers = None if numbers is None else numbers[kept]
        fit = cls(checked, indicator, weights.astype(np.float32), numbers, options)
        for k in fit.varying():
            options.settings.solver.check(options.settings.measure, share_of_positives(fit.rows_of(k)))
        return fit

    @property
    def n_models(self) -> int:
        return int(self.indicator.shape[1])

    def varying(self) -> list[int]:
        """Return the labels that some rows have and some have not."""
        some, every = self.indicator.any(axis=0), self.indicator.all(axis=0)
        return np.flatnonzero(some & ~every).tolist()

    def rows_of(self, k: int) -> TrainingSet:
        signed = np.where(self.indicator[:, k], self.weights, -self.weights)
        return with_mean_weight_one(TrainingSet(self.checked, signed, np.array([0, 1]), self.groups))

    def learn(self, before: Coefficients | None, rng: np.random.Generator, history: History) -> Fitted:
        varying = self.varying()
        self._warn_of_constant_labels(varying)
        histories = [history.branch() for _ in range(self.n_models)]
        seeds = rng.spawn(self.n_models)
        settings = self.options.settings
        alone = dataclasses.replace(settings, threads=1)

        def learned(k: int) -> FitResult:
            model = None if before is None else LinearModel(before.coef[k], float(before.intercept[k]))
            rows = self.rows_of(k)
            return fit_rows(rows, alone, model, seeds[k], histories[k], low_memory=self.options.low_memory)

        found = dict(zip(varying, in_threads(learned, varying, settings.threads), strict=True))
        for k, one in enumerate(histories):
            history.join(one, label=float(k))
        results = [found.get(k) or self._constant(k) for k in range(self.n_models)]
        message = first_message((f"label {k}" for k in varying), (found[k].message for k in varying))
        return Fitted(np.arange(self.n_models), joined(results), message, multilabel=True)

    def _constant(self, k: int) -> FitResult:
        """Return the model of a label that all rows have, or none."""
        n_features = self.checked.X.shape[1]
        always = bool(self.indicator[0, k])
        return FitResult(
            np.zeros((1, n_features)),
            np.array([1.0 if always else -1.0]),
            np.ones(n_features),
            Rates(float(always), float(not always), float(always)),
            (),
            self.options.settings.solver,
            RatesInterval((0.0, 1.0), (0.0, 1.0), (math.nan, math.nan), 0.95),
            # The share that Laplace's rule of succession gives to what has always happened.
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
    )
