"""Intervals for a bounded share of the rows on new rows, at many cuts at once."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts import effective_points
from ..measures import Bound, Gap
from .intervals import lower_bound


class ShareEnds(NamedTuple):
    """A share at some cuts, and its interval: with a one-sided error, or by a margin."""

    share: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        bound: Bound | Gap,
        tables: NDArray[Any],
        squares: NDArray[Any],
        error: float | None,
        times: float = 1.0,
    ) -> ShareEnds:
        """Return the ends for the bound's share of tables [..., true, predicted], as if rows were ``times`` as
        many.
        """
        whole = Bound(bound.denominator, (None, None), 1.0)
        everything = tables.sum(axis=(-2, -1))
        share = np.asarray(Bound(bound.numerator, bound.denominator, 1.0).share(tables), dtype=np.float64)
        weight = np.asarray(whole.share(tables)) * everything
        square = np.asarray(whole.share(squares)) * squares.sum(axis=(-2, -1))
        return cls.of_rows(share, times * effective_points(weight, square), bound.margin, error)

    @classmethod
    def of_rows(cls, share: Any, rows: Any, margin: float, error: float | None) -> ShareEnds:
        """Return the ends for shares of this many effective rows."""
        if error is None:
            near = (rows * share + 0.5) / (rows + 1.0)
            wide = margin * np.sqrt(near * (1.0 - near) / (rows + 1.0))
            return cls(share, share - wide, share + wide)
        low = lower_bound(share * rows, np.maximum(rows, 1e-9), error)
        high = 1.0 - lower_bound((1.0 - share) * rows, np.maximum(rows, 1e-9), error)
        return cls(share, low, np.where(rows > 0, high, 1.0))

    def at(self, which: NDArray[np.intp]) -> ShareEnds:
        return ShareEnds(self.share[which], self.low[which], self.high[which])


def kept_by(bound: Bound, ends: ShareEnds) -> NDArray[np.float64]:
    """Return the margin by which a share certainly keeps its bound."""
    return ends.low - bound.level if bound.at_least else bound.level - ends.high


def gap_room(gap: Gap, ends: list[ShareEnds]) -> NDArray[np.float64]:
    """Return the margin by which the difference of any two groups certainly stays within its bound.

    The ends of a difference follow from those of the two shares (MOVER: Newcombe, 1998; Zou and Donner, 2008).
    """
    largest = np.full(ends[0].share.shape, -np.inf)
    for one, other in itertools.permutations(ends, 2):
        upper = one.share - other.share + np.hypot(one.high - one.share, other.share - other.low)
        largest = np.maximum(largest, upper)
    return gap.level - largest


def room(bound: Bound | Gap, ends: list[ShareEnds]) -> NDArray[np.float64]:
    """Return the margin by which the shares of groups, or their differences, certainly keep a bound."""
    if isinstance(bound, Gap):
        return gap_room(bound, ends)
    return np.asarray(np.min([kept_by(bound, one) for one in ends], axis=0))
