"""Many classes learned together: a column of scores per class, whose softmax shares replace predictions.

As with two classes, a fit counts, linearizes, learns and cuts. It starts from multinomial logistic regression with
class weights and continues with ascent on the measure: the gains of the measure at the current counts weigh the
shares. With few rows, each step uses all of them; otherwise the fit learns pass by pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import Algorithm, Task, leverage_settings
from .class_learner import ClassLearner
from .driver import Steps
from .requests import ClimbMeasure, CutClasses, Learn, MaximizeLikelihood
from .state import ClassTotals, LinearModels

_START_STEP, _CLIMB_STEP = 2.0, 4.0  # in units of a row's own leverage, as for two classes


@dataclass(frozen=True)
class MultinomialLogistic:
    """Logistic regression of all classes at once: the start of a sharpened fit of more than two classes.

    ``l2`` is the penalty that validation rows chose.
    """

    l2: float


class ClassCandidate(NamedTuple):
    """Models on the path of a run, and their stage."""

    stage: str
    model: LinearModels


class ClassAlgorithm(Algorithm):
    """The common part of both algorithms: the learner, and the start."""

    exponents: tuple[float, ...]

    def learner(self, task: Task) -> ClassLearner:
        return ClassLearner(task.n_classes, task.n_features, task.initial)

    def begin(self, task: Task, seen: ClassTotals) -> tuple[list[ClassCandidate], LinearModels]:
        """Return the first models; if no start is learned, they are a candidate."""
        model = task.initial
        if model is None:
            shares = np.array(seen.class_weights) / sum(seen.class_weights)
            weights = np.zeros((task.n_classes, task.n_features))
            model = LinearModels(weights, np.log(np.maximum(shares, 1e-6)))
        return [] if self.exponents else [ClassCandidate("one against the rest", model)], model


@dataclass(frozen=True)
class ClassesAtOnce(ClassAlgorithm):
    """Multinomial logistic regressions one after another, then ascent on the measure; each step uses all rows.

    Each start begins from the models of the previous start, and the ascent from the last one. The result is the
    list of candidates.

    Parameters
    ----------
    exponents, strengths : tuple of float
        The class-weight exponents and C of the starts.
    climbs : tuple of int
        The numbers of ascent steps on the measure after which the models are a candidate.
    wanted : tuple of str, optional
        The stages to make; all candidates unless given.
    """

    exponents: tuple[float, ...]
    strengths: tuple[float, ...]
    climbs: tuple[int, ...]
    wanted: tuple[str, ...] | None = None

    def algorithm(self, task: Task, seen: Callable[[], Any]) -> Steps:
        starts = [(e, C, f"{_start_stage(e)}, C {C:.2g}") for e in self.exponents for C in self.strengths]
        climbed = {number: f"climbed {number} steps" for number in self.climbs}
        wanted = self.wanted or (*(stage for _, _, stage in starts), *climbed.values())
        last = max((number for number, stage in climbed.items() if stage in wanted), default=0)
        candidates, model = self.begin(task, seen())
        for exponent, C, stage in starts:
            if stage in wanted or (last and stage == starts[-1][2]):
                weights = class_weights(seen(), exponent)
                model = yield MaximizeLikelihood(weights, 1.0 / (C * seen().points), model)
                candidates.append(ClassCandidate(stage, model))
        for before, number in pairwise((0, *(one for one in self.climbs if one <= last))):
            model = yield ClimbMeasure(task.measure, model, task.l2, steps=number - before)
            candidates.append(ClassCandidate(climbed[number], model))
        return candidates


@dataclass(frozen=True)
class ClassesInPasses(ClassAlgorithm):
    """Row-by-row learning: passes on the likelihood with each class weighting, then passes on the measure."""

    exponents: tuple[float, ...]
    passes: int
    climbs: tuple[int, ...]
    """The numbers of passes on the measure after which the models are a candidate."""

    def algorithm(self, task: Task, seen: Callable[[], Any]) -> Steps:
        candidates, first = self.begin(task, seen())
        model = first
        for exponent in self.exponents:
            weights, last = class_weights(seen(), exponent), first
            for number in range(self.passes):
                learned = yield self._learn(task, seen(), last, weights, _START_STEP / math.sqrt(1.0 + number))
                last, model = learned.last, learned.mean
            candidates.append(ClassCandidate(_start_stage(exponent), model))
        for number in range(1, max(self.climbs, default=0) + 1):
            offsets, table = yield CutClasses(task.measure, model)  # cut and count
            gains = task.measure.softened.gains(table)  # linearize
            gains = gains / max(float(np.ptp(gains, axis=1).max()), 1e-300)
            start, step = model.plus(offsets), _CLIMB_STEP / math.sqrt(number)
            learned = yield self._learn(task, seen(), start, np.ones(task.n_classes), step, gains)
            model = learned.mean
            if number in self.climbs:
                candidates.append(ClassCandidate(f"climbed {number} passes", model))
        return candidates

    def _learn(
        self,
        task: Task,
        seen: ClassTotals,
        start: LinearModels,
        weights: NDArray[np.float64],
        step: float,
        gains: NDArray[np.float64] | None = None,
    ) -> Learn:
        """Return the request for one pass, with step sizes as in a second pass."""
        settings = leverage_settings(seen, task.n_features, step=step, leverage=seen.leverage, l2=task.l2)
        return Learn(
            settings,
            None,
            weights / weights.max(),
            passes=1,
            start=start,
            restart_mean=True,
            restart_steps=seen.points,
            keep_last=True,
            gains=gains,
        )


def class_weights(seen: ClassTotals, exponent: float) -> NDArray[np.float64]:
    """Return weights proportional to (1 / share)^exponent, with mean 1 over all rows; 0 for empty classes."""
    totals = np.array(seen.class_weights)
    weights = np.where(totals > 0, np.maximum(totals, 1e-300) ** -exponent, 0.0)
    found: NDArray[np.float64] = weights * (totals.sum() / (weights @ totals))
    return found


def _start_stage(exponent: float) -> str:
    return f"logistic, class-weight exponent {exponent:.2g}"
