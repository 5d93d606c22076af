"""Parquet files, one row group at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .columns import CATEGORY
from .errors import DataError
from .packages import need_pyarrow
from .rows import Place, Rows
from .tables import Schema, TablePlan

# A page and a read buffer a column; the whole of a row group is never in memory.
_BUFFER_BYTES = 1 << 17
_COLUMN_BYTES = 3 * _BUFFER_BYTES


class ParquetReader:
    """A Parquet file whose pieces are its row groups."""

    repeatable = True

    def __init__(self, path: str, name: str):
        self.name = name
        self._path = path
        self._plan: TablePlan | None = None
        with self._opened() as file:
            metadata = file.metadata
            self.schema: Schema = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
            self._group_rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self._first_rows = [sum(self._group_rows[:i]) for i in range(len(self._group_rows))]

    def follow(self, plan: TablePlan, keep_open: bool) -> None:
        """Read what the plan says."""
        self._plan = plan

    def _opened(self) -> Any:
        need_pyarrow("Parquet")
        from pyarrow import parquet

        text = [] if self._plan is None else [n for n, kind in self._plan.kinds.items() if kind == CATEGORY]
        try:
            return parquet.ParquetFile(
                self._path, read_dictionary=text, buffer_size=_BUFFER_BYTES, pre_buffer=False
            )
        except (OSError, ValueError) as error:
            raise _broken(self.name, error) from error

    @property
    def pieces(self) -> int:
        return len(self._group_rows)

    @property
    def lane_bytes(self) -> int:
        return _COLUMN_BYTES * (len(self._plan.columns) if self._plan else 1)

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
