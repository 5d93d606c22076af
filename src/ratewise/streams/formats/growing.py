"""An array that is appended to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class GrowingArray:
    """One array made of many, without holding both the parts and the whole.

    Memory that is set aside but not yet written to costs nothing, so a good guess of the final size, from the
    share of the source that was read, saves all copying.
    """

    def __init__(self, dtype: DTypeLike):
        self.size = 0
        self._room: NDArray[Any] = np.empty(0, dtype=dtype)

    def append(self, part: NDArray[Any], share_read: float = 0.0) -> None:
        """``share_read``: how much of all parts this one completes, from 0 to 1; 0 if nobody knows."""
        size = self.size + part.size
        if size > self._room.size:
            guess = int(1.05 * size / share_read) if share_read > 0 else 0
            room = np.empty(max(guess, size + size // 2), dtype=self._room.dtype)
            room[: self.size] = self._room[: self.size]
            self._room = room
        self._room[self.size : size] = part
        self.size = size

    def finish(self) -> NDArray[Any]:
        """All parts as one array, with nothing to spare. Nothing can be appended any more."""
        whole, self._room = self._room, np.empty(0, dtype=self._room.dtype)
        whole.resize(self.size, refcheck=False)
        return whole
