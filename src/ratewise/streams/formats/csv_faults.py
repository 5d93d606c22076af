"""Finding the line of a CSV file that could not be read: slow and careful, once an error has occurred."""

from __future__ import annotations

import csv
from collections.abc import Iterable

from ..files.columns import BOOLEAN, NUMBER
from ..files.errors import DataError
from .csv_layout import MISSING, is_number

_BOOLEANS = {"0", "1", "true", "false", "True", "False", "TRUE", "FALSE"}


def find_fault(
    lines: Iterable[str],
    delimiter: str,
    names: list[str],
    kinds: dict[str, str],
    file: str,
    before: tuple[int, int],
) -> DataError | None:
    """The first row with too few or too many values, or a text where a number is expected.

    Parameters
    ----------
    lines : iterable of str
    delimiter : str
    names : list of str
        All columns of the file, in order.
    kinds : dict
        What the columns that are read hold.
    file : str
    before : pair of int
        The rows and the lines of the file before these lines.
    """
    reader = csv.reader(lines, delimiter=delimiter)
    row = before[0]
    watched = [(names.index(name), name, kind) for name, kind in kinds.items() if kind in (NUMBER, BOOLEAN)]
    try:
        for values in reader:
            if not values:
                continue
            row += 1
            where = f"{file}, row {row:,} (line {before[1] + reader.line_num:,})"
            if len(values) != len(names):
                return DataError(f"{where}: {len(values):,} values, where the header has {len(names):,} columns.")
            for position, name, kind in watched:
                if not _fits(values[position], kind):
                    return DataError(
                        f"{where}, column {name!r}: {values[position]!r} is not a {kind}. "
                        "Mend the row, or leave the column out with features=."
                    )
    except UnicodeDecodeError:
        return DataError(f"{file}, after row {row:,}: this is not UTF-8 text. Convert the file to UTF-8.")
    except csv.Error as error:
        return DataError(f"{file}, after row {row:,}: {error}.")
    return None


def _fits(text: str, kind: str) -> bool:
    if text.strip() in MISSING:
        return True
    return is_number(text) if kind == NUMBER else text.strip() in _BOOLEANS
