"""A fit of several labels, each of which a row may have or not: one model a label."""

from __future__ import annotations

import dataclasses
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..measures import Rates
from ..solvers import History, LinearModel
from ..streams import effective_points
from .kept_constraints import first_complaint
from .labels import require_no_positive
from .outcome import Coefficients, Outcome
from .settings import Settings
from .training_set import TrainingSet, group_numbers
from .two_classes import fit_two_classes
from .validation import CheckedRows, checked_weights
from .weighing import share_of_positives, with_mean_weight_one


@dataclass(frozen=True)
class ManyLabelFit:
    """All that a fit of several labels needs, checked."""

    checked: CheckedRows
    indicator: NDArray[np.bool_]
    weights: NDArray[np.float32]
    groups: NDArray[np.intp] | None
    settings: Settings

    @classmethod
    def of(
        cls, checked: CheckedRows, y: Any, sample_weight: Any, settings: Settings, *, pos_label: Any, groups: Any
    ) -> ManyLabelFit:
        require_no_positive(pos_label, "an indicator matrix of labels")
        indicator = indicator_array(y, checked.number)
        numbers = group_numbers(groups, checked.number)
        weights = np.ones(checked.number)
        if sample_weight is not None:
            weights = checked_weights(sample_weight, checked.X)
            kept = weights > 0
            checked, indicator, weights = checked.where(kept), indicator[kept], weights[kept]
            numbers = None if numbers is None else numbers[kept]
        fit = cls(checked, indicator, weights.astype(np.float32), numbers, settings)
        for k in fit.varying():
            settings.solver.check(settings.measure, share_of_positives(fit.rows_of(k)))
        return fit

    @property
    def classes(self) -> NDArray[Any]:
        return np.arange(self.n_models)

    @property
    def n_models(self) -> int:
        return int(self.indicator.shape[1])

    def varying(self) -> list[int]:
        """The labels that some rows have and some have not."""
        some, every = self.indicator.any(axis=0), self.indicator.all(axis=0)
        return np.flatnonzero(some & ~every).tolist()

    def rows_of(self, k: int) -> TrainingSet:
        signed = np.where(self.indicator[:, k], self.weights, -self.weights)
        return with_mean_weight_one(TrainingSet(self.checked, signed, np.array([0, 1]), self.groups))

    def learn(self, before: Coefficients | None, rng: np.random.Generator, history: History) -> Outcome:
        varying = self.varying()
        self._tell_of_constant_labels(varying)
        diaries = [history.branch() for _ in range(self.n_models)]
        seeds = rng.spawn(self.n_models)
        alone = dataclasses.replace(self.settings, n_jobs=1)

        def learned(k: int) -> tuple[LinearModel, NDArray[np.float64], Rates, tuple[str, ...]]:
            model = None if before is None else LinearModel(before.coef[k], float(before.intercept[k]))
            fitted = fit_two_classes(self.rows_of(k), alone, model, seeds[k], diaries[k])
            return fitted.in_user_units(), fitted.units.scale, fitted.rates, fitted.stages

        with ThreadPoolExecutor(self.settings.threads) as pool:
            found = dict(zip(varying, pool.map(learned, varying), strict=True))
        for k, diary in enumerate(diaries):
            history.join(diary, label=float(k))
        return self._outcome(found)

    def _outcome(self, found: dict[int, Any]) -> Outcome:
        n_features = self.checked.X.shape[1]
        coef, intercept = np.zeros((self.n_models, n_features)), np.empty(self.n_models)
        rates, stages, spread = [], [], np.ones(n_features)
        for k in range(self.n_models):
            if k in found:
                (coef[k], intercept[k]), spread, mine, stage = found[k]
                rates.append(mine)
                stages.append(stage)
            else:
                always = bool(self.indicator[0, k])
                intercept[k] = 1.0 if always else -1.0
                rates.append(Rates(float(always), float(not always), float(always)))
                stages.append(())
        return Outcome(
            self.classes,
            Coefficients(coef, intercept),
            spread,
            rates,
            tuple(stages),
            self._complaint(sorted(found), rates),
            multilabel=True,
        )

    def _complaint(self, varying: list[int], rates: list[Rates]) -> str | None:
        return first_complaint(
            self.settings.measure,
            (f"label {k}" for k in varying),
            (rates[k] for k in varying),
            (effective_points(self.rows_of(k).signed_weights) for k in varying),
        )

    def _tell_of_constant_labels(self, varying: list[int]) -> None:
        for k in sorted(set(range(self.n_models)) - set(varying)):
            value = int(self.indicator[0, k])
            warnings.warn(
                f"Label {k} is {value} in all training rows, so {value} is predicted for every row.",
                UserWarning,
                stacklevel=4,
            )


def indicator_array(y: Any, n_rows: int) -> NDArray[np.bool_]:
    """An indicator matrix, dense or sparse, as an array with a row a row."""
    dense = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if dense.shape[0] != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} rows in X, "
            f"{dense.shape[0]} rows of labels in y."
        )
    return dense.astype(bool)
