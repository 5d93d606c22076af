"""THE fit: statistics, transform, training runs, selection, threshold; the same wherever the rows lie."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..measures import Measure
from ..solvers.base import History, Run, Scores, Solver, Task
from ..solvers.batch import BatchRun
from ..solvers.certify import Decision, certifies, decide
from ..solvers.sharpen import Sharpen, SharpenedRun
from ..solvers.state import LinearModel, mean_model
from ..solvers.threshold import Points, beside_tied_rows, best_threshold, rates_at, smoothed_threshold
from ..transforms import Transform
from . import config
from .config import FitConfig
from .selection import (
    NOTHING_LEARNED,
    Selected,
    SelectionPlan,
    Validated,
    batch_starts,
    select,
    select_apart,
    starts_for,
)
from .source import ALL_ROWS, FitResult, RowSource, Statistics, TrainingRows, curvature_is_cheap

_DIVERGED_TRIES = 5
_BESIDE = 1e-3  # of the deviation of scores: more than rounding


class Trainer:
    """A fit of two classes.

    Parameters
    ----------
    config : FitConfig
    history : History
    before : LinearModel, optional
        Where to begin, in the user's columns.
    """

    def __init__(self, config: FitConfig, history: History, before: LinearModel | None = None):
        self._config, self._history, self._before = config, history, before

    def fit(self, source: RowSource) -> FitResult:
        with np.errstate(over="ignore"):  # what became infinite is refused in one sentence
            statistics = source.statistics()
            fit = self._fit_plain if self._config.sharpen is None else self._fit_sharpened
            return fit(source, statistics)

    def _fit_plain(self, source: RowSource, statistics: Statistics) -> FitResult:
        """The solver's own algorithm, and the best threshold on the scores of its training rows.

        Bounds are certified by out-of-fold scores: then the model is the mean of those of the folds.
        """
        settings, measure = self._config, self._config.measure
        transform = source.transform(standardize=settings.standardize, whiten=False)
        folds = config.FOLDS if settings.tune and certifies(measure) else 1
        rows = source.transformed(transform, max(min(folds, statistics.rarer_rows), 1))
        solver = _with_passes(settings.solver, settings.passes)
        tasks = [self._task(source, statistics, transform) for _ in range(rows.n_folds)]
        trained = trained_with_care(solver, tasks, rows, measure)
        self._history.join(trained.runs[0].history)
        scores, threshold = trained.scores, 0.0
        if settings.tune:
            threshold = best_threshold(*scores[:2], measure, points=scores.points).threshold
        fitted = statistics.n_features + 1 if rows.n_folds == 1 else 0
        models = [run.model() for run in trained.runs]
        model = mean_model(models)
        decision = decide(
            scores,
            measure,
            threshold,
            statistics.points,
            tune=settings.tune,
            fitted=fitted,
            shift_at=None if rows.n_folds == 1 else partial(rows.model_shift, model, models),
        )
        return FitResult.of_model(transform, model, decision, trained.solver)

    def _fit_sharpened(self, source: RowSource, statistics: Statistics) -> FitResult:
        """Starts, sharpening, and the choice between all stages by validation rows."""
        settings = self._config
        sharpen = settings.sharpen
        assert sharpen is not None
        own_choice = settings.start is None and settings.passes is None and sharpen.passes == "auto"
        plan = SelectionPlan.of(statistics, settings.measure, settings.validation_fraction, own_choice=own_choice)
        if plan.batch:
            return self._fit_in_batches(source, statistics, plan, sharpen)
        whitened = settings.standardize and may_whiten(statistics)
        transform = source.transform(standardize=settings.standardize, whiten=whitened)
        rows = source.transformed(transform, plan.folds, plan.repeats, sharpen.row_limit)
        points = rows.points_per_pass
        starts = starts_for(settings.measure, statistics.prevalence, points, plan, whitened=whitened)
        if settings.start is not None:
            starts = [settings.start]
        starts, passes = _share_passes(starts, sharpen.passes_over(points), settings.passes)
        runs = [
            (
                fold,
                SharpenedRun(
                    start,
                    self._task(source, statistics, transform),
                    sharpen,
                    passes=passes,
                    leverage=rows.leverage,
                    number=fold * len(starts) + number,
                    whole_start=plan.small,
                    in_sample=rows.n_folds == 1,
                    damped=rows.whole_steps,
                ),
            )
            for fold in range(rows.n_folds)
            for number, start in enumerate(starts)
        ]
        trained = rows.train(runs)
        for run in trained:
            self._history.join(run.history)
        makers = {candidate.stage: run.start for run in trained for candidate in run.candidates}
        if rows.n_folds == 1:
            model, stage = _best_of(trained)
            scores = rows.threshold_scores([model], settings.measure)
            threshold = best_threshold(*scores[:2], settings.measure, points=scores.points).threshold
            fitted = statistics.n_features + 1
            decision = decide(scores, settings.measure, threshold, statistics.points, fitted=fitted)
            stages: tuple[str, ...] = (stage,)
        else:
            model, decision, stages, stage = self._mean_of_the_best(trained, rows, plan, statistics.points)
        return FitResult.of_model(transform, model, decision, makers[stage], stages)

    def _fit_in_batches(
        self, source: RowSource, statistics: Statistics, plan: SelectionPlan, sharpen: Sharpen
    ) -> FitResult:
        """Folds choose between the stages of one run, and tell the threshold; all rows make the model."""
        measure = self._config.measure
        transform = source.transform(standardize=self._config.standardize, whiten=False)
        rows = source.transformed(transform, plan.folds, plan.repeats)
        wide = self._config.standardize and is_wide(statistics)
        starts = batch_starts(measure, statistics, wide=wide)
        cheap = curvature_is_cheap(statistics.n_features, sparse=statistics.sparse)
        rounds = () if wide else config.BATCH_ROUNDS if cheap else config.BATCH_ROUNDS[:1]

        def run_of(fold: int, wanted: tuple[str, ...] | None = None) -> tuple[int, BatchRun]:
            task = self._task(source, statistics, transform)
            return fold, BatchRun(starts, task, sharpen.softness, rounds=rounds, wanted=wanted)

        trained = rows.train([run_of(fold) for fold in range(rows.n_folds)])
        # All stages are to count alike in their mean, in folds and on all rows.
        validated = self._validated(trained, rows)
        spreads = {one.stage: one.scores.mean_and_deviation()[1] for one in validated}
        selected, scored = self._select([one.divided(spreads[one.stage]) for one in validated], rows, plan)
        for number, found in enumerate(selected.found, start=1):
            tpr, tnr, _ = found.rates
            self._history.record(
                passes=number, points=number * statistics.rows, tpr=tpr, tnr=tnr, value=found.value, run=0
            )
        if certifies(measure):  # by the scores of the folds' models, so that their mean is returned
            model = mean_model(selected.models)
        else:
            (whole,) = rows.train([run_of(ALL_ROWS, selected.stages)])
            model = mean_model([one.normalized().divided(spreads[one.stage]) for one in whole.candidates])
        near = config.BATCH_SMOOTHING * selected.tolerance
        decision = self._cut(model, scored, near, rows, plan, statistics.points)
        maker = next(start for start in starts if selected.best.startswith(start.label))
        return FitResult.of_model(transform, model, decision, maker, selected.stages)

    def _mean_of_the_best(
        self, runs: list[SharpenedRun], rows: TrainingRows, plan: SelectionPlan, points: Points
    ) -> tuple[LinearModel, Decision, tuple[str, ...], str]:
        """Average all stages that do about as well as the best one, and cut where out-of-fold scores say."""
        selected, scored = self._select(self._validated(runs, rows), rows, plan)
        model = mean_model(selected.models)
        decision = self._cut(model, scored, selected.tolerance, rows, plan, points)
        return model, decision, selected.stages, selected.best

    def _validated(self, runs: Sequence[SharpenedRun | BatchRun], rows: TrainingRows) -> list[Validated]:
        """Score the validation rows of every fold by its own model of each stage."""
        by_stage: dict[str, list[LinearModel]] = {}
        for run in runs:
            for candidate in run.candidates:
                by_stage.setdefault(candidate.stage, []).append(candidate.normalized())
        # A stage that was skipped in some fold, because its steps were too long, is no candidate.
        return [
            Validated(stage, models, rows.validation_scores(models))
            for stage, models in by_stage.items()
            if len(models) == rows.n_folds
        ]

    def _select(
        self, validated: list[Validated], rows: TrainingRows, plan: SelectionPlan
    ) -> tuple[Selected, list[LinearModel]]:
        """Choose the stages; and the models whose scores cut: under a bound, chosen by others than they score.

        Batches have few stages, of unlike scores: choosing them by all rows flatters less than mixing them would.
        """
        measure, repeats = self._config.measure, plan.repeats_of(rows)
        selected = select(validated, measure, repeats=repeats)
        apart = None
        if certifies(measure) and not plan.batch:
            apart = select_apart(validated, measure, repeats=repeats)
        return selected, selected.models if apart is None else apart

    def _cut(
        self,
        model: LinearModel,
        scored: list[LinearModel],
        tolerance: float,
        rows: TrainingRows,
        plan: SelectionPlan,
        points: Points,
    ) -> Decision:
        """Return the threshold that out-of-fold scores of the chosen stages tell, and what is known there."""
        measure = self._config.measure
        scores = rows.threshold_scores(scored, measure)
        threshold = smoothed_threshold(
            scores.values,
            scores.signed_weights,
            measure,
            tolerance,
            caution=math.sqrt(plan.repeats_of(rows)),
            points=scores.points,
        )
        own = rows.own_scores(model)
        if own.all_equal:  # the models of the folds may still differ, by chance
            ends = float(own.values.min()), float(own.values.max())
            cuts = [end + sign * (1.0 + abs(end)) for end, sign in zip(ends, (-1.0, 1.0), strict=True)]
            values = [measure.value(*rates_at(own.values, own.signed_weights, cut)) for cut in cuts]
            return decide(own, measure, cuts[int(np.argmax(values))], points)
        if plan.batch:  # scores of its own rows would flatter the model
            threshold = _beside_common_rows(threshold, model, scored, rows.common_rows)
        else:
            threshold = beside_tied_rows(threshold, own.values, own.signed_weights, measure, tolerance)
        shift_at = None if len(scored) == 1 else partial(rows.model_shift, model, scored)
        return decide(scores, measure, threshold, points, shift_at=shift_at)

    def _task(self, source: RowSource, statistics: Statistics, transform: Transform) -> Task:
        initial = None if self._before is None else LinearModel(*transform.transform_coef(*self._before))
        return Task(
            self._config.measure,
            statistics.n_features,
            source.dtype,
            l2=self._config.l2,
            initial=initial,
            history=self._history.branch(),
        )


class Trained(NamedTuple):
    """A finished run per fold, the out-of-fold scores of their models, and the solver that they took."""

    runs: list[Run]
    scores: Scores
    solver: Solver


def trained_with_care(solver: Solver, tasks: Sequence[Task], rows: TrainingRows, measure: Measure) -> Trained:
    """Train a solver on every fold; if its steps were so long that a model diverged, with shorter ones."""
    for _ in range(_DIVERGED_TRIES):
        runs = rows.train([(fold, solver.start(task)) for fold, task in enumerate(tasks)])
        scores = rows.threshold_scores([run.model() for run in runs], measure)
        if scores.finite:
            return Trained(runs, scores, solver)
        shorter = solver.with_shorter_steps()
        if shorter is None:
            break
        solver = shorter
    raise ValueError(
        f"{solver.label} could not learn a model: numbers beyond the range of float32 arose however short its "
        "steps were. Bring the columns of X to a common scale (standardize=True does)."
    )


def may_whiten(statistics: Statistics) -> bool:
    """Whether whitening pays: dense rows, many enough to tell signal from noise, of not too many columns."""
    return (
        not statistics.sparse
        and statistics.rows >= config.WHITENED_ROWS
        and statistics.n_features <= config.WHITENED_COLUMNS
    )


def is_wide(statistics: Statistics) -> bool:
    """Whether dense rows have so many columns that most of them must be noise."""
    return not statistics.sparse and statistics.n_features >= config.WIDE * statistics.rows


def _beside_common_rows(threshold: float, model: LinearModel, of_folds: list[LinearModel], common: Any) -> float:
    """Return the threshold, moved so that rows that come often lie on the side that the folds' models put them.

    The model's own score of such a row differs a little from their mean: the side of a hundredth of all rows must
    not be left to that.
    """
    low, high = -math.inf, math.inf
    mean = mean_model(of_folds)
    for k in range(0 if common is None else common.shape[0]):
        of_mean, own = ((common[[k]] @ one.weights).item() + one.intercept for one in (mean, model))
        if of_mean > threshold and own > low:
            high = min(high, own)
        elif of_mean <= threshold and own < high:
            low = max(low, own)
    if low < threshold < high:
        return threshold
    return low + _BESIDE if threshold <= low else high - _BESIDE


def _best_of(runs: list[SharpenedRun]) -> tuple[LinearModel, str]:
    """Return the best stage on the training rows themselves."""
    candidates = [candidate for run in runs for candidate in run.candidates]
    if not candidates:
        raise ValueError(NOTHING_LEARNED)
    chosen = max(candidates, key=lambda candidate: candidate.value)
    return chosen.model, chosen.stage


def _share_passes(starts: list[Solver], to_sharpen: int, asked: int | None) -> tuple[list[Solver], int]:
    """Share out the passes that were asked for: up to half of them to the start, the others to sharpening."""
    if asked is None:
        return starts, to_sharpen
    to_start = max(min(max(start.passes for start in starts), asked // 2), 1)
    return [_with_passes(start, min(start.passes, to_start)) for start in starts], asked - to_start


def _with_passes(solver: Solver, passes: int | None) -> Solver:
    return solver if passes is None else dataclasses.replace(solver, passes=passes)  # type: ignore[type-var]
