"""Whole lines of a text file, plain or compressed, block by block in one reused buffer."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from ..files.errors import DataError

Source = str | os.PathLike[str] | BinaryIO

_GZIP_MAGIC, _BZIP2_MAGIC = b"\x1f\x8b", b"BZh"
_LONGEST_LINE = 1 << 28
_LONGEST_QUOTE = 40
_PADDING = 9  # a newline that the file may lack at its end, and 8 bytes that a parser may look ahead


class LineBlocks:
    """Blocks of whole lines from a path or an open binary file.

    ``next_block`` puts the next lines at the front of ``buffer`` and says how many bytes they take. A line cut by
    the end of a read waits for its rest. Memory is one buffer, which grows only for a line that does not fit.
    """

    def __init__(self, source: Source, block_bytes: int):
        self.name = _name_of(source)
        self._to_close: list[Any] = []
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
        if first_bytes.startswith(_GZIP_MAGIC):
            source = gzip.GzipFile(fileobj=source, mode="rb")
        elif first_bytes.startswith(_BZIP2_MAGIC):
            source = bz2.BZ2File(source, "rb")
        else:
            if self._to_close:
                self.size = os.fstat(source.fileno()).st_size
            return source
        self._to_close.append(source)
        return source

    def close(self) -> None:
        """Close what was opened here; a file that the caller opened stays open."""
        while self._to_close:
            self._to_close.pop().close()

    def next_block(self) -> int:
        """Bytes of the next whole lines, now at the front of ``buffer``; 0 at the end."""
        kept = self._end - self._begin
        self._text[:kept] = self._text[self._begin : self._end]
        while True:
            if kept == self._room:
                self._grow()
            count = self._read(kept)
            if count == 0:
                return self._last_block(kept)
            newline = self._text.rfind(b"\n", kept, kept + count)
            kept += count
            if newline >= 0:
                self._begin, self._end = newline + 1, kept
                return newline + 1

    def line(self, at: int) -> int:
        """The number of the line at a place in the buffer, from 1."""
        return self.lines_before + self._text.count(b"\n", 0, at) + 1

    def where(self, at: int) -> str:
        """File and line of a place in the buffer, for a message."""
        return f"{self.name}, line {self.line(at):,}"

    def text(self, begin: int, end: int) -> bytes:
        return bytes(self._text[begin:end])

    def token(self, at: int) -> str:
        """What stands between white space around a place in the buffer, quoted for a message."""
        begin = end = at
        while begin > 0 and not self._text[begin - 1 : begin].isspace():
            begin -= 1
        while end <= begin + _LONGEST_QUOTE and not self._text[end : end + 1].isspace():
            end += 1
        token = self._text[begin:end].decode("utf-8", "replace")
        return repr(token if len(token) <= _LONGEST_QUOTE else token[:_LONGEST_QUOTE] + "...")

    def _last_block(self, kept: int) -> int:
        self._begin = self._end = 0
        if kept == 0:
            return 0
        self._text[kept] = ord("\n")
        return kept + 1

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
        """Read into the buffer from ``begin`` on; how many bytes came, 0 at the end of the file."""
        with memoryview(self._text)[begin : self._room] as room:
            try:
                if hasattr(self._file, "readinto"):
                    count = self._file.readinto(room)
                else:
                    content = self._file.read(len(room))
                    count = len(content)
                    room[:count] = content
            except (EOFError, gzip.BadGzipFile, zlib.error, OSError) as error:
                if not self._is_compressed or (isinstance(error, OSError) and error.errno is not None):
                    raise
                raise DataError(
                    f"{self.where(begin)}: the compressed file is cut short or damaged ({error}). Copy it again."
                ) from error
        if count is None:
            raise BlockingIOError(f"{self.name} has nothing to read yet: give a file that waits for its data.")
        return int(count)

    @property
    def _is_compressed(self) -> bool:
        return isinstance(self._file, gzip.GzipFile | bz2.BZ2File)


def _name_of(source: Any) -> str:
    if not hasattr(source, "read"):
        return str(os.fspath(source))
    name = getattr(source, "name", None)
    if name == "<stdin>" or name == 0:
        return "standard input"
    return name if isinstance(name, str) else "the open file"


def _peek(file: Any) -> bytes:
    """The first bytes of a file, which are still to be read afterwards; none where that cannot be had."""
    if hasattr(file, "peek"):
        return cast(bytes, file.peek(3)[:3])
    if not (hasattr(file, "seekable") and file.seekable()):
        return b""
    place = file.tell()
    first_bytes = cast(bytes, file.read(3))
    file.seek(place)
    return first_bytes
