"""What the first lines of a CSV file say of the rest: names, types and the delimiter."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..files.errors import DataError
from ..files.packages import need_pyarrow
from ..files.tables import Schema

MISSING = [
    "",
    "#N/A",
    "#NA",
    "-NaN",
    "-nan",
    "<NA>",
    "?",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
]
HEAD_BYTES = 4 << 20
_DELIMITERS = (",", "\t", ";", "|")


@dataclass
class CsvLayout:
    """How a CSV file is laid out."""

    schema: Schema
    delimiter: str
    header_bytes: int
    line_breaks_in_values: bool
    has_rows: bool

    def parse_options(self) -> Any:
        from pyarrow import csv as arrow_csv

        breaks = self.line_breaks_in_values
        return arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=breaks)


def read_layout(
    head: bytes, whole: bool, name: str, fault: Callable[[CsvLayout, Exception], Exception]
) -> CsvLayout:
    """The layout, from the first few megabytes. Types are those of these lines alone.

    Parameters
    ----------
    head : bytes
    whole : bool
        The head is all of the file.
    name : str
    fault : function
        Says what is wrong with the file, if its first lines cannot be read.
    """
    pa = need_pyarrow("CSV")
    body = head.lstrip(b"\r\n")
    if not body.strip():
        raise DataError(f"{name}: the file is empty.")
    header, _, lines = body.partition(b"\n")
    delimiter, names = _names(header, name)
    if not whole:
        lines = lines[: lines.rfind(b"\n") + 1]
    layout = CsvLayout(
        dict.fromkeys(names, pa.null()),
        delimiter,
        len(head) - len(body) + len(header) + 1,
        _breaks_in_values(lines),
        bool(lines.strip()),
    )
    if layout.has_rows:
        layout.schema = _inferred(lines, layout, fault)
    return layout


def _names(header: bytes, name: str) -> tuple[str, list[str]]:
    try:
        text = header.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError:
        raise DataError(f"{name}: the header is not UTF-8 text. Is this a CSV file?") from None
    delimiter = max(_DELIMITERS, key=text.count)  # the first of them, if none is there
    names = next(csv.reader([text], delimiter=delimiter))
    twice = [column for column in names if names.count(column) > 1]
    if twice:
        raise DataError(f"{name}: the header has the column {twice[0]!r} twice.")
    return delimiter, names


def _breaks_in_values(lines: bytes) -> bool:
    return b'"' in lines and any(line.count(b'"') % 2 for line in lines.split(b"\n"))


def _inferred(lines: bytes, layout: CsvLayout, fault: Callable[[CsvLayout, Exception], Exception]) -> Schema:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(lines),
            read_options=arrow_csv.ReadOptions(column_names=list(layout.schema), block_size=max(len(lines), 1)),
            parse_options=layout.parse_options(),
            convert_options=arrow_csv.ConvertOptions(null_values=MISSING, strings_can_be_null=True),
        )
    except ValueError as error:
        raise fault(layout, error) from error
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    for name, dtype in types.items():
        if pa.types.is_string(dtype) and _mostly_numbers(table[name]):
            types[name] = pa.float64()
    return types


def _mostly_numbers(column: Any) -> bool:
    """More than half are numbers: then the texts among them are faults, which are to be found."""
    values = column.drop_null().slice(0, 10_000).to_pylist()
    return 2 * sum(is_number(value) for value in values) > len(values)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
