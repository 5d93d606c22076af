"""The choice between starts and stages, made by rows that the models have not seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, Rates
from ..streams import ArrayStream
from .base import Solver
from .history import History
from .learner import LinearModel
from .noise import half_the_noise
from .outlook import Snapshot
from .selection_plan import Plan, starts_for
from .sharpen import Sharpen, Trajectory
from .threshold import beside_alike_rows, best_threshold, quick_threshold, rates_at, steady_threshold

_T = TypeVar("_T")


class Selected(NamedTuple):
    """The outcome: a model with its threshold, and the rates to expect of it on new rows."""

    model: LinearModel
    threshold: float
    rates: Rates
    stages: tuple[str, ...]


def sharpen_and_select(
    stream: ArrayStream,
    measure: Measure,
    solver: Solver | None,
    settings: Sharpen,
    *,
    whitened: bool,
    initial: LinearModel | None,
    l2: float,
    held_out_share: float | None,
    rng: np.random.Generator,
    history: History,
    threads: int = 1,
) -> Selected:
    """Sharpen in folds, choose the stages by the rows held out, and average the folds' models.

    Every row is scored by models that have not seen it, and those scores decide: between the starts, between the
    stages of each, and on the threshold. With few points of a class the folds are drawn several times, so that
    the choice is not left to chance.

    Parameters
    ----------
    solver : Solver or None
        Where to start from; None lets the library choose, and try several starts where rows are few.
    whitened : bool
        The rows are whitened, so that a start needs fewer passes.
    initial : LinearModel or None
        Where the starts begin, to go on from a fit before.
    held_out_share : float or None
        The share of rows each fold holds out; None lets the number of rows decide.
    threads : int
        Folds and starts learned side by side; the outcome does not depend on it.
    """
    plan = Plan.of(stream, measure, held_out_share)
    starts = [solver] if solver is not None else starts_for(measure, stream, plan, whitened=whitened)
    leverage = stream.limit_rows(settings.row_limit)
    passes = settings.passes_over(stream.n_points)

    def snapshots(job: _Job) -> Iterator[Snapshot]:
        trajectory = Trajectory(
            job.rows,
            job.start,
            measure,
            settings,
            leverage=leverage,
            passes=passes if job.start.to_be_sharpened else 0,
            initial=initial,
            l2=l2,
            history=job.history,
            number=job.number,
            whole_start=plan.small,
        )
        return trajectory.snapshots()

    if plan.folds == 1:
        jobs = [
            _Job(number, start, stream.part((0, stream.n_points), rng=child), None, history.branch())
            for number, (start, child) in enumerate(zip(starts, rng.spawn(len(starts)), strict=True))
        ]
        # Only their values are kept of the snapshots' scores, which are as many as rows.
        found = _in_threads(
            lambda job: [_Judged.of(one, stream, measure) for one in snapshots(job)], jobs, threads
        )
        _join(history, jobs)
        return _best_of(list(itertools.chain.from_iterable(found)), stream, measure)

    jobs = list(_jobs(stream, plan, starts, rng, history))
    # Each fold's snapshots are scored at once: kept, they would hold the scores of all training rows.
    scored = _in_threads(lambda job: [_Held.out(snapshot, job) for snapshot in snapshots(job)], jobs, threads)
    _join(history, jobs)
    candidates: dict[str, _Candidate] = {}
    for held in itertools.chain.from_iterable(scored):
        candidates.setdefault(held.stage, _Candidate(held.stage, stream.n_features)).add(held)
    # A stage that was skipped in some fold, because its steps were too long, is not to be had.
    complete = [candidate for candidate in candidates.values() if len(candidate.scores) == plan.models]
    return _mean_of_the_best(complete, stream, measure, plan)


class _Job(NamedTuple):
    """One start on the rows of one fold: what runs side by side with others."""

    number: int
    start: Solver
    rows: ArrayStream
    held_out: ArrayStream | None
    history: History


def _jobs(
    stream: ArrayStream, plan: Plan, starts: list[Solver], rng: np.random.Generator, history: History
) -> Iterator[_Job]:
    """Every start on every fold, each with random numbers of its own: the outcome is the same in any order."""
    number = itertools.count()
    for repeat in range(plan.repeats):
        as_it_is = repeat == 0 or stream.n_groups is not None  # groups are dealt out anew in any case
        shuffled, ranges = (stream if as_it_is else stream.reshuffled(rng)).in_folds(plan.folds, rng)
        for begin, end in ranges:
            held_out = shuffled.part((begin, end))
            for start, child in zip(starts, rng.spawn(len(starts)), strict=True):
                rows = shuffled.part((0, begin), (end, stream.n_points), rng=child)
                _require_both_classes(rows)
                yield _Job(next(number), start, rows, held_out, history.branch())


def _require_both_classes(rows: ArrayStream) -> None:
    """Only groups can make a fold lack a class: others have their share of it."""
    if rows.signed_weights.min() >= 0 or rows.signed_weights.max() <= 0:
        missing = "negative" if rows.signed_weights.min() >= 0 else "positive"
        raise ValueError(
            f"With these groups a fold leaves no row of the {missing} class to learn from, because hardly a group "
            "has any. Give finer groups, or none."
        )


def _in_threads(work: Callable[[_Job], _T], jobs: list[_Job], threads: int) -> list[_T]:
    """The work done for each job; kernels let other threads run."""
    if threads == 1 or len(jobs) == 1:
        return [work(job) for job in jobs]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, jobs))


def _join(history: History, jobs: list[_Job]) -> None:
    for job in jobs:
        history.join(job.history)


class _Held(NamedTuple):
    """A model of one fold, its scores brought to unit spread, and those of the rows held out."""

    stage: str
    model: LinearModel
    scores: NDArray[np.floating[Any]]
    signed_weights: NDArray[np.floating[Any]]

    @classmethod
    def out(cls, snapshot: Snapshot, job: _Job) -> _Held:
        assert job.held_out is not None
        mean, spread = float(snapshot.scores.mean()), max(float(snapshot.scores.std()), 1e-12)
        model = LinearModel(snapshot.model.weights / spread, (snapshot.model.intercept - mean) / spread)
        return cls(snapshot.stage, model, job.held_out.scores(*model), job.held_out.signed_weights)


class _Candidate:
    """One stage over all folds: the scores of the rows held out, and the mean of the models.

    Models of different folds come on different scales, so each has been divided by the spread of its own scores
    before scores are pooled and models averaged.
    """

    def __init__(self, stage: str, n_features: int):
        self.stage = stage
        self.scores: list[NDArray[np.floating[Any]]] = []
        self.signed_weights: list[NDArray[np.floating[Any]]] = []
        self._weights = np.zeros(n_features)
        self._intercept = 0.0
        self._models = 0

    def add(self, held: _Held) -> None:
        self._models += 1
        self._weights += held.model.weights
        self._intercept += held.model.intercept
        self.scores.append(held.scores)
        self.signed_weights.append(held.signed_weights)

    def model(self) -> LinearModel:
        return LinearModel(self._weights / self._models, self._intercept / self._models)

    def pooled_scores(self) -> NDArray[np.floating[Any]]:
        """Of the rows held out by all folds; they are let go of here."""
        pooled = np.concatenate(self.scores)
        self.scores.clear()
        return pooled


class _Judged(NamedTuple):
    """A stage, and what it is worth on the rows it was trained on."""

    stage: str
    model: LinearModel
    value: float

    @classmethod
    def of(cls, snapshot: Snapshot, stream: ArrayStream, measure: Measure) -> _Judged:
        value = snapshot.value
        if measure.constraints(0.5):
            value = quick_threshold(snapshot.scores, stream.signed_weights, measure).value
        return cls(snapshot.stage, snapshot.model, value)


def _best_of(stages: list[_Judged], stream: ArrayStream, measure: Measure) -> Selected:
    """The best stage on the rows themselves, at its exact threshold."""
    _require_some(stages)
    chosen = max(stages, key=lambda stage: stage.value)
    best = best_threshold(stream.scores(*chosen.model), stream.signed_weights, measure)
    return Selected(chosen.model, best.threshold, best.rates, (chosen.stage,))


def _mean_of_the_best(candidates: list[_Candidate], stream: ArrayStream, measure: Measure, plan: Plan) -> Selected:
    """The mean of all stages that do about as well as the best one, cut where the pooled scores say."""
    _require_some(candidates)
    weights = np.concatenate(candidates[0].signed_weights)
    prevalence = float(weights[weights > 0].sum() / np.abs(weights).sum())
    pooled = [candidate.pooled_scores() for candidate in candidates]
    caution = math.sqrt(plan.repeats)  # a row scored three times over tells no more than once
    values = [quick_threshold(scores, weights, measure, caution=caution).value for scores in pooled]
    best = max(values)
    rarer = min((weights > 0).sum(), (weights < 0).sum()) / plan.repeats
    tolerance = half_the_noise(best, measure.scale(prevalence), rarer)
    chosen = [k for k, value in enumerate(values) if value >= best - tolerance]
    scores = np.mean([pooled[k] for k in chosen], axis=0)
    models = [candidates[k].model() for k in chosen]
    model = LinearModel(
        np.mean([one.weights for one in models], axis=0), float(np.mean([one.intercept for one in models]))
    )
    threshold = steady_threshold(scores, weights, measure, tolerance, caution=caution)
    threshold = beside_alike_rows(threshold, stream.scores(*model), stream.signed_weights, measure, tolerance)
    stages = tuple(candidates[k].stage for k in chosen)
    return Selected(model, threshold, rates_at(scores, weights, threshold), stages)


def _require_some(candidates: Sequence[Any]) -> None:
    if not candidates:
        raise ValueError(
            "No model could be learned: numbers beyond the range of float32 arose on every way tried. Bring the "
            "columns of X to a common scale (standardize=True does)."
        )
