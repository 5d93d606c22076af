"""Cohen's kappa: agreement beyond chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .base import PseudoLinearCoefficients, PseudoLinearMeasure


@dataclass(frozen=True)
class CohenKappa(PseudoLinearMeasure):
    """(accuracy - chance) / (1 - chance): 0 for random guesses, negative for worse, 1 for perfect.

    ``chance`` is the accuracy of random guesses with as many predicted positives. With n = 1 - p both accuracy and
    chance are affine in the rates at a fixed prevalence, which makes kappa
    2 p n (P + N - 1) / (p^2 + n^2 + (n - p) (p P - n N)).
    """

    monotone: ClassVar[bool] = True

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        p, n = prevalence, 1.0 - prevalence
        twice = 2.0 * p * n
        return PseudoLinearCoefficients((-twice, twice, twice), (p * p + n * n, (n - p) * p, (p - n) * n))
