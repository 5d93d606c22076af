"""Scores become probabilities by a rising curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax

from ratewise.solvers.calibrate import Calibration, calibrated, class_calibrations, log_odds_line, stacked

quick = settings(deadline=None, max_examples=60)


@st.composite
def curves(draw):
    """Rising ones: slopes and the knots where they meet."""
    n_knots = draw(st.integers(0, 4))
    slopes = np.array(draw(st.lists(st.floats(0.05, 5.0), min_size=n_knots + 1, max_size=n_knots + 1)))
    knots = draw(st.lists(st.floats(-9, 9), min_size=n_knots, max_size=n_knots))
    gains = tuple(np.diff(slopes).tolist())
    return Calibration(float(slopes[0]), draw(st.floats(-3, 3)), tuple(sorted(knots)), gains)


def drawn(curve, rows=20_000, seed=0):
    """Scores, and signs drawn with the probabilities of a curve."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=rows) * 2.0
    return scores, np.where(rng.random(rows) < expit(curve.log_odds(scores)), 1.0, -1.0)


@quick
@given(curve=curves())
def test_curves_rise_and_the_other_class_has_the_other_odds(curve):
    scores = np.linspace(-10, 10, 101)
    odds = curve.log_odds(scores)
    assert (np.diff(odds) > 0).all()
    assert float(curve.log_odds(0.0)) == pytest.approx(curve.constant)
    np.testing.assert_allclose(curve.of_the_other_class().log_odds(-scores), -odds, atol=1e-9)


@quick
@given(several=st.lists(curves(), min_size=1, max_size=3))
def test_curves_stacked_are_the_same_curves(several):
    scores = np.linspace(-10, 10, 21)
    for numbers, curve in zip(stacked(several), several, strict=True):
        np.testing.assert_array_equal(Calibration.of_numbers(numbers).log_odds(scores), curve.log_odds(scores))


@quick
@given(seed=st.integers(0, 1000), rows=st.integers(4, 400), tied=st.booleans())
def test_whatever_the_scores_the_curve_found_rises(seed, rows, tied):
    rng = np.random.default_rng(seed)
    scores = rng.standard_t(2, size=rows) * 10.0 ** rng.integers(-6, 6)
    scores = np.sign(scores) if tied else scores
    signs = np.where(rng.random(rows) < 0.3, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    found = calibrated(scores, signs, rows, 0.0)
    assert (np.cumsum([found.slope, *found.gains]) > 0).all()
    assert np.isfinite(found.log_odds(scores)).all()


@pytest.mark.parametrize("rows", [1_500, 40_000], ids=["rows", "bins"])
def test_a_line_is_found_where_the_log_odds_are_one(rows):
    truth = Calibration(1.5, -1.0)
    found = calibrated(*drawn(truth, rows), rows, 0.0)
    grid = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(expit(found.log_odds(grid)), expit(truth.log_odds(grid)), atol=0.08)


@pytest.mark.parametrize("rows", [3_000, 40_000], ids=["rows", "bins"])
def test_a_curve_is_found_where_a_line_does_not_do(rows):
    truth = Calibration(0.3, -1.5, (0.0, 1.0), (3.0, -3.0))
    scores, signs = drawn(truth, rows)
    found = calibrated(scores, signs, rows, 0.0)
    grid = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(expit(found.log_odds(grid)), expit(truth.log_odds(grid)), atol=0.1)
    line = Calibration(*log_odds_line(scores, signs))
    assert np.abs(expit(line.log_odds(grid)) - expit(truth.log_odds(grid))).max() > 0.15


def test_rare_positives_far_from_all_others_have_their_own_knots():
    """One row in 500 is positive; half of these lie ten spreads away, where every second row is positive."""
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(size=99_800), rng.normal(10.0, 0.3, size=200)])
    signs = np.full(scores.size, -1.0)
    signs[::1_000] = signs[-200::2] = 1.0
    found = calibrated(scores, signs, scores.size, 5.0)
    assert expit(found.log_odds(5.0)) == pytest.approx(0.5, abs=0.08)
    assert expit(found.log_odds(-5.0)) == pytest.approx(0.001, abs=0.0007)


def test_few_points_get_a_line():
    scores, signs = drawn(Calibration(1.0, -2.0), 40)
    scores, signs = np.append(scores, [1.0, 2.0]), np.append(np.full(40, -1.0), [1.0, 1.0])
    assert calibrated(scores, signs, 42, 0.0).knots == ()


def test_weights_count_rows_so_many_times():
    scores, signs = drawn(Calibration(1.0, -1.0), 1_000)
    twice = signs * np.where(np.arange(1_000) < 300, 2.0, 1.0)
    repeated = np.concatenate([scores, scores[:300]]), np.concatenate([signs, signs[:300]])
    found, same = calibrated(scores, twice, 1_300, 0.0), calibrated(*repeated, 1_300, 0.0)
    np.testing.assert_allclose(stacked([found]), stacked([same]), rtol=1e-6)


def test_classes_that_scores_part_have_finite_odds():
    scores = np.concatenate([np.linspace(1, 2, 50), np.linspace(-2, -1, 50)])
    found = calibrated(scores, np.repeat([1.0, -1.0], 50), 100, 0.0)
    share = expit(found.log_odds(scores))
    assert (share[:50] > 0.9).all()
    assert share.max() < 1.0 - 1e-6


def test_the_constant_is_the_log_odds_at_the_cut():
    scores, signs = drawn(Calibration(1.5, 0.0), 20_000)
    assert calibrated(scores, signs, 20_000, 1.0).constant == pytest.approx(1.5, abs=0.15)


def test_many_classes_have_their_shares():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20_000, 3)) * 2.0
    truth = softmax(0.7 * scores + [1.0, 0.0, -1.0], axis=1)
    codes = (rng.random((20_000, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    found = [Calibration.of_numbers(one) for one in class_calibrations(scores, codes, np.ones(20_000))]
    odds = np.column_stack([one.log_odds(scores[:, k]) for k, one in enumerate(found)])
    np.testing.assert_allclose(softmax(odds, axis=1), truth, atol=0.03)


def test_classes_without_a_bias_keep_the_order_of_their_scores():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2_000, 3)) * 2.0
    codes = (rng.random((2_000, 1)) > softmax(scores, axis=1).cumsum(axis=1)).sum(axis=1)
    constants = class_calibrations(scores, codes, np.ones(2_000))[:, 1]
    assert (constants == 0).all()


@pytest.mark.parametrize(("rarer", "number"), [(4, 0), (20, 4), (40, 8), (4_000, 15)])
def test_there_is_a_knot_per_five_points_of_the_rarer_class_alike_on_both_sides(rarer, number):
    scores = np.concatenate([np.linspace(-1.0, 0.5, rarer), np.linspace(-0.5, 1.0, rarer)])
    knots = calibrated(scores, np.repeat([-1.0, 1.0], rarer), 2.0 * rarer, 0.0).knots
    assert len(knots) == number
    assert knots == pytest.approx([-one for one in knots[::-1]], abs=0.05)
