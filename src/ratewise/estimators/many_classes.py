"""A fit of more than two classes to rows in memory, for the macro average of the measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Rates
from ..solvers import (
    ClassRates,
    History,
    ManyModel,
    SelectedMany,
    best_offsets,
    learn_jointly,
    one_against_the_rest,
)
from ..streams import LabelledRows, Units
from .kept_constraints import first_complaint
from .labels import require_no_positive
from .outcome import Coefficients, Outcome
from .settings import Settings
from .training_set import ManyClassSet, many_class_set
from .two_classes import learning_units
from .validation import CheckedRows, Labels


@dataclass(frozen=True)
class ManyClassFit:
    """All that a fit of many classes needs, checked."""

    rows: ManyClassSet
    settings: Settings

    @classmethod
    def of(
        cls,
        checked: CheckedRows,
        labels: Labels,
        sample_weight: Any,
        settings: Settings,
        *,
        pos_label: Any,
        groups: Any,
    ) -> ManyClassFit:
        rows = many_class_set(checked, labels, sample_weight, groups=groups)
        require_no_positive(pos_label, f"{rows.classes.size} classes")
        totals = np.bincount(rows.codes, weights=rows.weights, minlength=rows.classes.size)
        if not totals.all():
            empty = rows.classes[totals == 0].tolist()[0]
            raise ValueError(f"All rows of class {empty!r} have sample_weight 0: leave them out, or weigh them.")
        for total in totals:
            settings.solver.check(settings.measure, float(total / totals.sum()))
        return cls(rows._replace(weights=rows.weights * (rows.weights.size / totals.sum())), settings)

    @property
    def classes(self) -> NDArray[Any]:
        return self.rows.classes

    @property
    def n_models(self) -> int:
        return int(self.rows.classes.size)

    def learn(self, before: Coefficients | None, rng: np.random.Generator, history: History) -> Outcome:
        fit = self._one_against_the_rest if self.settings.sharpen is None else self._jointly
        units, selected = fit(before, rng, history)
        rates = selected.rates.by_class()
        return Outcome(
            self.classes,
            in_user_units(selected.model, units),
            units.scale,
            rates,
            selected.stages,
            self._complaint(rates),
        )

    def _one_against_the_rest(
        self, before: Coefficients | None, rng: np.random.Generator, history: History
    ) -> tuple[Units, SelectedMany]:
        """The paper's algorithm for every class, the highest log odds win, moved to the best macro average."""
        settings = self.settings
        units = self.rows.checked.standardizer(active=settings.standardize)
        rows = self._rows_in(units, rng)
        model = one_against_the_rest(
            rows,
            settings.measure,
            settings.solver,
            calibrate=settings.tunes_threshold,
            l2=settings.alpha,
            initial=in_units(before, units),
            rng=rng,
            history=history,
            threads=settings.threads,
        )
        codes, weights = rows.codes, rows.weights
        if settings.tunes_threshold:
            offsets = best_offsets(rows.scores(*model), codes, weights, settings.measure)
            model = model._replace(intercepts=model.intercepts + offsets)
        rates = ClassRates.of_predictions(codes, model.called(rows), weights, rows.n_classes)
        return units, SelectedMany(model, rates, ())

    def _jointly(
        self, before: Coefficients | None, rng: np.random.Generator, history: History
    ) -> tuple[Units, SelectedMany]:
        """All classes at once, from logistic regression, or from the solver that the user named."""
        settings = self.settings
        assert settings.sharpen is not None
        units, _ = learning_units(self.rows.checked, settings.standardize, rng)
        initial = in_units(before, units)

        def by_the_solver(rows: LabelledRows, own_rng: np.random.Generator) -> ManyModel:
            assert settings.start is not None
            return one_against_the_rest(
                rows,
                settings.measure,
                settings.start,
                calibrate=True,
                l2=settings.alpha,
                initial=initial,
                rng=own_rng,
                history=History(),
            )

        passes = settings.sharpen.passes
        return units, learn_jointly(
            self._rows_in(units, rng),
            settings.measure,
            start=None if settings.start is None else by_the_solver,
            initial=initial,
            passes=None if passes == "auto" else int(passes),
            l2=settings.alpha,
            held_out_share=settings.held_out_share,
            rng=rng,
            history=history,
            threads=settings.threads,
        )

    def _rows_in(self, units: Units, rng: np.random.Generator) -> LabelledRows:
        rows = self.rows
        return LabelledRows(
            rows.X,
            rows.codes,
            rows.weights,
            rows.classes.size,
            units,
            rng,
            groups=rows.groups,
            low_memory=self.settings.low_memory,
        )

    def _complaint(self, rates: list[Rates]) -> str | None:
        counts = np.bincount(self.rows.codes, minlength=self.n_models).astype(float)
        names = (f"class {label!r}" for label in self.classes.tolist())
        points = ((mine, counts.sum() - mine) for mine in counts)
        return first_complaint(self.settings.measure, names, rates, points)


def in_user_units(model: ManyModel, units: Units) -> Coefficients:
    """Models of all classes, of the user's columns."""
    found = [units.to_user_units(w, float(b)) for w, b in zip(*model, strict=True)]
    return Coefficients(np.array([w for w, _ in found]), np.array([b for _, b in found]))


def in_units(before: Coefficients | None, units: Units) -> ManyModel | None:
    """The other way round."""
    if before is None:
        return None
    found = [units.to_standard_units(w, float(b)) for w, b in zip(*before, strict=True)]
    return ManyModel(np.array([w for w, _ in found]), np.array([b for _, b in found]))
