"""How often each value occurs, in bounded memory; counts of parts can be merged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_LEVELS = 1 << 17
_COMPACT_AFTER = 1 << 16


class Levels:
    """Different values with their counts: all of them up to 131,072, beyond that the most frequent."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._counts: list[NDArray[np.int64]] = []
        self._size = self._compacted = 0
        self.rows = 0
        self.many: float | None = None
        """The share of values that were different, when there were too many of them to keep all."""

    def add(self, values: Any, counts: NDArray[np.int64]) -> None:
        """Take in different texts of Arrow, and how often each occurs."""
        import pyarrow as pa

        seen = np.flatnonzero(counts)
        if seen.size < len(values):
            values, counts = values.take(pa.array(seen)), counts[seen]
        if seen.size == 0:
            return
        self._values.append(values)
        self._counts.append(counts)
        self._size += len(values)
        self.rows += int(counts.sum())
        if self._size - self._compacted > max(_COMPACT_AFTER, self._compacted):
            self._compact()

    def merge(self, other: Levels) -> None:
        for values, counts in zip(other._values, other._counts, strict=True):
            self.add(values, counts)
        self.rows += other.rows - sum(int(counts.sum()) for counts in other._counts)
        shares = [share for share in (self.many, other.many) if share is not None]
        self.many = max(shares, default=None)

    def _compact(self) -> None:
        import pyarrow as pa

        if len(self._values) > 1:
            columns = [pa.concat_arrays([one.cast(pa.large_string()) for one in self._values])]
            table = pa.table([*columns, pa.array(np.concatenate(self._counts))], names=["value", "rows"])
            summed = table.group_by("value", use_threads=False).aggregate([("rows", "sum")]).combine_chunks()
            values, counts = summed["value"].combine_chunks(), summed["rows_sum"].to_numpy()
            if len(values) > MOST_LEVELS:
                self.many = len(values) / self.rows if self.many is None else self.many
                kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_LEVELS // 2])
                values, counts = values.take(pa.array(kept)), counts[kept]
            self._values, self._counts = [values], [counts]
        self._size = self._compacted = len(self._values[0]) if self._values else 0

    def by_count(self) -> tuple[list[str], NDArray[np.int64]]:
        """Return the values and their counts, the most frequent first, equally frequent ones in sorted order."""
        self._compact()
        if not self._values:
            return [], np.zeros(0, dtype=np.int64)
        values, counts = self._values[0].to_pylist(), self._counts[0]
        order = sorted(range(len(values)), key=lambda i: (-counts[i], values[i]))
        return [values[i] for i in order], counts[order]

    @property
    def distinct(self) -> int:
        """How many different values there are; an estimate where not all were kept."""
        self._compact()
        return self._size if self.many is None else max(round(self.many * self.rows), self._size)
