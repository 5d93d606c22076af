"""Compiled loops over rows, in several threads: they let one another run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FEWEST_ROWS = 8192
_PARTS_A_THREAD = 4  # so that a thread that is held up does not hold up the others for long

Fill = Callable[[NDArray[np.signedinteger[Any]], NDArray[Any]], object]


def fill_side_by_side(fill: Fill, order: NDArray[np.signedinteger[Any]], out: NDArray[Any], threads: int) -> None:
    """``fill(order, out)`` for all parts of the two; what is written does not depend on the number of threads."""
    if threads == 1 or order.size < 2 * _FEWEST_ROWS:
        fill(order, out)
        return
    rows = max(-(-order.size // (threads * _PARTS_A_THREAD)), _FEWEST_ROWS)
    parts = [slice(start, start + rows) for start in range(0, order.size, rows)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part: fill(order[part], out[part]), parts))
