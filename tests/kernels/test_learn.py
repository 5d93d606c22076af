"""The compiled loop against a slow, obvious one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from ratewise.kernels import STATE, LearnSettings, learn
from ratewise.kernels.learn import NEGLIGIBLE_SLOPE
from ratewise.measures import ConcaveMeasure, GMean, HMean, MinRate, QMean
from ratewise.rewards import Hinge, Logistic, Sigmoid

_SETTINGS = LearnSettings(
    step=0.05,
    dual_step=0.1,
    conjugate_sign=1.0,
    per_positive=4.0,
    per_negative=4 / 3,
    l2=0.0,
    radius=math.inf,
    average_every=0,
    intercept_gain=0.8,
)


@dataclass
class Outcome:
    weights: np.ndarray
    intercept: float
    mean_weights: np.ndarray
    mean_intercept: float
    pair: tuple[float, float]
    hits: tuple[float, float]


def step_factor(t):
    """1 / sqrt(t), looked up anew at every point at first and at every 32nd later on."""
    return 1.0 / math.sqrt(t if t < 64 else t - (t - 64) % 32)


def reference_learn(X, signed_weights, order, settings, reward, measure, pair):
    """Algorithm 1 as one would write it on a blackboard: whole vectors, an explicit sum of models."""
    w, b = np.zeros(X.shape[1]), 0.0
    sum_w, sum_b = np.zeros(X.shape[1]), 0.0
    alpha, beta = pair
    hits = [0.0, 0.0]
    for t, i in enumerate(order, start=1):
        sign, weight = float(np.sign(signed_weights[i])), float(abs(signed_weights[i]))
        step, dual_step = settings.step * step_factor(t), settings.dual_step * step_factor(t)
        epsilon = math.sqrt(step_factor(t)) if measure is not None and not measure.lipschitz else 0.0
        sum_w, sum_b = sum_w + w, sum_b + b
        score = X[i] @ w + b
        margin = sign * score
        per_point = settings.per_positive if sign > 0 else settings.per_negative
        slope = reward.slope(margin) if reward.slope(margin) > NEGLIGIBLE_SLOPE else 0.0
        pull = (alpha if sign > 0 else beta) * per_point * weight * slope
        if sign > 0 and score > 0:
            hits[0] += weight
        if sign < 0 and score <= 0:
            hits[1] += weight
        w, b = w + step * pull * sign * X[i], b + step * pull * sign * settings.intercept_gain
        if np.linalg.norm(w) > settings.radius:
            w = w * (settings.radius / np.linalg.norm(w))
        w = w / (1.0 + step * settings.l2)
        if measure is not None:
            gradient = measure.conjugate_gradient(alpha, beta)
            positive_reward = per_point * weight * reward.value(margin) if sign > 0 else 0.0
            negative_reward = per_point * weight * reward.value(margin) if sign < 0 else 0.0
            alpha, beta = measure.project(
                alpha + dual_step * (settings.conjugate_sign * gradient[0] - positive_reward - epsilon),
                beta + dual_step * (settings.conjugate_sign * gradient[1] - negative_reward - epsilon),
                epsilon,
            )
    n = len(order)
    return Outcome(w, b, sum_w / n, sum_b / n, (alpha, beta), tuple(hits))


def compiled_learn(rows, n_features, dtype, signed_weights, starts, stops, settings, reward, measure, pair):
    direction, shadow = np.zeros(n_features, dtype), np.zeros(n_features, dtype)
    state = np.zeros(1, STATE)
    state["scale"] = 1.0
    state["alpha"], state["beta"] = pair
    learn(
        rows,
        signed_weights,
        np.asarray(starts),
        np.asarray(stops),
        direction,
        shadow,
        state,
        settings,
        reward,
        measure,
    )
    s = state[0]
    return Outcome(
        s["scale"] * direction,
        s["intercept"],
        (s["mass"] * direction - shadow) / s["intercept_mass"],
        s["intercept"] - s["intercept_shadow"] / s["intercept_mass"],
        (s["alpha"], s["beta"]),
        (s["positive_hits"], s["negative_hits"]),
    )


def points(n=400, d=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    y = np.where(X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) > 1.0, 1.0, -1.0)
    return X, (y * rng.uniform(0.5, 2.0, n)).astype(np.float32)


def assert_same(found, expected, tolerance):
    np.testing.assert_allclose(found.weights, expected.weights, atol=tolerance)
    np.testing.assert_allclose(found.mean_weights, expected.mean_weights, atol=tolerance)
    np.testing.assert_allclose(found.intercept, expected.intercept, atol=tolerance)
    np.testing.assert_allclose(found.mean_intercept, expected.mean_intercept, atol=tolerance)
    np.testing.assert_allclose(found.pair, expected.pair, atol=tolerance)


MEASURES = [None, MinRate(), HMean(), QMean(), GMean()]


@pytest.mark.parametrize(
    ("measure", "reward"),
    [(None, Hinge()), (None, Logistic()), (None, Sigmoid(2.0))]
    + [(measure, reward) for measure in MEASURES[1:] for reward in (Hinge(), Logistic())],
    ids=str,
)
def test_the_loop_matches_its_reference(measure, reward):
    X, signed_weights = points()
    starts, stops = [200, 0, 399], [399, 200, 400]
    order = [*range(200, 399), *range(200), 399]
    expected = reference_learn(X, signed_weights, order, _SETTINGS, reward, measure, (0.4, 0.6))
    found = compiled_learn(X, 7, np.float64, signed_weights, starts, stops, _SETTINGS, reward, measure, (0.4, 0.6))
    assert_same(found, expected, 1e-9)
    np.testing.assert_allclose(found.hits, expected.hits, rtol=1e-6)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_csr_rows_give_the_model_of_dense_rows(measure):
    X, signed_weights = points()
    X = X.astype(np.float32)
    matrix = sparse.csr_matrix(X)
    rows = (matrix.data, matrix.indices, matrix.indptr)
    arguments = (7, np.float32, signed_weights, [0], [400], _SETTINGS, Hinge(), measure, (0.5, 0.5))
    dense, csr = compiled_learn(X, *arguments), compiled_learn(rows, *arguments)
    assert_same(csr, dense, 1e-5)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_float32_agrees_with_float64(measure):
    X, signed_weights = points()
    arguments = (signed_weights, [0], [400], _SETTINGS, Logistic(), measure, (0.5, 0.5))
    narrow = compiled_learn(X.astype(np.float32), 7, np.float32, *arguments)
    wide = compiled_learn(X, 7, np.float64, *arguments)
    assert_same(narrow, wide, 1e-3)


@pytest.mark.parametrize(
    "settings",
    [_SETTINGS._replace(radius=0.3), _SETTINGS._replace(l2=0.5), _SETTINGS._replace(radius=0.3, l2=0.5)],
    ids=["ball", "penalty", "both"],
)
def test_projection_and_penalty_match_the_reference_though_they_cost_no_loop(settings):
    X, signed_weights = points()
    expected = reference_learn(X, signed_weights, range(400), settings, Hinge(), QMean(), (0.5, 0.5))
    found = compiled_learn(X, 7, np.float64, signed_weights, [0], [400], settings, Hinge(), QMean(), (0.5, 0.5))
    assert_same(found, expected, 1e-9)
    assert np.linalg.norm(found.weights) <= settings.radius + 1e-9


def test_a_scale_that_nears_zero_is_folded_away_before_it_underflows():
    X, signed_weights = points()
    settings = _SETTINGS._replace(l2=1000.0)
    expected = reference_learn(X, signed_weights, range(400), settings, Hinge(), None, (0.5, 0.5))
    found = compiled_learn(X, 7, np.float64, signed_weights, [0], [400], settings, Hinge(), None, (0.5, 0.5))
    assert_same(found, expected, 1e-9)


@pytest.mark.parametrize("as_csr", [False, True])
def test_a_sampled_mean_is_that_of_every_so_many_models(as_csr):
    """Every 40th point takes a sample before it is learned from: the models after 39, 79, ... points."""
    X, signed_weights = points()
    settings = _SETTINGS._replace(average_every=40, l2=0.1)
    wanted = [
        reference_learn(X, signed_weights, range(k), settings, Logistic(), None, (0.5, 0.5))
        for k in range(39, 400, 40)
    ]
    direction, shadow, state = np.zeros(7), np.zeros(7), np.zeros(1, STATE)
    state["scale"] = 1.0
    state["alpha"] = state["beta"] = 0.5
    matrix = sparse.csr_matrix(X)
    rows = (matrix.data, matrix.indices, matrix.indptr) if as_csr else X
    learn(
        rows,
        signed_weights,
        np.array([0]),
        np.array([400]),
        direction,
        shadow,
        state,
        settings,
        Logistic(),
        None,
    )
    assert state["intercept_mass"][0] == len(wanted)
    np.testing.assert_allclose(shadow, np.sum([one.weights for one in wanted], axis=0), atol=1e-9)
    np.testing.assert_allclose(state["intercept_shadow"][0], sum(one.intercept for one in wanted), atol=1e-9)


def test_points_of_weight_zero_do_not_count():
    X, signed_weights = points()
    signed_weights[::3] = 0.0
    kept = signed_weights != 0
    arguments = (_SETTINGS, Hinge(), QMean(), (0.5, 0.5))
    found = compiled_learn(X, 7, np.float64, signed_weights, [0], [400], *arguments)
    without = compiled_learn(
        np.ascontiguousarray(X[kept]), 7, np.float64, signed_weights[kept], [0], [kept.sum()], *arguments
    )
    assert_same(found, without, 0.0)


def test_columns_a_csr_row_does_not_name_are_never_touched():
    """NaN anywhere the loop should not look would spread into the pair, the intercept or the weights."""
    data, indices = np.array([1.0, 2.0, 1.0]), np.array([0, 2, 2])
    rows = (data, indices, np.array([0, 2, 3]))
    direction, shadow = np.array([0.0, np.nan, 0.0]), np.array([0.0, np.nan, 0.0])
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
        shadow,
        state,
        _SETTINGS._replace(l2=0.1, radius=1.0),
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
        compiled_learn(X, 7, np.float64, signed_weights, [0], [400], _SETTINGS, Hinge(), Loose(), (0.5, 0.5))
