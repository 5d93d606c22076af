"""A uniform sample of all rows seen so far, in bounded memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..solvers.base import Scores
from . import config

_LEAST_ROWS = 1_000
_CLASSES = (1.0, -1.0)


class Reservoir:
    """Up to ``capacity`` rows of each class, every row seen so far equally likely to be among them.

    Each class is sampled separately, so that a class of one in a thousand is not lost. :meth:`sample` weighs each
    class by all rows seen of it, so that measures are those of the whole stream.
    """

    def __init__(self, capacity: int, rng: np.random.Generator):
        self.capacity = capacity
        self._rng = rng
        self._rows: dict[float, Any] = {}
        self._weights: dict[float, NDArray[np.float64]] = {}
        self._seen: dict[float, int] = {}
        self._weight_seen: dict[float, float] = {}

    @classmethod
    def for_rows(
        cls, X: Any, rng: np.random.Generator, most: float = math.inf, *, n_classes: int = 2
    ) -> Reservoir:
        """Return a reservoir for as many rows such as these as a sample may have, at ``most`` so many."""
        values, size = (X.nnz, 8) if sparse.issparse(X) else (X.size, X.dtype.itemsize)
        share = 2 / n_classes
        held = share * config.SAMPLE_BYTES / max(values / X.shape[0] * size, 1.0)
        return cls(int(max(min(held, most), share * _LEAST_ROWS, 1.0)), rng)

    def add(self, X: Any, signed_weights: NDArray[Any]) -> None:
        """Offer more rows."""
        for label in _CLASSES:
            mine = np.flatnonzero(signed_weights > 0 if label > 0 else signed_weights < 0)
            if mine.size:
                self._offer(label, X, mine, np.abs(signed_weights[mine]).astype(np.float64))

    def add_classes(self, X: Any, codes: NDArray[Any], weights: NDArray[Any]) -> None:
        """Offer rows of classes by their numbers."""
        for code in np.unique(codes).tolist():
            mine = np.flatnonzero((codes == code) & (weights > 0))
            if mine.size:
                self._offer(float(code), X, mine, weights[mine].astype(np.float64))

    def _offer(self, label: float, X: Any, mine: NDArray[np.intp], weights: NDArray[np.float64]) -> None:
        """Offer some rows of X, all of one class."""
        if label not in self._rows:
            kept, kept_weights = X[:0], weights[:0]
        else:
            kept, kept_weights = self._rows[label], self._weights[label]
        before = self._seen.get(label, 0)
        self._seen[label] = before + weights.size
        self._weight_seen[label] = self._weight_seen.get(label, 0.0) + float(weights.sum())
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

    def require_sound(self, n_features: int) -> None:
        """Refuse rows, from a file, that do not fit the model."""
        for rows in self._rows.values():
            require_sound_rows(rows, n_features)

    def sample(self) -> tuple[Any, NDArray[np.float64]]:
        """Rows and signed weights; each class weighs as much as all its rows so far."""
        labels = [label for label in _CLASSES if label in self._rows]
        return self._together(labels), np.concatenate([label * self._scaled(label) for label in labels])

    def scores(self, weights: NDArray[np.float64], intercept: float) -> Scores:
        """Return how a linear model scores the sample."""
        labels = [label for label in _CLASSES if label in self._rows]
        values = [np.asarray(self._rows[label] @ weights) + intercept for label in labels]
        return Scores(np.concatenate(values), np.concatenate([label * self._scaled(label) for label in labels]))

    def with_more(self, X: Any, signed_weights: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        """Return the sample, and more rows after it, which are not added."""
        if not self._rows:
            return X, signed_weights
        sample, sampled_weights = self.sample()
        return _stack(sample, X), np.concatenate([sampled_weights, signed_weights])

    def sample_of_classes(self) -> tuple[Any, NDArray[np.intp], NDArray[np.float64]]:
        """Return rows, the numbers of their classes, and weights."""
        labels = sorted(self._rows)
        weights = [self._scaled(label) for label in labels]
        codes = np.repeat(np.array(labels, dtype=np.intp), [one.size for one in weights])
        return self._together(labels), codes, np.concatenate(weights)

    def _together(self, labels: list[float]) -> Any:
        rows = self._rows[labels[0]]
        for label in labels[1:]:
            rows = _stack(rows, self._rows[label])
        return rows

    def _scaled(self, label: float) -> NDArray[np.float64]:
        kept = self._weights[label]
        scaled: NDArray[np.float64] = kept * (self._weight_seen[label] / kept.sum())
        return scaled


def require_sound_rows(rows: Any, n_features: int) -> None:
    """Refuse rows, from a file, of another width, or sparse ones that point beyond their ends."""
    if rows.ndim != 2 or rows.shape[1] != n_features or rows.dtype.kind != "f":
        raise ValueError("the rows that were kept do not fit the model")
    if sparse.issparse(rows):
        rows.check_format(full_check=True)


def _stack(first: Any, second: Any) -> Any:
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    return np.concatenate([first, second])
