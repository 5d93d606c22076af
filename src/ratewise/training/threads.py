"""Run tasks in several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")
_S = TypeVar("_S")


def in_threads(work: Callable[[_S], _T], jobs: Sequence[_S], threads: int) -> list[_T]:
    """Return the work done for each job; compiled loops let other threads run."""
    if threads == 1 or len(jobs) == 1:
        return [work(job) for job in jobs]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, jobs))
