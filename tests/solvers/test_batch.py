"""The maximizer behind AMP and penalized logistic regression, on problems whose solution is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from ratewise.measures import FBeta, MinRate
from ratewise.rewards import Logistic, Sigmoid
from ratewise.solvers import LinearModel, RowTotals, Task, best_threshold
from ratewise.solvers.base import Scores
from ratewise.solvers.batch import Batch
from ratewise.solvers.centroids import ShrunkenCentroids
from ratewise.solvers.evaluate import Evaluated, Evaluation, evaluate
from ratewise.solvers.logistic import PenalizedLogistic
from ratewise.solvers.maximize import maximize, minimise
from ratewise.solvers.maximize_together import SharedRows, maximize_together
from ratewise.solvers.requests import Evaluate, Maximize

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


@pytest.mark.parametrize("radius", [6.5, 12.5])
def test_the_best_point_on_a_ball_is_not_the_maximum_drawn_towards_zero(radius):
    """One direction is steep and one flat: shrinking the free maximum would stop far from the best."""
    steepness = np.array([100.0, 1.0, 1.0])

    def bowl(model):
        away = model - CENTRE
        return 0.5 * float(steepness @ away**2), steepness * away

    free = flat(maximize(bowl, request()))
    found = flat(maximize(bowl, request(radius=radius)))
    assert np.linalg.norm(found) == pytest.approx(radius, abs=1e-3)
    assert bowl(found)[0] < 0.8 * bowl(free * radius / np.linalg.norm(free))[0]
    # At the best point of a sphere the slope is along the radius.
    slope = bowl(found)[1]
    assert slope @ found == pytest.approx(-np.linalg.norm(slope) * np.linalg.norm(found), rel=1e-4)


def counted(objective):
    """The objective, and the models that it was asked about."""
    asked = []

    def counting(model):
        asked.append(model.copy())
        return objective(model)

    return counting, asked


def test_one_newton_step_ends_in_the_middle_of_a_bowl_and_the_next_is_not_taken():
    objective, asked = counted(round_bowl)
    found = maximize(objective, request(), lambda model: np.eye(3))
    np.testing.assert_allclose(flat(found), CENTRE, rtol=1e-6)
    # The start, the step, and one that gains less than the tolerance.
    assert len(asked) == 3


def test_newton_steps_go_on_until_one_gains_no_more_than_the_tolerance():
    """Curvatures twice the true ones: each step goes half of the way and gains half of what is left squared."""
    objective, asked = counted(round_bowl)
    maximize(objective, request(tolerance=0.1), lambda model: 2.0 * np.eye(3))
    # After k steps 13 / 2^k are left, whose square, halved, the next gains: below 0.1 at k = 5.
    left = [np.linalg.norm(one - CENTRE) for one in asked]
    np.testing.assert_allclose(left, [13.0 / 2**k for k in range(len(left))], rtol=1e-4)
    assert len(asked) == 7
    objective, asked = counted(round_bowl)
    maximize(objective, request(iterations=2), lambda model: 2.0 * np.eye(3))
    assert len(asked) == 3


def test_a_newton_step_that_does_not_gain_is_halved_until_it_does():
    """Curvatures a fifth of the true ones: five times too long, then two and a half, then a little too long."""
    objective, asked = counted(round_bowl)
    maximize(objective, request(iterations=1), lambda model: np.eye(3) / 5.0)
    np.testing.assert_allclose([one[0] / CENTRE[0] for one in asked], [0.0, 5.0, 2.5, 1.25], rtol=1e-5)


def test_newton_steps_that_never_gain_leave_the_model_alone():
    start = LinearModel(np.array([1.0, 2.0]), 3.0)
    found = maximize(
        lambda model: (-1.0 if model[0] == 1.0 else 0.0, np.ones(3)), request(start=start), lambda _: np.eye(3)
    )
    np.testing.assert_array_equal(flat(found), flat(start))


def test_the_penalty_counts_in_the_steps_too_and_leaves_the_intercept():
    for curvature in (None, lambda model: np.eye(3)):
        found = maximize(round_bowl, request(l2=1.0), curvature)
        np.testing.assert_allclose(flat(found), [1.5, -2.0, 12.0], atol=1e-5)


@pytest.mark.parametrize(
    "matrix", [np.full((3, 3), math.nan), np.diag([-1e-7, 1.0, 1.0])], ids=["nan", "singular"]
)
def test_curvatures_that_no_step_can_use_end_in_a_model_that_is_not_finite(matrix):
    found = maximize(round_bowl, request(), lambda model: matrix.copy())
    assert np.isnan(flat(found)).all()


def test_a_logistic_regression_is_solved_by_newton_steps():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(300, 2)), np.ones(300)])
    y = rng.random(300) < expit(X @ [1.0, -2.0, 0.5])

    def objective(model):
        share = expit(X @ model)
        loss = np.logaddexp(0.0, X @ model) - y * (X @ model)
        return float(loss.mean()), X.T @ (share - y) / 300

    def curvature(model):
        share = expit(X @ model)
        return (X * (share * (1.0 - share))[:, np.newaxis]).T @ X / 300

    found = flat(maximize(objective, request(l2=0.01), curvature))
    slope = objective(found)[1] + 0.01 * found * [1.0, 1.0, 0.0]
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)


SIGMOID = Sigmoid(1.0)


def test_steps_in_the_metric_of_the_curvature_grow_by_half_while_they_gain():
    """Down a slope that never ends, the steps are 1, 3/2, 9/4, ... times the first."""
    slope, curvature = np.array([1.0, 2.0, 3.0]), np.diag([1.0, 2.0, 4.0])
    found = maximize(
        lambda model: (float(slope @ model), slope),
        request(reward=SIGMOID, iterations=4),
        lambda _: curvature.copy(),
    )
    # The diagonal has a thousandth of its mean more, so that no direction is without curvature.
    step = slope / (np.diag(curvature) + 1e-3 * 7.0 / 3.0 + 1e-8)
    np.testing.assert_allclose(flat(found), -step * (1 + 1.5 + 1.5**2 + 1.5**3), rtol=1e-9)
    flat_one = maximize(
        lambda model: (float(slope @ model), slope),
        request(reward=SIGMOID, iterations=1),
        lambda _: np.zeros((3, 3)),
    )
    np.testing.assert_allclose(flat(flat_one), -slope * 1e8)


def test_steps_in_the_metric_are_quartered_where_they_do_not_gain():
    steep, asked = counted(lambda model: (float(np.abs(model).sum()), np.ones(3)))
    start = LinearModel(np.zeros(2), 0.0)
    found = maximize(steep, request(reward=SIGMOID, start=start, iterations=3), lambda _: np.eye(3))
    np.testing.assert_allclose(
        [one[0] for one in asked], [0.0, *(-1.0 / 1.001 / 4**k for k in range(3))], rtol=1e-6
    )
    np.testing.assert_array_equal(flat(found), 0.0)


def test_steps_in_the_metric_feel_the_penalty():
    # (w - 3)^2 / 2 + w^2 / 2 has a curvature of 2: a step ends at 3/2, but for the thousandth.
    found = flat(maximize(round_bowl, request(reward=SIGMOID, l2=1.0, iterations=1), lambda _: np.eye(3)))
    np.testing.assert_allclose(found, [1.5, -2.0, 12.0], rtol=2e-3)


def test_inside_a_ball_no_curvature_is_used():
    found = flat(maximize(round_bowl, request(radius=6.5), lambda model: np.full((3, 3), math.nan)))
    np.testing.assert_allclose(found, CENTRE / 2.0, atol=1e-3)


def test_fewer_iterations_and_a_larger_tolerance_end_earlier():
    rng = np.random.default_rng(0)
    steep = 10.0 ** rng.uniform(-2, 2, 3)

    def bowl(model):
        return 0.5 * float(steep @ (model - CENTRE) ** 2), steep * (model - CENTRE)

    calls = []
    for settings in ({}, {"tolerance": 1.0}, {"iterations": 1}):
        objective, asked = counted(bowl)
        maximize(objective, request(**settings))
        calls.append(len(asked))
    assert calls[0] > calls[1]
    assert calls[0] > calls[2]


# The run of few rows, with a handful of them.

VALUES = np.array([3.0, 1.0, -0.5, 2.0, -1.0, -2.0, -3.0, 0.5])
SIGNS = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0])
SEEN = RowTotals(8, 3.0, 5.0, 16.0)


def scored(model):
    """The scores of rows that are their own index, so that any model has its own."""
    with np.errstate(over="ignore"):
        return Scores(float(model.weights[0]) * VALUES + model.intercept, SIGNS)


def driven(measure=None, *, n_rounds=2, wanted=None, models=None):
    """Bring a run to its end; the answers to its requests are the given models, or those asked to begin from."""
    starts = [PenalizedLogistic(1.0, 0.1), PenalizedLogistic(0.0, 3.0)]
    algorithm = Batch(tuple(starts), 0.05, tuple(range(1, n_rounds + 1)), wanted)
    run = algorithm.start(Task(measure or FBeta(), 1, l2=0.25))
    requests, models = [], iter(models or [])
    while not run.finished:
        request = run.request(SEEN)
        requests.append(request)
        if isinstance(request, Evaluate):
            run.receive(evaluate(request, scored(request.model)))
        else:
            run.receive(next(models, LinearModel(np.array([1.0 + len(requests)]), 0.5)))
    return run, requests


def test_starts_are_solved_one_from_another_and_the_last_is_sharpened():
    run, requests = driven()
    kinds = [
        type(one).__name__ + ("" if isinstance(one, Evaluate) else one.reward.__class__.__name__)
        for one in requests
    ]
    assert kinds == ["MaximizeLogistic"] * 2 + ["Evaluate", *["MaximizeSigmoid", "Evaluate"] * 2]
    first, second = requests[:2]
    assert first.start.weights[0] == 0.0
    assert second.start == run.result[0].model
    stages = [one.stage for one in run.result]
    assert stages == [
        PenalizedLogistic(1.0, 0.1).label,
        PenalizedLogistic(0.0, 3.0).label,
        f"{PenalizedLogistic(0.0, 3.0).label}, sharpened 1",
        f"{PenalizedLogistic(0.0, 3.0).label}, sharpened 2",
    ]
    assert run.model() is run.result[-1].model


def test_scores_of_starts_are_seen_from_zero_and_sharpened_ones_from_their_best_cut():
    run, _ = driven()
    assert [one.mean for one in run.result[:2]] == [0.0, 0.0]
    for one in run.result[2:]:
        assert one.mean == best_threshold(*scored(one.model)[:2], FBeta()).threshold
        assert one.mean != 0.0
    assert {one.deviation for one in run.result} == {1.0}


@pytest.mark.parametrize("measure", [FBeta(), MinRate()], ids=str)
def test_a_round_learns_for_the_slopes_at_the_best_cut_of_the_model_before(measure):
    run, requests = driven(measure)
    rounds = [one for one in requests if isinstance(one, Maximize) and one.reward == SIGMOID]
    evaluation, before = Evaluation(measure, SEEN.prevalence, 0.05), None
    for k, (asked, candidate) in enumerate(zip(rounds, run.result[1:], strict=False)):
        scores = scored(candidate.model)
        best = best_threshold(*scores[:2], measure)
        evaluated = Evaluated(scores, best)
        width = evaluation.sigmoid_width(evaluated) if k == 0 else 1.0
        weights = np.array(evaluation.class_weights(evaluated, width))
        if before is not None and not measure.smooth:
            weights = np.sqrt(weights * before)  # half of the way, on a log scale
        before = weights
        assert asked.class_weights == pytest.approx((weights[0] * 3 / 8, weights[1] * 5 / 8))
        np.testing.assert_allclose(asked.start.weights, candidate.model.weights / width)
        assert asked.start.intercept == pytest.approx((candidate.model.intercept - best.threshold) / width)
        assert (asked.l2, asked.few_rows, asked.iterations, asked.tolerance) == (0.25, True, 8, 1e-6)


def test_only_what_leads_to_the_wanted_stages_is_asked_for():
    last = f"{PenalizedLogistic(0.0, 3.0).label}, sharpened 1"
    run, requests = driven(wanted=(last,))
    assert [one.stage for one in run.result] == [last]
    assert [type(one) for one in requests] == [Maximize, Evaluate, Maximize, Evaluate]
    run, requests = driven(wanted=(PenalizedLogistic(1.0, 0.1).label,))
    assert [type(one) for one in requests] == [Maximize]
    assert len(driven(n_rounds=0)[0].result) == 2


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("bad", [LinearModel(np.array([math.nan]), 0.0), LinearModel(np.zeros(1), math.inf)])
def test_a_model_that_is_not_finite_ends_the_run(bad):
    good = LinearModel(np.ones(1), 0.0)
    assert len(driven(models=[bad])[0].result) == 0
    assert len(driven(models=[good, bad])[0].result) == 1
    assert len(driven(models=[good, good, bad])[0].result) == 2
    # Finite, but its scores are not.
    assert len(driven(models=[good, good, LinearModel(np.array([1e308]), 0.0)])[0].result) == 2


def test_candidates_are_carried_over_to_other_columns():
    run, _ = driven()
    before = [one.model for one in run.result]
    run.change_transform(lambda weights, intercept: (2.0 * weights, intercept - 1.0))
    for one, model in zip(run.result, before, strict=True):
        assert (one.model.weights[0], one.model.intercept) == (2.0 * model.weights[0], model.intercept - 1.0)


@pytest.mark.parametrize("shrinkage", [0.5, 2.0, 50.0])
def test_shrunken_centroids_are_what_is_left_of_t_statistics(shrinkage):
    rng = np.random.default_rng(0)
    X, positive = rng.normal(size=(40, 25)), np.arange(40) < 10
    X[positive, :3] += 1.5
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    difference = X[positive].mean(axis=0) - X[~positive].mean(axis=0)
    found = shrunken(difference, shrinkage)
    within = np.sqrt(0.25 * X[positive].var(axis=0) + 0.75 * X[~positive].var(axis=0))
    t = difference / (within * np.sqrt(1 / 10 + 1 / 30))
    least = min(shrinkage, np.sort(np.abs(t))[-10] - 1e-9)  # ten columns are kept at least
    expected = np.sign(t) * np.maximum(np.abs(t) - least, 0.0) / within
    expected /= np.linalg.norm(expected * within)  # scores have a deviation of one within the classes
    np.testing.assert_allclose(found.weights, expected, atol=1e-5)
    middle = 0.5 * (X[positive].mean(axis=0) + X[~positive].mean(axis=0))
    assert found.intercept == pytest.approx(-middle @ expected, abs=1e-6)


def test_a_column_that_is_the_class_itself_has_a_finite_weight_and_the_largest():
    difference = np.array([1.0 / np.sqrt(0.25 * 0.75), 0.5, -0.1])
    found = shrunken(difference, 1.0)
    assert np.isfinite(found.weights).all()
    # Its deviation within a class is taken for a thousandth.
    ratio = (difference[0] / 1e-6) / (difference[1] / (1.0 - 0.1875 * 0.25))
    assert found.weights[0] / found.weights[1] == pytest.approx(ratio, rel=0.5)
    assert ShrunkenCentroids().start(Task(FBeta(), 3)).model().weights.tolist() == [0.0, 0.0, 0.0]


def shrunken(difference, shrinkage):
    """The model that a difference between the mean rows makes, where 10 of 40 points are positive."""
    run = ShrunkenCentroids(shrinkage).start(Task(FBeta(), difference.size))
    run.request(RowTotals(40, 10.0, 30.0, 40.0 * difference.size))
    run.receive(difference)
    assert run.finished
    return run.model()


@pytest.mark.parametrize("reward", [Logistic(), Sigmoid()])
def test_models_that_climb_together_reach_what_each_reaches_alone(reward):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6)).astype(np.float32)
    signs = np.sign(X[:, 0] - X[:, 1] + rng.standard_normal(400)).astype(np.float32)
    weights = np.full((3, 400), 1 / 400, np.float32)
    weights[1, :100] = 0.0  # the second learns from fewer rows
    l2 = np.array([0.03, 0.03, 0.01])
    centres, scales = rng.normal(size=(3, 6)), rng.uniform(0.5, 2.0, size=(3, 6))
    rows = SharedRows(X, signs, weights, centres, scales)
    found = maximize_together(rows, reward, np.zeros((3, 7)), l2, tolerance=1e-7, iterations=200)
    for k, model in enumerate(found):
        own = np.column_stack([(X - centres[k]) / scales[k], np.ones(400)])

        def loss(model, k=k, own=own):
            values, slopes = reward.value_and_slope(signs * (own @ model))
            return -float(weights[k] @ values), -own.T @ (weights[k] * signs * slopes)

        alone = minimise(loss, LinearModel.zeros(6), l2[k])
        np.testing.assert_allclose(model, flat(alone), atol=3e-3)
