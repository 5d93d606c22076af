"""The formats of files: their registry, and the common parts of their readers.

To add a format, write a module here with a function ``open_files(paths, request)`` that returns an ``Opened``, and
add a line to ``FORMATS``. A text format's function takes an open binary file too, in place of the paths. Only the
modules of formats that are read are imported.
"""

from __future__ import annotations

import importlib
import mmap
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._errors import DataError, Place
from ..._sparse_rows import row_range
from ...features.learn import MOST_COLUMNS, too_wide

if TYPE_CHECKING:
    from ...features.encode import Encoder

PIECE_BYTES = 4 << 20
_MOST_FILES_KEPT_OPEN = 64
_RELEASE_AFTER = 16 << 20
_COMPRESSED_ENDINGS = (".gz", ".bz2", ".zst")


class Format(NamedTuple):
    """A format, by the name of its module and the endings of its files."""

    module: str
    endings: tuple[str, ...]
    columns: Literal["named", "numbered", "counted"] = "named"
    """How the user gives columns to ``open_stream``: by name, by number, or only their number."""
    text: str | None = None
    """The name of a text format in messages: files may be compressed, and rows may come from standard input."""

    @property
    def open_files(self) -> Callable[..., Opened]:
        """The function that opens files of this format."""
        opener: Callable[..., Opened] = importlib.import_module(f".{self.module}", __name__).open_files
        return opener


FORMATS = {
    "parquet": Format("arrow_files", (".parquet", ".pq")),
    "feather": Format("arrow_files", (".feather", ".arrow", ".arrows", ".ipc")),
    "csv": Format("csv", (".csv", ".tsv"), text="CSV"),
    "svmlight": Format("svmlight", (".svm", ".svmlight", ".libsvm", ".txt"), "counted", text="svmlight"),
    "npy": Format("numpy_files", (".npy",), "numbered"),
    "npz": Format("numpy_files", (".npz",), "numbered"),
}


def format_of(path: str) -> str | None:
    """Return the format by the name of a file, if it has one."""
    stem, ending = os.path.splitext(path.lower())
    compressed = ending in _COMPRESSED_ENDINGS
    if compressed:
        ending = os.path.splitext(stem)[1]
    matches = (name for name, format in FORMATS.items() if ending in format.endings)
    return next((name for name in matches if FORMATS[name].text or not compressed), None)


def few_enough_to_keep_open(files: int) -> bool:
    return files <= _MOST_FILES_KEPT_OPEN


class Request(NamedTuple):
    """The arguments of ``open_stream``."""

    target: Any
    features: Any
    weight: Any
    format: str | None
    encoder: Encoder | None
    columns: Mapping[str, str] | None = None
    """The kinds of columns that the user gave, by name."""
    keep: tuple[str, ...] = ()
    """Columns that come along as they are."""
    decimal: str = "."
    """The decimal sign of numbers in texts."""


class Opened(NamedTuple):
    """Readers of files, the encoder of their rows, and the name of the target in messages."""

    readers: Sequence[Reader]
    encoder: Encoder
    target: Any


def matrix_encoder(
    n_features: int, name: str, request: Request, *, is_sparse: bool = False, names: list[str] | None = None
) -> Encoder:
    """Return the encoder of a matrix: the model's, if the width agrees, or a new one."""
    from ...features.encode import Encoder

    encoder = request.encoder
    if n_features > MOST_COLUMNS:
        raise DataError(too_wide(name, n_features))
    if encoder is None:
        return Encoder(names or n_features, sparse_input=is_sparse)
    if n_features != encoder.n_columns and not encoder.elastic:
        raise DataError(f"{name}: {n_features:,} columns, and the model was trained on {encoder.n_columns:,}.")
    return encoder


@dataclass(frozen=True)
class Rows:
    """A run of consecutive rows as they are in a file.

    The features are named columns (a dict of Arrow or numpy arrays), a dense matrix, or a CSR matrix.
    """

    size: int
    features: Any
    target: Any
    weights: Any
    place: Place
    kept: dict[str, Any] = field(default_factory=dict)
    """Columns that come along as they are."""

    def cut(self, start: int, stop: int) -> Rows:
        """Return the rows from start to stop; nothing is copied."""
        if start == 0 and stop >= self.size:
            return self
        stop = min(stop, self.size)

        def part(values: Any) -> Any:
            if isinstance(values, dict):
                return {name: column[start:stop] for name, column in values.items()}
            if hasattr(values, "indptr"):
                return row_range(values, start, stop)
            return None if values is None else values[start:stop]

        features, target, weights, kept = map(part, (self.features, self.target, self.weights, self.kept))
        return Rows(stop - start, features, target, weights, self.place.shifted(start), kept)

    def where(self, chosen: NDArray[np.bool_]) -> Rows:
        """Return some of the rows of a table. Messages about scattered rows do not number them."""
        if chosen.all():
            return self
        import pyarrow as pa

        def part(column: Any) -> Any:
            if column is None or isinstance(column, np.ndarray):
                return None if column is None else column[chosen]
            return column.filter(pa.array(chosen))

        features, kept = ({name: part(column) for name, column in of.items()} for of in (self.features, self.kept))
        size, place = int(chosen.sum()), Place(self.place.file)
        return Rows(size, features, part(self.target), part(self.weights), place, kept)


class Reader:
    """One file, or one list of batches, in pieces that can be read independently.

    A file without such pieces (compressed text, a generator) is one piece.
    """

    repeatable = True
    decodes = True
    """Whether reading costs more than a copy of the rows, so that they are worth keeping."""
    lane_bytes = 0
    """About how much memory an open piece takes."""
    sizes: list[int | None]
    """The number of rows of each piece; None if it is not known without reading the piece."""
    mapped: Sequence[MappedFile] = ()
    """The files that are kept open; their rows are read on access."""

    def __init__(self, name: str, sizes: Sequence[int | None] = (None,)):
        self.name = name
        self.sizes = list(sizes)
        self.kinds: dict[str, str] = {}  # of named columns that are read

    def require_whole(self) -> None:
        """Refuse files that were shortened after mapping: the system ends a process that accesses them."""
        for file in self.mapped:
            if file.bytes.size() < len(file.bytes):
                raise DataError(f"{self.name}: the file was shortened while it was read. Start again.")

    def place(self, piece: int) -> Place:
        """Return where a piece begins, with its row number if the sizes of all earlier pieces are known."""
        known = [size for size in self.sizes[:piece] if size is not None]
        return Place(self.name, sum(known) if len(known) == piece else None)

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        """Yield the rows of a piece in order, a few at a time."""
        raise NotImplementedError


class TextReader(Reader):
    """A text file. A plain one is cut into pieces of some megabytes; any other text is one piece.

    A piece is a run of whole lines, which is found without reading those before it: the lines that begin in its
    share of the bytes. The bytes before ``begin`` belong to none. Blank lines and lines that begin with
    ``comment`` are not rows.
    """

    lane_bytes = 3 * PIECE_BYTES
    is_cut = False
    _begin = _piece_bytes = 0

    def cut_into_pieces(self, begin: int = 0, comment: bytes | None = None, piece_bytes: int = 0) -> None:
        size = os.path.getsize(self.name)
        self.is_cut = True
        self._begin, self._end, self._comment = begin, size, comment
        self._piece_bytes = max(piece_bytes, PIECE_BYTES)
        self.lane_bytes = 3 * self._piece_bytes
        self.sizes = [None] * max(-(-(size - begin) // self._piece_bytes), 0)

    def text_of(self, piece: int) -> bytes:
        start = self._begin + piece * self._piece_bytes
        stop = min(start + self._piece_bytes, self._end)
        with open(self.name, "rb") as file:
            if start > 0:  # from the newline before it on, so that the line that begins here is not skipped
                file.seek(start - 1)
                start += len(file.readline()) - 1
            if start >= stop:
                return b""
            text = file.read(stop - start)
            return text if text.endswith(b"\n") else text + file.readline()

    def place(self, piece: int) -> Place:
        return replace(super().place(piece), find_first_row=lambda: self.before(piece)[0])

    def before(self, piece: int) -> tuple[int, int]:
        """Count the rows and the lines of the file before a piece, by reading them."""
        start = self._begin + piece * self._piece_bytes
        rows = lines = at = 0
        with open(self.name, "rb") as file:
            for line in file:
                if at >= start:
                    break
                text = line.strip()
                is_comment = self._comment is not None and text.startswith(self._comment)
                rows += at >= self._begin and bool(text) and not is_comment
                lines += 1
                at += len(line)
        return rows, lines


class MappedFile:
    """The bytes of a file, mapped into memory and read from disk when accessed.

    Accessed bytes count as memory of the process until they are released; they stay in the system's cache.
    """

    def __init__(self, path: str):
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise DataError(f"{path}: the file is empty.")
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._used = 0

    def used(self, count: int) -> None:
        """Count this many accessed bytes as no longer needed; release them when there are many."""
        self._used += count
        if self._used >= _RELEASE_AFTER and hasattr(mmap, "MADV_DONTNEED"):
            self.bytes.madvise(mmap.MADV_DONTNEED)
            self._used = 0
