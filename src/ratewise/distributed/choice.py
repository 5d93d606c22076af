"""The end of a fit: which model on the way to take, and its exact threshold over all shards."""

from __future__ import annotations

import math

import numpy as np

from ..measures import Rates
from ..solvers import LinearModel, half_the_noise
from ..streams import Summary
from .counting import CountCalled
from .exact import Cells, exact_threshold
from .plan import Course
from .protocol import Engine, merge
from .scores import CountBins, Scored
from .tracks import Candidate, Track, mean_of, plain_model

_NOTHING_LEARNED = (
    "No model could be learned: numbers beyond the range of float32 arose. Bring the columns to a common scale "
    "(standardize=True does)."
)

Found = tuple[LinearModel, float, Rates, tuple[str, ...]]


def plain(course: Course, points: tuple[float, float]) -> Found:
    """The solver's own model, at its exact threshold or as it is."""
    model = plain_model(course, course.plan.rounds)
    if not (np.isfinite(model.weights).all() and math.isfinite(model.intercept)):
        raise ValueError(_NOTHING_LEARNED)
    scored: tuple[Scored, ...] = ((course.part, model),)
    course.report({"stage": "threshold"})
    if not course.plan.tune:
        return model, 0.0, course.engine.ask(CountCalled(scored)).rates(), ()
    best = exact_threshold(course.engine, scored, course.plan.measure, points)
    return model, best.threshold, best.rates, ()


def sharpened(courses: list[Course], points: tuple[float, float]) -> Found:
    engine, measure = courses[0].engine, courses[0].plan.measure
    tracks = [list(Track(course).candidates()) for course in courses]
    if not all(tracks):
        raise ValueError(_NOTHING_LEARNED)
    courses[0].report({"stage": "threshold"})
    if len(courses) == 1:
        chosen = max(tracks[0], key=lambda candidate: candidate.value)
        best = exact_threshold(engine, ((0, chosen.model),), measure, points)
        return chosen.model, best.threshold, best.rates, (chosen.stage,)
    return _mean_of_halves(courses, tracks, points)


def _mean_of_halves(courses: list[Course], tracks: list[list[Candidate]], points: tuple[float, float]) -> Found:
    """Each half's models are judged by the other half; the mean of those that do about as well as the best."""
    engine, measure = courses[0].engine, courses[0].plan.measure
    by_stage = [{one.stage: _in_unit_spread(one) for one in candidates} for candidates in tracks]
    stages = [stage for stage in by_stage[0] if stage in by_stage[1]]
    values = [_value_held_out(engine, courses, [by_stage[0][one], by_stage[1][one]], points) for one in stages]
    best = max(values)
    whole: Summary = courses[0].seen.merge(courses[1].seen)
    rarer = min(whole.positive_weight, whole.negative_weight)
    tolerance = half_the_noise(best, measure.scale(whole.prevalence), rarer)
    chosen = [stage for stage, value in zip(stages, values, strict=True) if value >= best - tolerance]
    models = [mean_of([own[stage] for stage in chosen]) for own in by_stage]
    scored = ((1, models[0]), (0, models[1]))
    threshold = exact_threshold(engine, scored, measure, points)
    return mean_of(models), threshold.threshold, threshold.rates, tuple(chosen)


def _in_unit_spread(candidate: Candidate) -> LinearModel:
    spread, model = candidate.spread, candidate.model
    return LinearModel(model.weights / spread.deviation, (model.intercept - spread.mean) / spread.deviation)


def _value_held_out(
    engine: Engine, courses: list[Course], models: list[LinearModel], points: tuple[float, float]
) -> float:
    counts = merge([engine.ask(CountBins(1 - part, models[part], 0.0, 1.0)) for part in (0, 1)])
    cells = Cells(counts.places, np.zeros(counts.places.size, dtype=np.int64), counts.weights)
    measure = courses[0].plan.measure
    cut = cells.best_cut(measure, points)
    return float(measure.value(cells.tpr[cut], cells.tnr[cut], cells.prevalence))
