"""Rows of a CSR matrix, handed over as the tuple (data, indices, indptr).

A row costs its non-zeros and nothing else: no loop here runs over the columns.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import overload

from .rows import add_row, dot


def _is_csr(rows: Any) -> bool:
    return isinstance(rows, types.BaseTuple) and len(rows) == 3


# Reordered sums would be turned into vector gathers, which stall on entries the last update has just stored.
@overload(dot, jit_options={"fastmath": {"contract", "nsz"}})
def _dot(rows: Any, i: Any, vector: Any) -> Any:
    if not _is_csr(rows):
        return None

    def csr_dot(rows: Any, i: Any, vector: Any) -> Any:
        data, indices, indptr = rows
        total = vector.dtype.type(0.0)
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * vector[indices[k]]
        return total

    return csr_dot


@overload(add_row)
def _add_row(rows: Any, i: Any, factor: Any, mass: Any, direction: Any, shadow: Any) -> Any:
    if not _is_csr(rows):
        return None

    def csr_add_row(rows: Any, i: Any, factor: Any, mass: Any, direction: Any, shadow: Any) -> Any:
        data, indices, indptr = rows
        step = direction.dtype.type(factor)
        shadow_step = direction.dtype.type(mass * factor)
        squared = direction.dtype.type(0.0)
        if mass == 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                x = data[k]
                direction[indices[k]] += step * x
                squared += x * x
            return squared
        for k in range(indptr[i], indptr[i + 1]):
            x = data[k]
            j = indices[k]
            direction[j] += step * x
            shadow[j] += shadow_step * x
            squared += x * x
        return squared

    return csr_add_row
