"""Populations for intervals and promises: rows drawn as often as wanted, of both classes or of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Rows = Callable[[np.random.Generator, np.ndarray], np.ndarray]

_YES = np.array([[0.2, 0.25, 0.3, 0.3, 0.3, 0.3], [0.8, 0.7, 0.6, 0.5, 0.3, 0.3]])


class Population(NamedTuple):
    """How rows of given labels are drawn."""

    rows: Rows
    prevalence: float
    precision: float
    """A precision that may be promised."""
    copies: int = 1
    """So often each training row is there."""

    def draw(self, number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return so many training rows and their labels."""
        rng = np.random.default_rng(seed)
        y = rng.random(number // self.copies) < self.prevalence
        return np.repeat(self.rows(rng, y), self.copies, axis=0), np.repeat(y, self.copies)

    def new_rows(self, positives: int, negatives: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return so many fresh rows of each class, from which the true rates are read."""
        y = np.arange(positives + negatives) < positives
        return self.rows(np.random.default_rng([seed, 999]), y), y


def _gaussian(shift: list[float]) -> Rows:
    def rows(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
        return rng.standard_normal((y.size, 6)) + np.multiply.outer(y, shift)

    return rows


def _heavy_tails(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return rng.standard_t(2.5, (y.size, 6)) + np.multiply.outer(y, [1.2, 1.2, 1.2, 0.0, 0.0, 0.0])


def _curved(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Positives lie on a ring in two columns, and are shifted in a third."""
    X = rng.standard_normal((y.size, 6)) + np.multiply.outer(y, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    angle = rng.uniform(0.0, 2.0 * np.pi, int(y.sum()))
    X[y, 1:3] = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.5 * X[y, 1:3]
    return X


def _yes_or_no(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return (rng.random((y.size, 6)) < _YES[y.astype(int)]).astype(float)


POPULATIONS = {
    "heavy tails": Population(_heavy_tails, 0.1, 0.5),
    "30 positives": Population(_gaussian([1.9, 1.9, 0.0, 0.0, 0.0, 0.0]), 0.01, 0.2),
    "curved": Population(_curved, 0.1, 0.3),
    "ties": Population(_yes_or_no, 0.15, 0.5),
    "rows x 4": Population(_gaussian([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), 0.1, 0.3, copies=4),
}
