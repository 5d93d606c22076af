"""Batches of rows from a program: arrays, sparse matrices, and tables of pandas, polars or Arrow."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from ..._errors import DataError, Place
from ..._input_checks import plain_matrix, trusted_csr
from ...features.tables import as_array, is_table, parts_of, table_schema
from ..columns import TablePlan, encoder_for, make_plan
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
    reader.kinds = reader.plan.kinds
    return Opened([reader], encoder_for(reader.plan, request), request.target)


def _is_batch(item: Any) -> bool:
    """Return whether this is one batch, not an iterable of them or a source such as a record batch reader."""
    if isinstance(item, tuple) and len(item) in (2, 3):
        item = item[0]
    if sparse.issparse(item) or (isinstance(item, np.ndarray) and item.ndim == 2):
        return True
    return is_table(item) and (isinstance(item, Mapping) or hasattr(item, "columns"))


def batch_rows(item: Any, name: str, plan: TablePlan | None = None) -> Iterator[Rows]:
    """Yield the rows of one batch: a matrix, a table, or one of them with labels and perhaps weights."""
    features, y, w = (*item, None)[:3] if isinstance(item, tuple) else (item, None, None)
    target, weights = (None if values is None else as_array(values) for values in (y, w))
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
    for columns, size, place in parts_of(features, name):
        if plan is None:
            rows = Rows(size, columns, None, None, place)
        else:
            for column in plan.columns:
                if column not in columns:
                    raise DataError(f"{name}: there is no column {column!r}, which the first batch had.")
            rows = plan.rows(columns, place)
        start, stop = place.first_row or 0, (place.first_row or 0) + size
        own_target = rows.target if target is None else target[start:stop]
        own_weights = rows.weights if weights is None else weights[start:stop]
        yield _checked(Rows(size, rows.features, own_target, own_weights, place))


def _checked(rows: Rows) -> Rows:
    for what, values in (("labels", rows.target), ("weights", rows.weights)):
        if values is not None and len(values) != rows.size:
            raise rows.place.error(f"{rows.size:,} rows and {len(values):,} {what}.")
    return rows


class BatchReader(Reader):
    """Batches from a list, a function that returns an iterator, or an iterator, which can be read only once.

    Each batch of a list is a piece; anything else is one piece.
    """

    decodes = False

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
        """Return the first batch, without consuming it."""
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
