"""The four counts of a classifier on labelled rows, and intervals from them alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._rates import Rates
from .base import Measure

DRAWS = 2000


class Confusion(NamedTuple):
    """How often each class was predicted as what; with sample weights, the weight of those rows."""

    true_positives: float = 0
    false_negatives: float = 0
    false_positives: float = 0
    true_negatives: float = 0

    def plus(
        self, positive: NDArray[np.bool_], predicted: NDArray[np.bool_], weights: NDArray[Any] | None = None
    ) -> Confusion:
        """Return these counts with some more rows in them."""
        more = np.bincount(2 * ~positive + ~predicted, weights, minlength=4).tolist()
        return Confusion(*(mine + new for mine, new in zip(self, more, strict=True)))

    @property
    def rates(self) -> Rates:
        return Rates(*map(float, rates_of_counts(np.array(self, dtype=np.float64))))


class Tally:
    """The rows counted so far; of weighted rows also the squared weights, for the intervals."""

    def __init__(self, *, weighted: bool):
        self.rows = 0
        self.confusion = Confusion()
        self.squares = Confusion() if weighted else None

    def add(
        self, positive: NDArray[np.bool_], predicted: NDArray[np.bool_], weights: NDArray[Any] | None = None
    ) -> None:
        """Count some more rows; they have weights if the tally is a weighted one."""
        self.rows += positive.size
        self.confusion = self.confusion.plus(positive, predicted, weights)
        if self.squares is not None and weights is not None:
            self.squares = self.squares.plus(positive, predicted, weights**2)


def normal_draws(seed: int, draws: int = DRAWS) -> NDArray[np.int64]:
    """Return standard normal numbers in thousandths, four per draw: short to write down, so that a report can."""
    return np.rint(1000.0 * np.random.default_rng(seed).standard_normal((draws, 4))).astype(np.int64)


def resampled(confusion: Confusion, normals: NDArray[np.int64], squares: Confusion | None = None) -> Rates:
    """Return Rates, as arrays, that are as uncertain as those of the counts: one per row of ``normals``.

    Each count is drawn from the gamma distribution with half a row more in its shape. The shares of such counts
    have Jeffreys' distribution: close to what drawing rows with replacement gives where rows are many, and honest
    where a count is 0 (three positives, all missed, do not prove a TPR of 0). It takes no longer for a billion
    rows than for ten. With weighted rows, ``squares`` are the sums of squared weights: a cell counts as an
    effective number of rows of equal weight.

    The gamma draws are cubes of normal ones (Wilson and Hilferty, 1931). So they need arithmetic only, and the
    page of a report computes the same numbers from the same normals.
    """
    drawn: Rates = rates_of_counts(drawn_counts(confusion, normals, squares))
    return drawn


def drawn_counts(counts: Any, normals: NDArray[np.int64], squares: Any = None, more: float = 0.5) -> Any:
    """Return counts drawn as :func:`resampled` says, with ``more`` rows in each: a row per row of ``normals``."""
    counts = np.array(counts, dtype=np.float64)
    row_weight = np.ones(counts.size)
    if squares is not None:
        squared = np.array(squares, dtype=np.float64)
        typical = squared.sum() / counts.sum()
        row_weight = np.where(counts > 0, squared / np.maximum(counts, 1e-300), typical)
    shape = counts / row_weight + more
    roots = np.maximum(1.0 - 1.0 / (9.0 * shape) + normals / 1000.0 / (3.0 * np.sqrt(shape)), 0.0)
    return shape * (roots * roots * roots) * row_weight


def interval(values: Any, value: float, share: float = 0.95) -> tuple[float, float]:
    """Return the ends of the middle share of the values, moved to include the value itself if they do not."""
    tail = 50.0 * (1.0 - share)
    low, high = np.percentile(np.asarray(values, dtype=np.float64), [tail, 100.0 - tail])
    return min(float(low), value), max(float(high), value)


def values_of(measure: Measure, rates: Any) -> NDArray[np.float64]:
    """Return a measure at many rates; one by one if it is written for single numbers."""
    try:
        return np.asarray(measure.value(*rates), dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([float(measure.value(*one)) for one in np.transpose(rates)])


def rates_of_counts(counts: NDArray[np.float64]) -> Any:
    """Return the Rates of the four counts, or of many rows of them; a class without rows has rate 0."""
    hits, misses, alarms, quiet = counts.T
    positives, negatives = hits + misses, alarms + quiet
    tpr, tnr = hits / np.maximum(positives, 1e-300), quiet / np.maximum(negatives, 1e-300)
    return Rates(tpr, tnr, positives / np.maximum(positives + negatives, 1e-300))
