"""CSV files with a header, plain or compressed."""

from __future__ import annotations

import contextlib
import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

from ..._errors import DataError, Place, first_line, need_pyarrow, shortened
from ...features.kinds import BOOLEAN, CATEGORY, GAPS, NUMBER, TEXT, kind_of
from ...features.tables import Schema
from ...features.values import parsed_numbers
from ..columns import LARGEST_EXACT, TableReader
from ..open import open_tables
from . import Opened, Request, Rows, TextReader

pa = need_pyarrow("CSV")
pc = need_pyarrow("CSV", "pyarrow.compute")
arrow_csv = need_pyarrow("CSV", "pyarrow.csv")

_COMPRESSED = (".gz", ".bz2", ".zst")
_HEAD_BYTES = 4 << 20  # also the bytes that are unpacked in one step
_LONGEST_ROW = 64 << 20
_BLOCK_BYTES = 1 << 20
_TO_UTF8 = "Convert the file: iconv -f latin1 -t utf-8 FILE > NEW, if it is Latin-1."
_MANY_COLUMNS, _COLUMNS_AT_ONCE, _ROWS_AT_ONCE = 1000, 1 << 14, 256
_DELIMITERS = (",", "\t", ";", "|")
_BOOLEANS = {"0", "1", "true", "false", "True", "False", "TRUE", "FALSE"}
_MISSING = sorted(GAPS)


def open_files(paths: list[str], request: Request, stream: BinaryIO | None = None) -> Opened:
    return open_tables([CsvReader(path, stream, request.decimal) for path in paths], request)


class CsvReader(TextReader, TableReader):
    """A CSV file. A plain one is read in pieces of some megabytes; a compressed one, or a stream, from its start.

    The first few megabytes show the names, the types, the delimiter, and whether values contain line breaks.
    """

    def __init__(self, path: str, stream: BinaryIO | None = None, decimal: str = "."):
        super().__init__(path)
        self._decimal = decimal
        self._not_numbers: set[str] = set()  # columns that hold other texts, as rows far from the top showed
        self.repeatable = stream is None
        self._stream = None if stream is None else _Replay(stream)
        self._read_layout()
        if stream is None and not path.endswith(_COMPRESSED) and not self._breaks_in_values:
            self.cut_into_pieces(self._header_bytes, piece_bytes=self._wide_bytes)

    def _read_layout(self) -> None:
        self._wide_bytes = 0
        with self._opened() as file:
            head = self._next_bytes(file)
            while head.count(b"\n") < 2 and len(head) < _LONGEST_ROW and (more := self._next_bytes(file)):
                head += more  # until there is a row
        if self._stream is not None:
            self._stream.head = head
        body = head.lstrip(b"\r\n")
        if not body.strip():
            raise DataError(f"{self.name}: the file is empty.")
        header, newline, lines = body.partition(b"\n")
        self._check_header(header, is_whole=bool(newline) or len(head) < _LONGEST_ROW)
        self._delimiter, names = self._names(header)
        is_cut = len(head) >= _HEAD_BYTES  # then the last row may not be whole
        each = lines.split(b"\n")[: -1 if is_cut else None] if b'"' in lines else []
        self._breaks_in_values = any(line.count(b'"') % 2 for line in each)
        if is_cut:
            lines = lines[: self._end_of_rows(lines) or len(lines)]
        self.schema: Schema = dict.fromkeys(names, pa.null())
        self._inferred_types = dict(self.schema)
        self._header_bytes = len(head) - len(body) + len(header) + 1
        self.has_rows = bool(lines.strip())
        if len(names) > _MANY_COLUMNS:  # every piece costs a little per column
            self._wide_bytes = min(_ROWS_AT_ONCE * (lines.find(b"\n") + 1), _LONGEST_ROW)
        if self.has_rows:
            self._inferred_types = self._inferred(lines)
            self.schema = {name: _number_or_text(dtype) for name, dtype in self._inferred_types.items()}

    def _check_header(self, header: bytes, is_whole: bool) -> None:
        if b"\0" in header:
            raise DataError(
                f"{self.name}: there are zero bytes in the header. This is not a CSV file, or not UTF-8."
            )
        if b"\r" in header.rstrip(b"\r"):
            raise DataError(
                f"{self.name}: its lines end in CR, as on old Macs. Write them anew: tr '\\r' '\\n' < FILE > NEW."
            )
        if not is_whole:
            raise DataError(
                f"{self.name}: the first line has more than {len(header):,} bytes. Is this a CSV file?"
            )

    def _names(self, header: bytes) -> tuple[str, list[str]]:
        try:
            text = header.decode("utf-8-sig").rstrip("\r")
        except UnicodeDecodeError:
            raise DataError(f"{self.name}: the header is not UTF-8 text. {_TO_UTF8}") from None
        delimiter = max(_DELIMITERS, key=text.count)  # the first of them, if none is there
        try:
            names = next(csv.reader([text], delimiter=delimiter))
        except csv.Error as error:
            raise DataError(f"{self.name}: the header cannot be read: {error}.") from error
        twice = [column for column, times in Counter(names).items() if times > 1]
        if twice:
            raise DataError(f"{self.name}: the header has the column {shortened(twice[0])!r} twice.")
        return delimiter, names

    def _inferred(self, lines: bytes) -> Schema:
        """Return the types of these lines."""
        try:
            table = self._table(lines, list(self.schema), {}, in_one_block=True)
        except ValueError as error:
            raise self._fault(error, lines) from error
        types = dict(zip(table.schema.names, table.schema.types, strict=True))
        for name, dtype in types.items():
            if pa.types.is_binary(dtype):  # Arrow's type for a text that is not UTF-8
                raise DataError(
                    f"{self.name}, column {shortened(name)!r}: there is text that is not UTF-8. {_TO_UTF8}"
                )
        return types

    def _opened(self) -> Any:
        return pa.input_stream(self.name) if self._stream is None else self._stream

    def _next_bytes(self, file: Any) -> bytes:
        try:
            found: bytes = file.read(max(self._wide_bytes, _HEAD_BYTES))
            return found
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) is not None:  # of the disk or the pipe
                raise
            raise DataError(f"{self.name}: it cannot be unpacked; it may have been cut off. ({error})") from error

    def forget_types(self) -> None:
        self.schema = dict.fromkeys(self.schema, pa.null())

    def label_type(self, name: str) -> Any:
        """Return the type of the labels; if the first labels are missing, the type of the first that exists."""
        found = self._inferred_types[name]
        if pa.types.is_null(found) and self.has_rows and self._stream is None:
            for table in self._batches_in_order([name], {name: pa.string()}):
                values = table.column(name).drop_null()
                if len(values):
                    return pa.float64() if _is_number(values[0].as_py()) else pa.string()
        return found

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        place, columns = self.place(piece), self.plan.columns
        for batch in self._batches_of(piece) if self.is_cut else self._batches_in_order(columns, self._types()):
            yield self._rows(batch, place)
            place = place.shifted(batch.num_rows)

    def _batches_of(self, piece: int) -> Iterator[Any]:
        batches = self._parsed(self.text_of(piece), self.plan.columns, self._types(), lambda: self.before(piece))
        self.sizes[piece] = sum(batch.num_rows for batch in batches)
        yield from batches

    def _batches_in_order(self, columns: list[str], types: Schema) -> Iterator[Any]:
        rows, lines = 0, 1
        with self._opened() as file:
            left = self._header_bytes
            while left > 0 and (skipped := file.read(left)):
                left -= len(skipped)
            for text in self._texts(file):
                for batch in self._parsed(text, columns, types, lambda: (rows, lines)):  # noqa: B023
                    yield batch
                    rows += batch.num_rows
                lines += text.count(b"\n")

    def _texts(self, file: Any) -> Iterator[bytes]:
        """Yield the rest of a file in parts of whole rows."""
        rest = b""
        while more := self._next_bytes(file):
            text = rest + more
            end = self._end_of_rows(text)
            if len(text) - end > _LONGEST_ROW:
                raise DataError(
                    f"{self.name}: a row has more than {_LONGEST_ROW:,} bytes. Is a quote never closed?"
                )
            rest = text[end:]
            if end:
                yield text[:end]
        if rest:
            yield rest

    def _end_of_rows(self, text: bytes) -> int:
        """Return where the last whole row of a text ends."""
        end = text.rfind(b"\n") + 1
        is_inside = self._breaks_in_values and text.count(b'"', 0, end) % 2  # of quotes
        while is_inside and end:
            earlier = text.rfind(b"\n", 0, end - 1) + 1
            is_inside ^= text.count(b'"', earlier, end) % 2
            end = earlier
        return end

    def _parsed(
        self, text: bytes, columns: list[str], types: Schema, before: Callable[[], tuple[int, int]]
    ) -> list[Any]:
        """Return the record batches of some whole rows; ``before`` counts the rows and lines before them."""
        if not text.strip():
            return []
        in_one_block = len(self.schema) > _MANY_COLUMNS
        try:
            table = self._table(text, columns, types, in_one_block=in_one_block)
        except (OSError, ValueError) as error:
            try:
                self._find_texts(text, columns)
                table = self._table(text, columns, types | self._types(), in_one_block=in_one_block)
            except (OSError, ValueError):
                raise self._fault(error, text, before()) from error
        # Arrow parses some rows in each thread; taken together, each column is looked at once.
        batches: list[Any] = table.unify_dictionaries().combine_chunks().to_batches()
        return batches

    def _find_texts(self, text: bytes, columns: list[str]) -> None:
        """Find feature columns with texts where earlier rows had numbers: these are read as texts."""
        features = {} if self._plan is None else self._plan.kinds
        numbers = [name for name in columns if features.get(name) == NUMBER]
        table = self._table(text, numbers, dict.fromkeys(numbers, pa.string()), in_one_block=True)
        for name in numbers:
            values = table[name].drop_null()
            if self._decimal == ",":
                values = pc.replace_substring(values, ",", ".")
            if np.isnan(parsed_numbers(values)).any() or not _converts(values):
                self._not_numbers.add(name)

    def _table(self, text: bytes, columns: list[str], types: Schema, *, in_one_block: bool) -> Any:
        """Return some whole rows as an Arrow table; threads do not pay for one block.

        Arrow takes some 8 KB per column while it reads, so that many columns are read some at a time.
        """
        read = arrow_csv.ReadOptions(
            column_names=list(self.schema),
            block_size=max(len(text), 1) if in_one_block else _BLOCK_BYTES,
            use_threads=not in_one_block,
        )
        parse = arrow_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=self._breaks_in_values)
        tables = []
        for begin in range(0, len(columns), _COLUMNS_AT_ONCE):
            mine = columns[begin : begin + _COLUMNS_AT_ONCE]
            convert = arrow_csv.ConvertOptions(
                include_columns=mine,
                column_types={name: types[name] for name in mine if name in types},
                null_values=_MISSING,
                strings_can_be_null=True,
                decimal_point=self._decimal,
            )
            tables.append(arrow_csv.read_csv(arrow_reader(text), read, parse, convert))
        if len(tables) == 1:
            return tables[0]
        return pa.Table.from_arrays([column for table in tables for column in table.columns], names=columns)

    def _types(self) -> Schema:
        """Return the types for reading the columns: floats for numbers, since a float may follow an int."""
        texts = pa.dictionary(pa.int32(), pa.string())
        arrow = {NUMBER: pa.float64(), BOOLEAN: pa.bool_(), CATEGORY: texts, TEXT: texts}
        found = {name: arrow.get(kind, pa.string()) for name, kind in self._kinds().items()}
        found |= dict.fromkeys(self._not_numbers & found.keys(), texts)
        return found | dict.fromkeys(() if self._plan is None else self._plan.kept, pa.string())

    def _kinds(self) -> dict[str, str]:
        if self._plan is None:
            return {}
        kinds = dict(self._plan.kinds)
        if self._plan.target is not None:
            kinds[self._plan.target] = kind_of(self._plan.target_type)
        if self._plan.weight is not None:
            kinds[self._plan.weight] = NUMBER
        return kinds

    def _rows(self, batch: Any, place: Place) -> Rows:
        rows = self.plan.rows(batch, place)
        if self.plan.target is None or not pa.types.is_integer(self.plan.target_type):
            return rows
        with contextlib.suppress(ValueError):  # a fraction after all: the survey will say so
            whole = rows.target.cast(pa.int64())
            if np.abs(whole.to_numpy(zero_copy_only=False)).max(initial=0) < LARGEST_EXACT:  # else it says that
                return replace(rows, target=whole)
        return rows

    def _fault(self, error: Exception, text: bytes, before: tuple[int, int] = (0, 1)) -> DataError:
        """Return the error that names row and column; the given one if these cannot be found.

        ``before`` counts the rows and the lines of the file before the text.
        """
        if text.count(b'"') % 2:  # it begins or ends inside quotes
            return DataError(
                f"{self.name}, after row {before[0]:,} (line {before[1]:,}): a quoted value has line breaks "
                "in it, or no end. Remove them."
            )
        with io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="") as lines:
            found = self._find_fault(lines, *before)
        return found or DataError(f"{self.name}: {first_line(error)}.")

    def _find_fault(self, lines: Any, row: int, lines_before: int) -> DataError | None:
        """Find the first row with too few or too many values, or a text where a number is expected."""
        reader = csv.reader(lines, delimiter=self._delimiter)
        places = {name: place for place, name in enumerate(self.schema)}
        labels = (self.plan.target, self.plan.weight) if self._plan is not None else ()
        checked = [(places[name], name, kind) for name, kind in self._kinds().items() if name in labels]
        try:
            for values in reader:
                if not values:
                    continue
                row += 1
                where = f"{self.name}, row {row:,} (line {lines_before + reader.line_num:,})"
                if len(values) != len(places):
                    return DataError(
                        f"{where}: {len(values):,} values, where the header has {len(places):,} columns."
                    )
                for position, name, kind in checked:
                    if not _fits(text := values[position], kind):
                        return DataError(
                            f"{where}, column {shortened(name)!r}: {shortened(text)!r} is not a {kind}. "
                            "Correct the row."
                        )
        except UnicodeDecodeError:
            return DataError(f"{self.name}, after row {row:,}: this is not UTF-8 text. {_TO_UTF8}")
        except csv.Error as error:  # such as a value of more than 131,072 characters
            return DataError(f"{self.name}, after row {row:,}: {error}. Correct the next row.")
        return None


def arrow_reader(text: bytes) -> Any:
    """Return a copy of a text in Arrow's own memory.

    The thread that uses Python's memory last would release it. If this is a thread of Arrow, and Python ends at
    the same time, the process is aborted.
    """
    copied = pa.allocate_buffer(len(text))
    memoryview(copied).cast("B")[:] = text
    return pa.BufferReader(copied)


def _number_or_text(dtype: Any) -> Any:
    """Return the type that a column is read as: the rules recognize dates, booleans and categories among texts."""
    return dtype if kind_of(dtype) == NUMBER else pa.string()


def _converts(values: Any) -> bool:
    """Return whether Arrow reads all of these numbers as the library does."""
    try:
        values.cast(pa.float64())
    except ValueError:
        return False
    return True


def _fits(text: str, kind: str) -> bool:
    if kind not in (NUMBER, BOOLEAN) or text.strip() in _MISSING:
        return True
    return _is_number(text) if kind == NUMBER else text.strip() in _BOOLEANS


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


class _Replay(io.RawIOBase):
    """A stream whose first bytes can be read again."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self.head = b""  # what is read again

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self.head[: len(buffer)] or self._stream.read(len(buffer))
        self.head = self.head[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Stays open: the head is read before the rest."""
