"""Rows in another order, standardised and turned on the way: times a triangle, in one pass over them.

BLAS would take a second pass and twice the arithmetic, and threads of its own, which get in the way of the one
that reads ahead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .gather import ask_for_row

_AHEAD = 12  # rows asked for before they are needed
_TOGETHER = 8  # rows that are turned at a time
_VECTOR_BYTES = 32
_FLAGS = ("reassoc", "contract", "nsz")
_INDEX = ir.IntType(64)


def padded_triangle(turn: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """An upper triangle with zeros added to the right, up to whole vectors."""
    lanes = _VECTOR_BYTES // np.dtype(dtype).itemsize
    width = -(-turn.shape[0] // lanes) * lanes
    out = np.zeros((turn.shape[0], width), dtype=dtype)
    out[:, : turn.shape[1]] = turn
    return out


@intrinsic
def _turn_rows(typingctx: Any, rows: Any, triangle: Any, turned: Any) -> Any:
    """``turned = rows @ triangle``, for eight rows; the triangle is an upper one, of whole vectors.

    Column by column in steps of a vector: the sums stay in registers, and a part of the triangle that was loaded
    serves all rows.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [
            context.make_array(kind)(context, builder, array)
            for kind, array in zip(signature.args, arguments, strict=True)
        ]
        source, matrix, target = (array.data for array in arrays)
        height, width = (builder.extract_value(arrays[1].shape, axis) for axis in (0, 1))
        dtype = signature.args[0].dtype
        align = dtype.bitwidth // 8
        lanes = _VECTOR_BYTES // align
        vector = ir.VectorType(ir.FloatType() if dtype == types.float32 else ir.DoubleType(), lanes)

        def at(start: Any, offset: Any) -> Any:
            return builder.gep(start, [offset], inbounds=True)

        def vector_at(start: Any, offset: Any) -> Any:
            return builder.bitcast(at(start, offset), vector.as_pointer())

        sums = [cgutils.alloca_once(builder, vector) for _ in range(_TOGETHER)]
        starts = [at(source, builder.mul(width, _INDEX(row))) for row in range(_TOGETHER)]
        ends = [at(target, builder.mul(width, _INDEX(row))) for row in range(_TOGETHER)]
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [ir.IntType(32)(0)] * lanes)
        undefined = ir.Constant(vector, ir.Undefined)
        with cgutils.for_range_slice(builder, _INDEX(0), width, _INDEX(lanes)) as (column, _):
            for total in sums:
                builder.store(ir.Constant(vector, None), total)
            end = builder.add(column, _INDEX(lanes))
            end = builder.select(builder.icmp_signed("<", end, height), end, height)
            with cgutils.for_range(builder, end, intp=_INDEX) as loop:
                place = builder.add(builder.mul(loop.index, width), column)
                part = builder.load(vector_at(matrix, place), align=align)
                for start, total in zip(starts, sums, strict=True):
                    number = builder.load(at(start, loop.index))
                    first = builder.insert_element(undefined, number, ir.IntType(32)(0))
                    spread = builder.shuffle_vector(first, undefined, everywhere)
                    product = builder.fmul(spread, part, flags=_FLAGS)
                    builder.store(builder.fadd(builder.load(total), product, flags=_FLAGS), total)
            for target_row, total in zip(ends, sums, strict=True):
                builder.store(builder.load(total), vector_at(target_row, column), align=align)
        return context.get_dummy_value()

    return types.void(rows, triangle, turned), emit


@njit(cache=True, nogil=True, fastmath={"contract"}, boundscheck=False)
def gather_turned(X: Any, order: Any, centre: Any, inverse: Any, triangle: Any, out: Any) -> None:
    """``out[i] = ((X[order[i]] - centre) * inverse) @ triangle``, the triangle padded; X must be C-contiguous."""
    n, d = out.shape
    rows = np.zeros((_TOGETHER, triangle.shape[1]), dtype=out.dtype)
    turned = np.zeros((_TOGETHER, triangle.shape[1]), dtype=out.dtype)
    for first in range(0, n, _TOGETHER):
        count = min(_TOGETHER, n - first)
        for row in range(count):
            i = first + row
            if i + _AHEAD < n:
                ask_for_row(X, np.int64(order[i + _AHEAD]))
            k = order[i]
            for j in range(d):
                rows[row, j] = (X[k, j] - centre[j]) * inverse[j]
        _turn_rows(rows, triangle, turned)
        for row in range(count):
            for j in range(d):
                out[first + row, j] = turned[row, j]
