"""The order in which the pieces of files are read, and windows of rows from different places.

A pass opens several pieces at once, in random order, and takes some rows of each in turn. These rows fill a
window, and the reader of the window shuffles within it. So a file sorted by label is mixed as well as the memory
allows, and no file is read twice.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._sparse_rows import stacked
from ..features.encode import Encoder, Filler
from ..features.learn import EncoderFit
from .columns import labels, sample_weights
from .formats import Reader, Rows

WINDOW_BYTES = 32 << 20
_PLACES_NAMED = 3
_MOST_LANES = 8
_LANE_MEMORY = 64 << 20
# Files sorted by a column need several lanes. (5 million rows of 30: F1 .491 with one lane, .498 with several.)
_FEWEST_LANES, _MOST_LANE_MEMORY = 4, 1 << 30
_FEWEST_TURNS = 8  # per window, so that raw rows take little memory beside it
_SMALLEST_TAKE, _LARGEST_TAKE = 32, 1 << 14

Span = tuple[str, int | None, int | None]  # file, first row, row after the last


def piece_order(readers: Sequence[Reader], rng: np.random.Generator | None) -> list[tuple[int, int]]:
    """Return every piece of every reader, as (reader, piece): in order, or in random order."""
    pieces = [(number, piece) for number, reader in enumerate(readers) for piece in range(len(reader.sizes))]
    return pieces if rng is None else [pieces[i] for i in rng.permutation(len(pieces))]


def lanes_at_once(readers: Sequence[Reader]) -> int:
    """Return how many pieces to keep open: at least four, or as many as fit into 1 GB."""
    largest = max(1, *(reader.lane_bytes for reader in readers))
    fewest = max(1, min(_FEWEST_LANES, _MOST_LANE_MEMORY // largest))
    return max(fewest, min(_MOST_LANES, _LANE_MEMORY // largest))


def take_size(window_rows: int, lanes: int) -> int:
    """Return how many rows to take from a piece before the next piece follows."""
    turns = max(2 * lanes, _FEWEST_TURNS)
    return max(min(window_rows, _SMALLEST_TAKE), min(_LARGEST_TAKE, window_rows // turns))


class Lane:
    """One open piece, of which rows are taken in order."""

    def __init__(self, reader: Reader, piece: int, batch_rows: int):
        self._reader, self._left = reader, reader.sizes[piece]
        self._batches = reader.read(piece, batch_rows)
        self._rest: Rows | None = None
        self._to_skip = 0

    def take(self, rows: int) -> list[Rows]:
        """Return exactly this many next rows, or fewer at the end of the piece."""
        self._reader.require_whole()
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
        """Return the rest of the last batch, or the next batch, after the rows to skip."""
        while batch := self._rest or next(self._batches, None):
            self._rest, skipped = None, min(self._to_skip, batch.size)
            self._to_skip -= skipped
            if skipped < batch.size:
                return batch.cut(skipped, batch.size)
        return None

    def skip(self, rows: int) -> int:
        """Skip the rows that ``take`` would return, and return their number.

        Nothing is read yet if the length of the piece is known, and never if all of it is skipped.
        """
        if self._left is None:
            return sum(part.size for part in self.take(rows))
        passed = min(rows, self._left)
        self._left -= passed
        self._to_skip += passed
        return passed


class Mixer:
    """A mixer of rows, which takes them from many pieces in turn."""

    def __init__(self, readers: Sequence[Reader], order: list[tuple[int, int]], lanes: int, take: int):
        self._readers, self._waiting = readers, deque(order)
        self._lanes: deque[Lane] = deque()
        self._most_lanes, self._take = lanes, take

    @classmethod
    def over(cls, readers: Sequence[Reader], rng: np.random.Generator | None, window_rows: int) -> Mixer:
        """Return one pass over all rows: in order, or in random order from several pieces at a time."""
        lanes = 1 if rng is None else lanes_at_once(readers)
        return cls(readers, piece_order(readers, rng), lanes, take_size(window_rows, lanes))

    def _next_lane(self) -> Lane | None:
        while self._waiting and len(self._lanes) < self._most_lanes:
            number, piece = self._waiting.popleft()
            self._lanes.append(Lane(self._readers[number], piece, self._take))
        return self._lanes.popleft() if self._lanes else None

    def take(self, most: int) -> list[Rows]:
        """Return at most this many next rows; none at the end of the pass."""
        while lane := self._next_lane():
            if rows := lane.take(min(self._take, most)):
                self._lanes.append(lane)
                return rows
        return []

    def take_all(self, wanted: int) -> Iterator[Rows]:
        """Yield this many rows, or all rows that are left."""
        while wanted > 0 and (rows := self.take(wanted)):
            yield from rows
            wanted -= sum(part.size for part in rows)

    def skip(self, rows: int) -> int:
        """Skip this many rows, in the order of ``take``, and return their number."""
        passed = 0
        while passed < rows and (lane := self._next_lane()):
            if step := lane.skip(min(self._take, rows - passed)):
                self._lanes.append(lane)
                passed += step
        return passed


class Window(NamedTuple):
    """Some thousand rows, ready for a kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise import open_stream
    >>> window = next(iter(open_stream([(np.zeros((3, 2)), np.array([0, 1, 1]))]).windows()))
    >>> window.labels.tolist()
    [0, 1, 1]
    """

    X: Any
    """A C-contiguous array of the encoder's type, or a CSR matrix of float32."""
    labels: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    where: str
    """Where the rows come from, for messages: "train/a.parquet, rows 1,001 to 2,000"."""
    kept: dict[str, list[Any]] = {}  # noqa: RUF012 - as all of a tuple, never changed
    """The columns of ``keep`` in ``open_stream``."""


class WindowMaker:
    """A maker of windows: it cuts mixed rows into windows and encodes them.

    An encoder that is not fitted learns vocabularies and widths from the first window, and the means of numbers
    from every window in turn: a single pass allows no more. Rows may be ``encoded`` already.
    """

    def __init__(
        self,
        mixer: Mixer,
        encoder: Encoder,
        window_rows: int,
        target: str | None,
        weight: str | None,
        *,
        encoded: bool = False,
    ):
        self._mixer, self._encoder, self._window_rows, self._encoded = mixer, encoder, window_rows, encoded
        self._target, self._weight = target or "y", weight or "weight"
        self._learner = None if encoder.fitted else EncoderFit(encoder)

    def windows(self, skip: int) -> Iterator[Window]:
        for _ in range(skip):
            if self._learner is None and not self._encoder.sparse_input:
                skipped = self._mixer.skip(self._window_rows) > 0
            else:
                skipped = bool(self._learned(self._parts()))
            if not skipped:
                return
        yield from iter(self._next_window, None)

    def _next_window(self) -> Window | None:
        # Rows are encoded as they are read, unless the encoder has to learn from them first.
        rows = self._parts() if self._learner is None else iter(self._learned(self._parts()))
        first = next(rows, None)
        if first is None:
            return None
        filler = Filler(self._encoder)
        dense = None
        if not self._encoder.sparse:
            dense = np.empty((self._window_rows, filler.n_features), dtype=self._encoder.dtype)
        csr, targets, weights, spans, size = [], [], [], [], 0
        kept: dict[str, list[Any]] = {}
        for part in itertools.chain([first], rows):
            if part.target is not None:
                targets.append(part.target if self._encoded else labels(part.target, self._target, part.place))
            if part.weights is not None:
                mine = part.weights if self._encoded else sample_weights(part.weights, self._weight, part.place)
                weights.append(mine)
            if dense is None:
                csr.append(part.features if self._encoded else filler.csr(part.features, part.size, part.place))
            elif self._encoded:
                dense[size : size + part.size] = part.features
            else:
                filler.fill(part.features, part.place, dense[size : size + part.size])
            for name, column in part.kept.items():
                kept.setdefault(name, []).extend(column.tolist() if hasattr(column, "tolist") else column)
            start = part.place.first_row
            spans.append((part.place.file, start, None if start is None else start + part.size))
            size += part.size
        X: Any = stacked(csr) if dense is None else dense[:size]
        if dense is not None and 2 * size <= dense.shape[0]:
            X = X.copy()
        y, w = (np.concatenate(parts) if parts else None for parts in (targets, weights))
        return Window(X, y, w, where(spans), kept)

    def _parts(self) -> Iterator[Rows]:
        """Yield the raw rows of one window, as they are read."""
        wanted, room = self._window_rows, WINDOW_BYTES // 8
        while wanted > 0 and room > 0 and (parts := self._mixer.take(wanted)):
            for part in parts:
                wanted -= part.size
                room -= int(part.features.nnz) if self._encoder.sparse_input else 0
                yield part

    def _learned(self, parts: Iterator[Rows]) -> list[Rows]:
        """Return the rows of one window, after the encoder has learned from them."""
        rows = list(parts)
        if self._learner is None or not rows:
            return rows
        for part in rows:
            self._learner.add(part.features, part.size, part.place)
        if not self._encoder.fitted:
            self._learner.finish()
        elif (width := self._learner.width) > self._encoder.n_columns:
            raise rows[0].place.error(
                f"there are {width:,} features by now, and the first rows had {self._encoder.n_columns:,} only. "
                f"Data that can be read once only have to say how many there are: features={width}, or more."
            )
        else:
            self._learner.update_means()
        return rows


def where(spans: list[Span]) -> str:
    """Return the places of rows as text; adjacent runs are joined."""
    joined: list[Span] = []
    for file, first, stop in sorted(spans, key=lambda span: (span[0], -1 if span[1] is None else span[1])):
        if joined and joined[-1][0] == file and joined[-1][2] == first:
            joined[-1] = (file, joined[-1][1], stop)
        else:
            joined.append((file, first, stop))
    named = [file if first is None else f"{file}, rows {first + 1:,} to {stop:,}" for file, first, stop in joined]
    more = f"; and {len(named) - _PLACES_NAMED} more places" if len(named) > _PLACES_NAMED else ""
    return "; ".join(named[:_PLACES_NAMED]) + more
