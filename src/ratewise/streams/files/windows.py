"""Windows: as many rows as one matrix holds, from as many places as were mixed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .columns import labels, sample_weights
from .encode import Encoder
from .fill import Filler
from .learn import Learner
from .rows import Rows
from .shuffle import Mixer
from .source import Window

WINDOW_BYTES = 32 << 20
_MOST_ROWS, _FEWEST_ROWS = 1 << 18, 1 << 10
_PLACES_NAMED = 3

Span = tuple[str, int | None, int | None]  # file, first row, row after the last


def default_window_rows(encoder: Encoder) -> int:
    """32 MB of rows, within reason."""
    if encoder.sparse_input:
        return _MOST_ROWS  # how long they are is not known: these windows are cut by their entries
    row_bytes = 8 * encoder.n_columns if encoder.sparse else 4 * encoder.n_features
    return int(np.clip(WINDOW_BYTES // max(row_bytes, 1), _FEWEST_ROWS, _MOST_ROWS))


class WindowMaker:
    """Cuts mixed rows into windows and encodes them.

    An encoder that was not taught before learns vocabularies and widths from the first window, and the means of
    numbers from every window as it comes: the best that can be done in a single pass.
    """

    def __init__(self, mixer: Mixer, encoder: Encoder, window_rows: int, target: str | None, weight: str | None):
        self._mixer = mixer
        self._encoder = encoder
        self._window_rows = window_rows
        self._target = target or "y"
        self._weight = weight or "weight"
        self._learner = None if encoder.fitted else Learner(encoder)

    def windows(self, skip: int) -> Iterator[Window]:
        for _ in range(skip):
            if not self._skip_one():
                return
        while window := self._next_window():
            yield window

    def _skip_one(self) -> bool:
        if self._learner is None and not self._encoder.sparse_input:
            return self._mixer.skip(self._window_rows) > 0
        return bool(self._learned(self._parts()))

    def _next_window(self) -> Window | None:
        # Rows are encoded as they are read, unless the encoder has to learn from them first.
        parts = self._parts() if self._learner is None else iter(self._learned(self._parts()))
        first = next(parts, None)
        if first is None:
            return None
        heap = _Heap(self._encoder, self._window_rows)
        for part in itertools.chain([first], parts):
            heap.add(
                part,
                None if part.target is None else labels(part.target, self._target, part.place),
                None if part.weights is None else sample_weights(part.weights, self._weight, part.place),
            )
        return heap.window()

    def _parts(self) -> Iterator[Rows]:
        """The raw rows of one window, as they are read."""
        wanted, room = self._window_rows, WINDOW_BYTES // 8
        while wanted > 0 and room > 0 and (parts := self._mixer.take(wanted)):
            for part in parts:
                wanted -= part.size
                room -= int(part.features.nnz) if self._encoder.sparse_input else 0
                yield part

    def _learned(self, parts: Iterator[Rows]) -> list[Rows]:
        """The rows of one window, after the encoder has learned from them what it has to."""
        rows = list(parts)
        if self._learner is None or not rows:
            return rows
        for part in rows:
            self._learner.add(part)
        if not self._encoder.fitted:
            self._learner.finish()
        elif self._learner.width > self._encoder.n_columns:
            width = self._learner.width
            raise rows[0].place.error(
                f"there are {width:,} features by now, and the first rows had {self._encoder.n_columns:,} only. "
                f"Data that can be read once only have to say how many there are: features={width}, or more."
            )
        else:
            self._learner.update_means()
        return rows


class _Heap:
    """A window in the making."""

    def __init__(self, encoder: Encoder, window_rows: int):
        self._filler = Filler(encoder)
        self._dense = None
        if not encoder.sparse:
            self._dense = np.empty((window_rows, self._filler.n_features), dtype=np.float32)
        self._sparse: list[Any] = []
        self._labels: list[NDArray[Any]] = []
        self._weights: list[NDArray[np.float64]] = []
        self._spans: list[Span] = []
        self._size = 0

    def add(self, part: Rows, labels: NDArray[Any] | None, weights: NDArray[np.float64] | None) -> None:
        if self._dense is None:
            self._sparse.append(self._filler.csr(part.features, part.size, part.place))
        else:
            self._filler.fill(part.features, self._dense[self._size : self._size + part.size], part.place)
        if labels is not None:
            self._labels.append(labels)
        if weights is not None:
            self._weights.append(weights)
        first = part.place.first_row
        self._spans.append((part.place.file, first, None if first is None else first + part.size))
        self._size += part.size

    def window(self) -> Window:
        return Window(
            self._matrix(),
            np.concatenate(self._labels) if self._labels else None,
            np.concatenate(self._weights) if self._weights else None,
            where(self._spans),
        )

    def _matrix(self) -> Any:
        if self._dense is None:
            return self._sparse[0] if len(self._sparse) == 1 else sparse.vstack(self._sparse, format="csr")
        rows = self._dense[: self._size]
        return rows if 2 * self._size > self._dense.shape[0] else rows.copy()


def where(spans: list[Span]) -> str:
    """The places of the rows, for people."""
    joined: list[Span] = []
    for file, first, stop in sorted(spans, key=lambda span: (span[0], -1 if span[1] is None else span[1])):
        if joined and joined[-1][0] == file and joined[-1][2] == first:
            joined[-1] = (file, joined[-1][1], stop)
        else:
            joined.append((file, first, stop))
    named = [file if first is None else f"{file}, rows {first + 1:,} to {stop:,}" for file, first, stop in joined]
    more = f"; and {len(named) - _PLACES_NAMED} more places" if len(named) > _PLACES_NAMED else ""
    return "; ".join(named[:_PLACES_NAMED]) + more
