"""Rows of files that are decoded once, in the survey, and kept in memory where they fit.

A pass over kept rows gives the same windows as a pass over the files, bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .formats import Reader, Rows

KEPT_SHARE = 0.25
"""Of the free memory: so much may be taken by kept rows, if the user names no other size."""


def free_memory() -> int:
    """Return how many bytes of memory are free, for this process by the limits of its container."""
    free = [_free_of_container(), _free_of_system()]
    return min((one for one in free if one is not None), default=0)


def _free_of_system() -> int | None:
    for line in _text_of("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):  # as on Windows
        return None


def _free_of_container() -> int | None:
    """Return what a limit of control groups leaves, of version 2 or 1; None where there is none."""
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        most, now = _text_of(limit).strip(), _text_of(used).strip()
        if most.isdecimal() and now.isdecimal():
            return max(int(most) - int(now), 0)
    return None


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


class RowKeeper:
    """Keeps rows as they were decoded, as long as they fit; none of them once they do not."""

    def __init__(self, readers: Sequence[Reader], room: float):
        self._readers, self._left = readers, room if all(reader.decodes for reader in readers) else 0.0
        self._pieces: dict[tuple[int, int], list[Rows]] = {}

    def add(self, number: int, piece: int, rows: Rows) -> None:
        if self._left <= 0:
            return
        others = {"target": rows.target, "weights": rows.weights} | {f"kept {k}": c for k, c in rows.kept.items()}
        self._left -= bytes_of(rows.features) + bytes_of(others)
        if self._left <= 0:
            self._pieces.clear()
        else:
            self._pieces.setdefault((number, piece), []).append(rows)

    def readers(self) -> list[Reader] | None:
        """Return readers of the kept rows; None if they were too many."""
        if self._left <= 0:
            return None
        return [
            KeptReader(reader, [self._pieces.get((number, piece), []) for piece in range(len(reader.sizes))])
            for number, reader in enumerate(self._readers)
        ]


def bytes_of(values: Any) -> int:
    """Return how much memory the columns of some rows take, or their matrix."""
    if isinstance(values, dict):
        return sum(int(column.nbytes) for column in values.values() if column is not None)
    if hasattr(values, "indptr"):
        return int(values.data.nbytes + values.indices.nbytes + values.indptr.nbytes)
    return int(values.nbytes)


class KeptReader(Reader):
    """The rows of another reader, decoded already."""

    decodes = False

    def __init__(self, reader: Reader, pieces: list[list[Rows]]):
        super().__init__(reader.name, [sum(rows.size for rows in piece) for piece in pieces])
        self.lane_bytes, self.kinds = reader.lane_bytes, reader.kinds  # as many lanes as the files have
        self._pieces = pieces

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        yield from self._pieces[piece]

    def release(self, piece: int) -> None:
        """Forget the rows of a piece."""
        self._pieces[piece] = []
