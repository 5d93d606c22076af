"""Learning from all rows at once: the run of few rows, and the maximiser that answers a :class:`Maximize` request.

The maximum is found by scipy's L-BFGS; where the rows can tell the curvature at little cost, by Newton steps for a
concave reward, and by gradient steps in the metric of that curvature for another.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from .base import Evaluate, History, Maximize, Request, Run, Scores, Solver, Task
from .sharpen import SIGMOID, Candidate, Evaluated, Evaluation, halfway
from .state import LinearModel, Summary

_STEPS = 8  # up the sigmoid reward, per round

Objective = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]
"""Minus the weighted mean reward of a model (weights, then the intercept), and its gradient."""

Curvature = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""The matrix of second derivatives of a concave reward; for another, a positive definite one in its place."""


class BatchRun(Run):
    """Penalized logistic regressions one after another, then sharpening, all of it on all rows at once.

    For rows that are few: a step on all of them costs no more than a few calls. Each start begins from the model
    of the one before, and sharpening from the last. A round of sharpening is a few steps up the sigmoid
    reward, with class weights from the measure's slopes at the best cut of the model before; few steps keep the
    model near its start, as few passes do.

    Parameters
    ----------
    starts : list of Solver
        In the order in which they are solved.
    task : Task
    softness : float
        Of :class:`~ratewise.solvers.Sharpen`.
    rounds : sequence of int
        Of sharpening: after which of them the model is a candidate.
    wanted : collection of str, optional
        The stages to make; all candidates unless given.
    """

    def __init__(
        self,
        starts: Sequence[Solver],
        task: Task,
        softness: float,
        *,
        rounds: Sequence[int],
        wanted: Collection[str] | None = None,
    ):
        self._task, self._softness = task, softness
        of_starts = [start.label for start in starts]
        of_rounds = [f"{starts[-1].label}, sharpened {k + 1}" for k in range(max(rounds, default=0))]
        self._stages = of_starts + of_rounds
        self._wanted = of_starts + [of_rounds[k - 1] for k in rounds] if wanted is None else wanted
        last = max((k for k, stage in enumerate(self._stages) if stage in self._wanted), default=-1)
        self._n_starts = len(starts)
        # Sharpening needs the start before it.
        self._todo = [
            k
            for k in range(last + 1)
            if self._stages[k] in self._wanted or (last >= self._n_starts and k >= self._n_starts - 1)
        ]
        self._starts = list(starts)
        self._model = task.initial
        self._solve: Run | None = None
        self._evaluated: Evaluated | None = None
        self._weights = (0.0, 0.0)
        self._to_evaluate = False
        self.candidates: list[Candidate] = []
        self.finished = not self._todo

    def request(self, seen: Summary) -> Request:
        self._seen = seen
        if self._to_evaluate:
            assert self._model is not None
            return Evaluate(self._model)
        k = self._todo[0]
        if k < self._n_starts:
            if self._solve is None:
                self._solve = self._starts[k].start(dataclasses.replace(self._task, initial=self._model))
            return self._solve.request(seen)
        return self._sharpen()

    def _sharpen(self) -> Maximize:
        """Return a round: up the sigmoid reward from the last model, divided by the sigmoid's width."""
        evaluated = self._evaluated
        assert evaluated is not None
        p = self._seen.prevalence
        on_positives, on_negatives = self._weights
        return Maximize(
            SIGMOID,
            (on_positives * p, on_negatives * (1.0 - p)),
            evaluated.model,
            self._task.l2,
            tolerance=1e-6,
            iterations=_STEPS,
            few_rows=True,
        )

    def receive(self, answer: Any) -> None:
        if self._to_evaluate:
            self._to_evaluate = False
            self._take_scores(answer)
            return
        self._model, self._solve = answer, None
        if not math.isfinite(answer.intercept + answer.weights.sum()):
            self.finished = True
            return
        goes_on = len(self._todo) > 1 and self._todo[1] >= self._n_starts
        self._to_evaluate = self._todo[0] >= self._n_starts or goes_on
        if not self._to_evaluate:
            self._add(0.0)  # log odds are on one scale in all folds

    def _take_scores(self, scores: Scores) -> None:
        """Sharpened scores are on one scale too, seen from the cut that is best for the training rows."""
        assert self._model is not None
        evaluation = Evaluation(self._task.measure, self._seen.prevalence, self._softness)
        evaluated = evaluation.of(self._model, scores)
        first = self._todo[0] < self._n_starts
        if not scores.finite:
            self.finished = True
            return
        self._add(0.0 if first else evaluated.best.threshold)
        if not self.finished:
            self._prepare_sharpening(evaluation, evaluated, first=first)

    def _add(self, origin: float) -> None:
        assert self._model is not None
        stage = self._stages[self._todo.pop(0)]
        if stage in self._wanted:
            self.candidates.append(Candidate(stage, self._model, math.nan, origin, 1.0))
        self.finished = not self._todo

    def _prepare_sharpening(self, evaluation: Evaluation, evaluated: Evaluated, *, first: bool) -> None:
        """Move the model to its best cut, in units of the sigmoid, and take the class weights there."""
        width = evaluation.sigmoid_width(evaluated) if first else 1.0
        asked, before = evaluation.class_weights(evaluated, width), self._weights
        damped = not first and not self._task.measure.smooth
        self._weights = halfway(asked, before) if damped else asked
        self._evaluated = evaluated._replace(model=evaluated.model.divided(width, evaluated.best.threshold))

    @property
    def history(self) -> History:
        return self._task.history or History()

    def model(self) -> LinearModel:
        return self.candidates[-1].model

    def change_transform(self, change: Callable[[Any, float], Any]) -> None:
        if self._model is not None:
            self._model = LinearModel(*change(*self._model))
        self.candidates = [one._replace(model=LinearModel(*change(*one.model))) for one in self.candidates]


def maximize(objective: Objective, request: Maximize, curvature: Curvature | None = None) -> LinearModel:
    """Return the model with the largest mean reward less the penalty, inside the ball if there is one."""
    if curvature is not None and math.isinf(request.radius):
        solve = _by_newton_steps if request.reward.concave else _in_the_metric
        return solve(objective, curvature, request)
    best = minimise(
        objective, request.start, request.l2, tolerance=request.tolerance, iterations=request.iterations
    )
    return best if _length(best) <= request.radius else _on_the_ball(objective, best, request)


def _by_newton_steps(objective: Objective, curvature: Curvature, request: Maximize) -> LinearModel:
    """Return the maximiser of a concave reward, to within the tolerance of the mean reward."""
    model, penalties = _flat(request.start), _penalties(request.l2, request.start)
    loss, gradient = _penalized(objective, model, penalties)
    for _ in range(request.iterations):
        matrix = curvature(model)
        _add_to_diagonal(matrix, penalties + 1e-7)
        try:
            step = np.linalg.solve(matrix, gradient)
        except np.linalg.LinAlgError:  # columns that float32 cannot tell apart
            step = np.full_like(model, math.nan)
        gain = float(gradient @ step)
        if not math.isfinite(gain):
            return _linear(np.full_like(model, math.nan))
        for _ in range(20):
            there = model - step
            found = _penalized(objective, there, penalties)
            if found[0] <= loss:
                break
            step *= 0.5
        else:
            break
        model, (loss, gradient) = there, found
        if gain < request.tolerance:  # the next step would gain about its square
            break
    return _linear(model)


def _in_the_metric(objective: Objective, curvature: Curvature, request: Maximize) -> LinearModel:
    """Return what a few steps up the gradient find, all directions being equally curved at the start."""
    model, penalties = _flat(request.start), _penalties(request.l2, request.start)
    loss, gradient = _penalized(objective, model, penalties)
    matrix = curvature(model)
    _add_to_diagonal(matrix, penalties + 1e-3 * np.trace(matrix) / model.size + 1e-8)
    metric, length = np.linalg.inv(matrix), 1.0
    for _ in range(request.iterations):
        there = model - length * (metric @ gradient)
        found = _penalized(objective, there, penalties)
        if found[0] < loss:
            model, (loss, gradient), length = there, found, 1.5 * length
        else:
            length *= 0.25
    return _linear(model)


def minimise(
    objective: Objective,
    start: LinearModel,
    l2: float,
    *,
    ball: float = 0.0,
    tolerance: float = 1e-7,
    iterations: int = 500,
) -> LinearModel:
    """Return the minimiser with an L2 penalty on the weights, and ``ball`` more on weights and intercept alike."""
    penalties = _penalties(l2, start) + ball
    options = {"maxiter": iterations, "gtol": tolerance, "ftol": 1e-2 * tolerance}
    found = optimize.minimize(
        lambda model: _penalized(objective, model, penalties),
        _flat(start),
        jac=True,
        method="L-BFGS-B",
        options=options,
    ).x
    return _linear(found)


def _penalized(
    objective: Objective, model: NDArray[np.float64], penalties: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    loss, gradient = objective(model)
    pull = penalties * model
    return loss + 0.5 * float(pull @ model), gradient + pull


def _penalties(l2: float, model: LinearModel) -> NDArray[np.float64]:
    """Return a penalty for each weight, and none for the intercept."""
    found = np.full(model.weights.size + 1, l2)
    found[-1] = 0.0
    return found


def _add_to_diagonal(matrix: NDArray[np.float64], numbers: NDArray[np.float64]) -> None:
    matrix.flat[:: matrix.shape[0] + 1] += numbers


def _flat(model: LinearModel) -> NDArray[np.float64]:
    return np.append(model.weights, model.intercept)


def _linear(model: NDArray[np.float64]) -> LinearModel:
    return LinearModel(np.asarray(model[:-1], dtype=np.float64), float(model[-1]))


def _on_the_ball(objective: Objective, start: LinearModel, request: Maximize) -> LinearModel:
    """Return the maximiser over the ball: that of the penalized problem whose penalty brings it to the surface."""
    radius, found = request.radius, start

    def excess(log_penalty: float) -> float:
        nonlocal found
        found = minimise(objective, found, request.l2, ball=math.exp(log_penalty))
        return _length(found) - radius

    low, high = -12.0, 6.0
    while excess(high) > 0:
        high += 6.0
    if excess(low) > 0:
        optimize.brentq(excess, low, high, xtol=1e-6)
    return found.divided(_length(found) / radius)  # each maximisation stops a little off the surface


def _length(model: LinearModel) -> float:
    return float(np.hypot(np.linalg.norm(model.weights), model.intercept))
