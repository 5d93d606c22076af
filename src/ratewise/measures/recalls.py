"""Means of the recalls of all classes: the worst one, the arithmetic, geometric, harmonic and quadratic mean."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .confusion import ConfusionMeasure, MeasureByClass, Table, over

_LEAST_RECALL = 1e-6  # slopes that grow without bound are computed here


class MeasureOfRecalls(MeasureByClass):
    """A mean of the recalls of the classes that have rows; a subclass defines ``mean`` and its ``slopes``."""

    @abstractmethod
    def mean(self, recalls: Any, there: Any) -> Any:
        """Return the mean over the classes that occur, along the last axis."""

    @abstractmethod
    def slopes(self, recalls: NDArray[np.float64]) -> Any:
        """Return the derivative by each recall, if all classes occur."""

    def value_by_class(self, right: Any, predicted: Any, true: Any) -> Any:
        return self.mean(over(right, true), np.real(true) > 0)

    def gains_by_class(self, right: Any, predicted: Any, true: Any) -> tuple[Any, Any]:
        there, own = true > 0, np.zeros(true.size)
        own[there] = self.slopes(right[there] / true[there]) / true[there]
        return own, np.zeros(true.size)

    def gains(self, table: Table) -> NDArray[np.float64]:
        totals = table.sum(axis=-1).astype(np.float64)
        there = totals > 0
        recalls = np.diagonal(table)[there] / totals[there]
        found = np.zeros(table.shape)
        found[there] = (self.slopes(recalls) / totals[there])[:, None] * (
            np.eye(totals.size)[there] - recalls[:, None]
        )
        return found


@dataclass(frozen=True)
class WorstRecall(MeasureOfRecalls):
    """The recall of the class that does worst.

    Examples
    --------
    >>> from ratewise.measures import WorstRecall
    >>> WorstRecall().score([0, 1, 1, 2], [0, 1, 0, 2])
    0.5
    """

    smooth: ClassVar[bool] = False

    def mean(self, recalls: Any, there: Any) -> Any:
        return np.min(np.where(there, recalls, np.inf), axis=-1)

    def slopes(self, recalls: NDArray[np.float64]) -> Any:
        worst = recalls == recalls.min()
        return worst / worst.sum()

    @property
    def softened(self) -> ConfusionMeasure:
        return SoftWorstRecall()


@dataclass(frozen=True)
class SoftWorstRecall(MeasureOfRecalls):
    """The soft minimum of the recalls, -log(mean(exp(-s r))) / s: near the worst one, and smooth."""

    sharpness: float = 40.0

    def mean(self, recalls: Any, there: Any) -> Any:
        terms = np.where(there, np.exp(-self.sharpness * recalls), 0.0)
        return -np.log(terms.sum(axis=-1) / there.sum(axis=-1)) / self.sharpness

    def slopes(self, recalls: NDArray[np.float64]) -> Any:
        terms = np.exp(-self.sharpness * (recalls - recalls.min()))
        return terms / terms.sum()


@dataclass(frozen=True)
class MeanRecall(MeasureOfRecalls):
    """The mean of the recalls: scikit-learn's balanced accuracy.

    Examples
    --------
    >>> from ratewise.measures import MeanRecall
    >>> MeanRecall().score([0, 1, 1, 2], [0, 1, 0, 2])
    0.8333333333333334
    """

    def mean(self, recalls: Any, there: Any) -> Any:
        return np.where(there, recalls, 0.0).sum(axis=-1) / there.sum(axis=-1)

    def slopes(self, recalls: NDArray[np.float64]) -> Any:
        return np.full(recalls.size, 1.0 / recalls.size)


@dataclass(frozen=True)
class GMeanOfRecalls(MeasureOfRecalls):
    """The geometric mean of the recalls, as in imbalanced-learn: 0 where a class is never found.

    Examples
    --------
    >>> from ratewise.measures import GMeanOfRecalls
    >>> round(GMeanOfRecalls().score([0, 1, 1, 2], [0, 1, 0, 2]), 3)
    0.794
    """

    def mean(self, recalls: Any, there: Any) -> Any:
        return np.prod(np.where(there, recalls, 1.0) ** (1.0 / there.sum(axis=-1, keepdims=True)), axis=-1)

    def slopes(self, recalls: NDArray[np.float64]) -> Any:
        recalls = np.maximum(recalls, _LEAST_RECALL)
        return np.exp(np.log(recalls).mean()) / (recalls.size * recalls)


@dataclass(frozen=True)
class HMeanOfRecalls(MeasureOfRecalls):
    """The harmonic mean of the recalls: 0 where a class is never found.

    Examples
    --------
    >>> from ratewise.measures import HMeanOfRecalls
    >>> HMeanOfRecalls().score([0, 1, 1, 2], [0, 1, 0, 2])
    0.75
    """

    def mean(self, recalls: Any, there: Any) -> Any:
        missed = (there & (np.real(recalls) <= 0)).any(axis=-1)
        inverse = np.where(there, 1.0 / np.where(np.real(recalls) > 0, recalls, 1.0), 0.0).sum(axis=-1)
        return np.where(missed, 0.0, there.sum(axis=-1) / inverse)[()]

    def slopes(self, recalls: NDArray[np.float64]) -> Any:
        recalls = np.maximum(recalls, _LEAST_RECALL)
        return (recalls.size / (1.0 / recalls).sum() / recalls) ** 2 / recalls.size


@dataclass(frozen=True)
class QMeanOfRecalls(MeasureOfRecalls):
    """1 - sqrt(mean((1 - recall)^2)): one minus the distance from the perfect classifier.

    Examples
    --------
    >>> from ratewise.measures import QMeanOfRecalls
    >>> round(QMeanOfRecalls().score([0, 1, 1, 2], [0, 1, 0, 2]), 3)
    0.711
    """

    def mean(self, recalls: Any, there: Any) -> Any:
        return 1.0 - np.sqrt(np.where(there, (1.0 - recalls) ** 2, 0.0).sum(axis=-1) / there.sum(axis=-1))

    def slopes(self, recalls: NDArray[np.float64]) -> Any:
        missed = 1.0 - recalls
        length = math.sqrt(float(missed @ missed))
        return (
            missed / (length * math.sqrt(recalls.size))
            if length > 0
            else np.full(recalls.size, 1.0 / recalls.size)
        )
