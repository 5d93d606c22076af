"""All classes at once: the macro average of a measure, maximised under the rule that the highest score wins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from ..streams import LabelledRows
from .descent import Descent, ForTheMeasure, ManyModel, batch_rows, for_the_likelihood
from .history import History
from .macro import ClassRates
from .noise import half_the_noise

_STEPS = 2000
_MOST_PASSES = 64
_FEWEST_PASSES = 8
_FEW_ROWS = 5_000
_VERY_FEW_ROWS = 1_000
_SAMPLE = 4096
# Penalties as in scikit-learn, 1 / C: held-out rows choose.
_PENALTIES = (0.05, 2.0)
_PENALTIES_FOR_FEW = (0.05, 1.0, 20.0)

Start = Callable[[LabelledRows, np.random.Generator], ManyModel]


class SelectedMany(NamedTuple):
    """The outcome: a model of all classes, and the rates to expect of it on new rows."""

    model: ManyModel
    rates: ClassRates
    stages: tuple[str, ...]


def learn_jointly(
    rows: LabelledRows,
    measure: Measure,
    *,
    start: Start | None = None,
    initial: ManyModel | None = None,
    passes: int | None = None,
    l2: float = 0.0,
    held_out_share: float | None = None,
    rng: np.random.Generator,
    history: History,
    threads: int = 1,
) -> SelectedMany:
    """Learn all classes together; rows held out choose how far to go, then all rows go that far.

    Stages that cannot be told apart are averaged.

    Multinomial logistic regression comes first. From there the macro average itself is climbed, with shares by
    softmax in the place of calls: rates are then smooth, and the measure's own slopes say what a share is worth.
    Unlike the likelihood this is bounded, so that rows beyond saving stop pulling.

    Parameters
    ----------
    start : function, optional
        Gives the model to climb from, in the place of logistic regression.
    initial : ManyModel, optional
        Where logistic regression begins.
    passes : int, optional
        Of each stage; the number of rows decides unless given.
    l2 : float
        Strength of the penalty; 0 lets rows held out choose.
    held_out_share : float, optional
        One fifth unless given.
    threads : int
        Folds and penalties learned side by side; the outcome does not depend on it.
    """
    rows, folds = _folds(rows, held_out_share, rng)
    strengths = _PENALTIES_FOR_FEW if rows.n_points < _FEW_ROWS else _PENALTIES
    penalties = [l2] if l2 > 0 else [strength / rows.n_points for strength in strengths]
    course = _Course(measure, start, initial, passes or passes_over(rows))
    seeds = rng.spawn(len(folds) * len(penalties) + len(penalties))
    jobs = [
        _Job(k * len(folds) + number, fold, penalty, seeds[k * len(folds) + number])
        for k, penalty in enumerate(penalties)
        for number, fold in enumerate(folds)
    ]
    diaries = [history.branch() for _ in jobs]
    found = _in_threads(lambda job: _calls_of(job, course, rows, diaries[job.number]), jobs, threads)
    for diary in diaries:
        history.join(diary)
    stages, rates = _best_stages(found, jobs, rows, measure)
    last = {penalty: seeds[len(jobs) + k] for k, penalty in enumerate(penalties)}
    wanted = [penalty for penalty in penalties if any(stage.penalty == penalty for stage in stages)]
    refitted = _in_threads(
        lambda penalty: _refitted(rows, course, stages, penalty, last[penalty]), wanted, threads
    )
    model = _mean([model for several in refitted for model in several])
    return SelectedMany(model, rates, tuple(f"{stage.name}, L2 {stage.penalty:.2g}" for stage in stages))


def passes_over(rows: LabelledRows) -> int:
    """About as many steps whatever the number of rows, within reason."""
    wanted = math.ceil(_STEPS * batch_rows(rows) / rows.n_points)
    most = _MOST_PASSES if rows.n_points >= _VERY_FEW_ROWS else _MOST_PASSES // 2
    return min(max(wanted, _FEWEST_PASSES), most)


class _Stage(NamedTuple):
    name: str
    penalty: float


class _Job(NamedTuple):
    """One penalty on the rows that one fold leaves."""

    number: int
    held_out: tuple[int, int]
    penalty: float
    rng: np.random.Generator


class _Course(NamedTuple):
    """The way from a start to the last pass, the same for every fold."""

    measure: Measure
    start: Start | None
    initial: ManyModel | None
    passes: int

    def models(
        self, rows: LabelledRows, penalty: float, rng: np.random.Generator
    ) -> Iterator[tuple[str, int, ManyModel]]:
        """The models after 1, 2, 4, ... passes of each stage and at its end, each with its stage and passes."""
        n_classes, n_features = rows.n_classes, rows.n_features
        model = self.initial or ManyModel(np.zeros((n_classes, n_features)), np.zeros(n_classes))
        done = 0
        if self.start is None:
            descent = Descent(rows, model, penalty, rng)
            for number, model in descent.stage(self.passes, for_the_likelihood):
                if self._worth_a_look(number):
                    yield f"logistic, {number} passes", number, model
            done = self.passes
        else:
            model = self.start(rows, rng)
            yield "one against the rest", 0, model
        pull = ForTheMeasure(self.measure, rows, model)
        descent = Descent(rows, model, penalty, rng)
        for number, model in descent.stage(self.passes, pull):
            if self._worth_a_look(number):
                yield f"macro average, {number} passes", done + number, model

    def _worth_a_look(self, number: int) -> bool:
        return number & (number - 1) == 0 or number == self.passes


def _calls_of(job: _Job, course: _Course, rows: LabelledRows, history: History) -> dict[_Stage, NDArray[np.intp]]:
    """What the models of each stage call the rows held out."""
    start, stop = job.held_out
    learned, held_out = rows.part((0, start), (stop, rows.n_points)), rows.part((start, stop))
    codes, weights = held_out.codes, held_out.weights
    calls = {}
    for name, passes, model in course.models(learned, job.penalty, job.rng):
        called = model.called(held_out)
        rates = ClassRates.of_predictions(codes, called, weights, rows.n_classes)
        history.record(
            run=job.number,
            passes=passes,
            points=passes * learned.n_points,
            tpr=float(rates.tpr.mean()),
            tnr=float(rates.tnr.mean()),
            value=rates.value(course.measure),
        )
        calls[_Stage(name, job.penalty)] = called
    return calls


def _best_stages(
    found: list[dict[_Stage, NDArray[np.intp]]], jobs: list[_Job], rows: LabelledRows, measure: Measure
) -> tuple[list[_Stage], ClassRates]:
    """The stages that do best on the rows held out, as far as these can tell, and the rates of the very best."""
    pooled: dict[_Stage, ClassRates] = {}
    for penalty in dict.fromkeys(job.penalty for job in jobs):
        mine = [(job, calls) for job, calls in zip(jobs, found, strict=True) if job.penalty == penalty]
        held_out = rows.part(*(job.held_out for job, _ in mine))
        codes, weights = held_out.codes, held_out.weights
        for stage in mine[0][1]:
            called = np.concatenate([calls[stage] for _, calls in mine])
            pooled[stage] = ClassRates.of_predictions(codes, called, weights, rows.n_classes)
    values = {stage: rates.value(measure) for stage, rates in pooled.items()}
    best = max(values, key=lambda stage: values[stage])
    useless, perfect = np.mean([measure.scale(float(p)) for p in pooled[best].prevalence if p > 0], axis=0)
    tolerance = half_the_noise(values[best], (float(useless), float(perfect)), codes.size)
    return [stage for stage, value in values.items() if value >= values[best] - tolerance], pooled[best]


def _refitted(
    rows: LabelledRows, course: _Course, stages: list[_Stage], penalty: float, rng: np.random.Generator
) -> list[ManyModel]:
    """The models of these stages, learned from all rows, each brought to unit spread of its scores."""
    wanted = {stage.name for stage in stages if stage.penalty == penalty}
    models = []
    for name, _, model in course.models(rows, penalty, rng):
        if name in wanted:
            models.append(_to_unit_spread(model, rows))
            wanted.remove(name)
        if not wanted:
            break
    return models


def _to_unit_spread(model: ManyModel, rows: LabelledRows) -> ManyModel:
    """Models of different penalties come on different scales; what all classes share has no say."""
    weights = model.weights - model.weights.mean(axis=0)
    intercepts = model.intercepts - model.intercepts.mean()
    sample = rows.part((0, min(rows.n_points, _SAMPLE)))
    spread = max(float(sample.scores(weights, intercepts).std()), 1e-12)
    return ManyModel(weights / spread, intercepts / spread)


def _mean(models: list[ManyModel]) -> ManyModel:
    return ManyModel(
        np.mean([one.weights for one in models], axis=0), np.mean([one.intercepts for one in models], axis=0)
    )


def _folds(
    rows: LabelledRows, held_out_share: float | None, rng: np.random.Generator
) -> tuple[LabelledRows, list[tuple[int, int]]]:
    """The ranges held out: one fifth of many rows, and each fifth of few in turn."""
    folds = 5 if held_out_share is None else max(round(1.0 / held_out_share), 2)
    folds = min(folds, rows.n_points, rows.n_groups or folds)
    rows, ranges = rows.in_folds(folds, rng)
    return rows, ranges if rows.n_points < _FEW_ROWS else ranges[:1]


def _in_threads(work: Callable[[Any], Any], jobs: list[Any], threads: int) -> list[Any]:
    if threads == 1 or len(jobs) == 1:
        return [work(job) for job in jobs]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, jobs))
