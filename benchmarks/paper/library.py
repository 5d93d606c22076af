"""All that the harness uses of ratewise below its public names, in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise._atomic import atomic_write
from ratewise.baselines.linear import Stopwatch, split
from ratewise.estimators import MeasureClassifier
from ratewise.estimators._rows import Columns
from ratewise.estimators._targets import checked_labels, training_set
from ratewise.measures import Measure, PseudoLinearMeasure
from ratewise.solvers import Amp, LinearModel, Task, best_threshold
from ratewise.solvers.base import History
from ratewise.training.answers import Runner
from ratewise.training.rows import ArrayRows
from ratewise.transforms import Standardizer

__all__ = [
    "ArrayRows",
    "LinearModel",
    "OnlineRun",
    "SplitRows",
    "Stopwatch",
    "amp_levels",
    "best_threshold",
    "plain_rows",
    "write_whole",
]


class SplitRows:
    """Rows checked as every estimator checks them, standardized and shuffled: a learning and a validation part."""

    def __init__(self, X: NDArray[Any], positive: NDArray[np.bool_], validation_fraction: float, seed: int):
        checked, _ = Columns.of(X, MeasureClassifier())
        rows = training_set(checked, checked_labels(positive, checked.number), None, pos_label=True)
        self._standardizer = rows.checked.standardizer()
        stream = ArrayRows(rows.X, rows.signed_weights, self._standardizer, np.random.default_rng(seed))
        self.learning, self._validation = split(stream, validation_fraction)

    def validation_value(self, model: LinearModel, measure: Measure) -> float:
        """Return the measure on the validation part at its best threshold; minus infinity if scores overflow."""
        scores = self._validation.scores(*model)
        if not np.isfinite(scores).all():
            return -np.inf
        return best_threshold(scores, self._validation.signed_weights, measure).value

    def with_threshold(self, model: LinearModel, measure: Measure) -> tuple[NDArray[np.float64], float]:
        """Return coefficients and intercept for the original columns, at the validation part's best threshold."""
        scores = self._validation.scores(*model)
        threshold = best_threshold(scores, self._validation.signed_weights, measure).threshold
        coef, intercept = self._standardizer.inverse_coef(*model)
        return coef, intercept - threshold


def plain_rows(X: NDArray[np.float64], signs: NDArray[np.float64], seed: int) -> ArrayRows:
    """Return an endless stream of these rows, shuffled and not standardized, in double precision."""
    identity = Standardizer(X.shape[1], active=False)
    return ArrayRows(X, signs, identity, np.random.default_rng(seed), np.float64)


class OnlineRun:
    """A streaming solver at work on rows in memory, fed as many points as wanted."""

    def __init__(self, solver: Any, measure: Measure, rows: ArrayRows):
        task = Task(measure, rows.n_features, rows.dtype, endless=True)
        self._runner = Runner(solver.start(task), 0, rows.summary)
        self._rows = rows

    def learn(self, points: int) -> None:
        """Learn from the next points."""
        self._runner.feed(self._rows, self._rows, points)

    def model(self) -> LinearModel:
        """Return the model as it stands, for the rows as the solver sees them."""
        model: LinearModel = self._runner.run.model()
        return model


def amp_levels(solver: Amp, measure: PseudoLinearMeasure, rows: ArrayRows) -> NDArray[np.float64]:
    """Return AMP's challenge level after each round."""
    history = History()
    run = solver.start(Task(measure, rows.n_features, rows.dtype, history=history))
    Runner(run, 0, rows.summary).to_the_end(rows)
    return np.asarray(history.table()["level"], dtype=np.float64)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file that is there whole or not at all."""
    with atomic_write(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
