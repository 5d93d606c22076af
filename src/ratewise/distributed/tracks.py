"""The way of one model: a start, then sharpening, with a look at all its rows after every pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..rewards import Sigmoid
from ..solvers import (
    Amp,
    BatchLogistic,
    LinearModel,
    Look,
    Outlook,
    Sharpen,
    Spade,
    Stamp,
    WeightedLogistic,
    leverage_settings,
    minimise,
)
from . import rounds_gradients, rounds_models
from .plan import Course
from .rounds_models import State
from .scores import ScoredByAll, Spread

_SHARP_ROUNDS = 10
_REWARD = Sigmoid(1.0)


class Candidate(NamedTuple):
    """A model on the way, the best value that its scores allow, and their spread, on the rows it was taught by."""

    stage: str
    model: LinearModel
    value: float
    spread: Spread


def plain_model(course: Course, rounds: int | None, row_limit: float | None = None) -> LinearModel:
    """The model of the course's solver, by models where the shards allow it, by gradients elsewhere."""
    solver, by_models = course.solver, course.by_models
    passes = rounds or max(math.ceil(solver.passes / course.local_passes), 1)
    if isinstance(solver, WeightedLogistic) and by_models:
        return rounds_models.logistic(course, solver, passes, row_limit)
    if isinstance(solver, Spade) and by_models:
        return rounds_models.spade(course, solver, passes)
    if isinstance(solver, Stamp) and by_models:
        return rounds_models.stamp(course, solver, passes)
    if isinstance(solver, WeightedLogistic | BatchLogistic):
        return rounds_gradients.logistic(course, solver)
    if isinstance(solver, Spade):
        return rounds_gradients.spade(course, solver, rounds)
    if isinstance(solver, Stamp):
        return rounds_gradients.stamp(course, solver, rounds)
    if isinstance(solver, Amp):
        return rounds_gradients.amp(course, solver, rounds)
    raise ValueError(f"{solver.label} cannot learn from partitions: use solver='auto', 'spade', 'stamp' or 'amp'.")


class Track:
    """One model from its start to the last sharpening round."""

    def __init__(self, course: Course):
        sharpen = course.plan.sharpen
        assert sharpen is not None
        self._course = course
        self._sharpen: Sharpen = sharpen
        self._rows = ScoredByAll(course.engine, course.part, course.seen)
        self._outlook = Outlook(
            self._rows, course.plan.measure, sharpen.softness, course.history, course.number, course.seen.points
        )
        self._solver = course.solver
        self._to_start, self._to_sharpen = self._rounds()

    def _rounds(self) -> tuple[int | None, int]:
        """Learning rounds for the start (None for its own number) and for sharpening."""
        course, asked = self._course, self._course.plan.rounds
        if course.by_models:
            own = max(math.ceil(self._solver.passes / course.local_passes), 1)
            sharpening = math.ceil(self._sharpen.passes_over(course.shard_points) / course.local_passes)
        else:
            own = 1
            sharpening = _SHARP_ROUNDS if self._sharpen.passes == "auto" else int(self._sharpen.passes)
        if asked is None:
            return None, max(sharpening, 2)
        start = max(min(own, asked // 2), 1)
        return start if course.by_models else None, max(asked - start, 0)

    def candidates(self) -> Iterator[Candidate]:
        label = self._solver.label
        model = plain_model(self._course, self._to_start, self._sharpen.row_limit)
        each = self._course.local_passes if self._course.by_models else 1
        before = self._to_start * each if self._to_start else self._solver.passes
        look = self._outlook.look(model, before)
        if not math.isfinite(look.value):
            return
        yield Candidate(label, look.model, look.value, self._rows.spread)
        width = self._outlook.sigmoid_width(look)
        model = LinearModel(model.weights / width, (model.intercept - look.best.threshold) / width)
        pair = self._outlook.pair_at(look, width)
        way = _Sharpening(self._course, self._sharpen, self._outlook, model, pair, look)
        for number in range(1, self._to_sharpen + 1):
            found = way.go_on(number, before + number * each)
            if found is not None:
                yield Candidate(f"{label}, sharpened {number}", found.model, found.value, self._rows.spread)


class _Sharpening:
    """The bounded-reward stage, round by round."""

    def __init__(
        self,
        course: Course,
        settings: Sharpen,
        outlook: Outlook,
        model: LinearModel,
        pair: tuple[float, float],
        start: Look,
    ):
        self._course, self._settings, self._outlook = course, settings, outlook
        self._model, self._pair = model, pair
        self._best, self._best_model = start.value, model
        self._step = settings.step

    def go_on(self, number: int, passes: int) -> Look | None:
        """One round, and a look at its model; None if its steps were so long that it is lost."""
        mean, last = self._by_models(number) if self._course.by_models else self._by_gradients()
        look = self._outlook.look(mean, passes, self._pair)
        if not look.value >= self._best - 0.2 * abs(self._best - self._outlook.useless):  # NaN included
            self._step /= 4.0
            self._model = self._best_model
            return None
        pair = self._outlook.pair_at(look, 1.0)
        if not self._course.by_models and not self._course.plan.measure.smooth:
            # Whole steps on one pair would swing from side to side of a corner.
            pair = (math.sqrt(pair[0] * self._pair[0]), math.sqrt(pair[1] * self._pair[1]))
        self._pair = pair
        self._model = last._replace(intercept=last.intercept - look.best.threshold)
        if look.value > self._best:
            self._best, self._best_model = look.value, self._model
        return look

    def _by_models(self, number: int) -> tuple[LinearModel, LinearModel]:
        course = self._course
        settings = leverage_settings(
            course.seen, course.n_features, step=self._step, leverage=course.seen.leverage, l2=course.plan.l2
        )
        steps = course.seen.points * (1.0 + (number - 1) * course.local_passes)
        found = rounds_models.learned(
            course,
            State(self._model, self._pair, steps),
            settings,
            _REWARD,
            number=1_000_000 + number,
            passes=course.local_passes,
            row_limit=self._settings.row_limit,
        )
        return found.mean_model(), found.last_model()

    def _by_gradients(self) -> tuple[LinearModel, LinearModel]:
        p = self._course.seen.prevalence
        pair = (self._pair[0] * p, self._pair[1] * (1.0 - p))
        objective = rounds_gradients.mean_reward(self._course, _REWARD, pair)
        model = minimise(
            objective, self._model, self._course.plan.l2, tolerance=1e-6, rounds=rounds_gradients.INNER_STEPS
        )
        return model, model


def mean_of(models: list[LinearModel]) -> LinearModel:
    return LinearModel(
        np.mean([one.weights for one in models], axis=0), float(np.mean([one.intercept for one in models]))
    )
