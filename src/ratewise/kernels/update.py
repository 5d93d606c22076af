"""The one learning loop: SPADE's, and that of STAMP and sharpening where the class weights are fixed.

The model is ``scale * direction`` (and an intercept), so that shrinking it, for the projection onto W or for the
L2 penalty, is one multiplication. The mean of the models along the way is taken from a sample of them: every so
many points the current model is added to a sum, times the number of points since the one before. Models change so
little from point to point that a few hundred per pass give the mean; the exact one, however lazily it is kept,
would double the cost of an update.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cache import njit
from ._operations import add_rows, count_values, learned_in_blocks, look_ahead, row_dot, squared_row
from .passes import count_predicted, sum_rewards
from .rows import BLOCK, FASTMATH, VECTOR_BYTES

# A point whose reward hardly changes is not learned from: the row's update would cost more than it moves.
NEGLIGIBLE_SLOPE = 1e-3

# What changes slowly is updated once per stretch of points: the dual pair, the steps, the penalty, the sampled
# mean, the rates. All move fastest at first, so stretches grow with the root of the number of points.
_LONGEST_STRETCH = 32

# To a model of fewer columns every block is added, even where it adds zeros: a branch would cost more.
_SMALL_MODEL = 64

# The cost of a wrong branch prediction (is a row, taken alone, learned from?), in values added in vain.
_WRONG_GUESS = 32

# Below this the scale is folded into the direction. It takes a loop over the columns, so it should be rare; but
# numbers divided by it must not overflow.
_SMALLEST_SCALE = 1e-6


def model_places(rows: Any, n_features: int) -> tuple[int, NDArray[np.intp]]:
    """Return the length of a model's array and where in it each column's weight is, for such rows.

    Sparse rows take the columns as they come. Dense rows take whole vectors of columns, then one vector whose last
    lanes are the columns that remain; the lanes before them stay 0. A model of fewer columns than a vector has
    lanes is left as it is. (Plain loops need no such gap, but a model must mean the same to both versions.)
    """
    columns = np.arange(n_features)
    if not isinstance(rows, np.ndarray):
        return n_features, columns
    lanes = VECTOR_BYTES // rows.dtype.itemsize
    whole = n_features // lanes * lanes
    if whole in (0, n_features):
        return n_features, columns
    gap = lanes - (n_features - whole)
    return whole + lanes, np.where(columns < whole, columns, columns + gap)


@njit(nogil=True, fastmath=FASTMATH, error_model="numpy")
def _push(score: Any, signed_weight: Any, step_weights: Any, reward: Any) -> Any:
    """Return how far to move along the row of a point.

    Arithmetic selects the class, and a move of 0 is not a special case: the processor would mispredict branches
    too often.
    """
    margin = math.copysign(1.0, signed_weight) * score
    slope = reward.slope(margin)
    pull = step_weights[0] * max(signed_weight, 0.0) + step_weights[1] * min(signed_weight, 0.0)
    return pull * (slope if slope > NEGLIGIBLE_SLOPE else 0.0)


@njit(nogil=True, error_model="numpy")
def _stretch_after(t: Any, longest: Any) -> Any:
    """Return the number of points of the stretch after t points."""
    return min(max(int(math.sqrt(t) / (2 * BLOCK)) * BLOCK, BLOCK), longest)


@njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def learn(
    rows: Any,
    signed_weights: Any,
    starts: Any,
    stops: Any,
    direction: Any,
    model_sum: Any,
    state: Any,
    steps: Any,
    radius: Any,
    reward: Any,
    measure: Any,
) -> None:
    """Learn from the points of some ranges of rows, in order; ``direction``, ``model_sum``, ``state`` change.

    ``signed_weights[i]`` is the sample weight of point i, negative for a point of the negative class. ``radius``
    bounds the model's length; None: unbounded. ``measure`` is a concave measure whose dual pair is learned along
    (Algorithm 1), or None for fixed class weights. (numba compiles a separate loop for each None.)

    Each point moves the model. The dual pair, whose cost does not depend on the columns and would outweigh that of
    a short row, moves once per stretch, by the sum of the moves of its points.
    """
    s = state[0]
    t = int(s.points)
    scale, squared_length = s.scale, s.squared_length
    intercept, intercept_sum = s.intercept, s.intercept_sum
    summed, unsummed = s.summed, s.unsummed
    alpha, beta = s.alpha, s.beta
    positives, negatives = s.positives, s.negatives
    true_positives, true_negatives = s.true_positives, s.true_negatives
    gain = steps.intercept_gain
    longest = min(_LONGEST_STRETCH, max(steps.average_every, BLOCK))
    scores = np.empty(_LONGEST_STRETCH)
    add_always = False
    for k in range(starts.size):
        begin = starts[k]
        while begin < stops[k]:
            length = min(_stretch_after(t, longest), stops[k] - begin)
            root = 1.0 / math.sqrt(t + length)
            step, dual_step = steps.step * root, steps.dual_step * root
            epsilon = 0.0
            if measure is not None:  # noqa: SIM102 (numba prunes on a lone test for None)
                if not measure.lipschitz:
                    epsilon = math.sqrt(root)
            inverse_scale = 1.0 / scale
            step_weights = (step * alpha * steps.per_positive, step * beta * steps.per_negative)
            learned = 0
            for first in range(begin, begin + length, BLOCK):
                count = min(BLOCK, begin + length - first)
                if learned_in_blocks(rows) and count == BLOCK and radius is None:
                    # The scores of all four at once; the products of their rows say what learning from one adds to
                    # the scores of the next.
                    d0, d1, d2, d3, p01, p02, p12, p03, p13, p23 = look_ahead(rows, first, direction)
                    y0, y1 = np.float64(signed_weights[first]), np.float64(signed_weights[first + 1])
                    y2, y3 = np.float64(signed_weights[first + 2]), np.float64(signed_weights[first + 3])
                    z0 = scale * d0 + intercept
                    push0 = _push(z0, y0, step_weights, reward)
                    z1 = scale * d1 + intercept + push0 * (p01 + gain)
                    push1 = _push(z1, y1, step_weights, reward)
                    z2 = scale * d2 + intercept + push0 * (p02 + gain) + push1 * (p12 + gain)
                    push2 = _push(z2, y2, step_weights, reward)
                    z3 = (
                        scale * d3 + intercept + push0 * (p03 + gain) + push1 * (p13 + gain) + push2 * (p23 + gain)
                    )
                    push3 = _push(z3, y3, step_weights, reward)
                    place = first - begin
                    scores[place], scores[place + 1], scores[place + 2], scores[place + 3] = z0, z1, z2, z3
                    moved = abs(push0) + abs(push1) + abs(push2) + abs(push3)
                    if moved != 0.0 or direction.size < _SMALL_MODEL:
                        f0, f1 = push0 * inverse_scale, push1 * inverse_scale
                        f2, f3 = push2 * inverse_scale, push3 * inverse_scale
                        intercept += gain * (push0 + push1 + push2 + push3)
                        add_rows(rows, first, (f0, f1, f2, f3), direction)
                else:
                    for i in range(first, first + count):
                        linear = scale * row_dot(rows, i, direction)
                        y = np.float64(signed_weights[i])
                        push = _push(linear + intercept, y, step_weights, reward)
                        scores[i - begin] = linear + intercept
                        learned += push != 0.0
                        if add_always or push != 0.0:
                            intercept += gain * push
                            add_rows(rows, i, (push * inverse_scale,), direction)
                            if radius is not None:
                                squared_length += push * (2.0 * linear + push * squared_row(rows, i))
                                if squared_length > radius * radius:
                                    scale *= radius / math.sqrt(squared_length)
                                    inverse_scale = 1.0 / scale
                                    squared_length = radius * radius

            end = begin + length
            if measure is not None:
                on_positives, on_negatives = sum_rewards(scores[:length], signed_weights[begin:end], reward)
                slope_alpha, slope_beta = measure.conjugate_gradient(alpha, beta)
                down_alpha = steps.per_positive * on_positives + length * epsilon
                down_beta = steps.per_negative * on_negatives + length * epsilon
                alpha, beta = measure.project(
                    alpha + dual_step * (length * steps.conjugate_sign * slope_alpha - down_alpha),
                    beta + dual_step * (length * steps.conjugate_sign * slope_beta - down_beta),
                    epsilon,
                )

            shrink = 1.0 / (1.0 + length * step * steps.l2)
            scale *= shrink
            squared_length *= shrink * shrink
            if scale < _SMALLEST_SCALE:
                for j in range(direction.size):
                    direction[j] *= direction.dtype.type(scale)
                scale = 1.0
            unsummed += length
            if unsummed >= steps.average_every:
                share = direction.dtype.type(unsummed * scale)
                for j in range(direction.size):
                    model_sum[j] += share * direction[j]
                intercept_sum += unsummed * intercept
                summed += unsummed
                unsummed = 0.0
            # Where many rows are learned from, adding zeros for the others costs less than wrong predictions.
            add_always = count_values(rows, begin, end) * (length - learned) < _WRONG_GUESS * learned * length
            counted = count_predicted(scores[:length], signed_weights[begin:end], 0.0)
            positives += counted[0]
            true_positives += counted[1]
            negatives += counted[2]
            true_negatives += counted[3]
            t, begin = t + length, end

    s.points, s.scale, s.squared_length = t, scale, squared_length
    s.intercept, s.intercept_sum = intercept, intercept_sum
    s.summed, s.unsummed = summed, unsummed
    s.alpha, s.beta = alpha, beta
    s.positives, s.negatives = positives, negatives
    s.true_positives, s.true_negatives = true_positives, true_negatives
