"""The sentences of the paper, its theorems and the targets of this project, each with a verdict."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .comparison import (
    LOGISTIC,
    NOT_MEASURED,
    ONEPMB,
    PLUG_IN,
    SVMPERF,
    TOLERANCE,
    Comparison,
    Verdict,
    comparisons,
    judge,
    points,
    times,
)
from .results import Results, TheoryResults
from .theorems import SpadeExcess

CONCAVE = ("qmean", "min")
PSEUDO_LINEAR = ("f1", "jaccard")


def above_every_other(results: Results) -> Verdict:
    cells = comparisons(results, CONCAVE, ("ijcnn1", "covtype"))
    return judge(
        "On the IJCNN and Covtype data sets SPADE outperformed every other method by about 2-3%.",
        [one.lead() >= 0.02 - TOLERANCE for one in cells],
        [f"{one}: {points(one.lead())} points on {one.best_rival()}" for one in cells],
        "The lead is over the best of all rivals, each on standardized columns, run to its end, and cut at an "
        "exact threshold on validation rows. The plug-in so treated is a stronger rival than an untuned one, "
        "and SVMPerf with a tuned threshold comes close to SPADE where 50 times its time is enough to converge.",
    )


def three_times_less_time_on_qmean(results: Results) -> Verdict:
    cells = comparisons(results, ("qmean",))
    return judge(
        "On Q-mean SPADE achieves similar or better accuracies while consistently requiring about 3-4x less time "
        "than other baseline approaches.",
        [one.lead() >= -0.01 and _least_ratio(one) >= 3.0 for one in cells],
        [f"{one.data}: {points(one.lead())} points; {_ratios(one)}; {_first_and_best(one)}" for one in cells],
        "Checking, standardizing and shuffling the rows is on every method's clock and costs more than the pass "
        "or two that SPADE needs after it, so that it puts a floor under every ratio. The paper does not say "
        "what its times include. L-BFGS here is compiled code on single-precision rows that it reads in order.",
    )


def sixty_times_sooner_on_mnist(results: Results) -> Verdict:
    cells = comparisons(results, CONCAVE, ("mnist",))
    return judge(
        "On MNIST SPADE found the best solution as much as 60x faster than any other method.",
        [held for one in cells for held in (one.lead() >= -TOLERANCE, _least_ratio(one) >= 60.0)],
        [
            f"{one.measure}: {points(one.lead())} points on {one.best_rival()}; {_ratios(one)}; "
            + _first_and_best(one)
            for one in cells
        ],
        "As above: all methods pay for the preparation of the rows, which takes longer than SPADE's learning, "
        "and the plug-in's L-BFGS runs at the speed of memory.",
    )


def on_the_data_without_a_public_copy(results: Results) -> Verdict:
    claim = "On KDD Cup 2008 and PPI SPADE was 12x and 2x faster."
    cells = comparisons(results, CONCAVE, ("kddcup08", "ppi"))
    if not cells:
        others = comparisons(results, CONCAVE, ("creditcard", "protein_homo"))
        evidence = [f"{one}: {_ratios(one)}" for one in others]
        more = ["In their place:", *evidence] if evidence else []
        return Verdict(claim, NOT_MEASURED, "\n".join(["Neither data set was available.", *more]))
    needed = {"kddcup08": 12.0, "ppi": 2.0}
    return judge(
        claim,
        [_least_ratio(one) >= needed[one.data] for one in cells],
        [f"{one}: {_ratios(one)}" for one in cells],
        "See the claim on Q-mean: the rows are prepared on the clock.",
    )


def svmperf_ten_times_slower(results: Results) -> Verdict:
    cells = comparisons(results, CONCAVE, methods=(SVMPERF,))
    return judge(
        "SVMPerf was extremely slow in general and required at least an order of magnitude more time than "
        "SPADE to find reasonably accurate solutions.",
        [one.times_sooner(SVMPERF) >= 10.0 for one in cells],
        [f"{one}: {times(one.times_sooner(SVMPERF))}" for one in cells],
        "Our SVMPerf finds the most violated labelling in O(n log n), and its C is chosen off the clock. Where "
        "a small C is chosen it converges within a few rounds, to a modest level, and at that level the two "
        "are compared.",
    )


def binary_classification_is_poor(results: Results) -> Verdict:
    cells = comparisons(results, (*CONCAVE, *PSEUDO_LINEAR), methods=(LOGISTIC,))
    return judge(
        "In all cases simple binary classification gave very poor accuracies.",
        [one.lead(LOGISTIC) >= 0.05 for one in cells],
        [f"{one}: {points(-one.lead(LOGISTIC))} points" for one in cells],
        "Where the classes are well apart, logistic regression at one half is right about most positives, rare as "
        "they are; for F1 and Jaccard, which forgive a low TPR, it is then no bad choice.",
    )


def competitive_in_a_third_of_the_time(results: Results) -> Verdict:
    rivals = (PLUG_IN, SVMPERF)
    cells = comparisons(results, PSEUDO_LINEAR, methods=rivals)
    return judge(
        "STAMP provides competitive accuracies as compared to the baseline methods but requires at least 3-4x "
        "less computational time.",
        [one.lead() >= -0.01 and min(one.times_sooner(rival) for rival in rivals) >= 3.0 for one in cells],
        [
            f"{one}: {points(one.lead())} points on {one.best_rival()}; "
            + ", ".join(f"{rival} {times(one.times_sooner(rival))}" for rival in rivals)
            + f"; {_first_and_best(one)}"
            for one in cells
        ],
        "As for SPADE, the time to prepare the rows, which all methods pay, hides most of the difference. Where "
        "positives are few, a threshold tuned on some dozens of them swings by more than the methods differ, and "
        "the hinge reward, which has no floor, lets points far out pull at the model; the default fit, whose "
        "reward is bounded, does better there.",
    )


def onepmb_struggles(results: Results) -> Verdict:
    cells = comparisons(results, ("f1",), methods=(ONEPMB,))
    return judge(
        "For F1, 1PMB was found to struggle to obtain accuracies similar to STAMP's or else to converge much more "
        "slowly.",
        [one.lead(ONEPMB) >= 0.01 or one.times_sooner(ONEPMB) >= 3.0 for one in cells],
        [
            f"{one.data}: {points(-one.lead(ONEPMB))} points on STAMP, {times(one.times_sooner(ONEPMB))} slower"
            for one in cells
        ],
        "Our 1PMB has a tuned step, an exact threshold on validation rows and a compiled search for the most "
        "violated labelling of each buffer; the paper does not say what its own had.",
    )


def struct_svms_are_worse_than_the_plug_in(results: Results) -> Verdict:
    cells = comparisons(results, PSEUDO_LINEAR, methods=(PLUG_IN, SVMPERF))
    return judge(
        "The surrogate that SVMPerf and 1PMB share has been observed to give poor accuracies when compared to "
        "plug-in methods.",
        [one.value(SVMPERF) <= one.value(PLUG_IN) - 0.01 for one in cells],
        [
            f"{one}: SVMPerf {points(one.value(SVMPERF) - one.value(PLUG_IN))} points on the plug-in"
            for one in cells
        ],
        "Our SVMPerf has its C and its threshold tuned on validation rows; its customary threshold of zero mostly "
        "does worse (see baselines.SVMPerf).",
    )


def _least_ratio(one: Comparison) -> float:
    return min(one.times_sooner(rival) for rival in one.tuned_rivals)


def _ratios(one: Comparison) -> str:
    return ", ".join(f"{rival} {times(one.times_sooner(rival))}" for rival in one.tuned_rivals)


def _first_and_best(one: Comparison) -> str:
    return f"began at {one.seconds_to_first_model():.2g} s, best at {one.seconds_to_best(one.ours):.2g} s"


def spade_rate(theory: TheoryResults) -> Verdict:
    series, slopes = theory.of("spade"), SpadeExcess.slopes
    return judge(
        "SPADE's excess falls as T^(-1/2) for Lipschitz measures (Min, H-mean, Q-mean) and as T^(-1/4) for G-mean "
        "with eps(t) = t^(-1/4).",
        [one.slope <= 0.8 * slopes[one.name] for one in series],
        [f"{one.name}: slope {one.slope:.2f}, {slopes[one.name]:g} allowed" for one in series],
        "A slope measured over a few decades may be flatter than the one in the limit.",
    )


def amp_rate(theory: TheoryResults) -> Verdict:
    series = theory.of("amp")
    return judge(
        "AMP's excess falls by the factor eta(m) of Table 2 in every round.",
        [bool((one.y <= one.bound * (1 + 1e-9) + 1e-9).all()) for one in series],
        [f"{one.name}: {one.y[1]:.1e} after one round, {one.bound[1]:.1e} allowed" for one in series],
        "The inner maximization was not exact.",
    )


def stamp_samples(theory: TheoryResults) -> Verdict:
    series = theory.of("stamp")
    return judge(
        "STAMP needs of the order of 1 / epsilon^2 points to come within epsilon of the best.",
        [one.slope <= 1.1 for one in series],
        [f"{one.name}: points grow as (1 / epsilon^2)^{one.slope:.2f}" for one in series],
        "A slope measured over a few decades may be steeper than the one in the limit.",
    )


def noisy_amp_bound(theory: TheoryResults) -> Verdict:
    series = theory.of("noisy")
    return judge(
        "With errors epsilon_t in the model and delta_t in the level, AMP's excess stays below "
        "eta^T Delta_0 + (eta'/eta) sum of eta^(T-i) (|delta_i| + epsilon_i / m).",
        [bool((one.y <= one.bound * (1 + 1e-9)).all()) for one in series],
        [f"{one.name}: at most {np.max(one.y[1:] / one.bound[1:]):.2f} of the bound" for one in series],
        "",
    )


# "Sooner than the plug-in" can be read in two ways: sooner than its curve is where it ends, or sooner than its
# run, which has to go on to convergence, ends. A target is met if it is met by both readings.
_WHY_A_TARGET_IS_MISSED = (
    "Rows are checked, standardized and shuffled on the clock of all methods, and a plug-in whose C was tuned off "
    "the clock is near its end after a few rounds of L-BFGS."
)


def mnist_qmean_target(results: Results) -> Verdict:
    cells = comparisons(results, ("qmean",), ("mnist",), methods=(PLUG_IN, SVMPERF))
    return judge(
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
        _WHY_A_TARGET_IS_MISSED,
    )


def covtype_f1_target(results: Results) -> Verdict:
    cells = comparisons(results, ("f1",), ("covtype",), methods=(PLUG_IN,))
    return judge(
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
        _WHY_A_TARGET_IS_MISSED,
    )


# Each in the order of the report.
CLAIMS: list[Callable[[Results], Verdict]] = [
    above_every_other,
    three_times_less_time_on_qmean,
    sixty_times_sooner_on_mnist,
    on_the_data_without_a_public_copy,
    svmperf_ten_times_slower,
    binary_classification_is_poor,
    competitive_in_a_third_of_the_time,
    onepmb_struggles,
    struct_svms_are_worse_than_the_plug_in,
]
THEOREMS: list[Callable[[TheoryResults], Verdict]] = [spade_rate, amp_rate, stamp_samples, noisy_amp_bound]
TARGETS: list[Callable[[Results], Verdict]] = [mnist_qmean_target, covtype_f1_target]
