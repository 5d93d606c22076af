"""Feather and Arrow IPC files, mapped into memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ..files.errors import DataError
from ..files.packages import need_pyarrow
from ..files.rows import Place, Rows
from ..files.tables import Schema, TablePlan
from .mapped import MappedFile

_PIECE_ROWS = 1 << 14


def open_feather(path: str, name: str) -> FeatherReader | ArrowStreamReader:
    """A reader for either kind of Arrow file."""
    with open(path, "rb") as file:
        start = file.read(6)
    if not start:
        raise DataError(f"{name}: the file is empty.")
    if start[:4] == b"FEA1":
        raise DataError(f"{name}: this is a Feather file of version 1. Write it again with version 2.")
    return FeatherReader(path, name) if start == b"ARROW1" else ArrowStreamReader(path, name)


class FeatherReader:
    """An Arrow file with random access; its pieces are runs of rows of its record batches."""

    repeatable = True

    def __init__(self, path: str, name: str):
        self.name = name
        self._path = path
        self._plan: TablePlan | None = None
        self._kept: _OpenFile | None = None
        file = _OpenFile(path, name)
        types = file.schema.types
        self.schema: Schema = dict(zip(file.schema.names, types, strict=True))
        # What is mapped is read when looked at. What is compressed is unpacked: only the columns that are needed.
        self._packed = file.is_packed()
        if self._packed:
            file = _OpenFile(path, name, [min(range(len(types)), key=lambda i: _width(types[i]))])
        self._pieces = file.pieces(self._packed)
        self._first_rows = [0, *itertools.accumulate(stop - start for _, start, stop in self._pieces)]

    def follow(self, plan: TablePlan, keep_open: bool) -> None:
        """Read what the plan says."""
        self._plan = plan
        self._kept = self._opened() if keep_open else None

    def _opened(self) -> _OpenFile:
        assert self._plan is not None
        if not self._packed:
            return _OpenFile(self._path, self.name)
        wanted = set(self._plan.columns)
        return _OpenFile(self._path, self.name, [i for i, name in enumerate(self.schema) if name in wanted])

    @property
    def pieces(self) -> int:
        return len(self._pieces)

    @property
    def lane_bytes(self) -> int:
        if self._plan is None or not self._packed:
            return 0
        return max((8 * len(self._plan.columns) * (stop - start) for _, start, stop in self._pieces), default=0)

    def rows_of(self, piece: int) -> int:
        _, start, stop = self._pieces[piece]
        return stop - start

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        assert self._plan is not None
        number, start, stop = self._pieces[piece]
        first = self._first_rows[piece]
        file = self._kept or self._opened()
        batch = file.batch(number).slice(start, stop - start)
        yield self._plan.rows(batch, Place(self.name, first))
        file.mapped.used(8 * batch.num_rows * len(self._plan.columns))


class _OpenFile:
    """A mapped Arrow file, of which some columns are read."""

    def __init__(self, path: str, name: str, columns: list[int] | None = None):
        pa = need_pyarrow("Feather")
        self._name = name
        self.mapped = MappedFile(path, name)
        self._buffer = pa.py_buffer(self.mapped.bytes)
        options = pa.ipc.IpcReadOptions(included_fields=columns)
        try:
            self._reader = pa.ipc.open_file(pa.BufferReader(self._buffer), options=options)
        except (OSError, ValueError) as error:
            raise DataError(f"{name}: {_advice(error)}") from error
        self.schema = self._reader.schema

    def batch(self, number: int) -> Any:
        try:
            return self._reader.get_batch(number)
        except (OSError, ValueError) as error:
            raise DataError(f"{self._name}, record batch {number + 1:,}: {_advice(error)}") from error

    def pieces(self, packed: bool) -> list[tuple[int, int, int]]:
        """Runs of rows that can be read on their own: (record batch, start, stop).

        A compressed batch is one piece, since all of it has to be unpacked; any other is cut.
        """
        found = []
        for number in range(self._reader.num_record_batches):
            rows = self.batch(number).num_rows
            step = max(rows, 1) if packed else _PIECE_ROWS
            found += [(number, at, min(at + step, rows)) for at in range(0, rows, step)]
        return found

    def is_packed(self) -> bool:
        """Columns do not lie in the mapped file itself, but in memory they are unpacked into."""
        if not self._reader.num_record_batches or not self.schema.names:
            return False
        buffers = [part for column in self.batch(0).columns for part in column.buffers() if part is not None]
        first, last = self._buffer.address, self._buffer.address + self._buffer.size
        return any(part.size > 0 and not first <= part.address < last for part in buffers)


class ArrowStreamReader:
    """An Arrow stream, which can only be read from its beginning."""

    repeatable = True
    pieces = 1
    lane_bytes = 16 << 20

    def __init__(self, path: str, name: str):
        self.name = name
        self._path = path
        self._plan: TablePlan | None = None
        with self._opened() as batches:
            self.schema: Schema = dict(zip(batches.schema.names, batches.schema.types, strict=True))

    def follow(self, plan: TablePlan, keep_open: bool) -> None:
        """Read what the plan says."""
        self._plan = plan

    def _opened(self) -> Any:
        pa = need_pyarrow("Arrow streams")
        try:
            return pa.ipc.open_stream(pa.OSFile(self._path))
        except (OSError, ValueError) as error:
            raise DataError(f"{self.name}: {_advice(error)}") from error

    def rows_of(self, piece: int) -> int | None:
        return None

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        assert self._plan is not None
        first = 0
        with self._opened() as batches:
            while True:
                try:
                    batch = batches.read_next_batch()
                except StopIteration:
                    return
                except (OSError, ValueError) as error:
                    raise Place(self.name, first).error(_advice(error), 0) from error
                yield self._plan.rows(batch, Place(self.name, first))
                first += batch.num_rows


def _width(dtype: Any) -> int:
    try:
        return int(dtype.bit_width)
    except ValueError:  # text and the like
        return 1 << 30


def _advice(error: Exception) -> str:
    first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"this is not a whole Arrow file; it may have been cut off. Write or copy it again. ({first_line})"
