"""Questions about many classes in shards: the gradient over the rows of all shards moves one model.

Each question takes a round, and it does not matter how rows are distributed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...measures import ConfusionMeasure
from ..source import Progress
from .engine import Engine, Question, Sums, merge
from .questions import ReadyRows


@dataclass(frozen=True)
class ClassSlope(Sums):
    """A value and its gradient, added up over rows."""

    value: float
    gradient: NDArray[np.float64] | float


@dataclass(frozen=True)
class TakeLikelihood(Question[ClassSlope]):
    """Take the log likelihood of a model, with class weights."""

    fold: int
    model: NDArray[np.float32]
    class_weights: NDArray[np.float64]

    name: ClassVar[str] = "likelihood"

    def answer(self, rows: ReadyRows, shard: int) -> ClassSlope:
        found = [
            ClassSlope(*one.likelihood_sums(self.model, self.class_weights)) for one in rows.objectives(self.fold)
        ]
        return merge([ClassSlope(0.0, 0.0), *found])


@dataclass(frozen=True)
class SoftTable(Sums):
    """C[true, predicted] of softmax shares."""

    table: NDArray[np.float64] | float


@dataclass(frozen=True)
class CountShares(Question[SoftTable]):
    """Count rows by their softmax shares."""

    fold: int
    model: NDArray[np.float32]

    name: ClassVar[str] = "count shares"

    def answer(self, rows: ReadyRows, shard: int) -> SoftTable:
        tables = [one.table(one.shares(self.model)) for one in rows.objectives(self.fold)]
        return SoftTable(sum(tables, 0.0))


@dataclass(frozen=True)
class TakeRise(Question[ClassSlope]):
    """Take the gradient of the gains of softmax shares."""

    fold: int
    model: NDArray[np.float32]
    gains: NDArray[np.float64]

    name: ClassVar[str] = "slope"

    def answer(self, rows: ReadyRows, shard: int) -> ClassSlope:
        slopes = [one.rise(one.shares(self.model), self.gains) for one in rows.objectives(self.fold)]
        return ClassSlope(0.0, sum(slopes, 0.0))


class ShardObjective:
    """Objective functions of many classes over the rows of all shards that are not in a fold."""

    def __init__(self, engine: Engine, fold: int, total: float, report: Progress):
        self._engine, self._fold, self._total, self._report = engine, fold, total, report

    def likelihood(self, model: NDArray[Any], class_weights: NDArray[np.float64]) -> tuple[float, NDArray[Any]]:
        self._report({"stage": "likelihood"})
        found = self._engine.ask(TakeLikelihood(self._fold, model, class_weights))
        return found.value / self._total, np.asarray(found.gradient) / self._total

    def soft_value(self, model: NDArray[Any], measure: ConfusionMeasure) -> tuple[float, NDArray[Any]]:
        self._report({"stage": "climbing"})
        table = np.asarray(self._engine.ask(CountShares(self._fold, model)).table) / self._total
        rise = self._engine.ask(TakeRise(self._fold, model, measure.gains(table))).gradient
        return float(measure.value(table)), np.asarray(rise) / self._total
