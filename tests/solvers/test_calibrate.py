"""Scores become probabilities by a rising curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax

from ratewise.solvers.calibrate import Calibration, calibrated, class_calibrations

numbers = st.floats(0.05, 5.0)
quick = settings(deadline=None, max_examples=60)


def drawn(curve, rows=20_000, seed=0):
    """Scores, and signs drawn with the probabilities of a curve."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=rows) * 2.0
    return scores, np.where(rng.random(rows) < expit(curve.log_odds(scores)), 1.0, -1.0)


@quick
@given(slope=numbers, constant=st.floats(-3, 3), below=numbers, above=numbers, shift=st.floats(-3, 3))
def test_curves_rise_and_the_other_class_has_the_other_odds(slope, constant, below, above, shift):
    curve = Calibration(slope, constant, below, above, shift)
    scores = np.linspace(-10, 10, 101)
    assert (np.diff(curve.log_odds(scores)) > 0).all()
    np.testing.assert_allclose(curve.of_the_other_class().log_odds(-scores), -curve.log_odds(scores), atol=1e-9)


@pytest.mark.parametrize("rows", [1_500, 40_000], ids=["rows", "bins"])
def test_a_line_is_found_where_the_log_odds_are_one(rows):
    truth = Calibration(1.5, -1.0)
    found = calibrated(*drawn(truth, rows), rows, 0.0)
    grid = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(expit(found.log_odds(grid)), expit(truth.log_odds(grid)), atol=0.08)


def test_a_curve_is_taken_where_a_line_does_not_do():
    truth = Calibration(2.0, 0.0, below=0.5, above=1.5)
    found = calibrated(*drawn(truth, 40_000), 40_000, 0.0)
    assert not found.is_line
    grid = np.linspace(-3, 2, 11)
    np.testing.assert_allclose(expit(found.log_odds(grid)), expit(truth.log_odds(grid)), atol=0.04)


def test_weights_count_rows_so_many_times():
    scores, signs = drawn(Calibration(1.0, -1.0), 1_000)
    twice = signs * np.where(np.arange(1_000) < 300, 2.0, 1.0)
    repeated = np.concatenate([scores, scores[:300]]), np.concatenate([signs, signs[:300]])
    np.testing.assert_allclose(calibrated(scores, twice, 1_300, 0.0), calibrated(*repeated, 1_300, 0.0), rtol=1e-6)


def test_classes_that_scores_part_have_finite_odds():
    scores = np.concatenate([np.linspace(1, 2, 50), np.linspace(-2, -1, 50)])
    found = calibrated(scores, np.repeat([1.0, -1.0], 50), 100, 0.0)
    share = expit(found.log_odds(scores))
    assert (share[:50] > 0.9).all()
    assert share.max() < 1.0 - 1e-6


def test_the_probability_at_the_cut_is_one_half_unless_the_scores_tell_otherwise():
    scores, signs = drawn(Calibration(1.5, 0.0), 2_000)
    near, far = calibrated(scores, signs, 2_000, -0.05), calibrated(scores, signs, 2_000, 1.0)
    assert float(near.log_odds(0.0)) == 0.0
    assert float(far.log_odds(0.0)) == pytest.approx(1.5, abs=0.3)


def test_many_classes_have_their_shares():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20_000, 3)) * 2.0
    truth = softmax(0.7 * scores + [1.0, 0.0, -1.0], axis=1)
    codes = (rng.random((20_000, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    curves = [Calibration(*one) for one in class_calibrations(scores, codes, np.ones(20_000))]
    odds = np.column_stack([one.log_odds(scores[:, k]) for k, one in enumerate(curves)])
    np.testing.assert_allclose(softmax(odds, axis=1), truth, atol=0.03)


def test_classes_without_a_bias_keep_the_order_of_their_scores():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2_000, 3)) * 2.0
    codes = (rng.random((2_000, 1)) > softmax(scores, axis=1).cumsum(axis=1)).sum(axis=1)
    constants = class_calibrations(scores, codes, np.ones(2_000))[:, 1]
    assert (constants == 0).all()
