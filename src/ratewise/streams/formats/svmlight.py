"""svmlight / libsvm text: ``label index:value index:value ... # comment``, one row per line."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import itertools
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._errors import DataError
from ...features.encode import Encoder
from ...features.learn import MOST_COLUMNS, too_wide
from ...kernels import svmlight as kernel
from . import Opened, Request, Rows, TextReader

Chunk = tuple[sparse.csr_array, NDArray[np.float64]]  # consecutive rows of float32, and their labels

_BLOCK_BYTES = 1 << 20  # of text that is parsed at once
_LONGEST_LINE = 1 << 28
_LONGEST_QUOTE = 40
_COMPRESSED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}  # by the first bytes of a file

_MESSAGES = {
    kernel.BAD_LABEL: "the label {} is not a number. A line is a label, then index:value pairs.",
    kernel.BAD_VALUE: "the value in {} is not a number.",
    kernel.NO_COLON: "{} has no colon. After the label a line has index:value pairs only.",
    kernel.NOT_AN_INDEX: "bad index in {}: it should be a whole number, then a colon.",
    kernel.BELOW_ZERO: "bad index in {}: an index cannot be negative.",
    kernel.BELOW_BASE: "bad index in {}: columns count from 1 here, since the first lines have no index 0. If "
    "they count from 0, let the first line have one.",
    kernel.NOT_RISING: "bad index in {}: indices must rise along a line, and none may come twice.",
    kernel.TOO_HIGH: f"bad index in {{}}: the largest possible is {kernel.LARGEST_INDEX:,}.",
}


def open_files(paths: list[str], request: Request, stream: BinaryIO | None = None) -> Opened:
    if request.target is not None or request.weight is not None:
        raise ValueError("svmlight files hold their own target, and no weights: leave out target= and weight=.")
    if request.features is not None and not isinstance(request.features, int):
        raise TypeError("svmlight: features= takes the number of columns.")
    if request.features is not None and request.features < 1:
        raise ValueError(f"features must be at least 1, not {request.features}.")
    if request.features is not None and request.features > MOST_COLUMNS:
        raise DataError(too_wide("features=", request.features))
    encoder = request.encoder
    fixed = request.features if encoder is None else (None if encoder.elastic else encoder.n_columns)
    zero_based = None if encoder is None else encoder.zero_based
    readers: list[SvmlightReader] = []
    for path in paths:
        readers.append(SvmlightReader(path, fixed, zero_based, stream))
        zero_based = readers[0].zero_based
    if not any(reader.has_rows for reader in readers):
        raise DataError(f"{readers[0].name}: the file is empty.")
    if encoder is None:
        width = fixed if fixed is not None else max(reader.width for reader in readers)
        encoder = Encoder(width, sparse_input=True, elastic=fixed is None)
        encoder.zero_based = zero_based
    return Opened(readers, encoder, "label")


class SvmlightReader(TextReader):
    """An svmlight file, or a stream. A plain file is read in pieces of some megabytes, any other from its start.

    ``n_features`` is None if it is not known; ``zero_based`` is None to let the first block of lines decide.
    """

    def __init__(self, path: str, n_features: int | None, zero_based: bool | None, stream: BinaryIO | None = None):
        super().__init__(path)
        self.repeatable = stream is None
        self._n_features = n_features
        parser = _Parser(path, n_features, zero_based, lambda: 0)
        chunks = self._chunks_of_all(parser, stream)
        first = next(chunks, None)
        self.zero_based = bool(parser.zero_based)
        self.has_rows = first is not None
        self.width = 0 if first is None else int(first[0].shape[1])
        self._chunks_left: Iterator[Chunk] = iter(())  # of a stream
        if stream is not None:
            self._chunks_left = itertools.chain([first] if first else [], chunks)
        else:
            chunks.close()
            if not self._is_compressed:
                self.cut_into_pieces(comment=b"#")

    def _chunks_of_all(self, parser: _Parser, stream: BinaryIO | None = None) -> Generator[Chunk]:
        """Yield the chunks of the file or the stream; its first bytes show whether it is compressed."""
        with contextlib.ExitStack() as stack:
            file: Any = stream or stack.enter_context(open(self.name, "rb"))
            start = file.peek(3) if hasattr(file, "peek") else b""
            opener = next((opener for magic, opener in _COMPRESSED.items() if start.startswith(magic)), None)
            self._is_compressed = opener is not None
            yield from parser.chunks(stack.enter_context(opener(file)) if opener else file)

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        chunks, place, rows = self._chunks_left, self.place(piece), 0
        if self.repeatable:
            parser = _Parser(self.name, self._n_features, self.zero_based, lambda: self.before(piece)[1])
            text = io.BytesIO(self.text_of(piece)) if self.is_cut else None
            chunks = self._chunks_of_all(parser) if text is None else parser.chunks(text)
        for X, y in chunks:
            yield Rows(y.size, X, y, None, place.shifted(rows))
            rows += y.size
        if self.is_cut:
            self.sizes[piece] = rows


class _Parser:
    """Parses text block by block, in arrays that are reused for the next block.

    If ``zero_based`` is None, the first block with rows decides: columns count from 1 unless it has an index 0.
    ``line_offset`` counts the lines of the file before the text; it is called for messages only.
    """

    def __init__(self, name: str, n_features: int | None, zero_based: bool | None, line_offset: Callable[[], int]):
        self.zero_based = zero_based
        self._name = name
        self._n_features = n_features
        self._line_offset = line_offset
        self._lines = 0  # of all earlier blocks
        self._text = b""
        self._arrays: tuple[NDArray[Any], ...] = ()
        self._arrays_fit = 0  # bytes of text

    def chunks(self, file: BinaryIO) -> Iterator[Chunk]:
        while self._read_block(file):
            X, y = self._parse()
            if y.size:
                yield X, y

    def _read_block(self, file: BinaryIO) -> bool:
        """Read some whole lines; return whether there were any."""
        end: bytes | None = b""
        try:
            self._text = file.read(_BLOCK_BYTES)
            if self._text and not self._text.endswith(b"\n"):
                self._text += file.readline(_LONGEST_LINE)
                end = b"" if self._text.endswith(b"\n") else file.read(1)
        except (EOFError, zlib.error, OSError) as error:
            if getattr(error, "errno", None) is not None:  # of the disk, not of what is in the file
                raise
            raise self._error(
                f"the compressed file is cut short or damaged ({error}). Copy it again.", 0
            ) from error
        if self._text is None or end is None:
            raise BlockingIOError(f"{self._name} has nothing to read yet: give a file that waits for its data.")
        if end:
            message = f"this line has more than {_LONGEST_LINE:,} bytes. Is the file really text?"
            raise self._error(message, len(self._text))
        return bool(self._text)

    def _parse(self) -> Chunk:
        stop = len(self._text) + (not self._text.endswith(b"\n"))
        self._text += b"\n" + bytes(kernel.PADDING)
        if len(self._text) > self._arrays_fit:
            self._make_room(len(self._text) * 9 // 8)
        base = int(self.zero_based is False)
        text = np.frombuffer(self._text, dtype=np.uint8)
        status, at, n_rows, n_entries, n_left, n_lines, smallest, largest = kernel.parse_lines(
            text, stop, base, self._highest, self._arrays
        )
        indptr, indices, values, labels, for_python = self._arrays
        self._convert(for_python[:n_left], values, labels)
        if status != kernel.DONE:
            raise self._bad_token(status, at)
        self._lines += n_lines
        indices = indices[:n_entries].copy()
        if self.zero_based is None and n_rows:
            self.zero_based = smallest == 0
            base = int(not self.zero_based)
            indices -= base
            if self._n_features is not None and largest - base >= self._n_features:
                raise DataError(
                    f"{self._name}: bad index {largest}. With index 0, which occurs too, that makes "
                    f"more than the {self._n_features:,} columns that features= or the model allows."
                )
        # At least one column, as in scikit-learn.
        shape = (n_rows, self._n_features or max(largest + 1 - base, 1))
        arrays = (values[:n_entries].copy(), indices, indptr[: n_rows + 1].copy())
        return sparse.csr_array(arrays, shape=shape), labels[:n_rows].copy()

    @property
    def _highest(self) -> int:
        """The largest allowed index; while the numbering is unknown, the larger of both."""
        if self._n_features is None:
            return kernel.LARGEST_INDEX
        return min(kernel.LARGEST_INDEX, self._n_features - (self.zero_based is True))

    def _make_room(self, size: int) -> None:
        """Make arrays that no text of this many bytes can overflow; unused parts take no memory."""
        entries, rows = size // 4 + 1, size // 2 + 1
        self._arrays = (
            np.empty(rows + 1, dtype=np.int32),
            np.empty(entries, dtype=np.int32),
            np.empty(entries, dtype=np.float32),
            np.empty(rows, dtype=np.float64),
            np.empty((entries, 3), dtype=np.int64),
        )
        self._arrays_fit = size

    def _convert(self, for_python: NDArray[np.int64], values: NDArray[Any], labels: NDArray[Any]) -> None:
        """Let Python read the numbers that the compiled loop could not read."""
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, as in scikit-learn
            for entry, begin, end in for_python.tolist():
                try:
                    number = float(self._text[begin:end])
                except ValueError:
                    status = kernel.BAD_LABEL if entry < 0 else kernel.BAD_VALUE
                    raise self._bad_token(status, begin) from None
                if entry < 0:
                    labels[-1 - entry] = number
                else:
                    values[entry] = number

    def _bad_token(self, status: int, at: int) -> DataError:
        """Return the error for the token at a place in the text."""
        begin = end = at
        while begin > 0 and not self._text[begin - 1 : begin].isspace():
            begin -= 1
        while end <= begin + _LONGEST_QUOTE and not self._text[end : end + 1].isspace():
            end += 1
        token = self._text[begin:end].decode("utf-8", "replace")
        quoted = repr(token if len(token) <= _LONGEST_QUOTE else token[:_LONGEST_QUOTE] + "...")
        message = _MESSAGES[status]
        if status == kernel.TOO_HIGH and self._highest < kernel.LARGEST_INDEX:
            message = f"bad index in {{}}: features= or the model allows {self._n_features:,} columns only."
        return self._error(message.format(quoted), at)

    def _error(self, message: str, at: int) -> DataError:
        line = self._line_offset() + self._lines + self._text.count(b"\n", 0, at) + 1
        return DataError(f"{self._name}, line {line:,}: {message}")
