"""Rows that arrive in batches and are not kept: the learning state of ``partial_fit``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..decisions.calibrate import log_odds_line
from ..decisions.certify import decide
from ..decisions.cuts import best_threshold, effective_points, quick_threshold
from ..solvers.base import History, Scores, Task
from ..solvers.state import NOTHING_SEEN, LinearModel, RowTotals
from ..transforms import Standardizer
from . import config
from .answers import Runner
from .config import FitConfig
from .reservoir import Reservoir
from .rows import ArrayRows
from .source import FitResult


class OnlineFit:
    """An endless run of the solver, which learns batch by batch; bounded in memory, picklable.

    While the rarer class has few rows, the run starts again with every batch, from a sample of all rows so far: a
    model of one class alone would take long to unlearn. ``before`` is the model to begin with, in the user's
    columns.
    """

    def __init__(
        self, settings: FitConfig, n_features: int, before: LinearModel | None, seed: int, *, verbose: bool = False
    ):
        self.standardizer = Standardizer(n_features, active=settings.standardize)
        self.history = History(verbose=verbose)
        self._settings = settings
        self._runner = self._start(before)
        self._rng = np.random.default_rng(seed)
        self._begins_anew = before is None
        self.reservoir: Reservoir
        self._sparse: bool | None = None

    def _start(self, before: LinearModel | None) -> Runner:
        dtype, initial = np.dtype(np.float32), None
        if before is not None:
            weights, intercept = self.standardizer.transform_coef(*before)
            initial = LinearModel(weights.astype(dtype).astype(np.float64), intercept)
        settings = self._settings
        task = Task(
            settings.measure,
            self.standardizer.width,
            dtype,
            l2=settings.l2,
            initial=initial,
            history=self.history,
            endless=True,
        )
        return Runner(settings.solver.start(task), 0, NOTHING_SEEN)

    @property
    def seen(self) -> RowTotals:
        seen: RowTotals = self._runner.seen
        return seen

    def learn(self, X: Any, signed_weights: NDArray[Any], *, last: bool = False) -> None:
        """Learn from a block of rows; ``last`` says whether it is the last one."""
        X = self._in_the_first_form(X)
        self._update_standardizer(X)
        fresh = X, signed_weights
        rarer = config.BEGINNING_ROWS
        if self._begins_anew:
            X, signed_weights = self.reservoir.with_more(X, signed_weights)
            rarer = int(min((signed_weights > 0).sum(), (signed_weights < 0).sum()))
            self.history = self.history.branch()
            self._runner = self._start(None)
            self._begins_anew = rarer < config.BEGINNING_ROWS
        if rarer:
            rows = ArrayRows(X, signed_weights, self.standardizer, self._rng)
            self._runner.seen = self.seen.merge(rows.summary)
            self._runner.feed(rows, rows)
            self._runner.end_pass(rows)
        self.reservoir.add(*fresh)

    def require_sound(self, n_features: int) -> None:
        """Refuse a state, from a file, that compiled loops would read beyond its ends."""
        self.standardizer.require_sound(n_features)
        self._runner.run.learner.require_sound(n_features)
        if hasattr(self, "reservoir"):
            self.reservoir.require_sound(n_features)

    def model(self) -> LinearModel:
        """Return the model so far, of the user's columns."""
        return LinearModel(*self.standardizer.inverse_coef(*self._runner.run.model()))

    def log_odds_model(self) -> LinearModel:
        """Return the model with its scores as log odds, fitted on a sample of the rows."""
        return as_log_odds(self.model(), *self._sampled_scores()[:2])

    def scaling(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the centre and the divisor of each column."""
        return self.standardizer.centre, self.standardizer.scale

    def result(self) -> FitResult:
        """Return the model so far, with its threshold chosen on a sample of the rows."""
        scores, settings = self._sampled_scores(), self._settings
        points, fitted = effective_points(scores.signed_weights), self.standardizer.width + 1
        threshold = self._best_threshold(scores)
        decision = decide(scores, settings.measure, threshold, points, tune=settings.tune, fitted=fitted)
        return FitResult.of_model(self.standardizer, self._runner.run.model(), decision, settings.solver)

    def quick_threshold(self, model: LinearModel) -> float:
        """Return an approximately best threshold of a model on a sample of the rows."""
        scores, few = self.reservoir.scores(*model), config.FEW_SCORES
        return quick_threshold(scores.values, scores.signed_weights, self._settings.measure, few=few).threshold

    def _best_threshold(self, scores: Scores) -> float:
        if not self._settings.tune:
            return 0.0
        return best_threshold(scores.values, scores.signed_weights, self._settings.measure).threshold

    def _sampled_scores(self) -> Scores:
        return self.reservoir.scores(*self.model())

    def _in_the_first_form(self, X: Any) -> Any:
        """Return rows as dense or CSR, as the first rows were: the two forms are scaled differently."""
        if self._sparse is None:
            self._sparse = sparse.issparse(X)
            self.reservoir = Reservoir.for_rows(X, self._rng, config.ONLINE_SAMPLE_ROWS)
        if self._sparse:
            return sparse.csr_matrix(X)
        return X.toarray() if sparse.issparse(X) else X

    def _update_standardizer(self, X: Any) -> None:
        """Add the rows to the column statistics, and transform the learned model to the new scale."""
        before = self.standardizer.snapshot()
        after = self.standardizer.update(X)
        self._runner.run.change_transform(
            lambda weights, b: after.transform_coef(*before.inverse_coef(weights, b))
        )


def as_log_odds(model: LinearModel, scores: NDArray[Any], signed_weights: NDArray[Any]) -> LinearModel:
    """Return the model rescaled so that its scores are log odds, fitted to these scores."""
    return model.times(*log_odds_line(scores, signed_weights))
