"""The four counts everything is computed from, and how sure they make us."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, Rates

_DRAWS = 2000


class Confusion(NamedTuple):
    """How often each class was called what; with sample weights, the weight of those rows."""

    true_positives: float = 0
    false_negatives: float = 0
    false_positives: float = 0
    true_negatives: float = 0

    def plus(
        self, positive: NDArray[np.bool_], called: NDArray[np.bool_], weights: NDArray[Any] | None = None
    ) -> Confusion:
        """These counts with some more rows in them."""
        if weights is None:
            both = int((positive & called).sum())
            positives, calls = int(positive.sum()), int(called.sum())
            more: Any = (both, positives - both, calls - both, positive.size - positives - calls + both)
        else:
            cells = np.where(positive, np.where(called, 0, 1), np.where(called, 2, 3))
            more = np.bincount(cells, weights, minlength=4).tolist()
        return Confusion(*(mine + new for mine, new in zip(self, more, strict=True)))

    @property
    def total(self) -> float:
        return sum(self)

    @property
    def rates(self) -> Rates:
        return Rates(*(float(rate[0]) for rate in _rates(np.array([self]))))


class Tally:
    """The rows counted so far; of weighted ones also the squared weights, which tell how sure they make us."""

    def __init__(self, *, weighted: bool):
        self.rows = 0
        self.confusion = Confusion()
        self.squares = Confusion() if weighted else None

    def add(
        self, positive: NDArray[np.bool_], called: NDArray[np.bool_], weights: NDArray[Any] | None = None
    ) -> None:
        """Count some more rows; they have weights if the tally is a weighted one."""
        self.rows += positive.size
        self.confusion = self.confusion.plus(positive, called, weights)
        if self.squares is not None and weights is not None:
            self.squares = self.squares.plus(positive, called, weights**2)


class Interval(NamedTuple):
    low: float
    high: float


class ManyRates(NamedTuple):
    """Rates as arrays."""

    tpr: NDArray[np.float64]
    tnr: NDArray[np.float64]
    prevalence: NDArray[np.float64]


def resampled(confusion: Confusion, seed: int, squares: Confusion | None = None, draws: int = _DRAWS) -> ManyRates:
    """The rates of that many bootstrap samples of the rows; ``squares`` are the sums of squared weights, if any.

    For a fixed classifier, drawing rows with replacement draws the four counts from a multinomial distribution:
    exact, and as quick for a billion rows as for ten. The weight of weighted rows in each cell is drawn with the
    mean and the variance that drawing rows would give it: as the count of so many rows of one weight as tell as
    much.
    """
    rng = np.random.default_rng(seed)
    counts = np.array(confusion, dtype=np.float64)
    if squares is None:
        return _rates(rng.multinomial(int(confusion.total), counts / counts.sum(), size=draws))
    usual_weight = np.array(squares) / np.maximum(counts, 1e-300)
    like_rows = counts / np.maximum(usual_weight, 1e-300)
    return _rates(rng.poisson(like_rows, size=(draws, 4)) * usual_weight)


def interval(values: Any, share: float = 0.95) -> Interval:
    """The middle share of the values."""
    tail = 50.0 * (1.0 - share)
    low, high = np.percentile(np.asarray(values, dtype=np.float64), [tail, 100.0 - tail])
    return Interval(float(low), float(high))


def values_of(measure: Measure, rates: ManyRates) -> NDArray[np.float64]:
    """A measure at many rates; those of measures written for single numbers, one by one."""
    try:
        return np.asarray(measure.value(*rates), dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([float(measure.value(*one)) for one in np.transpose(rates)])


def _rates(counts: NDArray[Any]) -> ManyRates:
    """TPR, TNR and prevalence of rows of counts; a class that is not there has rate 0."""
    hits, misses, alarms, quiet = counts.T.astype(np.float64)
    positives, negatives = hits + misses, alarms + quiet
    tpr, tnr = hits / np.maximum(positives, 1e-300), quiet / np.maximum(negatives, 1e-300)
    return ManyRates(tpr, tnr, positives / np.maximum(positives + negatives, 1e-300))
