"""The shards of a cluster as a source: rows stay where they are; only models, sums and counts are sent.

There are two ways to take a pass. If shards have plenty of both classes and resemble one another, each learns on
its own for a pass, and all continue from the mean of their models. Otherwise one model moves by the gradients of
all rows, and it does not matter how rows are distributed. Solvers do not depend on which way is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...features.splines import Basis, BasisSettings
from ...kernels import fold_of_each_row
from ...solvers.state import RowTotals
from ...transforms import Standardizer, Transform, Whitener, sample_size
from .. import config
from ..bases import INDICATORS, basis_of_rows, transform_by_sample
from ..memory import ArraySource
from ..rows import ArrayRows
from ..source import ClassRows, DataShape, Progress
from ..targets import rarest_against_the_rest, weights_of, with_weights_divided
from .engine import Engine, merge
from .questions import MakeReady, TakeSummaries
from .rows import ShardTrainingRows
from .statistics import (
    CountFolds,
    CountLabels,
    FetchRows,
    Label,
    LabelCounts,
    RowsAndTargets,
    Summaries,
    TakeCovariance,
    TakeMoments,
)

_LEFT_OUT = 0.05  # the largest share of a class in shards that cannot learn a model of their own
_LIKE_ODDS = 1.5
_SHIFT = 0.5


class ShardSource:
    """Rows in the shards of an engine, which hold them as they were read.

    ``choose_positive`` returns the positive class of two. ``report`` is called after every round with a dict:
    stage, and tpr, tnr and value where they are known.
    """

    dtype = np.dtype(np.float32)

    def __init__(
        self,
        engine: Engine,
        seed: int,
        choose_positive: Callable[[NDArray[Any]], Any],
        *,
        counts: LabelCounts | None = None,
        merging: str = "auto",
        report: Progress = lambda report: None,
    ):
        self.engine, self.seed, self.merging, self.report = engine, seed, merging, report
        self.merging_used = merging
        self.basis: Basis | None = None
        report({"stage": "label counts"})
        self.counts: LabelCounts = counts or engine.ask(CountLabels())
        self.classes = _two_or_more(self.counts)
        labels = self.classes.tolist()
        if len(labels) == 2:
            positive = choose_positive(self.classes)
            self.positive = positive.item() if isinstance(positive, np.generic) else positive
            labels.sort(key=lambda label: label == self.positive)
        found = [self.counts.labels[label] for label in labels]
        self._of_classes = ClassRows(*np.array(found, dtype=float).T)
        engine.prepare(Label(tuple(labels), 1.0 / self._of_classes.mean_weight, self.counts.names))

    @property
    def _rows(self) -> int:
        return int(self._of_classes.rows.sum())

    def statistics(self) -> DataShape:
        counts, basis = self.counts, self.basis
        coded_width = None if basis is None else basis.width
        return DataShape.of_rows(
            self._of_classes,
            counts.n_features,
            coded_width,
            counts.n_values,
            counts.sparse,
            whole_steps=self.classes.size > 2,
        )

    def coded(self, asked: BasisSettings | Basis | None) -> ShardSource:
        if self.counts.sparse:
            return self
        moments: Standardizer = merge(self.engine.ask_each(TakeMoments(True)))
        if asked is None and moments.missing is not None:
            asked = INDICATORS
        if asked is not None:
            X, targets = self._some_rows
            rng = np.random.default_rng([self.seed, 3])
            self.basis = basis_of_rows(asked, X, rarest_against_the_rest(targets), moments, self._rows, rng)
        return self

    def sample(self) -> ArraySource:
        X, targets = self._some_rows
        targets = with_weights_divided(targets, weights_of(targets).mean())
        rng = np.random.default_rng([self.seed, 4])
        return ArraySource(X, targets, rng, n_classes=self.classes.size)

    @cached_property
    def _some_rows(self) -> RowsAndTargets:
        """Return a fair sample of each class, with the weight of all rows of the class."""
        self.report({"stage": "sample"})
        most = config.CODED_SAMPLE_ROWS * 2 / self.classes.size
        shares = np.minimum(most / np.maximum(self._of_classes.rows, 1.0), 1.0)
        found: RowsAndTargets = self.engine.ask(FetchRows(tuple(shares.tolist()), self.seed)).together()
        return found

    @property
    def n_features(self) -> int:
        """The number of columns of the models."""
        return self.counts.n_features if self.basis is None else self.basis.width

    def fetch(self) -> RowsAndTargets:
        """Return all rows."""
        found: RowsAndTargets = self.engine.ask(FetchRows((1.0,) * self.classes.size, self.seed)).together()
        return found

    def transform(self, *, standardize: bool, whiten: bool) -> Transform:
        self.report({"stage": "column statistics"})
        self._moments: list[Standardizer] = self.engine.ask_each(TakeMoments(standardize))
        standardizer: Standardizer = merge(self._moments)
        if self.basis is not None:
            rng = np.random.default_rng([self.seed, 1])
            X, targets = self._some_rows
            return transform_by_sample((X, weights_of(targets)), standardizer, self.basis, rng, whiten=whiten)
        if not whiten:
            return standardizer
        self.report({"stage": "covariance"})
        share = min(sample_size(self.counts.n_features) / self._rows, 1.0)
        covariance = self.engine.ask(TakeCovariance(standardizer, share, self.seed))
        return Whitener(standardizer, covariance.products / covariance.rows)

    def transformed(
        self, transform: Transform, folds: int = 1, repeats: int = 1, row_limit: float | None = None
    ) -> ShardTrainingRows:
        n_classes = int(self.classes.size)
        if n_classes == 2 and folds > 1 and not _both_classes_in_all(self.engine.ask(CountFolds(folds))):
            folds = 1
        sample = None if n_classes == 2 else self._sampled(transform, folds)
        self.engine.prepare(MakeReady(transform, folds, self.seed, n_classes))
        self.report({"stage": "summaries"})
        summaries = self.engine.ask_each(TakeSummaries())
        learning_shards = self._learning_shards(summaries) if n_classes == 2 else None
        self.merging_used = "gradients" if learning_shards is None else "models"
        return ShardTrainingRows(
            self.engine,
            summaries,
            learning_shards,
            row_limit,
            points=self.statistics().points,
            n_features=self.n_features,
            seed=self.seed,
            report=self.report,
            sample=sample,
        )

    def _sampled(self, transform: Transform, folds: int) -> ArrayRows:
        """Return a transformed sample of the rows of many classes, for validation."""
        X, targets = self._some_rows
        return ArrayRows(
            X,
            targets,
            transform,
            np.random.default_rng([self.seed, 5]),
            n_classes=int(self.classes.size),
            fold_of_row=fold_of_each_row(X, folds),
            n_folds=folds,
        )

    def _learning_shards(self, summaries: list[Summaries]) -> frozenset[int] | None:
        """Return the shards that learn their own models; None if gradients are merged instead."""
        if self.merging == "gradients":
            return None
        if self.merging == "models":
            return frozenset(number for number, one in enumerate(summaries) if one.folds[0].points)
        merged = merge(self._moments)
        found = [
            learning_shards_of([one.folds[fold] for one in summaries], self._moments, merged, self.n_features)
            for fold in range(len(summaries[0].folds))
        ]
        return None if None in found else frozenset.intersection(*(one for one in found if one is not None))


def _two_or_more(counts: LabelCounts) -> NDArray[Any]:
    labels = counts.classes.tolist()
    if len(labels) == 1:
        raise ValueError(
            f"y holds one class only ({labels[0]!r}) in all partitions: a classifier needs rows of two classes."
        )
    return counts.classes


def _both_classes_in_all(folds: Summaries) -> bool:
    """Return whether all folds have both classes: equal rows are in one fold, and may be all rows of a class."""
    return all(min(fold.positive_weight, fold.negative_weight) > 0 for fold in folds.folds)


def learning_shards_of(
    summaries: Sequence[RowTotals], moments: Sequence[Standardizer], merged: Standardizer, n_features: int
) -> frozenset[int] | None:
    """Return the shards that can each learn a model of this many columns, if their mean fits all rows; else None.

    Such a shard has plenty of both classes, in about the proportion of all rows, and column means near those of
    all rows. Other shards are left out if they hold almost no rows.
    """
    whole = summaries[0]
    for one in summaries[1:]:
        whole = whole.merge(one)
    plenty = config.PLENTY_PER_COLUMN * (n_features + 1)
    able = [
        number
        for number, one in enumerate(summaries)
        if min(one.positive_weight, one.negative_weight) >= plenty
        and 1 / _LIKE_ODDS < _odds(one) / _odds(whole) < _LIKE_ODDS
        and _shift(moments[number], merged) < _SHIFT
    ]
    positives = sum(summaries[number].positive_weight for number in able)
    negatives = sum(summaries[number].negative_weight for number in able)
    enough = positives >= (1 - _LEFT_OUT) * whole.positive_weight
    return frozenset(able) if enough and negatives >= (1 - _LEFT_OUT) * whole.negative_weight else None


def _odds(summary: RowTotals) -> float:
    return summary.positive_weight / max(summary.negative_weight, 1e-300)


def _shift(mine: Standardizer, merged: Standardizer) -> float:
    """Return how far the column means of a shard are from those of all rows, in standard deviations."""
    if merged.nonzeros is not None or not merged.active or not mine.count:
        return 0.0
    return float(np.max(np.abs(mine.mean - merged.mean) / merged.scale, initial=0.0))
