"""Count how often each value occurs, in bounded memory; counts of parts can be merged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_LEVELS = 1 << 17
_COMPACT_AFTER = 1 << 16
_COMPACT_BYTES = 1 << 24


def _occurring(values: Any, counts: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
    """Return the texts that occur, and how often."""
    seen = np.flatnonzero(counts)
    if seen.size == counts.size:
        return values, counts
    import pyarrow as pa

    return values.take(pa.array(seen)), counts[seen]


def _summed(values: list[Any], counts: list[NDArray[np.int64]]) -> tuple[Any, NDArray[np.int64]]:
    """Return the texts of all parts, each once, and how often it occurs in all of them."""
    import pyarrow as pa

    found = pa.concat_arrays([one.cast(pa.large_string()) for one in values]).dictionary_encode()
    rows = np.concatenate(counts)
    sums = np.bincount(found.indices.to_numpy(zero_copy_only=False), weights=rows)  # exact, up to 2**53
    return found.dictionary, sums.astype(np.int64)


class Counted:
    """Texts of Arrow in several parts, and how often each occurs in its part."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.counts: list[NDArray[np.int64]] = []
        self._size = self._bytes = 0

    @property
    def is_large(self) -> bool:
        return self._size > _COMPACT_AFTER or self._bytes > _COMPACT_BYTES

    def add(self, values: Any, counts: NDArray[np.int64]) -> None:
        """Add texts, which are often the same as in the previous part."""
        if self.values and values.equals(self.values[-1]):
            self.counts[-1] = self.counts[-1] + counts
        elif len(values):
            self.values.append(values)
            self.counts.append(counts)
            self._size += len(values)
            self._bytes += values.nbytes

    def merged(self) -> tuple[Any, NDArray[np.int64]]:
        """Return each text that occurs, once, and its count."""
        if not self.values:
            return None, np.zeros(0, dtype=np.int64)
        values, counts = self.values[0], self.counts[0]
        if len(self.values) > 1:
            values, counts = _summed(self.values, self.counts)
        return _occurring(values, counts)


class Levels:
    """Distinct values with their counts: all of them up to 131,072 values, otherwise the most frequent."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._counts: list[NDArray[np.int64]] = []
        self._size = self._compacted = 0
        self.rows = 0
        self.many: float | None = None
        """The share of values that were distinct when there were too many of them to keep all."""

    def add(self, values: Any, counts: NDArray[np.int64]) -> None:
        """Add distinct Arrow texts and their counts."""
        values, counts = _occurring(values, counts)
        if counts.size == 0:
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
            values, counts = _summed(self._values, self._counts)
            if len(values) > MOST_LEVELS:
                self.many = len(values) / self.rows if self.many is None else self.many
                kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_LEVELS // 2])
                values, counts = values.take(pa.array(kept)), counts[kept]
            self._values, self._counts = [values], [counts]
        self._size = self._compacted = len(self._values[0]) if self._values else 0

    def by_count(self) -> tuple[list[str], NDArray[np.int64]]:
        """Return the values and their counts, the most frequent first, equally frequent values in sorted order."""
        self._compact()
        if not self._values:
            return [], np.zeros(0, dtype=np.int64)
        values, counts = self._values[0].to_pylist(), self._counts[0]
        order = sorted(range(len(values)), key=lambda i: (-counts[i], values[i]))
        return [values[i] for i in order], counts[order]

    @property
    def distinct(self) -> int:
        """The number of distinct values; an estimate if not all were kept."""
        self._compact()
        return self._size if self.many is None else max(round(self.many * self.rows), self._size)
