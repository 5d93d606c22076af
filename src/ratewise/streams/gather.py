"""Rows in another order, standardised on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray
from scipy import sparse

_AHEAD = 12  # rows asked for before they are needed
_CACHE_LINE = 64


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
    """Have a row brought into the cache."""
    for byte in range(0, X.shape[1] * X.itemsize, _CACHE_LINE):
        _ask_for(X, i, byte)


@njit(cache=True, nogil=True, fastmath={"contract"}, boundscheck=False)
def gather_standardized(X: Any, order: Any, centre: Any, inverse: Any, out: Any) -> None:
    """``out[i] = (X[order[i]] - centre) * inverse``; the rows must be C-contiguous.

    A row in random order is a cache miss, several times the arithmetic: rows are asked for ahead of time.
    """
    n, d = out.shape
    for i in range(n):
        if i + _AHEAD < n:
            ask_for_row(X, np.int64(order[i + _AHEAD]))
        k = order[i]
        for j in range(d):
            out[i, j] = (X[k, j] - centre[j]) * inverse[j]


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
