"""The order in which passes meet rows in memory: block by block, the blocks in random order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Blocks = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Their starts, and their stops."""

_BLOCKS, _LONGEST = 64, 4096  # blocks of a pass, at least; rows of a block, at most


class ShuffledBlocks:
    """The rows of some ranges, block after block, without end; every pass has an order of its own."""

    def __init__(self, ranges: Sequence[tuple[int, int]], rng: np.random.Generator):
        self._rows = sum(stop - start for start, stop in ranges)
        length = min(max(self._rows // _BLOCKS, 1), _LONGEST)
        edges = [np.append(np.arange(start, stop, length), stop) for start, stop in ranges]
        self._starts = np.concatenate([these[:-1] for these in edges])
        self._stops = np.concatenate([these[1:] for these in edges])
        self._rng = rng
        self._ahead = self._starts[:0], self._stops[:0]  # the blocks to come in this pass
        self._rows_ahead = 0

    def take(self, rows: int) -> Blocks:
        """The starts and the stops of the next so many rows."""
        parts = []
        while rows > 0:
            if self._rows_ahead == 0:
                order = self._rng.permutation(self._starts.size)
                self._ahead, self._rows_ahead = (self._starts[order], self._stops[order]), self._rows
            taken = min(rows, self._rows_ahead)
            parts.append(self._take_from_pass(taken))
            rows -= taken
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([starts for starts, _ in parts]), np.concatenate([stops for _, stops in parts])

    def _take_from_pass(self, rows: int) -> Blocks:
        starts, stops = self._ahead
        self._rows_ahead -= rows
        if self._rows_ahead == 0:
            return starts, stops
        ends = (stops - starts).cumsum()
        last = int(ends.searchsorted(rows))  # the block that the last of these rows lies in
        taken, ahead = (starts[: last + 1], stops[: last + 1].copy()), (starts[last:].copy(), stops[last:])
        ahead[0][0] = taken[1][-1] = stops[last] - (ends[last] - rows)
        self._ahead = ahead
        return taken
