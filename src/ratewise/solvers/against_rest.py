"""One class against all others, class by class."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..measures import Measure
from ..streams import LabelledRows
from .base import Solver, Task, solve_with_care
from .descent import ManyModel
from .history import History
from .learner import LinearModel

# The log odds of a class that no row is of.
_NEVER = -30.0


def one_against_the_rest(
    rows: LabelledRows,
    measure: Measure,
    solver: Solver,
    *,
    calibrate: bool,
    l2: float,
    initial: ManyModel | None,
    rng: np.random.Generator,
    history: History,
    threads: int = 1,
) -> ManyModel:
    """A run of the solver for each class; ``calibrate`` makes log odds of its scores, to compare them by.

    ``threads`` classes are learned side by side; the outcome does not depend on it.
    """
    diaries = [history.branch() for _ in range(rows.n_classes)]
    seeds = rng.spawn(rows.n_classes)
    totals = rows.class_weights()

    def learned(k: int) -> LinearModel:
        if totals[k] == 0 or totals[k] == totals.sum():
            return LinearModel(np.zeros(rows.n_features), _NEVER if totals[k] == 0 else -_NEVER)
        stream = rows.against_the_rest(k, seeds[k])
        before = None if initial is None else LinearModel(initial.weights[k], float(initial.intercepts[k]))
        task = Task(measure, rows.n_features, stream.dtype, l2=l2, initial=before, history=diaries[k])
        model, scores = solve_with_care(solver, task, stream)
        if not calibrate:
            return model
        slope, constant = log_odds_line(scores, stream.signed_weights)
        return LinearModel(slope * model.weights, slope * model.intercept + constant)

    if threads == 1:
        models = [learned(k) for k in range(rows.n_classes)]
    else:
        with ThreadPoolExecutor(threads) as pool:
            models = list(pool.map(learned, range(rows.n_classes)))
    for k, diary in enumerate(diaries):
        history.join(diary, **{"class": float(k)})
    return ManyModel(
        np.array([one.weights for one in models]), np.array([one.intercept for one in models], dtype=np.float64)
    )


def log_odds_line(scores: NDArray[Any], signed_weights: NDArray[Any]) -> tuple[float, float]:
    """(slope, constant) of the positive class's log odds as a line in the scores: Platt's, by Newton's method.

    The targets are a point short of certainty, as Platt has them, so that classes that a line parts have finite
    odds. The slope is never negative.
    """
    weights = np.abs(signed_weights).astype(np.float64)
    positive = signed_weights > 0
    above, below = float(weights[positive].sum()), float(weights[~positive].sum())
    target = np.where(positive, (above + 1.0) / (above + 2.0), 1.0 / (below + 2.0))
    spread = max(float(scores.std()), 1e-12)
    middle = float(scores.mean())
    columns = np.column_stack([(scores - middle) / spread, np.ones(scores.size)])
    line = np.array([0.0, np.log((above + 1.0) / (below + 1.0))])
    for _ in range(30):
        share = expit(columns @ line)
        gradient = columns.T @ (weights * (target - share))
        curvature = (columns * (weights * np.maximum(share * (1.0 - share), 1e-10))[:, np.newaxis]).T @ columns
        step = np.linalg.solve(curvature + 1e-9 * np.trace(curvature) * np.eye(2), gradient)
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        line += step
        if float(np.abs(step).max()) < 1e-6:
            break
    slope = max(float(line[0]), 0.0) / spread
    return slope, float(line[1]) - slope * middle
