"""Rows of files that are decoded once: kept in memory where they fit, or in a file that is mapped into memory.

A pass over kept rows gives the same windows as a pass over the files, bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._errors import Place
from ..features.encode import Encoder, Filler
from .columns import labels, sample_weights
from .formats import Reader, Rows

KEPT_SHARE = 0.25
"""Of the free memory: so much may be taken by kept rows, if the user names no other size."""

# One decodes while another encodes. More would compete with the threads that learn.
_THREADS = min(os.cpu_count() or 1, 2)


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
        self._left -= _bytes_of(rows.features) + _bytes_of(others)
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


def _bytes_of(values: Any) -> int:
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


class EncodedRows(NamedTuple):
    """Rows that are encoded: a matrix, the place of each label among the classes, and the weights."""

    X: Any
    codes: NDArray[np.int8]
    weights: NDArray[np.float64] | None
    place: Place
    kept: dict[str, Any]

    @property
    def nbytes(self) -> int:
        others = {"codes": self.codes, "weights": self.weights} | {f"kept {k}": c for k, c in self.kept.items()}
        return _bytes_of(self.X) + _bytes_of(others)


class EncodedReader(Reader):
    """The rows of another reader, encoded already, kept in memory or in a file that is mapped into memory."""

    decodes = False

    def __init__(
        self, reader: Reader, sizes: Sequence[int], read: Callable[[int], Iterator[EncodedRows]], classes: Any
    ):
        super().__init__(reader.name, sizes)
        self.lane_bytes = reader.lane_bytes
        self._read, self._classes = read, classes

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        for part in self._read(piece):
            yield Rows(part.codes.size, part.X, self._classes[part.codes], part.weights, part.place, part.kept)


class RowEncoder(NamedTuple):
    """How the rows of a reader become encoded rows."""

    encoder: Encoder
    classes: NDArray[Any]
    target: str
    weight: str
    batch_rows: int

    def piece(self, reader: Reader, piece: int) -> Iterator[EncodedRows]:
        """Yield the rows of a piece, encoded."""
        filler = Filler(self.encoder)
        for rows in reader.read(piece, self.batch_rows):
            if self.encoder.sparse:
                X = filler.csr(rows.features, rows.size, rows.place)
            else:
                X = np.empty((rows.size, filler.n_features), dtype=self.encoder.dtype)
                filler.fill(rows.features, rows.place, X)
            codes = np.searchsorted(self.classes, labels(rows.target, self.target, rows.place)).astype(np.int8)
            weights = None if rows.weights is None else sample_weights(rows.weights, self.weight, rows.place)
            yield EncodedRows(X, codes, weights, rows.place, rows.kept)


class _TooManyError(Exception):
    """Rows take more memory than they may."""


def kept_in_memory(readers: Sequence[Reader], encode: RowEncoder, room: float) -> list[Reader] | None:
    """Return readers of the encoded rows, all in memory; None if they take more than ``room`` bytes.

    Pieces are decoded in threads. Rows that are kept as they were decoded are released one piece after another.
    """
    left = [room]

    def encoded(place: tuple[int, int]) -> list[EncodedRows]:
        number, piece = place
        reader, parts = readers[number], []
        for part in encode.piece(reader, piece):
            left[0] -= part.nbytes
            if left[0] < 0:
                raise _TooManyError
            parts.append(part)
        if isinstance(reader, KeptReader):
            reader.release(piece)
        return parts

    places = [(number, piece) for number, reader in enumerate(readers) for piece in range(len(reader.sizes))]
    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            found = dict(zip(places, pool.map(encoded, places), strict=True))
        except BaseException as error:
            pool.shutdown(cancel_futures=True)
            if isinstance(error, _TooManyError):
                return None
            raise
    kept: list[Reader] = []
    for number, reader in enumerate(readers):
        pieces = [found[number, piece] for piece in range(len(reader.sizes))]
        sizes = [sum(part.codes.size for part in piece) for piece in pieces]
        kept.append(EncodedReader(reader, sizes, _ListOfPieces(pieces), encode.classes))
    return kept


class _ListOfPieces(list[list[EncodedRows]]):
    def __call__(self, piece: int) -> Iterator[EncodedRows]:
        return iter(self[piece])
