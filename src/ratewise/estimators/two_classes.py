"""A fit of two classes to rows in memory."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..measures import Measure, Rates, at_prevalence
from ..solvers import (
    History,
    LinearModel,
    Task,
    best_threshold,
    rates_at,
    sharpen_and_select,
    solve_with_care,
)
from ..streams import ArrayStream, Units, Whitener, effective_points
from .kept_constraints import complaint_about
from .labels import positive_label
from .outcome import Coefficients, Outcome
from .settings import Settings
from .training_set import TrainingSet, training_set
from .validation import CheckedRows, Labels
from .weighing import require_both_classes, share_of_positives, with_mean_weight_one

# Turning the columns pays where they are few, and where rows are many enough to tell signal from noise in all.
WHITENED_COLUMNS = 256
WHITENED_ROWS = 50_000


class Fitted(NamedTuple):
    """What a fit came to, in the units it was made in; scores speak for the positive class."""

    units: Units
    model: LinearModel
    threshold: float
    rates: Rates
    stages: tuple[str, ...]

    def in_user_units(self) -> LinearModel:
        """The model of the user's columns, the threshold moved to 0."""
        coef, intercept = self.units.to_user_units(*self.model)
        return LinearModel(coef, intercept - self.threshold)

    def outcome(
        self, classes: NDArray[Any], pos_label: Any, measure: Measure, points: tuple[float, float]
    ) -> Outcome:
        """The same in the user's terms; ``points`` are those of each class that the rates were seen on."""
        coef, intercept = self.in_user_units()
        sign = positive_sign(classes, pos_label)
        models = Coefficients(sign * coef[np.newaxis, :], np.array([sign * intercept]))
        complaint = complaint_about(measure, self.rates, points)
        return Outcome(classes, models, self.units.scale, self.rates, self.stages, complaint)


@dataclass(frozen=True)
class TwoClassFit:
    """All that a fit of two classes needs, checked."""

    rows: TrainingSet
    settings: Settings
    pos_label: Any
    target_prevalence: float | None

    n_models = 1

    @classmethod
    def of(
        cls,
        checked: CheckedRows,
        labels: Labels,
        sample_weight: Any,
        settings: Settings,
        *,
        pos_label: Any,
        target_prevalence: float | None,
        groups: Any,
    ) -> TwoClassFit:
        rows = training_set(checked, labels, sample_weight, pos_label=pos_label, groups=groups)
        rows = with_mean_weight_one(rows)
        require_both_classes(rows)
        fit = cls(rows, settings, pos_label, target_prevalence)
        settings.solver.check(fit.learned_measure(), share_of_positives(rows))
        return fit

    @property
    def classes(self) -> NDArray[Any]:
        return self.rows.classes

    def learned_measure(self) -> Measure:
        """The measure at the prevalence it is to be good at."""
        measure, target = self.settings.measure, self.target_prevalence
        if target is None or math.isclose(target, share_of_positives(self.rows), rel_tol=1e-6):
            return measure
        return at_prevalence(measure, target)

    def learn(self, before: Coefficients | None, rng: np.random.Generator, history: History) -> Outcome:
        sign = positive_sign(self.classes, self.pos_label)
        model = None if before is None else LinearModel(sign * before.coef[0], sign * float(before.intercept[0]))
        settings = dataclasses.replace(self.settings, measure=self.learned_measure())
        fitted = fit_two_classes(self.rows, settings, model, rng, history)
        if self.target_prevalence is not None:
            fitted = fitted._replace(rates=fitted.rates._replace(prevalence=self.target_prevalence))
        points = effective_points(self.rows.signed_weights)
        return fitted.outcome(self.classes, self.pos_label, self.settings.measure, points)


def positive_sign(classes: NDArray[Any], pos_label: Any) -> float:
    """Scores speak for the positive class, scikit-learn's decision function for ``classes_[1]``."""
    return 1.0 if positive_label(classes, pos_label) == classes[1] else -1.0


def fit_two_classes(
    rows: TrainingSet, settings: Settings, before: LinearModel | None, rng: np.random.Generator, history: History
) -> Fitted:
    """The fit that the settings ask for; ``before`` is the model to go on from, in the user's units."""
    fit = _fit_plain if settings.sharpen is None else _fit_sharpened
    return fit(rows, settings, before, rng, history)


def choose_threshold(
    scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure, *, tune: bool
) -> tuple[float, Rates]:
    """The best threshold and the rates at it, or those at 0."""
    if not tune:
        return 0.0, rates_at(scores, signed_weights)
    best = best_threshold(scores, signed_weights, measure)
    return best.threshold, best.rates


def _fit_plain(
    rows: TrainingSet, settings: Settings, before: LinearModel | None, rng: np.random.Generator, history: History
) -> Fitted:
    """The paper's algorithm, and the best threshold on the training scores."""
    measure = settings.measure
    units = rows.checked.standardizer(active=settings.standardize)
    stream = ArrayStream(rows.X, rows.signed_weights, units, rng, low_memory=settings.low_memory)
    initial = in_units(before, units)
    task = Task(measure, stream.n_features, stream.dtype, l2=settings.alpha, initial=initial, history=history)
    model, scores = solve_with_care(settings.solver, task, stream)
    threshold, rates = choose_threshold(scores, stream.signed_weights, measure, tune=settings.tunes_threshold)
    return Fitted(units, model, threshold, rates, ())


def _fit_sharpened(
    rows: TrainingSet, settings: Settings, before: LinearModel | None, rng: np.random.Generator, history: History
) -> Fitted:
    """A start, sharpening, and the choice between stages by rows held out."""
    assert settings.sharpen is not None
    units, whitened = learning_units(rows.checked, settings.standardize, rng)
    stream = ArrayStream(
        rows.X, rows.signed_weights, units, rng, groups=rows.groups, low_memory=settings.low_memory
    )
    selected = sharpen_and_select(
        stream,
        settings.measure,
        settings.start,
        settings.sharpen,
        whitened=whitened,
        initial=in_units(before, units),
        l2=settings.alpha,
        held_out_share=settings.held_out_share,
        rng=rng,
        history=history,
        threads=settings.threads,
    )
    return Fitted(units, selected.model, selected.threshold, selected.rates, selected.stages)


def learning_units(rows: CheckedRows, standardize: bool, rng: np.random.Generator) -> tuple[Units, bool]:
    """The units that sharpening learns in, and whether columns are turned in them."""
    X, standardizer = rows.X, rows.standardizer(active=standardize)
    whitened = (
        standardize and not sparse.issparse(X) and X.shape[0] >= WHITENED_ROWS and X.shape[1] <= WHITENED_COLUMNS
    )
    return (Whitener(standardizer, X, rng) if whitened else standardizer), whitened


def in_units(model: LinearModel | None, units: Units) -> LinearModel | None:
    """A model of the user's columns in the units of a fit."""
    return None if model is None else LinearModel(*units.to_standard_units(*model))
