"""Rows in another order, standardised on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numpy.typing import NDArray
from scipy import sparse

_AHEAD = 24  # rows asked for before they are needed
_CACHE_LINE = 64
_LANES = 8  # columns taken together
_INDEX = ir.IntType(64)


@intrinsic
def _ask_for(typingctx: Any, X: Any, i: Any, byte: Any) -> Any:
    """Have the memory at this byte of row i brought into the cache, without waiting for it."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix, i, byte = arguments
        array = context.make_array(signature.args[0])(context, builder, matrix)
        integer, character = ir.IntType(32), ir.IntType(8).as_pointer()
        offset = builder.add(builder.mul(i, builder.extract_value(array.strides, 0)), byte)
        place = builder.gep(builder.bitcast(array.data, character), [offset], source_etype=ir.IntType(8))
        kind = ir.FunctionType(ir.VoidType(), [character, integer, integer, integer])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(prefetch, [place, integer(0), integer(3), integer(1)])
        return context.get_dummy_value()

    return types.void(X, i, byte), emit


@njit(cache=True, nogil=True, boundscheck=False)
def ask_for_row(X: Any, i: Any) -> None:
    """Have a row brought into the cache; it may begin in the middle of a line, and so end in one more."""
    size = X.shape[1] * X.itemsize
    for byte in range(0, size, _CACHE_LINE):
        _ask_for(X, i, byte)
    _ask_for(X, i, size - 1)


@intrinsic
def _standardize_row(typingctx: Any, X: Any, k: Any, centre: Any, inverse: Any, out: Any, i: Any) -> Any:
    """``out[i] = (X[k] - centre) * inverse``, eight columns at a time; the last eight may have been met before.

    Left to the compiler, a row of 22 columns would end in six single ones, and begin with a look whether the
    arrays overlap.
    """
    if (
        any(array.layout != "C" for array in (X, centre, inverse, out))
        or not X.dtype == centre.dtype == inverse.dtype
    ):
        raise TypingError("The arrays must be C-contiguous, and the centre and the scale as wide as the rows.")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix, centres, inverses, copy = (
            context.make_array(signature.args[p])(context, builder, arguments[p]) for p in (0, 2, 3, 4)
        )
        columns = builder.extract_value(matrix.shape, 1)
        row = builder.gep(matrix.data, [builder.mul(arguments[1], columns)])
        new_row = builder.gep(copy.data, [builder.mul(arguments[5], columns)])
        number, new_number = (context.get_data_type(signature.args[p].dtype) for p in (0, 4))
        bytes_each, new_bytes_each = (signature.args[p].dtype.bitwidth // 8 for p in (0, 4))

        def place(start: Any, offset: Any, kind: Any, lanes: int) -> Any:
            first = builder.gep(start, [offset])
            return first if lanes == 1 else builder.bitcast(first, ir.VectorType(kind, lanes).as_pointer())

        def standardize(offset: Any, lanes: int) -> None:
            x, c, factor = (
                builder.load(place(start, offset, number, lanes), align=bytes_each)
                for start in (row, centres.data, inverses.data)
            )
            found = builder.fmul(builder.fsub(x, c), factor)
            if new_number != number:
                found = builder.fptrunc(found, new_number if lanes == 1 else ir.VectorType(new_number, lanes))
            builder.store(found, place(new_row, offset, new_number, lanes), align=new_bytes_each)

        with builder.if_else(builder.icmp_signed(">=", columns, _INDEX(_LANES))) as (wide, narrow):
            with wide:
                over = builder.and_(columns, _INDEX(_LANES - 1))
                whole = builder.sub(columns, over)
                with cgutils.for_range_slice(builder, _INDEX(0), whole, _INDEX(_LANES)) as (offset, _):
                    standardize(offset, _LANES)
                with builder.if_then(builder.icmp_signed(">", over, _INDEX(0))):
                    standardize(builder.sub(columns, _INDEX(_LANES)), _LANES)
            with narrow, cgutils.for_range_slice(builder, _INDEX(0), columns, _INDEX(1)) as (offset, _):
                standardize(offset, 1)
        return context.get_dummy_value()

    return types.void(X, types.int64, centre, inverse, out, types.int64), emit


@njit(cache=True, nogil=True, boundscheck=False)
def gather_standardized(X: Any, order: Any, centre: Any, inverse: Any, out: Any) -> None:
    """``out[i] = (X[order[i]] - centre) * inverse``; the rows must be C-contiguous.

    A row in random order is a cache miss, several times the arithmetic: rows are asked for ahead of time.
    """
    n = out.shape[0]
    for i in range(n):
        if i + _AHEAD < n:
            ask_for_row(X, np.int64(order[i + _AHEAD]))
        _standardize_row(X, np.int64(order[i]), centre, inverse, out, i)


def gather_weights(weights: NDArray[Any], order: NDArray[np.signedinteger[Any]]) -> NDArray[np.float32]:
    """The weights in this order, as float32. (numpy would widen the order first, and then the weights again.)"""
    out = np.empty(order.size, dtype=np.float32)
    _gather_weights(weights, order, out)
    return out


@njit(cache=True, nogil=True, boundscheck=False)
def _gather_weights(weights: Any, order: Any, out: Any) -> None:
    for i in range(order.size):
        out[i] = weights[order[i]]


def gather_scaled(X: Any, order: NDArray[np.signedinteger[Any]], factors: NDArray[np.float64], dtype: Any) -> Any:
    """The rows of a CSR matrix in this order, each column times its factor, with sorted columns: one copy."""
    lengths = np.diff(X.indptr)[order]
    indptr = np.zeros(order.size + 1, dtype=X.indptr.dtype)
    np.cumsum(lengths, out=indptr[1:])
    data, indices = np.empty(indptr[-1], dtype=dtype), np.empty(indptr[-1], dtype=X.indices.dtype)
    _gather_entries(X.data, X.indices, X.indptr, order, factors.astype(dtype), data, indices, indptr)
    gathered = sparse.csr_matrix((data, indices, indptr), shape=(order.size, X.shape[1]), copy=False)
    gathered.has_sorted_indices = X.has_sorted_indices
    gathered.sort_indices()
    return gathered


@njit(cache=True, nogil=True, boundscheck=False)
def _gather_entries(
    data: Any,
    indices: Any,
    indptr: Any,
    order: Any,
    factors: Any,
    new_data: Any,
    new_indices: Any,
    new_indptr: Any,
) -> None:
    for i in range(order.size):
        begin, place = indptr[order[i]], new_indptr[i]
        for k in range(new_indptr[i + 1] - place):
            column = indices[begin + k]
            new_indices[place + k] = column
            new_data[place + k] = data[begin + k] * factors[column]
