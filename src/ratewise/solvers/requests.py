"""The requests that an algorithm may yield: plain data, answered by rows in memory, in files or in shards."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..decisions.cuts import BestThreshold
from ..measures import ConfusionMeasure, Measure, Rates
from ..rewards import Reward
from .learner import LearnSettings
from .state import LinearModel, LinearModels


@dataclass(frozen=True)
class Learn:
    """Learn from the next points, by whole passes over the rows or by a number of points; answered by ``Learned``.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> from ratewise.solvers import Learn, Spade, RowTotals, Task
    >>> run = Spade(passes=1).start(Task(get_measure("gmean"), n_features=3))
    >>> isinstance(run.request(RowTotals(100, 10.0, 90.0, 300.0)), Learn)
    True
    """

    settings: LearnSettings
    reward: Reward | None
    """None with many classes, which maximize the log likelihood or the value of predictions."""
    class_weights: Any = None
    """The class weights; None leaves them unchanged."""
    measure: Any = None
    """A concave measure whose dual pair is learned too; None keeps the class weights fixed."""
    passes: int | None = None
    points: int | None = None
    start: LinearModel | LinearModels | None = None
    """The model to begin from; None continues from the last model."""
    restart_mean: bool = False
    """Whether the mean of the models and the progressive rates start again with this request."""
    restart_steps: int | None = None
    """The step sizes start again, as if this many points had been seen."""
    keep_last: bool = False
    """Whether the answer has the last model too, not only the mean."""
    meanwhile: LinearModel | None = None
    """The model of the run during the first half of the points; None for the mean so far."""
    gains: NDArray[np.float64] | None = None
    """With many classes, the value of a share of a prediction, [true, predicted]; None for the log likelihood."""


class Learned(NamedTuple):
    """The result of learning."""

    mean: Any
    """The mean of the models since the last restart."""
    last: Any
    """The last model, if it was requested."""
    class_weights: Any
    """The dual pair, if it was learned."""


@dataclass(frozen=True)
class Evaluate:
    """Score the training rows, or a fair sample, and find the best threshold; answered by ``Cut``."""

    model: LinearModel
    measure: Measure
    prevalence: float
    softness: float = 0.05
    width: float | None = None
    """The width of the sigmoid for the class weights; 0 finds the largest, None requests no class weights."""
    candidate: bool = False
    """Whether the model is a candidate: the answer then has the numbers that the choice needs."""
    in_sample: bool = False
    """Whether the training rows themselves choose, so that bounds count in their values."""


class Cut(NamedTuple):
    """A model at its best threshold on the rows it learned from."""

    best: BestThreshold
    width: float = math.nan
    """The width of the sigmoid."""
    class_weights: tuple[float, float] = (math.nan, math.nan)
    """The linearized measure: the gains of a positive and of a negative at the rates of the cut."""
    value: float = math.nan
    """The value for a choice by the training rows."""
    mean: float = 0.0
    """The mean of the model's scores, or another centre for them."""
    deviation: float = 1.0


@dataclass(frozen=True)
class CountRates:
    """Count the rates of a model's own predictions; answered by ``Rates``."""

    model: LinearModel
    rows: int | None = None
    """How many rows are enough; None for all available rows."""


@dataclass(frozen=True)
class MeanRewards:
    """Take the mean reward of each class; answered by two floats."""

    model: LinearModel
    reward: Reward
    points: int | None = None
    """How many of the next points to use, without learning from them; None for all rows."""


@dataclass(frozen=True)
class Maximize:
    """Find the model with the largest weighted mean reward, less the penalty; answered by a ``LinearModel``."""

    reward: Reward
    class_weights: tuple[float, float]
    """The weights of the positives' and of the negatives' mean reward; only their ratio matters."""
    start: LinearModel
    l2: float
    radius: float = math.inf
    """The largest length of weights and intercept together."""
    tolerance: float = 1e-7
    iterations: int = 500
    few_rows: bool = False
    """Whether there are few rows: their curvature may be used, if they are dense and in memory."""


@dataclass(frozen=True)
class CompareCentroids:
    """Subtract the mean row of the negatives from that of the positives; answered by an array.

    Only rows in memory answer it.
    """


@dataclass(frozen=True)
class MaximizeLikelihood:
    """Find the models of all classes with the largest weighted log likelihood, less the penalty."""

    class_weights: NDArray[np.float64]
    l2: float
    start: LinearModels
    tolerance: float = 1e-4
    steps: int = 100


@dataclass(frozen=True)
class ClimbMeasure:
    """Take a few ascent steps on all rows on the measure of softmax shares; answered by models of all classes."""

    measure: ConfusionMeasure
    start: LinearModels
    l2: float
    steps: int
    tolerance: float = 1e-7


@dataclass(frozen=True)
class CutClasses:
    """Find the best offsets on the training rows, or a fair sample; answered by ``ClassCut``."""

    measure: ConfusionMeasure
    model: LinearModels


class ClassCut(NamedTuple):
    """Offsets of the scores of each class, and C[true, predicted] where the highest score then wins."""

    offsets: NDArray[np.float64]
    table: NDArray[np.float64]


OfTwoClasses = Learn | Evaluate | CountRates | MeanRewards | Maximize | CompareCentroids
OfManyClasses = Learn | MaximizeLikelihood | ClimbMeasure | CutClasses
Request = OfTwoClasses | OfManyClasses


class Savepoint(NamedTuple):
    """Give the driver the state that the algorithm needs to start again from here; answered by that state.

    The driver forgets all earlier answers. When an algorithm is started again, its first savepoint is answered
    with the stored state, so after a savepoint the algorithm may use this state only.
    """

    state: Any


class Record(NamedTuple):
    """Write a row into the history; answered by None."""

    passes: float
    points: float
    more: Mapping[str, float] = MappingProxyType({})
    """Further columns: the dual pair, or the challenge level."""
    rates: Rates | None = None
    """The rates; None for those of the points since the last record, each scored before it was learned from."""
    value: float | None = None
    """The value of the measure; None computes it from the rates."""
