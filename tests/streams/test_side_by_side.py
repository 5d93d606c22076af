"""Rows transformed by several threads."""

from __future__ import annotations

import numpy as np
import pytest
from ratewise.streams.side_by_side import fill_side_by_side

from ratewise.streams import Standardizer, Whitener



@pytest.mark.parametrize("whitened", [False, True])
def test_threads_change_nothing(whitened):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 5)).astype(np.float32)
    units = Standardizer(5).update(X)
    if whitened:
        units = Whitener(units, X, rng)
    order = rng.permutation(40_000)
    alone = units.transform(X, order, np.float32)
    together = units.transform(X, order, np.float32, threads=3)
    assert alone.tobytes() == together.tobytes()


def test_what_a_thread_raises_is_raised():
    def fill(order, out):
        raise MemoryError(f"no room for {out.size} numbers")

    with pytest.raises(MemoryError, match="no room"):
        fill_side_by_side(fill, np.arange(40_000), np.empty(40_000), threads=2)
