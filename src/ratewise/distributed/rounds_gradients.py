"""Learning by gradients: the client moves one model, by slopes summed over all shards."""

from __future__ import annotations

import math

import numpy as np

from ..measures import PseudoLinearMeasure, Rates
from ..rewards import Logistic, Reward
from ..solvers import (
    Amp,
    BatchLogistic,
    LinearModel,
    Spade,
    Stamp,
    WeightedLogistic,
    best_threshold,
    checked_reward,
    minimise,
)
from .counting import CountCalled
from .gradients import MeanReward
from .plan import Course
from .scores import ScoredByAll

START_STEPS = 25
INNER_STEPS = 4
_SPADE_ROUNDS = 25
_STAMP_STEPS = 3


def mean_reward(course: Course, reward: Reward, pair: tuple[float, float]) -> MeanReward:
    """``pair`` is what the mean rewards of the two classes weigh."""
    return MeanReward(
        course.engine, course.part, course.seen, reward, pair, course.gradient_share, lambda: course.report({})
    )


def logistic(course: Course, solver: WeightedLogistic | BatchLogistic) -> LinearModel:
    """Logistic regression with class weights; for the measure's sake only as far as sharpening needs it."""
    p = course.seen.prevalence
    ratio = ((1.0 - p) / p) ** solver.emphasis
    start = LinearModel(np.zeros(course.n_features), math.log(ratio * p / (1.0 - p)))
    objective = mean_reward(course, Logistic(), (ratio * p, 1.0 - p))
    l2, tolerance, rounds = course.plan.l2, 1e-4, START_STEPS
    if isinstance(solver, BatchLogistic):
        points = course.seen.points * (ratio * p + 1.0 - p)
        l2, rounds = 1.0 / (solver.C * points * math.log(2.0)), 100
    return minimise(objective, start, l2, tolerance=tolerance, rounds=rounds)


def spade(course: Course, solver: Spade, rounds: int | None) -> LinearModel:
    """SPADE's saddle point by turns: some steps of the model, then the pair moves to the slopes at its rewards,
    by less and less, as the mean of all slopes so far.
    """
    measure, reward = course.plan.measure, checked_reward(solver.reward, "Spade")
    model = LinearModel(np.zeros(course.n_features), 0.0)
    pair = np.array(_normed(measure.slopes(0.5, 0.5, course.seen.prevalence)))
    best, kept = -math.inf, model
    for number in range(1, (rounds or _SPADE_ROUNDS) + 1):
        objective = mean_reward(course, reward, (float(pair[0]), float(pair[1])))
        model = inside(minimise(objective, model, course.plan.l2, rounds=INNER_STEPS), solver.radius)
        on_positives, on_negatives = np.clip(objective.mean_rewards, 0.01, 1.0).tolist()
        value = float(measure.value(on_positives, on_negatives, course.seen.prevalence))
        rates = course.engine.ask(CountCalled(((course.part, model),))).rates()
        record(course, rates, number, alpha=float(pair[0]), beta=float(pair[1]))
        if value > best:
            best, kept = value, model
        slopes = measure.slopes(on_positives, on_negatives, course.seen.prevalence)
        pair += (np.array(_normed(slopes)) - pair) / (1.0 + number)
    return kept


def stamp(course: Course, solver: Stamp, rounds: int | None) -> LinearModel:
    """STAMP: a few steps on the valuation at the present level, then the level is counted anew.

    Hinge steps of all rows at once swing about the best level, so the best model on the way is the outcome.
    """
    plan = course.plan
    measure, reward = plan.measure, checked_reward(solver.reward, "Stamp")
    assert isinstance(measure, PseudoLinearMeasure)
    rows = ScoredByAll(course.engine, course.part, course.seen)
    model, level = LinearModel(np.zeros(course.n_features), 0.0), 0.0
    best, kept = -math.inf, model
    for number in range(1, (rounds or solver.passes) + 1):
        objective = mean_reward(course, reward, measure.valuation_weights(level, course.seen.prevalence))
        model = inside(minimise(objective, model, plan.l2, rounds=_STAMP_STEPS), solver.radius)
        rates = _rates(course, model)
        level = value = float(measure.value(*rates))
        if plan.tune:
            scores = rows.scores(*model)
            value = best_threshold(scores, rows.signed_weights, measure).value
        if value > best:
            best, kept = value, model
        record(course, rates, number, level=level)
    return kept


def amp(course: Course, solver: Amp, rounds: int | None) -> LinearModel:
    """AMP: the best model for the valuation at the present level, until the level stands still."""
    measure = course.plan.measure
    assert isinstance(measure, PseudoLinearMeasure)
    reward = checked_reward(solver.reward, "Amp")
    by_reward = solver.level == "reward"
    model = LinearModel(np.zeros(course.n_features), 0.0)
    level = 0.0 if by_reward else float(measure.value(*_rates(course, model)))
    for number in range(1, (rounds or solver.passes) + 1):
        objective = mean_reward(course, reward, measure.valuation_weights(level, course.seen.prevalence))
        candidate = inside(minimise(objective, model, course.plan.l2), solver.radius)
        rates = _rates(course, candidate)
        reached = float(measure.value(*rates))
        if by_reward:
            objective(np.append(candidate.weights, candidate.intercept))
            rewards = np.maximum(objective.mean_rewards, 0.0).tolist()
            reached = float(measure.value(rewards[0], rewards[1], course.seen.prevalence))
        rise = reached - level
        if rise > 0:  # an inexact inner solution must not undo what was won
            model, level = candidate, reached
        record(course, rates, number, level=level)
        if rise < solver.tolerance:
            break
    return model


def inside(model: LinearModel, radius: float) -> LinearModel:
    """The model brought into the ball."""
    length = float(np.hypot(np.linalg.norm(model.weights), model.intercept))
    shrink = min(radius / max(length, 1e-300), 1.0)
    return model if shrink == 1.0 else LinearModel(model.weights * shrink, model.intercept * shrink)


def _rates(course: Course, model: LinearModel) -> Rates:
    return course.engine.ask(CountCalled(((course.part, model),))).rates()


def _normed(pair: tuple[float, float]) -> tuple[float, float]:
    total = max(sum(pair), 1e-300)
    return max(pair[0] / total, 1e-3), max(pair[1] / total, 1e-3)


def record(course: Course, rates: Rates, number: int, **more: float) -> None:
    value = float(course.plan.measure.value(*rates))
    course.history.record(
        passes=number, points=number * course.seen.points, tpr=rates.tpr, tnr=rates.tnr, value=value, **more
    )
    course.report({"tpr": rates.tpr, "tnr": rates.tnr, "value": value})
