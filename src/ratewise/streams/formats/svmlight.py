"""svmlight / libsvm text: ``label index:value index:value ... # comment``, one row per line."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import os
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from ...kernels import svmlight as kernel
from ..encode import Encoder
from ..errors import DataError
from . import Opened, Request, Rows, TextReader

Source = str | os.PathLike[str] | BinaryIO
Numbering = bool | Literal["auto"]

DEFAULT_CHUNK_BYTES = 1 << 20
_LOAD_BYTES = 1 << 18  # so that all of a block stays in a core's cache
_LOOK_BYTES = 1 << 20  # how much text "auto" reads before it decides where the file's numbering begins
_LONGEST_LINE = 1 << 28
_LONGEST_QUOTE = 40
_PADDING = 1 + kernel.PADDING  # a newline that the file may lack at its end, and what the parser may look ahead
_COMPRESSED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}  # by the first bytes of a file

_MESSAGES = {
    kernel.BAD_LABEL: "the label {} is not a number. A line is a label, then index:value pairs.",
    kernel.BAD_VALUE: "the value in {} is not a number.",
    kernel.NO_COLON: "{} has no colon. After the label a line has index:value pairs only.",
    kernel.NOT_AN_INDEX: "bad index in {}: it should be a whole number, then a colon.",
    kernel.BELOW_ZERO: "bad index in {}: an index cannot be negative.",
    kernel.BELOW_BASE: "bad index in {}: columns count from 1 here. Pass zero_based=True if they count from 0.",
    kernel.NOT_RISING: "bad index in {}: indices must rise along a line, and none may come twice.",
    kernel.TOO_HIGH: f"bad index in {{}}: the largest possible is {kernel.LARGEST_INDEX:,}.",
}


def open_files(paths: list[str], request: Request, stream: BinaryIO | None = None) -> Opened:
    if request.target is not None or request.weight is not None:
        raise ValueError("svmlight files hold their own target, and no weights: leave out target= and weight=.")
    if request.features is not None and not isinstance(request.features, int):
        raise TypeError("svmlight: features= takes the number of columns.")
    encoder = request.encoder
    fixed = request.features if encoder is None else (None if encoder.elastic else encoder.n_columns)
    zero_based = None if encoder is None else encoder.zero_based
    readers: list[SvmlightFile] = []
    for path in paths:
        readers.append(SvmlightFile(path, fixed, zero_based, stream))
        zero_based = readers[0].zero_based
    if not any(reader.has_rows for reader in readers):
        raise DataError(f"{readers[0].name}: the file is empty.")
    if encoder is None:
        width = fixed if fixed is not None else max(reader.width for reader in readers)
        encoder = Encoder(width, sparse_input=True, elastic=fixed is None)
        encoder.zero_based = zero_based
    return Opened(readers, encoder, "label")


class SvmlightFile(TextReader):
    """An svmlight file, or a stream. A plain file is read in pieces of some megabytes, any other from its start.

    ``n_features`` is None if it is not known; ``zero_based`` is None to let the first lines decide.
    """

    def __init__(self, path: str, n_features: int | None, zero_based: bool | None, stream: BinaryIO | None = None):
        super().__init__(path)
        self.repeatable = stream is None
        self._n_features = n_features
        self.zero_based = zero_based
        self._chunks = self._opened(stream or path)
        self._first = next(self._chunks, None)
        self.zero_based = bool(self._chunks.zero_based)
        self.has_rows = self._first is not None
        self.width = 0 if self._first is None else int(self._first.X.shape[1])
        if stream is None:
            self._chunks.close()
            self._first = None
            if not self._chunks.is_compressed:
                self.cut_into_pieces(comment=b"#")

    def _opened(self, source: Source) -> SvmlightReader:
        zero_based: Numbering = "auto" if self.zero_based is None else self.zero_based
        return read_svmlight(source, n_features=self._n_features, zero_based=zero_based)

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        place, rows = self.place(piece), 0
        try:
            for chunk in self._chunks_of(piece):
                yield Rows(chunk.y.size, sparse.csr_array(chunk.X), chunk.y, None, place.shifted(rows))
                rows += chunk.y.size
        except DataError:
            if self.is_cut:
                for _ in self._opened(self.name):  # says which line of the file it is
                    pass
            raise
        if self.is_cut:
            self.sizes[piece] = rows

    def _chunks_of(self, piece: int) -> Iterator[SvmlightChunk]:
        if self.is_cut:
            text = self.text_of(piece)
            yield from self._opened(io.BytesIO(text)) if text.strip() else ()
        elif self.repeatable:
            yield from self._opened(self.name)
        else:
            yield from () if self._first is None else (self._first,)
            yield from self._chunks


class SvmlightChunk(NamedTuple):
    """Consecutive rows of a file."""

    X: sparse.csr_matrix
    y: NDArray[np.float64]
    first_line: int
    """The line of the first of these rows, from 1; comments and empty lines count."""


def read_svmlight(
    source: Source,
    *,
    chunk_bytes: int = DEFAULT_CHUNK_BYTES,
    n_features: int | None = None,
    dtype: DTypeLike = np.float32,
    zero_based: Numbering = "auto",
) -> SvmlightReader:
    """Read a file chunk by chunk, in memory that does not depend on its length.

    Parameters
    ----------
    source : path or open binary file
        Plain, gzip or bzip2, which the first bytes tell. For standard input give ``sys.stdin.buffer``.
    chunk_bytes : int
        Bytes of text per chunk. A longer line is a chunk by itself.
    n_features : int, optional
        Columns of every ``X``; a larger index is an error. Without it a chunk is as wide as the largest index so
        far asks for, so that later chunks may be wider.
    dtype : float32 or float64
        Of ``X``. Numbers are rounded to float64 first, as scikit-learn does.
    zero_based : bool or "auto"
        Whether the file calls its first column 0 or 1. "auto" looks at the first mebibyte of text (or the first
        chunk, if that is more) and takes 1 unless a 0 occurs there. Should a 0 come later, that is an error which
        asks for ``zero_based=True``: columns never shift on the way. Files that belong together should be read
        with the same explicit value, which ``reader.zero_based`` tells.

    Returns
    -------
    SvmlightReader
        An iterator over :class:`SvmlightChunk`. What is wrong with a file raises :class:`DataError` with the line
        and the token. Rows with NaN or infinite values are read as they are.
    """
    return SvmlightReader(source, chunk_bytes, n_features, dtype, zero_based)


def load_svmlight(
    source: Source,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: Numbering = "auto",
) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
    """Read a whole file: ``X, y``, equal bit for bit to scikit-learn's ``load_svmlight_file``.

    Here "auto" looks at the whole file: it counts from 0 if an index 0 occurs anywhere. The other parameters are
    those of :func:`read_svmlight`.
    """
    reader = SvmlightReader(source, _LOAD_BYTES, n_features, dtype, zero_based)
    values, indices, labels = GrowingArray(reader.dtype), GrowingArray(np.int32), GrowingArray(np.float64)
    indptr = GrowingArray(np.int64)
    indptr.append(np.zeros(1, dtype=np.int64))
    with contextlib.closing(reader):
        for block in reader.blocks():
            share = reader.share_read
            indptr.append(block.indptr[1:] + np.int64(values.size), share)
            values.append(block.values, share)
            indices.append(block.indices, share)
            labels.append(block.labels, share)
    columns, row_ends, y = indices.finish(), indptr.finish(), labels.finish()
    reader.decide_numbering([columns])
    if row_ends[-1] <= np.iinfo(np.int32).max:
        row_ends = row_ends.astype(np.int32)
    return sparse.csr_matrix((values.finish(), columns, row_ends), shape=(y.size, reader.width)), y


class GrowingArray:
    """One array made of many, without holding both the parts and the whole.

    Memory that is set aside but not yet written to costs nothing, so a good guess of the final size, from the
    share of the source that was read, saves all copying.
    """

    def __init__(self, dtype: DTypeLike):
        self.size = 0
        self._room: NDArray[Any] = np.empty(0, dtype=dtype)

    def append(self, part: NDArray[Any], share_read: float = 0.0) -> None:
        """Append an array that completes a share of all parts, from 0 to 1; 0 if it is not known."""
        size = self.size + part.size
        if size > self._room.size:
            guess = int(1.05 * size / share_read) if share_read > 0 else 0
            room = np.empty(max(guess, size + size // 2), dtype=self._room.dtype)
            room[: self.size] = self._room[: self.size]
            self._room = room
        self._room[self.size : size] = part
        self.size = size

    def finish(self) -> NDArray[Any]:
        """Return all parts as one array, with nothing to spare. Nothing can be appended any more."""
        whole, self._room = self._room, np.empty(0, dtype=self._room.dtype)
        whole.resize(self.size, refcheck=False)
        return whole


class _Block(NamedTuple):
    """Some rows as CSR arrays, which the next block overwrites."""

    values: NDArray[np.floating[Any]]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int32]
    labels: NDArray[np.float64]
    first_line: int

    def copy(self) -> _Block:
        values, indices, indptr, labels, first_line = self
        return _Block(values.copy(), indices.copy(), indptr.copy(), labels.copy(), first_line)


class SvmlightReader(Iterator[SvmlightChunk]):
    """The chunks of one file, in order, once. Made by :func:`read_svmlight`.

    While ``zero_based`` is None, indices are kept as they are written; ``decide_numbering`` ends that.
    """

    def __init__(
        self, source: Source, block_bytes: int, n_features: int | None, dtype: DTypeLike, zero_based: Numbering
    ):
        if block_bytes < 1:
            raise ValueError(f"chunk_bytes must be at least 1, not {block_bytes}.")
        if n_features is not None and n_features < 1:
            raise ValueError(f"n_features must be at least 1, not {n_features}.")
        if zero_based not in (True, False, "auto"):
            raise ValueError(f'zero_based must be True, False or "auto", not {zero_based!r}.')
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, not {np.dtype(dtype)}.")
        self.dtype = np.dtype(dtype)
        self.zero_based: bool | None = None if zero_based == "auto" else bool(zero_based)
        """Whether the file counts from 0; None until "auto" has decided, which the first chunk waits for."""
        self._guessed = False
        self._n_features = n_features
        self._smallest, self._largest = kernel.LARGEST_INDEX, -1  # index as written
        self._bytes_read = 0
        self._lines = LineBlocks(source, block_bytes)
        self.is_compressed = self._lines.is_compressed
        self._arrays: list[NDArray[Any]] = []  # for the results of the compiled loop, used for block after block
        self._arrays_fit = 0  # bytes of text
        self._chunks = self._read()

    def __next__(self) -> SvmlightChunk:
        return next(self._chunks)

    def close(self) -> None:
        """Close the file, if it was opened here. Happens by itself at the end of the file or of the reader."""
        self._chunks.close()
        self._lines.close()

    def __enter__(self) -> SvmlightReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_chunks"):
            self.close()

    @property
    def share_read(self) -> float:
        """How much of the file has been read, from 0 to 1; 0 where that cannot be known."""
        return self._bytes_read / self._lines.size if self._lines.size else 0.0

    @property
    def width(self) -> int:
        """Columns: as asked for, else as many as seen so far; at least one, as in scikit-learn."""
        return self._n_features or max(self._largest + 1 - self._base, 1)

    def _read(self) -> Generator[SvmlightChunk]:
        waiting: list[_Block] = []
        try:
            for block in self.blocks():
                waiting.append(block.copy())
                if self.zero_based is None and self._smallest > 0 and self._bytes_read < _LOOK_BYTES:
                    continue
                yield from self._chunks_of(waiting)
                waiting = []
            yield from self._chunks_of(waiting)
        finally:
            self._lines.close()

    def _chunks_of(self, waiting: list[_Block]) -> Iterator[SvmlightChunk]:
        """Decide where the numbering begins, unless it is known, and make matrices of blocks."""
        self.decide_numbering([block.indices for block in waiting])
        for block in waiting:
            shape = (block.labels.size, self.width)
            X = sparse.csr_matrix((block.values, block.indices, block.indptr), shape=shape)
            yield SvmlightChunk(X, block.labels, block.first_line)

    def decide_numbering(self, indices: list[NDArray[np.int32]]) -> None:
        """Unless it is known, decide where the numbering begins by all that was read, and shift these indices."""
        if self.zero_based is not None:
            return
        self.zero_based = self._smallest == 0
        self._guessed = True
        if not self.zero_based:
            for written in indices:
                np.subtract(written, 1, out=written)
        elif self._n_features is not None and self._largest >= self._n_features:
            raise DataError(
                f"{self._lines.name}: bad index {self._largest}. With index 0, which occurs too, that makes "
                f"more than the {self._n_features:,} features asked for by n_features={self._n_features}."
            )

    @property
    def _base(self) -> int:
        return 1 if self.zero_based is False else 0

    @property
    def _highest(self) -> int:
        """The largest index that may be written; while the numbering is open, that of the more generous one."""
        if self._n_features is None:
            return kernel.LARGEST_INDEX
        return min(kernel.LARGEST_INDEX, self._n_features - (self.zero_based is True))

    def blocks(self) -> Iterator[_Block]:
        """Yield the blocks of the file that hold rows."""
        lines = self._lines
        while stop := lines.next_block():
            self._bytes_read += stop
            if lines.buffer.size > self._arrays_fit:  # at first, and after a line that did not fit
                self._make_room(lines.buffer.size)
            status, at, n_rows, n_entries, n_left, n_lines, first_row, smallest, largest = kernel.parse_lines(
                lines.buffer, stop, self._base, self._highest, *self._arrays
            )
            indptr, indices, values, labels, for_python = self._arrays
            self._convert(for_python[:n_left], values, labels)
            if status != kernel.DONE:
                raise self._error(status, at)
            first_line = lines.line(max(first_row, 0))
            lines.lines_before += n_lines
            self._smallest, self._largest = min(self._smallest, smallest), max(self._largest, largest)
            if n_rows:
                yield _Block(
                    values[:n_entries], indices[:n_entries], indptr[: n_rows + 1], labels[:n_rows], first_line
                )

    def _make_room(self, size: int) -> None:
        """Make arrays that no text of this many bytes can overflow; what is never written to takes no memory."""
        entries, rows = size // 4 + 1, size // 2 + 1
        self._arrays = [
            np.empty(rows + 1, dtype=np.int32),
            np.empty(entries, dtype=np.int32),
            np.empty(entries, dtype=self.dtype),
            np.empty(rows, dtype=np.float64),
            np.empty((entries, 3), dtype=np.int64),
        ]
        self._arrays_fit = size

    def _convert(self, for_python: NDArray[np.int64], values: NDArray[Any], labels: NDArray[Any]) -> None:
        """Let Python read the numbers that the compiled loop left to it."""
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, as in scikit-learn
            for entry, begin, end in for_python.tolist():
                try:
                    number = float(self._lines.text(begin, end))
                except ValueError:
                    status = kernel.BAD_LABEL if entry < 0 else kernel.BAD_VALUE
                    raise self._error(status, begin) from None
                if entry < 0:
                    labels[-1 - entry] = number
                else:
                    values[entry] = number

    def _error(self, status: int, at: int) -> DataError:
        message = _MESSAGES[status]
        if status == kernel.BELOW_BASE and self._guessed:
            message = (
                "bad index in {}: the first lines had no index 0, so columns were taken to count from 1. "
                "Pass zero_based=True if this file counts from 0."
            )
        elif status == kernel.TOO_HIGH and self._highest < kernel.LARGEST_INDEX:
            message = f"bad index in {{}}: it is beyond the {self._n_features:,} columns that n_features allows."
        return DataError(f"{self._lines.where(at)}: {message.format(self._lines.token(at))}")


class LineBlocks:
    """Blocks of whole lines from a path or an open binary file, plain or compressed.

    ``next_block`` puts the next lines at the front of ``buffer`` and returns how many bytes they take. A line cut
    by the end of a read waits for its rest. Memory is one buffer, which grows only for a line that does not fit.
    """

    def __init__(self, source: Source, block_bytes: int):
        self.name = _name_of(source)
        self._to_close: list[Any] = []
        self.is_compressed = False
        self.size: int | None = None
        """Bytes of text, if known before reading."""
        self._file = self._open(source)
        self._room = block_bytes
        self._text = bytearray(block_bytes + _PADDING)
        self._begin = self._end = 0  # of what was read but not given out
        self.buffer: NDArray[np.uint8] = np.frombuffer(self._text, dtype=np.uint8)
        self.lines_before = 0
        """Lines of all earlier blocks; the reader adds to it."""

    def _open(self, source: Any) -> Any:
        if not hasattr(source, "read"):
            source = Path(source).open("rb")  # noqa: SIM115 (closed by close)
            self._to_close.append(source)
        elif isinstance(source, io.TextIOBase):
            raise TypeError(f"{self.name} is open as text: open it in binary mode (of sys.stdin, take .buffer).")
        first_bytes = _peek(source)
        for magic, opener in _COMPRESSED.items():
            if first_bytes.startswith(magic):
                self.is_compressed = True
                self._to_close.append(opener(source, "rb"))
                return self._to_close[-1]
        if self._to_close:
            self.size = os.fstat(source.fileno()).st_size
        return source

    def close(self) -> None:
        """Close what was opened here; a file that the caller opened stays open."""
        while self._to_close:
            self._to_close.pop().close()

    def next_block(self) -> int:
        """Return the bytes of the next whole lines, now at the front of ``buffer``; 0 at the end."""
        kept = self._end - self._begin
        self._text[:kept] = self._text[self._begin : self._end]
        while True:
            if kept == self._room:
                self._grow()
            count = self._read(kept)
            if count == 0:
                self._begin = self._end = 0
                self._text[kept] = ord("\n")
                return kept and kept + 1
            newline = self._text.rfind(b"\n", kept, kept + count)
            kept += count
            if newline >= 0:
                self._begin, self._end = newline + 1, kept
                return newline + 1

    def line(self, at: int) -> int:
        """Return the number of the line at a place in the buffer, from 1."""
        return self.lines_before + self._text.count(b"\n", 0, at) + 1

    def where(self, at: int) -> str:
        """Return file and line of a place in the buffer, for a message."""
        return f"{self.name}, line {self.line(at):,}"

    def text(self, begin: int, end: int) -> bytes:
        return bytes(self._text[begin:end])

    def token(self, at: int) -> str:
        """Return what stands between white space around a place in the buffer, quoted for a message."""
        begin = end = at
        while begin > 0 and not self._text[begin - 1 : begin].isspace():
            begin -= 1
        while end <= begin + _LONGEST_QUOTE and not self._text[end : end + 1].isspace():
            end += 1
        token = self._text[begin:end].decode("utf-8", "replace")
        return repr(token if len(token) <= _LONGEST_QUOTE else token[:_LONGEST_QUOTE] + "...")

    def _grow(self) -> None:
        if self._room >= _LONGEST_LINE:
            raise DataError(
                f"{self.where(0)}: this line has more than {_LONGEST_LINE:,} bytes. Is the file really text?"
            )
        text = bytearray(2 * self._room + _PADDING)
        text[: self._room] = self._text[: self._room]
        self._room, self._text = 2 * self._room, text
        self.buffer = np.frombuffer(text, dtype=np.uint8)

    def _read(self, begin: int) -> int:
        """Read into the buffer from ``begin`` on; return how many bytes came, 0 at the end of the file."""
        with memoryview(self._text)[begin : self._room] as room:
            try:
                if hasattr(self._file, "readinto"):
                    count = self._file.readinto(room)
                else:
                    content = self._file.read(len(room))
                    count = len(content)
                    room[:count] = content
            except (EOFError, zlib.error, OSError) as error:
                if not self.is_compressed or (isinstance(error, OSError) and error.errno is not None):
                    raise
                raise DataError(
                    f"{self.where(begin)}: the compressed file is cut short or damaged ({error}). Copy it again."
                ) from error
        if count is None:
            raise BlockingIOError(f"{self.name} has nothing to read yet: give a file that waits for its data.")
        return int(count)


def _name_of(source: Any) -> str:
    if not hasattr(source, "read"):
        return str(os.fspath(source))
    name = getattr(source, "name", None)
    if name == "<stdin>" or name == 0:
        return "standard input"
    return name if isinstance(name, str) else "the open file"


def _peek(file: Any) -> bytes:
    """Return the first bytes of a file, which are still to be read afterwards; none where that is not possible."""
    if hasattr(file, "peek"):
        return cast(bytes, file.peek(3)[:3])
    if not (hasattr(file, "seekable") and file.seekable()):
        return b""
    place = file.tell()
    first_bytes = cast(bytes, file.read(3))
    file.seek(place)
    return first_bytes
