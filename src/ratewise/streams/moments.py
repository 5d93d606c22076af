"""Column sums of sparse rows: three running totals in one pass, which numpy would make six of."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True, nogil=True)
def add_column_moments(data: Any, indices: Any, nonzeros: Any, squares: Any) -> None:
    """Add the number of non-zeros and the sum of squares of each column to the running totals."""
    for k in range(data.size):
        value = data[k]
        if value != 0:
            j = indices[k]
            nonzeros[j] += 1.0
            squares[j] += value * value
