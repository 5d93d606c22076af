"""What a measure asks of a weighted learner: how much a positive row is to weigh against a negative one."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..measures import ConcaveMeasure, Measure, PseudoLinearMeasure, Rates

_SMALLEST_SLOPE = 1e-6


class Valuation(NamedTuple):
    """The slopes of the measure in the two rates, and the level they were read at."""

    on_tpr: float
    on_tnr: float
    level: float
    """NaN for a measure that is not pseudo-linear: its slopes are the dual pair."""

    def row_ratio(self, prevalence: float) -> float:
        """How much a positive row weighs for each unit of a negative one."""
        per_positive = max(self.on_tpr, _SMALLEST_SLOPE) / prevalence
        per_negative = max(self.on_tnr, _SMALLEST_SLOPE) / (1.0 - prevalence)
        return per_positive / per_negative


def valuation_at(measure: Measure, rates: Rates) -> Valuation:
    """AMP's weights at the level of these rates, or the primal-dual scheme's pair at them."""
    if isinstance(measure, PseudoLinearMeasure):
        level = float(measure.value(*rates))
        return Valuation(*measure.valuation_weights(level, rates.prevalence), level)
    if isinstance(measure, ConcaveMeasure) and not measure.smooth:
        # The slopes jump where the best models lie: one step of the dual from the middle, to the worse rate.
        return Valuation(*measure.project(0.5 - rates.tpr, 0.5 - rates.tnr), math.nan)
    return Valuation(*measure.slopes(*rates), math.nan)


def tempered_ratio(valuation: Valuation, prevalence: float) -> float:
    """The weight of a positive row: half-way, in logarithms, from the valuation's to the root of (1-p)/p.

    The valuation's own weights put the learner's decision at 1/2 where it belongs, but the exact threshold does
    that anyway. What weights do beyond it is to tell the learner where to spend its strength, and there both
    extremes are unsteady: rows as they come leave boosting adrift where positives are one in a thousand (F1 asks
    for no more), and fully balanced rows let a few positives drown all else (G-mean asks for that).
    """
    root = math.sqrt((1.0 - prevalence) / prevalence)
    return math.sqrt(valuation.row_ratio(prevalence) * root)
