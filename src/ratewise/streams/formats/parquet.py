"""Parquet files, one row group at a time."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from ..files.columns import CATEGORY
from ..files.errors import DataError
from ..files.packages import need_pyarrow
from ..files.rows import Place, Rows
from ..files.tables import Schema, TablePlan

# Buffers small enough that many columns can be read at once; the whole of a row group is never in memory.
_ALL_BUFFERS = 16 << 20
_LARGEST_BUFFER = 1 << 16
_SMALLEST_BUFFER = 1 << 14
_USUAL_PAGE = 1 << 18
_USUAL_DICTIONARY = 1 << 20
_MEMORY_A_BYTE = 11  # of the end of a file, as Arrow holds it


class ParquetReader:
    """A Parquet file whose pieces are its row groups."""

    repeatable = True

    def __init__(self, path: str, name: str):
        self.name = name
        self._path = path
        self._plan: TablePlan | None = None
        self._metadata: Any = None
        self._keep_metadata = False
        self._times_open = 0
        with self._opened() as file:
            metadata = file.metadata
            self.schema: Schema = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
            groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
            self._group_rows = [group.num_rows for group in groups]
            self._column_bytes = _column_bytes(groups[0]) if groups else {}
            self.kept_bytes = _MEMORY_A_BYTE * int(metadata.serialized_size)  # if the file is kept open
        self._first_rows = [0, *itertools.accumulate(self._group_rows)]

    def follow(self, plan: TablePlan, keep_open: bool) -> None:
        """Read what the plan says; a file that is kept open has its end read once only."""
        self._plan = plan
        self._keep_metadata = keep_open

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        """The file. Its end, which says where each column of each row group lies, is held once for all lanes.

        Of a file of some gigabytes that is many megabytes, and takes as long to read as a row group.
        """
        file = self._open()
        self._times_open += 1
        self._metadata = file.metadata
        try:
            with file:
                yield file
        finally:
            self._times_open -= 1
            if self._times_open == 0 and not self._keep_metadata:
                self._metadata = None

    def _open(self) -> Any:
        need_pyarrow("Parquet")
        from pyarrow import parquet

        kinds = {} if self._plan is None else self._plan.kinds
        text = [name for name, kind in kinds.items() if kind == CATEGORY]
        buffer_bytes = max(_SMALLEST_BUFFER, min(_LARGEST_BUFFER, _ALL_BUFFERS // (len(kinds) + 1)))
        try:
            return parquet.ParquetFile(
                self._path,
                metadata=self._metadata,
                read_dictionary=text,
                buffer_size=buffer_bytes,
                pre_buffer=False,
            )
        except (OSError, ValueError) as error:
            raise _broken(self.name, error) from error

    @property
    def pieces(self) -> int:
        return len(self._group_rows)

    @property
    def lane_bytes(self) -> int:
        columns = [] if self._plan is None else self._plan.columns
        return sum(self._column_bytes.get(name, _USUAL_PAGE) for name in columns)

    def rows_of(self, piece: int) -> int:
        return int(self._group_rows[piece])

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        assert self._plan is not None
        first = self._first_rows[piece]
        with self._opened() as file:
            batches = file.iter_batches(batch_rows, row_groups=[piece], columns=self._plan.columns)
            while True:
                try:
                    batch = next(batches, None)
                except (OSError, ValueError) as error:
                    raise Place(self.name, first).error(_advice(error), 0) from error
                if batch is None:
                    return
                yield self._plan.rows(batch, Place(self.name, first))
                first += batch.num_rows


def _broken(name: str, error: Exception) -> Exception:
    if isinstance(error, FileNotFoundError):
        return error
    return DataError(f"{name}: {_advice(error)}")


def _advice(error: Exception) -> str:
    first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"this is not a whole Parquet file; it may have been cut off. Write or copy it again. ({first_line})"


def _column_bytes(group: Any) -> dict[str, int]:
    """About how much memory it takes to read a column, by what is said of a row group: dictionaries are large."""
    found = {}
    for j in range(group.num_columns):
        column = group.column(j)
        size = int(column.total_uncompressed_size)
        dictionary = 2 * min(size, _USUAL_DICTIONARY) if column.has_dictionary_page else 0
        found[column.path_in_schema] = min(size, _USUAL_PAGE) + _LARGEST_BUFFER + dictionary
    return found
