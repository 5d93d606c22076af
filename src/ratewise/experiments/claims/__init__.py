"""Each sentence of the paper's claims, with a verdict. To add one: a function and its line."""

from __future__ import annotations

from collections.abc import Callable

from ..results import Results
from ..theory import TheoryResults
from . import concave, pseudo_linear, targets, theory
from .base import AGREES, DISAGREES, NOT_MEASURED, PARTLY, Verdict

CLAIMS: list[Callable[[Results], Verdict]] = [
    concave.above_every_other,
    concave.three_times_less_time_on_qmean,
    concave.sixty_times_sooner_on_mnist,
    concave.on_the_data_that_cannot_be_had,
    concave.svmperf_ten_times_slower,
    concave.binary_classification_is_poor,
    pseudo_linear.competitive_in_a_third_of_the_time,
    pseudo_linear.onepmb_struggles,
    pseudo_linear.struct_svms_are_worse_than_the_plug_in,
]
THEOREMS: list[Callable[[TheoryResults], Verdict]] = [
    theory.spade_rate,
    theory.amp_rate,
    theory.stamp_samples,
    theory.noisy_amp_bound,
]
TARGETS: list[Callable[[Results], Verdict]] = [targets.mnist_qmean, targets.covtype_f1]

__all__ = ["AGREES", "CLAIMS", "DISAGREES", "NOT_MEASURED", "PARTLY", "TARGETS", "THEOREMS", "Verdict"]
