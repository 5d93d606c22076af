"""Counting scores, against numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.kernels import numpy_fallbacks, passes
from ratewise.kernels.passes import bin_bent_scores, bin_scores, mean_and_spread, score_rows

quick = settings(deadline=None, max_examples=60)
eighths = st.integers(-80, 80).map(lambda number: number / 8)  # exact in binary, so that edges are met
points = st.lists(st.tuples(eighths, st.sampled_from([-2.0, -1.0, 1.0, 3.0])), min_size=1, max_size=60)


def as_arrays(points, dtype=np.float32):
    scores, weights = np.array(points).T
    return scores.astype(dtype), weights.astype(np.float32)


@pytest.mark.parametrize("count_predicted", [passes.count_predicted, numpy_fallbacks.count_predicted])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@quick
@given(points=points, threshold=eighths)
def test_counts_are_numpys_and_a_score_at_the_threshold_is_negative(count_predicted, dtype, points, threshold):
    scores, weights = as_arrays(points, dtype)
    called, positive = scores > threshold, weights > 0
    expected = (
        weights[positive].sum(),
        weights[positive & called].sum(),
        -weights[~positive].sum(),
        -weights[~positive & ~called].sum(),
    )
    assert count_predicted(scores, weights, threshold) == expected


@pytest.mark.parametrize("bin_scores", [passes.bin_scores, numpy_fallbacks.bin_scores])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@quick
@given(points=points)
def test_every_weight_goes_into_the_bin_of_its_score(bin_scores, dtype, points):
    scores, weights = as_arrays(points, dtype)
    edges = -4.0 + 0.25 * np.arange(1, 32)
    counted = np.zeros((2, 32))
    bin_scores(scores, weights, -4.0, 0.25, counted)
    places = np.searchsorted(edges, scores, side="right")  # an edge belongs to the bin above it
    expected = np.zeros((2, 32))
    np.add.at(expected, ((weights > 0).astype(int), places), np.abs(weights))
    assert np.array_equal(counted, expected)


def test_bins_add_to_what_is_in_them():
    counted = np.ones((2, 4))
    bin_scores(np.array([0.5]), np.array([-2.0]), 0.0, 1.0, counted)
    assert counted.tolist() == [[3, 1, 1, 1], [1, 1, 1, 1]]


@pytest.mark.parametrize("bin_scores", [passes.bin_scores, numpy_fallbacks.bin_scores])
@pytest.mark.parametrize(
    ("low", "width"), [(-6.0, 12.0 / (3 * 2**13)), (-0.3, 0.1 / 3.0), (-0.3, 0.3), (-7.7, 1e-3)]
)
def test_a_score_at_an_edge_that_is_not_exact_in_binary_lies_above_it(bin_scores, low, width):
    edges = low + width * np.arange(1, 2**14)
    counted = np.zeros((2, 2**14))
    bin_scores(edges, np.ones(edges.size), low, width, counted)
    bin_scores(np.nextafter(edges, -math.inf), -np.ones(edges.size), low, width, counted)
    assert counted[1].tolist() == [0.0] + [1.0] * edges.size
    assert counted[0].tolist() == [1.0] * edges.size + [0.0]


@pytest.mark.parametrize("mean_and_spread", [passes.mean_and_spread, numpy_fallbacks.mean_and_spread])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@quick
@given(points=points, far=st.sampled_from([0.0, 1024.0]))
def test_the_mean_and_the_spread_are_numpys(mean_and_spread, dtype, points, far):
    scores = as_arrays(points, dtype)[0] + dtype(far)
    mean, spread = mean_and_spread(scores)
    assert mean == pytest.approx(scores.mean(dtype=np.float64), abs=1e-9)
    assert spread == pytest.approx(scores.std(dtype=np.float64), abs=1e-6)


def test_a_spread_far_from_zero_keeps_its_digits():
    scores = 1e8 + np.random.default_rng(0).normal(size=1000)
    assert mean_and_spread(scores)[1] == pytest.approx(scores.std(), rel=1e-9)


@quick
@given(points=points)
def test_bins_of_bent_scores_are_of_one_width_in_the_score_over_one_plus_its_size(points):
    scores, weights = as_arrays(points)
    counted = np.zeros((2, 64))
    bin_bent_scores(scores, weights, counted)
    wide = scores.astype(np.float64)
    places = np.floor(32.0 + 32.0 * (wide / (1.0 + np.abs(wide)))).astype(int)
    expected = np.zeros((2, 64))
    np.add.at(expected, ((weights > 0).astype(int), places), np.abs(weights))
    assert np.array_equal(counted, expected)


def test_bent_scores_have_no_end_and_what_is_no_number_is_lowest():
    counted = np.zeros((2, 8))
    scores = np.array([1e30, -1e30, math.inf, math.nan, 0.0], dtype=np.float32)
    bin_bent_scores(scores, np.array([1.0, -1.0, 1.0, -1.0, 1.0], dtype=np.float32), counted)
    assert counted[1].tolist() == [0, 0, 0, 0, 1, 0, 0, 2]
    assert counted[0].sum() == 2
    assert counted[0, 0] == 2


@quick
@given(rows=st.integers(0, 20), d=st.integers(1, 20), models=st.integers(1, 4), seed=st.integers(0, 99))
def test_rows_are_scored_by_all_models_at_once(rows, d, models, seed):
    rng = np.random.default_rng(seed)
    X, centre, W, b = (
        rng.integers(-9, 9, size=shape).astype(np.float32) for shape in ((rows, d), d, (models, d), models)
    )
    scores = np.empty((models, rows), dtype=np.float32)
    score_rows(X, centre, W, b, scores)
    assert np.array_equal(scores, W @ (X - centre).T + b[:, np.newaxis])


@pytest.mark.parametrize("weight_moments", [passes.weight_moments, numpy_fallbacks.weight_moments])
@quick
@given(points=points)
def test_weights_and_their_squares_are_summed_by_class(weight_moments, points):
    _, weights = as_arrays(points)
    up, down = weights[weights > 0], -weights[weights < 0]
    assert weight_moments(weights) == (up.sum(), down.sum(), (up**2).sum(), (down**2).sum())
