"""Rows of a C-contiguous float32 or float64 matrix, four at a time, in vector instructions.

One row after another would be a chain: a score waits for the model that the row before has just changed. So the
scores of four rows are taken at once, with the six products between them, and one sweep over the model adds all
four. Loops left to the compiler end in single entries; these, stored one by one and then loaded as a vector, stall
the processor for longer than the arithmetic takes. So the vectors are spelled out, and the last columns of a row,
too few to fill a vector, are read as the last whole vector of the row with the columns already read blanked out.
The model has to be laid out likewise: see :func:`model_places`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numpy.typing import NDArray

from .instructions import (
    FLAGS,
    INDEX,
    accumulator,
    add_product,
    data_of,
    narrowed,
    number_type,
    widened,
)

BLOCK = 4
_VECTOR_BYTES = 32
PAIRS = [(earlier, later) for later in range(BLOCK) for earlier in range(later)]


def model_places(rows: Any, n_features: int) -> tuple[int, NDArray[np.intp]]:
    """The length of a model's array and where in it each column's weight stands, for such rows.

    Sparse rows take the columns as they come. Dense rows take whole vectors of columns, then one vector whose last
    lanes are the columns that remain; the lanes before them stay 0. A model of fewer columns than a vector has
    lanes is left as it is.
    """
    columns = np.arange(n_features)
    if not isinstance(rows, np.ndarray):
        return n_features, columns
    lanes = _VECTOR_BYTES // rows.dtype.itemsize
    whole = n_features // lanes * lanes
    if whole in (0, n_features):
        return n_features, columns
    gap = lanes - (n_features - whole)
    return whole + lanes, np.where(columns < whole, columns, columns + gap)


def emit_look_ahead(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows, first, vector = arguments
    model = data_of(context, builder, signature.args[2], vector)
    found = [cgutils.alloca_once(builder, ir.DoubleType()) for _ in range(signature.return_type.count)]

    def emit(block: _Block) -> None:
        sums = [accumulator(builder, block.kind) for _ in found]

        def body(x: list[Any], offset: Any) -> None:
            w = block.load(model, offset)
            factors = [(row, w) for row in x] + [(x[a], x[b]) for a, b in PAIRS]
            for total, (left, right) in zip(sums, factors, strict=True):
                add_product(builder, total, left, right)

        block.sweep(body)
        for place, total in zip(found, block.sums_of(sums), strict=True):
            builder.store(total, place)

    _emit_wide_or_narrow(emit, context, builder, signature.args[0], rows, first, BLOCK)
    return context.make_tuple(builder, signature.return_type, [builder.load(place) for place in found])


def emit_add_rows(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows, first, factors, vector = arguments
    count = signature.args[2].count
    model = data_of(context, builder, signature.args[3], vector)

    def emit(block: _Block) -> None:
        each = [block.spread(builder.extract_value(factors, k)) for k in range(count)]

        def body(x: list[Any], offset: Any) -> None:
            total = block.load(model, offset)
            for factor, row in zip(each, x, strict=True):
                total = builder.fadd(total, builder.fmul(factor, row, flags=FLAGS), flags=FLAGS)
            block.store(total, model, offset)

        block.sweep(body)

    _emit_wide_or_narrow(emit, context, builder, signature.args[0], rows, first, count)
    return context.get_dummy_value()


def emit_row_dot(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows, i, vector = arguments
    model = data_of(context, builder, signature.args[2], vector)
    return _emit_sum(lambda block, x, offset: (x, block.load(model, offset)), context, builder, signature, rows, i)


def emit_squared_row(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows, i = arguments
    return _emit_sum(lambda block, x, offset: (x, x), context, builder, signature, rows, i)


def emit_count_values(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows, start, stop = arguments
    columns = builder.extract_value(context.make_array(signature.args[0])(context, builder, rows).shape, 1)
    return builder.mul(columns, builder.sub(stop, start))


def _emit_sum(
    factors: Callable[[_Block, Any, Any], tuple[Any, Any]],
    context: Any,
    builder: Any,
    signature: Any,
    rows: Any,
    i: Any,
) -> Any:
    """The sum over the columns of row i of the product of two factors."""
    found = cgutils.alloca_once(builder, ir.DoubleType())

    def emit(block: _Block) -> None:
        total = accumulator(builder, block.kind)
        block.sweep(lambda x, offset: add_product(builder, total, *factors(block, x[0], offset)))
        builder.store(block.sums_of([total])[0], found)

    _emit_wide_or_narrow(emit, context, builder, signature.args[0], rows, i, 1)
    return builder.load(found)


def _emit_wide_or_narrow(
    emit: Callable[[_Block], None], context: Any, builder: Any, matrix: Any, rows: Any, first: Any, count: int
) -> None:
    """In vectors where a row fills one, else entry by entry."""
    lanes = _VECTOR_BYTES * 8 // matrix.dtype.bitwidth
    columns = builder.extract_value(context.make_array(matrix)(context, builder, rows).shape, 1)
    with builder.if_else(builder.icmp_signed(">=", columns, INDEX(lanes))) as (wide, narrow):
        with wide:
            emit(_Block(context, builder, matrix, rows, first, count, lanes))
        with narrow:
            emit(_Block(context, builder, matrix, rows, first, count, 1))


class _Block:
    """Emits a sweep over the columns of some rows, some lanes at a time."""

    def __init__(self, context: Any, builder: Any, matrix: Any, rows: Any, first: Any, count: int, lanes: int):
        self._builder = builder
        self._number = number_type(matrix.dtype)
        self._lanes = lanes
        self._align = matrix.dtype.bitwidth // 8
        self.kind = self._number if lanes == 1 else ir.VectorType(self._number, lanes)
        array = context.make_array(matrix)(context, builder, rows)
        self._columns = builder.extract_value(array.shape, 1)
        start = builder.gep(array.data, [builder.mul(first, self._columns)], inbounds=True)
        self._starts = [start]
        for _ in range(1, count):
            start = builder.gep(start, [self._columns], inbounds=True)
            self._starts.append(start)

    def sweep(self, body: Callable[[list[Any], Any], None]) -> None:
        """``body(lanes of each row, offset into the model)`` for all columns."""
        builder, lanes = self._builder, INDEX(self._lanes)
        over = builder.urem(self._columns, lanes)
        whole = builder.sub(self._columns, over)
        with cgutils.for_range_slice(builder, INDEX(0), whole, lanes) as (offset, _):
            body([self.load(start, offset) for start in self._starts], offset)
        if self._lanes == 1:
            return
        with builder.if_then(builder.icmp_signed(">", over, INDEX(0)), likely=True):
            last = builder.sub(self._columns, lanes)
            already_read = builder.sub(lanes, over)
            new: Any = ir.Constant(ir.VectorType(ir.IntType(1), self._lanes), ir.Undefined)
            for lane in range(self._lanes):
                is_new = builder.icmp_signed(">=", INDEX(lane), already_read)
                new = builder.insert_element(new, is_new, ir.IntType(32)(lane))
            zeros = ir.Constant(self.kind, None)
            body([builder.select(new, self.load(start, last), zeros) for start in self._starts], whole)

    def load(self, start: Any, offset: Any) -> Any:
        return self._builder.load(self._at(start, offset), align=self._align)

    def store(self, value: Any, start: Any, offset: Any) -> None:
        self._builder.store(value, self._at(start, offset), align=self._align)

    def _at(self, start: Any, offset: Any) -> Any:
        place = self._builder.gep(start, [offset], inbounds=True)
        return self._builder.bitcast(place, self.kind.as_pointer())

    def sums_of(self, places: list[Any]) -> list[Any]:
        """The sums of each accumulator's lanes, as float64; four accumulators are summed up together."""
        builder = self._builder
        lanes = [builder.load(place) for place in places]
        if self._lanes == 1:
            return [widened(builder, number) for number in lanes]
        found = []
        while lanes:
            four, lanes = lanes[:4], lanes[4:]
            four += [ir.Constant(self.kind, None)] * (4 - len(four))
            if self._lanes == 8:
                four = [
                    self._added(self._shuffled(x, x, range(4)), self._shuffled(x, x, range(4, 8))) for x in four
                ]
            a, b, c, d = four
            sums = self._neighbours_added(self._neighbours_added(a, b), self._neighbours_added(c, d))
            found += [widened(builder, builder.extract_element(sums, ir.IntType(32)(k))) for k in range(4)]
        return found[: len(places)]

    def _neighbours_added(self, a: Any, b: Any) -> Any:
        """(a0 + a1, a2 + a3, b0 + b1, b2 + b3)"""
        return self._added(self._shuffled(a, b, (0, 2, 4, 6)), self._shuffled(a, b, (1, 3, 5, 7)))

    def _added(self, a: Any, b: Any) -> Any:
        return self._builder.fadd(a, b, flags=FLAGS)

    def _shuffled(self, a: Any, b: Any, lanes: Iterable[int]) -> Any:
        numbers = [ir.IntType(32)(lane) for lane in lanes]
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), numbers)
        return self._builder.shuffle_vector(a, b, mask)

    def spread(self, number: Any) -> Any:
        """One number in all lanes."""
        number = narrowed(self._builder, number, self._number)
        if self._lanes == 1:
            return number
        undefined = ir.Constant(self.kind, ir.Undefined)
        lane = ir.IntType(32)
        first = self._builder.insert_element(undefined, number, lane(0))
        everywhere = ir.Constant(ir.VectorType(lane, self._lanes), [lane(0)] * self._lanes)
        return self._builder.shuffle_vector(first, undefined, everywhere)
