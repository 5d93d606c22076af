"""Many classes in files or shards: fair samples of each class, for what a fit needs in memory.

Models are cut between the steps, and validated at the end, on the sample.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import kernels
from ..decisions.class_offsets import ClassScores
from ..solvers.softmax import ClassCandidate, ClassShape, Path
from ..solvers.state import LinearModels
from ..transforms import Standardizer, Transform
from .bases import basis_of_rows, transform_by_sample
from .config import FitConfig
from .labelled import MulticlassRows
from .source import ALL_ROWS
from .trainer import whitening_pays


class ClassFacts(NamedTuple):
    """What one pass over rows of many classes tells."""

    rows: int
    n_values: int
    counts: NDArray[np.float64]
    """The rows of each class."""
    totals: NDArray[np.float64]
    """Their weight."""
    standardizer: Standardizer

    @property
    def mean_weight(self) -> float:
        return float(self.totals.sum()) / self.rows


class SampledClasses(ABC):
    """Rows of many classes, of which the first of some folds validates; a row's own bits say which fold it is of.

    ``sampled`` are a fair sample of each class, the numbers of their classes and weights in proportion to all.
    """

    at_once: bool

    def __init__(
        self,
        facts: ClassFacts,
        sampled: tuple[Any, NDArray[np.intp], NDArray[np.float64]],
        settings: FitConfig,
        seed: int,
    ):
        self.facts, self.seed, self.folds = facts, seed, 1
        self._sampled = sampled
        self.transform = self._transform(settings)

    def rng(self, use: int) -> np.random.Generator:
        """Return random numbers for one use, the same in a resumed fit."""
        return np.random.default_rng([self.seed, 2**31 + use])

    def _transform(self, settings: FitConfig) -> Transform:
        facts, (X, codes, weights), basis = self.facts, self._sampled, None
        asked = settings.basis
        if asked is not None and not sparse.issparse(X):
            assert not isinstance(asked, str)  # of many classes a basis must be named
            rarest = np.where(codes == facts.counts.argmin(), weights, -weights)
            basis = basis_of_rows(asked, X, rarest, facts.standardizer, facts.rows, self.rng(3))
        width = X.shape[1] if basis is None else basis.width
        dense = not sparse.issparse(X)
        whitens = settings.sharpen is not None and settings.standardize
        whitens = whitens and whitening_pays(facts.rows, width, dense=dense, coded=basis is not None)
        return transform_by_sample((X, weights), facts.standardizer, basis, self.rng(1), whiten=whitens)

    def stored(
        self, X: Any, codes: NDArray[np.intp], weights: NDArray[Any], rng: np.random.Generator
    ) -> MulticlassRows:
        facts = self.facts
        return MulticlassRows(X, codes, weights / facts.mean_weight, facts.totals.size, self.transform, rng)

    def in_parts(self, X: Any, targets: NDArray[Any], rng: np.random.Generator) -> list[MulticlassRows]:
        """Return rows, transformed: those of the first fold, and the others."""
        return parts_of(X, targets[:, 0].astype(np.intp), targets[:, 1], self.folds, self.stored, rng)

    @cached_property
    def _whole_sample(self) -> MulticlassRows:
        return self.stored(*self._sampled, self.rng(2))

    def sample(self) -> MulticlassRows:
        return self._whole_sample

    def all_sampled(self) -> bool:
        return bool(self._sampled[1].size == self.facts.rows)

    def in_folds(self, folds: int, rng: np.random.Generator) -> Self:
        other = copy.copy(self)
        other.folds = folds
        other._parts = parts_of(*self._sampled, folds, self.stored, self.rng(4))
        return other

    _parts: list[MulticlassRows]

    def shape(self, without: int = ALL_ROWS) -> ClassShape:
        facts, share = self.facts, 1.0 if without == ALL_ROWS else 1.0 - 1.0 / self.folds
        sample = self._whole_sample
        n_values = facts.n_values if sample.sparse else facts.rows * sample.n_features
        return ClassShape(
            share * facts.totals / facts.mean_weight,
            max(int(share * facts.rows), 1),
            sample.n_features,
            int(share * n_values),
            sample.leverage(),
            at_once=self.at_once,
        )

    def training_sample(self, without: int) -> MulticlassRows:
        return self._whole_sample if without == ALL_ROWS else self._parts[1]

    def validation_scores(self, models: Sequence[LinearModels]) -> ClassScores:
        (model,) = models
        return self._parts[0].scored(model).centred()

    @abstractmethod
    def follow(
        self, paths: Sequence[tuple[int, Path]], rng: np.random.Generator, threads: int
    ) -> list[list[ClassCandidate]]:
        """Answer the requests of paths to their ends, each from the rows without those of its fold."""


def parts_of(
    X: Any, codes: NDArray[np.intp], weights: NDArray[Any], folds: int, stored: Any, rng: np.random.Generator
) -> list[MulticlassRows]:
    """Return the rows of the first fold, and the others, each stored."""
    fold_of_row = kernels.fold_of_each_row(X, folds)
    parts = (np.flatnonzero(fold_of_row == 0), np.flatnonzero(fold_of_row != 0))
    return [stored(X[one], codes[one], weights[one], rng) for one in parts]
