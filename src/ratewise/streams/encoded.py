"""Rows of files that are encoded once, and kept in memory or on disk for the passes of a fit.

A pass over encoded rows gives the same windows as a pass over the files, bit for bit.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._errors import Place
from .._sparse_rows import csr_of
from ..features.encode import Encoder, Filler
from .columns import labels, sample_weights
from .formats import Reader, Rows
from .kept import KeptReader, bytes_of

# One thread decodes while another encodes. More would compete with the threads that learn.
_THREADS = min(os.cpu_count() or 1, 2)
_DISK_SHARE = 0.5  # of the free disk: other programs need some too


class EncodedRows(NamedTuple):
    """Encoded rows: a matrix, the index of each label among the classes, and the weights."""

    X: Any
    codes: NDArray[np.int8]
    weights: NDArray[np.float64] | None
    place: Place
    kept: dict[str, Any]

    @property
    def nbytes(self) -> int:
        others = {"codes": self.codes, "weights": self.weights} | {f"kept {k}": c for k, c in self.kept.items()}
        return bytes_of(self.X) + bytes_of(others)


class RowEncoder(NamedTuple):
    """The encoding of the rows of a reader."""

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


class NoRoomError(Exception):
    """Rows take more space than is allowed or available."""


class DiskCacheWarning(RuntimeWarning):
    """Rows could not be kept on disk: every pass reads the files."""


class Store(ABC):
    """Keeps the encoded rows of each piece of each reader."""

    @abstractmethod
    def add(self, number: int, piece: int, part: EncodedRows) -> None:
        """Keep some more rows of a piece of a reader. Threads call this at once."""

    @abstractmethod
    def parts(self, number: int, piece: int) -> Iterator[EncodedRows]:
        """Yield the rows of a piece as they were added."""

    @abstractmethod
    def close(self) -> None:
        """Discard all rows."""

    def readers(self, readers: Sequence[Reader], encode: RowEncoder) -> list[Reader]:
        """Encode the rows of all readers in threads, and return readers of the encoded rows.

        Decoded rows that were kept are released one piece after another.
        """
        try:
            return self._encoded(readers, encode)
        except BaseException:
            self.close()
            raise

    def _encoded(self, readers: Sequence[Reader], encode: RowEncoder) -> list[Reader]:
        stopped = threading.Event()

        def rows_of(place: tuple[int, int]) -> int:
            number, piece = place
            reader, rows = readers[number], 0
            for part in encode.piece(reader, piece):
                if stopped.is_set():
                    break
                self.add(number, piece, part)
                rows += part.codes.size
            if isinstance(reader, KeptReader):
                reader.release(piece)
            return rows

        places = [(number, piece) for number, reader in enumerate(readers) for piece in range(len(reader.sizes))]
        with ThreadPoolExecutor(_THREADS) as pool:
            try:
                sizes = dict(zip(places, pool.map(rows_of, places), strict=True))
            except BaseException:
                stopped.set()
                pool.shutdown(cancel_futures=True)
                raise
        kept: list[Reader] = []
        for number, reader in enumerate(readers):
            of_pieces = [sizes[number, piece] for piece in range(len(reader.sizes))]
            kept.append(_EncodedReader(reader, of_pieces, self, number, encode.classes))
        return kept


class MemoryStore(Store):
    """Encoded rows in at most ``room`` bytes of memory."""

    def __init__(self, room: float):
        self._left = room
        self._parts: dict[tuple[int, int], list[EncodedRows]] = {}

    def add(self, number: int, piece: int, part: EncodedRows) -> None:
        self._left -= part.nbytes
        if self._left < 0:
            raise NoRoomError
        self._parts.setdefault((number, piece), []).append(part)

    def parts(self, number: int, piece: int) -> Iterator[EncodedRows]:
        return iter(self._parts.get((number, piece), ()))

    def close(self) -> None:
        self._parts.clear()


class DiskStore(Store):
    """Encoded rows in a file of a folder, of at most half of its free disk.

    The file has no name in the folder, so the system removes it when the process ends, in any way.
    """

    def __init__(self, folder: str):
        self._left = int(_DISK_SHARE * shutil.disk_usage(folder).free)
        self._file = tempfile.TemporaryFile(dir=folder, prefix=".ratewise-")  # noqa: SIM115 - until close
        self._lock = threading.Lock()
        self._parts: dict[tuple[int, int], list[_OnDisk]] = {}

    def add(self, number: int, piece: int, part: EncodedRows) -> None:
        X = [part.X.data, part.X.indices, part.X.indptr] if hasattr(part.X, "indptr") else [part.X]
        arrays = [*X, part.codes] if part.weights is None else [*X, part.codes, part.weights]
        with self._lock:
            self._left -= sum(array.nbytes for array in arrays)
            if self._left < 0:
                raise NoRoomError("they would take more than half of the free disk")
            try:
                start = self._file.seek(0, os.SEEK_END)
                for array in arrays:
                    self._file.write(_bytes_in(array))
                self._file.flush()
            except OSError as error:
                raise NoRoomError(error.strerror) from error
            forms = [(array.dtype, array.shape) for array in arrays]
            like = type(part.X) if len(X) == 3 else None
            found = _OnDisk(start, forms, like, part.X.shape[1], part.place)
            self._parts.setdefault((number, piece), []).append(found)

    def parts(self, number: int, piece: int) -> Iterator[EncodedRows]:
        for part in self._parts.get((number, piece), ()):
            arrays = [np.empty(shape, dtype) for dtype, shape in part.forms]
            with self._lock:
                self._file.seek(part.start)
                for array in arrays:
                    self._file.readinto(_bytes_in(array))
            if part.like is None:
                X, codes, *weights = arrays
            else:
                data, indices, indptr, codes, *weights = arrays
                X = csr_of(data, indices, indptr, part.like, part.n_columns)
            yield EncodedRows(X, codes, weights[0] if weights else None, part.place, {})

    def close(self) -> None:
        self._file.close()


class _OnDisk(NamedTuple):
    """The place of encoded rows in a file, and the types and shapes of their arrays."""

    start: int
    forms: list[tuple[Any, tuple[int, ...]]]
    like: Any
    """The type of the matrix, if it is sparse."""
    n_columns: int
    place: Place


def _bytes_in(array: NDArray[Any]) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


class _EncodedReader(Reader):
    """The rows of another reader, encoded already."""

    decodes = False

    def __init__(self, reader: Reader, sizes: Sequence[int], store: Store, number: int, classes: Any):
        super().__init__(reader.name, sizes)
        self.lane_bytes = reader.lane_bytes  # as many lanes as the files have
        self._store, self._number, self._classes = store, number, classes

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        for part in self._store.parts(self._number, piece):
            yield Rows(part.codes.size, part.X, self._classes[part.codes], part.weights, part.place, part.kept)
