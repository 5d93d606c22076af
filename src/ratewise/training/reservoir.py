"""A fair sample of everything seen so far, in bounded memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import config

_LEAST_ROWS = 1_000
_CLASSES = (1.0, -1.0)


class Reservoir:
    """Up to ``capacity`` rows of each class, every row seen so far equally likely to be among them.

    The classes are sampled apart, so that a class of one in a thousand is not lost; :meth:`sample` weighs each
    class by all that was seen of it, so that measures come out as on the whole stream.
    """

    def __init__(self, capacity: int, rng: np.random.Generator):
        self.capacity = capacity
        self._rng = rng
        self._rows: dict[float, Any] = {}
        self._weights: dict[float, NDArray[np.float64]] = {}
        self._seen = dict.fromkeys(_CLASSES, 0)
        self._weight_seen = dict.fromkeys(_CLASSES, 0.0)

    @classmethod
    def for_rows(cls, X: Any, rng: np.random.Generator, most: float = math.inf) -> Reservoir:
        """Return a reservoir for as many rows such as these as a sample may have, at ``most`` so many."""
        values, size = (X.nnz, 8) if sparse.issparse(X) else (X.size, X.dtype.itemsize)
        held = config.SAMPLE_BYTES / max(values / X.shape[0] * size, 1.0)
        return cls(int(max(min(held, most), _LEAST_ROWS)), rng)

    def add(self, X: Any, signed_weights: NDArray[Any]) -> None:
        """Offer more rows."""
        for label in _CLASSES:
            mine = np.flatnonzero(signed_weights > 0 if label > 0 else signed_weights < 0)
            if mine.size:
                self._offer(label, X, mine, np.abs(signed_weights[mine]).astype(np.float64))

    def _offer(self, label: float, X: Any, mine: NDArray[np.intp], weights: NDArray[np.float64]) -> None:
        """Offer some rows of X, all of one class."""
        if label not in self._rows:
            kept, kept_weights = X[:0], weights[:0]
        else:
            kept, kept_weights = self._rows[label], self._weights[label]
        before = self._seen[label]
        self._seen[label] += weights.size
        self._weight_seen[label] += float(weights.sum())
        room = self.capacity - kept_weights.size
        if weights.size <= room:
            self._rows[label] = _stack(kept, X[mine])
            self._weights[label] = np.concatenate([kept_weights, weights])
            return
        # Algorithm R: the k-th row seen takes a random place if that place exists. Of several rows that take
        # the same place the last one stays.
        arrivals = before + np.arange(weights.size)
        drawn = (self._rng.random(weights.size) * (arrivals + 1)).astype(np.int64)
        targets = np.where(arrivals < self.capacity, arrivals, drawn)
        landing = np.flatnonzero(targets < self.capacity)
        if sparse.issparse(X) or kept_weights.size < self.capacity:
            places = np.arange(self.capacity)
            places[targets[landing]] = kept_weights.size + np.arange(landing.size)
            self._rows[label] = _stack(kept, X[mine[landing]])[places]
            self._weights[label] = np.concatenate([kept_weights, weights[landing]])[places]
        else:
            kept[targets[landing]] = X[mine[landing]]
            kept_weights[targets[landing]] = weights[landing]

    def sample(self) -> tuple[Any, NDArray[np.float64]]:
        """Rows and signed weights; each class weighs as much as all that was seen of it."""
        labels = [label for label in _CLASSES if label in self._rows]
        rows = self._rows[labels[0]]
        for label in labels[1:]:
            rows = _stack(rows, self._rows[label])
        weights = [
            label * self._weights[label] * (self._weight_seen[label] / self._weights[label].sum())
            for label in labels
        ]
        return rows, np.concatenate(weights)


def _stack(first: Any, second: Any) -> Any:
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    return np.concatenate([first, second])
