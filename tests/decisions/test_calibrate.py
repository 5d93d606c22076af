"""Scores become probabilities by a rising curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, softmax
from scipy.stats import chi2

from ratewise.decisions.calibrate import (
    Calibration,
    GroupedScores,
    bins_around,
    calibrated,
    class_calibrations,
    class_curvature,
    class_log_loss,
    log_odds_line,
    stacked,
    worth_of,
)
from ratewise.decisions.newton import (
    curvature_of,
    log_loss_of,
    newton,
    only_free,
    platt_targets,
    solvable,
    step_within,
    usual_log_odds,
)

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


# Every number again, slowly.


def problem(seed, rows=60, columns=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(rows, columns - 1)), np.ones(rows)])
    return X, rng.uniform(0.5, 2.0, rows), rng.uniform(0.05, 0.95, rows), rng


def loss_by_hand(X, weights, targets, coefficients, penalty=None):
    share = expit(X @ coefficients)
    loss = -sum(
        w * (t * np.log(one) + (1 - t) * np.log(1 - one))
        for w, t, one in zip(weights, targets, share, strict=True)
    )
    return loss if penalty is None else loss + coefficients @ penalty @ coefficients / 2


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_is_minus_the_log_likelihood_and_its_curvature_the_second_derivative(seed):
    X, weights, targets, rng = problem(seed)
    at = rng.normal(size=3)
    assert log_loss_of(weights, targets, X @ at) == pytest.approx(loss_by_hand(X, weights, targets, at))
    found, step = curvature_of(X, weights, X @ at), 1e-3
    for i, j in np.ndindex(3, 3):
        one, other = step * np.eye(3)[i], step * np.eye(3)[j]
        corners = [at + one + other, at + one - other, at - one + other, at - one - other]
        up, across, back, down = (loss_by_hand(X, weights, targets, corner) for corner in corners)
        assert found[i, j] == pytest.approx((up - across - back + down) / (4 * step**2), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("far", [0.0, 8.0, -30.0])
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_newtons_steps_end_where_the_penalised_loss_is_lowest(seed, limited, far):
    X, weights, targets, rng = problem(seed)
    root = rng.normal(size=(3, 3))
    penalty = 3.0 * root.T @ root
    least = np.array([0.3, -0.1, -np.inf]) if limited else np.full(3, -np.inf)
    found = newton(X, np.full(3, far), weights, targets, penalty, least)
    bounds = [(low if np.isfinite(low) else None, None) for low in least]
    best = minimize(lambda at: loss_by_hand(X, weights, targets, at, penalty), np.full(3, 0.5), bounds=bounds)
    assert (found >= least - 1e-12).all()
    assert loss_by_hand(X, weights, targets, found, penalty) == pytest.approx(best.fun, abs=0.01)
    np.testing.assert_allclose(found, best.x, atol=0.03)


def test_a_step_is_newtons_and_stops_at_the_least_of_each_coefficient():
    diagonal = np.diag([2.0, 4.0, 5.0])
    gradient, least = np.array([2.0, -4.0, -5.0]), np.array([-9.0, -0.25, 0.0])
    np.testing.assert_allclose(step_within(diagonal, gradient, least), [1.0, -0.25, 0.0])
    # One that stops takes the others with it: 2 x + y = 1 where y is -1/4.
    found = step_within(np.array([[2.0, 1.0], [1.0, 4.0]]), np.array([1.0, -4.0]), np.array([-9.0, -0.25]))
    np.testing.assert_allclose(found, [0.625, -0.25])
    # At its least already, and pulled up: it is free.
    np.testing.assert_allclose(step_within(np.eye(2), np.ones(2), np.zeros(2)), np.ones(2))


@quick
@given(seed=st.integers(0, 999), rows=st.integers(1, 5))
def test_free_coefficients_solve_their_equations_and_others_lie_at_their_least(seed, rows):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(8, rows))
    curvature, gradient, least = root.T @ root + np.eye(rows), rng.normal(size=rows), -rng.exponential(size=rows)
    step = step_within(curvature, gradient, least)
    left = gradient - curvature @ step
    stopped = np.isclose(step, least, atol=1e-12)
    assert (step >= least - 1e-12).all()
    np.testing.assert_allclose(left[~stopped], 0.0, atol=1e-9)


def test_the_curvature_of_some_coefficients_has_ones_for_the_others():
    found = only_free(np.array([True, False, True]), np.arange(1.0, 10.0).reshape(3, 3))
    np.testing.assert_array_equal(found, [[1.0, 0.0, 3.0], [0.0, 1.0, 0.0], [7.0, 0.0, 9.0]])


def test_a_matrix_is_made_solvable_by_a_billionth_of_its_trace():
    found = solvable(np.array([[3.0, 1.0], [1.0, 1.0]])) - [[3.0, 1.0], [1.0, 1.0]]
    np.testing.assert_allclose(found, 4e-9 * np.eye(2), atol=1e-15)


def test_the_usual_log_odds_are_those_of_the_classes_with_a_point_more_of_each():
    assert usual_log_odds(np.array([2.0, 1.0]), np.array([6.0, 1.0])) == pytest.approx(np.log(4 / 8))


def test_targets_are_platts():
    found = platt_targets(np.array([3.0, 1.0, 0.0]), np.array([1.0, 0.0, 5.0]))
    positive, negative = 5 / 6, 1 / 8  # (4 + 1) / (4 + 2) and 1 / (6 + 2)
    np.testing.assert_allclose(found, [(3 * positive + negative) / 4, positive, negative])


def test_useless_parameters_gain_half_of_chi_squared():
    assert [worth_of(k) for k in (1, 2)] == pytest.approx([chi2.ppf(0.95, k) / 2 for k in (1, 2)])


@pytest.mark.parametrize("seed", range(4))
def test_the_line_of_log_odds_has_the_highest_likelihood_of_platts_targets(seed):
    rng = np.random.default_rng(seed)
    scores = 3.0 + 5.0 * rng.normal(size=300)
    signed = np.where(rng.random(300) < expit(0.4 * scores - 2.0), 1.0, -1.0) * rng.uniform(0.5, 2.0, 300)
    positive, negative = np.maximum(signed, 0.0), np.maximum(-signed, 0.0)
    targets = platt_targets(positive, negative)
    X = np.column_stack([scores, np.ones(300)])
    best = minimize(lambda line: loss_by_hand(X, np.abs(signed), targets, line), [0.1, 0.0]).x
    np.testing.assert_allclose(log_odds_line(scores, signed), best, rtol=0.02, atol=0.02)


def class_loss(numbers, scores, codes, weights):
    share = softmax(numbers[0] * scores + numbers[1:], axis=1)[np.arange(codes.size), codes]
    return -(weights @ np.log(share)) / weights.sum() + 0.5e-3 * (numbers @ numbers) / codes.size


@pytest.mark.parametrize("seed", range(3))
def test_the_log_loss_of_many_classes_is_as_it_says_and_so_is_its_gradient(seed):
    rng = np.random.default_rng(seed)
    codes, scores, weights = rng.integers(3, size=7), rng.normal(size=(7, 3)), rng.uniform(0.5, 2.0, 7)
    numbers = 30.0 * rng.normal(size=4)  # so that the ridge counts
    value, gradient = class_log_loss(numbers, scores.T, codes, weights / weights.sum())
    curvature = class_curvature(numbers, scores.T, weights / weights.sum())
    assert value == pytest.approx(class_loss(numbers, scores, codes, weights), rel=1e-9)
    for k, step in enumerate(1e-6 * np.eye(4)):
        around = [class_loss(numbers + sign * step, scores, codes, weights) for sign in (1, -1)]
        assert gradient[k] == pytest.approx((around[0] - around[1]) / 2e-6, rel=1e-5, abs=1e-6)
        up, down = (
            class_log_loss(numbers + sign * step, scores.T, codes, weights / weights.sum())[1] for sign in (1, -1)
        )
        np.testing.assert_allclose(curvature[k], (up - down) / 2e-6, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("parted", [True, False])
def test_lines_of_many_classes_have_the_least_log_loss_and_a_small_ridge(parted):
    """Where scores part the classes the ridge alone holds the slope."""
    rng = np.random.default_rng(0)
    codes = np.arange(12) % 3 if parted else rng.integers(3, size=300)
    scores = 4.0 * np.eye(3)[codes] if parted else rng.normal(size=(300, 3)) + np.eye(3)[codes] + [2.0, 0.0, 0.0]
    weights = rng.uniform(0.5, 2.0, codes.size)
    found = class_calibrations(scores, codes, weights)
    constants = found[:, 1]
    spread = scores.std()
    free = [(0.0, None)] + [(0.0, 0.0) if parted else (None, None)] * 3
    best = minimize(
        class_loss, np.eye(1, 4)[0], (scores / spread, codes, weights), bounds=free, options={"ftol": 1e-14}
    ).x
    np.testing.assert_allclose(found[:, 0] * spread, best[0], rtol=1e-2)
    np.testing.assert_allclose(constants - constants.mean(), best[1:] - best[1:].mean(), atol=1e-2)


def rows_by_hand(scores, signed, points):
    places = np.unique(scores)
    weight = points / np.abs(signed).sum()
    positive = np.array([weight * signed[(scores == place) & (signed > 0)].sum() for place in places])
    negative = np.array([-weight * signed[(scores == place) & (signed < 0)].sum() for place in places])
    return places, positive, negative


@quick
@given(seed=st.integers(0, 999), rows=st.integers(4, 60))
def test_few_scores_stand_for_themselves_with_weights_that_add_up_to_the_points(seed, rows):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-9, 10, rows) / 4.0
    signed = rng.choice([-1.0, 1.0], rows) * rng.uniform(0.5, 2.0, rows)
    signed[:2] = 1.0, -1.0
    signed[signed > 0] *= 10.0 ** -(seed % 5)  # a class may weigh next to nothing
    found = GroupedScores.of(scores, signed, 50.0)
    for mine, expected in zip(found, rows_by_hand(scores, signed, 50.0), strict=True):
        np.testing.assert_allclose(mine, expected)
    shares = [side / side.sum() for side in found[1:]]
    both = (shares[0] + shares[1]) / 2
    mean = (both * found.places).sum()
    assert found.spread() == pytest.approx(max(np.sqrt((both * (found.places - mean) ** 2).sum()), 1e-12))
    # Half by rank, half by score between the medians.
    ranks = [np.array([one[:k].sum() + one[k] / 2 for k in range(one.size)]) for one in shares]
    medians = [next((x for x, rank in zip(found.places, one, strict=True) if rank >= 0.5), None) for one in ranks]
    low, high = sorted(found.places[-1] if one is None else one for one in medians)
    if high > low:
        by_score = np.clip((found.places - low) / (high - low), 0.0, 1.0)
        np.testing.assert_allclose(found.order(), (ranks[0] + ranks[1]) / 4 + by_score / 2)


def test_many_scores_are_grouped_by_their_order_into_two_hundred():
    rng = np.random.default_rng(0)
    rows = GroupedScores(np.sort(rng.normal(size=1_000)), rng.exponential(size=1_000), rng.exponential(size=1_000))
    found, order = rows._grouped(), rows.order()
    assert found.places.size <= 200
    shares = [side / side.sum() for side in rows[1:]]
    both, groups = (shares[0] + shares[1]) / 2, np.floor(200 * order).clip(max=199)
    for k, group in enumerate(np.unique(groups)):
        mine = groups == group
        assert found.places[k] == pytest.approx(np.average(rows.places[mine], weights=both[mine]))
        assert found.positive[k] == pytest.approx(rows.positive[mine].sum())
        assert found.negative[k] == pytest.approx(rows.negative[mine].sum())


@pytest.mark.parametrize("rows", [2_048, 2_049, 9_000])
def test_scores_beyond_a_number_are_binned_and_grouped(rows):
    rng = np.random.default_rng(0)
    scores, signs = rng.normal(size=rows), np.where(rng.random(rows) < 0.3, 1.0, -1.0)
    found = GroupedScores.of(scores, signs, float(rows))
    assert found.places.size <= 200
    assert (np.diff(found.places) > 0).all()
    assert found.positive.sum() == pytest.approx(np.count_nonzero(signs > 0))
    assert found.negative.sum() == pytest.approx(np.count_nonzero(signs < 0))
    for side, mine in ((found.positive, signs > 0), (found.negative, signs < 0)):
        assert np.average(found.places, weights=side) == pytest.approx(scores[mine].mean(), abs=0.02)


def test_bins_reach_six_deviations_from_the_mean_of_each_class():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(9.0, 0.1, 50), rng.normal(-1.0, 2.0, 3_000)])
    signs = np.repeat([1.0, -1.0], [50, 3_000])
    found = bins_around(scores, signs)
    means, deviations = ([function(scores[:50]), function(scores[50:])] for function in (np.mean, np.std))
    assert found.low == pytest.approx(means[1] - 6 * deviations[1])
    assert found.number == 2_048
    highest = max(mean + 6 * deviation for mean, deviation in zip(means, deviations, strict=True))
    assert found.low + found.width * found.number == pytest.approx(highest)
    # One class alone; and many scores, of which some will do.
    assert bins_around(scores[:50], signs[:50]).low == pytest.approx(means[0] - 6 * deviations[0])
    assert bins_around(np.append(scores, 1e9), np.append(signs, 0.0)) == found  # a row without weight
    many = bins_around(np.tile(scores, 20), np.tile(signs, 20))
    assert many == pytest.approx(found, rel=0.05)


def calibrated_by_hand(scores, signed, points, cut):
    """The curve of the best of seven penalties, by scipy's minimizer."""
    rows = GroupedScores.of(scores, signed, points)
    spread = rows.spread()
    places, weights = (rows.places - cut) / spread, rows.positive + rows.negative
    rarer = min(rows.positive.sum(), rows.negative.sum())
    number = min(int(rarer / 5), 15)
    knots = np.interp([k / (number + 1) for k in range(1, number + 1)], rows.order(), places)
    ends = np.concatenate([[-1e9], knots, [1e9]])
    lengths = np.array([[integral(0.0, place, *ends[k : k + 2]) for k in range(number + 1)] for place in places])
    X = np.column_stack([lengths, np.ones(places.size)])
    targets = platt_targets(rows.positive, rows.negative)
    bends = np.zeros((number + 2, number + 2))
    for k in range(number):
        bend = np.zeros(number + 2)
        bend[k : k + 2] = -1.0, 1.0
        bends += np.outer(bend, bend)
    bounds = [(0.01, None)] * (number + 1) + [(None, None)]
    start, tried = np.append(np.ones(number + 1), 0.0), []
    for power in (2.0, 0.5, -1.0, -2.5, -4.0, -5.5) if number else (2.0,):
        penalty = 10.0**power * rarer * bends

        def objective(at, penalty=penalty):
            share = expit(X @ at)
            return (
                weights @ (np.logaddexp(0.0, X @ at) - targets * (X @ at)) + at @ penalty @ at / 2,
                X.T @ (weights * (share - targets)) + penalty @ at,
            )

        start = minimize(objective, start, jac=True, bounds=bounds, options={"ftol": 1e-13, "maxiter": 1_000}).x
        share = expit(X @ start)
        free = start > np.append(np.full(number + 1, 0.01 + 1e-6), -np.inf)
        curvature = ((X * (weights * share * (1 - share))[:, None]).T @ X)[np.ix_(free, free)]
        parameters = np.trace(np.linalg.solve(curvature + penalty[np.ix_(free, free)], curvature))
        lost = weights @ (np.logaddexp(0.0, X @ start) - targets * (X @ start))
        tried.append((lost + chi2.ppf(0.95, 1) / 2 * parameters, start))
    best = min(tried, key=lambda one: one[0])[1]
    slopes = best[:-1] / spread
    return Calibration(slopes[0], best[-1], tuple(knots * spread), tuple(np.diff(slopes)))


def integral(begin, end, low, high):
    """How much of the way from one place to another lies between two others."""
    return np.clip(end, low, high) - np.clip(begin, low, high)


TRUTHS = {
    "a line": Calibration(1.2, -0.5),
    "a curve": Calibration(0.3, -1.0, (0.0, 1.0), (3.0, -3.0)),
    "one that falls on the way": Calibration(2.0, 0.0, (-1.0, 1.0), (-3.0, 3.0)),
}


@pytest.mark.parametrize("rows", [30, 150, 600])
@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
@pytest.mark.parametrize("cut", [0.0, 0.7])
def test_the_curve_is_the_best_of_its_penalties(rows, truth, cut):
    scores, signs = drawn(truth, rows, seed=rows)
    signed = signs * np.random.default_rng(1).uniform(0.5, 1.5, rows)
    found, expected = calibrated(scores, signed, rows, cut), calibrated_by_hand(scores, signed, rows, cut)
    assert found.knots == pytest.approx(expected.knots)
    middle = np.quantile(scores, np.linspace(0.05, 0.95, 19)) - cut
    np.testing.assert_allclose(expit(found.log_odds(middle)), expit(expected.log_odds(middle)), atol=0.01)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_a_curve_does_not_depend_on_the_unit_of_the_scores(unit):
    scores, signs = drawn(Calibration(1.2, -0.5), 300)
    one, other = calibrated(scores, signs, 300, 0.1), calibrated(unit * scores, signs, 300, unit * 0.1)
    np.testing.assert_allclose(other.log_odds(unit * scores), one.log_odds(scores), rtol=1e-6, atol=1e-6)
    slope, constant = log_odds_line(unit * scores, signs)
    assert (unit * slope, constant) == pytest.approx(log_odds_line(scores, signs), rel=1e-6)


def test_classes_have_constants_where_the_likelihood_gains_more_than_by_chance():
    """Weak constants: of two that are free, the gain in likelihood is above 3 in one case of twenty by chance."""
    kept = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(400, 3))
        share = softmax(scores + np.array([0.12, 0.0, -0.12]), axis=1)
        codes = (rng.random((400, 1)) > share.cumsum(axis=1)).sum(axis=1)
        weights, spread = np.ones(400), scores.std()
        problem = (scores / spread, codes, weights)
        losses = [
            minimize(class_loss, np.eye(1, 4)[0], problem, bounds=[(0.0, None)] + [limits] * 3).fun
            for limits in ((0.0, 0.0), (None, None))
        ]
        gain = 400 * (losses[0] - losses[1])
        if abs(gain - chi2.ppf(0.95, 2) / 2) > 0.05:
            kept.append(gain > chi2.ppf(0.95, 2) / 2)
            assert class_calibrations(scores, codes, weights)[:, 1].any() == kept[-1]
    assert 5 < sum(kept) < 25


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_class_without_rows_leaves_an_order_and_a_curve(side):
    rows = GroupedScores.of(np.arange(5.0), np.full(5, side), 5.0)
    # Ranks of one class; the median of none lies at the last place.
    ranks = np.arange(0.1, 1.0, 0.2)
    np.testing.assert_allclose(rows.order(), 0.25 * ranks + 0.5 * np.clip((np.arange(5.0) - 2.0) / 2.0, 0.0, 1.0))
    found = calibrated(np.arange(5.0), np.full(5, side), 5.0, 2.0)
    assert side * float(found.log_odds(0.0)) > 0


def test_many_scores_that_are_all_equal_have_the_odds_of_the_classes():
    found = calibrated(np.full(3_000, 2.0), np.resize([1.0, -1.0, -1.0], 3_000), 3_000.0, 2.0)
    assert expit(float(found.log_odds(0.0))) == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize(("number", "kept"), [(200, 200), (201, 200)])
def test_places_are_grouped_where_there_are_more_than_two_hundred(number, kept):
    """Both classes lie evenly, so that each of two hundred groups would have a place, but for rounding."""
    places = np.repeat(np.arange(float(number)), 2)
    rows = GroupedScores.of(places, np.tile([1.0, -1.0], number), 2.0 * number)
    assert (rows.places.size == number) == (number <= 200)
    assert rows.places.size <= kept
