"""The fit, for memory, files and shards: statistics, transform, training runs, selection, threshold."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..decisions.certify import Decision, certifies, decide
from ..decisions.cuts import beside_tied_rows, best_threshold, rates_at, smoothed_threshold
from ..decisions.intervals import warn_of_unknown_rates
from ..features.splines import Basis, BasisSettings
from ..measures import Measure
from ..solvers.base import History, Scores, Solver, Task
from ..solvers.batch import Batch
from ..solvers.driver import Run
from ..solvers.sharpen import Candidate, Sharpen, Sharpened
from ..solvers.state import LinearModel, mean_model
from ..transforms import Transform
from . import config
from .answers import curvature_is_cheap
from .bases import candidates, simplest_of_the_best
from .config import FitConfig
from .folds import ALL_ROWS
from .selection import (
    NOTHING_LEARNED,
    Selected,
    SelectionPlan,
    Validated,
    batch_starts,
    by_class_weights,
    is_wide,
    select,
    select_crossfitted,
    starts_for,
)
from .source import DataShape, FitResult, RowSource, TrainingRows

_DIVERGED_TRIES = 5
_BESIDE = 1e-3  # in deviations of the scores: larger than rounding errors


class Trainer:
    """A fit of two classes.

    Parameters
    ----------
    config : FitConfig
    history : History
    before : LinearModel, optional
        The model to begin with, in the user's columns.
    """

    def __init__(self, config: FitConfig, history: History, before: LinearModel | None = None):
        self._config, self._history, self._before = config, history, before

    def fit(self, source: RowSource) -> FitResult:
        asked = self._config.basis
        with np.errstate(over="ignore"):  # infinite values are refused later, with a message
            if asked is None:
                return self._fit_rows(source)
            bases = candidates(asked, source)
            return self._fit_best_basis(source, bases) if len(bases) > 1 else self._fit_rows(source.coded(*bases))

    def _fit_rows(self, source: RowSource) -> FitResult:
        """Fit rows in the basis that encodes them, if any."""
        statistics = source.statistics()
        fit = self._fit_plain if self._config.sharpen is None else self._fit_sharpened
        result = fit(source, statistics)
        warn_of_unknown_rates(statistics.points)
        return result

    def _fit_best_basis(self, source: RowSource, bases: Sequence[BasisSettings | Basis | None]) -> FitResult:
        """Fit rows in each basis, and take the simplest that does about as well as the best."""
        sample, plain = source.sample(), dataclasses.replace(self._config, basis=None)
        sources = [sample.coded(basis) for basis in bases]
        widths = [one.statistics().n_features for one in sources]
        tried = [k for k, width in enumerate(widths) if width not in widths[:k]]  # the other bases add no column
        histories = [self._history.branch() for _ in tried]
        results = [
            Trainer(plain, history, self._before).fit(sources[k])
            for k, history in zip(tried, histories, strict=True)
        ]
        chosen = simplest_of_the_best(results, self._config.measure, sample.statistics())
        if sample is not source:
            return self._fit_rows(source.coded(bases[tried[chosen]]))
        self._history.join(histories[chosen])
        return results[chosen]

    def _fit_plain(self, source: RowSource, statistics: DataShape) -> FitResult:
        """Run the solver's own algorithm, and choose the best threshold on the scores of its training rows.

        Under bounds, which out-of-fold scores certify, the model is the mean of the folds' models.
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
            rows.points,
            tune=settings.tune,
            fitted=fitted,
            shift_at=None if rows.n_folds == 1 else partial(rows.model_shift, model, models),
        )
        return FitResult.of_model(transform, model, decision, trained.solver)

    def _fit_sharpened(self, source: RowSource, statistics: DataShape) -> FitResult:
        """Learn starts, sharpen them, and choose among all stages by validation rows."""
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
        starts = starts_for(
            settings.measure,
            statistics.prevalence,
            points,
            plan,
            whitened=whitened,
            may_penalize=statistics.sparse and settings.l2 == 0,
        )
        if settings.start is not None:
            starts = [settings.start]
        starts, passes = share_passes(starts, sharpen.passes_over(points), settings.passes)
        # The user's folds may leave out many rows: then one more run of each start learns from all rows.
        parts = [*range(rows.n_folds), *([ALL_ROWS] if plan.given else [])]
        runs = [
            (
                part,
                Sharpened(
                    start,
                    sharpen,
                    passes=passes,
                    leverage=rows.leverage,
                    number=number,
                    whole_start=plan.small,
                    in_sample=rows.n_folds == 1,
                    damped=rows.whole_steps,
                ).start(self._task(source, statistics, transform)),
            )
            for number, (part, start) in enumerate(itertools.product(parts, starts))
        ]
        found: list[list[Candidate]] = []
        for run in rows.train(runs):
            self._history.join(run.history)
            found.append(run.result)
        found, whole = found[: rows.n_folds * len(starts)], found[rows.n_folds * len(starts) :]
        if rows.n_folds == 1:
            model, stage = best_stage(found)
            scores = rows.threshold_scores([model], settings.measure)
            threshold = best_threshold(*scores[:2], settings.measure, points=scores.points).threshold
            fitted = statistics.n_features + 1
            decision = decide(scores, settings.measure, threshold, rows.points, fitted=fitted)
            stages: tuple[str, ...] = (stage,)
        else:
            model, decision, stages, stage = self._mean_of_the_best(found, whole, rows, plan)
        return FitResult.of_model(transform, model, decision, _maker_of(stage, found), stages)

    def _fit_in_batches(
        self, source: RowSource, statistics: DataShape, plan: SelectionPlan, sharpen: Sharpen
    ) -> FitResult:
        """Choose the stages and the threshold by folds; then learn the model from all rows."""
        measure = self._config.measure
        transform = source.transform(standardize=self._config.standardize, whiten=False)
        rows = source.transformed(transform, plan.folds, plan.repeats)
        wide = self._config.standardize and is_wide(statistics)
        starts = batch_starts(measure, statistics, wide=wide)
        cheap = curvature_is_cheap(statistics.n_features, sparse=statistics.sparse)
        rounds = () if wide else config.BATCH_ROUNDS if cheap and not plan.together else config.BATCH_ROUNDS[:1]

        def runs_of(fold: int, wanted: tuple[str, ...] | None = None) -> list[tuple[int, Run]]:
            # Side by side, starts with other class weights need not wait for each other.
            chains = by_class_weights(starts) if plan.together else [tuple(starts)]
            return [
                (fold, batch_of(chain, wanted).start(self._task(source, statistics, transform)))
                for chain in chains
            ]

        def batch_of(chain: tuple[Solver, ...], wanted: tuple[str, ...] | None) -> Batch:
            return Batch(chain, sharpen.softness, rounds if chain[-1] is starts[-1] else (), wanted, plan.together)

        final = not certifies(measure)
        parts = [*range(rows.n_folds), *([ALL_ROWS] if final and plan.together else [])]
        runs = rows.train([run for part in parts for run in runs_of(part)])
        per_part = len(runs) // len(parts)
        trained, whole = [run.result for run in runs[: rows.n_folds * per_part]], runs[rows.n_folds * per_part :]
        # All stages must count equally in their mean, in folds and on all rows.
        validated = self._validated(trained, rows)
        spreads = {one.stage: one.scores.mean_and_deviation()[1] for one in validated}
        selected, scored = self._select([one.divided(spreads[one.stage]) for one in validated], rows, plan)
        for number, found in enumerate(selected.found, start=1):
            points = number * statistics.rows
            self._history.record(passes=number, points=points, rates=found.rates, value=found.value, run=0)
        if not final:  # the scores of the folds' models certify bounds, so their mean is returned
            model = mean_model(selected.models)
        else:
            whole = whole or rows.train(runs_of(ALL_ROWS, selected.stages))
            chosen = [one for run in whole for one in run.result if one.stage in selected.stages]
            model = mean_model([one.normalized().divided(spreads[one.stage]) for one in chosen])
        near = config.BATCH_SMOOTHING * selected.tolerance
        decision = self._cut(model, scored, near, rows, plan)
        maker = _maker_of(selected.best, trained)
        return FitResult.of_model(transform, model, decision, maker, selected.stages)

    def _mean_of_the_best(
        self,
        found: list[list[Candidate]],
        whole: list[list[Candidate]],
        rows: TrainingRows,
        plan: SelectionPlan,
    ) -> tuple[LinearModel, Decision, tuple[str, ...], str]:
        """Average all stages that do about as well as the best one, and set the threshold by out-of-fold scores.

        ``whole`` are candidates learned from all rows, if any. Bounds are certified for the folds' models only.
        """
        selected, scored = self._select(self._validated(found, rows), rows, plan)
        chosen = [one.normalized() for one in itertools.chain(*whole) if one.stage in selected.stages]
        of_folds = certifies(self._config.measure) or not chosen
        model = mean_model(selected.models if of_folds else chosen)
        decision = self._cut(model, scored, selected.tolerance, rows, plan)
        return model, decision, selected.stages, selected.best

    def _validated(self, found: Sequence[list[Candidate]], rows: TrainingRows) -> list[Validated]:
        """Score the validation rows of every fold by its own model of each stage."""
        by_stage: dict[str, list[LinearModel]] = {}
        for candidate in itertools.chain(*found):
            by_stage.setdefault(candidate.stage, []).append(candidate.normalized())
        # A stage that was skipped in some fold, because its steps were too long, is not a candidate.
        return [
            Validated(stage, models, rows.validation_scores(models))
            for stage, models in by_stage.items()
            if len(models) == rows.n_folds
        ]

    def _select(
        self, validated: list[Validated], rows: TrainingRows, plan: SelectionPlan
    ) -> tuple[Selected, list[LinearModel]]:
        """Choose the stages, and the models whose scores set the threshold; under a bound, other rows choose
        these.

        Batches have few stages, whose scores differ: the optimism of a choice on all rows is smaller than the
        error from mixing stages.
        """
        measure, repeats = self._config.measure, plan.repeats_of(rows)
        selected = select(validated, measure, repeats=repeats)
        apart = None
        if certifies(measure) and not plan.batch:
            apart = select_crossfitted(validated, measure, repeats=repeats)
        return selected, selected.models if apart is None else apart

    def _cut(
        self,
        model: LinearModel,
        scored: list[LinearModel],
        tolerance: float,
        rows: TrainingRows,
        plan: SelectionPlan,
    ) -> Decision:
        """Return the threshold from out-of-fold scores of the chosen stages, with its rates and intervals."""
        measure = self._config.measure
        scores, repeats = rows.threshold_scores(scored, measure), plan.repeats_of(rows)

        def choose(scores: Scores, margin_scale: float = 1.0) -> float:
            values, weights, points = scores[:3]
            return smoothed_threshold(
                values, weights, measure, tolerance, margin_scale=margin_scale, points=points
            )

        threshold = choose(scores, math.sqrt(repeats))
        own = rows.own_scores(model)
        fitted = model.weights.size + 1 if rows.n_folds == 1 else 0
        if own.all_equal:  # the folds' models may still differ by chance
            ends = float(own.values.min()), float(own.values.max())
            cuts = [end + sign * (1.0 + abs(end)) for end, sign in zip(ends, (-1.0, 1.0), strict=True)]
            values = [measure.value(*rates_at(own.values, own.signed_weights, cut)) for cut in cuts]
            return decide(own, measure, cuts[int(np.argmax(values))], rows.points, fitted=fitted)
        if plan.batch:  # the model's scores of its own training rows would be too optimistic
            threshold = beside_frequent_rows(threshold, model, scored, rows.frequent_rows)
        else:
            threshold = beside_tied_rows(threshold, own.values, own.signed_weights, measure, tolerance)
        shift_at = None if len(scored) == 1 or plan.given else partial(rows.model_shift, model, scored)
        only = None if repeats > 1 else choose
        return decide(scores, measure, threshold, rows.points, fitted=fitted, shift_at=shift_at, choose=only)

    def _task(self, source: RowSource, statistics: DataShape, transform: Transform) -> Task:
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
    """A finished run per fold, the out-of-fold scores of their models, and the solver that was used."""

    runs: list[Run]
    scores: Scores
    solver: Solver


def trained_with_care(solver: Solver, tasks: Sequence[Task], rows: TrainingRows, measure: Measure) -> Trained:
    """Train a solver on every fold; if a model diverged, train it again with shorter steps."""
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


def may_whiten(statistics: DataShape) -> bool:
    """Return whether whitening of these rows pays."""
    dense = not statistics.sparse
    return whitening_pays(statistics.rows, statistics.n_features, dense=dense, coded=statistics.coded)


def whitening_pays(rows: int, n_features: int, *, dense: bool, coded: bool) -> bool:
    """Return whether whitening pays: it needs many dense rows, and not too many columns."""
    most = config.WHITENED_CODES if coded else config.WHITENED_COLUMNS
    return dense and rows >= config.WHITENED_ROWS and n_features <= most


def beside_frequent_rows(threshold: float, model: LinearModel, of_folds: list[LinearModel], common: Any) -> float:
    """Return the threshold, moved so that frequent rows lie on the side where the folds' models put them.

    The model's own score of such a row differs a little from the folds' mean. A hundredth of all rows must not
    change sides because of this.
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


def _maker_of(stage: str, found: Sequence[list[Candidate]]) -> Solver:
    """Return the solver that made a stage."""
    return next(candidate.maker for candidate in itertools.chain(*found) if candidate.stage == stage)


def best_stage(found: Sequence[list[Candidate]]) -> tuple[LinearModel, str]:
    """Return the best stage on the training rows themselves."""
    candidates = list(itertools.chain(*found))
    if not candidates:
        raise ValueError(NOTHING_LEARNED)
    chosen = max(candidates, key=lambda candidate: candidate.value)
    return chosen.model, chosen.stage


def share_passes(starts: list[Solver], to_sharpen: int, asked: int | None) -> tuple[list[Solver], int]:
    """Divide the requested passes: up to half of them for the start, the others for sharpening."""
    if asked is None:
        return starts, to_sharpen
    to_start = max(min(max(start.passes for start in starts), asked // 2), 1)
    return [_with_passes(start, min(start.passes, to_start)) for start in starts], asked - to_start


def _with_passes(solver: Solver, passes: int | None) -> Solver:
    return solver if passes is None else dataclasses.replace(solver, passes=passes)  # type: ignore[type-var]
