"""What the paper proves, against what was measured."""

from __future__ import annotations

import numpy as np

from ..theory import TheoryResults
from ..theory.spade_excess import PROMISED
from .base import Verdict, judged


def spade_rate(theory: TheoryResults) -> Verdict:
    series = theory.of("spade")
    return judged(
        "SPADE's excess falls as T^(-1/2) for Lipschitz measures (Min, H-mean, Q-mean) and as T^(-1/4) for G-mean "
        "with eps(t) = t^(-1/4).",
        [one.slope <= 0.8 * PROMISED[one.name] for one in series],
        [f"{one.name}: slope {one.slope:.2f}, {PROMISED[one.name]:g} allowed" for one in series],
        "A slope measured over a few decades may be flatter than the one in the limit.",
    )


def amp_rate(theory: TheoryResults) -> Verdict:
    series = theory.of("amp")
    return judged(
        "AMP's excess falls by the factor eta(m) of Table 2 in every round.",
        [bool((one.y <= one.bound * (1 + 1e-9) + 1e-9).all()) for one in series],
        [f"{one.name}: {one.y[1]:.1e} after one round, {one.bound[1]:.1e} allowed" for one in series],
        "The inner maximisation was not exact.",
    )


def stamp_samples(theory: TheoryResults) -> Verdict:
    series = theory.of("stamp")
    return judged(
        "STAMP needs of the order of 1 / epsilon^2 points to come within epsilon of the best.",
        [one.slope <= 1.1 for one in series],
        [f"{one.name}: points grow as (1 / epsilon^2)^{one.slope:.2f}" for one in series],
        "A slope measured over a few decades may be steeper than the one in the limit.",
    )


def noisy_amp_bound(theory: TheoryResults) -> Verdict:
    series = theory.of("noisy")
    return judged(
        "With errors epsilon_t in the model and delta_t in the level, AMP's excess stays below "
        "eta^T Delta_0 + (eta'/eta) sum of eta^(T-i) (|delta_i| + epsilon_i / m).",
        [bool((one.y <= one.bound * (1 + 1e-9)).all()) for one in series],
        [f"{one.name}: at most {np.max(one.y[1:] / one.bound[1:]):.2f} of the bound" for one in series],
        "",
    )
