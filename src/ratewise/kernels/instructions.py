"""The few instructions that both layouts of rows are made of."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

FLAGS = ("reassoc", "contract", "nsz", "arcp")
INDEX = ir.IntType(64)


def number_type(dtype: Any) -> Any:
    return ir.FloatType() if dtype == types.float32 else ir.DoubleType()


def data_of(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """The pointer to an array's first entry."""
    return context.make_array(array_type)(context, builder, array).data


def load_at(builder: Any, start: Any, index: Any) -> Any:
    return builder.load(builder.gep(start, [index], inbounds=True))


def widened(builder: Any, number: Any) -> Any:
    return number if number.type == ir.DoubleType() else builder.fpext(number, ir.DoubleType())


def narrowed(builder: Any, number: Any, kind: Any) -> Any:
    return number if number.type == kind else builder.fptrunc(number, kind)


def accumulator(builder: Any, kind: Any) -> Any:
    """A place for a running sum, 0 at first."""
    place = cgutils.alloca_once(builder, kind)
    builder.store(ir.Constant(kind, None), place)
    return place


def add_product(builder: Any, place: Any, a: Any, b: Any) -> None:
    product = builder.fmul(a, b, flags=FLAGS)
    builder.store(builder.fadd(builder.load(place), product, flags=FLAGS), place)
