"""Measures of whole confusion matrices: functions of C[..., true, predicted], of any number of classes.

To add one, write a frozen dataclass with ``value`` and, if there is a formula, ``gains``; and add a line to the
registry of this package. Without a formula, gains are computed by complex step.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._input_checks import labels_of_both, plain_labels
from ..counts import Counts, Rates, one_vs_rest_rates
from .base import Measure, require_positive

Table = NDArray[Any]
"""C[..., true, predicted]: the weight of the rows of each class predicted as each class."""

_COMPLEX_STEP = 1e-30
_STEP = 1e-6  # share of all weight, for functions that do not accept complex numbers


class ConfusionMeasure(ABC):
    """A function of the confusion matrix of any number of classes.

    Examples
    --------
    >>> from ratewise.measures import confusion_measure
    >>> confusion_measure("min").score([0, 1, 1, 2, 2], [0, 1, 0, 2, 2])
    0.5
    """

    smooth: ClassVar[bool] = True
    """False if gains jump at the best decisions; ``softened`` is then a close, smooth measure."""
    by_class: ClassVar[bool] = False
    """True of a :class:`MeasureByClass`, which needs three numbers per class and no table."""

    @property
    def label(self) -> str:
        return repr(self)

    @abstractmethod
    def value(self, table: Table) -> Any:
        """Return the measure of C[..., true, predicted], in any unit of weight."""

    def gains(self, table: Table) -> NDArray[np.float64]:
        """Return the derivative by each cell of C[true, predicted]: the gain of one more row there.

        The complex step is exact; functions that do not accept complex numbers use central differences.
        """
        table = np.asarray(table, dtype=np.float64)
        cells = np.eye(table.size).reshape(table.shape * 2)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a function that drops the imaginary part warns
                steps = [[self.value(table + 1j * _COMPLEX_STEP * cell) for cell in row] for row in cells]
                found = np.imag(np.array(steps, dtype=np.complex128)) / _COMPLEX_STEP
            if np.iscomplexobj(np.array(steps)) and np.isfinite(found).all():
                return found
        except (TypeError, ValueError, Warning):
            pass
        step = _STEP * float(table.sum())
        ups, downs = (
            [[float(self.value(table + sign * step * cell)) for cell in row] for row in cells] for sign in (1, -1)
        )
        differences: NDArray[np.float64] = (np.array(ups) - np.array(downs)) / (2.0 * step)
        return differences

    @property
    def softened(self) -> ConfusionMeasure:
        """A smooth measure to maximize in place of this one."""
        return self

    def scale(self, shares: NDArray[np.float64]) -> tuple[float, float]:
        """Return the values of a useless and of a perfect model, for classes with these shares."""
        return 0.0, 1.0

    def score(
        self, y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None, labels: Any = None
    ) -> float:
        """Return the measure of predicted labels; ``labels`` are the classes in order; the default is all."""
        true, predicted = plain_labels(y_true), plain_labels(y_pred)
        if true.shape != predicted.shape or true.ndim != 1 or true.size == 0:
            raise ValueError(
                f"y_true and y_pred must be one-dimensional, equally long and not empty; got shapes {true.shape} "
                f"and {predicted.shape}."
            )
        classes = labels_of_both(true, predicted) if labels is None else np.asarray(labels)
        order = np.argsort(classes)
        places = [np.searchsorted(classes, one, sorter=order) for one in (true, predicted)]
        codes = [order[np.minimum(one, classes.size - 1)] for one in places]
        if not all((classes[mine] == one).all() for mine, one in zip(codes, (true, predicted), strict=True)):
            raise ValueError(f"Some labels are not among labels={classes.tolist()}.")
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        counts = Counts.of_labels(codes[0], codes[1], weights, n_classes=classes.size)
        return float(self.value(counts.weights))

    def scorer(self, **kwargs: Any) -> Any:
        """Return a scikit-learn scorer; keyword arguments are passed to :meth:`score`."""
        from sklearn.metrics import make_scorer  # slow to import, and measures need it here only

        return make_scorer(self.score, **kwargs)


class MeasureByClass(ConfusionMeasure):
    """A measure that depends only on each class's numbers of correct, predicted and true rows.

    So a thousand classes need no table of a million cells.
    """

    by_class: ClassVar[bool] = True

    @abstractmethod
    def value_by_class(self, right: Any, predicted: Any, true: Any) -> Any:
        """Return the measure of weights per class, along the last axis."""

    @abstractmethod
    def gains_by_class(self, right: Any, predicted: Any, true: Any) -> tuple[Any, Any]:
        """Return the gains of one more row predicted as each class: of a row of this class, and of another class.

        They are correct up to a constant per true class, on which no decision depends.
        """

    def value(self, table: Table) -> Any:
        return self.value_by_class(np.diagonal(table, axis1=-2, axis2=-1), table.sum(axis=-2), table.sum(axis=-1))


def over(part: Any, whole: Any) -> Any:
    """Return part / whole, and 0 where the whole is 0."""
    return np.where(whole == 0, 0.0, part / np.where(whole == 0, 1.0, whole))[()]


class RatioOfCells(ConfusionMeasure):
    """A ratio of two weighted sums of cells; a subclass defines their weights."""

    @abstractmethod
    def cells(self, n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights of the cells in the numerator and in the denominator."""

    def value(self, table: Table) -> Any:
        above, below = ((table * cells).sum(axis=(-2, -1)) for cells in self.cells(table.shape[-1]))
        return over(above, below)

    def gains(self, table: Table) -> NDArray[np.float64]:
        above, below = self.cells(table.shape[-1])
        found: NDArray[np.float64] = (above - self.value(table) * below) / max(
            float((table * below).sum()), 1e-300
        )
        return found


@dataclass(frozen=True)
class Accuracy(RatioOfCells):
    """The share of rows that are predicted right.

    Examples
    --------
    >>> from ratewise.measures import Accuracy
    >>> Accuracy().score([0, 1, 1, 2], [0, 1, 0, 2])
    0.75
    """

    def cells(self, n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.eye(n_classes), np.ones((n_classes, n_classes))

    def scale(self, shares: NDArray[np.float64]) -> tuple[float, float]:
        return float(np.max(shares)), 1.0


@dataclass(frozen=True)
class ClassCosts(RatioOfCells):
    """Minus the mean cost of a row, by ``costs[true][predicted]``.

    Parameters
    ----------
    costs : K x K numbers, or a nested tuple of them
        The cost of a row of each class if it is predicted as each class, 0 or more.

    Examples
    --------
    >>> from ratewise.measures import ClassCosts
    >>> ClassCosts(((0, 1, 1), (5, 0, 1), (9, 1, 0))).score([0, 1, 2, 2], [0, 0, 2, 1])
    -1.5
    """

    costs: Any

    def __post_init__(self) -> None:
        try:
            costs = np.array(self.costs, dtype=np.float64)
        except (TypeError, ValueError):
            costs = np.empty(0)
        if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or costs.size < 4 or not np.isfinite(costs).all():
            raise ValueError("ClassCosts: costs must be a square table of finite numbers, a row per true class.")
        if (costs < 0.0).any():
            raise ValueError(
                "ClassCosts: costs must be 0 or more: add a number to all costs of a true class, which changes no "
                "decision."
            )
        object.__setattr__(self, "costs", tuple(map(tuple, costs.tolist())))

    def cells(self, n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        costs = np.array(self.costs)
        if costs.shape[0] != n_classes:
            raise ValueError(f"ClassCosts: the costs are of {costs.shape[0]} classes, and there are {n_classes}.")
        return -costs, np.ones((n_classes, n_classes))

    def scale(self, shares: NDArray[np.float64]) -> tuple[float, float]:
        costs, shares = np.array(self.costs), np.asarray(shares) / np.sum(shares)
        return -float((shares @ costs).min()), -float(shares @ costs.min(axis=1))


@dataclass(frozen=True)
class MicroFBeta(RatioOfCells):
    """F-beta of the rows of all classes, or of all but one, taken together.

    Parameters
    ----------
    beta : float
    without : int or None
        The number of the class that is left out ("nothing", "other"); with None it is the accuracy.

    Examples
    --------
    >>> from ratewise.measures import MicroFBeta
    >>> MicroFBeta(without=0).score([0, 1, 1, 2], [0, 1, 0, 2])
    0.8
    """

    beta: float = 1.0
    without: int | None = None

    def __post_init__(self) -> None:
        require_positive(self, "beta")

    def cells(self, n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        counted, weight = _counted(n_classes, self.without), self.beta * self.beta
        return np.diag((1.0 + weight) * counted), weight * counted[:, None] + counted


@dataclass(frozen=True)
class MicroJaccard(RatioOfCells):
    """Jaccard's index of the rows of all classes, or of all but one, taken together.

    Examples
    --------
    >>> from ratewise.measures import MicroJaccard
    >>> MicroJaccard(without=0).score([0, 1, 1, 2], [0, 1, 0, 2])
    0.6666666666666666
    """

    without: int | None = None

    def cells(self, n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        counted = _counted(n_classes, self.without)
        return np.diag(counted), counted[:, None] + counted - np.diag(counted)


def _counted(n_classes: int, without: int | None) -> NDArray[np.float64]:
    counted = np.ones(n_classes)
    if without is not None:
        counted[without] = 0.0
    return counted


@dataclass(frozen=True)
class WeightedKappa(ConfusionMeasure):
    """Cohen's kappa for many classes: 1 minus the disagreement divided by that of chance.

    Parameters
    ----------
    weights : None, "linear" or "quadratic"
        The weight of a disagreement: 1, or the distance of the two classes in their order, or its square.

    Examples
    --------
    >>> from ratewise.measures import WeightedKappa
    >>> round(WeightedKappa("quadratic").score([0, 1, 1, 2], [0, 1, 0, 2]), 3)
    0.8
    """

    weights: str | None = None

    def __post_init__(self) -> None:
        if self.weights not in (None, "linear", "quadratic"):
            raise ValueError(
                f"WeightedKappa: weights must be None, 'linear' or 'quadratic'; got {self.weights!r}."
            )

    def _disagreement(self, n_classes: int) -> NDArray[np.float64]:
        apart = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes))).astype(np.float64)
        return np.sign(apart) if self.weights is None else apart if self.weights == "linear" else apart**2

    def _parts(self, table: Table) -> tuple[Any, Any, Any, Any]:
        """Return the disagreement, that of chance, and the weights of each class's row and column in it."""
        weights = self._disagreement(table.shape[-1])
        true, predicted = table.sum(axis=-1), table.sum(axis=-2)
        total = np.maximum(np.real(true.sum(axis=-1)), 1e-300) + 1j * np.imag(true.sum(axis=-1))
        total = total if np.iscomplexobj(table) else np.real(total)
        by_row, by_column = (predicted @ weights) / total[..., None], (true @ weights) / total[..., None]
        return (table * weights).sum(axis=(-2, -1)), (true * by_row).sum(axis=-1), by_row, by_column

    def value(self, table: Table) -> Any:
        seen, chance, _, _ = self._parts(np.asarray(table))
        return np.where(chance == 0, 0.0, 1.0 - over(seen, chance))[()]

    def gains(self, table: Table) -> NDArray[np.float64]:
        seen, chance, by_row, by_column = self._parts(np.asarray(table, dtype=np.float64))
        chance = max(float(chance), 1e-300)
        by_cell = by_row[:, None] + by_column - chance / max(float(np.sum(table)), 1e-300)
        found: NDArray[np.float64] = (seen / chance * by_cell - self._disagreement(table.shape[-1])) / chance
        return found


@dataclass(frozen=True)
class ClassCorrelation(ConfusionMeasure):
    """Matthews' correlation of truth and prediction, of any number of classes (Gorodkin's R_K).

    Examples
    --------
    >>> from ratewise.measures import ClassCorrelation
    >>> round(ClassCorrelation().score([0, 1, 1, 2], [0, 1, 0, 2]), 3)
    0.7
    """

    def value(self, table: Table) -> Any:
        table = 1.0 * table  # the fourth power of a number of rows may overflow whole numbers
        true, predicted, total = table.sum(axis=-1), table.sum(axis=-2), table.sum(axis=(-2, -1))
        right = np.trace(table, axis1=-2, axis2=-1)
        spread = (total**2 - (true**2).sum(axis=-1)) * (total**2 - (predicted**2).sum(axis=-1))
        return over(
            right * total - (true * predicted).sum(axis=-1), np.sqrt(np.where(np.real(spread) > 0, spread, 0.0))
        )

    def gains(self, table: Table) -> NDArray[np.float64]:
        table = np.asarray(table, dtype=np.float64)
        true, predicted, total = table.sum(axis=-1), table.sum(axis=-2), float(table.sum())
        least = 1e-12 * total * total  # the gains grow without bound as all predictions become one class
        of_true, of_predicted = (max(total**2 - float(one @ one), least) for one in (true, predicted))
        by_cell = total * np.eye(true.size) + np.trace(table) - predicted[:, None] - true
        tilt = (total - true)[:, None] / of_true + (total - predicted) / of_predicted
        top = np.trace(table) * total - true @ predicted
        found: NDArray[np.float64] = (by_cell - top * tilt) / math.sqrt(of_true * of_predicted)
        return found


@dataclass(frozen=True)
class MacroAverage(MeasureByClass):
    """The mean of a measure of two rates over the classes, each against the rest.

    Classes that have rows or are predicted count. With F-beta and Jaccard it is scikit-learn's macro average.

    Examples
    --------
    >>> from ratewise.measures import FBeta, MacroAverage
    >>> round(MacroAverage(FBeta(1.0)).score([0, 1, 1, 2], [0, 1, 0, 2]), 3)
    0.778
    """

    measure: Measure

    def value_by_class(self, right: Any, predicted: Any, true: Any) -> Any:
        return self.of_rates(one_vs_rest_rates(right, predicted, true), true + predicted > 0)

    def gains_by_class(self, right: Any, predicted: Any, true: Any) -> tuple[Any, Any]:
        own, others = self._gains_at(one_vs_rest_rates(right, predicted, true))
        total = max(float(np.sum(true)), 1e-300)
        return own / total, others / total

    def of_rates(self, rates: Rates, there: Any = None) -> Any:
        """Return the mean over the classes that occur, along the last axis of the rates."""
        there = rates.prevalence > 0 if there is None else there
        known = rates._replace(prevalence=np.where(there, rates.prevalence, 0.5))
        values = np.where(there, self.measure.value(*known), 0.0)
        return np.sum(values, axis=-1) / np.maximum(there.sum(axis=-1), 1)

    def gains(self, table: Table) -> NDArray[np.float64]:
        totals = table.sum(axis=-1).astype(np.float64)
        return self.gains_at(Counts(table).one_vs_rest()) / max(float(totals.sum()), 1e-300)

    def gains_at(self, rates: Rates) -> NDArray[np.float64]:
        """Return the gains of rows that weigh 1 together, up to a constant per true class.

        A row of the predicted class raises its TPR; any other row lowers its TNR.
        """
        own, others = self._gains_at(rates)
        found: NDArray[np.float64] = np.tile(others, (own.size, 1))
        np.fill_diagonal(found, own)
        return found

    def _gains_at(self, rates: Rates) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the gains of a row predicted as each class: of a row of this class, and of another class."""
        prevalence = rates.prevalence
        p = np.clip(prevalence, 1e-12, 1.0 - 1e-12)
        on_tpr, on_tnr = np.where(prevalence > 0, self._slopes(rates), 0.0)
        there = max(int((prevalence > 0).sum()), 1)
        return on_tpr / p / there, -on_tnr / (1.0 - p) / there

    def _slopes(self, rates: Rates) -> NDArray[np.float64]:
        """Return the slopes of all classes in one call, by central differences: there may be thousands."""
        tpr, tnr, prevalence = rates
        steps = np.array([[_STEP], [-_STEP]])
        moved_tpr, moved_tnr = (np.clip(one + steps, 0.0, 1.0) for one in (tpr, tnr))
        values = self.measure.value(
            np.concatenate([moved_tpr, [tpr, tpr]]),
            np.concatenate([[tnr, tnr], moved_tnr]),
            np.where(prevalence > 0, prevalence, 0.5),
        )
        by_tpr = (values[0] - values[1]) / (moved_tpr[0] - moved_tpr[1])
        by_tnr = (values[2] - values[3]) / (moved_tnr[0] - moved_tnr[1])
        return np.array([by_tpr, by_tnr])

    def scale(self, shares: NDArray[np.float64]) -> tuple[float, float]:
        useless, perfect = np.mean([self.measure.scale(float(share)) for share in shares if share > 0], axis=0)
        return float(useless), float(perfect)


@dataclass(frozen=True)
class FunctionOfCounts(ConfusionMeasure):
    """The user's own function of C[true, predicted].

    Its gains are computed by complex step, so it should use arithmetic and numpy's analytic functions. With other
    functions (min, abs), differences are used.

    Examples
    --------
    >>> from ratewise.measures import FunctionOfCounts
    >>> FunctionOfCounts(lambda C: C[0, 0] / C[0].sum()).score([0, 0, 1], [0, 1, 1])
    0.5
    """

    function: Callable[[Table], Any]

    @property
    def label(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))

    def value(self, table: Table) -> Any:
        if np.ndim(table) == 2:
            return self.function(table)
        flat = np.reshape(table, (-1, *np.shape(table)[-2:]))
        return np.array([self.function(one) for one in flat]).reshape(np.shape(table)[:-2])
