"""What this project asks of itself.

"Sooner than the plug-in" can be read in two ways: sooner than its curve is where it ends, or sooner than its run,
which is to go on to convergence, ends. A target is met if it is met by both readings.
"""

from __future__ import annotations

from ..results import Results
from .base import PLUG_IN, SVMPERF, Verdict, comparisons, judged, times

_WHY = (
    "Rows are checked, standardised and mixed on the clock of all methods, and a plug-in whose C was tuned off "
    "the clock is near its end after a few rounds of L-BFGS."
)


def mnist_qmean(results: Results) -> Verdict:
    cells = comparisons(results, ("qmean",), ("mnist",), methods=(PLUG_IN, SVMPERF))
    return judged(
        "SPADE reaches its best Q-mean on MNIST at least 10x sooner than SVMPerf and 3x sooner than the plug-in.",
        [
            held
            for one in cells
            for held in (
                one.times_sooner_at_best(SVMPERF) >= 10,
                one.times_sooner_at_best(PLUG_IN) >= 3,
                one.times_sooner_at_best_than_end(PLUG_IN) >= 3,
            )
        ],
        [
            f"{rival}: {times(one.times_sooner_at_best(rival))} sooner than it is at its best, "
            f"{times(one.times_sooner_at_best_than_end(rival))} sooner than its run ends"
            for one in cells
            for rival in (SVMPERF, PLUG_IN)
        ],
        _WHY,
    )


def covtype_f1(results: Results) -> Verdict:
    cells = comparisons(results, ("f1",), ("covtype",), methods=(PLUG_IN,))
    return judged(
        "STAMP reaches the plug-in's F1 on Covtype at least 3x sooner.",
        [
            ratio >= 3
            for one in cells
            for ratio in (one.times_sooner_there(PLUG_IN), one.times_sooner_there_than_end(PLUG_IN))
        ],
        [
            f"{one.data}: {times(one.times_sooner_there(PLUG_IN))} sooner than its curve is there, "
            f"{times(one.times_sooner_there_than_end(PLUG_IN))} sooner than its run ends"
            for one in cells
        ],
        _WHY,
    )
