"""Which thresholds keep a measure's constraints, and by how much."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Constraint, Measure

_DEAR = 0.1
_DOUBT = 1.0


def constraint_slack(
    bounds: Iterable[Constraint],
    tpr: Any,
    tnr: Any,
    points: tuple[float, float],
    caution: float = 1.0,
    *,
    in_doubt: bool = False,
) -> NDArray[np.float64]:
    """How far the rates keep the tightest bound beyond its margin, in standard errors.

    Infinity if there are no bounds. The standard error is that of the constraint's line in two binomial
    rates, each half a point away from 0 and 1, so that no rate is ever taken for certain. Rates at which no
    positive is found keep no constraint: there, any precision could be claimed. ``points`` are the positives and
    the negatives that the rates were seen on; ``caution`` multiplies the margins.
    """
    tpr, tnr = np.asarray(tpr, dtype=np.float64), np.asarray(tnr, dtype=np.float64)
    tpr_variance, tnr_variance = _rate_variance(tpr, points[0]), _rate_variance(tnr, points[1])
    slack = np.full(np.broadcast_shapes(tpr.shape, tnr.shape), np.inf)
    for constraint in bounds:
        error = np.sqrt(constraint.on_tpr**2 * tpr_variance + constraint.on_tnr**2 * tnr_variance)
        rounding = 1e-12 * (abs(constraint.constant) + abs(constraint.on_tpr) + abs(constraint.on_tnr))
        excess = constraint.excess(tpr, tnr) + rounding
        margin = -_DOUBT if in_doubt else constraint.margin
        slack = np.minimum(slack, excess / error - caution * margin)
    return np.where((tpr > 0) | np.isinf(slack), slack, -np.inf)


def constrained_ranks(
    values: NDArray[np.float64],
    measure: Measure,
    tpr: NDArray[np.float64],
    tnr: NDArray[np.float64],
    prevalence: float,
    points: tuple[float, float],
    caution: float | None = 1.0,
) -> NDArray[np.float64]:
    """The values of the cuts that may be chosen, -inf for others; all of them for a measure without constraints.

    Those that keep the constraints by their margins may, as a rule. Where that would cost more than a tenth of the
    measure's scale, penalties included, they get the benefit of the doubt: cuts that miss the constraints by no
    more than one standard error may too. If there are none of either, all may, and the rank is how nearly they
    keep them.

    ``caution`` multiplies the margins; None leaves the constraints out of it.
    """
    bounds = measure.constraints(prevalence)
    if caution is None or not bounds:
        return values
    possible = values > -np.inf

    def best_of(kept: NDArray[np.bool_]) -> float:
        return float(values[kept].max()) if kept.any() else -np.inf

    slack = constraint_slack(bounds, tpr, tnr, points, caution)
    for_sure = possible & (slack >= 0)
    doubtful = constraint_slack(bounds, tpr, tnr, points, caution, in_doubt=True)
    perhaps = possible & (doubtful >= 0)
    useless, perfect = measure.scale(prevalence)
    if for_sure.any() and best_of(for_sure) >= best_of(perhaps) - _DEAR * (perfect - useless):
        return np.where(for_sure, values, -np.inf)
    if perhaps.any():
        return np.where(perhaps, values, -np.inf)
    near = np.where(possible, slack, -np.inf)
    return near if np.isfinite(near).any() else values


def _rate_variance(rate: NDArray[np.float64], points: float) -> NDArray[np.float64]:
    share = (points * rate + 0.5) / (points + 1.0)
    return share * (1.0 - share) / (points + 1.0)
