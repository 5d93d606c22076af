"""CSV files, plain or compressed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from ..files.columns import BOOLEAN, CATEGORY, NUMBER, kind_of
from ..files.errors import DataError
from ..files.packages import need_pyarrow
from ..files.rows import Place, Rows
from ..files.tables import Schema, TablePlan
from .csv_faults import find_fault
from .csv_layout import HEAD_BYTES, MISSING, CsvLayout, is_number, read_layout
from .lines import PIECE_BYTES, LinePieces

_COMPRESSED = (".gz", ".bz2", ".zst")
_BLOCK_BYTES = 1 << 20


class CsvReader:
    """A CSV file with a header. A plain one is read in pieces of some megabytes, a compressed one from its start.

    Parameters
    ----------
    path : str
    name : str
        What to call it in messages.
    stream : binary file, optional
        Read in place of the path, once.
    """

    lane_bytes = 3 * PIECE_BYTES

    def __init__(self, path: str, name: str, stream: BinaryIO | None = None):
        need_pyarrow("CSV")
        self.name = name
        self.repeatable = stream is None
        self._path = path
        self._stream = None if stream is None else _Replay(stream)
        self._plan: TablePlan | None = None
        self._layout = self._read_layout()
        self._lines: LinePieces | None = None
        plain = stream is None and not path.endswith(_COMPRESSED)
        if plain and not self._layout.line_breaks_in_values:
            self._lines = LinePieces(path, self._layout.header_bytes)

    def _read_layout(self) -> CsvLayout:
        with self._opened() as file:
            try:
                head = file.read(HEAD_BYTES)
            except (OSError, ValueError) as error:
                raise DataError(
                    f"{self.name}: it cannot be unpacked; it may have been cut off. ({error})"
                ) from error
        if self._stream is not None:
            self._stream.rewind(head)
        return read_layout(head, len(head) < HEAD_BYTES, self.name, self._fault_in)

    def _opened(self) -> Any:
        import pyarrow as pa

        if self._stream is not None:
            return pa.PythonFile(self._stream, mode="r")
        return pa.input_stream(self._path)

    @property
    def schema(self) -> Schema:
        return self._layout.schema

    @property
    def has_rows(self) -> bool:
        return self._layout.has_rows

    def forget_types(self) -> None:
        """Leave it to the plan, made for another file, what the columns hold."""
        import pyarrow as pa

        self._layout.schema = dict.fromkeys(self._layout.schema, pa.null())

    def look_further(self, names: list[str]) -> None:
        """Find the types of columns that are empty in the first lines."""
        import pyarrow as pa

        unknown = {name for name in names if self._layout.has_rows and pa.types.is_null(self.schema[name])}
        if not unknown or self._stream is not None:
            return
        for table in self._tables_in_order(sorted(unknown), dict.fromkeys(unknown, pa.string())):
            for name in sorted(unknown):
                values = table.column(name).drop_null()
                if len(values):
                    unknown.remove(name)
                    self._layout.schema[name] = pa.float64() if is_number(values[0].as_py()) else pa.string()
            if not unknown:
                return

    def follow(self, plan: TablePlan, keep_open: bool) -> None:
        """Read what the plan says."""
        self._plan = plan

    @property
    def pieces(self) -> int:
        return 1 if self._lines is None else self._lines.count

    def rows_of(self, piece: int) -> int | None:
        return None if self._lines is None else self._lines.rows_of(piece)

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        assert self._plan is not None
        if self._lines is not None:
            yield from self._read_piece(self._lines, piece)
            return
        first = 0
        for batch in self._tables_in_order(self._plan.columns, self._types()):
            yield self._rows(batch, Place(self.name, first))
            first += batch.num_rows

    def _read_piece(self, lines: LinePieces, piece: int) -> Iterator[Rows]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        assert self._plan is not None
        text = lines.read(piece)
        table = None
        if text.strip():
            try:
                table = arrow_csv.read_csv(
                    pa.BufferReader(text), **self._options(self._plan.columns, self._types())
                )
            except (OSError, ValueError) as error:
                raise self._fault_in(self._layout, error, text, lines.before(piece)) from error
        lines.note_rows(piece, 0 if table is None else table.num_rows)
        del text
        if table is None:
            return
        place = Place(self.name, lines.first_row(piece), lambda: lines.before(piece)[0])
        start = 0
        for batch in table.to_batches():
            yield self._rows(batch, place.shifted(start))
            start += batch.num_rows

    def _tables_in_order(self, columns: list[str], types: Schema) -> Iterator[Any]:
        from pyarrow import csv as arrow_csv

        with self._opened() as file:
            file.read(self._layout.header_bytes)
            if not self._layout.has_rows:
                return
            try:
                yield from arrow_csv.open_csv(file, **self._options(columns, types))
            except (OSError, ValueError) as error:
                raise self._fault_in(self._layout, error) from error

    def _options(self, columns: list[str], types: Schema) -> dict[str, Any]:
        from pyarrow import csv as arrow_csv

        return {
            "read_options": arrow_csv.ReadOptions(column_names=list(self.schema), block_size=_BLOCK_BYTES),
            "parse_options": self._layout.parse_options(),
            "convert_options": arrow_csv.ConvertOptions(
                include_columns=columns, column_types=types, null_values=MISSING, strings_can_be_null=True
            ),
        }

    def _types(self) -> Schema:
        """The types to read the columns as: every number as a float, since an int may be followed by one."""
        import pyarrow as pa

        arrow = {NUMBER: pa.float64(), BOOLEAN: pa.bool_(), CATEGORY: pa.dictionary(pa.int32(), pa.string())}
        return {name: arrow.get(kind, pa.string()) for name, kind in self._kinds().items()}

    def _kinds(self) -> dict[str, str]:
        plan = self._plan
        if plan is None:
            return {}
        kinds = dict(plan.kinds)
        if plan.target is not None:
            kinds[plan.target] = kind_of(plan.target_type)
        if plan.weight is not None:
            kinds[plan.weight] = NUMBER
        return kinds

    def _rows(self, batch: Any, place: Place) -> Rows:
        import pyarrow as pa

        assert self._plan is not None
        rows = self._plan.rows(batch, place)
        if self._plan.target is None or not pa.types.is_integer(self._plan.target_type):
            return rows
        try:
            return replace(rows, target=rows.target.cast(pa.int64()))
        except ValueError:  # a fraction after all: left to those who count the labels
            return rows

    def _fault_in(
        self, layout: CsvLayout, error: Exception, text: bytes | None = None, before: tuple[int, int] | None = None
    ) -> Exception:
        """The error that names row and column; the given one if these cannot be found."""
        if text is None and self._stream is not None:  # gone
            return DataError(f"{self.name}: {str(error).splitlines()[0]}.")
        if text is None:
            source, before = self._opened(), (0, 1)
            source.read(layout.header_bytes)
        elif text.count(b'"') % 2 and before is not None:  # the piece begins or ends inside quotes
            return DataError(
                f"{self.name}, after row {before[0]:,} (line {before[1]:,}): a quoted value has line breaks "
                "in it, or no end. Remove them."
            )
        else:
            source = io.BytesIO(text)
        found = None
        with io.TextIOWrapper(source, encoding="utf-8", newline="") as lines:
            try:
                found = find_fault(
                    lines, layout.delimiter, list(layout.schema), self._kinds(), self.name, before or (0, 1)
                )
            except OSError as unreadable:
                error = unreadable
        return found or DataError(f"{self.name}: {str(error).splitlines()[0]}.")


class _Replay(io.RawIOBase):
    """A stream whose first bytes, once looked at, can be read again."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._head = b""

    def rewind(self, head: bytes) -> None:
        self._head = head + self._head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._head[: len(buffer)] or self._stream.read(len(buffer))
        self._head = self._head[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Stays open: the head is read before the rest."""
