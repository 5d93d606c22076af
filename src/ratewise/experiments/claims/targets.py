"""What this project asks of itself."""

from __future__ import annotations

from ..results import Results
from .base import PLUG_IN, SVMPERF, Verdict, comparisons, judged, times


def mnist_qmean(results: Results) -> Verdict:
    cells = comparisons(results, ("qmean",), ("mnist",), methods=(PLUG_IN, SVMPERF))
    return judged(
        "SPADE reaches its best Q-mean on MNIST at least 10x sooner than SVMPerf and 3x sooner than the plug-in.",
        [one.times_sooner_at_best(SVMPERF) >= 10 and one.times_sooner_at_best(PLUG_IN) >= 3 for one in cells],
        [
            f"SVMPerf: {times(one.times_sooner_at_best(SVMPERF))}; "
            f"plug-in: {times(one.times_sooner_at_best(PLUG_IN))}; "
            f"SPADE takes {one.time_to_best(one.ours):.2f} CPU seconds"
            for one in cells
        ],
        "",
    )


def covtype_f1(results: Results) -> Verdict:
    cells = comparisons(results, ("f1",), ("covtype",), methods=(PLUG_IN,))
    return judged(
        "STAMP reaches the plug-in's F1 on Covtype at least 3x sooner.",
        [one.times_sooner_there(PLUG_IN) >= 3 for one in cells],
        [f"{one.data}: {times(one.times_sooner_there(PLUG_IN))}" for one in cells],
        "",
    )
