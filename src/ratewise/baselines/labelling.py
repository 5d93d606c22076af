"""Find the most violated labelling of a structural SVM without visiting all contingency tables (compiled).

The value of a labelling of n points is its loss 1 - measure, minus the mean signed score of its errors:

    loss(labelling) - (1/n) * (sum of y * score over the points it gets wrong)

Among labellings with i wrong positives and j wrong negatives the best one gets the i lowest positives and the j
highest negatives wrong. So the search is over tables (i, j), of value ``loss(i, j) + rows[i] + columns[j]``, where
rows and columns are running sums of sorted scores, both concave. There are n_pos * n_neg tables; two properties
of the loss reduce the search to far fewer.

*Concave columns.* If the loss is concave in j for every i, so is the value, and each i needs one binary search:
O(n_pos log n_neg). Take a ratio A/B of affine functions that grows with both rates. Its second derivative in the
TNR is -2 (B_N / B) times its slope, so with B_N <= 0 the measure is convex and the loss concave. Examples are
F-beta and Jaccard. If B_P <= 0 instead, the two classes change places.

*Monotone columns.* If the loss's mixed difference, loss(i+1, j+1) - loss(i+1, j) - loss(i, j+1) + loss(i, j), has
one sign, so has the value's, and the best j moves one way as i grows. Find the best j of the middle i among
all; then each half of the rows needs its own side of the columns only: O((n_pos + n_neg) log n_pos). The mixed
difference of the measure Psi has the sign of Psi_PN:

- Where Psi is concave and scales with its arguments, Psi(cP, cN) = c Psi(P, N), its slope Psi_P is the same all
  along a ray, P Psi_PP + N Psi_PN = 0, hence Psi_PN = -P Psi_PP / N >= 0, and the best j falls. Such are Min
  (whole, corner and all), G-mean and H-mean, and, as a function of the two miss rates, Q-mean less 1.
- A ratio A/B with B_P, B_N > 0, such as Gower-Legendre, has Psi_PN = -(B_P Psi_N + B_N Psi_P) / B <= 0, and the
  best j grows.

Either way tables far from the labelling by the scores' signs are excluded first: the best labelling gets every
point wrong whose score has the wrong sign, and gives up no more score than the range of the loss.

The compiled functions are in one file because numba does not notice an edit of a function inlined from another.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..kernels import FASTMATH, add_rows, njit, row_dot
from ..measures import GMean, HMean, Measure, MinRate, PseudoLinearMeasure, QMean

RATIO, MIN, QMEAN, GMEAN, HMEAN = range(5)
_CONCAVE: dict[type[Measure], int] = {MinRate: MIN, QMean: QMEAN, GMean: GMEAN, HMean: HMEAN}
_UNUSED = (0.0, 0.0, 0.0)


class TableLoss(NamedTuple):
    """One minus a measure, in the form compiled code takes, with the property its search may rely on."""

    kind: int
    """RATIO or one of the concave measures."""
    numerator: tuple[float, float, float]
    """The coefficients of a RATIO: constant, TPR, TNR."""
    denominator: tuple[float, float, float]
    concave: bool
    """Whether the value is concave in the column; otherwise the best column is monotone in the row."""
    rising: bool
    """For monotone columns: whether the best column grows with the row."""
    transposed: bool
    """Whether rows count wrong negatives instead of wrong positives."""


def table_loss_of(measure: Measure, prevalence: float) -> TableLoss:
    """Return the loss 1 - measure at this prevalence, in the form compiled code takes.

    Raises
    ------
    ValueError
        If no fast search is known for the measure.
    """
    if isinstance(measure, PseudoLinearMeasure):
        return _ratio(measure, prevalence)
    if type(measure) in _CONCAVE:
        kind = _CONCAVE[type(measure)]
        return TableLoss(kind, _UNUSED, _UNUSED, concave=False, rising=False, transposed=False)
    raise ValueError(
        f"There is no fast search for the most violated labelling under {measure.label}: structural SVMs take "
        "pseudo-linear measures (F-beta, Jaccard, ...), min, qmean, gmean and hmean. PlugIn takes any measure."
    )


def _ratio(measure: PseudoLinearMeasure, prevalence: float) -> TableLoss:
    measure.check_against(prevalence)
    a, b = measure.coefficients(prevalence)
    if b[0] < 0:
        a, b = (-a[0], -a[1], -a[2]), (-b[0], -b[1], -b[2])
    numerator, denominator = (float(a[0]), float(a[1]), float(a[2])), (float(b[0]), float(b[1]), float(b[2]))
    concave = b[2] <= 0 or b[1] <= 0
    return TableLoss(RATIO, numerator, denominator, concave, rising=True, transposed=b[2] > 0 and concave)


@njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def table_loss(loss: Any, tpr: float, tnr: float) -> float:
    """Return the loss at these rates."""
    if loss.kind == RATIO:
        a, b = loss.numerator, loss.denominator
        denominator = b[0] + b[1] * tpr + b[2] * tnr
        return 1.0 - (a[0] + a[1] * tpr + a[2] * tnr) / denominator if denominator != 0.0 else 1.0
    if loss.kind == MIN:
        return 1.0 - min(tpr, tnr)
    if loss.kind == QMEAN:
        return math.sqrt(0.5 * ((1.0 - tpr) * (1.0 - tpr) + (1.0 - tnr) * (1.0 - tnr)))
    if loss.kind == GMEAN:
        return 1.0 - math.sqrt(tpr * tnr)
    return 1.0 - 2.0 * tpr * tnr / (tpr + tnr) if tpr + tnr > 0.0 else 1.0


@njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def _loss_of_errors(loss: Any, row: int, column: int, n_rows: int, n_columns: int) -> Any:
    row_rate, column_rate = 1.0 - row / n_rows, 1.0 - column / n_columns
    if loss.transposed:
        return table_loss(loss, column_rate, row_rate)
    return table_loss(loss, row_rate, column_rate)


@njit(cache=True, nogil=True)
def _reachable(sums: Any, reach: float) -> tuple[int, int]:
    """Return the first and last place where a concave sequence is past its peak, by at most ``reach``."""
    first = int(np.argmax(sums))
    last = first
    while last + 1 < sums.size and sums[first] - sums[last + 1] <= reach:
        last += 1
    return first, last


@njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def _window(loss: Any, rows: Any, columns: Any) -> tuple[int, int, int, int]:
    """Return the first and last row and column of the tables that can be best; the loss grows with all errors."""
    reach = (table_loss(loss, 0.0, 0.0) - table_loss(loss, 1.0, 1.0)) * (1.0 + 1e-9)
    top, bottom = _reachable(rows, reach)
    left, right = _reachable(columns, reach)
    return top, bottom, left, right


@njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def concave_search(loss: Any, rows: Any, columns: Any) -> tuple[int, int, float]:
    """Return the best table where the value is concave in the column: (row, column, value)."""
    n_rows, n_columns = rows.size - 1, columns.size - 1
    best_row, best_column, best = 0, 0, -np.inf
    top, bottom, left, right = _window(loss, rows, columns)
    for row in range(top, bottom + 1):
        low, high = left, right
        while low < high:
            middle = (low + high) // 2
            gain = _loss_of_errors(loss, row, middle + 1, n_rows, n_columns)
            gain -= _loss_of_errors(loss, row, middle, n_rows, n_columns)
            gain += columns[middle + 1] - columns[middle]
            if gain > 0.0:
                low = middle + 1
            else:
                high = middle
        value = _loss_of_errors(loss, row, low, n_rows, n_columns) + rows[row] + columns[low]
        if value > best:
            best_row, best_column, best = row, low, value
    return best_row, best_column, best


@njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def monotone_search(loss: Any, rows: Any, columns: Any) -> tuple[int, int, float]:
    """Return the best table where the best column is monotone in the row: (row, column, value)."""
    n_rows, n_columns = rows.size - 1, columns.size - 1
    best_row, best_column, best = 0, 0, -np.inf
    # Open parts of the table, as first and last row and column. Halving leaves one open part per level.
    parts = [_window(loss, rows, columns)]
    while len(parts) > 0:
        first, last, left, right = parts.pop()
        middle = (first + last) // 2
        here, highest = left, -np.inf
        for column in range(left, right + 1):
            value = _loss_of_errors(loss, middle, column, n_rows, n_columns) + columns[column]
            if value > highest:
                here, highest = column, value
        if highest + rows[middle] > best:
            best_row, best_column, best = middle, here, highest + rows[middle]
        if first < middle:
            parts.append((first, middle - 1, left, here) if loss.rising else (first, middle - 1, here, right))
        if middle < last:
            parts.append((middle + 1, last, here, right) if loss.rising else (middle + 1, last, left, here))
    return best_row, best_column, best


@njit(cache=True, nogil=True)
def _running_sums(ordered: Any, factor: float) -> Any:
    sums = np.empty(ordered.size + 1)
    sums[0] = 0.0
    for k in range(ordered.size):
        sums[k + 1] = sums[k] + factor * ordered[k]
    return sums


@njit(cache=True, nogil=True)
def most_violated_table(loss: Any, positives: Any, negatives: Any) -> tuple[int, int, float]:
    """Return the wrong positives, the wrong negatives and the value of the most violated labelling.

    ``positives`` are the positives' scores, lowest first; ``negatives`` the negatives', highest first.
    """
    n = positives.size + negatives.size
    given_up = _running_sums(positives, -1.0 / n)
    gained = _running_sums(negatives, 1.0 / n)
    rows, columns = (gained, given_up) if loss.transposed else (given_up, gained)
    if loss.concave:
        row, column, value = concave_search(loss, rows, columns)
    else:
        row, column, value = monotone_search(loss, rows, columns)
    return (column, row, value) if loss.transposed else (row, column, value)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def learn_batches(
    rows: Any,
    signed_weights: Any,
    starts: Any,
    stops: Any,
    model: Any,
    total: Any,
    steps: Any,
    radius: float,
    loss: Any,
    kernels: Any,
) -> None:
    """Take one step of 1PMB for each range of rows, along the gradient of the structural SVM of the range.

    ``model`` (laid out for the rows, intercept last) and ``total``, the sum of the models after each step, change.
    A range without points of both classes has no measure and is left out. ``kernels`` is any reward: its type
    names the state of the kernels' sources, so that an edit there compiles this again.
    """
    weights = model[:-1]
    for k in range(starts.size):
        start, size = starts[k], stops[k] - starts[k]
        scores = np.empty(size, dtype=model.dtype)
        for i in range(size):
            scores[i] = row_dot(rows, start + i, weights) + model[-1]
        order = np.argsort(scores)
        positive = signed_weights[start : start + size][order] > 0
        positives, negatives = order[positive], order[~positive][::-1]
        if positives.size > 0 and negatives.size > 0:
            missed, raised, _ = most_violated_table(loss, scores[positives], scores[negatives])
            push = steps[k] / size
            for i in positives[:missed]:
                add_rows(rows, start + i, (push,), weights)
            for i in negatives[:raised]:
                add_rows(rows, start + i, (-push,), weights)
            model[-1] += model.dtype.type(push * (missed - raised))
            length = math.sqrt(np.dot(model, model))
            if length > radius:
                model *= model.dtype.type(radius / length)
        total += model
