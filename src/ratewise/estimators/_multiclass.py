"""A fit of more than two classes to rows in memory, for the macro average of the measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..solvers.history import History
from ..solvers.multiclass import ClassRates, MulticlassModel, best_offsets
from ..training import ArraySource, FitResult
from ..training.labelled import LabelledRows
from ..training.multiclass import SelectedMany, learn_jointly, one_against_the_rest, predicted_classes
from ..training.trainer import may_whiten
from ..transforms import Transform
from ._fits import Coefficients, FitOptions, Fitted
from ._settings import first_constraint_message
from ._validation import CheckedLabels, CheckedRows, ManyClassSet, many_class_set, require_no_positive


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
        settings = self.options.settings
        sharpens = settings.sharpen is not None
        fit = self._jointly if sharpens else self._one_against_the_rest
        transform = self._transform(rng, whiten=sharpens)
        selected = fit(transform, _transformed(before, transform), rng, history)
        rates = selected.rates.by_class()
        counts = np.bincount(self.rows.codes, minlength=self.n_models).astype(float)
        points = [(mine, counts.sum() - mine) for mine in counts.tolist()]
        models = [transform.inverse_coef(w, float(b)) for w, b in zip(*selected.model, strict=True)]
        result = FitResult(
            np.array([w for w, _ in models]),
            np.array([b for _, b in models]),
            transform.scale,
            rates,
            selected.stages,
            settings.solver,
            points,
        )
        names = (f"class {label!r}" for label in self.rows.classes.tolist())
        message = first_constraint_message(settings.measure, names, rates, points)
        return Fitted(self.rows.classes, result.checked(), message)

    def _transform(self, rng: np.random.Generator, *, whiten: bool) -> Transform:
        checked, standardize = self.rows.checked, self.options.settings.standardize
        source = ArraySource(checked.X, np.ones(checked.number), rng, standardizer=checked.statistics)
        whiten = whiten and standardize and may_whiten(source.statistics())
        return source.transform(standardize=standardize, whiten=whiten)

    def _one_against_the_rest(
        self, transform: Transform, initial: MulticlassModel | None, rng: np.random.Generator, history: History
    ) -> SelectedMany:
        """The paper's algorithm for every class, the highest log odds win, moved to the best macro average."""
        settings = self.options.settings
        rows = self._transformed_rows(transform, rng)
        model = one_against_the_rest(
            rows,
            settings.measure,
            settings.solver,
            calibrate=settings.tune,
            l2=settings.l2,
            initial=initial,
            rng=rng,
            history=history,
            threads=settings.threads,
        )
        codes, weights = rows.codes, rows.weights
        if settings.tune:
            offsets = best_offsets(rows.scores(*model), codes, weights, settings.measure)
            model = model._replace(intercepts=model.intercepts + offsets)
        rates = ClassRates.of_predictions(codes, predicted_classes(model, rows), weights, rows.n_classes)
        return SelectedMany(model, rates, ())

    def _jointly(
        self, transform: Transform, initial: MulticlassModel | None, rng: np.random.Generator, history: History
    ) -> SelectedMany:
        """All classes at once, from logistic regression, or from the solver that the user named."""
        settings = self.options.settings
        assert settings.sharpen is not None

        def by_the_solver(rows: LabelledRows, own_rng: np.random.Generator) -> MulticlassModel:
            assert settings.start is not None
            return one_against_the_rest(
                rows,
                settings.measure,
                settings.start,
                calibrate=True,
                l2=settings.l2,
                initial=initial,
                rng=own_rng,
                history=History(),
            )

        passes = settings.sharpen.passes
        return learn_jointly(
            self._transformed_rows(transform, rng),
            settings.measure,
            start=None if settings.start is None else by_the_solver,
            initial=initial,
            passes=None if passes == "auto" else int(passes),
            l2=settings.l2,
            validation_fraction=settings.validation_fraction,
            rng=rng,
            history=history,
            threads=settings.threads,
        )

    def _transformed_rows(self, transform: Transform, rng: np.random.Generator) -> LabelledRows:
        rows = self.rows
        return LabelledRows(
            rows.X,
            rows.codes,
            rows.weights,
            rows.classes.size,
            transform,
            rng,
            groups=rows.groups,
            low_memory=self.options.low_memory,
        )


def _transformed(before: Coefficients | None, transform: Transform) -> MulticlassModel | None:
    """Return models of the user's columns as models of transformed ones."""
    if before is None:
        return None
    found = [transform.transform_coef(w, float(b)) for w, b in zip(*before, strict=True)]
    return MulticlassModel(np.array([w for w, _ in found]), np.array([b for _, b in found]))
