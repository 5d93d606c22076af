"""The first rounds: what is in the data, and the units all shards will learn in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import hash_csr_rows, hash_dense_rows
from ..streams import ArrayStream, Standardizer, Summary, Units, class_weights
from .protocol import Answer, Question, Setup
from .rows import MatrixRows, ReadRows, ReadyRows


class LabelCount(NamedTuple):
    rows: int
    weight: float
    squared_weight: float


@dataclass(frozen=True)
class Census(Answer):
    """Rows and labels."""

    rows: int
    n_features: int
    sparse: bool
    labels: dict[Any, LabelCount]

    def merge(self, other: Census) -> Census:
        if (self.n_features, self.sparse) != (other.n_features, other.sparse):
            raise ValueError(
                f"Partitions differ: one has {self.n_features} columns ({_form(self)}), another "
                f"{other.n_features} ({_form(other)})."
            )
        labels = dict(self.labels)
        for label, count in other.labels.items():
            before = labels.get(label, LabelCount(0, 0.0, 0.0))
            labels[label] = LabelCount(*(mine + more for mine, more in zip(before, count, strict=True)))
        return Census(self.rows + other.rows, self.n_features, self.sparse, labels)


def _form(census: Census) -> str:
    return "sparse" if census.sparse else "dense"


@dataclass(frozen=True)
class TakeCensus(Question[Census]):
    """Which labels there are, and how many rows of each."""

    name: ClassVar[str] = "census"

    def answer(self, rows: ReadRows, shard: int) -> Census:
        _check(rows, shard)
        values = _different(rows.labels)
        if values.size > 2:
            raise ValueError(
                f"Partition {shard} holds {values.size} different labels: only two classes can be told apart."
            )
        labels = {value: _count(rows, value) for value in values.tolist()}
        return Census(rows.labels.size, rows.X.shape[1], bool(sparse.issparse(rows.X)), labels)


def _different(labels: NDArray[Any]) -> NDArray[Any]:
    """The labels that occur; of numbers, if there are two at most, without sorting them."""
    if labels.dtype.kind in "biuf":
        ends = np.unique([labels.min(), labels.max()])
        if sum(int(np.count_nonzero(labels == end)) for end in ends) == labels.size:
            return ends
    return np.unique(labels)


def _count(rows: ReadRows, label: Any) -> LabelCount:
    mine = rows.labels == label
    if rows.weights is None:
        number = int(np.count_nonzero(mine))
        return LabelCount(number, float(number), float(number))
    weights = rows.weights[mine]
    return LabelCount(int(np.count_nonzero(weights)), float(weights.sum()), float(weights @ weights))


def _check(rows: ReadRows, shard: int) -> None:
    """Refuse what cannot be learned from, naming the partition."""
    if rows.labels.dtype.kind == "f" and not np.isfinite(rows.labels).all():
        raise ValueError(f"Partition {shard}: y contains NaN or infinity; every row needs a label.")
    if rows.weights is not None and not (np.isfinite(rows.weights).all() and (rows.weights >= 0).all()):
        raise ValueError(f"Partition {shard}: sample weights must be finite numbers of 0 or more.")
    values = rows.X.data if sparse.issparse(rows.X) else rows.X
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = ~np.isfinite(values)
    if bad.any():
        column = int(rows.X.indices[bad][0] if sparse.issparse(rows.X) else np.flatnonzero(bad.any(axis=0))[0])
        raise ValueError(
            f"Partition {shard}: X contains NaN or infinity in column {column}. Impute it first, for instance "
            "with DataFrame.fillna."
        )


@dataclass(frozen=True)
class Sign(Setup):
    """Labels become signs; rows of weight 0 go."""

    positive: Any
    weight_scale: float

    name: ClassVar[str] = "sign"

    def apply(self, rows: ReadRows, shard: int) -> MatrixRows:
        signed = np.where(rows.labels == self.positive, np.float32(1.0), np.float32(-1.0))
        if rows.weights is None:
            return MatrixRows(rows.X, signed)
        signed *= (rows.weights * self.weight_scale).astype(np.float32)
        kept = np.flatnonzero(signed)
        X = rows.X if kept.size == signed.size else rows.X[kept]
        return MatrixRows(X, signed[kept])


@dataclass(frozen=True)
class Moments(Answer):
    """The column statistics."""

    standardizer: Standardizer

    def merge(self, other: Moments) -> Moments:
        return Moments(self.standardizer.merge(other.standardizer))


@dataclass(frozen=True)
class TakeMoments(Question[Moments]):
    standardize: bool

    name: ClassVar[str] = "moments"

    def answer(self, rows: MatrixRows, shard: int) -> Moments:
        return Moments(Standardizer(rows.X.shape[1], active=self.standardize).update(rows.X))


@dataclass(frozen=True)
class Covariance(Answer):
    """The sum of the outer products of some rows."""

    rows: int
    products: NDArray[np.float64]

    def merge(self, other: Covariance) -> Covariance:
        return Covariance(self.rows + other.rows, self.products + other.products)


@dataclass(frozen=True)
class TakeCovariance(Question[Covariance]):
    """Of a fair sample of each shard's rows, standardised."""

    standardizer: Standardizer
    share: float
    seed: int

    name: ClassVar[str] = "covariance"

    def answer(self, rows: MatrixRows, shard: int) -> Covariance:
        size = min(int(np.ceil(self.share * rows.X.shape[0])), rows.X.shape[0])
        drawn = np.random.default_rng([self.seed, 1, shard]).choice(rows.X.shape[0], size, replace=False)
        sample = self.standardizer.transform(rows.X, drawn, np.float32)
        return Covariance(size, (sample.T @ sample).astype(np.float64))


@dataclass(frozen=True)
class MakeReady(Setup):
    """Rows into common units and random order; into two halves, by their own bits, if so wished."""

    units: Units
    halves: bool
    seed: int

    name: ClassVar[str] = "ready"

    def apply(self, rows: MatrixRows, shard: int) -> ReadyRows:
        rng = np.random.default_rng([self.seed, 2, shard])
        if not self.halves:
            return ReadyRows([ArrayStream(*rows, self.units, rng)])
        half = half_of_each_row(rows.X)
        mine = [np.flatnonzero(half == number) for number in (0, 1)]
        return ReadyRows([ArrayStream(rows.X[one], rows.signed_weights[one], self.units, rng) for one in mine])


def half_of_each_row(X: Any) -> NDArray[np.uint64]:
    """Equal rows are in one half, whatever partition they are in."""
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    if sparse.issparse(X):
        hash_csr_rows(np.asarray(X.data, dtype=np.float32).view(np.uint32), X.indices, X.indptr, hashes)
    else:
        hash_dense_rows(np.ascontiguousarray(X, dtype=np.float32).view(np.uint32), hashes)
    return hashes & np.uint64(1)


@dataclass(frozen=True)
class Summaries(Answer):
    """A summary of each part."""

    parts: tuple[Summary, ...]

    def merge(self, other: Summaries) -> Summaries:
        return Summaries(tuple(mine.merge(theirs) for mine, theirs in zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True)
class CountHalves(Question[Summaries]):
    """What each half would hold."""

    name: ClassVar[str] = "halves"

    def answer(self, rows: MatrixRows, shard: int) -> Summaries:
        half = half_of_each_row(rows.X)
        mine = [rows.signed_weights[half == number] for number in (0, 1)]
        return Summaries(tuple(Summary(one.size, *class_weights(one), 0.0) for one in mine))


@dataclass(frozen=True)
class TakeSummaries(Question[Summaries]):
    name: ClassVar[str] = "summary"

    def answer(self, rows: ReadyRows, shard: int) -> Summaries:
        return Summaries(tuple(part.summary for part in rows.parts))
