"""Batches of rows that a program makes: arrays, sparse matrices, and tables of pandas, polars or Arrow."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from ..._foreign import plain_matrix, trusted_csr
from ..columns import Schema, TablePlan, make_plan, unique_names
from ..encode import Encoder
from ..errors import ARROW_ERRORS, DataError, Place, need_pyarrow
from . import Opened, Reader, Request, Rows, matrix_encoder


def open_batches(source: Any, request: Request) -> Opened:
    """Open one batch, or a list, an iterator or a function that gives batches."""
    if _is_batch(source):
        source = [source]
    elif hasattr(source, "to_batches"):  # a data set of Arrow
        source = source.to_batches
    elif not (callable(source) or hasattr(source, "__iter__")):
        raise TypeError(f"A path, a list of paths or batches of rows are needed, not {type(source).__name__}.")
    reader = BatchReader(source)
    first = reader.first()
    table = first[0] if isinstance(first, tuple) else first
    if not is_table(table):
        if request.target is not None or request.features is not None or request.weight is not None:
            raise ValueError("Batches of arrays have no names: give (X, y) or (X, y, weights), and no columns.")
        if getattr(table, "ndim", 0) != 2:
            raise TypeError(
                "A batch must be a pair (X, y) with a matrix X, or a table of pandas, polars or Arrow."
            )
        is_sparse = hasattr(table, "tocsr")
        return Opened([reader], matrix_encoder(int(table.shape[1]), "batch 1", request, is_sparse=is_sparse), None)
    if isinstance(first, tuple) and request.target is not None:
        raise ValueError("Batches that are pairs (X, y) bring their labels: leave out target=.")
    reader.plan = make_plan(table_schema(table, "batch 1"), "batch 1", request)
    encoder = request.encoder or Encoder(list(reader.plan.kinds), reader.plan.kinds)
    return Opened([reader], encoder, request.target)


def _library_of(item: Any) -> str:
    return type(item).__module__.partition(".")[0]


def is_table(item: Any) -> bool:
    """Return whether columns have names: a dict of arrays, or a table of pandas, polars, Arrow or the like."""
    if isinstance(item, np.ndarray):
        return False
    known = isinstance(item, Mapping) or _library_of(item) in ("pandas", "polars", "pyarrow")
    return known or hasattr(item, "__arrow_c_stream__")


def table_schema(table: Any, name: str) -> Schema:
    """Return the types of a table's columns."""
    columns = next(_as_columns(table, name), {}).items()
    return {name: column.dtype if isinstance(column, np.ndarray) else column.type for name, column in columns}


def _is_batch(item: Any) -> bool:
    """Return whether this is one batch, not an iterable of them or a source such as a record batch reader."""
    if isinstance(item, tuple) and len(item) in (2, 3):
        item = item[0]
    if sparse.issparse(item) or (isinstance(item, np.ndarray) and item.ndim == 2):
        return True
    return is_table(item) and (isinstance(item, Mapping) or hasattr(item, "columns"))


def _as_columns(table: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield the columns of a table, by name: once, or once for each of its record batches."""
    if isinstance(table, Mapping):
        yield {str(key): _as_column(values) for key, values in table.items()}
        return
    library = _library_of(table)
    pa = need_pyarrow(f"tables of {library}")
    if type(table).__name__ == "Series":
        raise TypeError(f"{name}: a Series is one column; a table is needed, such as its to_frame().")
    if library == "pandas":
        unique_names(list(map(str, table.columns)), name)
        try:
            table = pa.Table.from_pandas(table, preserve_index=False)
        except (*ARROW_ERRORS, OverflowError) as error:
            problem = "a column holds values of different types, or of one that is neither number, text nor time"
            raise DataError(f"{name}: {problem}. ({error.args[-1]})") from error
    elif not isinstance(table, pa.Table | pa.RecordBatch):
        if not hasattr(table, "__arrow_c_stream__"):
            raise TypeError(
                f"{name}: a {type(table).__name__} is no table of rows yet; call collect() on it first."
            )
        table = pa.table(table)
    unique_names(table.schema.names, name)
    batches = table.to_batches() if isinstance(table, pa.Table) else [table]
    for batch in batches or [pa.RecordBatch.from_pylist([], schema=table.schema)]:
        yield dict(zip(batch.schema.names, batch.columns, strict=True))


def _as_column(values: Any) -> Any:
    """Return labels, weights or a column of a dict as an Arrow or a numpy array."""
    if _library_of(values) == "polars":
        values = values.to_arrow()
    if _library_of(values) == "pyarrow":
        return values.combine_chunks() if hasattr(values, "combine_chunks") else values
    array = np.asarray(values)
    return array.reshape(-1) if array.ndim == 2 and array.shape[1] == 1 else array


def batch_rows(item: Any, name: str, plan: TablePlan | None = None) -> Iterator[Rows]:
    """Yield the rows of one batch: a matrix, a table, or one of them with labels and perhaps weights."""
    features, y, w = (*item, None)[:3] if isinstance(item, tuple) else (item, None, None)
    target, weights = (None if values is None else _as_column(values) for values in (y, w))
    if not is_table(features):
        try:
            is_sparse = sparse.issparse(features)
            X = sparse.csr_array(trusted_csr(features)) if is_sparse else np.asarray(plain_matrix(features))
        except ValueError as error:
            raise DataError(f"{name}: {error}") from error
        if X.ndim != 2:
            raise DataError(f"{name}: a matrix is needed, and the array has {X.ndim} dimensions.")
        yield _checked(Rows(X.shape[0], X, target, weights, Place(name, 0)))
        return
    start = 0
    for columns in _as_columns(features, name):
        place = Place(name, start)
        if plan is None:
            rows = Rows(len(next(iter(columns.values()))), columns, None, None, place)
        else:
            for column in plan.columns:
                if column not in columns:
                    raise DataError(f"{name}: there is no column {column!r}, which the first batch had.")
            rows = plan.rows(columns, place)
        stop = start + rows.size
        own_target = rows.target if target is None else target[start:stop]
        own_weights = rows.weights if weights is None else weights[start:stop]
        yield _checked(Rows(rows.size, rows.features, own_target, own_weights, place))
        start = stop


def _checked(rows: Rows) -> Rows:
    for what, values in (("labels", rows.target), ("weights", rows.weights)):
        if values is not None and len(values) != rows.size:
            raise rows.place.error(f"{rows.size:,} rows and {len(values):,} {what}.")
    return rows


class BatchReader(Reader):
    """Batches from a list, a function that returns an iterator, or an iterator, which can be read once only.

    Each batch of a list is a piece; anything else is one piece.
    """

    def __init__(self, source: Any):
        self.repeatable = not isinstance(source, Iterator)
        self._source = source
        self._list = list(source) if isinstance(source, list | tuple) else None
        tables = [item[0] if isinstance(item, tuple) else item for item in self._list or ()]
        shapes = [getattr(table, "shape", None) for table in tables]
        sizes = [None] if self._list is None else [int(shape[0]) if shape else None for shape in shapes]
        super().__init__("The batches" if self.repeatable else "The iterator", sizes)
        self._peeked: list[Any] = []
        self.plan: TablePlan | None = None

    def _batches(self) -> Iterable[Any]:
        batches: Iterable[Any] = self._source() if callable(self._source) else self._source
        return batches

    def first(self) -> Any:
        """Return the first batch, without using it up."""
        for item in self._batches():
            if not self.repeatable:
                self._peeked = [item]
            return item
        raise DataError(f"{self.name}: there are no batches.")

    def read(self, piece: int, batch_rows_: int) -> Iterator[Rows]:
        if self._list is not None:
            yield from batch_rows(self._list[piece], f"batch {piece + 1:,}", self.plan)
            return
        peeked, self._peeked = self._peeked, []
        for number, item in enumerate(itertools.chain(peeked, self._batches()), start=1):
            yield from batch_rows(item, f"batch {number:,}", self.plan)
