"""Learning many classes from rows seen once: a run for each class against the rest."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Rates
from ..solvers import History, LinearModel, log_odds_line, rates_at
from ..streams import effective_points
from .kept_constraints import first_complaint
from .labels import require_no_positive
from .online import OnlineFit
from .outcome import Coefficients, Outcome
from .settings import Settings
from .training_set import ManyClassSet, many_class_set
from .validation import CheckedRows, checked_labels


class OnlineMany:
    """What ``partial_fit`` keeps from call to call where there are more than two classes.

    The highest log odds win. They are drawn, for each class, on a sample of its rows and of the others.
    """

    def __init__(
        self,
        settings: Settings,
        n_features: int,
        classes: NDArray[Any],
        before: Coefficients | None,
        random_state: Any,
        fixed: tuple[Any, ...],
    ):
        self.classes = classes
        models = [None] * classes.size if before is None else list(map(LinearModel, *before))
        self._runs = [OnlineFit(settings, n_features, model, random_state, fixed) for model in models]

    @staticmethod
    def rows(
        checked: CheckedRows, y: Any, sample_weight: Any, classes: NDArray[Any], pos_label: Any
    ) -> ManyClassSet:
        require_no_positive(pos_label, f"{classes.size} classes")
        labels = checked_labels(y, checked.number)
        return many_class_set(checked, labels, sample_weight, classes=classes)

    def check(self, rows: ManyClassSet, settings: Settings, fixed: tuple[Any, ...]) -> None:
        """Refuse what the fit so far cannot go on with, before anything is changed."""
        for k, run in enumerate(self._runs):
            run.check(rows.against_the_rest(k), settings, fixed)

    def learn(self, rows: ManyClassSet, settings: Settings) -> None:
        with ThreadPoolExecutor(settings.threads) as pool:
            list(pool.map(lambda k: self._runs[k].learn(rows.against_the_rest(k)), range(len(self._runs))))

    @property
    def history(self) -> History:
        together = History()
        for k, run in enumerate(self._runs):
            together.join(run.history, **{"class": float(k)})
        return together

    def outcome(self, settings: Settings) -> Outcome:
        models = [self._model(run, settings) for run in self._runs]
        found = Coefficients(
            np.array([one.weights for one in models]), np.array([one.intercept for one in models])
        )
        rates, points = [], []
        for k, run in enumerate(self._runs):
            sample, signed_weights = run.reservoir.sample()
            rates.append(_rates_of(k, np.asarray(sample @ found.coef.T) + found.intercept, signed_weights))
            points.append(effective_points(signed_weights))
        names = (f"class {label!r}" for label in self.classes.tolist())
        complaint = first_complaint(settings.measure, names, rates, points)
        return Outcome(self.classes, found, self._runs[0].standardizer.scale, rates, (), complaint)

    def _model(self, run: OnlineFit, settings: Settings) -> LinearModel:
        """The model of one class as it stands; log odds, unless the threshold is to be left alone."""
        model = LinearModel(*run.standardizer.to_user_units(*run.run.model()))
        if not settings.tunes_threshold:
            return model
        sample, signed_weights = run.reservoir.sample()
        slope, constant = log_odds_line(np.asarray(sample @ model.weights) + model.intercept, signed_weights)
        return LinearModel(slope * model.weights, slope * model.intercept + constant)


def _rates_of(k: int, scores: NDArray[np.float64], signed_weights: NDArray[Any]) -> Rates:
    """Of one class, where the highest score wins."""
    return rates_at((scores.argmax(axis=1) == k).astype(np.float64), signed_weights, 0.5)
