"""Rows of a CSR matrix, handed over as the tuple (data, indices, indptr), one at a time.

A row costs its non-zeros and nothing else: no loop here runs over the columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import cgutils

from .instructions import (
    FLAGS,
    INDEX,
    accumulator,
    add_product,
    data_of,
    load_at,
    narrowed,
    number_type,
    widened,
)

_LANES = 4  # entries taken together


def emit_row_dot(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows, i, vector = arguments
    model = data_of(context, builder, signature.args[2], vector)
    number_bytes = signature.args[2].dtype.bitwidth // 8
    # Sums that do not wait for one another.
    sums = [accumulator(builder, number_type(signature.args[2].dtype)) for _ in range(_LANES)]
    row = _Row(context, builder, signature.args[0], rows, i)

    def add(k: Any, lane: int) -> None:
        number, column = row.entry(k)
        # A plain load would be gathered with its neighbours into a vector, and gathers stall on entries that the
        # row before has just stored.
        weight = builder.load_atomic(builder.gep(model, [column], inbounds=True), "monotonic", number_bytes)
        add_product(builder, sums[lane], number, weight)

    row.sweep(add)
    a, b, c, d = (builder.load(total) for total in sums)
    both = builder.fadd(builder.fadd(a, b, flags=FLAGS), builder.fadd(c, d, flags=FLAGS), flags=FLAGS)
    return widened(builder, both)


def emit_look_ahead(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Sparse rows are met in turn: this is never run."""
    return context.get_constant_undef(signature.return_type)


def emit_add_rows(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows, first, factors, vector = arguments
    kind = signature.args[3]
    model = data_of(context, builder, kind, vector)
    factor = narrowed(builder, builder.extract_value(factors, 0), number_type(kind.dtype))
    row = _Row(context, builder, signature.args[0], rows, first)

    def add(k: Any, _: int) -> None:
        number, column = row.entry(k)
        place = builder.gep(model, [column], inbounds=True)
        change = builder.fmul(factor, number, flags=FLAGS)
        builder.store(builder.fadd(builder.load(place), change, flags=FLAGS), place)

    row.sweep(add)
    return context.get_dummy_value()


def emit_squared_row(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows, i = arguments
    total = accumulator(builder, number_type(signature.args[0][0].dtype))
    row = _Row(context, builder, signature.args[0], rows, i)
    with cgutils.for_range_slice(builder, row.start, row.stop, INDEX(1)) as (k, _):
        number, _ = row.entry(k)
        add_product(builder, total, number, number)
    return widened(builder, builder.load(total))


def emit_count_values(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows, start, stop = arguments
    return builder.sub(*(_Row(context, builder, signature.args[0], rows, i).start for i in (stop, start)))


class _Row:
    """Where the entries of row i begin and end, and what each of them is."""

    def __init__(self, context: Any, builder: Any, kinds: Any, rows: Any, i: Any):
        self._builder = builder
        self._data, self._indices, indptr = (
            data_of(context, builder, kind, builder.extract_value(rows, k)) for k, kind in enumerate(kinds)
        )
        self.start = self._as_index(load_at(builder, indptr, i))
        self.stop = self._as_index(load_at(builder, indptr, builder.add(i, INDEX(1))))

    def sweep(self, body: Callable[[Any, int], None]) -> None:
        """``body(k, lane)`` for all entries, four by four as lanes 0 to 3, and those left over as lane 0."""
        builder = self._builder
        length = builder.sub(self.stop, self.start)
        whole = builder.add(self.start, builder.and_(length, INDEX(-_LANES)))
        with cgutils.for_range_slice(builder, self.start, whole, INDEX(_LANES)) as (k, _):
            for lane in range(_LANES):
                body(builder.add(k, INDEX(lane)), lane)
        with cgutils.for_range_slice(builder, whole, self.stop, INDEX(1)) as (k, _):
            body(k, 0)

    def entry(self, k: Any) -> tuple[Any, Any]:
        """Its value and its column."""
        value = load_at(self._builder, self._data, k)
        return value, self._as_index(load_at(self._builder, self._indices, k))

    def _as_index(self, number: Any) -> Any:
        return number if number.type == INDEX else self._builder.sext(number, INDEX)
