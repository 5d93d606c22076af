"""Offsets of many classes by coordinate search: one class at a time, with all others fixed.

Rows are counted by their labels or, if probabilities are available, half by these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..counts import sums_by_class
from ..measures import ConfusionMeasure

_CELLS = 1 << 21  # cells in the tables of all moves that are tried for a class
_WORTH_A_MOVE = 1e-9


class OfTables(Protocol):
    """A ranking of decisions by C[..., true, predicted]: a measure, or a measure and bounds."""

    by_class: ClassVar[bool]
    """Whether it needs only the correct, the predicted and the true rows of each class."""

    def value(self, table: NDArray[Any]) -> Any: ...


class Effort(NamedTuple):
    """How often each class is moved, and how many moves are tried."""

    rounds: int
    places: int


BY_LABELS = Effort(2, 256)
"""Of 128 places macro F1 is .002 lower on letter and digits; a third round costs digits .02 of worst recall."""

BY_PROBABILITIES = Effort(3, 128)
"""Two rounds of 256 places cost .001 of macro F1 on letter, three the worst recall of digits with naive Bayes."""


@dataclass(frozen=True)
class CountedRows(ABC):
    """Rows on which decisions are counted."""

    measure: OfTables
    weights: NDArray[Any]
    totals: NDArray[np.float64]
    """The weight of each class."""

    @abstractmethod
    def share(self, which: NDArray[np.intp] | slice, classes: Any) -> NDArray[Any]:
        """Return the weights of these rows as rows of these classes."""

    @abstractmethod
    def by_cell(self, which: NDArray[np.intp] | slice, cells: NDArray[np.intp], n_cells: int) -> NDArray[Any]:
        """Return the total weight of the rows of each cell as rows of each class."""

    def counts(self, predicted: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return a table, or only the correct, predicted and true weight of each class if these are enough."""
        n_classes, every = self.totals.size, slice(None)
        if self.measure.by_class:
            right = sums_by_class(predicted, self.share(every, predicted), n_classes)
            return np.array([right, sums_by_class(predicted, self.weights, n_classes), self.totals])
        return np.asarray(self.by_cell(every, predicted, n_classes).T, dtype=np.float64)

    def value(self, predicted: NDArray[np.intp]) -> float:
        return float(value_of(self.measure, self.counts(predicted)))


@dataclass(frozen=True)
class LabelledRows(CountedRows):
    """Rows counted by their labels."""

    codes: NDArray[np.intp]

    @classmethod
    def of(cls, codes: NDArray[np.intp], weights: NDArray[Any], n_classes: int, measure: OfTables) -> LabelledRows:
        weights = weights.astype(np.float64)
        return cls(measure, weights, sums_by_class(codes, weights, n_classes), codes)

    def share(self, which: NDArray[np.intp] | slice, classes: Any) -> NDArray[Any]:
        found: NDArray[Any] = self.weights[which] * (self.codes[which] == classes)
        return found

    def by_cell(self, which: NDArray[np.intp] | slice, cells: NDArray[np.intp], n_cells: int) -> NDArray[Any]:
        n_classes = self.totals.size
        both = cells * n_classes + self.codes[which]
        return sums_by_class(both, self.weights[which], n_cells * n_classes).reshape(n_cells, n_classes)


@dataclass(frozen=True)
class ProbableRows(CountedRows):
    """Rows counted half by their labels and half by their probabilities.

    Half expected counts vary less than counts of labels.
    """

    measure: ConfusionMeasure
    probabilities: NDArray[Any]
    truth: NDArray[Any]

    @classmethod
    def of(
        cls, probabilities: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[Any], measure: ConfusionMeasure
    ) -> ProbableRows:
        weights = weights.astype(probabilities.dtype)
        truth = 0.5 * weights[:, np.newaxis] * probabilities
        truth[np.arange(codes.size), codes] += 0.5 * weights
        return cls(measure, weights, truth.sum(axis=0, dtype=np.float64), probabilities, truth)

    def share(self, which: NDArray[np.intp] | slice, classes: Any) -> NDArray[Any]:
        found: NDArray[Any] = self.truth[np.arange(self.weights.size)[which], classes]
        return found

    def by_cell(self, which: NDArray[np.intp] | slice, cells: NDArray[np.intp], n_cells: int) -> NDArray[Any]:
        where, shape = (cells, np.arange(cells.size)), (n_cells, cells.size)
        members = sparse.csr_array((np.ones(cells.size, self.truth.dtype), where), shape=shape)
        found: NDArray[Any] = members @ self.truth[which]
        return found


def value_of(measure: Any, counts: NDArray[np.float64]) -> Any:
    """Return the measure of the counts from :meth:`CountedRows.counts`."""
    return measure.value_by_class(*np.moveaxis(counts, -2, 0)) if measure.by_class else measure.value(counts)


def moved_class_by_class(rows: CountedRows, scores: NDArray[np.float64], effort: Effort) -> NDArray[np.float64]:
    """Move one class after another to the best value of the measure; return the moves, and add them to the scores.

    The rows are sorted by the class's lead over its best rival, and the cut is put where the measure is highest.
    """
    offsets = np.zeros(scores.shape[1])
    for _ in range(effort.rounds):
        moves = np.zeros(offsets.size)
        for k in range(offsets.size):
            moves[k] = _best_move(rows, scores, k, effort.places)
            scores[:, k] += moves[k]
        offsets += moves
        if not moves.any():
            break
    return offsets


def _best_move(rows: CountedRows, scores: NDArray[np.float64], k: int, places: int) -> float:
    """Return the best move of the scores of class k, with all other classes fixed."""
    mine = scores[:, k].copy()
    scores[:, k] = -np.inf
    rivals = scores.argmax(axis=1)
    leads = mine - scores[np.arange(mine.size), rivals]
    scores[:, k] = mine
    now = int(np.count_nonzero(leads > 0))
    wanted = int(rows.totals[k] / max(float(rows.weights.mean()), 1e-300))
    furthest = min(leads.size, 3 * max(now, wanted) + 1)
    first: Any = slice(None)
    if furthest < leads.size // 2:  # one more than can be taken in, to draw the line before it
        first = np.argpartition(-leads, furthest)[: furthest + 1]
    order = np.argsort(-leads[first])  # there is no cut between equal leads
    order = order if isinstance(first, slice) else first[order]
    ordered = leads[order]
    if not rows.measure.by_class:
        places = min(places, max(_CELLS // rows.totals.size**2, 4))
    cuts = _cuts(ordered, now, furthest, places)
    values = value_of(rows.measure, _counts_at(rows, cuts, order[: cuts[-1]], rivals, k))
    best = int(np.argmax(values))
    if values[best] <= values[int(np.searchsorted(cuts, now))] + _WORTH_A_MOVE:
        return 0.0
    place = int(cuts[best])
    above = ordered[place - 1] if place > 0 else ordered[0] + 1.0
    below = ordered[place] if place < ordered.size else ordered[-1] - 1.0
    return float(-0.5 * (above + below))


def _cuts(ordered: NDArray[np.float64], now: int, furthest: int, most: int) -> NDArray[np.intp]:
    """Return candidate numbers of rows to predict as a class: the current one, and some between different
    leads."""
    places = np.unique(np.linspace(0, furthest, min(most, furthest) + 1).astype(np.intp))
    inner = (places > 0) & (places < ordered.size)
    differ = ~inner
    differ[inner] = ordered[places[inner]] != ordered[places[inner] - 1]
    return np.union1d(places[differ], [now]).astype(np.intp)


def _counts_at(
    rows: CountedRows, cuts: NDArray[np.intp], reached: NDArray[np.intp], rivals: NDArray[np.intp], k: int
) -> NDArray[np.float64]:
    """Return the counts if the rows before each cut are predicted as k, and all others as their rivals."""
    n_classes = rows.totals.size
    counts = rows.counts(rivals)
    taken = np.searchsorted(cuts, np.arange(reached.size), side="right")  # the first cut that includes a row
    rivals = rivals[reached]
    cells = taken * n_classes + rivals

    def by_cut(values: NDArray[Any], where: NDArray[np.intp], classes: int) -> NDArray[np.float64]:
        """Return sums over the rows that each cut includes."""
        sums = sums_by_class(where, values, cuts.size * classes)
        return sums.reshape(-1, classes)[: cuts.size].cumsum(axis=0)

    if rows.measure.by_class:
        weights = rows.weights[reached]
        found = np.tile(counts, (cuts.size, 1, 1))
        found[:, 0] -= by_cut(rows.share(reached, rivals), cells, n_classes)
        found[:, 1] -= by_cut(weights, cells, n_classes)
        found[:, 0, k] += by_cut(rows.share(reached, k), taken, 1)[:, 0]
        found[:, 1, k] += by_cut(weights, taken, 1)[:, 0]
        return np.asarray(np.maximum(found, 0.0))
    moved = rows.by_cell(reached, cells, cuts.size * n_classes)
    moved = moved.reshape(cuts.size, n_classes, n_classes).cumsum(axis=0).transpose(0, 2, 1)  # [cut, true, rival]
    found = counts - moved
    found[:, :, k] += moved.sum(axis=2)
    return np.asarray(np.maximum(found, 0.0))  # differences of sums round
