"""Rows as they come from a file, before they are numbers in a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from .errors import DataError


@dataclass(frozen=True)
class Place:
    """Where a run of rows comes from."""

    file: str
    first_row: int | None = None
    """The number of the first of them, from 0, where it is known."""
    find_first_row: Callable[[], int] | None = field(default=None, repr=False)
    """A slow way to find that number, for the sake of an error."""

    def shifted(self, rows: int) -> Place:
        """The place that many rows further on."""
        find = self.find_first_row
        return Place(
            self.file,
            None if self.first_row is None else self.first_row + rows,
            None if find is None else lambda: find() + rows,
        )

    def error(self, problem: str, offset: int | None = None, column: str | None = None) -> DataError:
        """An error that says where: the file, the row (as people count, from 1) and the column."""
        where = self.file
        if offset is not None:
            first = self.first_row
            if first is None and self.find_first_row is not None:
                first = self.find_first_row()
            where += f", row {first + offset + 1:,}" if first is not None else ""
        if column is not None:
            where += f", column {column!r}"
        return DataError(f"{where}: {problem}")


@dataclass(frozen=True)
class Rows:
    """A run of consecutive rows.

    The features are named columns (a dict of Arrow or numpy arrays), a dense matrix, or a CSR matrix.
    """

    size: int
    features: Any
    target: Any
    weights: Any
    place: Place

    def cut(self, start: int, stop: int) -> Rows:
        """The rows from start to stop; nothing is copied but sparse rows."""
        if start == 0 and stop >= self.size:
            return self
        stop = min(stop, self.size)

        def part(values: Any) -> Any:
            return None if values is None else values[start:stop]

        named = isinstance(self.features, dict)
        features = {name: part(column) for name, column in self.features.items()} if named else part(self.features)
        place = self.place.shifted(start)
        return replace(
            self,
            size=stop - start,
            features=features,
            target=part(self.target),
            weights=part(self.weights),
            place=place,
        )


class Reader(Protocol):
    """One file, or one list of batches, in pieces that can be read each on its own.

    A file without such pieces (compressed text, a generator) is one piece.
    """

    @property
    def name(self) -> str: ...

    @property
    def repeatable(self) -> bool: ...

    @property
    def pieces(self) -> int: ...

    @property
    def lane_bytes(self) -> int:
        """About how much memory an opened piece holds on to."""
        ...

    def rows_of(self, piece: int) -> int | None:
        """The rows of a piece, where they are known without reading it."""
        ...

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        """The rows of a piece in order, a few at a time."""
        ...
