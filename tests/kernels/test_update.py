"""The compiled loop against a slow, obvious one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from ratewise.kernels import STATE, StepSizes, learn, model_places
from ratewise.kernels.update import NEGLIGIBLE_SLOPE
from ratewise.measures import ConcaveMeasure, GMean, HMean, MinRate, QMean
from ratewise.rewards import Hinge, Logistic, Sigmoid

_STEPS = StepSizes(
    step=0.05,
    dual_step=0.1,
    conjugate_sign=1.0,
    per_positive=4.0,
    per_negative=4 / 3,
    l2=0.0,
    intercept_gain=0.8,
    average_every=50,
)


@dataclass
class Outcome:
    weights: np.ndarray
    intercept: float
    mean_weights: np.ndarray
    mean_intercept: float
    pair: tuple[float, float]
    hits: tuple[float, float]


def stretches_of(ranges, average_every):
    """The points of each range: half as many as the root of those before, in fours, from 4 to 32; a mean that is
    taken oftener makes them fewer.
    """
    t = 0
    for start, stop in ranges:
        while start < stop:
            fours = math.floor(math.sqrt(t) / 8)
            end = min(start + min(max(4 * fours, 4), max(average_every, 4), 32), stop)
            yield range(start, end)
            t += end - start
            start = end


def reference_learn(X, signed_weights, ranges, settings, reward, measure, pair, radius=math.inf):
    """Algorithm 1 as one would write it on a blackboard: whole vectors, an explicit sum of models.

    The model moves at every point. The pair moves after every stretch, whose steps and penalty stay the same, and
    after it the model is added up if that is due, as often as there were points since.
    """
    w, b = np.zeros(X.shape[1]), 0.0
    sum_w, sum_b, summed, unsummed = np.zeros(X.shape[1]), 0.0, 0, 0
    alpha, beta = pair
    hits = [0.0, 0.0]
    t = 0
    for stretch in stretches_of(ranges, settings.average_every):
        factor = 1.0 / math.sqrt(t + len(stretch))
        step, dual_step = settings.step * factor, settings.dual_step * factor
        epsilon = math.sqrt(factor) if measure is not None and not measure.lipschitz else 0.0
        rewards = {1.0: 0.0, -1.0: 0.0}
        for i in stretch:
            sign, weight = float(np.sign(signed_weights[i])), float(abs(signed_weights[i]))
            score = X[i] @ w + b
            margin = sign * score
            per_point = weight * (settings.per_positive if sign > 0 else settings.per_negative)
            slope = reward.slope(margin) if reward.slope(margin) > NEGLIGIBLE_SLOPE else 0.0
            pull = (alpha if sign > 0 else beta) * per_point * slope
            if sign > 0 and score > 0:
                hits[0] += weight
            if sign < 0 and score <= 0:
                hits[1] += weight
            w, b = w + step * pull * sign * X[i], b + step * pull * sign * settings.intercept_gain
            if np.linalg.norm(w) > radius:
                w = w * (radius / np.linalg.norm(w))
            if sign:
                rewards[sign] += per_point * reward.value(margin)
        t += len(stretch)
        if measure is not None:
            gradient = measure.conjugate_gradient(alpha, beta)
            count = len(stretch)
            alpha, beta = measure.project(
                alpha + dual_step * (count * (settings.conjugate_sign * gradient[0] - epsilon) - rewards[1.0]),
                beta + dual_step * (count * (settings.conjugate_sign * gradient[1] - epsilon) - rewards[-1.0]),
                epsilon,
            )
        w = w / (1.0 + len(stretch) * step * settings.l2)
        unsummed += len(stretch)
        if unsummed >= settings.average_every:
            sum_w, sum_b, summed, unsummed = sum_w + unsummed * w, sum_b + unsummed * b, summed + unsummed, 0
    return Outcome(w, b, sum_w / max(summed, 1), sum_b / max(summed, 1), (alpha, beta), tuple(hits))


def compiled_learn(
    rows, n_features, dtype, signed_weights, starts, stops, steps, reward, measure, pair, radius=None
):
    room, places = model_places(rows, n_features)
    direction, model_sum = np.zeros(room, dtype), np.zeros(room, dtype)
    state = np.zeros(1, STATE)
    state["scale"] = 1.0
    state["alpha"], state["beta"] = pair
    learn(
        rows,
        signed_weights,
        np.asarray(starts),
        np.asarray(stops),
        direction,
        model_sum,
        state,
        steps,
        radius,
        reward,
        measure,
    )
    s = state[0]
    assert not np.delete(direction, places).any()
    direction, model_sum = direction[places], model_sum[places]
    return Outcome(
        s["scale"] * direction,
        s["intercept"],
        model_sum / max(s["summed"], 1.0),
        s["intercept_sum"] / max(s["summed"], 1.0),
        (s["alpha"], s["beta"]),
        (s["true_positives"], s["true_negatives"]),
    )


WIDTHS = [1, 3, 4, 7, 8, 9, 16, 22, 31]
"""Columns that fill no vector, one or several, with and without some left over."""


def points(n=400, d=22, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    y = np.where(X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) > 1.0, 1.0, -1.0)
    return X, (y * rng.uniform(0.5, 2.0, n)).astype(np.float32)


def csr_rows(X):
    matrix = sparse.csr_matrix(X)
    return matrix.data, matrix.indices, matrix.indptr


def assert_same(found, expected, tolerance):
    np.testing.assert_allclose(found.weights, expected.weights, atol=tolerance)
    np.testing.assert_allclose(found.mean_weights, expected.mean_weights, atol=tolerance)
    np.testing.assert_allclose(found.intercept, expected.intercept, atol=tolerance)
    np.testing.assert_allclose(found.mean_intercept, expected.mean_intercept, atol=tolerance)
    np.testing.assert_allclose(found.pair, expected.pair, atol=tolerance)


MEASURES = [None, MinRate(), HMean(), QMean(), GMean()]


@pytest.mark.parametrize(
    ("measure", "reward"),
    [(None, Logistic()), (None, Sigmoid(2.0)), (QMean(), Logistic())]
    + [(measure, Hinge()) for measure in MEASURES],
    ids=str,
)
def test_the_loop_matches_its_reference(measure, reward):
    X, signed_weights = points()
    ranges = [(200, 399), (0, 200), (399, 400)]
    starts, stops = np.array(ranges).T
    expected = reference_learn(X, signed_weights, ranges, _STEPS, reward, measure, (0.4, 0.6))
    found = compiled_learn(X, 22, np.float64, signed_weights, starts, stops, _STEPS, reward, measure, (0.4, 0.6))
    assert_same(found, expected, 1e-9)
    np.testing.assert_allclose(found.hits, expected.hits, rtol=1e-6)


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("measure", [None, QMean()], ids=str)
def test_the_loop_matches_its_reference_once_its_stretches_are_as_long_as_they_get(measure, as_csr):
    X, signed_weights = points(6000, 5)
    steps = _STEPS._replace(average_every=200)
    rows = csr_rows(X) if as_csr else X
    expected = reference_learn(X, signed_weights, [(0, 5999)], steps, Hinge(), measure, (0.4, 0.6))
    found = compiled_learn(rows, 5, np.float64, signed_weights, [0], [5999], steps, Hinge(), measure, (0.4, 0.6))
    assert len(list(stretches_of([(0, 5999)], 200))[-2]) == 32
    assert_same(found, expected, 1e-9)


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize("as_csr", [False, True])
def test_any_number_of_columns_will_do(d, dtype, tolerance, as_csr):
    X, signed_weights = points(101, d)
    X = X.astype(dtype)
    rows = csr_rows(X) if as_csr else X
    expected = reference_learn(
        X.astype(np.float64), signed_weights, [(0, 101)], _STEPS, Hinge(), QMean(), (0.5, 0.5)
    )
    found = compiled_learn(rows, d, dtype, signed_weights, [0], [101], _STEPS, Hinge(), QMean(), (0.5, 0.5))
    assert_same(found, expected, tolerance)


@pytest.mark.parametrize("measure", [None, QMean()], ids=str)
def test_csr_rows_give_the_model_of_dense_rows(measure):
    X, signed_weights = points()
    X = X.astype(np.float32)
    rows = csr_rows(X)
    arguments = (22, np.float32, signed_weights, [0], [400], _STEPS, Hinge(), measure, (0.5, 0.5))
    dense, csr = compiled_learn(X, *arguments), compiled_learn(rows, *arguments)
    assert_same(csr, dense, 1e-5)


@pytest.mark.parametrize("measure", [None, QMean()], ids=str)
def test_float32_agrees_with_float64(measure):
    X, signed_weights = points()
    arguments = (signed_weights, [0], [400], _STEPS, Hinge(), measure, (0.5, 0.5))
    narrow = compiled_learn(X.astype(np.float32), 22, np.float32, *arguments)
    wide = compiled_learn(X, 22, np.float64, *arguments)
    assert_same(narrow, wide, 1e-3)


@pytest.mark.parametrize(
    ("l2", "radius"), [(0.0, 0.3), (0.5, math.inf), (0.5, 0.3)], ids=["ball", "penalty", "both"]
)
def test_projection_and_penalty_match_the_reference_though_they_cost_no_loop(l2, radius):
    X, signed_weights = points()
    steps = _STEPS._replace(l2=l2)
    expected = reference_learn(X, signed_weights, [(0, 400)], steps, Hinge(), QMean(), (0.5, 0.5), radius)
    arguments = (X, 22, np.float64, signed_weights, [0], [400], steps, Hinge(), QMean(), (0.5, 0.5))
    found = compiled_learn(*arguments, radius if radius < math.inf else None)
    assert_same(found, expected, 1e-9)
    assert np.linalg.norm(found.weights) <= radius + 1e-9


@pytest.mark.parametrize("l2", [1e3, 1e9])
def test_a_scale_that_nears_zero_is_folded_away_before_it_underflows(l2):
    X, signed_weights = points()
    settings = _STEPS._replace(l2=l2)
    expected = reference_learn(X, signed_weights, [(0, 400)], settings, Hinge(), None, (0.5, 0.5))
    found = compiled_learn(X, 22, np.float64, signed_weights, [0], [400], settings, Hinge(), None, (0.5, 0.5))
    assert_same(found, expected, 1e-9)


@pytest.mark.parametrize("average_every", [1, 7, 40, 399, 1000])
@pytest.mark.parametrize("as_csr", [False, True])
def test_the_mean_is_that_of_models_so_many_points_apart(as_csr, average_every):
    X, signed_weights = points(d=16)
    steps = _STEPS._replace(l2=0.1, average_every=average_every)
    rows = csr_rows(X) if as_csr else X
    arguments = (signed_weights, [(0, 400)], steps, Logistic(), None, (0.5, 0.5))
    expected = reference_learn(X, *arguments)
    found = compiled_learn(rows, 16, np.float64, signed_weights, [0], [400], steps, Logistic(), None, (0.5, 0.5))
    assert_same(found, expected, 1e-9)


@pytest.mark.parametrize("as_csr", [False, True])
def test_a_point_of_weight_zero_moves_nothing(as_csr):
    X, signed_weights = points()
    signed_weights[::3] = 0.0
    rows = csr_rows(X) if as_csr else X
    expected = reference_learn(X, signed_weights, [(0, 400)], _STEPS, Hinge(), QMean(), (0.5, 0.5))
    found = compiled_learn(rows, 22, np.float64, signed_weights, [0], [400], _STEPS, Hinge(), QMean(), (0.5, 0.5))
    assert_same(found, expected, 1e-9)


def test_a_row_is_read_up_to_its_end_and_no_further():
    """The rows lie between NaN: one entry read too many would spread into the model."""
    X, signed_weights = points(n=12, d=11)
    fenced = np.full(14 * 11, np.nan)
    inner = fenced[11:-11].reshape(12, 11)
    inner[:] = X
    expected = reference_learn(X, signed_weights, [(0, 12)], _STEPS, Hinge(), None, (0.5, 0.5))
    found = compiled_learn(inner, 11, np.float64, signed_weights, [0], [12], _STEPS, Hinge(), None, (0.5, 0.5))
    assert_same(found, expected, 1e-9)


def test_columns_a_csr_row_does_not_name_are_never_touched():
    """NaN anywhere the loop should not look would spread into the pair, the intercept or the weights."""
    data, indices = np.array([1.0, 2.0, 1.0]), np.array([0, 2, 2])
    rows = (data, indices, np.array([0, 2, 3]))
    direction, model_sum = np.array([0.0, np.nan, 0.0]), np.array([0.0, np.nan, 0.0])
    state = np.zeros(1, STATE)
    state["scale"] = 1.0
    state["alpha"] = state["beta"] = 0.5
    signed_weights = np.array([1.0, -1.0], np.float32)
    learn(
        rows,
        signed_weights,
        np.array([0]),
        np.array([2]),
        direction,
        model_sum,
        state,
        _STEPS._replace(l2=0.1),
        1.0,
        Hinge(),
        QMean(),
    )
    assert np.isfinite(direction[[0, 2]]).all()
    assert np.isfinite(list(state[0].tolist())).all()


def test_a_measure_must_be_a_frozen_dataclass():
    class Loose(ConcaveMeasure):
        def value(self, tpr, tnr, prevalence=None):
            return tpr

        def project(self, alpha, beta, epsilon=0.0):
            return alpha, beta

    X, signed_weights = points()
    with pytest.raises(TypeError, match="Loose must be a frozen dataclass"):
        compiled_learn(X, 22, np.float64, signed_weights, [0], [400], _STEPS, Hinge(), Loose(), (0.5, 0.5))
