"""SVMPerf as a classifier, why its C must be tuned, and its cutting planes with their quadratic program."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from toy_problems import two_clouds

from ratewise.baselines import SVMPerf
from ratewise.baselines.svmperf import C_GRID, CuttingPlanes, lowest, plane_shares
from ratewise.measures import FunctionMeasure, get_measure
from ratewise.training.rows import ArrayRows
from ratewise.transforms import Standardizer

quick = settings(deadline=None, max_examples=60)
ANSWERS = {"f1": 0.7, "jaccard": 0.55, "qmean": 0.8, "min": 0.8, "gmean": 0.8, "hmean": 0.8}


@pytest.mark.parametrize("name", ANSWERS)
def test_it_learns_what_sets_the_classes_apart(name):
    X, positive = two_clouds(distance=2.5)
    test_X, test_positive = two_clouds(4000, distance=2.5, seed=1)
    model = SVMPerf(name, random_state=0).fit(X, positive)
    assert model.score(test_X, test_positive) > ANSWERS[name]
    weights = np.abs(model.coef_[0] * (1.0 + np.arange(4)))
    assert weights[0] > 2.5 * weights[1:].max()


def test_at_the_customary_C_no_measure_enters_the_fit():
    X, positive = two_clouds(distance=2.5)
    small = {name: SVMPerf(name, C=0.01, random_state=0).fit(X, positive) for name in ("f1", "jaccard")}
    # Every labelling found misses all positives, so its loss is 1 under either measure ...
    for model in small.values():
        assert model.tables_.shape[0] > 0
        assert (model.tables_[:, 0] == 0).all()
    # ... and both fits are one and the same.
    assert np.array_equal(small["f1"].coef_, small["jaccard"].coef_)


def test_with_a_tuned_C_the_measure_enters_the_fit_and_scores_are_better():
    X, positive = two_clouds(distance=2.5)
    test_X, test_positive = two_clouds(4000, distance=2.5, seed=1)
    customary = SVMPerf("f1", C=0.01, threshold="zero", random_state=0).fit(X, positive)
    tuned = SVMPerf("f1", threshold="zero", random_state=0).fit(X, positive)
    assert tuned.C_ > 0.01
    assert (tuned.tables_[:, 0] > 0).any()
    assert tuned.score(test_X, test_positive) > customary.score(test_X, test_positive) + 0.1


def test_C_may_be_one_number_several_or_tuned():
    X, positive = two_clouds(400)
    assert SVMPerf(C=5.0).fit(X, positive).C_ == 5.0
    assert SVMPerf(C=[50.0, 5.0], random_state=0).fit(X, positive).C_ in (5.0, 50.0)
    assert SVMPerf(C="tune", random_state=0).fit(X, positive).C_ in C_GRID


def test_sparse_rows_are_learned_from_as_dense_ones_are():
    X, positive = two_clouds(500, distance=3.0)
    X = np.maximum(X, 0.0)
    model = SVMPerf("f1", C=100.0, random_state=0)
    dense = model.fit(X, positive).score(X, positive)
    assert model.fit(sparse.csr_matrix(X), positive).score(X, positive) == pytest.approx(dense, abs=0.1)
    assert dense > 0.6


def test_a_budget_of_no_time_still_gives_a_model():
    X, positive = two_clouds()
    model = SVMPerf("f1", max_seconds=1e-9, random_state=0).fit(X, positive)
    assert not model.converged_
    assert np.isfinite(model.coef_).all()


def test_without_a_limit_the_fit_converges():
    X, positive = two_clouds()
    assert SVMPerf("f1", C=100.0).fit(X, positive).converged_


def test_a_fit_again_on_all_rows_uses_all_rows():
    X, positive = two_clouds(400)
    again = SVMPerf("f1", C=100.0, random_state=0).fit(X, positive)
    once = SVMPerf("f1", C=100.0, refit=False, random_state=0).fit(X, positive)
    assert again.tables_[:, 0].max() + again.tables_[:, 1].max() > 0.8 * 400
    assert once.tables_.sum(axis=1).max() <= 0.8 * 400
    assert not np.array_equal(again.coef_, once.coef_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": -1.0}, "C must be a number above 0; got -1.0"),
        ({"C": "auto"}, "C must be 'tune', a number or several"),
        ({"C": []}, "C is empty"),
        ({"epsilon": 0.0}, "epsilon must be a number above 0"),
        ({"max_planes": 2.5}, "max_planes must be a whole number"),
        ({"max_seconds": 0}, "max_seconds must be a number above 0"),
        ({"threshold": 0.5}, "threshold must be 'tune' or 'zero'"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a number of 0 or more and below 1"),
        ({"on_checkpoint": 3}, "on_checkpoint must be None or a function"),
        ({"measure": FunctionMeasure(lambda tpr, tnr: tpr * tnr)}, "PlugIn takes any measure"),
        ({"measure": "fx"}, "There is no measure 'fx'"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message):
    X, positive = two_clouds(60, 0.5)
    model = SVMPerf(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, positive)
    assert not hasattr(model, "coef_")


def stream_of(X, positive):
    units = Standardizer(X.shape[1]).update(X)
    return ArrayRows(X, np.where(positive, 1.0, -1.0), units, np.random.default_rng(0), np.float64)


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
    chosen = lowest(scores, among, ordered, count)
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
