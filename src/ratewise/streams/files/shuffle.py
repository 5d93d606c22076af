"""The order in which the pieces of files are read, and how rows of different places meet.

A pass opens several pieces at once, in random order, and takes some rows of each in turn. What it takes fills a
window; whoever reads the window shuffles within it. So a file sorted by label is mixed as well as the memory
allows, and no file is read twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from .rows import Reader, Rows

_MOST_LANES = 8
_LANE_MEMORY = 64 << 20
_FEWEST_TURNS = 8  # in a window, so that raw rows are few beside it
_SMALLEST_TAKE = 32
_LARGEST_TAKE = 1 << 14


def piece_order(readers: Sequence[Reader], rng: np.random.Generator | None) -> list[tuple[int, int]]:
    """Every piece of every reader, as (reader, piece): in order, or in random order."""
    pieces = [(number, piece) for number, reader in enumerate(readers) for piece in range(reader.pieces)]
    if rng is None:
        return pieces
    return [pieces[i] for i in rng.permutation(len(pieces))]


def lanes_at_once(readers: Sequence[Reader]) -> int:
    """How many pieces to keep open: several, as memory allows."""
    largest = max((reader.lane_bytes for reader in readers), default=0)
    return max(1, min(_MOST_LANES, _LANE_MEMORY // max(largest, 1)))


def take_size(window_rows: int, lanes: int) -> int:
    """How many rows to take from a piece before it is the next one's turn."""
    turns = max(2 * lanes, _FEWEST_TURNS)
    return max(min(window_rows, _SMALLEST_TAKE), min(_LARGEST_TAKE, window_rows // turns))


class Lane:
    """One open piece, of which rows are taken in order."""

    def __init__(self, reader: Reader, piece: int, batch_rows: int):
        self._left = reader.rows_of(piece)
        self._batches = reader.read(piece, batch_rows)
        self._rest: Rows | None = None
        self._to_skip = 0

    def take(self, rows: int) -> list[Rows]:
        """The next rows, exactly so many unless the piece ends; none at its end."""
        taken: list[Rows] = []
        wanted = rows
        while wanted and (batch := self._next_batch()) is not None:
            part = batch.cut(0, wanted)
            if part.size < batch.size:
                self._rest = batch.cut(part.size, batch.size)
            wanted -= part.size
            taken.append(part)
        if self._left is not None:
            self._left -= rows - wanted
        return taken

    def _next_batch(self) -> Rows | None:
        """What is left of the last batch, or the next one, after what was to be skipped."""
        while True:
            batch, self._rest = self._rest or next(self._batches, None), None
            if batch is None or self._to_skip < batch.size:
                break
            self._to_skip -= batch.size
        if batch is None or self._to_skip == 0:
            return batch
        start, self._to_skip = self._to_skip, 0
        return batch.cut(start, batch.size)

    def skip(self, rows: int) -> int:
        """Pass over the rows that ``take`` would give; how many they were.

        Nothing is read yet if the length of the piece is known, and never if all of it is skipped.
        """
        if self._left is None:
            return sum(part.size for part in self.take(rows))
        passed = min(rows, self._left)
        self._left -= passed
        self._to_skip += passed
        return passed


class Mixer:
    """Rows of many pieces in turn."""

    def __init__(self, readers: Sequence[Reader], order: list[tuple[int, int]], lanes: int, take: int):
        self._readers = readers
        self._waiting = deque(order)
        self._lanes: deque[Lane] = deque()
        self._most_lanes = lanes
        self._take = take

    def _next_lane(self) -> Lane | None:
        while self._waiting and len(self._lanes) < self._most_lanes:
            number, piece = self._waiting.popleft()
            self._lanes.append(Lane(self._readers[number], piece, self._take))
        return self._lanes.popleft() if self._lanes else None

    def take(self, most: int) -> list[Rows]:
        """The next rows, at most so many; none at the end of the pass."""
        while lane := self._next_lane():
            if rows := lane.take(min(self._take, most)):
                self._lanes.append(lane)
                return rows
        return []

    def skip(self, rows: int) -> int:
        """Pass over so many rows, in the turns in which ``take`` would have given them; how many they were."""
        passed = 0
        while passed < rows and (lane := self._next_lane()):
            if step := lane.skip(min(self._take, rows - passed)):
                self._lanes.append(lane)
                passed += step
        return passed


def in_order(readers: Sequence[Reader], batch_rows: int) -> Iterator[Rows]:
    """All rows of all readers, in order."""
    for reader in readers:
        for piece in range(reader.pieces):
            yield from reader.read(piece, batch_rows)
