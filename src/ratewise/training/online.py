"""Rows that come one batch at a time and never again: what ``partial_fit`` keeps from call to call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..solvers.base import History, Scores, Task
from ..solvers.certify import decide
from ..solvers.state import NOTHING_SEEN, LinearModel, Summary, summarize
from ..solvers.threshold import best_threshold, effective_points
from ..transforms import Standardizer
from . import config
from .config import FitConfig
from .reservoir import Reservoir
from .rows import ArrayRows
from .source import FitResult, Runner


class OnlineFit:
    """A run of the solver without end, fed batch by batch: bounded, and picklable.

    ``before`` is the model to begin with, in the user's columns.
    """

    def __init__(
        self, settings: FitConfig, n_features: int, before: LinearModel | None, seed: int, *, verbose: bool = False
    ):
        self.standardizer = Standardizer(n_features, active=settings.standardize)
        self.history = History(verbose=verbose)
        self._settings = settings
        initial = None if before is None else LinearModel(*self.standardizer.transform_coef(*before))
        task = Task(
            settings.measure,
            n_features,
            np.dtype(np.float32),
            l2=settings.l2,
            initial=initial,
            history=self.history,
            endless=True,
        )
        self._runner = Runner(settings.solver.start(task), 0, NOTHING_SEEN)
        self._rng = np.random.default_rng(seed)
        self.reservoir: Reservoir
        self._sparse: bool | None = None

    @property
    def seen(self) -> Summary:
        return self._runner.seen

    def prevalence_with(self, X: Any, signed_weights: NDArray[Any]) -> float:
        """Return the share of positives once these rows have been seen too."""
        return self.seen.merge(summarize(X, signed_weights)).prevalence

    def learn(self, X: Any, signed_weights: NDArray[Any]) -> None:
        X = self._in_the_first_form(X)
        self._update_standardizer(X)
        rows = ArrayRows(X, signed_weights, self.standardizer, self._rng)
        self._runner.seen = self.seen.merge(rows.summary)
        self._runner.feed(rows, rows)
        self._runner.end_pass(rows)
        self.reservoir.add(X, signed_weights)

    def model(self) -> LinearModel:
        """Return the model so far, of the user's columns."""
        return LinearModel(*self.standardizer.inverse_coef(*self._runner.run.model()))

    def result(self) -> FitResult:
        """Return the model so far, its threshold chosen on a sample of the rows."""
        sample, signed_weights = self.reservoir.sample()
        model = self._runner.run.model()
        coef, intercept = self.standardizer.inverse_coef(*model)
        scores = Scores(np.asarray(sample @ coef) + intercept, signed_weights)
        settings, points, threshold = self._settings, effective_points(signed_weights), 0.0
        if settings.tune:
            threshold = best_threshold(*scores[:2], settings.measure).threshold
        decision = decide(scores, settings.measure, threshold, points, tune=settings.tune, fitted=coef.size + 1)
        return FitResult.of_model(self.standardizer, model, decision, settings.solver)

    def _in_the_first_form(self, X: Any) -> Any:
        """Dense or CSR as the first rows were: the two are scaled differently."""
        if self._sparse is None:
            self._sparse = sparse.issparse(X)
            self.reservoir = Reservoir.for_rows(X, self._rng, config.ONLINE_SAMPLE_ROWS)
        if self._sparse:
            return sparse.csr_matrix(X)
        return X.toarray() if sparse.issparse(X) else X

    def _update_standardizer(self, X: Any) -> None:
        """Take the rows into the column statistics, and re-express what was learned in the new scale."""
        before = self.standardizer.snapshot()
        after = self.standardizer.update(X)
        self._runner.run.change_transform(
            lambda weights, b: after.transform_coef(*before.inverse_coef(weights, b))
        )
