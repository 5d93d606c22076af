"""The macro average of a measure over many classes, each against the rest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, Rates
from ..streams import sums_by_class

_STEP = 1e-6


class ClassRates(NamedTuple):
    """The rates of every class against the rest: three arrays with an entry a class."""

    tpr: NDArray[np.float64]
    tnr: NDArray[np.float64]
    prevalence: NDArray[np.float64]

    @classmethod
    def of_counts(
        cls, hits: NDArray[np.float64], calls: NDArray[np.float64], totals: NDArray[np.float64]
    ) -> ClassRates:
        """From the weight of rows rightly called, called, and truly of each class."""
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
        still = np.ones((2, 1))
        values = measure.value(
            np.concatenate([moved_tpr, tpr * still]),
            np.concatenate([tnr * still, moved_tnr]),
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
