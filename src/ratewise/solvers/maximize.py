"""The maximizer that answers a :class:`~ratewise.solvers.requests.Maximize` request.

scipy's L-BFGS finds the maximum. If the curvature over the rows costs little, Newton steps find it for a concave
reward, and gradient steps in the metric of the curvature for other rewards.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from .requests import Maximize
from .state import LinearModel

Objective = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]
"""Minus the weighted mean reward of a model (weights, then the intercept), and its gradient."""

Curvature = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""The matrix of second derivatives of a concave reward; for other rewards, a positive definite substitute."""


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
    """Return the maximizer of a concave reward, to within the tolerance of the mean reward."""
    model, penalties = _flat(request.start), _penalties(request.l2, request.start)
    loss, gradient = _penalized(objective, model, penalties)
    for _ in range(request.iterations):
        matrix = curvature(model)
        _add_to_diagonal(matrix, penalties + 1e-7)
        try:
            step = np.linalg.solve(matrix, gradient)
        except np.linalg.LinAlgError:  # some columns are equal as float32
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
    """Return the model after a few gradient steps, scaled to equal curvature in all directions at the start."""
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
    """Return the minimizer with an L2 penalty on the weights, and ``ball`` more on both weights and intercept."""
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
    """Return the maximizer over the ball: the penalized problem's, with a penalty that leads to the surface."""
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
    return found.divided(_length(found) / radius)  # each maximization stops near the surface, not on it


def _length(model: LinearModel) -> float:
    return float(np.hypot(np.linalg.norm(model.weights), model.intercept))
