"""How much to spend on the choice between models, and which starts to choose from."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..measures import Measure
from ..streams import ArrayStream
from .base import Solver
from .batch import BatchLogistic
from .weighted import WeightedLogistic

MANY_ROWS = 50_000
_MANY_VALUES = 20_000_000
_FEW_ROWS = 20_000
_FEW_POINTS_OF_A_CLASS = 1_000
PLENTY_PER_COLUMN = 50
_START_POINTS = 800_000


class Plan(NamedTuple):
    """How much to spend on the choice: more, the fewer rows there are.

    Where the rarer class has 50 points or more a column, a linear model cannot overfit by as much as a held-out
    part would be in error, so all rows both teach and choose.
    """

    folds: int
    repeats: int
    small: bool

    @property
    def models(self) -> int:
        """Of each stage."""
        return self.folds * self.repeats

    @classmethod
    def of(cls, stream: ArrayStream, measure: Measure, held_out_share: float | None) -> Plan:
        rows = stream.n_points
        rarer = int(min((stream.signed_weights > 0).sum(), (stream.signed_weights < 0).sum()))
        small = rows < MANY_ROWS and stream.n_values < _MANY_VALUES
        if held_out_share is not None:
            folds = round(1.0 / held_out_share)
        elif small:
            folds = 5
        else:
            # A constraint is a matter of level, so the folds' models must be about as good as the whole.
            few = 5 if measure.constraints(0.5) else 2
            folds = 1 if rarer >= PLENTY_PER_COLUMN * (stream.n_features + 1) else few
        if stream.n_groups is not None:
            # Rows of a group are alike, so that however many there are, they tell less of other groups.
            folds = min(folds if held_out_share is not None else 5, stream.n_groups)
        repeats = 3 if rows < _FEW_ROWS and rarer < _FEW_POINTS_OF_A_CLASS else 1
        return cls(max(min(folds, rarer), 1), repeats, small)


def starts_for(measure: Measure, stream: ArrayStream, plan: Plan, *, whitened: bool) -> list[Solver]:
    """Logistic regression with the class weights that suit the measure; a choice of weights and of L2 strengths
    where rows are few.

    Classes weighted to balance need half the passes, because the rarer one is heard from the start; whitened rows
    need one or two passes, others up to eight, fewer the more rows there are.
    """
    if plan.small:
        stochastic = [WeightedLogistic(emphasis, 2 if whitened else 8) for emphasis in (0.5, 1.0, 0.0)]
        penalised = [BatchLogistic(emphasis, C) for emphasis in (0.0, 1.0) for C in (0.03, 1.0)]
        return [*stochastic, *penalised]
    if measure.constraints(0.5):  # slopes tell nothing of where the cut will be
        return [_start_with(emphasis, stream.n_points, whitened=whitened) for emphasis in (0.0, 0.5, 1.0)]
    return [start_for(measure, stream.summary.prevalence, stream.n_points, whitened=whitened)]


def start_for(measure: Measure, prevalence: float, points: int, *, whitened: bool) -> WeightedLogistic:
    """The one start that many rows need."""
    emphasis = 0.5 if measure.constraints(prevalence) else natural_emphasis(measure, prevalence)
    return _start_with(emphasis, points, whitened=whitened)


def _start_with(emphasis: float, points: int, *, whitened: bool) -> WeightedLogistic:
    passes = 2 if whitened else min(max(round(_START_POINTS / points), 4), 8)
    return WeightedLogistic(emphasis, passes // 2 if emphasis > 0.5 else passes)


def natural_emphasis(measure: Measure, prevalence: float) -> float:
    """The class weights that suit a measure, as a power of (1-p)/p: about 0 for F1, 1 for G-mean.

    Read off its slopes at rates a fair model might reach: 70% of the positives found, as many false alarms as
    misses.
    """
    skew = (1.0 - prevalence) / prevalence
    if 1 / 1.5 < skew < 1.5:
        return 0.5
    tpr = 0.7
    tnr = max(1.0 - (1.0 - tpr) / skew, 0.0)
    on_tpr, on_tnr = measure.slopes(tpr, tnr, prevalence)
    ratio = skew * max(on_tpr, 1e-6) / max(on_tnr, 1e-6)
    return min(max(math.log(ratio) / math.log(skew), 0.0), 1.0)
