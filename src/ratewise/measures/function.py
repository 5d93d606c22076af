"""A measure from a plain Python function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .base import Measure


@dataclass(frozen=True)
class FunctionMeasure(Measure):
    """Any function of (TPR, TNR) or of (TPR, TNR, prevalence): what sharpening can maximise.

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
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):  # some built-in functions have no signature
            number = 2
        else:
            required = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            number = sum(one.kind in required and one.default is one.empty for one in parameters)
        if number not in (2, 3):
            raise ValueError(
                f"A measure must be a function of (tpr, tnr) or (tpr, tnr, prevalence); {self.label} takes "
                f"{number} arguments."
            )
        object.__setattr__(self, "takes_prevalence", number == 3)

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
