"""From round to round: the weights of the next one, and which of them to keep."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from .crossfit import CrossFitter, Round, noise_in
from .valuation import Valuation, tempered_ratio, valuation_at

# Weights that differ by less than this factor teach a learner nothing new.
_SAME_WEIGHTS = 1.25


def play_rounds(fitter: CrossFitter, measure: Measure, most: int) -> tuple[list[Round], list[Valuation | None]]:
    """Rounds, each with the weights that the measure asks for at the rates of the one before.

    The rates are those of rows held out, so that a learner that knows its rows by heart does not fool the level.
    Ends early when the weights stand still. With each round but the first comes the valuation it was made by.
    """
    rounds = [fitter.round(1.0, None)]
    valuations: list[Valuation | None] = [None]
    while len(rounds) < most:
        rates = rounds[-1].best.rates
        valuation = valuation_at(measure, rates)
        ratio = tempered_ratio(valuation, rates.prevalence)
        if any(abs(math.log(ratio / one.ratio)) < math.log(_SAME_WEIGHTS) for one in rounds):
            break
        rounds.append(fitter.round(ratio, rounds[-1]))
        valuations.append(valuation)
    return rounds, valuations


def indistinguishable(rounds: list[Round], signed_weights: NDArray[np.float64], measure: Measure) -> list[int]:
    """The best round, and those that may be as good for all that the rows held out can tell.

    They are better averaged than chosen from.
    """
    best = max((one.best for one in rounds), key=lambda best: best.value)
    least = best.value - noise_in(best, signed_weights, measure)
    return [k for k, one in enumerate(rounds) if one.best.value >= least]


def history_table(
    rounds: list[Round], valuations: list[Valuation | None], kept: list[int], prevalence: float
) -> dict[str, NDArray[Any]]:
    """The rounds as a dict of equally long arrays."""
    known = [Valuation(math.nan, math.nan, math.nan) if one is None else one for one in valuations]
    ratios = np.array([one.ratio for one in rounds])
    of_negatives = 1.0 / (prevalence * ratios + 1.0 - prevalence)
    levels = np.array([one.level for one in known])
    pairs = {"alpha": [one.on_tpr for one in known], "beta": [one.on_tnr for one in known]}
    source = {"level": levels} if np.isfinite(levels).any() else {k: np.array(v) for k, v in pairs.items()}
    return {
        "round": np.arange(1, len(rounds) + 1),
        "weight_positive": ratios * of_negatives,
        "weight_negative": of_negatives,
        **source,
        "tpr": np.array([one.best.rates.tpr for one in rounds]),
        "tnr": np.array([one.best.rates.tnr for one in rounds]),
        "value": np.array([one.best.value for one in rounds]),
        "kept": np.isin(np.arange(len(rounds)), kept),
    }
