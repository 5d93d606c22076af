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


def touch_memory(size: int) -> None:
    """Use so many bytes and give them back.

    A virtual machine gets memory from its host when it first writes to it, and gives back what it no longer needs:
    whoever comes next would pay seconds for a gigabyte, or nothing.
    """
    np.ones(size, dtype=np.uint8)


def take_turns(
    works: Sequence[Work],
    *,
    least: int = 7,
    most: int = 25,
    seconds: float = 2.0,
    memory: Sequence[int] | None = None,
) -> np.ndarray:
    """CPU seconds of each work, a row a turn: one after the other, over and over.

    What slows the machine for a while slows all works of a turn alike, so their ratio within a turn is steadier
    than the times. An untimed turn goes first, for compiling and caches; short works get more turns. So many bytes
    of ``memory`` as a work will ask for are touched before it, off the clock.
    """
    first = time.process_time()
    for work in works:
        work()
    one_turn = max(time.process_time() - first, 1e-9)
    turns = int(min(max(seconds / one_turn, least), most))
    found = np.empty((turns, len(works)))
    for turn in found:
        for k, work in enumerate(works):
            if memory is not None:
                touch_memory(memory[k])
            turn[k] = cpu_seconds(work)
    return found


def median_ratio(turns: np.ndarray, above: int, below: int) -> float:
    """The median over the turns of one work's time as a multiple of another's in the same turn."""
    return float(np.median(turns[:, above] / turns[:, below]))


def medians(ways: dict[str, Work], turns: int = 5) -> dict[str, float]:
    """The median CPU seconds of each way, printed too."""
    found = np.median(take_turns(list(ways.values()), least=turns, seconds=0.0), axis=0)
    times = dict(zip(ways, found.tolist(), strict=True))
    print("  " + "  ".join(f"{way} {time:.4f}" for way, time in times.items()), flush=True)
    return times
