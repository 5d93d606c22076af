"""CPU time of things that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Work = Callable[[], Any]


def cpu_seconds(work: Work) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def take_turns(works: Sequence[Work], *, least: int = 7, most: int = 25, seconds: float = 2.0) -> np.ndarray:
    """CPU seconds of each work, a row a turn: one after the other, over and over.

    What slows the machine for a while slows all works of a turn alike, so their ratio within a turn is steadier
    than the times. An untimed turn goes first, for compiling and caches; short works get more turns.
    """
    first = time.process_time()
    for work in works:
        work()
    one_turn = max(time.process_time() - first, 1e-9)
    turns = int(min(max(seconds / one_turn, least), most))
    return np.array([[cpu_seconds(work) for work in works] for _ in range(turns)])


def median_ratio(turns: np.ndarray, above: int, below: int) -> float:
    """The median over the turns of one work's time as a multiple of another's in the same turn."""
    return float(np.median(turns[:, above] / turns[:, below]))
