"""The four counts everything is computed from, and how sure they make us."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, Rates

_DRAWS = 2000


class Confusion(NamedTuple):
    """How often each class was called what."""

    true_positives: int = 0
    false_negatives: int = 0
    false_positives: int = 0
    true_negatives: int = 0

    def plus(self, positive: NDArray[np.bool_], called: NDArray[np.bool_]) -> Confusion:
        """These counts with some more rows in them."""
        both = int((positive & called).sum())
        positives, calls = int(positive.sum()), int(called.sum())
        more = (both, positives - both, calls - both, positive.size - positives - calls + both)
        return Confusion(*(mine + new for mine, new in zip(self, more, strict=True)))

    @property
    def rows(self) -> int:
        return sum(self)

    @property
    def rates(self) -> Rates:
        return Rates(*(float(rate[0]) for rate in _rates(np.array([self]))))


class Interval(NamedTuple):
    low: float
    high: float


class ManyRates(NamedTuple):
    """Rates as arrays."""

    tpr: NDArray[np.float64]
    tnr: NDArray[np.float64]
    prevalence: NDArray[np.float64]


def resampled(confusion: Confusion, seed: int, draws: int = _DRAWS) -> ManyRates:
    """The rates of that many bootstrap samples of the rows.

    For a fixed classifier, drawing rows with replacement draws the four counts from a multinomial distribution:
    exact, and as quick for a billion rows as for ten.
    """
    counts = np.array(confusion, dtype=np.float64)
    drawn = np.random.default_rng(seed).multinomial(confusion.rows, counts / counts.sum(), size=draws)
    return _rates(drawn)


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
    tpr, tnr = hits / np.maximum(positives, 1.0), quiet / np.maximum(negatives, 1.0)
    return ManyRates(tpr, tnr, positives / (positives + negatives))
