"""Rates at a threshold, and the threshold with the best measure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, Rates


class BestThreshold(NamedTuple):
    """A point is called positive if its score is above the threshold."""

    threshold: float
    value: float
    rates: Rates


def rates_at(scores: NDArray[Any], signed_weights: NDArray[Any], threshold: float = 0.0) -> Rates:
    """TPR, TNR and prevalence when every score above the threshold is called positive."""
    positive = signed_weights > 0
    weights = np.abs(signed_weights, dtype=np.float64)
    called = scores > threshold
    all_positive, all_negative = weights[positive].sum(), weights[~positive].sum()
    tpr = weights[positive & called].sum() / all_positive if all_positive > 0 else 0.0
    tnr = weights[~positive & ~called].sum() / all_negative if all_negative > 0 else 0.0
    return Rates(float(tpr), float(tnr), float(all_positive / (all_positive + all_negative)))


def best_threshold(scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure) -> BestThreshold:
    """The exact best threshold for a measure: every cut between two different scores is tried.

    O(n log n), for any measure. The threshold lies midway between the scores it parts; of cuts that do equally
    well, the one nearest zero is taken, where the model itself would have drawn the line.
    """
    order = np.argsort(-scores)
    ordered = scores[order]
    weights = signed_weights[order].astype(np.float64)
    # Cut k calls the first k points positive; only cuts between different scores can be made.
    cuts = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, [ordered.size]])
    hits = np.concatenate([[0.0], np.cumsum(np.maximum(weights, 0.0))])
    alarms = np.concatenate([[0.0], np.cumsum(np.maximum(-weights, 0.0))])
    all_positive, all_negative = hits[-1], alarms[-1]
    tpr = hits[cuts] / all_positive if all_positive > 0 else np.zeros(cuts.size)
    tnr = 1.0 - alarms[cuts] / all_negative if all_negative > 0 else np.zeros(cuts.size)
    prevalence = float(all_positive / (all_positive + all_negative))
    values = np.asarray(measure.value(tpr, tnr, prevalence), dtype=np.float64)
    values = np.where(np.isfinite(values), values, -np.inf)

    ties = np.flatnonzero(values >= values.max() - 1e-12)
    thresholds = np.array([_between(ordered, int(cut)) for cut in cuts[ties[:1000]]])
    best = int(np.argmin(np.abs(thresholds)))
    chosen = int(ties[best])
    rates = Rates(float(tpr[chosen]), float(tnr[chosen]), prevalence)
    return BestThreshold(float(thresholds[best]), float(values[chosen]), rates)


def _between(ordered: NDArray[Any], cut: int) -> float:
    """A threshold that parts the first ``cut`` of the falling scores from the rest."""
    above = float(ordered[cut - 1]) if cut > 0 else float(ordered[0]) + 1.0
    below = float(ordered[cut]) if cut < ordered.size else float(ordered[-1]) - 1.0
    middle = below + 0.5 * (above - below)
    return middle if middle < above else below  # neighbours with no number between them
