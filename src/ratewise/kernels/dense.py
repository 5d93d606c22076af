"""Rows of a C-contiguous float32 or float64 matrix."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import overload

from .rows import add_row, dot


def _is_dense(rows: Any) -> bool:
    return isinstance(rows, types.Array) and rows.ndim == 2


@overload(dot)
def _dot(rows: Any, i: Any, vector: Any) -> Any:
    if not _is_dense(rows):
        return None

    def dense_dot(rows: Any, i: Any, vector: Any) -> Any:
        total = vector.dtype.type(0.0)
        for j in range(rows.shape[1]):
            total += rows[i, j] * vector[j]
        return total

    return dense_dot


@overload(add_row)
def _add_row(rows: Any, i: Any, factor: Any, mass: Any, direction: Any, shadow: Any) -> Any:
    if not _is_dense(rows):
        return None

    def dense_add_row(rows: Any, i: Any, factor: Any, mass: Any, direction: Any, shadow: Any) -> Any:
        # Same-width arithmetic throughout: one float64 factor would halve the vector width of the loop.
        step = direction.dtype.type(factor)
        shadow_step = direction.dtype.type(mass * factor)
        squared = direction.dtype.type(0.0)
        if mass == 0.0:
            for j in range(rows.shape[1]):
                x = rows[i, j]
                direction[j] += step * x
                squared += x * x
            return squared
        for j in range(rows.shape[1]):
            x = rows[i, j]
            direction[j] += step * x
            shadow[j] += shadow_step * x
            squared += x * x
        return squared

    return dense_add_row
