"""Pieces of a text file, cut at line ends."""

from __future__ import annotations

import os

PIECE_BYTES = 4 << 20


class LinePieces:
    """Runs of whole lines, each found without reading those before it.

    A piece holds the lines that begin in its share of the bytes. The bytes before ``begin`` belong to none. Lines
    that begin with ``comment`` are no rows.
    """

    def __init__(self, path: str, begin: int, piece_bytes: int = PIECE_BYTES, comment: bytes | None = None):
        size = os.path.getsize(path)
        self._path = path
        self._comment = comment
        self._begin = begin
        self._size = size
        self._piece_bytes = piece_bytes
        self.count = max(-(-(size - begin) // piece_bytes), 0)
        self._first_rows: list[int] = [0]  # of the pieces up to the first whose length is not known
        self._rows: dict[int, int] = {}

    def read(self, piece: int) -> bytes:
        start = self._begin + piece * self._piece_bytes
        stop = min(start + self._piece_bytes, self._size)
        with open(self._path, "rb") as file:
            if piece > 0:
                file.seek(start - 1)
                start += len(file.readline()) - 1
            else:
                file.seek(start)
            if start >= stop:
                return b""
            text = file.read(stop - start)
            return text if text.endswith(b"\n") else text + file.readline()

    def note_rows(self, piece: int, rows: int) -> None:
        """Remember how many rows a piece was found to have."""
        self._rows[piece] = rows
        while len(self._first_rows) - 1 in self._rows:
            self._first_rows.append(self._first_rows[-1] + self._rows[len(self._first_rows) - 1])

    def rows_of(self, piece: int) -> int | None:
        return self._rows.get(piece)

    def first_row(self, piece: int) -> int | None:
        """The number of a piece's first row, if all before it have been read."""
        return self._first_rows[piece] if piece < len(self._first_rows) else None

    def before(self, piece: int) -> tuple[int, int]:
        """The rows and the lines of the file before a piece, counted the slow way: blank lines are no rows."""
        start = self._begin + piece * self._piece_bytes
        rows = lines = at = 0
        with open(self._path, "rb") as file:
            for line in file:
                if at >= max(start, self._begin):
                    break
                rows += at >= self._begin and self._is_row(line)
                lines += 1
                at += len(line)
        return rows, lines

    def _is_row(self, line: bytes) -> bool:
        text = line.strip()
        return bool(text) and not (self._comment is not None and text.startswith(self._comment))
