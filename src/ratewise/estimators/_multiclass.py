"""A fit of more than two classes, for a measure of the whole confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..counts import against_the_rest
from ..decisions.certify import bound_message
from ..decisions.intervals import warn_of_unknown_rates
from ..measures import ConstrainedClasses, confusion_measure, one_vs_rest_measure
from ..solvers.base import History
from ..solvers.state import LinearModels
from ..training import ArraySource, FitConfig, FitResult, RowSource
from ..training.multiclass import ClassTrainer
from ..training.targets import class_targets, codes_of, weights_of
from ._fits import FitOptions, Fitted, first_message
from ._rows import CheckedRows
from ._settings import shared_basis
from ._targets import CheckedLabels, ManyClassSet, many_class_set, require_no_positive


@dataclass(frozen=True)
class MulticlassFit:
    """Everything that a fit of many classes needs, checked."""

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
        """Return the fit to rows with their targets."""
        codes, weights = codes_of(targets), weights_of(targets).astype(np.float64)
        kept = weights > 0
        if not kept.all():
            X, codes, weights = X[kept], codes[kept], weights[kept]
        require_all_classes(classes, np.bincount(codes, weights, minlength=classes.size), settings)
        rows = ManyClassSet(CheckedRows(X, None), codes, weights * (weights.size / weights.sum()), classes)
        return cls(rows, FitOptions(settings, settings.of_many, low_memory=False, pos_label=None, groups=None))

    @property
    def n_models(self) -> int:
        return int(self.rows.classes.size)

    def learn(self, before: LinearModels | None, rng: np.random.Generator, history: History) -> Fitted:
        rows, options = self.rows, self.options
        settings = of_many_classes(options.settings, options.measure, rows.classes)
        if settings.basis is not None:
            settings = replace(
                settings, basis=shared_basis(settings.basis, rows.X.shape[1], f"{self.n_models} classes")
            )
        source = ArraySource(
            rows.X,
            class_targets(rows.codes, rows.weights),
            rng,
            n_classes=self.n_models,
            standardizer=rows.checked.statistics,
            groups=rows.groups,
            splits=rows.splits,
            low_memory=options.low_memory,
            threads=settings.threads,
        )
        return fitted_many(ClassTrainer(settings, history, before).fit(source), source, rows.classes, settings)


def require_all_classes(classes: NDArray[Any], totals: NDArray[Any], settings: FitConfig) -> None:
    """Raise an error for a class whose rows have no weight, and for a measure that does not suit the solver."""
    if not totals.all():
        empty = classes[totals == 0].tolist()[0]
        raise ValueError(f"All rows of class {empty!r} have sample_weight 0: leave them out, or weigh them.")
    for total in totals:
        settings.solver.check(settings.measure, float(total / totals.sum()))


def require_classes_of(source: RowSource, classes: NDArray[Any], settings: FitConfig) -> None:
    """Check rows that are not in memory as :func:`require_all_classes` does."""
    of_classes = source.statistics().of_classes
    assert of_classes is not None
    require_all_classes(classes, of_classes.weights, settings)


def of_many_classes(settings: FitConfig, measure: Any, classes: NDArray[Any]) -> FitConfig:
    """Return the settings of a fit of more than two classes for the measure that the user named."""
    found = confusion_measure(measure, classes)
    if isinstance(found, ConstrainedClasses):
        if settings.sharpen is None:
            raise ValueError(
                f"{found.label}: bounds on classes need validation rows, which a plain solver has none of. Leave "
                "sharpen='auto' and threshold='tune'."
            )
        settings = replace(settings, measure=one_vs_rest_measure(found))
    return replace(settings, of_many=found)


def fitted_many(result: FitResult, source: RowSource, classes: NDArray[Any], settings: FitConfig) -> Fitted:
    """Return the result with the names of its classes, and warn about rates that few rows determine."""
    of_classes = source.statistics().of_classes
    assert of_classes is not None
    points, names = against_the_rest(of_classes.rows), [f"class {label!r}" for label in classes.tolist()]
    for name, mine in zip(names, points, strict=True):
        warn_of_unknown_rates(mine, f"{name}: ")
    seen = zip(result.rates, points, strict=True)
    messages = (bound_message(settings.measure, one, mine) for one, mine in seen)
    return Fitted(classes, result, result.message or first_message(names, messages))
