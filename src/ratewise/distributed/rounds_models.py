"""Learning by models: shards learn apart for a while, and go on from the mean of what they have learned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..measures import ConcaveMeasure, PseudoLinearMeasure
from ..rewards import Logistic, Reward, Sigmoid
from ..solvers import (
    LearnSettings,
    LinearModel,
    Spade,
    Stamp,
    WeightedLogistic,
    checked_reward,
    leverage_settings,
    primal_settings,
)
from .counting import CountCalled
from .learning import Learn, Learned
from .plan import Course


class State(NamedTuple):
    """What goes from round to round."""

    model: LinearModel
    pair: tuple[float, float]
    steps: float


def learned(
    course: Course,
    state: State,
    settings: LearnSettings,
    reward: Reward,
    *,
    number: int,
    passes: float,
    measure: ConcaveMeasure | None = None,
    row_limit: float | None = None,
) -> Learned:
    """One round."""
    question = Learn(
        course.part,
        state.model,
        state.pair,
        state.steps,
        passes,
        settings,
        reward,
        measure,
        row_limit,
        course.seen.leverage,
        course.taught,
        (course.plan.seed, 3, course.number, number),
    )
    found = course.engine.ask(question)
    rates = found.rates_met()
    course.report({"tpr": rates.tpr, "tnr": rates.tnr, "value": float(course.plan.measure.value(*rates))})
    return found


def logistic(course: Course, solver: WeightedLogistic, rounds: int, row_limit: float | None) -> LinearModel:
    """Logistic regression with class weights; the mean model of the last round."""
    p = course.seen.prevalence
    ratio = ((1.0 - p) / p) ** solver.emphasis
    pair = (ratio / max(ratio, 1.0), 1.0 / max(ratio, 1.0))
    settings = leverage_settings(
        course.seen,
        course.n_features,
        step=solver.step * math.log(2.0),
        leverage=course.seen.leverage,
        l2=course.plan.l2,
    )
    state = State(LinearModel(np.zeros(course.n_features), math.log(ratio * p / (1.0 - p))), pair, 0.0)
    mean = state.model
    for number in range(rounds):
        state = state._replace(steps=course.seen.points * (1.0 + number * course.local_passes))
        found = learned(
            course, state, settings, Logistic(), number=number, passes=course.local_passes, row_limit=row_limit
        )
        state, mean = state._replace(model=found.last_model()), found.mean_model()
    return mean


def spade(course: Course, solver: Spade, rounds: int) -> LinearModel:
    """SPADE: models and dual pairs are merged; the mean of all models of all rounds is the outcome."""
    measure = course.plan.measure
    assert isinstance(measure, ConcaveMeasure)
    reward = checked_reward(solver.reward, "Spade")
    first = measure.first_pair()
    settings = primal_settings(
        course.seen,
        first,
        step=solver.step,
        dual_step=solver.dual_step,
        radius=solver.radius,
        l2=course.plan.l2,
        average_every=1,  # every shard sets its own
    )
    if solver.printed_sign:
        settings = settings._replace(steps=settings.steps._replace(conjugate_sign=-1.0))
    state = State(LinearModel(np.zeros(course.n_features), 0.0), first, 0.0)
    total, points = np.zeros(course.n_features + 1), 0
    for number in range(rounds):
        found = learned(
            course, state, settings, reward, number=number, passes=course.local_passes, measure=measure
        )
        state = State(found.last_model(), found.pair(), found.steps())
        total, points = total + found.mean, points + found.points
        alpha, beta = state.pair
        record(course, found, points, alpha=alpha, beta=beta)
    total /= max(points, 1)
    return LinearModel(total[:-1], float(total[-1]))


def stamp(course: Course, solver: Stamp, rounds: int) -> LinearModel:
    """STAMP: epochs of growing length, spread over the shards; the level after each is counted over all rows."""
    measure = course.plan.measure
    assert isinstance(measure, PseudoLinearMeasure)
    reward = checked_reward(solver.reward, "Stamp")
    model, level, points = LinearModel(np.zeros(course.n_features), 0.0), 0.0, 0
    for number, epoch in enumerate(_epochs(course, solver, rounds)):
        pair = measure.valuation_weights(level, course.seen.prevalence)
        settings = primal_settings(
            course.seen,
            pair,
            step=solver.step,
            radius=solver.radius,
            l2=course.plan.l2,
            average_every=1,
        )
        state = State(model, pair, 0.0)
        total, of_epoch = np.zeros(course.n_features + 1), 0
        for stretch, passes in enumerate(epoch):
            found = learned(course, state, settings, reward, number=1000 * number + stretch, passes=passes)
            state = State(found.last_model(), pair, found.steps())
            total, of_epoch = total + found.mean, of_epoch + found.points
        total /= max(of_epoch, 1)
        model, points = LinearModel(total[:-1], float(total[-1])), points + of_epoch
        rates = course.engine.ask(CountCalled(((course.part, model),))).rates()
        level = float(measure.value(*rates))
        record(course, found, points, level=level)
    return model


def _epochs(course: Course, solver: Stamp, rounds: int) -> Iterator[list[float]]:
    """Each epoch as a list of rounds, each of so many passes; the last one takes what is left."""
    left, length = float(rounds * course.local_passes), max(solver.first_epoch / max(course.shard_points, 1), 1e-9)
    while left > 1e-12:
        passes = left if left < length * (1.0 + solver.growth) else length
        left -= passes
        length *= solver.growth
        whole = max(math.ceil(passes / course.local_passes - 1e-9), 1)
        yield [passes / whole] * whole


def record(course: Course, found: Learned, points: int, **more: float) -> None:
    rates = found.rates_met()
    course.history.record(
        passes=points / max(course.seen.points, 1),
        points=points,
        tpr=rates.tpr,
        tnr=rates.tnr,
        value=float(course.plan.measure.value(*rates)),
        **more,
    )


SHARP = Sigmoid(1.0)
