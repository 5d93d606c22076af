"""Parquet files, one row group at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..columns import CATEGORY, TablePlan, TableReader
from ..errors import DataError, need_pyarrow, not_whole
from ..open import open_tables
from . import Opened, Request, Rows

# Buffers small enough that many columns can be read at once; the whole of a row group is never in memory.
_ALL_BUFFERS = 16 << 20
_LARGEST_BUFFER = 1 << 16
_SMALLEST_BUFFER = 1 << 14
_USUAL_PAGE = 1 << 18
_USUAL_DICTIONARY = 1 << 20
_MEMORY_PER_BYTE = 11  # of the footer of a file, as Arrow holds it


def open_files(paths: list[str], request: Request) -> Opened:
    return open_tables([ParquetReader(path) for path in paths], request)


class ParquetReader(TableReader):
    """A Parquet file whose pieces are its row groups."""

    def __init__(self, path: str):
        super().__init__(path)
        self._metadata: Any = None
        self._keep_metadata = False
        self._times_open = 0
        with self._opened() as file:
            metadata = file.metadata
            self.schema = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
            groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
            self.sizes = [int(group.num_rows) for group in groups]
            self._column_bytes = _column_bytes(groups[0]) if groups else {}
            self.kept_bytes = _MEMORY_PER_BYTE * int(metadata.serialized_size)

    def follow(self, plan: TablePlan, keep_open: bool) -> None:
        """Read what the plan says; a file that is kept open has its footer read once only."""
        super().follow(plan, keep_open)
        self._keep_metadata = keep_open
        self.lane_bytes = sum(self._column_bytes.get(name, _USUAL_PAGE) for name in plan.columns)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file. Its footer, which says where each column of each row group lies, is held once.

        Of a file of some gigabytes that is many megabytes, and takes as long to read as a row group.
        """
        need_pyarrow("Parquet")
        from pyarrow import parquet

        kinds = {} if self._plan is None else self._plan.kinds
        try:
            file = parquet.ParquetFile(
                self.name,
                metadata=self._metadata,
                read_dictionary=[name for name, kind in kinds.items() if kind == CATEGORY],
                buffer_size=max(_SMALLEST_BUFFER, min(_LARGEST_BUFFER, _ALL_BUFFERS // (len(kinds) + 1))),
                pre_buffer=False,
            )
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
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
            batches = file.iter_batches(batch_rows, row_groups=[piece], columns=self.plan.columns)
            yield from self.rows_in_order(batches, self.place(piece), "Parquet")


def _column_bytes(group: Any) -> dict[str, int]:
    """Return about how much memory it takes to read each column of a row group: dictionaries are large."""
    found = {}
    for j in range(group.num_columns):
        column = group.column(j)
        size = int(column.total_uncompressed_size)
        dictionary = 2 * min(size, _USUAL_DICTIONARY) if column.has_dictionary_page else 0
        found[column.path_in_schema] = min(size, _USUAL_PAGE) + _LARGEST_BUFFER + dictionary
    return found
