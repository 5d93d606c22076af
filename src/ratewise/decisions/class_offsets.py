"""Scores of many classes, and the offsets by which the highest score has the best measure."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..counts import Counts, sums_by_class

_CUTS, _CELLS = 256, 1 << 21  # places tried per class, and cells of their tables
_WORTH_A_MOVE = 1e-9


class OfTables(Protocol):
    """What ranks decisions by C[..., true, predicted]: a measure, or a measure and bounds."""

    def value(self, table: NDArray[Any]) -> Any: ...


class ClassScores(NamedTuple):
    """Scores of rows, a column per class, with the class and the weight of each row."""

    scores: NDArray[np.floating[Any]]
    codes: NDArray[np.intp]
    weights: NDArray[Any]

    def plus(self, offsets: NDArray[np.float64]) -> ClassScores:
        return self._replace(scores=self.scores + offsets)

    def centred(self) -> ClassScores:
        """Return scores without what all classes of a row share, which decides nothing."""
        return self._replace(scores=self.scores - self.scores.mean(axis=1, keepdims=True))

    def first(self, rows: int) -> ClassScores:
        return ClassScores(self.scores[:rows], self.codes[:rows], self.weights[:rows])

    def table(self) -> NDArray[np.float64]:
        """Return C[true, predicted], where the highest score wins."""
        counts = Counts.of_labels(
            self.codes, self.scores.argmax(axis=1), self.weights, n_classes=self.scores.shape[1]
        )
        found: NDArray[np.float64] = counts.weights
        return found


def best_offsets(rows: ClassScores, measure: OfTables, *, rounds: int = 2) -> NDArray[np.float64]:
    """Return what to add to each class's score for the best value of the measure on these rows.

    Class by class, all others held still: the rows are put in the order of that class's lead over its best rival,
    and the line is drawn where the measure is highest. Of many rows some 256 places are tried.
    """
    scores = np.array(rows.scores, dtype=np.float64)
    offsets = np.zeros(scores.shape[1])
    for _ in range(rounds):
        for k in range(offsets.size):
            change = _best_move(rows._replace(scores=scores), measure, k)
            scores[:, k] += change
            offsets[k] += change
    return offsets


def _best_move(rows: ClassScores, measure: OfTables, k: int) -> float:
    scores, codes, weights = rows
    others = scores.copy()
    others[:, k] = -np.inf
    rivals = others.argmax(axis=1)
    leads = scores[:, k] - others[np.arange(codes.size), rivals]
    order = np.argsort(-leads, kind="stable")
    ordered = leads[order]
    now = int(np.count_nonzero(leads > 0))
    cuts = _places(ordered, now, int(np.count_nonzero(codes == k)), _CELLS // scores.shape[1] ** 2)
    tables = _tables_at(cuts, codes[order], rivals[order], weights[order], k, scores.shape[1])
    values = np.asarray(measure.value(tables))
    best = int(np.argmax(values))
    if values[best] <= values[int(np.searchsorted(cuts, now))] + _WORTH_A_MOVE:
        return 0.0
    place = int(cuts[best])
    above = ordered[place - 1] if place > 0 else ordered[0] + 1.0
    below = ordered[place] if place < ordered.size else ordered[-1] - 1.0
    return float(-0.5 * (above + below))


def _places(ordered: NDArray[np.float64], now: int, wanted: int, most: int) -> NDArray[np.intp]:
    """Return numbers of rows to predict as a class: those between different leads, thinned, and the present."""
    furthest = min(ordered.size, 3 * max(now, wanted) + 1)
    places = np.unique(np.linspace(0, furthest, min(_CUTS, max(most, 4), furthest) + 1).astype(np.intp))
    inner = (places > 0) & (places < ordered.size)
    differ = ~inner
    differ[inner] = ordered[places[inner]] != ordered[places[inner] - 1]
    return np.union1d(places[differ], [now]).astype(np.intp)


def _tables_at(
    cuts: NDArray[np.intp],
    true: NDArray[np.intp],
    rivals: NDArray[np.intp],
    weights: NDArray[Any],
    k: int,
    n_classes: int,
) -> NDArray[np.float64]:
    """Return C[cut, true, predicted] if so many rows are predicted k, and all others as their rivals."""
    cells, weights = n_classes * n_classes, weights.astype(np.float64)
    taken = np.searchsorted(cuts, np.arange(true.size), side="right")  # the first cut that takes a row in
    moved, room = true * n_classes + rivals, (cuts.size + 1) * cells
    change = sums_by_class(taken * cells + true * n_classes + k, weights, room)
    change -= sums_by_class(taken * cells + moved, weights, room)
    tables = change.reshape(-1, n_classes, n_classes)[: cuts.size].cumsum(axis=0)
    tables += sums_by_class(moved, weights, cells).reshape(n_classes, n_classes)
    found: NDArray[np.float64] = np.maximum(tables, 0.0)
    return found
