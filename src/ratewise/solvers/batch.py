"""The algorithm for few rows: each step uses all of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from .base import Algorithm, Solver, Task
from .driver import Steps
from .evaluate import SIGMOID
from .requests import Evaluate, Maximize
from .sharpen import Candidate, halfway
from .state import LinearModel, RowTotals

_STEPS = 8  # up the sigmoid reward, per round


@dataclass(frozen=True)
class Batch(Algorithm):
    """Penalized logistic regressions one after another, then sharpening; each step uses all rows.

    With few rows, a step on all of them costs only a few calls. Each start begins from the model of the previous
    start, and sharpening from the last one. A round of sharpening takes a few ascent steps on the sigmoid reward,
    with class weights from the measure's slopes at the best threshold of the previous model. Few steps keep the
    model near its start, as few passes do. The result is the list of candidates.

    Parameters
    ----------
    starts : tuple of Solver
        The starts, in the order of solution.
    softness : float
        As in :class:`~ratewise.solvers.Sharpen`.
    rounds : tuple of int
        The rounds of sharpening after which the model is a candidate.
    wanted : tuple of str, optional
        The stages to make; all candidates unless given.
    side_by_side : bool
        Several runs learn together on the same rows, which are then not standardized for each run.
    """

    starts: tuple[Solver, ...]
    softness: float
    rounds: tuple[int, ...]
    wanted: tuple[str, ...] | None = None
    side_by_side: bool = False

    standardize_folds: ClassVar[bool] = True

    def algorithm(self, task: Task, seen: Callable[[], RowTotals]) -> Steps:
        """Solve the starts, then take rounds of sharpening from the last start."""
        last = self.starts[-1]
        of_rounds = {k: f"{last.label}, sharpened {k}" for k in range(1, max(self.rounds, default=0) + 1)}
        wanted = self.wanted
        if wanted is None:
            wanted = (*(one.label for one in self.starts), *(of_rounds[k] for k in self.rounds))
        rounds = max((k for k, stage in of_rounds.items() if stage in wanted), default=0)
        candidates: list[Candidate] = []
        weights = (0.0, 0.0)
        model = task.initial or LinearModel.zeros(task.n_features)

        def evaluate(width: float | None) -> Evaluate:
            return Evaluate(model, task.measure, seen().prevalence, self.softness, width)

        for start in self.starts:
            sharpened = start is last and rounds > 0
            if start.label not in wanted and not sharpened:
                continue
            model = yield from start.algorithm(dataclasses.replace(task, initial=model), seen)
            if not _finite(model):
                return candidates
            if sharpened:
                cut = yield evaluate(width=0.0)
                if not math.isfinite(cut.best.value):
                    return candidates
            if start.label in wanted:  # log odds are on one scale in all folds
                candidates.append(Candidate(start.label, model, math.nan, 0.0, 1.0, start))
        for number in range(1, rounds + 1):
            damped = number > 1 and not task.measure.smooth
            weights = halfway(cut.class_weights, weights) if damped else cut.class_weights  # linearize
            p = seen().prevalence
            model = yield Maximize(  # learn
                SIGMOID,
                (weights[0] * p, weights[1] * (1.0 - p)),
                model.divided(cut.width, cut.best.threshold),
                task.l2,
                tolerance=1e-6,
                iterations=_STEPS,
                few_rows=True,
            )
            if not _finite(model):
                return candidates
            cut = yield evaluate(width=1.0 if number < rounds else None)  # count
            if not math.isfinite(cut.best.value):
                return candidates
            if of_rounds[number] in wanted:  # sharpened scores are on one scale too, seen from the best cut
                candidates.append(Candidate(of_rounds[number], model, math.nan, cut.best.threshold, 1.0, last))
        return candidates


def _finite(model: LinearModel) -> bool:
    return math.isfinite(model.intercept + model.weights.sum())
