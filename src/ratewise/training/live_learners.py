"""Logistic learners of a stream: each forgets at its own speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import kernels
from ..solvers.state import LinearModel, kernel_rows
from .config import FitConfig


class LearnerKind(NamedTuple):
    """How fast a learner forgets and how it weighs the classes; ``step`` is constant, or 0 for AdaGrad's steps."""

    half_life: float
    exponent: float
    step: float = 0.0


class LiveLearners:
    """Learners of several kinds, which learn from the same rows in order."""

    def __init__(self, kinds: Sequence[LearnerKind], config: FitConfig, n_features: int):
        decays = [0.5 ** (1.0 / kind.half_life) for kind in kinds]
        self._scale_keepers = _first_places(decays)
        """For each learner, the first learner with the same column scale; that one keeps the scale."""
        columns = decays, [kind.exponent for kind in kinds], self._scale_keepers, [kind.step for kind in kinds]
        self._settings = np.array(columns, dtype=np.float64).T.copy()
        self._l2, self._standardize = config.l2, config.standardize
        self._overall = np.zeros((3, n_features))
        self._columns = np.zeros((len(kinds), kernels.COLUMN_FACTS, n_features))
        self._facts = np.zeros((len(kinds), kernels.FACTS))
        self._sparse = False

    @property
    def number(self) -> int:
        return int(self._settings.shape[0])

    def learn(self, X: Any, signed_weights: NDArray[np.float64]) -> None:
        """Learn from rows in order."""
        self._sparse = sparse.issparse(X)
        learn = kernels.learn_live_sparse if self._sparse else kernels.learn_live_dense
        learn(
            kernel_rows(X),
            signed_weights,
            self._overall,
            self._columns,
            self._facts,
            self._settings,
            self._l2,
            self._standardize,
        )

    def require_sound(self, n_features: int) -> None:
        """Refuse arrays, from a file, that the compiled loop would read beyond their ends."""
        n = self.number
        shapes = {
            "_settings": (n, kernels.SETTINGS),
            "_overall": (3, n_features),
            "_columns": (n, kernels.COLUMN_FACTS, n_features),
            "_facts": (n, kernels.FACTS),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape or getattr(self, name).dtype != np.float64:
                raise ValueError("the learners of the stream do not fit the model")
        self._scale_keepers = _first_places(self._settings[:, 0].tolist())
        if self._settings[:, 2].tolist() != self._scale_keepers:
            raise ValueError("the learners of the stream do not fit each other")

    def start_from(self, model: LinearModel) -> None:
        """Continue from a model of the user's columns, once some rows have shown their scale."""
        centre, scale, _ = self.scaling()
        self._columns[:, 3] = self._columns[:, 4] = model.weights * scale
        self._facts[:, 4] = self._facts[:, 5] = model.intercept + centre @ model.weights

    def models(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the model of each learner, of the user's columns: coefficients and intercepts."""
        centre, scale, used = self.scaling()
        coef = np.where(used, self._columns[:, 4] / scale, 0.0)
        return coef, self._facts[:, 5] - (coef * centre).sum(axis=1)

    def class_weights(self) -> NDArray[np.float64]:
        """Return how much each learner weighs a positive now, per negative, as a logarithm."""
        share = (self._facts[:, 1] + 1.0) / (self._facts[:, 2] + 2.0)
        weights: NDArray[np.float64] = self._settings[:, 1] * np.log((1.0 - share) / share)
        return weights

    def scaling(self) -> Scaling:
        """Return how each learner sees columns now."""
        first, second = self._columns[self._scale_keepers, 0], self._columns[self._scale_keepers, 1]
        if not self._standardize:
            return Scaling(np.zeros_like(first), np.ones_like(first), np.ones(first.shape, dtype=bool))
        if self._sparse:
            count = np.maximum(self._facts[self._scale_keepers, :1], 1.0)
            scale = np.sqrt(first / np.sqrt(np.maximum(count * second, 1e-300)))
            return Scaling(np.zeros_like(first), np.where(scale > 0, scale, 1.0), scale > 0)
        least = kernels.LEAST_SPREAD
        scale = np.sqrt(np.maximum(second, least * least * self._overall[2]))
        used = scale > 1e-12 * np.abs(first)
        return Scaling(first, np.where(used, scale, 1.0), used)


def _first_places(values: list[float]) -> list[int]:
    """Return the first index of each value."""
    return [values.index(value) for value in values]


class Scaling(NamedTuple):
    """How learners scale columns; each field is an array ``[learner, column]``."""

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    used: NDArray[np.bool_]
    """Columns that vary."""


class RecentScores:
    """The latest scores of each class by several models, computed before the models learned from these rows."""

    def __init__(self, n_models: int, sizes: tuple[int, int]):
        self.n_models = n_models
        self._scores = tuple(np.zeros((n_models, size)) for size in sizes)
        self._weights = tuple(np.zeros(size) for size in sizes)
        self.seen = np.zeros(2, dtype=np.int64)
        """Rows of each class so far."""

    @property
    def both_seen(self) -> bool:
        return bool(self.seen.min() > 0)

    def add(self, scores: NDArray[np.float64], signed_weights: NDArray[np.float64]) -> None:
        kernels.keep_recent(scores, signed_weights, self._scores, self._weights, self.seen)

    def require_sound(self) -> None:
        """Refuse arrays, from a file, that the compiled loop would write beyond their ends."""
        shapes = [(one.shape, (self.n_models, held.size)) for one, held in self._pairs()]
        counted = self.seen.shape == (2,) and self.seen.dtype == np.int64 and self.seen.min() >= 0
        floats = all(one.dtype == held.dtype == np.float64 and held.size for one, held in self._pairs())
        if len(shapes) != 2 or any(found != due for found, due in shapes) or not (counted and floats):
            raise ValueError("the recent scores of the stream do not fit its learners")

    def _pairs(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        return list(zip(self._scores, self._weights, strict=True))

    def sample(self, model: int, positive_share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return scores of a model with signed weights; positives have this share of the total weight."""
        held = np.minimum(self.seen, [weights.size for weights in self._weights]).tolist()
        number, signed = sum(held), []
        for side, size, share in zip((-1.0, 1.0), held, (1.0 - positive_share, positive_share), strict=True):
            weights = self._weights[int(side > 0)][:size]
            signed.append(side * share * number / max(weights.sum(), 1e-300) * weights)
        scores = [one[model, :size] for one, size in zip(self._scores, held, strict=True)]
        return np.concatenate(scores), np.concatenate(signed)
