"""Batches of rows that a program makes: arrays, sparse matrices, and tables of pandas, polars or Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from ..files.errors import DataError
from ..files.packages import need_pyarrow
from ..files.rows import Place, Rows
from ..files.tables import Schema, TablePlan


def is_table(item: Any) -> bool:
    """A table with named columns: a dict of arrays, or one of pandas, polars or Arrow."""
    return isinstance(item, Mapping) or _library_of(item) in ("pandas", "polars", "pyarrow")


def _library_of(item: Any) -> str:
    return type(item).__module__.partition(".")[0]


def is_matrix(item: Any) -> bool:
    return sparse.issparse(item) or (isinstance(item, np.ndarray) and item.ndim == 2)


def is_batch(item: Any) -> bool:
    """One batch by itself, not an iterable of them."""
    if isinstance(item, tuple) and len(item) in (2, 3):
        return is_matrix(item[0]) or is_table_itself(item[0])
    return is_matrix(item) or is_table_itself(item)


def is_table_itself(item: Any) -> bool:
    """A table, not a source of tables such as a record batch reader."""
    return is_table(item) and (isinstance(item, Mapping) or hasattr(item, "columns"))


def as_columns(table: Any, name: str) -> Iterator[dict[str, Any]]:
    """The columns of a table, by name: once, or once for each of its record batches."""
    if isinstance(table, Mapping):
        yield {str(key): as_column(values) for key, values in table.items()}
        return
    library = _library_of(table)
    pa = need_pyarrow(f"tables of {library}")
    if library == "pandas":
        try:
            table = pa.Table.from_pandas(table, preserve_index=False)
        except (TypeError, ValueError) as error:
            raise DataError(f"{name}: a column holds values of different types. ({error.args[-1]})") from error
    elif library == "polars":
        table = table.to_arrow()
    for batch in table.to_batches() if isinstance(table, pa.Table) else [table]:
        yield dict(zip(batch.schema.names, batch.columns, strict=True))


def as_column(values: Any) -> Any:
    """Labels, weights or a column of a dict, as an Arrow or a numpy array."""
    if _library_of(values) == "polars":
        values = values.to_arrow()
    if _library_of(values) == "pyarrow":
        return values.combine_chunks() if hasattr(values, "combine_chunks") else values
    array = np.asarray(values)
    return array.reshape(-1) if array.ndim == 2 and array.shape[1] == 1 else array


def schema_of(table: Any, name: str) -> Schema:
    """The names and types of a table's columns."""
    columns = next(as_columns(table, name), {})
    return {
        key: column.dtype if isinstance(column, np.ndarray) else column.type for key, column in columns.items()
    }


def batch_rows(item: Any, name: str, plan: TablePlan | None = None) -> Iterator[Rows]:
    """The rows of one batch: a matrix, a table, or one of them with labels and perhaps weights."""
    features, y, w = (*item, None)[:3] if isinstance(item, tuple) else (item, None, None)
    target, weights = (None if values is None else as_column(values) for values in (y, w))
    place = Place(name, 0)
    if not is_table(features):
        X = sparse.csr_array(features) if sparse.issparse(features) else np.asarray(features)
        if X.ndim != 2:
            raise DataError(f"{name}: a matrix is needed, and the array has {X.ndim} dimensions.")
        yield _checked(Rows(X.shape[0], X, target, weights, place))
        return
    start = 0
    for columns in as_columns(features, name):
        if plan is None:
            rows = Rows(len(next(iter(columns.values()))), columns, None, None, place.shifted(start))
        else:
            _check_columns(plan, columns, name)
            rows = plan.rows(columns, place.shifted(start))
        stop = start + rows.size
        own_target = rows.target if target is None else target[start:stop]
        own_weights = rows.weights if weights is None else weights[start:stop]
        yield _checked(Rows(rows.size, rows.features, own_target, own_weights, rows.place))
        start = stop


def _check_columns(plan: TablePlan, columns: dict[str, Any], name: str) -> None:
    for column in plan.columns:
        if column not in columns:
            raise DataError(f"{name}: there is no column {column!r}, which the first batch had.")


def _checked(rows: Rows) -> Rows:
    for what, values in (("labels", rows.target), ("weights", rows.weights)):
        if values is not None and len(values) != rows.size:
            raise rows.place.error(f"{rows.size:,} rows and {len(values):,} {what}.")
    return rows


class BatchReader:
    """Batches from a list, a function that returns an iterator, or an iterator, which can be read once only."""

    lane_bytes = 0

    def __init__(self, source: Any):
        self._list = list(source) if isinstance(source, list | tuple) else None
        self._make: Callable[[], Iterable[Any]] | None = None
        self.repeatable = not isinstance(source, Iterator)
        self.name = "The iterator" if not self.repeatable else "The batches"
        if self._list is None:
            self._make = source if callable(source) else lambda: source
        self._peeked: list[Any] = []
        self._plan: TablePlan | None = None

    def first(self) -> Any:
        """The first batch, without using it up."""
        if self._list is not None:
            batches = iter(self._list)
        else:
            assert self._make is not None
            batches = iter(self._make())
        for item in batches:
            if not self.repeatable:
                self._peeked = [item]
            return item
        raise DataError(f"{self.name}: there are no batches.")

    def follow(self, plan: TablePlan) -> None:
        """Read what the plan says."""
        self._plan = plan

    @property
    def pieces(self) -> int:
        return 1 if self._list is None else len(self._list)

    def rows_of(self, piece: int) -> int | None:
        if self._list is None:
            return None
        item = self._list[piece]
        features = item[0] if isinstance(item, tuple) else item
        return int(features.shape[0]) if hasattr(features, "shape") else None

    def read(self, piece: int, batch_rows_: int) -> Iterator[Rows]:
        if self._list is not None:
            yield from batch_rows(self._list[piece], f"batch {piece + 1:,}", self._plan)
            return
        assert self._make is not None
        peeked, self._peeked = self._peeked, []
        number = 0
        for items in (peeked, self._make()):
            for item in items:
                number += 1
                yield from batch_rows(item, f"batch {number:,}", self._plan)
