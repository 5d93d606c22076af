"""The confusion matrix, from which rates, measures and bounds are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rates(NamedTuple):
    """True positive rate, true negative rate, and the share of positives among the counted rows.

    They are numbers, or arrays with an entry per cut, per draw or per class (each against the rest).

    Examples
    --------
    >>> from ratewise.measures import rates_from_labels
    >>> rates_from_labels([0, 0, 1, 1], [0, 1, 1, 1])
    Rates(tpr=1.0, tnr=0.5, prevalence=0.5)
    """

    tpr: Any
    tnr: Any
    prevalence: Any

    @classmethod
    def of_totals(cls, positives: Any, true_positives: Any, negatives: Any, true_negatives: Any) -> Rates:
        """Return the rates from these weights, in the order of the compiled loops; 0 for a class without rows."""
        if isinstance(positives, float):  # three times as fast as arrays of one, and fits call it often
            tpr = true_positives / positives if positives > 0 else 0.0
            tnr = true_negatives / negatives if negatives > 0 else 0.0
            return cls(tpr, tnr, positives / max(positives + negatives, 1e-300))
        tpr, tnr = true_positives / np.maximum(positives, 1e-300), true_negatives / np.maximum(negatives, 1e-300)
        return cls(tpr, tnr, positives / np.maximum(positives + negatives, 1e-300))

    @classmethod
    def above_cuts(cls, true_positives: Any, false_positives: Any, positives: Any, negatives: Any) -> Rates:
        """Return the rates if these weights of each class are predicted positive: arrays with an entry per cut."""
        nothing = np.zeros(np.shape(true_positives))
        tpr = true_positives / positives if positives > 0 else nothing
        tnr = 1.0 - false_positives / negatives if negatives > 0 else nothing
        return cls(tpr, tnr, positives / (positives + negatives))

    def each(self) -> list[Rates]:
        """Return the rates of every cut, draw or class as numbers."""
        return [Rates(*map(float, one)) for one in zip(*self, strict=True)]

    @property
    def alert_rate(self) -> Any:
        """The share of all rows that are predicted positive."""
        false_positives = (1.0 - np.asarray(self.prevalence)) * (1.0 - np.asarray(self.tnr))
        return np.asarray(self.prevalence) * self.tpr + false_positives

    @property
    def precision(self) -> Any:
        """The share of positives among the rows predicted positive; 0 if no row is predicted positive."""
        true_positives, predicted = np.asarray(self.prevalence) * self.tpr, np.asarray(self.alert_rate)
        return np.where(predicted > 0, true_positives / np.where(predicted > 0, predicted, 1.0), 0.0)[()]


@dataclass(frozen=True)
class Counts:
    """The weight of the rows of each class that were predicted as each class: ``weights[..., true, predicted]``.

    Leading axes are groups. ``squares`` are the sums of the squared weights; None if every row weighs 1. With two
    classes, the positive one is number 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.counts import Counts
    >>> counts = Counts.of_labels(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]))
    >>> counts.weights
    array([[1, 0],
           [1, 2]])
    >>> counts.rates.tpr
    0.6666666666666666
    """

    weights: NDArray[Any]
    squares: NDArray[Any] | None = None

    @classmethod
    def of_labels(
        cls,
        true: NDArray[Any],
        predicted: NDArray[Any],
        sample_weight: NDArray[Any] | None = None,
        *,
        n_classes: int = 2,
        groups: NDArray[Any] | None = None,
        n_groups: int | None = None,
    ) -> Counts:
        """Count rows by the numbers of their true and predicted classes, and of their groups if there are any."""
        shape: tuple[int, ...] = (n_classes, n_classes)
        cells = n_classes * true.astype(np.intp) + predicted
        if groups is not None:
            shape = (int(groups.max()) + 1 if n_groups is None else n_groups, *shape)
            cells = cells + n_classes * n_classes * groups

        def summed(weights: NDArray[Any] | None) -> NDArray[Any]:
            return np.bincount(cells, weights, minlength=int(np.prod(shape))).reshape(shape)

        with np.errstate(over="ignore"):  # of weights that no sum of squares can hold
            return cls(summed(sample_weight), None if sample_weight is None else summed(sample_weight**2))

    @classmethod
    def of_models(cls, true: NDArray[np.bool_], predicted: NDArray[np.bool_], weights: NDArray[Any]) -> Counts:
        """Count the predictions of several models, along the leading axes of ``predicted``, for two classes."""
        one_of_each = np.stack([~true, true], axis=1)
        columns = np.hstack([one_of_each * weights[:, np.newaxis], one_of_each * weights[:, np.newaxis] ** 2])
        positive = predicted.astype(np.float64) @ columns
        negative = np.maximum(columns.sum(axis=0) - positive, 0.0)
        cells = np.stack([negative, positive], axis=-1)
        return cls(cells[..., :2, :], cells[..., 2:, :])

    @classmethod
    def of_two(
        cls, true_positives: Any, false_negatives: Any, false_positives: Any, true_negatives: Any
    ) -> Counts:
        """Return the table of two classes."""
        return cls(np.array([[true_negatives, false_positives], [false_negatives, true_positives]]))

    def merge(self, other: Counts) -> Counts:
        """Return the sum of both counts."""
        if self.squares is None and other.squares is None:
            return Counts(self.weights + other.weights)
        return Counts(self.weights + other.weights, self.squared() + other.squared())

    def decay(self, factor: float) -> Counts:
        """Return the counts of the same rows, each weighing ``factor`` times as much."""
        return Counts(factor * self.weights, factor * factor * self.squared())

    def squared(self) -> NDArray[Any]:
        """Return the sums of the squared weights."""
        return self.weights if self.squares is None else self.squares

    def effective_points(self) -> Any:
        """Return the effective rows of each class: the number of equally informative rows of equal weight."""
        return effective_points(self.weights.sum(axis=-1), self.squared().sum(axis=-1))

    @property
    def rates(self) -> Rates:
        """TPR, TNR and prevalence of two classes."""
        true_negatives, true_positives = self.weights[..., 0, 0], self.weights[..., 1, 1]
        totals = self.weights.sum(axis=-1)
        found = Rates.of_totals(totals[..., 1], true_positives, totals[..., 0], true_negatives)
        return found if np.ndim(found.tpr) else Rates(*map(float, found))

    def one_vs_rest(self) -> Rates:
        """Return the rates of every class against the rest: arrays whose last axis is the class."""
        totals, predicted = self.weights.sum(axis=-1), self.weights.sum(axis=-2)
        return one_vs_rest_rates(np.diagonal(self.weights, axis1=-2, axis2=-1), predicted, totals)

    def by_name(self) -> dict[str, Any]:
        """Return the four counts of two classes by their names."""
        (true_negatives, false_positives), (false_negatives, true_positives) = self.weights.tolist()
        return {
            "true_positives": true_positives,
            "false_negatives": false_negatives,
            "false_positives": false_positives,
            "true_negatives": true_negatives,
        }


def effective_points(total: Any, squares: Any) -> Any:
    """Return the effective number of rows (Kish), from sums of weights and of squared weights."""
    if isinstance(total, float):
        return total**2 / squares if squares > 0 else 0.0
    return np.where(squares > 0, np.square(total, dtype=np.float64) / np.where(squares > 0, squares, 1), 0.0)


def against_the_rest(points: NDArray[Any]) -> list[tuple[float, float]]:
    """Return the points of each class, and the points of all other classes."""
    total = points.sum()
    return [(one, float(total - one)) for one in points.tolist()]


def one_vs_rest_rates(right: Any, predicted: Any, totals: Any) -> Rates:
    """Return rates per class from the correct, the predicted and the true weight of each class."""
    everything = totals.sum(axis=-1, keepdims=True)
    tpr = right / np.maximum(totals, 1e-300)
    tnr = 1.0 - (predicted - right) / np.maximum(everything - totals, 1e-300)
    return Rates(np.clip(tpr, 0.0, 1.0), np.clip(tnr, 0.0, 1.0), totals / everything)


def mean_rates(table: NDArray[Any]) -> Rates:
    """Return the mean rates of all classes, each against the rest, from C[true, predicted]."""
    return Rates(*(float(one.mean()) for one in Counts(table).one_vs_rest()))


def sums_by_class(codes: NDArray[np.intp], values: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    """Return the sums of the rows' values by class."""
    sums: NDArray[Any] = np.bincount(codes, weights=values, minlength=n_classes)
    return sums.astype(np.float64, copy=False)
