"""Many classes: the macro average of a measure, its slopes, and the offsets that suit it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, Rates

_STEP = 1e-6
_CUTS = 256
_WORTH_A_MOVE = 1e-9


@dataclass(frozen=True)
class MultinomialLogistic:
    """Logistic regression of all classes at once: the start of a sharpened fit of more than two classes.

    ``l2`` is the strength of the penalty that validation rows chose.
    """

    l2: float


class MulticlassModel(NamedTuple):
    """The scores of all classes are ``rows @ weights.T + intercepts``, in the units of the rows learned from."""

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]


class ClassRates(NamedTuple):
    """The rates of every class against the rest: three arrays with an entry per class."""

    tpr: NDArray[np.float64]
    tnr: NDArray[np.float64]
    prevalence: NDArray[np.float64]

    @classmethod
    def of_counts(
        cls, hits: NDArray[np.float64], calls: NDArray[np.float64], totals: NDArray[np.float64]
    ) -> ClassRates:
        """From the weight of rows rightly predicted, predicted, and truly of each class."""
        everything = float(totals.sum())
        rest = everything - totals
        tpr = hits / np.maximum(totals, 1e-300)
        tnr = 1.0 - (calls - hits) / np.maximum(rest, 1e-300)
        return cls(np.clip(tpr, 0.0, 1.0), np.clip(tnr, 0.0, 1.0), totals / everything)

    @classmethod
    def of_predictions(
        cls,
        codes: NDArray[np.intp],
        predicted: NDArray[np.intp],
        weights: NDArray[Any],
        n_classes: int,
    ) -> ClassRates:
        right = codes == predicted
        return cls.of_counts(
            sums_by_class(codes[right], weights[right], n_classes),
            sums_by_class(predicted, weights, n_classes),
            sums_by_class(codes, weights, n_classes),
        )

    def value(self, measure: Measure) -> float:
        """The mean over the classes that occur."""
        there = self.prevalence > 0
        values = measure.value(self.tpr[there], self.tnr[there], self.prevalence[there])
        return float(np.mean(values))

    def slopes(self, measure: Measure) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How fast each class's own value grows with its TPR and with its TNR; 0 where a class does not occur.

        By central differences inside [0, 1], for all classes at once: exact enough for steps, for any measure.
        """
        tpr, tnr, prevalence = self
        there = prevalence > 0
        ups_and_downs = np.array([[_STEP], [-_STEP]])
        moved_tpr, moved_tnr = np.clip(tpr + ups_and_downs, 0.0, 1.0), np.clip(tnr + ups_and_downs, 0.0, 1.0)
        values = measure.value(
            np.concatenate([moved_tpr, [tpr, tpr]]),
            np.concatenate([[tnr, tnr], moved_tnr]),
            np.where(there, prevalence, 0.5),
        )
        by_tpr = (values[0] - values[1]) / (moved_tpr[0] - moved_tpr[1])
        by_tnr = (values[2] - values[3]) / (moved_tnr[0] - moved_tnr[1])
        return np.where(there, by_tpr, 0.0), np.where(there, by_tnr, 0.0)

    def by_class(self) -> list[Rates]:
        return [Rates(*map(float, row)) for row in zip(*self, strict=True)]


def softmax(scores: NDArray[Any]) -> NDArray[Any]:
    """The share of each class in every row, in place."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def soft_counts(
    shares: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Hits, calls and totals of every class if each row is called by its shares."""
    n_classes = shares.shape[1]
    right = shares[np.arange(codes.size), codes] * weights
    hits, totals = sums_by_class(codes, right, n_classes), sums_by_class(codes, weights, n_classes)
    return hits, (weights @ shares).astype(np.float64), totals


def macro_pull(
    measure: Measure,
    rates: ClassRates,
    shares: NDArray[Any],
    codes: NDArray[np.intp],
    weights: NDArray[Any],
) -> NDArray[Any]:
    """The gradient of the macro average with respect to every row's scores, per unit of weight of all rows.

    A share of a row's own class adds to that class's TPR, a share of another class takes from that one's TNR; what
    either is worth are the measure's slopes at the rates. Written over ``shares``.
    """
    n_classes = shares.shape[1]
    on_tpr, on_tnr = rates.slopes(measure)
    for_own = on_tpr / np.maximum(rates.prevalence, 1e-300) / n_classes
    for_other = -on_tnr / np.maximum(1.0 - rates.prevalence, 1e-300) / n_classes
    worth = np.tile(for_other.astype(shares.dtype), (codes.size, 1))
    worth[np.arange(codes.size), codes] = for_own[codes]
    worth -= np.einsum("ik,ik->i", shares, worth)[:, np.newaxis]
    shares *= worth
    shares *= weights[:, np.newaxis]
    return shares


def logistic_pull(shares: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[Any]) -> NDArray[Any]:
    """The same for the log likelihood. Written over ``shares``."""
    np.negative(shares, out=shares)
    shares[np.arange(codes.size), codes] += 1.0
    shares *= weights[:, np.newaxis]
    return shares


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


def sums_by_class(codes: NDArray[np.intp], values: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    """Return the values of the rows of each class, added up."""
    sums: NDArray[Any] = np.bincount(codes, weights=values, minlength=n_classes)
    return sums.astype(np.float64, copy=False)
