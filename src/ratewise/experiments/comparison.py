"""How much better, and how much sooner: what the claims are judged by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .methods import BEYOND_THE_PAPER, PAPERS_OWN
from .methods.logistic import LogisticMethod
from .results import Curve, Results

TOLERANCE = 0.005
"""Values nearer than this are not told apart."""

Goal = Callable[[Curve, Curve], float]
"""A level, from our curve and a rival's."""


class Comparison:
    """All methods on one data set and measure."""

    def __init__(self, results: Results, data: str, measure: str):
        self.data, self.measure = data, measure
        self._curves = {method: results.curves(data, measure, method) for method in results.methods(data, measure)}

    def __contains__(self, method: str) -> bool:
        return method in self._curves

    @property
    def ours(self) -> str:
        """SPADE or STAMP; empty if neither ran."""
        return next((method.name for method in PAPERS_OWN if method.name in self._curves), "")

    @property
    def rivals(self) -> list[str]:
        """The paper's other methods."""
        not_rivals = {method.name for method in (*PAPERS_OWN, *BEYOND_THE_PAPER)}
        return [method for method in self._curves if method not in not_rivals]

    @property
    def tuned_rivals(self) -> list[str]:
        """Those that aim at the measure."""
        return [method for method in self.rivals if method != LogisticMethod.name]

    @property
    def complete(self) -> bool:
        """Whether there is something to compare."""
        return bool(self.ours and self.tuned_rivals)

    def value(self, method: str) -> float:
        """What it ends with, in the mean over splits."""
        return float(np.mean([curve.last for curve in self._curves[method]]))

    def spread(self, method: str) -> float:
        return float(np.std([curve.last for curve in self._curves[method]]))

    def seconds(self, method: str) -> float:
        """CPU seconds of a whole run, the median over splits."""
        return float(np.median([curve.seconds[-1] for curve in self._curves[method]]))

    def seconds_to_begin(self) -> float:
        """CPU seconds until ours has its first model: rows made ready, and 500 points learned."""
        return float(np.median([curve.seconds[0] for curve in self._curves[self.ours]]))

    def best_rival(self) -> str:
        return max(self.rivals, key=self.value)

    def lead(self, rival: str | None = None) -> float:
        """How far SPADE or STAMP ends above a rival, by default the best."""
        return self.value(self.ours) - self.value(rival or self.best_rival())

    def times_sooner(self, rival: str) -> float:
        """How many times sooner ours is at the level that both reach: the lower of what the two end with."""
        return self._ratio(rival, _lower, _until_the_lower)

    def times_sooner_at_best(self, rival: str) -> float:
        """How many times sooner ours is at its own best than the rival at its own, or at ours if that is lower.

        Ours has the whole way to go, so that a rival that ends low is not slower for it.
        """
        return self._ratio(rival, _mine, _until_the_lower)

    def times_sooner_at_best_than_end(self, rival: str) -> float:
        """How many times sooner ours is at its own best than the rival's run ends."""
        return self._ratio(rival, _mine, _until_the_end)

    def times_sooner_there(self, rival: str) -> float:
        """How many times sooner ours is at what the rival ends with; 0 if never."""
        return self._ratio(rival, _its, lambda mine, other: other.settled_at(other.last - TOLERANCE))

    def times_sooner_there_than_end(self, rival: str) -> float:
        """How many times sooner ours is at what the rival ends with than the rival's run ends; 0 if never."""
        return self._ratio(rival, _its, _until_the_end)

    def _ratio(self, rival: str, my_goal: Goal, its_seconds: Callable[[Curve, Curve], float]) -> float:
        """The rival's seconds over ours until our goal, the median over splits."""
        ratios = [
            its_seconds(mine, other) / mine.settled_at(my_goal(mine, other) - TOLERANCE)
            for mine, other in zip(self._curves[self.ours], self._curves[rival], strict=False)
        ]
        return float(np.median(ratios))

    def time_to_best(self, method: str) -> float:
        """CPU seconds until it is within the tolerance of what it ends with, the median over splits."""

        def one(curve: Curve) -> float:
            return curve.settled_at(curve.last - TOLERANCE)

        return float(np.median([one(curve) for curve in self._curves[method]]))


def _mine(mine: Curve, other: Curve) -> float:
    return mine.last


def _its(mine: Curve, other: Curve) -> float:
    return other.last


def _lower(mine: Curve, other: Curve) -> float:
    return min(mine.last, other.last)


def _until_the_lower(mine: Curve, other: Curve) -> float:
    return other.settled_at(_lower(mine, other) - TOLERANCE)


def _until_the_end(mine: Curve, other: Curve) -> float:
    return float(other.seconds[-1])
