"""Rows in the order of their folds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def order_by_fold(
    fold_of_row: NDArray[Any], codes: NDArray[Any], folds: int, rng: np.random.Generator, mixed: Callable[..., Any]
) -> tuple[NDArray[np.intp], list[tuple[int, int]]]:
    """Return an order of rows in which each fold is a range, and the ranges."""
    parts = []
    for fold in range(folds):
        mine = np.flatnonzero(fold_of_row == fold)
        parts.append(mine[mixed(codes[mine], rng)])
    edges = np.cumsum([0, *(part.size for part in parts)]).tolist()
    return np.concatenate(parts), list(pairwise(edges))
