"""The one loop that learns: SPADE's, and STAMP's when the pair of weights is held.

The model is ``scale * direction`` (and an intercept), so that shrinking it, for the projection onto W or for
the L2 penalty, is one multiplication. The mean of all models so far is kept lazily. Let ``mass`` be the sum of
the scales so far; a change d of the direction made at mass m is missing from the earlier models, so the sum of
models is ``mass * direction - shadow`` with ``shadow`` the sum of all m * d. Points that change nothing cost
nothing.

Smooth rewards change something at every point, and then the shadow doubles the cost of an update. Where the mean
need not be exact, the current model is added to the shadow every so many points instead.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from . import csr, dense  # noqa: F401  (they teach dot and add_row the two layouts)
from .rows import FASTMATH, add_row, dot

STATE = np.dtype(
    [
        ("points", "f8"),  # t: points learned from since the step sizes began
        ("scale", "f8"),
        ("squared_length", "f8"),  # of the model without its intercept
        ("mass", "f8"),
        ("intercept", "f8"),
        ("intercept_mass", "f8"),
        ("intercept_shadow", "f8"),
        ("alpha", "f8"),  # the pair of weights on the two rates
        ("beta", "f8"),
        # What happened on the way, each point met before it was learned from:
        ("positives", "f8"),
        ("negatives", "f8"),
        ("positive_hits", "f8"),
        ("negative_hits", "f8"),
    ],
    align=True,
)


# A point whose reward hardly changes is not learned from: the row's update would cost more than it moves.
NEGLIGIBLE_SLOPE = 1e-3

# Below this the scale is folded into the direction, and the sum of models so far into the shadow. It takes a loop
# over the columns, so it should be rare; but ``mass * direction - shadow`` loses digits as the scale falls.
_SMALLEST_SCALE = 1e-3


class LearnSettings(NamedTuple):
    """What stays fixed during one call of :func:`learn`."""

    step: float
    """Primal step at t = 1; it falls as 1 / sqrt(t)."""
    dual_step: float
    """Dual step at t = 1; it falls as 1 / sqrt(t)."""
    conjugate_sign: float
    """+1: the right sign of the conjugate's gradient in the dual step (-1: as Algorithm 1 is printed)."""
    per_positive: float
    """1 / p: what one positive counts in the mean reward of the positives."""
    per_negative: float
    """1 / (1 - p)."""
    l2: float
    radius: float
    average_every: int
    """0 for the exact mean of all models; k to take the mean of every k-th."""
    intercept_gain: float
    """How far the intercept moves with a step: the square of the constant entry it is the weight of.

    1 suits standardised rows; an entry of the rows' own size keeps everything indifferent to their scale."""


@njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def learn(
    rows: Any,
    signed_weights: Any,
    starts: Any,
    stops: Any,
    direction: Any,
    shadow: Any,
    state: Any,
    settings: Any,
    reward: Any,
    measure: Any,
) -> None:
    """Learn from the points of some ranges of rows, in order; ``direction``, ``shadow``, ``state`` change.

    ``signed_weights[i]`` is the sample weight of point i, negative for a point of the negative class.
    ``measure`` is a concave measure whose dual pair is learned along (Algorithm 1), or None to hold the pair.
    """
    s = state[0]
    points, scale, squared_length, mass = s.points, s.scale, s.squared_length, s.mass
    intercept, intercept_mass, intercept_shadow = s.intercept, s.intercept_mass, s.intercept_shadow
    alpha, beta = s.alpha, s.beta
    positives, negatives = s.positives, s.negatives
    positive_hits, negative_hits = s.positive_hits, s.negative_hits

    squared_radius = settings.radius * settings.radius
    t = int(points)
    step, dual_step, shrink, epsilon = 0.0, 0.0, 1.0, 0.0
    steps_due = t
    average_every = settings.average_every
    average_due = t + average_every
    inverse_scale = 1.0 / scale
    for k in range(starts.size):
        for i in range(starts[k], stops[k]):
            signed_weight = np.float64(signed_weights[i])
            if signed_weight == 0.0:
                continue
            t += 1
            if t > steps_due:
                # The steps change slowly, so a root and a division every 32 points are enough.
                root = 1.0 / math.sqrt(t)
                step = settings.step * root
                dual_step = settings.dual_step * root
                shrink = 1.0 / (1.0 + step * settings.l2)
                if measure is not None:  # noqa: SIM102 (numba prunes on a lone test for None)
                    if not measure.lipschitz:
                        epsilon = math.sqrt(root)
                steps_due = t if t < 64 else t + 31

            linear = scale * np.float64(dot(rows, i, direction))
            score = linear + intercept
            if average_every == 0:
                mass += scale
                intercept_mass += 1.0
            elif t >= average_due:
                average_due = t + average_every
                intercept_mass += 1.0
                intercept_shadow += intercept
                for j in range(direction.size):
                    shadow[j] += direction.dtype.type(scale) * direction[j]
            if signed_weight > 0.0:
                margin = score
                counted = signed_weight * settings.per_positive
                pull = alpha * counted
                positives += signed_weight
                if score > 0.0:
                    positive_hits += signed_weight
            else:
                margin = -score
                counted = -signed_weight * settings.per_negative
                pull = -beta * counted
                negatives -= signed_weight
                if score <= 0.0:
                    negative_hits -= signed_weight

            slope = reward.slope(margin)
            if slope > NEGLIGIBLE_SLOPE:
                push = step * pull * slope
                squared = add_row(rows, i, push * inverse_scale, mass, direction, shadow)
                squared_length += push * (2.0 * linear + push * squared)
                change = push * settings.intercept_gain
                intercept += change
                if average_every == 0:
                    intercept_shadow += intercept_mass * change
                if squared_length > squared_radius:
                    scale *= settings.radius / math.sqrt(squared_length)
                    inverse_scale = 1.0 / scale
                    squared_length = squared_radius
            if shrink != 1.0:
                scale *= shrink
                inverse_scale = 1.0 / scale
                squared_length *= shrink * shrink
            if scale < _SMALLEST_SCALE:
                for j in range(direction.size):
                    shadow[j] -= direction.dtype.type(mass) * direction[j]
                    direction[j] *= direction.dtype.type(scale)
                mass = 0.0
                scale = 1.0
                inverse_scale = 1.0

            if measure is not None:
                slope_alpha, slope_beta = measure.conjugate_gradient(alpha, beta)
                a = alpha + settings.conjugate_sign * dual_step * slope_alpha
                b = beta + settings.conjugate_sign * dual_step * slope_beta
                paid = dual_step * (counted * reward.value(margin) + epsilon)
                if signed_weight > 0.0:
                    a -= paid
                    b -= dual_step * epsilon
                else:
                    b -= paid
                    a -= dual_step * epsilon
                alpha, beta = measure.project(a, b, epsilon)

    s.points, s.scale, s.squared_length, s.mass = t, scale, squared_length, mass
    s.intercept, s.intercept_mass, s.intercept_shadow = intercept, intercept_mass, intercept_shadow
    s.alpha, s.beta = alpha, beta
    s.positives, s.negatives = positives, negatives
    s.positive_hits, s.negative_hits = positive_hits, negative_hits
