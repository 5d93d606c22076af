"""Many classes in shards: one model, moved by the gradient over the rows of all shards.

Steps are those of few rows in memory. Each takes a round or two, and it does not matter how rows are spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...measures import ConfusionMeasure
from ...solvers.driver import answered
from ...solvers.softmax import (
    ClassCandidate,
    ClassObjective,
    ClimbMeasure,
    MaximizeLikelihood,
    Path,
    answer_at_once,
)
from ...solvers.state import LinearModels
from ...transforms import Standardizer, Transform
from ..class_samples import ClassFacts, SampledClasses, parts_of
from ..config import CODED_SAMPLE_ROWS, FitConfig
from ..labelled import MulticlassRows
from ..source import ALL_ROWS, Progress
from .engine import Engine, Question, Setup, Sums, merge
from .read import Names, ReadRows, bytes_of
from .statistics import FetchRows, LabelCounts, TakeMoments


class CodedRows(NamedTuple):
    """A matrix, and the number of each row's class and its weight."""

    X: Any
    targets: NDArray[np.float32]

    @property
    def nbytes(self) -> int:
        return self.targets.nbytes + bytes_of(self.X)

    @property
    def codes(self) -> NDArray[np.intp]:
        return self.targets[:, 0].astype(np.intp)

    def drawn(self, which: NDArray[np.intp], shares: NDArray[np.float64]) -> CodedRows:
        """Return rows that were drawn with these probabilities; they also represent those that were not."""
        targets = self.targets[which]
        targets[:, 1] /= shares
        return CodedRows(self.X[which], targets)


@dataclass(frozen=True)
class Code(Setup):
    """Labels become numbers of classes; rows of weight 0 go; named columns come into one order."""

    classes: tuple[Any, ...]
    names: Names | None = None

    name: ClassVar[str] = "code"

    def apply(self, rows: ReadRows, shard: int) -> CodedRows:
        rows = rows.in_order(self.names)
        weights = np.ones(rows.labels.size) if rows.weights is None else rows.weights
        kept = np.flatnonzero(weights)
        codes = np.searchsorted(np.array(self.classes), rows.labels[kept])
        X = rows.X if kept.size == weights.size else rows.X[kept]
        return CodedRows(X, np.stack([codes, weights[kept]], axis=1).astype(np.float32))


class ReadyClasses:
    """The rows of one shard, transformed: those of the first fold, and the others."""

    def __init__(self, parts: Sequence[MulticlassRows]):
        self._parts = parts

    @property
    def nbytes(self) -> int:
        return sum(4 * part.n_values + 8 * part.n_points for part in self._parts)

    @cached_property
    def _objectives(self) -> list[ClassObjective]:
        return [part.objective() for part in self._parts]

    def without(self, fold: int) -> list[ClassObjective]:
        """Return functions of the rows that are not of a fold."""
        chosen = self._objectives if fold == ALL_ROWS else self._objectives[1:]
        return [one for one in chosen if one.total > 0]

    def __getstate__(self) -> dict[str, Any]:
        return {"_parts": self._parts}


@dataclass(frozen=True)
class MakeClassesReady(Setup):
    """Transform the rows; their own bits say which fold they belong to."""

    transform: Transform
    n_classes: int
    mean_weight: float
    folds: int
    seed: int

    name: ClassVar[str] = "ready"

    def apply(self, rows: CodedRows, shard: int) -> ReadyClasses:
        def stored(X: Any, codes: Any, weights: Any, rng: np.random.Generator) -> MulticlassRows:
            return MulticlassRows(X, codes, weights / self.mean_weight, self.n_classes, self.transform, rng)

        rng = np.random.default_rng([self.seed, 2, shard])
        return ReadyClasses(parts_of(rows.X, rows.codes, rows.targets[:, 1], self.folds, stored, rng))


@dataclass(frozen=True)
class ClassSlope(Sums):
    """A value and its gradient, added up over rows."""

    value: float
    gradient: NDArray[np.float64] | float


@dataclass(frozen=True)
class TakeLikelihood(Question[ClassSlope]):
    """Of a model, with class weights."""

    fold: int
    model: NDArray[np.float32]
    class_weights: NDArray[np.float64]

    name: ClassVar[str] = "likelihood"

    def answer(self, rows: ReadyClasses, shard: int) -> ClassSlope:
        found = [
            ClassSlope(*one.likelihood_sums(self.model, self.class_weights)) for one in rows.without(self.fold)
        ]
        return merge([ClassSlope(0.0, 0.0), *found])


@dataclass(frozen=True)
class SoftTable(Sums):
    """C[true, predicted] of shares."""

    table: NDArray[np.float64] | float


@dataclass(frozen=True)
class CountShares(Question[SoftTable]):
    """Count rows by their softmax shares."""

    fold: int
    model: NDArray[np.float32]

    name: ClassVar[str] = "count shares"

    def answer(self, rows: ReadyClasses, shard: int) -> SoftTable:
        tables = [one.table(one.shares(self.model)) for one in rows.without(self.fold)]
        return SoftTable(sum(tables, 0.0))


@dataclass(frozen=True)
class TakeRise(Question[ClassSlope]):
    """The gradient of what shares gain."""

    fold: int
    model: NDArray[np.float32]
    gains: NDArray[np.float64]

    name: ClassVar[str] = "slope"

    def answer(self, rows: ReadyClasses, shard: int) -> ClassSlope:
        slopes = [one.rise(one.shares(self.model), self.gains) for one in rows.without(self.fold)]
        return ClassSlope(0.0, sum(slopes, 0.0))


class _OfShards:
    """Functions of a model over the rows of all shards that are not of a fold."""

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


class ShardClasses(SampledClasses):
    """Rows of many classes in the shards of an engine."""

    at_once = True

    def __init__(
        self,
        engine: Engine,
        counts: LabelCounts,
        classes: NDArray[Any],
        settings: FitConfig,
        seed: int,
        report: Progress,
    ):
        self.engine, self._report = engine, report
        engine.prepare(Code(tuple(classes.tolist()), counts.names))
        of_classes = [counts.labels[label] for label in classes.tolist()]
        rows = np.array([float(one.rows) for one in of_classes])
        moments: Standardizer = merge(engine.ask_each(TakeMoments(settings.standardize)))
        facts = ClassFacts(
            int(rows.sum()), counts.n_values, rows, np.array([one.weight for one in of_classes]), moments
        )
        shares = np.minimum(2 * CODED_SAMPLE_ROWS / classes.size / np.maximum(rows, 1.0), 1.0)
        drawn = engine.ask(FetchRows(tuple(shares.tolist()), seed)).together()
        sampled = (drawn.X, drawn.codes, drawn.targets[:, 1].astype(np.float64))
        super().__init__(facts, sampled, settings, seed)

    def in_folds(self, folds: int, rng: np.random.Generator) -> ShardClasses:
        other = super().in_folds(folds, rng)
        facts = self.facts
        self.engine.prepare(
            MakeClassesReady(self.transform, facts.totals.size, facts.mean_weight, folds, self.seed)
        )
        return other

    def follow(
        self, paths: Sequence[tuple[int, Path]], rng: np.random.Generator, threads: int
    ) -> list[list[ClassCandidate]]:
        return [self._followed(fold, path) for fold, path in paths]

    def _followed(self, fold: int, path: Path) -> list[ClassCandidate]:
        rows = _OfShards(self.engine, fold, self._total(fold), self._report)

        def answer(request: Any) -> LinearModels:
            assert isinstance(request, MaximizeLikelihood | ClimbMeasure)
            return answer_at_once(request, rows)

        found: list[ClassCandidate] = answered(path, answer)
        return found

    def _total(self, fold: int) -> float:
        """Return the weight of the rows that are not of a fold."""
        nothing = np.zeros((self.shape().n_features + 1, self.facts.totals.size), np.float32)
        return float(np.sum(self.engine.ask(CountShares(fold, nothing)).table))


def fetch_classes(engine: Engine, counts: LabelCounts, classes: NDArray[Any]) -> CodedRows:
    """Return all rows, which are few."""
    engine.prepare(Code(tuple(classes.tolist()), counts.names))
    rows: CodedRows = engine.ask(FetchRows((1.0,) * classes.size, 0)).together()
    return rows
