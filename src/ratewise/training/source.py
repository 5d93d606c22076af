"""The one interface between a fit and its rows, wherever they lie: memory, files or the shards of a cluster.

A source answers four questions: the totals of the rows (:meth:`RowSource.statistics`), the transform of their
columns (:meth:`RowSource.transform`), what training runs learn from them (:meth:`TrainingRows.train`), and how
models score rows that they have not learned from (:meth:`TrainingRows.validation_scores`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..counts import effective_points, sums_by_class
from ..decisions.calibrate import stacked
from ..decisions.certify import Decision, relative_groups
from ..decisions.class_offsets import ClassScores
from ..decisions.cuts import Points
from ..decisions.group_cuts import GroupDecision
from ..decisions.intervals import ModelShift
from ..features.splines import Basis, BasisSettings
from ..kernels import weight_moments
from ..measures import Measure
from ..solvers.base import Scores, Solver
from ..solvers.driver import Run
from ..solvers.softmax import MultinomialLogistic
from ..solvers.state import LinearModel, LinearModels
from ..transforms import Transform
from .targets import Targets, codes_of, weights_of

Progress = Callable[[dict[str, Any]], object]
"""A function of a dict with stage, done_rows, total_rows and, while a fit learns from windows, tpr, tnr, value."""


class ClassRows(NamedTuple):
    """The rows of each class; with two classes, number 1 is the positive one."""

    rows: NDArray[np.float64]
    weights: NDArray[np.float64]
    squares: NDArray[np.float64]
    """Of the weights."""

    @classmethod
    def of(cls, targets: Targets, n_classes: int) -> ClassRows:
        if n_classes == 2:
            positive, negative, *squares = weight_moments(targets)
            rows = np.count_nonzero(targets < 0), np.count_nonzero(targets > 0)
            return cls(np.array(rows, dtype=float), np.array([negative, positive]), np.array(squares[::-1]))
        codes, weights = codes_of(targets), weights_of(targets).astype(np.float64)
        return cls(*(sums_by_class(codes, one, n_classes) for one in (weights > 0, weights, weights**2)))

    @property
    def mean_weight(self) -> float:
        return float(self.weights.sum() / self.rows.sum())

    def sides(self, values: NDArray[np.float64]) -> tuple[float, float]:
        """Return the value of the positive class, or of the rarest of many classes, and that of all others."""
        positive = 1 if values.size == 2 else int(self.rows.argmin())
        return float(values[positive]), float(np.delete(values, positive).sum())

    @property
    def points(self) -> tuple[float, float]:
        """The effective points of both sides."""
        positive, negative = zip(self.sides(self.weights), self.sides(self.squares), strict=True)
        return effective_points(*positive), effective_points(*negative)


class DataShape(NamedTuple):
    """The totals of the rows before learning; with many classes, the rarest counts as the positive one."""

    rows: int
    positive_rows: int
    positive_weight: float
    """Of all positives, where the mean weight of a row is 1."""
    negative_weight: float
    points: tuple[float, float]
    """Effective points of the positive and of the negative class."""
    n_features: int
    n_values: int
    """Numbers that a pass reads."""
    sparse: bool
    n_groups: int | None = None
    in_memory: bool = False
    low_memory: bool = False
    """Whether the fit must not copy the rows."""
    coded: bool = False
    """Whether a basis encodes the rows; ``n_features`` then counts its columns."""
    given_folds: int | None = None
    """How many folds the user gave; None lets the fit choose."""
    of_classes: ClassRows | None = None
    """The rows of each class, if there are more than two classes."""
    whole_steps: bool = False
    """Whether each step uses all rows, however many there are."""

    @classmethod
    def of_rows(
        cls, classes: ClassRows, n_features: int, coded_width: int | None, n_values: int, sparse: bool, **more: Any
    ) -> DataShape:
        """Return the totals of rows that are not in memory; ``coded_width`` counts the columns of a basis."""
        positive, negative = (one / classes.mean_weight for one in classes.sides(classes.weights))
        rows, coded = int(classes.rows.sum()), coded_width is not None
        return cls(
            rows,
            int(classes.sides(classes.rows)[0]),
            positive,
            negative,
            classes.points,
            n_features if coded_width is None else coded_width,
            n_values if coded_width is None else rows * coded_width,
            sparse,
            coded=coded,
            of_classes=None
            if classes.rows.size == 2
            else classes._replace(weights=classes.weights / classes.mean_weight),
            **more,
        )

    @property
    def rarer_rows(self) -> int:
        return min(self.positive_rows, self.rows - self.positive_rows)

    @property
    def prevalence(self) -> float:
        return self.positive_weight / (self.positive_weight + self.negative_weight)


class TrainingRows(Protocol):
    """Transformed rows, split into folds: fold k trains on all rows but its own, and is validated by those."""

    n_folds: int
    leverage: float
    """The mean squared length of a row, with the intercept's entry."""
    points_per_pass: int
    """How many points one model learns from in a pass over all rows."""
    whole_steps: bool
    """Whether a pass takes a few steps on all rows, not a step per point."""
    points: Points
    """Effective points of the positive and of the negative class; in memory, copies of a row count once."""
    frequent_rows: Any
    """One copy of each frequent row, transformed, the most frequent first; None if they were not determined."""

    def summary(self, fold: int) -> Any:
        """Sum up the rows that one pass of a run of this fold learns from."""

    def train(self, runs: Sequence[tuple[int, Run]]) -> list[Run]:
        """Complete runs, each with its fold; in memory, fold ``ALL_ROWS`` leaves no rows out."""

    def validation_scores(self, models: Sequence[LinearModel]) -> Scores:
        """Score the validation rows of every fold by its own model."""

    def class_scores(self, models: Sequence[LinearModels]) -> ClassScores:
        """Score validation rows with models of many classes; fewer models score the first folds only."""

    def threshold_scores(self, models: Sequence[LinearModel], measure: Measure) -> Scores:
        """Score all rows for the choice of the threshold, as exactly as the source allows."""

    def own_scores(self, model: LinearModel) -> Scores:
        """Score all rows, or a fair sample of them, by one model."""

    def model_shift(self, model: LinearModel, of_folds: Sequence[LinearModel], threshold: float) -> ModelShift:
        """Compare a model with the folds' models, on the rows that these have learned from."""


class RowSource(Protocol):
    """Rows of two classes, or of more."""

    dtype: Any

    def statistics(self) -> DataShape:
        """Count rows, classes and weights."""

    def coded(self, asked: BasisSettings | Basis | None) -> RowSource:
        """Return the same rows, encoded in a basis of this kind; sparse rows are not encoded."""

    def sample(self) -> RowSource:
        """Return rows in memory for the choice of a basis: all rows, or a fair sample of each class."""

    def transform(self, *, standardize: bool, whiten: bool) -> Transform:
        """Return the transform of the rows for learning."""

    def transformed(
        self, transform: Transform, folds: int = 1, repeats: int = 1, row_limit: float | None = None
    ) -> TrainingRows:
        """Transform the rows and split them; rows longer than ``row_limit`` mean squared lengths weigh less."""


class FitResult(NamedTuple):
    """The result of a fit: linear models of the user's columns, one row per model."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    scale: NDArray[np.float64]
    """The divisor of each column."""
    rates: Any
    """``Rates``; with several models a list of them."""
    stages: Any
    solver: Solver | MultinomialLogistic
    """The solver of the model."""
    interval: Any
    """``RatesInterval``; with several models a list of them."""
    calibration: NDArray[np.float64]
    """The numbers of a ``Calibration`` per model, as :func:`stacked` returns them."""
    message: str | None = None
    """A message if a bound of the measure cannot be guaranteed."""
    basis: Basis | None = None
    """The basis of the models' columns; None for the user's columns."""
    centre: NDArray[np.float64] | None = None
    """What was subtracted from each of the user's columns; None for nothing."""
    table: NDArray[np.float64] | None = None
    """C[true, predicted] with many classes, out-of-fold if there are folds."""
    groups: GroupDecision | None = None
    """For sensitive features: the threshold of each group, relative to the intercept's, and the counts."""

    @classmethod
    def of_model(
        cls,
        transform: Transform,
        model: LinearModel,
        decision: Decision,
        solver: Solver,
        stages: tuple[str, ...] = (),
    ) -> FitResult:
        """Return the outcome of one model of transformed columns."""
        own, basis = LinearModel(*transform.inverse_coef(*model)), getattr(transform, "basis", None)
        return cls.of_columns(own, transform.scale, transform.centre, decision, solver, stages)._replace(
            basis=basis
        )

    @classmethod
    def of_columns(
        cls,
        model: LinearModel,
        scale: NDArray[np.float64],
        centre: NDArray[np.float64],
        decision: Decision,
        solver: Solver,
        stages: tuple[str, ...],
    ) -> FitResult:
        """Return the outcome of one model of the user's columns."""
        found = cls(
            model.weights[np.newaxis, :],
            np.array([model.intercept - decision.threshold]),
            scale,
            decision.rates,
            stages,
            solver,
            decision.interval,
            stacked([decision.calibration]),
            decision.message,
            centre=centre,
            groups=relative_groups(decision),
        )
        return found.checked()

    def checked(self) -> FitResult:
        """Return this result; raise an error if one of its numbers is not finite."""
        if all(np.isfinite(np.asarray(part, dtype=np.float64)).all() for part in (*self[:2], self.rates)):
            return self
        raise ValueError(
            "No model could be learned: numbers beyond the range of float32 arose in training. Bring the columns "
            "of X to a common scale (standardize=True does), and look for values far from all others."
        )

    def in_named_columns(self, basis: Basis | None) -> FitResult:
        """Return models of the coded columns of a basis as models of its named columns."""
        if basis is None:
            return self
        coef, intercept = LinearModels(self.coef, self.intercept).mapped(basis.inverse_coef)
        return self._replace(coef=coef, intercept=intercept, scale=basis.scale, basis=basis, centre=basis.centre)

    def widened(self, occupied: NDArray[np.integer[Any]] | None, n_columns: int) -> FitResult:
        """Return the result for all columns, where only the columns with entries were fitted."""
        if occupied is None:
            return self
        coef, scale = np.zeros((self.coef.shape[0], n_columns)), np.ones(n_columns)
        coef[:, occupied], scale[occupied] = self.coef, self.scale
        return self._replace(coef=coef, scale=scale, centre=None)


def occupied_columns(X: Any) -> tuple[Any, NDArray[np.integer[Any]] | None]:
    """Return sparse rows without their empty columns, and which columns remain.

    The cost of a fit grows with the number of columns, and an empty column has the coefficient 0. Dense rows, and
    rows with more entries than columns, are returned unchanged.
    """
    if not sparse.issparse(X) or X.nnz >= X.shape[1]:
        return X, None
    occupied, places = np.unique(X.indices, return_inverse=True)
    if not occupied.size:
        return X, None
    places = places.reshape(-1).astype(X.indices.dtype)
    return type(X)((X.data, places, X.indptr), shape=(X.shape[0], occupied.size)), occupied
