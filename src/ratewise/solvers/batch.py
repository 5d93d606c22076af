"""The maximiser of a weighted mean reward, by scipy's L-BFGS: what answers a :class:`Maximize` request."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from .base import Maximize
from .state import LinearModel

Objective = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]
"""Minus the weighted mean reward of a model (weights, then the intercept), and its gradient."""


def maximize(objective: Objective, request: Maximize) -> LinearModel:
    """Return the model with the largest mean reward less the penalty, inside the ball if there is one."""
    best = minimise(
        objective, request.start, request.l2, tolerance=request.tolerance, iterations=request.iterations
    )
    return best if _length(best) <= request.radius else _on_the_ball(objective, best, request)


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
    penalties = np.full(start.weights.size + 1, l2 + ball)
    penalties[-1] = ball

    def penalized(model: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        loss, gradient = objective(model)
        return loss + 0.5 * float(penalties @ (model * model)), gradient + penalties * model

    first = np.append(start.weights, start.intercept)
    options = {"maxiter": iterations, "gtol": tolerance, "ftol": 1e-2 * tolerance}
    found = optimize.minimize(penalized, first, jac=True, method="L-BFGS-B", options=options).x
    return LinearModel(np.asarray(found[:-1], dtype=np.float64), float(found[-1]))


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
    return found.divided(max(_length(found) / radius, 1.0))


def _length(model: LinearModel) -> float:
    return float(np.hypot(np.linalg.norm(model.weights), model.intercept))
