"""Cutting planes: the small quadratic program, the bounds that hold, and what is kept."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_problems import two_clouds

from ratewise.baselines.cutting_planes import CuttingPlanes, _lowest, plane_shares
from ratewise.measures import get_measure
from ratewise.streams import ArrayStream, Standardizer

quick = settings(deadline=None, max_examples=60)


def stream_of(X, positive):
    units = Standardizer(X.shape[1]).update(X)
    return ArrayStream(X, np.where(positive, 1.0, -1.0), units, np.random.default_rng(0), np.float64)


def solve(planes, C, epsilon=1e-3, max_planes=1000):
    seen = []
    solution = planes.solve(
        C, epsilon=epsilon, max_planes=max_planes, out_of_time=lambda: False, on_round=seen.append
    )
    return solution, seen


def vector(model):
    return np.append(model.weights, model.intercept)


def objective(planes, model, C):
    """The problem's own, from the search for the most violated labelling."""
    plane = planes.most_violated(model)
    return 0.5 * model @ model + C * max(plane.loss - plane.direction @ model, 0.0)


@quick
@given(
    n=st.integers(1, 30),
    columns=st.integers(1, 10),
    log_C=st.floats(-3.0, 5.0),
    seed=st.integers(0, 10_000),
)
def test_the_shares_close_the_gap_between_primal_and_dual(n, columns, log_C, seed):
    rng = np.random.default_rng(seed)
    directions = 0.3 * rng.normal(size=(n, columns)) + 0.1
    directions[n // 2 :] = directions[: n - n // 2]  # a plane may come twice, and there may be more than columns
    losses, C = rng.random(n), 10.0**log_C
    shares = plane_shares(directions @ directions.T, losses, C)
    assert (shares >= 0).all()
    assert shares.sum() <= 1.0 + 1e-9
    model = C * shares @ directions
    slack = max(float(np.max(losses - directions @ model)), 0.0)
    primal = 0.5 * model @ model + C * slack
    dual = C * shares @ losses - 0.5 * model @ model
    assert -1e-9 * max(C, 1.0) <= primal - dual <= 1e-4 * C


@pytest.mark.parametrize("name", ["f1", "jaccard", "qmean", "min", "gmean", "hmean", "gower-legendre"])
@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_no_other_model_does_better_by_more_than_was_allowed(name, C):
    X, positive = two_clouds(300, 0.2)
    planes = CuttingPlanes(stream_of(X, positive), get_measure(name))
    solution, _ = solve(planes, C, epsilon=1e-3)
    assert solution.converged
    found = vector(solution.model)
    reached = objective(planes, found, C)
    rng = np.random.default_rng(0)
    for size in (0.001, 0.01, 0.1, 1.0):
        for _ in range(25):
            other = found + size * (np.linalg.norm(found) + 0.1) * rng.normal(size=found.size)
            assert objective(planes, other, C) >= reached - 1e-3 * C


def test_a_plane_bounds_the_slack_as_its_labelling_says():
    X, positive = two_clouds(50, 0.3)
    stream = stream_of(X, positive)
    model = np.array([0.4, -0.3, 0.2, 0.1, -0.2])
    plane = CuttingPlanes(stream, get_measure("f1")).most_violated(model)
    # By hand: the lowest positives and the highest negatives are wrong.
    scores, is_positive = stream.X @ model[:-1] + model[-1], stream.signed_weights > 0
    order = np.argsort(scores)
    missed = order[is_positive[order]][: is_positive.sum() - plane.true_positives]
    raised = order[~is_positive[order]][plane.true_negatives :]
    direction = stream.X[missed].sum(axis=0) - stream.X[raised].sum(axis=0)
    assert plane.direction[:-1] == pytest.approx(direction / 50)
    assert plane.direction[-1] == pytest.approx((missed.size - raised.size) / 50)
    f1 = 2 * plane.true_positives / (2 * plane.true_positives + missed.size + raised.size)
    assert plane.loss == pytest.approx(1.0 - f1)


@quick
@given(rows=st.lists(st.tuples(st.integers(-2, 2), st.booleans()), min_size=1, max_size=20), data=st.data())
def test_exactly_so_many_lowest_scores_are_taken_ties_or_not(rows, data):
    scores, among = np.array([float(score) for score, _ in rows]), np.array([is_one for _, is_one in rows])
    count = data.draw(st.integers(0, int(among.sum())))
    ordered = np.sort(scores[among])
    chosen = _lowest(scores, among, ordered, count)
    assert np.unique(chosen).size == chosen.size == count
    assert among[chosen].all()
    assert np.array_equal(np.sort(scores[chosen]), ordered[:count])


def test_a_tighter_tolerance_comes_closer():
    X, positive = two_clouds(400)
    stream, reached = stream_of(X, positive), []
    for epsilon in (0.1, 1e-2, 1e-4):
        planes = CuttingPlanes(stream, get_measure("f1"))
        reached.append(objective(planes, vector(solve(planes, 1000.0, epsilon)[0].model), 1000.0))
    assert reached[0] >= reached[1] >= reached[2]
    assert reached[0] - reached[2] <= 0.1 * 1000.0


def test_planes_of_a_small_C_hold_for_a_large_one():
    X, positive = two_clouds(600)
    stream = stream_of(X, positive)
    fresh, warm = CuttingPlanes(stream, get_measure("f1")), CuttingPlanes(stream, get_measure("f1"))
    solve(warm, 300.0)
    before = len(warm.found)
    solution, _ = solve(warm, 1000.0)
    expected, _ = solve(fresh, 1000.0)
    assert len(warm.found) - before < len(fresh.found)
    found = objective(fresh, vector(solution.model), 1000.0)
    assert found == pytest.approx(objective(fresh, vector(expected.model), 1000.0), abs=1.0)


def test_planes_that_hold_nothing_up_are_dropped():
    X, positive = two_clouds(600, distance=1.0)
    planes = CuttingPlanes(stream_of(X, positive), get_measure("qmean"))
    solve(planes, 1e4, epsilon=1e-5)
    assert len(planes._kept) < len(planes.found) - 10
    assert planes._gram.shape == (len(planes._kept), len(planes._kept))
    directions = np.array([plane.direction for plane in planes._kept])
    assert planes._gram == pytest.approx(directions @ directions.T)


def test_planes_that_hold_the_model_up_are_not_idle():
    X, positive = two_clouds(600, distance=1.0)
    planes = CuttingPlanes(stream_of(X, positive), get_measure("qmean"))
    solve(planes, 1e4, epsilon=1e-5)
    shares = plane_shares(planes._gram, np.array([plane.loss for plane in planes._kept]), 1e4)
    assert (planes._idle[shares > 0] == 0).all()
    assert (planes._idle > 0).any()


def test_out_of_rounds_the_best_model_met_is_returned():
    X, positive = two_clouds(600)
    planes = CuttingPlanes(stream_of(X, positive), get_measure("f1"))
    solution, seen = solve(planes, 1e4, max_planes=8)
    assert not solution.converged
    assert len(seen) == 8
    values = [objective(planes, vector(model), 1e4) for model in seen]
    assert values == sorted(values, reverse=True)
    assert objective(planes, vector(solution.model), 1e4) == values[-1]


def test_without_daqp_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "daqp", None)
    with pytest.raises(ImportError, match=r'pip install "ratewise\[baselines\]"'):
        plane_shares(np.eye(2), np.ones(2), 1.0)
