"""Measures that are neither concave nor pseudo-linear: correlations, and any function of the rates."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .base import Measure


@dataclass(frozen=True)
class MatthewsCorrelation(Measure):
    """The correlation of truth and prediction, from -1 over 0 for guessing to 1.

    With q = p P + (1 - p) (1 - N), the share of rows predicted positive, it is
    sqrt(p (1 - p)) (P + N - 1) / sqrt(q (1 - q)): neither concave nor pseudo-linear, so sharpening maximizes it.
    It is 0 if all rows get the same prediction, as in scikit-learn.

    Examples
    --------
    >>> from ratewise.measures import MatthewsCorrelation
    >>> round(float(MatthewsCorrelation().value(0.8, 0.9, 0.5)), 3)
    0.704
    """

    monotone: ClassVar[bool] = True

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        p = np.asarray(self.require_prevalence(prevalence))
        tpr, tnr = np.asarray(tpr), np.asarray(tnr)
        predicted = p * tpr + (1.0 - p) * (1.0 - tnr)
        spread = np.maximum(predicted * (1.0 - predicted), 0.0)
        top = np.sqrt(p * (1.0 - p)) * (tpr + tnr - 1.0)
        return np.where(spread > 0, top / np.sqrt(np.where(spread > 0, spread, 1.0)), 0.0)[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        p = float(self.require_prevalence(prevalence))
        predicted = p * tpr + (1.0 - p) * (1.0 - tnr)
        # The slopes grow without bound as all predictions become one class.
        spread = max(predicted * (1.0 - predicted), 1e-12)
        tilt = 0.5 * (tpr + tnr - 1.0) * (1.0 - 2.0 * predicted)
        factor = math.sqrt(p * (1.0 - p)) / spread**1.5
        return factor * (spread - p * tilt), factor * (spread + (1.0 - p) * tilt)


@dataclass(frozen=True)
class FowlkesMallows(Measure):
    """sqrt(precision recall): the geometric mean where F1 takes the harmonic one.

    With q = p P + (1 - p) (1 - N), the share of rows predicted positive, it is P sqrt(p / q): neither concave nor
    pseudo-linear, so sharpening maximizes it. It is 0 if no row is predicted positive.

    Examples
    --------
    >>> from ratewise.measures import FowlkesMallows
    >>> round(float(FowlkesMallows().value(0.8, 0.9, 0.5)), 3)
    0.843
    """

    monotone: ClassVar[bool] = True

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        p = np.asarray(self.require_prevalence(prevalence))
        tpr, tnr = np.asarray(tpr), np.asarray(tnr)
        predicted = p * tpr + (1.0 - p) * (1.0 - tnr)
        any_predicted = predicted > 1e-200  # p divided by less would overflow
        return np.where(any_predicted, tpr * np.sqrt(p / np.where(any_predicted, predicted, 1.0)), 0.0)[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        p = float(self.require_prevalence(prevalence))
        predicted = max(p * tpr + (1.0 - p) * (1.0 - tnr), 1e-12)
        root = math.sqrt(p / predicted)
        return root * (1.0 - 0.5 * p * tpr / predicted), 0.5 * root * tpr * (1.0 - p) / predicted


@dataclass(frozen=True)
class FunctionMeasure(Measure):
    """Any function of (TPR, TNR) or of (TPR, TNR, prevalence): what sharpening can maximize.

    The function may be neither concave nor pseudo-linear, and it is not compiled. ``MeasureClassifier`` turns a
    function given as its measure into one of these.

    Examples
    --------
    >>> from ratewise.measures import FunctionMeasure
    >>> youden = FunctionMeasure(lambda tpr, tnr: tpr + tnr - 1.0)
    >>> round(youden.value(0.9, 0.8), 3)
    0.7
    """

    function: Callable[..., Any]
    takes_prevalence: bool = field(init=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"FunctionMeasure needs a function of (tpr, tnr); got {self.function!r}.")
        number = _required_arguments(self.function)
        if number not in (2, 3):
            raise ValueError(
                f"A measure must be a function of (tpr, tnr) or (tpr, tnr, prevalence); {self.label} takes "
                f"{number} arguments."
            )
        object.__setattr__(self, "takes_prevalence", number == 3)
        self._refuse_nan()

    def _refuse_nan(self) -> None:
        """Refuse a function that is NaN inside the unit square, because NaN cannot be compared."""
        for tpr, tnr in itertools.product(np.array([0.1, 0.5, 0.9]), repeat=2):
            try:
                with np.errstate(all="ignore"):
                    value = float(self.value(tpr, tnr, 0.3))
            except (TypeError, ValueError, ArithmeticError):  # the fit reports the error
                return
            if math.isnan(value):
                raise ValueError(
                    f"{self.label} is NaN at TPR {tpr} and TNR {tnr}: a measure must be a number at all rates."
                )

    @property
    def label(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        arguments = (tpr, tnr, prevalence) if self.takes_prevalence else (tpr, tnr)
        if np.ndim(tpr) == 0 and np.ndim(tnr) == 0:
            return self.function(*arguments)
        try:
            values = np.asarray(self.function(*arguments), dtype=float)
        except (TypeError, ValueError):  # written for numbers only, for example with min() or an if
            values = np.vectorize(self.function, otypes=[float])(*arguments)
        return np.broadcast_to(values, np.broadcast_shapes(np.shape(tpr), np.shape(tnr)))


def takes_one_argument(function: Callable[..., Any]) -> bool:
    """Return whether a function has one argument: a confusion matrix, not two rates."""
    return _required_arguments(function) == 1


def _required_arguments(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return 2
    required = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in required and one.default is one.empty for one in parameters)
