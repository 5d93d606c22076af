"""The maximiser behind AMP and penalized logistic regression, on problems whose solution is known."""

from __future__ import annotations

import numpy as np
import pytest

from ratewise.rewards import Logistic
from ratewise.solvers import LinearModel
from ratewise.solvers.base import Maximize
from ratewise.solvers.batch import maximize, minimise

CENTRE = np.array([3.0, -4.0, 12.0])  # two weights and the intercept: a length of 13


def round_bowl(model):
    """Lowest at the centre, and the same in all directions: on a ball the best point lies towards the centre."""
    away = model - CENTRE
    return 0.5 * float(away @ away), away


def request(**settings):
    start = LinearModel.zeros(2)
    return Maximize(**({"reward": Logistic(), "class_weights": (1.0, 1.0), "start": start, "l2": 0.0} | settings))


def flat(model):
    return np.append(*model)


@pytest.mark.parametrize("start", [LinearModel.zeros(2), LinearModel(np.array([-5.0, 5.0]), 5.0)])
def test_the_maximum_does_not_depend_on_the_start(start):
    np.testing.assert_allclose(flat(maximize(round_bowl, request(start=start))), CENTRE, atol=1e-5)


def test_the_penalty_shrinks_the_weights_and_leaves_the_intercept():
    # (w - c)^2 / 2 + l2 w^2 / 2 is lowest at c / (1 + l2).
    np.testing.assert_allclose(flat(minimise(round_bowl, LinearModel.zeros(2), 1.0)), [1.5, -2.0, 12.0], atol=1e-5)


def test_the_balls_penalty_shrinks_the_intercept_too():
    found = minimise(round_bowl, LinearModel.zeros(2), 0.0, ball=1.0)
    np.testing.assert_allclose(flat(found), CENTRE / 2.0, atol=1e-5)


@pytest.mark.parametrize("radius", [1e-3, 1.0, 12.9])
def test_on_a_ball_the_best_point_lies_towards_the_centre(radius):
    found = flat(maximize(round_bowl, request(radius=radius)))
    assert np.linalg.norm(found) <= radius * (1 + 1e-9)
    np.testing.assert_allclose(found, CENTRE * radius / 13.0, atol=1e-4 * radius)


def test_a_ball_that_holds_the_maximum_changes_nothing():
    inside = maximize(round_bowl, request(radius=13.1))
    np.testing.assert_array_equal(flat(inside), flat(maximize(round_bowl, request())))


def test_the_best_point_on_a_ball_is_not_the_maximum_drawn_towards_zero():
    """One direction is steep and one flat: shrinking the free maximum would stop far from the best."""
    steepness = np.array([100.0, 1.0, 1.0])

    def bowl(model):
        away = model - CENTRE
        return 0.5 * float(steepness @ away**2), steepness * away

    free = flat(maximize(bowl, request()))
    found = flat(maximize(bowl, request(radius=6.5)))
    assert np.linalg.norm(found) == pytest.approx(6.5, abs=1e-3)
    assert bowl(found)[0] < 0.5 * bowl(free * 6.5 / np.linalg.norm(free))[0]
    # At the best point of a sphere the slope is along the radius.
    slope = bowl(found)[1]
    assert slope @ found == pytest.approx(-np.linalg.norm(slope) * np.linalg.norm(found), rel=1e-4)
