"""What is asked of a fit over shards, and what the shards themselves say about how to learn from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..measures import Measure
from ..solvers import PLENTY_PER_COLUMN, History, Sharpen, Solver
from ..streams import Standardizer, Summary
from .protocol import Engine

_ROWS_A_ROUND = 200_000
_MOST_LOCAL_PASSES = 4
_GRADIENT_ROWS = 4_000_000
_GRADIENT_POINTS_PER_COLUMN = 4 * PLENTY_PER_COLUMN  # of the rarer class
_LEFT_OUT = 0.05
_ALIKE = 1.5
_SHIFTED = 0.5

Report = Callable[[dict[str, Any]], object]


@dataclass(frozen=True)
class Plan:
    """What is asked."""

    measure: Measure
    solver: Solver | None
    """None lets the library choose where sharpening starts."""
    sharpen: Sharpen | None
    """None for the solver's plain algorithm."""
    tune: bool
    standardize: bool
    whiten_rows: int
    whiten_columns: int
    l2: float
    seed: int
    local_passes: int | None = None
    """Passes of a shard between two mergers; None lets the shards' size decide."""
    rounds: int | None = None
    """Learning rounds; None for as many as the solver and sharpening take."""
    merging: str = "auto"
    """"models", "gradients", or "auto" to let the shards decide."""


@dataclass(frozen=True)
class Course:
    """One model in the making: which part of the rows teaches it, and how."""

    engine: Engine
    plan: Plan
    history: History
    report: Report
    solver: Solver
    """The start."""
    number: int
    part: int
    seen: Summary
    """Of all rows of the part."""
    taught: frozenset[int] | None
    """The shards that learn models of their own; None if gradients are merged instead."""
    shard_points: int
    """Of a usual shard that learns."""
    n_features: int

    @property
    def by_models(self) -> bool:
        return self.taught is not None

    @property
    def local_passes(self) -> int:
        if self.plan.local_passes is not None:
            return self.plan.local_passes
        return min(max(math.ceil(_ROWS_A_ROUND / max(self.shard_points, 1)), 1), _MOST_LOCAL_PASSES)

    @property
    def gradient_share(self) -> float:
        """Of the rows that gradients are taken from: a few million are as good as all, if they hold enough of both
        classes; but a solver that is to come to the end of its problem takes all.
        """
        if not self.solver.streaming:
            return 1.0
        rarer = min(self.seen.positive_weight, self.seen.negative_weight)
        enough = _GRADIENT_POINTS_PER_COLUMN * (self.n_features + 1) / max(rarer, 1.0)
        return min(max(_GRADIENT_ROWS / max(self.seen.points, 1), enough), 1.0)


def shards_to_teach(
    summaries: Sequence[Summary], moments: Sequence[Standardizer], merged: Standardizer
) -> frozenset[int] | None:
    """The shards that can learn a model of their own, if their mean will be a model of all; else None.

    Such a shard has plenty of both classes, in about the proportion of the whole, and columns that lie about where
    they lie in the whole. Shards that do not, but hold next to nothing, are left out of learning by models.
    """
    whole = summaries[0]
    for one in summaries[1:]:
        whole = whole.merge(one)
    plenty = PLENTY_PER_COLUMN * (merged.mean.size + 1)
    able = [
        number
        for number, one in enumerate(summaries)
        if min(one.positive_weight, one.negative_weight) >= plenty
        and 1 / _ALIKE < _odds(one) / _odds(whole) < _ALIKE
        and _shift(moments[number], merged) < _SHIFTED
    ]
    positives = sum(summaries[number].positive_weight for number in able)
    negatives = sum(summaries[number].negative_weight for number in able)
    enough = positives >= (1 - _LEFT_OUT) * whole.positive_weight
    return frozenset(able) if enough and negatives >= (1 - _LEFT_OUT) * whole.negative_weight else None


def _odds(summary: Summary) -> float:
    return summary.positive_weight / max(summary.negative_weight, 1e-300)


def _shift(mine: Standardizer, merged: Standardizer) -> float:
    """How far the means of a shard's columns lie from those of all, in spreads."""
    if merged.nonzeros is not None or not merged.active or not mine.count:
        return 0.0
    return float(np.max(np.abs(mine.mean - merged.mean) / merged.scale, initial=0.0))
