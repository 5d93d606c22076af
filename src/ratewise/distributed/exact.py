"""The exact best threshold over the rows of all shards, found in a few rounds of counting.

A float32 score has a key of 32 bits in the order of the scores. First all scores are counted by the first 16 bits
of their keys. Only where the best cut may still lie are they counted by 8 bits more, and then by the last 8: then
every score there is known, and so is the cut between any two.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, Rates
from ..solvers import BestThreshold, constrained_ranks
from .protocol import Engine
from .scores import CountKeys, Counts, Scored, score_of

_TIE = 1e-12
_FIRST_SHIFT, _LEVEL = 16, 8
_MOST_CELLS = 4096  # counted more finely in a round


def exact_threshold(
    engine: Engine,
    scored: tuple[Scored, ...],
    measure: Measure,
    points: tuple[float, float],
) -> BestThreshold:
    """The best threshold for scores of all shards; of cuts that do equally well, the one nearest zero.

    Exact for a measure that neither rate's rise lowers. For others it is the best cut at 16 bits and what a closer
    look around it finds. ``points`` are the effective points of the two classes, for the margins of constraints.
    """
    counts = engine.ask(CountKeys(scored, _FIRST_SHIFT, None, 0))
    cells = Cells(counts.places << _FIRST_SHIFT, np.full(counts.places.size, _FIRST_SHIFT), counts.weights)
    while True:
        cut = cells.best_cut(measure, points)
        wanted = cells.to_look_into(measure, cut)
        if wanted.size == 0:
            return cells.threshold_at(cut, measure)
        # One level at a time, the coarsest first.
        shift = int(cells.shifts[wanted].max())
        wanted = wanted[cells.shifts[wanted] == shift][:_MOST_CELLS]
        prefixes = cells.lows[wanted] >> shift
        counts = engine.ask(CountKeys(scored, shift - _LEVEL, prefixes, shift))
        cells = cells.refined(wanted, counts, shift - _LEVEL)


class Cells:
    """Stretches of keys in rising order, some still coarse, with the weights of both classes in them."""

    def __init__(self, lows: NDArray[np.int64], shifts: NDArray[np.int64], weights: NDArray[np.float64]):
        self.lows, self.shifts, self.weights = lows, shifts, weights
        # Cut k calls the cells from k on positive; the last cut calls none.
        above = np.concatenate([weights[:, ::-1].cumsum(axis=1)[:, ::-1], np.zeros((2, 1))], axis=1)
        self._totals = above[:, 0]
        negatives, positives = self._totals
        self.tpr = above[1] / max(positives, 1e-300)
        self.tnr = 1.0 - above[0] / max(negatives, 1e-300)
        self.prevalence = float(positives / max(positives + negatives, 1e-300))

    def _values(self, measure: Measure, tpr: NDArray[np.float64], tnr: NDArray[np.float64]) -> NDArray[np.float64]:
        values = np.array(measure.value(tpr, tnr, self.prevalence), dtype=np.float64)
        values[~np.isfinite(values)] = -np.inf
        return values

    def best_cut(self, measure: Measure, points: tuple[float, float]) -> int:
        values = self._values(measure, self.tpr, self.tnr)
        ranks = constrained_ranks(values, measure, self.tpr, self.tnr, self.prevalence, points)
        ties = np.flatnonzero(ranks >= ranks.max() - _TIE)
        zero = int(np.searchsorted(self.lows, 1 << 31))
        return int(ties[np.argmin(np.abs(ties - zero))])

    def to_look_into(self, measure: Measure, cut: int) -> NDArray[np.intp]:
        """Coarse cells at the cut, and those within which a better one may lie."""
        coarse = self.shifts > 0
        at_the_cut = np.zeros(coarse.size, dtype=bool)
        at_the_cut[max(cut - 1, 0) : cut + 1] = True
        wanted = coarse & at_the_cut
        if measure.monotone and not measure.constraints(0.5):
            # A cut inside a cell finds no more positives than its low end, and no more negatives than its high.
            within = self._values(measure, self.tpr[:-1], self.tnr[1:])
            best = float(self._values(measure, self.tpr, self.tnr)[cut])
            single = (self.weights[0] == 0) | (self.weights[1] == 0)  # a cell of one class is best cut at an end
            wanted |= coarse & (within > best + _TIE) & ~single
        return np.flatnonzero(wanted)

    def refined(self, which: NDArray[np.intp], counts: Counts, shift: int) -> Cells:
        kept = np.ones(self.lows.size, dtype=bool)
        kept[which] = False
        lows = np.concatenate([self.lows[kept], counts.places << shift])
        shifts = np.concatenate([self.shifts[kept], np.full(counts.places.size, shift)])
        weights = np.concatenate([self.weights[:, kept], counts.weights], axis=1)
        order = np.argsort(lows)
        return Cells(lows[order], shifts[order], weights[:, order])

    def threshold_at(self, cut: int, measure: Measure) -> BestThreshold:
        """Midway between the two scores that the cut parts; both are known."""
        last = self.lows.size - 1
        if cut == 0:
            lowest = score_of(int(self.lows[0]))
            threshold = min(lowest - 1.0, math.nextafter(lowest, -math.inf))
        elif cut > last:
            highest = score_of(int(self.lows[last]))
            threshold = max(highest + 1.0, math.nextafter(highest, math.inf))
        else:
            below, above = score_of(int(self.lows[cut - 1])), score_of(int(self.lows[cut]))
            middle = below + 0.5 * (above - below)
            threshold = middle if middle < above else below
        rates = Rates(float(self.tpr[cut]), float(self.tnr[cut]), self.prevalence)
        return BestThreshold(threshold, float(measure.value(*rates)), rates)
