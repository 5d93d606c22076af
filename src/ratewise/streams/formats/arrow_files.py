"""Parquet files, one row group at a time; Feather and Arrow IPC files, mapped into memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..._errors import ARROW_ERRORS, DataError, need_pyarrow, not_whole
from ..._input_checks import LARGEST_UNPACKED, trusted_batch
from ...features.kinds import CATEGORY, TEXT, kind_of
from ...features.tables import Schema, unique_names
from ..columns import TablePlan, TableReader, is_long_text, require_short_text
from ..open import open_tables
from . import MappedFile, Opened, Request, Rows

# Buffers small enough that many columns can be read at once; the whole of a row group is never in memory.
_ALL_BUFFERS = 16 << 20
_LARGEST_BUFFER = 1 << 16
_SMALLEST_BUFFER = 1 << 14
_USUAL_PAGE = 1 << 18
_USUAL_DICTIONARY = 1 << 20
_MANY_ROWS, _FIRST_ROWS = 1 << 16, 1 << 12
_MEMORY_PER_BYTE = 11  # of the footer of a file, as Arrow holds it
_FEATHER_PIECE_ROWS = 1 << 14
_NOT_FIXED = 1 << 30  # bits
_MOST_ROWS_PER_BYTE = 1 << 10  # of a file: eight booleans to a byte, and well packed


def open_files(paths: list[str], request: Request) -> Opened:
    opener = ParquetReader if request.format == "parquet" else _arrow_reader
    return open_tables([opener(path) for path in paths], request)


class ParquetReader(TableReader):
    """A Parquet file whose pieces are its row groups."""

    def __init__(self, path: str):
        super().__init__(path)
        self._metadata: Any = None
        self._keep_metadata = False
        self._times_open = 0
        self._unlike: set[str] = set()
        with self._opened() as file:
            metadata = file.metadata
            self.schema = _schema(file.schema_arrow, path)
            groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
            self.sizes = [int(group.num_rows) for group in groups]
            self._group_bytes = int(groups[0].total_byte_size) if groups else 0
            self._bytes_per_column = self._group_bytes / max(int(metadata.num_columns), 1)
            self.kept_bytes = _MEMORY_PER_BYTE * int(metadata.serialized_size)

    def follow(self, plan: TablePlan, keep_open: bool) -> None:
        """Read the columns of the plan; the footer of a file that is kept open is read only once."""
        super().follow(plan, keep_open)
        self._keep_metadata = keep_open
        self.lane_bytes = len(plan.columns) * _memory_per_column(self._bytes_per_column)
        texts = [name for name, kind in plan.kinds.items() if kind in (CATEGORY, TEXT)]
        if self.sizes and texts:
            self._require_short_texts(texts, self.sizes[0] or 0)
        if self.sizes and max(size or 0 for size in self.sizes) >= _MANY_ROWS:
            self._unlike = self._texts_that_differ()

    def _require_short_texts(self, names: list[str], rows: int) -> None:
        """Refuse long texts before they are read.

        Columns are asked for their sizes one by one only where all together are large: of a damaged footer,
        pyarrow ends the process when it makes the description of a column.
        """
        if not is_long_text(self._group_bytes, rows):
            return
        with self._opened() as file:
            group = file.metadata.row_group(0)
            columns = [group.column(j) for j in range(group.num_columns)]
        sizes = {column.path_in_schema: int(column.total_uncompressed_size) for column in columns}
        for name in names:
            require_short_text(sizes.get(name, 0), rows, name, self.place(0))

    def _texts_that_differ(self) -> set[str]:
        """Return the columns of texts that hardly recur in the first rows.

        Read as a dictionary, these would be looked up among all texts of the row group before. (A million times in
        13 columns: decoded in .10 s, in .51 s with their texts as a dictionary.)
        """
        with self._opened() as file:
            rows = file.iter_batches(_FIRST_ROWS, row_groups=[0], columns=self.plan.columns, use_threads=False)
            # Damaged pages are refused, with their row, when they are read.
            with contextlib.suppress(*ARROW_ERRORS):
                first = next(rows, None)
                columns = {} if first is None else dict(zip(first.schema.names, first.columns, strict=True))
                found = {name: column for name, column in columns.items() if kind_of(column.type) == CATEGORY}
                return {name for name, column in found.items() if 2 * len(column.dictionary) > len(column)}
        return set()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file. Its footer, which says where each column of each row group lies, is held once.

        Of a file of some gigabytes that is many megabytes, and takes as long to read as a row group.
        """
        need_pyarrow("Parquet")
        from pyarrow import parquet

        kinds = {} if self._plan is None else dict(self._plan.kinds)
        if self._plan is not None and self._plan.target is not None:
            kinds[self._plan.target] = kind_of(self._plan.target_type)
        try:
            file = parquet.ParquetFile(
                self.name,
                metadata=self._metadata,
                read_dictionary=[
                    name for name, kind in kinds.items() if kind in (CATEGORY, TEXT) and name not in self._unlike
                ],
                buffer_size=max(_SMALLEST_BUFFER, min(_LARGEST_BUFFER, _ALL_BUFFERS // (len(kinds) + 1))),
                pre_buffer=False,
            )
        except FileNotFoundError:
            raise
        except ARROW_ERRORS as error:
            raise DataError(f"{self.name}: {not_whole('Parquet', error)}") from error
        self._times_open += 1
        self._metadata = file.metadata
        try:
            with file:
                yield file
        finally:
            self._times_open -= 1
            if self._times_open == 0 and not self._keep_metadata:
                self._metadata = None

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        with self._opened() as file:
            # Arrow's own threads take a quarter more CPU time here, and rows are decoded beside the fit anyway.
            batches = file.iter_batches(
                batch_rows, row_groups=[piece], columns=self.plan.columns, use_threads=False
            )
            yield from self.rows_in_order(batches, self.place(piece), "Parquet")


def _memory_per_column(size: float) -> int:
    """Return about how much memory it takes to read a column of this many bytes in a row group."""
    page, dictionary = min(size, _USUAL_PAGE), 2 * min(size, _USUAL_DICTIONARY)  # held as objects
    return int(page + dictionary) + _LARGEST_BUFFER


def _arrow_reader(path: str) -> TableReader:
    """Return a reader for either kind of Arrow file."""
    with open(path, "rb") as file:
        start = file.read(6)
    if not start:
        raise DataError(f"{path}: the file is empty.")
    if start[:4] == b"FEA1":
        raise DataError(f"{path}: this is a Feather file of version 1. Write it again with version 2.")
    return FeatherReader(path) if start == b"ARROW1" else ArrowStreamReader(path)


class FeatherReader(TableReader):
    """An Arrow file with random access; its pieces are runs of rows of its record batches."""

    def __init__(self, path: str):
        super().__init__(path)
        self._kept: _OpenFile | None = None
        file = _OpenFile(path)
        self.schema = _schema(file.schema, path)
        # Mapped columns are read when accessed. Compressed ones are decompressed: only those that are needed. A
        # small one shows how many rows there are.
        widths = [_width(dtype) for dtype in self.schema.values()]
        narrow = _OpenFile(path, [widths.index(min(widths))] if widths else None)
        row_bytes = sum(width for width in widths if width < _NOT_FIXED) / 8
        self._compressed = narrow.first_rows() * row_bytes > len(file.mapped.bytes) or file.is_compressed()
        file = narrow if self._compressed else file
        self._pieces = file.pieces(self._compressed)
        self.sizes = [stop - start for _, start, stop in self._pieces]

    def follow(self, plan: TablePlan, keep_open: bool) -> None:
        super().follow(plan, keep_open)
        self._kept = self._opened() if keep_open else None
        self.mapped = [self._kept.mapped] if self._kept else ()
        if self._compressed:
            self.lane_bytes = 8 * len(plan.columns) * max(filter(None, self.sizes), default=0)
            if self.lane_bytes > LARGEST_UNPACKED:
                raise DataError(
                    f"{self.name}: {self.lane_bytes / 2**30:,.1f} GB would have to be unpacked at once, since all "
                    "rows are in one record batch. Write it in smaller ones, for instance with "
                    "pyarrow.feather.write_feather."
                )

    def _opened(self) -> _OpenFile:
        if not self._compressed:
            return _OpenFile(self.name)
        wanted = set(self.plan.columns)
        return _OpenFile(self.name, [i for i, name in enumerate(self.schema) if name in wanted])

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        number, start, stop = self._pieces[piece]
        file = self._kept or self._opened()
        self.require_whole()
        batch = file.trusted(number, start, stop, self.plan.columns)
        yield self.plan.rows(batch, self.place(piece))
        file.mapped.used(8 * batch.num_rows * len(self.plan.columns))


class _OpenFile:
    """A mapped Arrow file, of which some columns are read."""

    def __init__(self, path: str, columns: list[int] | None = None):
        pa = need_pyarrow("Feather")
        self._path = path
        self.mapped = MappedFile(path)
        self._buffer = pa.py_buffer(self.mapped.bytes)
        options = pa.ipc.IpcReadOptions(included_fields=columns)
        try:
            self._reader = pa.ipc.open_file(pa.BufferReader(self._buffer), options=options)
        except ARROW_ERRORS as error:
            raise DataError(f"{path}: {not_whole('Arrow', error)}") from error
        self.schema = self._reader.schema

    def batch(self, number: int) -> Any:
        with self._reading(number):
            batch = self._reader.get_batch(number)
            batch.validate()  # the lengths: columns without values may say anything
            return batch

    def trusted(self, number: int, start: int, stop: int, columns: list[str]) -> Any:
        """Return some rows of some columns, of which every offset and every text was checked."""
        batch = self.batch(number)
        with self._reading(number):
            return trusted_batch(batch.select(columns).slice(start, stop - start))

    @contextlib.contextmanager
    def _reading(self, number: int) -> Iterator[None]:
        try:
            yield
        except ARROW_ERRORS as error:
            raise DataError(f"{self._path}, record batch {number + 1:,}: {not_whole('Arrow', error)}") from error

    def pieces(self, compressed: bool) -> list[tuple[int, int, int]]:
        """Return runs of rows that can be read on their own: (record batch, start, stop).

        A compressed batch is one piece, since all of it has to be decompressed; any other is cut.
        """
        found = []
        for number in range(self._reader.num_record_batches):
            rows = self.batch(number).num_rows
            if rows > _MOST_ROWS_PER_BYTE * len(self.mapped.bytes):
                raise DataError(f"{self._path}, record batch {number + 1:,}: {rows:,} rows are not in this file.")
            step = max(rows, 1) if compressed else _FEATHER_PIECE_ROWS
            found += [(number, at, min(at + step, rows)) for at in range(0, rows, step)]
        return found

    def first_rows(self) -> int:
        """Return the number of rows of the first record batch."""
        return self.batch(0).num_rows if self._reader.num_record_batches else 0

    def is_compressed(self) -> bool:
        """Return whether columns are outside of the mapped file, because they were decompressed."""
        if not self._reader.num_record_batches or not self.schema.names:
            return False
        buffers = [part for column in self.batch(0).columns for part in column.buffers() if part is not None]
        first, last = self._buffer.address, self._buffer.address + self._buffer.size
        return any(part.size > 0 and not first <= part.address < last for part in buffers)


class ArrowStreamReader(TableReader):
    """An Arrow stream, which can only be read from its beginning."""

    lane_bytes = 16 << 20

    def __init__(self, path: str):
        super().__init__(path)
        with self._opened() as batches:
            self.schema = _schema(batches.schema, path)

    def _opened(self) -> Any:
        pa = need_pyarrow("Arrow streams")
        mapped = MappedFile(self.name)  # a message that is longer than the file takes no memory
        try:
            return pa.ipc.open_stream(pa.py_buffer(mapped.bytes))
        except ARROW_ERRORS as error:
            raise DataError(f"{self.name}: {not_whole('Arrow', error)}") from error

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        with self._opened() as batches:
            trusted = (trusted_batch(batch.select(self.plan.columns)) for batch in batches)
            yield from self.rows_in_order(trusted, self.place(0), "Arrow")


def _schema(schema: Any, path: str) -> Schema:
    return dict(zip(unique_names(schema.names, path), schema.types, strict=True))


def _width(dtype: Any) -> int:
    """Return the bits of a value; a large number for types without a fixed size, such as texts."""
    try:
        return int(dtype.bit_width)
    except ValueError:
        return _NOT_FIXED
