"""Questions to shards about untransformed rows: labels, weights, moments, covariance, folds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._input_checks import label_values, plain_labels
from ...kernels import fold_of_each_row
from ...solvers.state import RowTotals, class_totals
from ...transforms import Standardizer, standardized_products
from .. import config
from ..storage import joined
from ..targets import Targets, class_targets, codes_of, weights_of, with_weights_divided
from .engine import Answer, Question, Setup, Sums
from .read import Names, ReadRows, bytes_of, naming, require_same_names


class LabelCount(NamedTuple):
    rows: int
    weight: float
    squared_weight: float


@dataclass(frozen=True)
class LabelCounts(Answer):
    """Rows, columns and labels."""

    shard: int
    """The first counted shard."""
    names: Names | None
    """The column names of the first shard; other shards may have them in another order."""
    rows: int
    n_features: int
    n_values: int
    sparse: bool
    labels: dict[Any, LabelCount]

    def fit_in_memory(self) -> bool:
        """Return whether rows are so few that one machine fits them faster."""
        return bool(self.n_values * (8 if self.sparse else 4) <= config.IN_MEMORY_BYTES)

    @property
    def classes(self) -> NDArray[Any]:
        """The labels of rows with a weight, in order."""
        occurring = [label for label, count in self.labels.items() if count.weight > 0]
        found: NDArray[Any] = np.unique(plain_labels(np.array(occurring, dtype=object)).tolist())
        return found

    def merge(self, other: LabelCounts) -> LabelCounts:
        with naming(f"Partition {other.shard}"):
            require_same_names(other.names, self.names, f"partition {self.shard}")
        if (self.n_features, self.sparse) != (other.n_features, other.sparse):
            raise ValueError(
                f"Partitions differ: number {self.shard} has {self.n_features} columns ({_form(self)}), number "
                f"{other.shard} has {other.n_features} ({_form(other)})."
            )
        labels = dict(self.labels)
        for label, count in other.labels.items():
            before = labels.get(label, LabelCount(0, 0.0, 0.0))
            labels[label] = LabelCount(*(mine + more for mine, more in zip(before, count, strict=True)))
        rows, n_values = self.rows + other.rows, self.n_values + other.n_values
        return replace(self, rows=rows, n_values=n_values, labels=labels)


def _form(counts: LabelCounts) -> str:
    return "sparse" if counts.sparse else "dense"


@dataclass(frozen=True)
class CountLabels(Question[LabelCounts]):
    """Count which labels there are, and how many rows of each."""

    name: ClassVar[str] = "labels"

    def answer(self, rows: ReadRows, shard: int) -> LabelCounts:
        labels = {value: _count(rows, value) for value in label_values(rows.labels).tolist()}
        X = rows.X
        n_values = int(X.nnz if sparse.issparse(X) else X.size)
        form = bool(sparse.issparse(X))
        return LabelCounts(shard, rows.names, rows.labels.size, X.shape[1], n_values, form, labels)


def _count(rows: ReadRows, label: Any) -> LabelCount:
    mine = rows.labels == label
    if rows.weights is None:
        number = int(np.count_nonzero(mine))
        return LabelCount(number, float(number), float(number))
    weights = rows.weights[mine]
    return LabelCount(int(np.count_nonzero(weights)), float(weights.sum()), float(weights @ weights))


class RowsAndTargets(NamedTuple):
    """A matrix, and the targets of its rows."""

    X: Any
    targets: Targets

    @property
    def nbytes(self) -> int:
        return int(self.targets.nbytes) + bytes_of(self.X)

    def drawn(self, which: NDArray[np.intp], shares: NDArray[np.float64]) -> RowsAndTargets:
        """Return rows drawn with these probabilities; their weights also represent the rows not drawn."""
        targets = with_weights_divided(self.targets[which], shares)
        return RowsAndTargets(self.X[which], targets.astype(np.float32))


@dataclass(frozen=True)
class Label(Setup):
    """Turn labels into targets, drop rows of weight 0, and bring named columns into one order."""

    classes: tuple[Any, ...]
    """The classes; the second of two is the positive one."""
    weight_scale: float
    names: Names | None = None

    name: ClassVar[str] = "label"

    def apply(self, rows: ReadRows, shard: int) -> RowsAndTargets:
        rows = rows.in_order(self.names)
        scale = np.float32(1.0) if rows.weights is None else (rows.weights * self.weight_scale).astype(np.float32)
        if len(self.classes) == 2:
            targets = np.where(rows.labels == self.classes[1], np.float32(1.0), np.float32(-1.0)) * scale
        else:
            codes = np.searchsorted(np.array(self.classes), rows.labels)
            targets = class_targets(codes, np.broadcast_to(scale, codes.shape))
        if rows.weights is None:
            return RowsAndTargets(rows.X, targets)
        kept = np.flatnonzero(weights_of(targets))
        X = rows.X if kept.size == len(targets) else rows.X[kept]
        return RowsAndTargets(X, targets[kept])


@dataclass(frozen=True)
class RowParts(Sums):
    """Rows themselves: matrices and the targets of their rows."""

    parts: tuple[Any, ...]

    def together(self) -> Any:
        """Return the rows of all parts."""
        return type(self.parts[0])(*(joined(list(column)) for column in zip(*self.parts, strict=True)))


@dataclass(frozen=True)
class FetchRows(Question[RowParts]):
    """Fetch a fair sample of each class, given its share; or all rows, if they are few and fitted in one place."""

    shares: tuple[float, ...]
    seed: int

    name: ClassVar[str] = "sample"

    def answer(self, rows: Any, shard: int) -> RowParts:
        shares = np.array(self.shares)[codes_of(rows.targets)]
        drawn = np.flatnonzero(np.random.default_rng([self.seed, 2, shard]).random(shares.size) < shares)
        return RowParts((rows.drawn(drawn, shares[drawn]),))


@dataclass(frozen=True)
class TakeMoments(Question[Standardizer]):
    standardize: bool

    name: ClassVar[str] = "moments"

    def answer(self, rows: RowsAndTargets, shard: int) -> Standardizer:
        return Standardizer(rows.X.shape[1], active=self.standardize).update_with_gaps(rows.X)


@dataclass(frozen=True)
class Covariance(Sums):
    """The sum of the outer products of some rows."""

    rows: int
    products: NDArray[np.float64]


@dataclass(frozen=True)
class TakeCovariance(Question[Covariance]):
    """Take the covariance of a fair sample of each shard's rows, standardized."""

    standardizer: Standardizer
    share: float
    seed: int

    name: ClassVar[str] = "covariance"

    def answer(self, rows: RowsAndTargets, shard: int) -> Covariance:
        size = min(int(np.ceil(self.share * rows.X.shape[0])), rows.X.shape[0])
        drawn = np.random.default_rng([self.seed, 1, shard]).choice(rows.X.shape[0], size, replace=False)
        return Covariance(size, standardized_products(self.standardizer, rows.X, drawn))


@dataclass(frozen=True)
class Summaries(Answer):
    """A summary per fold, and one of all rows."""

    folds: tuple[Any, ...]
    whole: Any = None

    def merge(self, other: Summaries) -> Summaries:
        whole = None if self.whole is None else self.whole.merge(other.whole)
        folds = zip(self.folds, other.folds, strict=True)
        return Summaries(tuple(mine.merge(theirs) for mine, theirs in folds), whole)


@dataclass(frozen=True)
class CountFolds(Question[Summaries]):
    """Sum up the rows that each fold would contain."""

    folds: int

    name: ClassVar[str] = "folds"

    def answer(self, rows: RowsAndTargets, shard: int) -> Summaries:
        fold_of_row = fold_of_each_row(rows.X, self.folds)
        mine = [rows.targets[fold_of_row == fold] for fold in range(self.folds)]
        return Summaries(tuple(RowTotals(one.size, *class_totals(one), 0.0) for one in mine))
