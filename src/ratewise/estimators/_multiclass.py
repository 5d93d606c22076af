"""A fit of more than two classes to rows in memory, for the macro average of the measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..solvers.base import History
from ..solvers.calibrate import class_calibrations
from ..solvers.certify import bound_message, rates_interval
from ..solvers.multiclass import MulticlassModel
from ..training import ArraySource, FitResult
from ..training.labelled import LabelledRows
from ..training.multiclass import ClassScores, learn_classes
from ..training.trainer import may_whiten
from ..transforms import Transform
from ._fits import Coefficients, FitOptions, Fitted, first_message
from ._rows import CheckedRows
from ._targets import CheckedLabels, ManyClassSet, many_class_set, require_no_positive

_CALIBRATED_ROWS = 10_000


@dataclass(frozen=True)
class MulticlassFit:
    """All that a fit of many classes needs, checked."""

    rows: ManyClassSet
    options: FitOptions

    @classmethod
    def of(
        cls, checked: CheckedRows, labels: CheckedLabels, sample_weight: Any, options: FitOptions
    ) -> MulticlassFit:
        rows = many_class_set(checked, labels, sample_weight, groups=options.groups)
        require_no_positive(options.pos_label, f"{rows.classes.size} classes")
        totals = np.bincount(rows.codes, weights=rows.weights, minlength=rows.classes.size)
        if not totals.all():
            empty = rows.classes[totals == 0].tolist()[0]
            raise ValueError(f"All rows of class {empty!r} have sample_weight 0: leave them out, or weigh them.")
        settings = options.settings
        for total in totals:
            settings.solver.check(settings.measure, float(total / totals.sum()))
        return cls(rows._replace(weights=rows.weights * (rows.weights.size / totals.sum())), options)

    @property
    def n_models(self) -> int:
        return int(self.rows.classes.size)

    def learn(self, before: Coefficients | None, rng: np.random.Generator, history: History) -> Fitted:
        rows, settings = self.rows, self.options.settings
        transform = self._transform(rng)
        labelled = LabelledRows(
            rows.X,
            rows.codes,
            rows.weights,
            rows.classes.size,
            transform,
            rng,
            groups=rows.groups,
            low_memory=self.options.low_memory,
        )
        selected = learn_classes(labelled, settings, _transformed(before, transform), rng, history)
        rates = selected.rates.by_class()
        counts = np.bincount(rows.codes, minlength=self.n_models).astype(float)
        points = [(mine, counts.sum() - mine) for mine in counts.tolist()]
        models = [transform.inverse_coef(w, float(b)) for w, b in zip(*selected.model, strict=True)]
        coef, intercept = np.array([w for w, _ in models]), np.array([b for _, b in models])
        fitted = 0 if settings.sharpen is not None else coef.shape[1] + 1
        measure, seen = settings.measure, list(zip(rates, points, strict=True))
        result = FitResult(
            coef,
            intercept,
            transform.scale,
            rates,
            selected.stages,
            selected.solver,
            [rates_interval(one, measure, mine, fitted) for one, mine in seen],
            class_calibrations(*(selected.validated or self._some_scores(coef, intercept, rng))),
        )
        names = (f"class {label!r}" for label in rows.classes.tolist())
        messages = (bound_message(measure, one, mine) for one, mine in seen)
        return Fitted(rows.classes, result.checked(), first_message(names, messages))

    def _some_scores(
        self, coef: NDArray[np.float64], intercept: NDArray[np.float64], rng: np.random.Generator
    ) -> ClassScores:
        """Score a sample of the rows that were learned from."""
        rows = self.rows
        some = np.sort(rng.permutation(rows.codes.size)[:_CALIBRATED_ROWS])
        scores = np.asarray(rows.X[some] @ coef.T) + intercept
        return ClassScores(scores, rows.codes[some], rows.weights[some])

    def _transform(self, rng: np.random.Generator) -> Transform:
        checked, settings = self.rows.checked, self.options.settings
        source = ArraySource(checked.X, np.ones(checked.number), rng, standardizer=checked.statistics)
        whiten = settings.sharpen is not None and settings.standardize and may_whiten(source.statistics())
        return source.transform(standardize=settings.standardize, whiten=whiten)


def _transformed(before: Coefficients | None, transform: Transform) -> MulticlassModel | None:
    """Return models of the user's columns as models of transformed ones."""
    if before is None:
        return None
    found = [transform.transform_coef(w, float(b)) for w, b in zip(*before, strict=True)]
    return MulticlassModel(np.array([w for w, _ in found]), np.array([b for _, b in found]))
