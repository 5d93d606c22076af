"""What a claim is, and how one is judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..comparison import Comparison
from ..methods.logistic import LogisticMethod
from ..methods.onepmb import OnePMBMethod
from ..methods.plugin import PlugInMethod
from ..methods.svmperf import SVMPerfMethod
from ..results import Results

PLUG_IN, SVMPERF, ONEPMB = PlugInMethod.name, SVMPerfMethod.name, OnePMBMethod.name
LOGISTIC = LogisticMethod.name

AGREES, PARTLY, DISAGREES, NOT_MEASURED = "agrees", "partly", "disagrees", "not measured"


class Verdict(NamedTuple):
    """A sentence of the paper, what we measured, and whether they agree."""

    claim: str
    verdict: str
    evidence: str
    """A line a data set."""
    why: str = ""
    """Where they do not agree: the reason, as far as we can tell."""


def comparisons(
    results: Results, measures: Iterable[str], data: Iterable[str] = (), methods: Iterable[str] = ()
) -> list[Comparison]:
    """The cells that were measured with these methods; of these data sets, or cuts of them, if any are named."""
    found = [
        Comparison(results, name, measure)
        for measure in measures
        for name in results.data_sets(measure)
        if not data or any(name == one or name.startswith(f"{one}-") for one in data)
    ]
    return [one for one in found if one.complete and all(method in one for method in methods)]


def judged(claim: str, held: list[bool], evidence: list[str], why: str) -> Verdict:
    """Agrees if it held everywhere, partly if somewhere."""
    if not held:
        return Verdict(claim, NOT_MEASURED, "None of the data it speaks of were measured in this run.")
    verdict = AGREES if all(held) else PARTLY if any(held) else DISAGREES
    return Verdict(claim, verdict, "\n".join(evidence), "" if all(held) else why)


def cell(comparison: Comparison) -> str:
    return f"{comparison.data} {comparison.measure}"


def points(difference: float) -> str:
    """A difference of values, in hundredths."""
    return f"{100 * difference:+.1f}"


def times(ratio: float) -> str:
    return "never" if ratio == 0 else f"{ratio:.2g}x" if ratio < 10 else f"{ratio:.0f}x"
