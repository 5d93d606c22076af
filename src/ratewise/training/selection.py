"""Choose among candidates: how many folds and starts to use, and which candidates to average."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..decisions.certify import certifies
from ..decisions.choose import half_standard_error, near_best
from ..decisions.cuts import BestThreshold, quick_threshold
from ..measures import Measure, Rates
from ..solvers.base import Scores, Solver
from ..solvers.logistic import PenalizedLogistic, WeightedLogistic
from ..solvers.state import LinearModel, mean_model
from . import config
from .source import DataShape, TrainingRows

NOTHING_LEARNED = (
    "No model could be learned: numbers beyond the range of float32 arose in every training run. Bring the "
    "columns of X to a common scale (standardize=True does)."
)


class SelectionPlan(NamedTuple):
    """How much work to spend on the choice: less with more rows."""

    folds: int
    """1: all rows both train and choose."""
    repeats: int
    starts: int
    small: bool
    """Whether rows are few enough to evaluate a start pass by pass, and to try penalized starts."""
    batch: bool = False
    """Whether each step uses all rows; the chosen stages then learn once more from all rows."""
    together: bool = False
    """Whether the models of all folds and starts learn side by side, in batches of many columns."""
    given: bool = False
    """Whether the user gave the folds: few of the folds' models, or none, may have learned from a row."""

    @property
    def models(self) -> int:
        """The number of models of each stage."""
        return self.folds * self.repeats

    def repeats_of(self, rows: TrainingRows) -> int:
        """Return how often the folds of these rows were drawn."""
        return rows.n_folds // self.folds

    @classmethod
    def of(
        cls,
        statistics: DataShape,
        measure: Measure,
        validation_fraction: float | None,
        *,
        own_choice: bool = True,
    ) -> SelectionPlan:
        """Return the plan; ``own_choice`` says whether the library chooses starts and passes."""
        rarer, asked = statistics.rarer_rows, points_in_plenty(statistics)
        plenty = rarer >= asked
        constrained = bool(measure.bounds)
        # Only out-of-fold scores can certify a bound, so the folds' models must be about as good as one of all
        # rows.
        size = max(statistics.rows, statistics.n_values / config.VALUES_PER_ROW)
        many = size > config.MANY_ROWS
        few = config.FOLDS if constrained else 2 if many else config.LEAST_FOLDS
        enough = 2 if certifies(measure) else 1
        plainest = 3 if constrained else 1
        # With less than twice the plenty of points, keep a second start: one fold replaces three.
        second = plenty and rarer < 2 * asked and not many
        least = (enough if plenty else few, max(plainest, 1 + second))
        folds, starts = within_budget(effort_for(size, plenty), *least)
        # A model of all rows has no out-of-fold scores: under a bound it is the mean of the folds' models.
        batch = own_choice and _few_enough_for_batches(statistics)
        if batch:
            counted = statistics.rows if plenty else 1  # scarce points keep their folds, unless columns are many
            if not statistics.sparse and statistics.n_features <= config.CURVATURE_COLUMNS:
                counted = max(counted, statistics.n_values // config.BATCH_VALUES_PER_ROW)
            folds = max(folds_of_batches(counted), 2 if plenty else few)
        small = starts > plainest
        if validation_fraction is not None:
            folds = round(1.0 / validation_fraction)
        if statistics.n_groups is not None:
            # Rows of a group are dependent, so even many of them carry little information about other groups.
            folds = min(folds if validation_fraction is not None else config.FOLDS, statistics.n_groups)
        few_rows = statistics.rows < config.FEW_ROWS and rarer < config.FEW_POINTS
        repeats = config.REPEATS if few_rows else 1
        if batch:
            repeats = config.BATCH_REPEATS if rarer < config.BATCH_FEW_POINTS else 1
        folds = max(min(folds, rarer), 1)
        given = statistics.given_folds is not None
        if statistics.given_folds is not None:
            folds, repeats = statistics.given_folds, 1
        together = batch and _together_pays(statistics)
        return cls(folds, repeats if folds > 1 else 1, starts, small, batch, together, given)


def points_in_plenty(statistics: DataShape) -> int:
    per_column = config.PLENTY_PER_CODE if statistics.coded else config.PLENTY_PER_COLUMN
    return per_column * (statistics.n_features + 1)


def _few_enough_for_batches(statistics: DataShape) -> bool:
    size = statistics.n_values * (8 if statistics.sparse else 4)
    most = config.TOGETHER_BYTES if _large_and_wide(statistics) else config.IN_MEMORY_BYTES
    return statistics.in_memory and statistics.rows <= config.BATCH_ROWS and size <= most


def _large_and_wide(statistics: DataShape) -> bool:
    few = statistics.rows <= config.TOGETHER_ROWS_PER_COLUMN * statistics.n_features
    large = 4 * statistics.n_values > config.IN_MEMORY_BYTES
    return few and large and not (statistics.sparse or statistics.low_memory or is_wide(statistics))


def _together_pays(statistics: DataShape) -> bool:
    """Return whether reading the rows takes most of the time, so that models should learn side by side."""
    columns = statistics.n_features
    if statistics.sparse or statistics.n_values < config.TOGETHER_VALUES:
        return False
    enough = statistics.rarer_rows >= config.TOGETHER_POINTS_PER_COLUMN * columns
    return _large_and_wide(statistics) or (
        enough and config.WHOLE_CURVATURE_COLUMNS < columns <= config.CURVATURE_COLUMNS
    )


def is_wide(statistics: DataShape) -> bool:
    """Return whether dense rows have so many columns that most of them must be noise."""
    return not statistics.sparse and statistics.n_features >= config.WIDE * statistics.rows


def folds_of_batches(rows: int) -> int:
    """Return five folds for few rows, down to two for the most rows: CPU time stays about the same in between."""
    power = math.log(config.FOLDS / 2) / math.log(config.BATCH_ROWS / config.FEW_ROWS)
    return min(int(config.FOLDS * (config.FEW_ROWS / rows) ** power + 0.5), config.FOLDS)


def batch_starts(measure: Measure, statistics: DataShape, *, wide: bool = False) -> list[Solver]:
    """Return the penalized starts for few rows: strong and weak penalties; sharpening begins from the last one.

    With plenty of points a strong penalty has nothing to correct. With ``wide`` rows all penalties fit the rows
    perfectly and differ little, so one is enough.
    """
    prevalence = statistics.prevalence
    penalties = config.BATCH_C[-1:] if statistics.rarer_rows >= points_in_plenty(statistics) else config.BATCH_C
    bounded = bool(measure.bounds)
    natural = 0.5 if bounded else natural_exponent(measure, prevalence)
    if wide:
        from ..solvers.centroids import ShrunkenCentroids

        return [ShrunkenCentroids(), PenalizedLogistic(natural, config.BATCH_C[0])]
    exponents = (0.0, 0.5, 1.0) if bounded else (0.0, 1.0)
    by_distance = sorted(exponents, key=lambda exponent: -abs(exponent - natural))
    return [PenalizedLogistic(exponent, C) for exponent in by_distance for C in penalties]


def by_class_weights(starts: Sequence[Any]) -> list[tuple[Solver, ...]]:
    """Return the starts grouped by their class weights."""
    return [tuple(chain) for _, chain in itertools.groupby(starts, key=lambda start: start.exponent)]


def effort_for(size: float, plenty: bool) -> float:
    """Return the effort to spend on the choice: 1 for few rows, falling to 0 for many."""
    many = config.MANY_ROWS * (config.MANY_ROWS_OF_PLENTY if plenty else 1.0)
    few = min(config.FEW_ROWS if plenty else config.FEW_ROWS_OF_SCARCE_POINTS, many / 2)
    return min(max(math.log(many / size) / math.log(many / few), 0.0), 1.0)


# Folds and starts to choose from, the most expensive first: no two neighbors differ by more than a factor of two.
# One fold needs plenty of points. Two folds are left out: models of half the rows are worse than one of all rows.
LADDER = (
    *((config.FOLDS, starts) for starts in (7, 6, 5, 4, 3)),
    *((4, 3), (3, 3), (4, 2), (3, 2), (1, 3), (3, 1), (1, 2), (1, 1)),
)
_STOCHASTIC_STARTS = (0, 1, 2, 2, 3, 3, 3, 3)  # stochastic starts by number of starts; the others are penalized


def within_budget(effort: float, least_folds: int, least_starts: int) -> tuple[int, int]:
    """Return folds and starts for this effort; their cost falls from the largest to the least on a log scale."""

    def cost(folds: int, starts: int) -> float:
        stochastic = _STOCHASTIC_STARTS[starts] if folds > 1 else starts
        return folds * (stochastic + config.PENALIZED_COST * (starts - stochastic))

    least, most = cost(least_folds, least_starts), cost(*LADDER[0])
    budget = least * (most / least) ** effort + 1e-9
    enough = (one for one in LADDER if one[0] >= least_folds and one[1] >= least_starts and cost(*one) <= budget)
    return next(enough, (least_folds, least_starts))


def starts_for(
    measure: Measure,
    prevalence: float,
    points: int,
    plan: SelectionPlan,
    *,
    whitened: bool,
    may_penalize: bool = False,
) -> list[Solver]:
    """Return logistic regression with the class weights that suit the measure.

    With few rows, return several class weights and L2 strengths. With ``may_penalize`` and validation rows, add a
    penalized start. Balanced class weights need half the passes, because the rarer class counts from the start.
    Whitened rows need one or two passes, others up to eight; more rows need fewer.
    """
    if not plan.small or plan.starts == 1:
        if measure.bounds:  # the slopes do not show where a bound puts the threshold
            return [start_with(exponent, points, whitened=whitened) for exponent in (0.0, 0.5, 1.0)]
        start = start_with(natural_exponent(measure, prevalence), points, whitened=whitened)
        if not may_penalize or plan.folds == 1:
            return [start]
        return [start, dataclasses.replace(start, alpha=config.SPARSE_ALPHA)]
    passes = config.WHITENED_START_PASSES if whitened else config.START_PASSES
    natural = 0.5 if measure.bounds else natural_exponent(measure, prevalence)
    stochastic = [WeightedLogistic(exponent, passes) for exponent in config.CLASS_WEIGHT_EXPONENTS]
    penalized = [PenalizedLogistic(e, C) for e in config.PENALIZED_EXPONENTS for C in config.PENALIZED_C]
    everything: list[Solver] = [*stochastic, *penalized]
    if plan.starts >= len(everything):
        return everything
    near = sorted(stochastic, key=lambda start: abs(start.exponent - natural))
    similar = sorted(penalized, key=lambda start: (abs(start.exponent - natural), -start.C))
    by_worth = [near[0], near[1], similar[0], near[2], *similar[1:]]
    if plan.folds == 1:  # rows that both train and choose cannot judge a penalty
        by_worth = [*near]
    if measure.bounds:
        by_worth = [*stochastic, *similar]
    return list(by_worth[: plan.starts])


def start_with(exponent: float, points: int, *, whitened: bool) -> WeightedLogistic:
    passes = config.WHITENED_START_PASSES
    if not whitened:
        passes = min(max(round(config.START_POINTS / points), config.START_PASSES // 2), config.START_PASSES)
    return WeightedLogistic(exponent, passes // 2 if exponent > 0.5 else passes)


def natural_exponent(measure: Measure, prevalence: float) -> float:
    """Return the class weights that suit a measure, as a power of (1-p)/p: about 0 for F1, 1 for G-mean.

    The exponent follows from the slopes at the rates of a fair model: a TPR of 70%, and as many false positives as
    false negatives.
    """
    skew = (1.0 - prevalence) / prevalence
    if 1 / 1.5 < skew < 1.5:
        return 0.5
    tpr = 0.7
    tnr = max(1.0 - (1.0 - tpr) / skew, 0.0)
    on_positive, on_negative = measure.gains(Rates(tpr, tnr, prevalence), least=1e-6)
    return min(max(math.log(on_positive / on_negative) / math.log(skew), 0.0), 1.0)


class Validated(NamedTuple):
    """A stage: the model of each fold, and the out-of-fold scores of all rows."""

    stage: str
    models: list[LinearModel]
    scores: Scores

    def divided(self, spread: float) -> Validated:
        """Return the stage with its scores, and its models, divided by this."""
        models = [model.divided(spread) for model in self.models]
        return self._replace(models=models, scores=self.scores._replace(values=self.scores.values / spread))


class Selected(NamedTuple):
    """The stages that do about as well as the best; ``models`` has their mean model for each fold."""

    models: list[LinearModel]
    stages: tuple[str, ...]
    best: str
    """The best stage."""
    tolerance: float
    """The distance below which values cannot be distinguished."""
    found: list[BestThreshold]
    """The best out-of-fold value of every candidate."""


def select(candidates: Sequence[Validated], measure: Measure, *, repeats: int) -> Selected:
    """Average all stages whose out-of-fold value is within half a standard error of the best."""
    if not candidates:
        raise ValueError(NOTHING_LEARNED)
    margin_scale = math.sqrt(repeats)  # a row scored three times counts once
    found = [
        quick_threshold(
            one.scores.values,
            one.scores.signed_weights,
            measure,
            margin_scale=margin_scale,
            points=one.scores.points,
        )
        for one in candidates
    ]
    values = [one.value for one in found]
    best = max(values)
    prevalence, rarer = prevalence_and_rarer(candidates[0].scores)
    tolerance = half_standard_error(best, measure.scale(prevalence), rarer / repeats)
    chosen = near_best(values, tolerance)
    models = [
        mean_model([candidates[k].models[fold] for k in chosen]) for fold in range(len(candidates[0].models))
    ]
    stages = tuple(candidates[k].stage for k in chosen)
    return Selected(models, stages, candidates[values.index(best)].stage, tolerance, found)


def select_crossfitted(
    candidates: Sequence[Validated], measure: Measure, *, repeats: int
) -> list[LinearModel] | None:
    """Choose stages for every fold on the rows of other folds; return a mean model per fold for its rows to
    certify.

    Stages chosen by the rows that certify them would seem better than they are. So in every repeat, one half of
    the folds chooses for the other. None if the folds of the rows are unknown.
    """
    folds = len(candidates[0].models)
    if candidates[0].scores.folds is None or folds // repeats < 2:
        return None
    models: list[LinearModel | None] = [None] * folds
    for repeat in range(repeats):
        mine = range(repeat * folds // repeats, (repeat + 1) * folds // repeats)
        for some, others in ((mine[::2], mine[1::2]), (mine[1::2], mine[::2])):
            parts = [one._replace(scores=one.scores.of_folds(others)) for one in candidates]
            chosen = select(parts, measure, repeats=1).models
            for fold in some:
                models[fold] = chosen[fold]
    return models  # type: ignore[return-value]


def prevalence_and_rarer(scores: Scores) -> tuple[float, float]:
    weights = scores.signed_weights
    prevalence = float(weights[weights > 0].sum() / np.abs(weights).sum())
    if scores.points is not None:
        return prevalence, min(scores.points)
    return prevalence, float(min((weights > 0).sum(), (weights < 0).sum()))
