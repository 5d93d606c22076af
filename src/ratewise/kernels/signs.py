"""Which sparse rows a linear model scores above 0, in one pass over the rows as they are.

A sum so near to 0 that rounding might change its sign is in doubt: the caller computes it another way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._cache import njit

DOUBT = 2
_SMALL = 1e-30  # what numbers may lose that are too small for their type is far less


@njit(cache=True, nogil=True, boundscheck=False)
def sparse_signs(data: Any, indices: Any, indptr: Any, coef: Any, intercept: Any, unit: Any, signs: Any) -> int:
    """Set 1 for the rows of a CSR matrix whose score is above 0, 0 for others; return how many are in doubt.

    ``coef``, ``intercept`` and ``unit``, a bound of the rounding of a number, have the width of ``data``. Return
    -1 for an index that is too large.
    """
    columns, doubts = np.uint64(coef.size), 0
    for i in range(signs.size):
        start, stop = np.int64(indptr[i]), np.int64(indptr[i + 1])
        total, size = intercept, abs(intercept) + data.dtype.type(_SMALL)
        for k in range(start, stop):
            column = np.uint64(np.int64(indices[k]))  # what is below 0 becomes large
            if column >= columns:
                return -1
            part = data[k] * coef[column]
            total += part
            size += abs(part)
        if abs(total) > unit * data.dtype.type(stop - start + 4) * size:
            signs[i] = total > 0
        else:
            signs[i] = DOUBT
            doubts += 1
    return doubts
