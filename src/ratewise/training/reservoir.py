"""A uniform sample of all rows seen so far, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..solvers.base import Scores
from . import config
from .targets import Targets, class_targets, weights_of

_LEAST_ROWS = 1_000
_SIGNS = (1.0, -1.0)


class Reservoir:
    """Up to ``capacity`` rows of each class; every row seen so far is equally likely to be among them.

    Each class is sampled separately, so that a class with one row in a thousand is not lost. :meth:`sample` weighs
    each class by all its rows seen so far, so that measures are those of the whole stream.
    """

    n_classes = 2

    def __init__(self, capacity: int, rng: np.random.Generator, n_classes: int = 2):
        self.capacity, self.n_classes = capacity, n_classes
        self._rng = rng
        self._rows: dict[float, Any] = {}
        self._weights: dict[float, NDArray[np.float64]] = {}
        self._seen: dict[float, int] = {}
        self._weight_seen: dict[float, float] = {}

    @classmethod
    def for_rows(
        cls, X: Any, rng: np.random.Generator, most: float = math.inf, *, n_classes: int = 2
    ) -> Reservoir:
        """Return a reservoir for rows of this size, with the capacity of a sample, but at ``most`` rows."""
        values, size = (X.nnz, 8) if sparse.issparse(X) else (X.size, X.dtype.itemsize)
        share = 2 / n_classes
        held = share * config.SAMPLE_BYTES / max(values / X.shape[0] * size, 1.0)
        return cls(int(max(min(held, most), share * _LEAST_ROWS, 1.0)), rng, n_classes)

    @property
    def _labels(self) -> Sequence[float]:
        """The names of the classes here: signs, or the numbers of many classes."""
        return _SIGNS if self.n_classes == 2 else range(self.n_classes)

    def add(self, X: Any, targets: Targets) -> None:
        """Offer more rows."""
        for label in self._labels:
            if self.n_classes == 2:
                mine = np.flatnonzero(targets > 0 if label > 0 else targets < 0)
            else:
                mine = np.flatnonzero((targets[:, 0] == label) & (targets[:, 1] > 0))
            if mine.size:
                self._offer(float(label), X, mine, weights_of(targets[mine]).astype(np.float64))

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
        # Algorithm R: the k-th row seen takes a random place if that place exists. If several rows take the same
        # place, the last one stays.
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

    def sample(self) -> tuple[Any, Targets]:
        """Return rows and their targets; each class weighs as much as all its rows so far."""
        labels = [label for label in self._labels if label in self._rows]
        weights = [self._scaled(label) for label in labels]
        if self.n_classes == 2:
            targets = np.concatenate([label * mine for label, mine in zip(labels, weights, strict=True)])
        else:
            codes = np.repeat(labels, [mine.size for mine in weights])
            targets = class_targets(codes, np.concatenate(weights))
        return self._together(labels), targets

    def scores(self, weights: NDArray[np.float64], intercept: float) -> Scores:
        """Return the scores of the sample by a linear model of two classes."""
        labels = [label for label in _SIGNS if label in self._rows]
        values = [np.asarray(self._rows[label] @ weights) + intercept for label in labels]
        return Scores(np.concatenate(values), np.concatenate([label * self._scaled(label) for label in labels]))

    def with_more(self, X: Any, signed_weights: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        """Return the sample followed by more rows, which are not added to it."""
        if not self._rows:
            return X, signed_weights
        sample, sampled_weights = self.sample()
        return _stack(sample, X), np.concatenate([sampled_weights, signed_weights])

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
    """Refuse rows, from a file, with another number of columns, or sparse rows that point beyond their ends."""
    if rows.ndim != 2 or rows.shape[1] != n_features or rows.dtype.kind != "f":
        raise ValueError("the rows that were kept do not fit the model")
    if sparse.issparse(rows):
        rows.check_format(full_check=True)


def _stack(first: Any, second: Any) -> Any:
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    return np.concatenate([first, second])
