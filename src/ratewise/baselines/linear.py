"""The common part of all baselines: input, standardizing, validation rows, and the scikit-learn interface."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..estimators._rows import Columns, validate_rows
from ..estimators._targets import checked_labels, positive_label, training_set
from ..measures import Measure, get_measure
from ..solvers import LinearModel, best_threshold, rates_at
from ..solvers.base import require_number
from ..training.rows import ArrayRows

OnCheckpoint = Callable[[float, NDArray[np.float64], float], None]
"""A function of the CPU seconds of the fit so far, and of the coefficients and intercept at that moment."""

# The factor between the times of two checkpoints: about 100 checkpoints between 1 ms and 1 minute.
_SPACING = 1.1


class Stopwatch:
    """Measures the CPU seconds of this process since its creation, without the time while it is stopped."""

    def __init__(self) -> None:
        self._start = time.process_time()

    @property
    def seconds(self) -> float:
        return time.process_time() - self._start

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Do not count the time in the block."""
        before = time.process_time()
        try:
            yield
        finally:
            self._start += time.process_time() - before


class Checkpoints:
    """Passes models to a callback with the clock stopped, at times that grow by a tenth.

    Values that only a checkpoint needs, such as the threshold of an unfinished model, are also computed with the
    clock stopped. Therefore ``report`` takes a function that makes the model, not the model.
    """

    def __init__(self, callback: OnCheckpoint | None, clock: Stopwatch):
        self._callback = callback
        self._due = 0.0
        self.clock = clock

    def report(self, make_model: Callable[[], tuple[NDArray[np.float64], float]], *, last: bool = False) -> None:
        """Pass on (coef, intercept) if a checkpoint is due or if it is the last."""
        seconds = self.clock.seconds
        if self._callback is None or (seconds < self._due and not last):
            return
        with self.clock.stopped():
            self._callback(seconds, *make_model())
        self._due = _SPACING * seconds


class ThresholdedModel(NamedTuple):
    """A model of standardized columns, and its threshold for predicting positive."""

    model: LinearModel
    threshold: float = 0.0
    value: float = float("nan")
    """The measure on the validation rows, if it was computed."""


Finish = Callable[[LinearModel], ThresholdedModel]
"""A function that returns the result of the fit if it stopped at this model."""


class FitContext(NamedTuple):
    """The data of a baseline's fit."""

    measure: Measure
    stream: ArrayRows
    """All rows, standardized, in an order that mixes the classes evenly."""
    learning: ArrayRows
    validation: ArrayRows
    """The validation rows; all rows if there are none, or too few for both classes."""
    rng: np.random.Generator
    clock: Stopwatch
    report: Callable[[Callable[[], ThresholdedModel]], None]
    """Passes on, at a checkpoint, the result of the fit if it stopped now."""

    def with_best_threshold(self, model: LinearModel) -> ThresholdedModel:
        """Return the model with the threshold at which the measure on the validation rows is best."""
        best = best_threshold(self.validation.scores(*model), self.validation.signed_weights, self.measure)
        return ThresholdedModel(model, best.threshold, best.value)

    def best_of(
        self, values: tuple[float, ...], threshold: str, learn: Callable[[float, Finish], LinearModel]
    ) -> tuple[ThresholdedModel, float]:
        """Return the best model on the validation rows, and the value from which ``learn`` made it.

        Until a run has ended and is better, checkpoints report the previous best model.
        """
        evaluate = self.with_best_threshold if threshold == "tune" else self.with_zero_threshold
        best = evaluate(learn(values[0], evaluate)), values[0]
        for value in values[1:]:
            found = evaluate(learn(value, lambda _, best=best: best[0]))  # type: ignore[misc]
            if found.value > best[0].value:
                best = found, value
        return best

    def with_zero_threshold(self, model: LinearModel) -> ThresholdedModel:
        """Return the unchanged model, with its measure on the validation rows."""
        rates = rates_at(self.validation.scores(*model), self.validation.signed_weights)
        return ThresholdedModel(model, 0.0, float(self.measure.value(*rates)))


class LinearBaseline(ClassifierMixin, BaseEstimator):
    """A linear classifier of standardized columns; subclasses write ``_learn``."""

    measure: str | Measure
    pos_label: Any
    random_state: Any
    on_checkpoint: OnCheckpoint | None

    @abstractmethod
    def _learn(self, context: FitContext) -> ThresholdedModel:
        """Return the model and its threshold."""

    def _check_parameters(self) -> None:
        """Raise an error for parameters out of range."""

    def _check_validation(self) -> None:
        """Raise an error for a threshold or a validation fraction out of range."""
        threshold = getattr(self, "threshold", "tune")
        if threshold not in ("tune", "zero"):
            raise ValueError(f"threshold must be 'tune' or 'zero'; got {threshold!r}.")
        self._require("validation_fraction", low=0, high=1, at_low=True)

    def _require(self, *names: str, **bounds: Any) -> None:
        """Raise an error for parameters that are not numbers within these bounds."""
        for name in names:
            require_number(name, getattr(self, name), type(self).__name__, **bounds)

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to rows X and labels y."""
        return self._fit(X, y, None)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        clock = Stopwatch()
        measure = get_measure(self.measure)
        self._check_parameters()
        if self.on_checkpoint is not None and not callable(self.on_checkpoint):
            raise ValueError(f"on_checkpoint must be None or a function; got {self.on_checkpoint!r}.")
        checked, columns = Columns.of(X, self)
        rows = training_set(checked, checked_labels(y, checked.number), sample_weight, pos_label=self.pos_label)
        if not (rows.signed_weights > 0).any() or not (rows.signed_weights < 0).any():
            raise ValueError(
                "All rows of one class have sample_weight 0: a classifier needs rows of both classes."
            )
        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        transform = rows.checked.standardizer()
        stream = ArrayRows(rows.X, rows.signed_weights, transform, rng)
        # Scores are for the positive class; scikit-learn's decision function is for classes_[1].
        sign = 1.0 if positive_label(rows.classes, self.pos_label) == rows.classes[1] else -1.0

        def of_original_columns(found: ThresholdedModel) -> tuple[NDArray[np.float64], float]:
            coef, intercept = transform.inverse_coef(*found.model)
            return sign * coef, sign * (intercept - found.threshold)

        checkpoints = Checkpoints(self.on_checkpoint, clock)

        def report(make_model: Callable[[], ThresholdedModel]) -> None:
            checkpoints.report(lambda: of_original_columns(make_model()))

        parts = split(stream, getattr(self, "validation_fraction", 0.0))
        context = FitContext(measure, stream, *parts, rng, clock, report)
        coef, intercept = of_original_columns(self._learn(context))
        columns.store_on(self)
        self.measure_, self.classes_ = measure, rows.classes
        self.coef_, self.intercept_ = coef[np.newaxis, :], np.array([intercept])
        checkpoints.report(lambda: (coef, intercept), last=True)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return signed scores: above 0 for ``classes_[1]``."""
        check_is_fitted(self)
        X = validate_rows(self, X)
        scores: NDArray[np.float64] = np.asarray(X @ self.coef_[0]) + self.intercept_[0]
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        above = self.decision_function(X) > 0
        predicted: NDArray[Any] = self.classes_[above.astype(np.intp)]
        return predicted

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure of the predictions for X against y."""
        predicted = self.predict(X)
        positive = positive_label(self.classes_, self.pos_label)
        return self.measure_.score(y, predicted, sample_weight=sample_weight, pos_label=positive)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def split(stream: ArrayRows, validation_fraction: float) -> tuple[ArrayRows, ArrayRows]:
    """Return training and validation rows with about equal shares of the classes; all rows twice if impossible."""
    cut = stream.n_points - round(validation_fraction * stream.n_points)
    signs = np.sign(stream.signed_weights)
    if cut in (0, stream.n_points) or np.ptp(signs[:cut]) == 0 or np.ptp(signs[cut:]) == 0:
        return stream, stream
    return stream.part((0, cut)), stream.part((cut, stream.n_points))


def linear_model(vector: NDArray[np.float64]) -> LinearModel:
    """Return a copy of a vector of weights, with the intercept last, as a model."""
    return LinearModel(np.array(vector[:-1], dtype=np.float64), float(vector[-1]))


def candidates(name: str, value: Any, grid: tuple[float, ...], owner: Any) -> tuple[float, ...]:
    """Return the values to try, smallest first, for a parameter that is "tune", a number or several."""
    if isinstance(value, str):
        if value != "tune":
            raise ValueError(f"{name} must be 'tune', a number or several; got {value!r}.")
        return grid
    values = tuple(value) if isinstance(value, Iterable) else (value,)
    if not values:
        raise ValueError(f"{name} is empty: give at least one value to choose from.")
    for one in values:
        require_number(name, one, type(owner).__name__, low=0)
    return tuple(sorted(float(one) for one in values))
