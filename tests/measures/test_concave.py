"""The dual regions of Table 1, their projections, and Fenchel's identity on them."""

from __future__ import annotations

import inspect
import math
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from ratewise.measures import (
    BalancedAccuracy,
    ConcaveMeasure,
    GMean,
    HMean,
    MinRate,
    QMean,
    RecallAtPrecision,
    TPRAtFPR,
    TPRAtTNR,
    WeightedMin,
    get_measure,
    measure_names,
)

quick = settings(deadline=None, max_examples=60)
rates = st.floats(0.0, 1.0)
PAPERS = [MinRate(), HMean(), QMean(), GMean()]
# Regions that are a segment, by its ends. At precision 0.6 and prevalence 0.4 the price of FPR is 1.5 * 1.5.
SEGMENTS = {
    MinRate(): ((1.0, 0.0), (0.0, 1.0)),
    BalancedAccuracy(): ((0.5, 0.5), (0.5, 0.5)),
    WeightedMin(1.0, 0.5): ((1.0, 0.0), (0.0, 0.5)),
    WeightedMin(0.3, 1.7): ((0.3, 0.0), (0.0, 1.7)),
    TPRAtTNR(0.99): ((1.0, 0.0), (1.0, 200.0)),
    TPRAtTNR(0.6, penalty=0.5): ((1.0, 0.0), (1.0, 1.25)),
    TPRAtFPR(0.01): ((1.0, 0.0), (1.0, 200.0)),
    RecallAtPrecision(0.6).at_prevalence(0.4): ((1.0, 0.0), (3.0, 4.5)),
}
MEASURES = [*PAPERS, *list(SEGMENTS)[1:]]
EPSILONS = [0.0, 1e-3, 0.1, 1.0]
# (measure, epsilon): only the G-mean's region depends on epsilon.
REGIONS = [(measure, 0.0) for measure in MEASURES if measure != GMean()]
REGIONS += [(GMean(), epsilon) for epsilon in EPSILONS]
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=repr)
every_region = pytest.mark.parametrize(("measure", "epsilon"), REGIONS, ids=str)

# Everywhere: near and far, all four quadrants, and along the axes where the regions have their corners.
sizes = st.one_of(st.floats(-20.0, 20.0), st.floats(-3.0, 1.3).map(lambda power: 10.0**power), st.just(0.0))
points = st.tuples(sizes, sizes)


def is_inside(measure, alpha, beta, epsilon, slack=0.0):
    """The regions as Table 1 prints them; the G-mean's cut by the slopes at (epsilon, 1 + epsilon)."""
    positive = alpha >= -slack and beta >= -slack
    alpha, beta = max(alpha, 0.0), max(beta, 0.0)
    length = math.hypot(alpha, beta)
    if measure in SEGMENTS:
        x, y = nearest_of_segment(measure, alpha, beta)
        return positive and math.hypot(x - alpha, y - beta) <= slack * (1.0 + length)
    if isinstance(measure, HMean):
        # Squared, because the root of a rounding error at the corner is no longer small.
        return positive and alpha + beta + 2 * math.sqrt(alpha * beta) >= 2 - slack and length <= 2 + slack
    if isinstance(measure, QMean):
        return positive and length <= math.sqrt(0.5) + slack
    radius = math.inf if epsilon == 0 else 0.5 * math.hypot(*rates_ratio(epsilon))
    return positive and alpha * beta >= 0.25 - slack and length <= radius + slack


def nearest_of_segment(measure, alpha, beta):
    (x0, y0), (x1, y1) = SEGMENTS[measure]
    squared = (x1 - x0) ** 2 + (y1 - y0) ** 2
    share = ((alpha - x0) * (x1 - x0) + (beta - y0) * (y1 - y0)) / squared if squared > 0 else 0.0
    share = min(max(share, 0.0), 1.0)
    return x0 + share * (x1 - x0), y0 + share * (y1 - y0)


def rates_ratio(epsilon):
    """Twice the slopes of sqrt(uv) at (epsilon, 1 + epsilon): the steepest that occur."""
    return math.sqrt((1 + epsilon) / epsilon), math.sqrt(epsilon / (1 + epsilon))


def boundary_curves(measure, epsilon, reach):
    """Functions of t in [0, 1] that trace the region's boundary, as far out as matters."""
    if measure in SEGMENTS:
        (x0, y0), (x1, y1) = SEGMENTS[measure]
        return [lambda t: (x0 + t * (x1 - x0), y0 + t * (y1 - y0))]
    if isinstance(measure, HMean):
        return [lambda t: (2 * t**2, 2 * (1 - t) ** 2), arc(2.0, 0.0, math.pi / 2)]
    if isinstance(measure, QMean):
        r = math.sqrt(0.5)
        return [lambda t: (r * t, 0 * t), lambda t: (0 * t, r * t), arc(r, 0.0, math.pi / 2)]
    if epsilon == 0:
        return [hyperbola(math.log(2 * reach + 4))]
    high, low = rates_ratio(epsilon)
    corner = math.atan2(low, high)
    return [hyperbola(math.log(high)), arc(0.5 * math.hypot(high, low), corner, math.pi / 2 - corner)]


def arc(radius, start, stop):
    def curve(t):
        angle = start + (stop - start) * t
        return radius * np.cos(angle), radius * np.sin(angle)

    return curve


def hyperbola(end):
    def curve(t):
        s = end * (2 * t - 1)
        return 0.5 * np.exp(s), 0.5 * np.exp(-s)

    return curve


def brute_force_projection(measure, alpha, beta, epsilon):
    """The nearest of densely many boundary points, refined on the bracket around it."""
    if is_inside(measure, alpha, beta, epsilon):
        return alpha, beta
    grid = np.linspace(0.0, 1.0, 2001)
    candidates = []
    for curve in boundary_curves(measure, epsilon, max(abs(alpha), abs(beta))):

        def squared_distance(t, curve=curve):
            x, y = curve(t)
            return (x - alpha) ** 2 + (y - beta) ** 2

        nearest = grid[np.argmin(squared_distance(grid))]
        low, high = max(-nearest, -0.001), min(1 - nearest, 0.001)
        shift = minimize_scalar(
            lambda d, f=squared_distance, t=nearest: f(t + d), bounds=(low, high), options={"xatol": 1e-13}
        ).x
        candidates += [(squared_distance(t), curve(t)) for t in (nearest, nearest + shift)]
    x, y = min(candidates, key=lambda candidate: candidate[0])[1]
    return float(x), float(y)


def sample_of_region(measure, n=4001):
    """Densely many points of the boundary, and some of the inside."""
    t = np.linspace(0.0, 1.0, n)
    parts = [np.column_stack(curve(t)) for curve in boundary_curves(measure, 0.0, 1e3)]
    rng = np.random.default_rng(0)
    if measure not in SEGMENTS:  # a segment has no inside
        cloud = rng.uniform(0.0, 2.0, size=(2000, 2))
        parts.append(np.array([point for point in cloud if is_inside(measure, *point, 0.0)]))
    return np.concatenate(parts)


@every_region
@quick
@given(point=points)
@example(point=(0.0, 0.0))
@example(point=(0.5, 0.5))
@example(point=(2.0, 0.0))
@example(point=(0.0, 2.0))
@example(point=(-1.0, 3.0))
@example(point=(1.95, 0.0))  # between the H-mean's curve and its corner
@example(point=(0.0, 1.95))
@example(point=(2.5, -1.0))  # beyond the ends of that curve
@example(point=(-1.0, 2.5))
@example(point=(20.0, 0.02))  # inside the G-mean's hyperbola, outside its ball
@example(point=(20.0, 2.0))
@example(point=(-20.0, -20.0))
def test_project_agrees_with_brute_force(measure, epsilon, point):
    expected = brute_force_projection(measure, *point, epsilon)
    assert measure.project(*point, epsilon) == pytest.approx(expected, abs=1e-6)


@every_region
@quick
@given(t=rates, which=st.integers(0, 2), away=st.sampled_from([0.0, 1e-9, -1e-9, 1e-3, -1e-3]))
def test_project_agrees_with_brute_force_at_the_boundary(measure, epsilon, t, which, away):
    curves = boundary_curves(measure, epsilon, 5.0)
    x, y = curves[which % len(curves)](t)
    point = (float(x) * (1 + away), float(y) * (1 + away))
    expected = brute_force_projection(measure, *point, epsilon)
    assert measure.project(*point, epsilon) == pytest.approx(expected, abs=1e-6)


@every_region
@quick
@given(point=st.tuples(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4)))
def test_a_projection_lies_in_the_region_and_projecting_again_does_nothing(measure, epsilon, point):
    projected = measure.project(*point, epsilon)
    assert is_inside(measure, *projected, epsilon, slack=1e-9)
    assert measure.project(*projected, epsilon) == pytest.approx(projected, rel=1e-9, abs=1e-9)


@every_region
@quick
@given(first=points, second=points)
def test_projecting_never_moves_two_points_apart(measure, epsilon, first, second):
    before = math.dist(first, second)
    assert math.dist(measure.project(*first, epsilon), measure.project(*second, epsilon)) <= before + 1e-9


@every_region
@quick
@given(point=st.tuples(st.floats(0.0, 2.0), st.floats(0.0, 2.0)))
def test_project_leaves_a_point_of_the_region_where_it_is(measure, epsilon, point):
    if measure in SEGMENTS:
        point = tuple(float(x) for x in boundary_curves(measure, epsilon, 1.0)[0](point[0] / 2))
        assert measure.project(*point, epsilon) == pytest.approx(point, rel=1e-13, abs=1e-13)
    elif is_inside(measure, *point, epsilon):
        assert measure.project(*point, epsilon) == pytest.approx(point, abs=1e-14)


@every_region
def test_some_points_of_the_unit_square_are_inside(measure, epsilon):
    # Without this the test above might never look at a point.
    assert is_inside(measure, *measure.slopes(0.5, 0.4), epsilon, slack=1e-12)


def test_the_g_means_region_grows_as_epsilon_falls():
    far = (50.0, 30.0)
    lengths = [math.hypot(*GMean().project(*far, epsilon)) for epsilon in (1.0, 0.1, 1e-3, 0.0)]
    assert lengths == sorted(lengths)
    assert len(set(lengths)) == 4
    # (1 + e) / e = 2 at e = 1, so the squared radius is (2 + 1/2) / 4.
    assert lengths[0] == pytest.approx(math.sqrt(0.625))
    assert lengths[-1] == pytest.approx(math.hypot(*far))


@every_measure
def test_fenchels_identity_holds_on_the_region(measure):
    sample = sample_of_region(measure)
    conjugates = np.array([measure.conjugate(*pair) for pair in sample])
    for u in np.linspace(0.05, 1.0, 12):
        for v in np.linspace(0.05, 1.0, 12):
            lowest = float(np.min(sample @ (u, v) - conjugates))
            assert lowest == pytest.approx(float(measure.value(u, v)), abs=1e-5)


@every_measure
@quick
@given(u=st.floats(1e-4, 1.0), v=st.floats(1e-4, 1.0))
def test_the_gradient_lies_in_the_region_and_attains_the_minimum(measure, u, v):
    alpha, beta = measure.slopes(u, v)
    assert is_inside(measure, alpha, beta, 0.0, slack=1e-9)
    assert alpha * u + beta * v - measure.conjugate(alpha, beta) == pytest.approx(measure.value(u, v), abs=1e-9)


@quick
@given(epsilon=st.sampled_from(EPSILONS[1:]), u=rates, v=rates)
def test_the_g_means_cut_region_holds_every_slope_that_occurs(epsilon, u, v):
    slopes = GMean().slopes(u + epsilon, v + epsilon)
    assert is_inside(GMean(), *slopes, epsilon, slack=1e-9)
    assert GMean().project(*slopes, epsilon) == pytest.approx(slopes, abs=1e-9)


@every_measure
@quick
@given(point=points, u=st.floats(0.0, 3.0), v=st.floats(0.0, 3.0))
def test_no_tangent_plane_of_the_region_cuts_below_the_measure(measure, point, u, v):
    alpha, beta = measure.project(*point)
    assert alpha * u + beta * v - measure.conjugate(alpha, beta) >= measure.value(u, v) - 1e-9


@every_measure
@quick
@given(point=points)
def test_conjugate_gradient_is_the_derivative_of_the_conjugate(measure, point):
    alpha, beta = measure.project(*point)
    step = 1e-4
    by_alpha = (measure.conjugate(alpha + step, beta) - measure.conjugate(alpha - step, beta)) / (2 * step)
    by_beta = (measure.conjugate(alpha, beta + step) - measure.conjugate(alpha, beta - step)) / (2 * step)
    assert measure.conjugate_gradient(alpha, beta) == pytest.approx((by_alpha, by_beta), abs=1e-6)


def test_the_q_mean_alone_of_the_papers_has_a_conjugate_that_is_not_zero():
    for measure in PAPERS:
        gradient = (1.0, 1.0) if isinstance(measure, QMean) else (0.0, 0.0)
        assert measure.conjugate_gradient(*measure.slopes(0.5, 0.5)) == gradient


@every_measure
@quick
@given(u=rates, v=rates, e=rates)
def test_lifting_both_rates_lifts_the_measure_no_more_than_its_stability(measure, u, v, e):
    assert measure.value(u + e, v + e) <= measure.value(u, v) + measure.stability(e) + 1e-12 * (
        1 + steepest(measure)
    )


def test_stabilities_are_those_of_table_1():
    # At e = 0.01: e, 4e, e and 3 sqrt(e).
    assert [measure.stability(0.01) for measure in PAPERS] == pytest.approx([0.01, 0.04, 0.01, 0.3])


def test_stabilities_of_the_others_are_their_steepest_slopes():
    assert BalancedAccuracy().stability(0.01) == pytest.approx(0.01)
    assert WeightedMin(0.3, 1.7).stability(0.01) == pytest.approx(0.017)
    assert TPRAtTNR(0.6, penalty=0.5).stability(0.01) == pytest.approx(0.01 * (1.0 + 0.5 / 0.4))


def steps_taken(alpha, beta):
    """How often the loop of the G-mean's projection runs."""
    code, lines = GMean.nearest_on_hyperbola.__code__, []
    first = next(k for k, line in enumerate(inspect.getsourcelines(code)[0]) if "error = " in line)

    def trace(frame, event, _):
        if frame.f_code is code and event == "line":
            lines.append(frame.f_lineno - code.co_firstlineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        GMean().nearest_on_hyperbola(alpha, beta)
    finally:
        sys.settrace(before)
    return lines.count(first)


@quick
@given(x=st.floats(0.1, 2.5), below=st.floats(0.0, 0.1))
def test_a_pair_that_has_just_left_the_g_means_region_is_brought_back_in_three_steps(x, below):
    """The loop is a part of SPADE's: of 4 to 32 points each such pair is one."""
    assert steps_taken(x * (1 - 0.5 * below), (0.25 / x) * (1 - below)) <= 3


@quick
@given(alpha=st.floats(-5.0, 5.0), beta=st.floats(-5.0, 5.0))
def test_any_pair_is_brought_back_in_a_few_steps(alpha, beta):
    if alpha <= 0 or beta <= 0 or alpha * beta < 0.25:
        assert steps_taken(alpha, beta) <= 9


def test_only_the_g_mean_is_not_lipschitz():
    concave = [name for name in measure_names() if isinstance(get_measure(name), ConcaveMeasure)]
    assert [name for name in concave if not get_measure(name).lipschitz] == ["gmean"]


@every_measure
def test_slopes_near_zero_are_bounded_exactly_if_the_measure_is_lipschitz(measure):
    assert (steepest(measure, 1e-6) <= 2.0 * steepest(measure, 1e-3)) == measure.lipschitz


def steepest(measure, tpr=0.5):
    return max(max(measure.slopes(tpr, v)) for v in (1e-6, 0.5, 1.0))


@pytest.mark.parametrize("measure", PAPERS, ids=repr)
def test_the_first_pair_of_the_papers_measures_is_their_slope_at_one_half(measure):
    assert measure.first_pair() == pytest.approx(measure.slopes(0.5, 0.5))


@every_measure
def test_the_first_pair_lies_in_the_region(measure):
    pair = measure.first_pair()
    assert is_inside(measure, *pair, 0.0, slack=1e-9)
    assert max(pair) <= 3.0


@pytest.mark.parametrize("penalty", [1.0, 2.0])
@pytest.mark.parametrize("tnr", [0.5, 0.9, 0.99])
@quick
@given(corners=st.lists(st.tuples(rates, rates), min_size=0, max_size=4))
def test_on_a_concave_curve_the_best_point_keeps_the_tnr(tnr, penalty, corners):
    """A penalty of 1 is exact: no point of the curve beyond the bound does better than the one at it."""
    fpr = np.linspace(0.0, 1.0, 401)
    curve = np.ones_like(fpr)
    for x, y in corners:  # the least of some rising lines is concave
        curve = np.minimum(curve, y + (1.0 - y) / max(x, 1e-3) * fpr)
    measure = TPRAtTNR(tnr, penalty=penalty)
    at_the_bound = measure.value(np.interp(1.0 - tnr, fpr, curve), tnr)
    assert measure.value(curve, 1.0 - fpr).max() <= at_the_bound + 1e-9


def test_every_concave_measure_of_the_registry_is_tested_here():
    concave = {
        type(get_measure(name)) for name in measure_names() if isinstance(get_measure(name), ConcaveMeasure)
    }
    assert concave <= {type(measure) for measure in MEASURES}


@quick
@given(s=rates, away=st.floats(0.0, 3.0))
def test_the_nearest_point_of_the_h_means_curve_is_found_from_anywhere_along_its_normal(s, away):
    """The curve (2 s^2, 2 (1 - s)^2) runs along (s, s - 1), so that its normal, to below, is (s - 1, -s)."""
    foot = 2.0 * s * s, 2.0 * (1.0 - s) ** 2
    length = math.hypot(s, 1.0 - s)
    point = foot[0] - away * (1.0 - s) / length, foot[1] - away * s / length
    assert HMean().nearest_on_curve(*point) == pytest.approx(s, abs=1e-9)
