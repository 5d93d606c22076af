"""What a method of the comparison is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...measures import Measure

Record = Callable[[float, NDArray[np.float64], float], None]
"""Takes the CPU seconds so far, and the coefficients and the intercept a method would end with now.

Called with the method's clock stopped. What comes of the model on test rows is worked out later."""

VALIDATION_FRACTION = 0.2


class Task(NamedTuple):
    """What a method is to learn."""

    measure: Measure
    X: NDArray[np.float32]
    positive: NDArray[np.bool_]
    seed: int
    seconds_allowed: float | None = None
    """For methods that would not end by themselves; the paper allowed SVMPerf 50 times SPADE's or STAMP's time."""


class Method(Protocol):
    """One way to learn a linear classifier.

    Parameters are tuned off the clock, on a validation part of the training rows: the paper's times too are those
    of a run whose parameters are known.
    """

    @property
    def name(self) -> str:
        """As in the results and under a figure."""

    @property
    def colour(self) -> str:
        """Of its curve."""

    def suits(self, measure: Measure) -> bool:
        """Whether the paper's comparison has this method for this measure."""

    def run(self, task: Task, record: Record) -> str:
        """Learn, recording models on the way and the last one; returns the parameters tuned, to be shown."""
