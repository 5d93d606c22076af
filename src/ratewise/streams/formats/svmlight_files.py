"""svmlight files as pieces of a stream."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from scipy import sparse

from ..files.errors import DataError
from ..files.rows import Place, Rows
from .lines import LinePieces
from .svmlight import SvmlightChunk, read_svmlight

_COMPRESSED = (b"\x1f\x8b", b"BZh")


class SvmlightFile:
    """An svmlight file. A plain one is read in pieces of some megabytes, a compressed one from its start.

    Parameters
    ----------
    path : str
    name : str
        What to call it in messages.
    n_features : int or None
        The number of columns, if it is known.
    zero_based : bool or None
        Whether the first column is called 0; None lets the file's first lines decide.
    stream : binary file, optional
        Read in place of the path, once.
    """

    lane_bytes = 12 << 20

    def __init__(
        self,
        path: str,
        name: str,
        n_features: int | None = None,
        zero_based: bool | None = None,
        stream: BinaryIO | None = None,
    ):
        self.name = name
        self.repeatable = stream is None
        self._path = path
        self._n_features = n_features
        self._zero_based = zero_based
        self._chunks: Iterator[SvmlightChunk] = self._opened(stream or path)
        self._first = next(self._chunks, None)
        self.zero_based = bool(self._chunks.zero_based)  # type: ignore[attr-defined]
        self._zero_based = self.zero_based
        self.has_rows = self._first is not None
        self.width = 0 if self._first is None else int(self._first.X.shape[1])
        self._lines: LinePieces | None = None
        if stream is None:
            self._chunks, self._first = iter(()), None
            with open(path, "rb") as file:
                packed = file.read(3).startswith(_COMPRESSED)
            self._lines = None if packed else LinePieces(path, 0, comment=b"#")

    def _opened(self, source: Any) -> Any:
        zero_based: Any = "auto" if self._zero_based is None else self._zero_based
        return read_svmlight(source, n_features=self._n_features, zero_based=zero_based)

    @property
    def pieces(self) -> int:
        return 1 if self._lines is None else self._lines.count

    def rows_of(self, piece: int) -> int | None:
        return None if self._lines is None else self._lines.rows_of(piece)

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        if self._lines is not None:
            yield from self._read_piece(self._lines, piece)
            return
        first = 0
        for chunk in self._all_chunks():
            yield _rows(chunk, Place(self.name, first))
            first += chunk.y.size

    def _all_chunks(self) -> Iterator[SvmlightChunk]:
        if self.repeatable:
            yield from self._opened(self._path)
            return
        if self._first is not None:
            yield self._first
        yield from self._chunks

    def _read_piece(self, lines: LinePieces, piece: int) -> Iterator[Rows]:
        place = Place(self.name, lines.first_row(piece), lambda: lines.before(piece)[0])
        rows = 0
        text = lines.read(piece)
        try:
            for chunk in self._opened(io.BytesIO(text)) if text.strip() else ():
                yield _rows(chunk, place.shifted(rows))
                rows += chunk.y.size
        except DataError:
            for _ in self._opened(self._path):  # says which line of the file it is
                pass
            raise
        lines.note_rows(piece, rows)


def _rows(chunk: SvmlightChunk, place: Place) -> Rows:
    return Rows(chunk.y.size, sparse.csr_array(chunk.X), chunk.y, None, place)
