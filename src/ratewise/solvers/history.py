"""The history of a fit: rates and values at each checkpoint."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..counts import Rates

_MOST_ROWS = 2000


class History:
    """Rows of (pass, points, seconds, tpr, tnr, value, ...) written at checkpoints of a fit.

    Points are scored before they are learned from, so the rates are unbiased and cost nothing.
    """

    def __init__(self, *, verbose: bool = False):
        self._verbose = verbose
        self._rows: list[dict[str, float]] = []
        self._started = time.perf_counter()

    def record(self, *, passes: float, points: float, rates: Rates, value: float, **more: float) -> None:
        """Write one row; ``more`` holds the dual pair or the challenge level."""
        row = {
            "pass": float(passes),
            "points": float(points),
            "seconds": time.perf_counter() - self._started,
            "tpr": rates.tpr,
            "tnr": rates.tnr,
            "value": value,
        } | more
        self._rows.append(row)
        if len(self._rows) > _MOST_ROWS:
            del self._rows[::2]  # a long history becomes coarser, not longer
        if self._verbose:
            line = "  ".join(f"{name} {number:.4g}" for name, number in row.items())
            print(f"[ratewise] {line}", file=sys.stderr)

    def silence(self) -> None:
        """Stop printing."""
        self._verbose = False

    def branch(self) -> History:
        """Return a history with the same clock, for one of several simultaneous runs; :meth:`join` it later."""
        other = History(verbose=self._verbose)
        other._started = self._started
        return other

    def join(self, other: History, **more: float) -> None:
        """Add the rows of a branch, each with ``more`` columns."""
        self._rows += [row | more for row in other._rows] if more else other._rows
        while len(self._rows) > _MOST_ROWS:
            del self._rows[::2]

    def table(self) -> dict[str, NDArray[np.float64]]:
        """Return the history as a dict of equally long arrays."""
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        return {name: np.array([row.get(name, np.nan) for row in self._rows]) for name in names}

    def __getstate__(self) -> dict[str, Any]:
        # A clock reading has no meaning in another process: keep the time that had passed at the last row, so that
        # two pickles of one state are equal.
        return self.__dict__ | {"_started": self._rows[-1]["seconds"] if self._rows else 0.0}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._started = time.perf_counter() - state["_started"]
