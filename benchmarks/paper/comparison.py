"""How much better, and how much sooner: what claims are judged by, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from .methods import BEYOND_THE_PAPER, PAPERS_OWN
from .methods.rivals import LogisticMethod, OnePMBMethod, PlugInMethod, SVMPerfMethod
from .results import Curve, Results

PLUG_IN, SVMPERF, ONEPMB = PlugInMethod.name, SVMPerfMethod.name, OnePMBMethod.name
LOGISTIC = LogisticMethod.name

AGREES, PARTLY, DISAGREES, NOT_MEASURED = "agrees", "partly", "disagrees", "not measured"

TOLERANCE = 0.005
"""Values nearer than this count as equal."""


class Comparison:
    """All methods on one data set and measure."""

    def __init__(self, results: Results, data: str, measure: str):
        self.data, self.measure = data, measure
        self._curves = {method: results.curves(data, measure, method) for method in results.methods(data, measure)}

    def __contains__(self, method: str) -> bool:
        return method in self._curves

    def __str__(self) -> str:
        return f"{self.data} {self.measure}"

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
        return [method for method in self.rivals if method != LOGISTIC]

    @property
    def complete(self) -> bool:
        """Whether there is something to compare."""
        return bool(self.ours and self.tuned_rivals)

    def value(self, method: str) -> float:
        """Return what it ends with, in the mean over splits."""
        return float(np.mean([curve.last for curve in self._curves[method]]))

    def spread(self, method: str) -> float:
        return float(np.std([curve.last for curve in self._curves[method]]))

    def seconds(self, method: str) -> float:
        """Return the CPU seconds of a whole run, the median over splits."""
        return float(np.median([curve.seconds[-1] for curve in self._curves[method]]))

    def seconds_to_first_model(self) -> float:
        """Return the CPU seconds until ours has its first model: rows prepared, and 500 points learned."""
        return float(np.median([curve.seconds[0] for curve in self._curves[self.ours]]))

    def seconds_to_best(self, method: str) -> float:
        """Return the CPU seconds until it is within the tolerance of what it ends with, the median over splits."""
        return float(np.median([_reached(curve, curve.last) for curve in self._curves[method]]))

    def best_rival(self) -> str:
        return max(self.rivals, key=self.value)

    def lead(self, rival: str | None = None) -> float:
        """Return how far SPADE or STAMP ends above a rival, by default the best."""
        return self.value(self.ours) - self.value(rival or self.best_rival())

    def times_sooner(self, rival: str) -> float:
        """Return how many times sooner ours is at the level both reach: the lower of what the two end with."""
        return self._ratio(rival, lambda mine, its: _reached(its, _lower(mine, its)), _lower)

    def times_sooner_at_best(self, rival: str) -> float:
        """Return how many times sooner ours is at its own best than the rival at its own, or at ours if lower.

        Ours must reach its own best, so that a rival that ends low is not slower for it.
        """
        return self._ratio(rival, lambda mine, its: _reached(its, _lower(mine, its)), lambda mine, its: mine.last)

    def times_sooner_at_best_than_end(self, rival: str) -> float:
        """Return how many times sooner ours is at its own best than the rival's run ends."""
        return self._ratio(rival, lambda mine, its: its.seconds[-1], lambda mine, its: mine.last)

    def times_sooner_there(self, rival: str) -> float:
        """Return how many times sooner ours is at what the rival ends with; 0 if never."""
        return self._ratio(rival, lambda mine, its: _reached(its, its.last), lambda mine, its: its.last)

    def times_sooner_there_than_end(self, rival: str) -> float:
        """Return how many times sooner ours is at what the rival ends with than its run ends; 0 if never."""
        return self._ratio(rival, lambda mine, its: its.seconds[-1], lambda mine, its: its.last)

    def _ratio(
        self, rival: str, its_seconds: Callable[[Curve, Curve], float], my_level: Callable[[Curve, Curve], float]
    ) -> float:
        """Return the rival's seconds over ours until our level, the median over splits."""
        pairs = zip(self._curves[self.ours], self._curves[rival], strict=False)
        return float(np.median([its_seconds(*pair) / _reached(pair[0], my_level(*pair)) for pair in pairs]))


def _reached(curve: Curve, level: float) -> float:
    return curve.settled_at(level - TOLERANCE)


def _lower(mine: Curve, its: Curve) -> float:
    return min(mine.last, its.last)


class Verdict(NamedTuple):
    """A sentence of the paper, what we measured, and whether they agree."""

    claim: str
    verdict: str
    evidence: str
    """One line per data set."""
    why: str = ""
    """Where they do not agree: the reason, as far as we know it."""


def comparisons(
    results: Results, measures: Iterable[str], data: Iterable[str] = (), methods: Iterable[str] = ()
) -> list[Comparison]:
    """Return what was measured with these methods; of these data sets, or parts of them, if any are named."""
    found = [
        Comparison(results, name, measure)
        for measure in measures
        for name in results.data_sets(measure)
        if not data or any(name == one or name.startswith(f"{one}-") for one in data)
    ]
    return [one for one in found if one.complete and all(method in one for method in methods)]


def judge(claim: str, held: list[bool], evidence: list[str], why: str) -> Verdict:
    """Return a verdict: it agrees if the claim held everywhere, partly if somewhere."""
    if not held:
        return Verdict(claim, NOT_MEASURED, "None of the data it speaks of were measured in this run.")
    verdict = AGREES if all(held) else PARTLY if any(held) else DISAGREES
    return Verdict(claim, verdict, "\n".join(evidence), "" if all(held) else why)


def points(difference: float) -> str:
    """Return a difference of values, in hundredths."""
    return f"{100 * difference:+.1f}"


def times(ratio: float) -> str:
    return "never" if ratio == 0 else f"{ratio:.2g}x" if ratio < 10 else f"{ratio:.0f}x"
