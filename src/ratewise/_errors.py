"""Errors in files, with their places."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ARROW_ERRORS = (OSError, ValueError, NotImplementedError, LookupError, TypeError)
"""The errors of Arrow for a file that is damaged, or has an unknown type."""
_LONGEST_QUOTED = 200


class DataError(ValueError):
    """A file or stream that cannot be read as it is; the message says where and what to do.

    Examples
    --------
    >>> from ratewise.streams import DataError, open_stream
    >>> try:
    ...     open_stream(["no", "rows"])
    ... except (DataError, TypeError, ValueError, OSError) as error:
    ...     print("refused")
    refused
    """


class ColumnWarning(UserWarning):
    """Some or all values of a column cannot be used, in a fit or in a prediction.

    Examples
    --------
    >>> import ratewise
    >>> issubclass(ratewise.ColumnWarning, UserWarning)
    True
    """


def need_pyarrow(what: str, module: str = "pyarrow") -> Any:
    """Return the pyarrow package or a module of it, or raise an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f'Reading {what} needs pyarrow: pip install "ratewise[files]"') from None


def not_whole(kind: str, error: Exception) -> str:
    """Return the message for a file that cannot be read to its end."""
    return (
        f"this is not a whole {kind} file; it may have been cut off. Write or copy it again. ({first_line(error)})"
    )


def first_line(error: Exception) -> str:
    """Return the first line of another library's message, shortened."""
    return shortened(next(iter(str(error).splitlines()), "") or type(error).__name__)


def shortened(text: str) -> str:
    """Return a name or a value of a file as quoted in a message, shortened."""
    return text if len(text) <= _LONGEST_QUOTED else text[:_LONGEST_QUOTED] + " ..."


@dataclass(frozen=True)
class Place:
    """The place of a run of rows in its source."""

    file: str
    first_row: int | None = None
    """The number of the first row, from 0, if it is known."""
    find_first_row: Callable[[], int] | None = field(default=None, repr=False)
    """A slow way to find that number, for an error message."""

    def shifted(self, rows: int) -> Place:
        """Return the place this many rows later."""
        first, find = self.first_row, self.find_first_row
        return Place(self.file, None if first is None else first + rows, find and (lambda: find() + rows))

    def error(self, problem: str, offset: int | None = None, column: str | None = None) -> DataError:
        """Return an error that names the file, the row (counted from 1) and the column."""
        where = self.file
        if offset is not None:
            first = self.first_row
            if first is None and self.find_first_row is not None:
                first = self.find_first_row()
            where += f", row {first + offset + 1:,}" if first is not None else ""
        if column is not None:
            where += f", column {shortened(column)!r}"
        return DataError(f"{where}: {problem}")
