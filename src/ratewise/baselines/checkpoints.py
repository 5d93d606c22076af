"""What a method has come to after so many CPU seconds, told to whoever compares methods."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

OnCheckpoint = Callable[[float, NDArray[np.float64], float], None]
"""Called with the CPU seconds of the fit so far, and the coefficients and intercept it would end with now."""

# A checkpoint is due once the fit has taken this much longer than at the last: some 100 between 1 ms and 1 minute.
_SPACING = 1.1


class Stopwatch:
    """CPU seconds of this process since it was made, but for the time it was stopped."""

    def __init__(self) -> None:
        self._begun = time.process_time()

    @property
    def seconds(self) -> float:
        return time.process_time() - self._begun

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Time in the block does not count."""
        before = time.process_time()
        try:
            yield
        finally:
            self._begun += time.process_time() - before


class Checkpoints:
    """Hands models to a callback with the clock stopped, at times that grow by a tenth.

    What only a checkpoint needs, such as the threshold of a model on the way, is found with the clock stopped too:
    hence ``report`` takes a function that makes the model, not the model.
    """

    def __init__(self, callback: OnCheckpoint | None, clock: Stopwatch):
        self._callback = callback
        self._due = 0.0
        self.clock = clock

    def report(self, make_model: Callable[[], tuple[NDArray[np.float64], float]], *, last: bool = False) -> None:
        """Hand over (coef, intercept) if it is time for it, or in any case if it is the last."""
        seconds = self.clock.seconds
        if self._callback is None or (seconds < self._due and not last):
            return
        with self.clock.stopped():
            self._callback(seconds, *make_model())
        self._due = _SPACING * seconds
