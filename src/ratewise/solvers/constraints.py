"""Which thresholds keep a measure's constraints, and by how much."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure


def constraint_slack(
    measure: Measure,
    tpr: Any,
    tnr: Any,
    prevalence: float,
    signed_weights: NDArray[Any],
    caution: float = 1.0,
) -> NDArray[np.float64] | None:
    """How far the rates keep the tightest of the measure's constraints beyond its margin, in standard errors.

    None if the measure has no constraints. The standard error is that of the constraint's line in two binomial
    rates, each half a point away from 0 and 1, so that no rate is ever taken for certain. Rates at which no
    positive is found keep no constraint: there, any precision could be claimed. ``caution`` multiplies the
    margins.
    """
    constraints = measure.constraints(prevalence)
    if not constraints:
        return None
    tpr, tnr = np.asarray(tpr, dtype=np.float64), np.asarray(tnr, dtype=np.float64)
    positives, negatives = _effective_points(signed_weights)
    tpr_variance, tnr_variance = _rate_variance(tpr, positives), _rate_variance(tnr, negatives)
    slack = np.full(np.broadcast_shapes(tpr.shape, tnr.shape), np.inf)
    for constraint in constraints:
        error = np.sqrt(constraint.on_tpr**2 * tpr_variance + constraint.on_tnr**2 * tnr_variance)
        rounding = 1e-12 * (abs(constraint.constant) + abs(constraint.on_tpr) + abs(constraint.on_tnr))
        excess = constraint.excess(tpr, tnr) + rounding
        slack = np.minimum(slack, excess / error - caution * constraint.margin)
    return np.where(tpr > 0, slack, -np.inf)


def constrained_ranks(values: NDArray[np.float64], slack: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Cuts by their values where constraints are kept; by how nearly they are kept where none keeps them."""
    if slack is None:
        return values
    kept = (slack >= 0) & (values > -np.inf)
    if kept.any():
        return np.where(kept, values, -np.inf)
    near = np.where(values > -np.inf, slack, -np.inf)
    return near if np.isfinite(near).any() else values


def _effective_points(signed_weights: NDArray[Any]) -> tuple[float, float]:
    """As many points of each class, all weighted alike, as would tell as much."""
    weights = signed_weights.astype(np.float64)
    numbers = []
    for mine in (weights[weights > 0], weights[weights < 0]):
        squares = float(mine @ mine)
        numbers.append(float(mine.sum()) ** 2 / squares if squares > 0 else 0.0)
    return numbers[0], numbers[1]


def _rate_variance(rate: NDArray[np.float64], points: float) -> NDArray[np.float64]:
    share = (points * rate + 0.5) / (points + 1.0)
    return share * (1.0 - share) / (points + 1.0)
