"""The model a method has after so many CPU seconds, for comparisons of methods."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

OnCheckpoint = Callable[[float, NDArray[np.float64], float], None]
"""Called with the CPU seconds of the fit so far, and the coefficients and intercept it would end with now."""

# The factor between the times of two checkpoints: some 100 checkpoints between 1 ms and 1 minute.
_SPACING = 1.1


class Stopwatch:
    """CPU seconds of this process since it was created, without the time it was stopped."""

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

    What only a checkpoint needs, such as the threshold of an unfinished model, is computed with the clock stopped
    too: hence ``report`` takes a function that makes the model, not the model.
    """

    def __init__(self, callback: OnCheckpoint | None, clock: Stopwatch):
        self._callback = callback
        self._due = 0.0
        self.clock = clock

    def report(self, make_model: Callable[[], tuple[NDArray[np.float64], float]], *, last: bool = False) -> None:
        """Pass on (coef, intercept) if a checkpoint is due, or in any case if it is the last."""
        seconds = self.clock.seconds
        if self._callback is None or (seconds < self._due and not last):
            return
        with self.clock.stopped():
            self._callback(seconds, *make_model())
        self._due = _SPACING * seconds
