"""Offsets of many classes' scores, so that the highest one wins where the macro average wants it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from ..streams import sums_by_class
from .macro import ClassRates

_CUTS = 256
_WORTH_A_MOVE = 1e-9


def best_offsets(
    scores: NDArray[Any],
    codes: NDArray[np.intp],
    weights: NDArray[Any],
    measure: Measure,
    *,
    rounds: int = 2,
) -> NDArray[np.float64]:
    """What to add to each class's score for the best macro average on these rows.

    Class by class, all others held still: the rows are put in the order of that class's lead over its best rival,
    and the line is drawn where the macro average is highest. Of many rows some 256 places are tried.
    """
    moved = np.array(scores, dtype=np.float64)
    offsets = np.zeros(moved.shape[1])
    for _ in range(rounds):
        for k in range(moved.shape[1]):
            change = _best_move(moved, codes, weights, measure, k)
            moved[:, k] += change
            offsets[k] += change
    return offsets


def _best_move(
    scores: NDArray[np.float64], codes: NDArray[np.intp], weights: NDArray[Any], measure: Measure, k: int
) -> float:
    others = scores.copy()
    others[:, k] = -np.inf
    rivals = others.argmax(axis=1)
    leads = scores[:, k] - others[np.arange(codes.size), rivals]
    order = np.argsort(-leads, kind="stable")
    ordered = leads[order]
    now = int(np.count_nonzero(leads > 0))
    cuts = _places(ordered, now, int(np.count_nonzero(codes == k)))
    values = _values_at(cuts, order, rivals, codes, weights, measure, k, scores.shape[1])
    best = int(np.argmax(values))
    if values[best] <= values[int(np.searchsorted(cuts, now))] + _WORTH_A_MOVE:
        return 0.0
    place = int(cuts[best])
    above = ordered[place - 1] if place > 0 else ordered[0] + 1.0
    below = ordered[place] if place < ordered.size else ordered[-1] - 1.0
    return float(-0.5 * (above + below))


def _places(ordered: NDArray[np.float64], now: int, wanted: int) -> NDArray[np.intp]:
    """Numbers of rows to call: those between different leads, thinned out, and what is called now."""
    furthest = min(ordered.size, 3 * max(now, wanted) + 1)
    places = np.unique(np.linspace(0, furthest, min(_CUTS, furthest) + 1).astype(np.intp))
    inner = (places > 0) & (places < ordered.size)
    differ = ~inner
    differ[inner] = ordered[places[inner]] != ordered[places[inner] - 1]
    return np.union1d(places[differ], [now]).astype(np.intp)


def _values_at(
    cuts: NDArray[np.intp],
    order: NDArray[np.intp],
    rivals: NDArray[np.intp],
    codes: NDArray[np.intp],
    weights: NDArray[Any],
    measure: Measure,
    k: int,
    n_classes: int,
) -> NDArray[np.float64]:
    """The macro average if the first so many rows are called k and all others as their rivals have it."""
    taken = np.searchsorted(cuts, np.arange(order.size), side="right")  # the first cut that takes a row in
    rivals, truth, weight = rivals[order], codes[order], weights[order].astype(np.float64)
    right_so_far = weight * (truth == rivals)
    room = (cuts.size + 1) * n_classes

    def by_cut(values: NDArray[np.float64], classes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Summed by class over all rows that each cut takes in."""
        sums = sums_by_class(taken * n_classes + classes, values, room)
        found: NDArray[np.float64] = sums.reshape(-1, n_classes)[: cuts.size].cumsum(axis=0)
        return found

    calls = sums_by_class(rivals, weight, n_classes) - by_cut(weight, rivals)
    hits = sums_by_class(rivals, right_so_far, n_classes) - by_cut(right_so_far, rivals)
    here = np.full(order.size, k)
    calls += by_cut(weight, here)
    hits += by_cut(weight * (truth == k), here)
    totals = sums_by_class(truth, weight, n_classes)
    rates = ClassRates.of_counts(hits, calls, totals)
    there = totals > 0
    values = np.asarray(measure.value(rates.tpr[:, there], rates.tnr[:, there], rates.prevalence[there]))
    means: NDArray[np.float64] = values.mean(axis=1, dtype=np.float64)
    return means
