"""The operations of ``rows.py`` in hand-written LLVM: what the loops use unless it cannot be built.

As functions of numba they would count references to their arrays at every call, which costs more than the
arithmetic.

Dense rows. Row by row, every score would wait for the model that the row before has just changed. So the scores of
four rows are taken at once, with the six products between them, and one sweep over the model adds all four. Loops
left to the compiler end in single entries; these, stored one by one and then loaded as a vector, stall the
processor for longer than the arithmetic takes. So the vectors are spelled out, and the last columns of a row, too
few to fill a vector, are read as the last whole vector of the row with the columns already read blanked out. The
model has the same layout: see :func:`~.rows.model_places`.

Sparse rows are learned from one at a time. A row costs its non-zeros only: no loop runs over the columns.

Each operation is a function ``_emit_...`` of llvmlite's builder and of plain pointers and numbers, which
:func:`build_all` can run without numba, and an intrinsic that hands it numba's arrays.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .rows import BLOCK, FASTMATH, PAIRS, VECTOR_BYTES, WHITENED_TOGETHER, check_standardizing

_FLAGS = tuple(sorted(FASTMATH))
_INDEX, _LANE, _BIT = ir.IntType(64), ir.IntType(32), ir.IntType(1)
_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
_CACHE_LINE = 64  # bytes
_SPARSE_LANES = 4  # entries of a sparse row that are taken together
_STANDARDIZED_LANES = 8  # columns that are standardized together


class _Array(NamedTuple):
    """A C-contiguous array, of numbers or of a sparse row's columns."""

    data: Any
    """The pointer to its first entry."""
    number: Any
    """The type of its entries."""
    shape: list[Any]

    @property
    def columns(self) -> Any:
        return self.shape[-1]

    @property
    def number_bytes(self) -> int:
        return _bytes_of(self.number)


def _bytes_of(number: Any) -> int:
    return 4 if number == _FLOAT else 8


def _at(builder: Any, start: Any, offset: Any) -> Any:
    return builder.gep(start, [offset], inbounds=True)


def _widened(builder: Any, number: Any) -> Any:
    return number if number.type == _DOUBLE else builder.fpext(number, _DOUBLE)


def _narrowed(builder: Any, number: Any, kind: Any) -> Any:
    return number if number.type == kind else builder.fptrunc(number, kind)


def _added(builder: Any, a: Any, b: Any) -> Any:
    return builder.fadd(a, b, flags=_FLAGS)


def _accumulator(builder: Any, kind: Any) -> Any:
    """Return a place for a running sum, 0 at first."""
    place = cgutils.alloca_once(builder, kind)
    builder.store(ir.Constant(kind, None), place)
    return place


def _add_product(builder: Any, place: Any, a: Any, b: Any) -> None:
    product = builder.fmul(a, b, flags=_FLAGS)
    builder.store(_added(builder, builder.load(place), product), place)


class _Lanes:
    """Some neighboring entries of an array, in one vector; or one entry, as a number."""

    def __init__(self, builder: Any, number: Any, count: int):
        self._builder = builder
        self._number = number
        self.count = count
        self.kind = number if count == 1 else ir.VectorType(number, count)
        self._align = _bytes_of(number)

    def load(self, start: Any, offset: Any) -> Any:
        return self._builder.load(self._at(start, offset), align=self._align)

    def store(self, value: Any, start: Any, offset: Any) -> None:
        self._builder.store(value, self._at(start, offset), align=self._align)

    def _at(self, start: Any, offset: Any) -> Any:
        return self._builder.bitcast(_at(self._builder, start, offset), self.kind.as_pointer())

    def spread(self, number: Any) -> Any:
        """Return one number in all lanes."""
        number = _narrowed(self._builder, number, self._number)
        if self.count == 1:
            return number
        undefined = ir.Constant(self.kind, ir.Undefined)
        first = self._builder.insert_element(undefined, number, _LANE(0))
        return self._shuffled(first, undefined, [0] * self.count)

    def sums_of(self, places: list[Any]) -> list[Any]:
        """Return the sums of each accumulator's lanes, as float64; four accumulators are summed up together."""
        builder = self._builder
        vectors = [builder.load(place) for place in places]
        if self.count == 1:
            return [_widened(builder, number) for number in vectors]
        found = []
        while vectors:
            four, vectors = vectors[:4], vectors[4:]
            four += [ir.Constant(self.kind, None)] * (4 - len(four))
            if self.count == 8:
                four = [
                    _added(builder, self._shuffled(x, x, range(4)), self._shuffled(x, x, range(4, 8)))
                    for x in four
                ]
            a, b, c, d = four
            sums = self._neighbours_added(self._neighbours_added(a, b), self._neighbours_added(c, d))
            found += [_widened(builder, builder.extract_element(sums, _LANE(k))) for k in range(4)]
        return found[: len(places)]

    def _neighbours_added(self, a: Any, b: Any) -> Any:
        """Return (a0 + a1, a2 + a3, b0 + b1, b2 + b3)."""
        return _added(self._builder, self._shuffled(a, b, (0, 2, 4, 6)), self._shuffled(a, b, (1, 3, 5, 7)))

    def _shuffled(self, a: Any, b: Any, lanes: Iterable[int]) -> Any:
        numbers = [_LANE(lane) for lane in lanes]
        return self._builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_LANE, len(numbers)), numbers))


def _wide_or_narrow(builder: Any, rows: _Array, count: int, emit: Callable[[_Lanes], None]) -> None:
    """Emit in vectors of ``count`` lanes where a row fills one, else entry by entry."""
    with builder.if_else(builder.icmp_signed(">=", rows.columns, _INDEX(count))) as (wide, narrow):
        with wide:
            emit(_Lanes(builder, rows.number, count))
        with narrow:
            emit(_Lanes(builder, rows.number, 1))


def _sweep_dense(
    builder: Any, lanes: _Lanes, rows: _Array, first: Any, count: int, body: Callable[[list[Any], Any], None]
) -> None:
    """Emit ``body(these lanes of each row, offset into the model)`` for all columns of ``count`` rows."""
    columns, step = rows.columns, _INDEX(lanes.count)
    starts = [_at(builder, rows.data, builder.mul(first, columns))]
    for _ in range(1, count):
        starts.append(_at(builder, starts[-1], columns))
    over = builder.urem(columns, step)
    whole = builder.sub(columns, over)
    with cgutils.for_range_slice(builder, _INDEX(0), whole, step) as (offset, _):
        body([lanes.load(start, offset) for start in starts], offset)
    if lanes.count == 1:
        return
    with builder.if_then(builder.icmp_signed(">", over, _INDEX(0)), likely=True):
        last = builder.sub(columns, step)
        already_read = builder.sub(step, over)
        new: Any = ir.Constant(ir.VectorType(_BIT, lanes.count), ir.Undefined)
        for lane in range(lanes.count):
            is_new = builder.icmp_signed(">=", _INDEX(lane), already_read)
            new = builder.insert_element(new, is_new, _LANE(lane))
        zeros = ir.Constant(lanes.kind, None)
        body([builder.select(new, lanes.load(start, last), zeros) for start in starts], whole)


def _dense_sums(
    builder: Any,
    rows: _Array,
    first: Any,
    shape: tuple[int, int],
    factors: Callable[[_Lanes, list[Any], Any], list[tuple[Any, Any]]],
) -> list[Any]:
    """Return sums of products over the columns; ``shape`` is the number of rows and that of sums.

    ``factors(lanes, these lanes of each row, offset into the model)`` gives the two factors of each sum.
    """
    count, sums = shape
    found = [cgutils.alloca_once(builder, _DOUBLE) for _ in range(sums)]

    def emit(lanes: _Lanes) -> None:
        totals = [_accumulator(builder, lanes.kind) for _ in found]

        def body(x: list[Any], offset: Any) -> None:
            for total, (left, right) in zip(totals, factors(lanes, x, offset), strict=True):
                _add_product(builder, total, left, right)

        _sweep_dense(builder, lanes, rows, first, count, body)
        for place, total in zip(found, lanes.sums_of(totals), strict=True):
            builder.store(total, place)

    _wide_or_narrow(builder, rows, VECTOR_BYTES // rows.number_bytes, emit)
    return [builder.load(place) for place in found]


class _SparseRow:
    """Where the entries of row i begin and end, and what each of them is."""

    def __init__(self, builder: Any, rows: list[_Array], i: Any):
        self._builder = builder
        self._data, self._indices, indptr = (array.data for array in rows)
        self.start = self._index_at(indptr, i)
        self.stop = self._index_at(indptr, builder.add(i, _INDEX(1)))

    def sweep(self, body: Callable[[Any, int], None]) -> None:
        """Emit ``body(k, lane)`` for all entries, four by four as lanes 0 to 3, and the others as lane 0."""
        builder = self._builder
        length = builder.sub(self.stop, self.start)
        whole = builder.add(self.start, builder.and_(length, _INDEX(-_SPARSE_LANES)))
        with cgutils.for_range_slice(builder, self.start, whole, _INDEX(_SPARSE_LANES)) as (k, _):
            for lane in range(_SPARSE_LANES):
                body(builder.add(k, _INDEX(lane)), lane)
        with cgutils.for_range_slice(builder, whole, self.stop, _INDEX(1)) as (k, _):
            body(k, 0)

    def entry(self, k: Any) -> tuple[Any, Any]:
        """Return its value and its column."""
        return self._builder.load(_at(self._builder, self._data, k)), self._index_at(self._indices, k)

    def _index_at(self, start: Any, k: Any) -> Any:
        number = self._builder.load(_at(self._builder, start, k))
        return number if number.type == _INDEX else self._builder.sext(number, _INDEX)


def _is_sparse(rows: Any) -> bool:
    return isinstance(rows, list)


def _emit_learned_in_blocks(builder: Any, rows: Any) -> Any:
    return _BIT(not _is_sparse(rows))


def _emit_row_dot(builder: Any, rows: Any, i: Any, vector: _Array) -> Any:
    if not _is_sparse(rows):
        return _dense_sums(
            builder, rows, i, (1, 1), lambda lanes, x, offset: [(x[0], lanes.load(vector.data, offset))]
        )[0]
    # Sums that do not wait for one another.
    sums = [_accumulator(builder, vector.number) for _ in range(_SPARSE_LANES)]
    row = _SparseRow(builder, rows, i)

    def add(k: Any, lane: int) -> None:
        number, column = row.entry(k)
        # A plain load would be gathered with its neighbors into a vector, and gathers stall on entries that the
        # row before has just stored.
        weight = builder.load_atomic(_at(builder, vector.data, column), "monotonic", vector.number_bytes)
        _add_product(builder, sums[lane], number, weight)

    row.sweep(add)
    a, b, c, d = (builder.load(total) for total in sums)
    return _widened(builder, _added(builder, _added(builder, a, b), _added(builder, c, d)))


def _emit_look_ahead(builder: Any, rows: Any, first: Any, vector: _Array) -> list[Any]:
    if _is_sparse(rows):  # learned from one by one: this is never run
        return [ir.Constant(_DOUBLE, ir.Undefined)] * (BLOCK + len(PAIRS))

    def factors(lanes: _Lanes, x: list[Any], offset: Any) -> list[tuple[Any, Any]]:
        w = lanes.load(vector.data, offset)
        return [(row, w) for row in x] + [(x[a], x[b]) for a, b in PAIRS]

    return _dense_sums(builder, rows, first, (BLOCK, BLOCK + len(PAIRS)), factors)


def _emit_add_rows(builder: Any, rows: Any, first: Any, factors: list[Any], vector: _Array) -> None:
    if _is_sparse(rows):
        factor = _narrowed(builder, factors[0], vector.number)
        row = _SparseRow(builder, rows, first)

        def add(k: Any, _: int) -> None:
            number, column = row.entry(k)
            place = _at(builder, vector.data, column)
            change = builder.fmul(factor, number, flags=_FLAGS)
            builder.store(_added(builder, builder.load(place), change), place)

        row.sweep(add)
        return

    def emit(lanes: _Lanes) -> None:
        each = [lanes.spread(factor) for factor in factors]

        def body(x: list[Any], offset: Any) -> None:
            total = lanes.load(vector.data, offset)
            for factor, row in zip(each, x, strict=True):
                total = _added(builder, total, builder.fmul(factor, row, flags=_FLAGS))
            lanes.store(total, vector.data, offset)

        _sweep_dense(builder, lanes, rows, first, len(factors), body)

    _wide_or_narrow(builder, rows, VECTOR_BYTES // rows.number_bytes, emit)


def _emit_squared_row(builder: Any, rows: Any, i: Any) -> Any:
    if not _is_sparse(rows):
        return _dense_sums(builder, rows, i, (1, 1), lambda lanes, x, offset: [(x[0], x[0])])[0]
    total = _accumulator(builder, rows[0].number)
    row = _SparseRow(builder, rows, i)
    with cgutils.for_range_slice(builder, row.start, row.stop, _INDEX(1)) as (k, _):
        number, _ = row.entry(k)
        _add_product(builder, total, number, number)
    return _widened(builder, builder.load(total))


def _emit_count_values(builder: Any, rows: Any, start: Any, stop: Any) -> Any:
    if _is_sparse(rows):
        return builder.sub(_SparseRow(builder, rows, stop).start, _SparseRow(builder, rows, start).start)
    return builder.mul(rows.columns, builder.sub(stop, start))


def _emit_prefetch_row(builder: Any, X: _Array, i: Any) -> None:
    character = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [character, _LANE, _LANE, _LANE])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    row = builder.bitcast(_at(builder, X.data, builder.mul(i, X.columns)), character)
    size = builder.mul(X.columns, _INDEX(X.number_bytes))

    def ask_for(byte: Any) -> None:
        place = builder.gep(row, [byte], source_etype=ir.IntType(8))
        builder.call(prefetch, [place, _LANE(0), _LANE(3), _LANE(1)])

    with cgutils.for_range_slice(builder, _INDEX(0), size, _INDEX(_CACHE_LINE)) as (byte, _):
        ask_for(byte)
    ask_for(builder.sub(size, _INDEX(1)))  # a row may begin in the middle of a line, and so end in one more


def _emit_standardize_row(
    builder: Any, X: _Array, k: Any, centre: _Array, inverse: _Array, out: _Array, i: Any
) -> None:
    """Emit eight columns at a time; some of the last eight may be written twice.

    Left to the compiler, a row of 22 columns would end in six single ones, and begin with a test whether the
    arrays overlap.
    """
    columns = X.columns
    row, new_row = (_at(builder, array.data, builder.mul(place, columns)) for array, place in ((X, k), (out, i)))

    def emit(lanes: _Lanes) -> None:
        new_lanes = _Lanes(builder, out.number, lanes.count)

        def standardize(offset: Any) -> None:
            x, c, factor = (lanes.load(start, offset) for start in (row, centre.data, inverse.data))
            found = builder.fmul(builder.fsub(x, c), factor)
            new_lanes.store(_narrowed(builder, found, new_lanes.kind), new_row, offset)

        over = builder.urem(columns, _INDEX(lanes.count))
        whole = builder.sub(columns, over)
        with cgutils.for_range_slice(builder, _INDEX(0), whole, _INDEX(lanes.count)) as (offset, _):
            standardize(offset)
        if lanes.count > 1:
            with builder.if_then(builder.icmp_signed(">", over, _INDEX(0))):
                standardize(builder.sub(columns, _INDEX(lanes.count)))

    _wide_or_narrow(builder, X, _STANDARDIZED_LANES, emit)


def _emit_whiten_rows(builder: Any, rows: _Array, triangle: _Array, whitened: _Array) -> None:
    """Emit column by column in steps of a vector.

    The sums stay in registers, and a part of the triangle that was loaded serves all rows.
    """
    height, width = triangle.shape
    lanes = _Lanes(builder, rows.number, VECTOR_BYTES // rows.number_bytes)
    step = _INDEX(lanes.count)
    sums = [cgutils.alloca_once(builder, lanes.kind) for _ in range(WHITENED_TOGETHER)]
    starts, new_starts = (
        [_at(builder, array.data, builder.mul(width, _INDEX(row))) for row in range(WHITENED_TOGETHER)]
        for array in (rows, whitened)
    )
    with cgutils.for_range_slice(builder, _INDEX(0), width, step) as (column, _):
        for total in sums:
            builder.store(ir.Constant(lanes.kind, None), total)
        end = builder.add(column, step)
        end = builder.select(builder.icmp_signed("<", end, height), end, height)
        with cgutils.for_range(builder, end, intp=_INDEX) as loop:
            part = lanes.load(triangle.data, builder.add(builder.mul(loop.index, width), column))
            for start, total in zip(starts, sums, strict=True):
                number = builder.load(_at(builder, start, loop.index))
                _add_product(builder, total, lanes.spread(number), part)
        for start, total in zip(new_starts, sums, strict=True):
            lanes.store(builder.load(total), start, column)


def _lowering(emit: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function by which numba calls an operation: arrays become pointers and sizes, a list becomes a
    tuple.
    """

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def unpacked(kind: Any, value: Any) -> Any:
            if isinstance(kind, types.Array):
                array = context.make_array(kind)(context, builder, value)
                shape = [builder.extract_value(array.shape, axis) for axis in range(kind.ndim)]
                return _Array(array.data, context.get_data_type(kind.dtype), shape)
            if isinstance(kind, types.BaseTuple):
                return [unpacked(each, builder.extract_value(value, k)) for k, each in enumerate(kind)]
            return value

        found = emit(builder, *map(unpacked, signature.args, arguments))
        if found is None:
            return context.get_dummy_value()
        return context.make_tuple(builder, signature.return_type, found) if isinstance(found, list) else found

    return lower


def _operation(emit: Callable[..., Any], returns: Any) -> Any:
    """Return what compiled code calls; its arguments are those of ``emit``, less the builder."""

    def define(typingctx: Any, *arguments: Any) -> Any:
        return returns(*arguments), _lowering(emit)

    define.__signature__ = inspect.signature(emit)  # type: ignore[attr-defined]  # numba takes no *arguments
    define.__name__ = emit.__name__.removeprefix("_emit_")
    return intrinsic(define)


add_rows = _operation(_emit_add_rows, types.void)
count_values = _operation(_emit_count_values, types.int64)
learned_in_blocks = _operation(_emit_learned_in_blocks, types.boolean)
look_ahead = _operation(_emit_look_ahead, types.UniTuple(types.float64, BLOCK + len(PAIRS)))
prefetch_row = _operation(_emit_prefetch_row, types.void)
row_dot = _operation(_emit_row_dot, types.float64)
squared_row = _operation(_emit_squared_row, types.float64)
whiten_rows = _operation(_emit_whiten_rows, types.void)


@intrinsic
def standardize_row(typingctx: Any, X: Any, k: Any, centre: Any, inverse: Any, out: Any, i: Any) -> Any:
    check_standardizing(X, centre, inverse, out)
    return types.void(X, k, centre, inverse, out, i), _lowering(_emit_standardize_row)


def build_all() -> None:
    """Build every operation in a module that is thrown away, and raise what a changed llvmlite makes of it.

    Takes some 20 ms: numba, whose own start takes longer, stays out of it.
    """
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [_INDEX, _DOUBLE]), "operations")
    builder = ir.IRBuilder(function.append_basic_block())
    i, number = function.args

    def array(kind: Any, dimensions: int = 1) -> _Array:
        return _Array(ir.Constant(kind.as_pointer(), ir.Undefined), kind, [i] * dimensions)

    matrix, vector = array(_FLOAT, 2), array(_FLOAT)
    for rows, block in ((matrix, BLOCK), ([vector, array(_LANE), array(_LANE)], 1)):
        _emit_row_dot(builder, rows, i, vector)
        _emit_look_ahead(builder, rows, i, vector)
        _emit_add_rows(builder, rows, i, [number] * block, vector)
        _emit_squared_row(builder, rows, i)
        _emit_count_values(builder, rows, i, i)
    _emit_prefetch_row(builder, matrix, i)
    _emit_standardize_row(builder, array(_DOUBLE, 2), i, array(_DOUBLE), array(_DOUBLE), matrix, i)
    _emit_whiten_rows(builder, matrix, matrix, matrix)
    builder.ret_void()
    binding.parse_assembly(str(module)).verify()
