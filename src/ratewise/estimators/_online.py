"""What ``partial_fit`` keeps from call to call, for two classes and for many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..measures import Rates
from ..solvers.base import History
from ..solvers.calibrate import Calibration, log_odds_line, stacked
from ..solvers.certify import bound_message, rates_interval
from ..solvers.state import LinearModel
from ..solvers.threshold import effective_points, rates_at
from ..training import FitConfig, FitResult
from ..training.memory import in_threads
from ..training.online import OnlineFit
from ._fits import Coefficients, Fitted, first_message, fitted_two_classes, positive_sign
from ._rows import CheckedRows
from ._targets import ManyClassSet, TrainingSet, checked_labels, many_class_set, require_no_positive, training_set


class OnlineClassifier:
    """One run for two classes; for more, one run for each against the rest, where the highest log odds win.

    ``before`` are the models to begin with; ``fixed`` are the measure, the solver and the positive class as the
    user gave them, which must stay the same.
    """

    def __init__(
        self,
        settings: FitConfig,
        n_features: int,
        classes: NDArray[Any],
        before: Coefficients | None,
        random_state: Any,
        fixed: tuple[Any, ...],
        *,
        verbose: bool = False,
    ):
        self._classes, self._fixed = classes, fixed
        models: list[LinearModel | None] = [None] * (1 if classes.size == 2 else classes.size)
        if before is not None:
            sign = positive_sign(classes, fixed[-1]) if classes.size == 2 else 1.0
            models = [LinearModel(sign * w, sign * float(b)) for w, b in zip(*before, strict=True)]
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        self._runs = [OnlineFit(settings, n_features, model, seed, verbose=verbose) for model in models]

    def rows(self, checked: CheckedRows, y: Any, sample_weight: Any, pos_label: Any) -> list[TrainingSet]:
        """Check a batch; return its rows for every run."""
        labels = checked_labels(y, checked.number)
        if self._classes.size == 2:
            return [training_set(checked, labels, sample_weight, pos_label=pos_label, classes=self._classes)]
        require_no_positive(pos_label, f"{self._classes.size} classes")
        rows: ManyClassSet = many_class_set(checked, labels, sample_weight, classes=self._classes)
        return [rows.against_the_rest(k) for k in range(len(self._runs))]

    def check(self, rows: list[TrainingSet], settings: FitConfig, fixed: tuple[Any, ...]) -> None:
        """Refuse what the fit so far cannot go on with, before anything is changed."""
        for run, mine in zip(self._runs, rows, strict=True):
            settings.solver.check(settings.measure, run.prevalence_with(mine.X, mine.signed_weights))
        if fixed != self._fixed:
            raise ValueError(
                "measure, solver and pos_label cannot change between calls of partial_fit: they were "
                f"{self._fixed} and are {fixed} now. Begin anew with a clone of the classifier."
            )

    def learn(self, rows: list[TrainingSet], threads: int) -> None:
        jobs = list(zip(self._runs, rows, strict=True))
        in_threads(lambda job: job[0].learn(job[1].X, job[1].signed_weights), jobs, threads)

    @property
    def history(self) -> History:
        if len(self._runs) == 1:
            return self._runs[0].history
        together = History()
        for k, run in enumerate(self._runs):
            together.join(run.history, **{"class": float(k)})
        return together

    def fitted(self, settings: FitConfig) -> Fitted:
        if len(self._runs) == 1:
            result = self._runs[0].result()
            return fitted_two_classes(result, self._classes, self._fixed[-1])
        models = [_log_odds(run) if settings.tune else run.model() for run in self._runs]
        coef = np.array([one.weights for one in models])
        intercept = np.array([one.intercept for one in models])
        rates, points = [], []
        for k, run in enumerate(self._runs):
            sample, signed_weights = run.reservoir.sample()
            rates.append(_rates_of(k, np.asarray(sample @ coef.T) + intercept, signed_weights))
            points.append(effective_points(signed_weights))
        names = (f"class {label!r}" for label in self._classes.tolist())
        measure, scale = settings.measure, self._runs[0].standardizer.scale
        seen = list(zip(rates, points, strict=True))
        message = first_message(names, (bound_message(measure, one, mine) for one, mine in seen))
        intervals = [rates_interval(one, measure, mine, coef.shape[1] + 1) for one, mine in seen]
        as_they_are = stacked([Calibration(1.0, 0.0)] * len(models))
        result = FitResult(coef, intercept, scale, rates, (), settings.solver, intervals, as_they_are)
        return Fitted(self._classes, result.checked(), message)


def _log_odds(run: OnlineFit) -> LinearModel:
    """Return the model of one class as it stands, its scores as log odds, drawn on a sample of the rows."""
    model = run.model()
    sample, signed_weights = run.reservoir.sample()
    slope, constant = log_odds_line(np.asarray(sample @ model.weights) + model.intercept, signed_weights)
    return LinearModel(slope * model.weights, slope * model.intercept + constant)


def _rates_of(k: int, scores: NDArray[np.float64], signed_weights: NDArray[Any]) -> Rates:
    """Return the rates of one class, where the highest score wins."""
    return rates_at((scores.argmax(axis=1) == k).astype(np.float64), signed_weights, 0.5)
