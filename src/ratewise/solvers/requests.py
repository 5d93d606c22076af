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
    """None for many classes, which climb the log likelihood, or what predictions are worth."""
    class_weights: Any = None
    """What each of the classes weighs; None leaves them as they are."""
    measure: Any = None
    """A concave measure whose dual pair is learned along; None holds the class weights."""
    passes: int | None = None
    points: int | None = None
    start: LinearModel | LinearModels | None = None
    """The model to begin from; None goes on from the last one."""
    restart_mean: bool = False
    """The mean of the models, and the progressive rates, start anew with this request."""
    restart_steps: int | None = None
    """The step sizes start anew, as if this many points had been seen."""
    keep_last: bool = False
    """The last model is wanted too, not only the mean."""
    meanwhile: LinearModel | None = None
    """The model of the run until half of the points have been learned from; None for the mean so far."""
    gains: NDArray[np.float64] | None = None
    """Of many classes, what a share of a prediction is worth, [true, predicted]; None for the log likelihood."""


class Learned(NamedTuple):
    """What learning came to."""

    mean: Any
    """The mean of the models since the last restart."""
    last: Any
    """Where it was wanted."""
    class_weights: Any
    """The dual pair, where it was learned along."""


@dataclass(frozen=True)
class Evaluate:
    """Score the training rows, or a fair sample, and cut where the measure is best; answered by ``Cut``."""

    model: LinearModel
    measure: Measure
    prevalence: float
    softness: float = 0.05
    width: float | None = None
    """Of the sigmoid that class weights are wanted for; 0 finds the widest, None wants none."""
    candidate: bool = False
    """The model may be chosen in the end: what the choice needs is wanted too."""
    in_sample: bool = False
    """The training rows themselves choose, so that bounds count in their values."""


class Cut(NamedTuple):
    """A model at its best threshold on the rows it learned from."""

    best: BestThreshold
    width: float = math.nan
    """Of the sigmoid."""
    class_weights: tuple[float, float] = (math.nan, math.nan)
    """The measure linearized: what a positive and a negative are worth at the rates of the cut."""
    value: float = math.nan
    """By which the training rows would choose it."""
    mean: float = 0.0
    """Of its scores, or where else they are to be seen from."""
    deviation: float = 1.0


@dataclass(frozen=True)
class CountRates:
    """Count the rates of a model's own predictions; answered by ``Rates``."""

    model: LinearModel
    rows: int | None = None
    """So many rows are enough; None for all that are at hand."""


@dataclass(frozen=True)
class MeanRewards:
    """Take the mean reward of each class; answered by two floats."""

    model: LinearModel
    reward: Reward
    points: int | None = None
    """Of the next points, which are not learned from; None for all rows."""


@dataclass(frozen=True)
class Maximize:
    """Find the model with the largest weighted mean reward, less the penalty; answered by a ``LinearModel``."""

    reward: Reward
    class_weights: tuple[float, float]
    """What the mean rewards of the positives and of the negatives weigh; only their proportion matters."""
    start: LinearModel
    l2: float
    radius: float = math.inf
    """The longest that weights and intercept together may be."""
    tolerance: float = 1e-7
    iterations: int = 500
    few_rows: bool = False
    """The rows are few: their curvature may be used, if they are dense and in memory."""


@dataclass(frozen=True)
class CompareCentroids:
    """Subtract the mean row of the negatives from that of the positives; answered by an array.

    Of rows in memory only.
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
    """Take a few steps, on all rows, up the measure of the softmax shares; answered by models of all classes."""

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
    """Tell the driver all that the algorithm needs to start again from here; answered by that state.

    The driver forgets the answers before it. An algorithm that is started again is answered with the stored state
    at its first savepoint, so nothing of what it has in hand but the state may be used afterwards.
    """

    state: Any


class Record(NamedTuple):
    """Write a row into the history; answered by None."""

    passes: float
    points: float
    more: Mapping[str, float] = MappingProxyType({})
    """Further columns: the dual pair, or the challenge level."""
    rates: Rates | None = None
    """None for the progressive ones: of the points since the last record, each before it was learned from."""
    value: float | None = None
    """Of the measure; None for that of the rates."""
