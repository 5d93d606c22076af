"""A fit of more than two classes, for a measure of the whole confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..counts import against_the_rest
from ..decisions.calibrate import class_calibrations
from ..decisions.certify import bound_message
from ..decisions.intervals import rates_interval, warn_of_unknown_rates
from ..measures import ConstrainedClasses, confusion_measure, one_vs_rest_measure
from ..solvers.base import History
from ..solvers.state import LinearModels
from ..training import ArraySource, FitConfig, FitResult
from ..training.labelled import MulticlassRows
from ..training.multiclass import SelectedMany, learn_classes
from ..training.trainer import may_whiten
from ..transforms import Transform
from ._fits import FitOptions, Fitted, first_message
from ._rows import CheckedRows
from ._settings import shared_basis
from ._targets import CheckedLabels, ManyClassSet, many_class_set, require_no_positive


@dataclass(frozen=True)
class MulticlassFit:
    """All that a fit of many classes needs, checked."""

    rows: ManyClassSet
    options: FitOptions

    @classmethod
    def of(
        cls, checked: CheckedRows, labels: CheckedLabels, sample_weight: Any, options: FitOptions
    ) -> MulticlassFit:
        rows = many_class_set(checked, labels, sample_weight, groups=options.groups, splits=options.splits)
        require_no_positive(options.pos_label, f"{rows.classes.size} classes")
        if options.groups is not None and isinstance(confusion_measure(options.measure), ConstrainedClasses):
            raise ValueError(
                "Bounds on classes take rows for independent here: leave out groups=, or use MeasureMaximizer."
            )
        totals = np.bincount(rows.codes, weights=rows.weights, minlength=rows.classes.size)
        require_all_classes(rows.classes, totals, options.settings)
        return cls(rows._replace(weights=rows.weights * (rows.weights.size / totals.sum())), options)

    @classmethod
    def of_targets(
        cls, X: Any, targets: NDArray[np.float32], classes: NDArray[Any], settings: FitConfig
    ) -> MulticlassFit:
        """Return the fit to rows with the number of each row's class, and its weight."""
        kept = targets[:, 1] > 0
        if not kept.all():
            X, targets = X[kept], targets[kept]
        codes, weights = targets[:, 0].astype(np.intp), targets[:, 1].astype(np.float64)
        require_all_classes(classes, np.bincount(codes, weights, minlength=classes.size), settings)
        rows = ManyClassSet(CheckedRows(X, None), codes, weights * (weights.size / weights.sum()), classes)
        return cls(rows, FitOptions(settings, settings.of_many, low_memory=False, pos_label=None, groups=None))

    @property
    def n_models(self) -> int:
        return int(self.rows.classes.size)

    def learn(self, before: LinearModels | None, rng: np.random.Generator, history: History) -> Fitted:
        rows = self.rows
        transform = self._transform(rng)
        stored = MulticlassRows(
            rows.X,
            rows.codes,
            rows.weights,
            rows.classes.size,
            transform,
            rng,
            groups=rows.groups,
            splits=rows.splits,
            low_memory=self.options.low_memory,
        )
        settings = of_many_classes(self.options.settings, self.options.measure, rows.classes)
        initial = None if before is None else before.mapped(transform.transform_coef)
        selected = learn_classes(stored, settings, initial, rng, history)
        counts = np.bincount(rows.codes, minlength=self.n_models).astype(float)
        return fitted_many(selected, transform, rows.classes, counts, settings)

    def _transform(self, rng: np.random.Generator) -> Transform:
        checked, settings = self.rows.checked, self.options.settings
        # Knots are as many as the rarest class can tell.
        rarest = np.bincount(self.rows.codes).argmin()
        signs = np.where(self.rows.codes == rarest, 1.0, -1.0)
        source = ArraySource(checked.X, signs, rng, standardizer=checked.statistics)
        if settings.basis is not None:
            source = source.coded(shared_basis(settings.basis, checked.X.shape[1], f"{self.n_models} classes"))
        whiten = settings.sharpen is not None and settings.standardize and may_whiten(source.statistics())
        return source.transform(standardize=settings.standardize, whiten=whiten)


def require_all_classes(classes: NDArray[Any], totals: NDArray[Any], settings: FitConfig) -> None:
    """Refuse a class whose rows have no weight, and a measure that the solver is not for."""
    if not totals.all():
        empty = classes[totals == 0].tolist()[0]
        raise ValueError(f"All rows of class {empty!r} have sample_weight 0: leave them out, or weigh them.")
    for total in totals:
        settings.solver.check(settings.measure, float(total / totals.sum()))


def of_many_classes(settings: FitConfig, measure: Any, classes: NDArray[Any]) -> FitConfig:
    """Return the settings of a fit of more than two classes to a measure as the user named it."""
    found = confusion_measure(measure, classes)
    if isinstance(found, ConstrainedClasses):
        if settings.sharpen is None:
            raise ValueError(
                f"{found.label}: bounds on classes need validation rows, which a plain solver has none of. Leave "
                "sharpen='auto' and threshold='tune'."
            )
        settings = replace(settings, measure=one_vs_rest_measure(found))
    return replace(settings, of_many=found)


def fitted_many(
    selected: SelectedMany,
    transform: Transform,
    classes: NDArray[Any],
    counts: NDArray[np.float64],
    settings: FitConfig,
) -> Fitted:
    """Return the outcome in the user's columns; ``counts`` are the rows of each class."""
    coef, intercept = selected.model.mapped(transform.inverse_coef)
    rates, points = selected.rates_by_class(), against_the_rest(counts)
    measure, seen = settings.measure, list(zip(rates, points, strict=True))
    fitted = 0 if settings.sharpen is not None else coef.shape[1] + 1
    result = FitResult(
        coef,
        intercept,
        transform.scale,
        rates,
        selected.stages,
        selected.solver,
        [rates_interval(one, measure, mine, fitted) for one, mine in seen],
        class_calibrations(*selected.validated),
        basis=getattr(transform, "basis", None),
        centre=transform.centre,
        table=selected.table,
    )
    names = [f"class {label!r}" for label in classes.tolist()]
    for name, mine in zip(names, points, strict=True):
        warn_of_unknown_rates(mine, f"{name}: ")
    messages = (bound_message(measure, one, mine) for one, mine in seen)
    return Fitted(classes, result.checked(), selected.message or first_message(names, messages))
