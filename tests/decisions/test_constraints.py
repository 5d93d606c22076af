"""Thresholds that keep a constraint, by a margin that suits the number of rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from ratewise.decisions.cuts import constrained_ranks, constraint_slack
from ratewise.measures import (
    Constrained,
    Constraint,
    CostMatrix,
    FBeta,
    PrecisionAtRecall,
    RecallAtPrecision,
    TPRAtTNR,
)
from ratewise.solvers import best_threshold


def overlapping(positives, negatives, seed=0, shift=2.0):
    rng = np.random.default_rng(seed)
    signs = np.repeat([1.0, -1.0], [positives, negatives])
    return rng.standard_normal(signs.size) + shift * (signs > 0), signs


def precision_of(rates):
    tpr, tnr, p = rates
    return p * tpr / (p * tpr + (1 - p) * (1 - tnr))


def test_without_caution_the_best_cut_just_keeps_the_bound():
    scores, signs = overlapping(1_000, 10_000)
    found = best_threshold(scores, signs, TPRAtTNR(0.99), margin_scale=0.0)
    assert found.rates.tnr == pytest.approx(0.99, abs=1e-9)
    assert found.value == found.rates.tpr == np.mean(scores[:1_000] > found.threshold)


@pytest.mark.parametrize("negatives", [1_000, 10_000, 100_000])
def test_the_margin_is_half_a_standard_error(negatives):
    scores, signs = overlapping(1_000, negatives)
    found = best_threshold(scores, signs, TPRAtTNR(0.9))
    error = math.sqrt(0.9 * 0.1 / negatives)
    assert found.rates.tnr - 0.9 == pytest.approx(0.5 * error, abs=2.0 / negatives)


def test_the_margin_can_be_set():
    scores, signs = overlapping(1_000, 10_000)
    tnr = [best_threshold(scores, signs, TPRAtTNR(0.9, margin=margin)).rates.tnr for margin in (0.0, 1.0, 3.0)]
    assert tnr == pytest.approx([0.9, 0.903, 0.909], abs=5e-4)


def test_rows_scored_three_times_over_are_no_surer_than_once():
    scores, signs = overlapping(500, 2_000)
    once = best_threshold(scores, signs, RecallAtPrecision(0.8))
    thrice = best_threshold(
        np.tile(scores, 3), np.tile(signs, 3), RecallAtPrecision(0.8), margin_scale=math.sqrt(3)
    )
    assert thrice.rates == pytest.approx(once.rates, abs=5e-3)


def test_equal_weights_of_any_size_tell_as_much_as_weights_of_one():
    scores, signs = overlapping(500, 2_000)
    found = [best_threshold(scores, factor * signs, RecallAtPrecision(0.8)).threshold for factor in (1.0, 100.0)]
    assert found[0] == found[1]


def test_the_margin_keeps_the_bound_on_new_rows_more_often_than_not():
    kept = {0.0: 0, 1.0: 0}
    for seed in range(60):
        scores, signs = overlapping(300, 3_000, seed)
        for margin_scale in kept:
            threshold = best_threshold(scores, signs, RecallAtPrecision(0.8), margin_scale=margin_scale).threshold
            hits, alarms = norm.sf(threshold - 2.0), 10 * norm.sf(threshold)  # of all rows there could be
            kept[margin_scale] += hits / (hits + alarms) >= 0.8
    assert kept[1.0] > 30 > kept[0.0]


def test_calling_nothing_keeps_no_precision():
    scores, signs = np.array([3.0, 2.0, 1.0]), np.array([-1.0, 1.0, -1.0])
    assert constraint_slack(RecallAtPrecision(0.9).constraints(1 / 3), 0.0, 1.0, (1, 2)) == -np.inf
    assert best_threshold(scores, signs, RecallAtPrecision(0.9)).rates.tpr > 0


def test_a_measure_without_constraints_has_no_end_of_slack():
    assert constraint_slack(FBeta().constraints(0.5), 0.0, 1.0, (1, 1)) == np.inf


def test_where_no_cut_keeps_two_bounds_the_one_nearest_to_both_is_taken():
    scores, signs = overlapping(2_000, 2_000, shift=1.0)
    found = best_threshold(scores, signs, Constrained("f1", tpr=0.95, tnr=0.95))
    assert found.rates.tpr == pytest.approx(found.rates.tnr, abs=0.02)
    assert found.rates.tpr < 0.8


def nearly_flat_precision(wrong):
    """Twenty positives on top, then two hundred, with a false alarm after every few."""
    signs = [1.0] * 20
    for k in range(200):
        signs.append(1.0)
        if k % 20 < wrong:
            signs.append(-1.0)
    signs += [-1.0] * 2_000
    return -np.arange(len(signs), dtype=float), np.array(signs)


def test_a_bound_missed_by_less_than_the_noise_gets_the_benefit_of_the_doubt_where_keeping_it_is_dear():
    # 220 hits and 20 or 30 false alarms: a precision of 0.917 or 0.88, give or take 0.02.
    for wrong, precision in ((2, 0.917), (3, 0.88)):
        found = best_threshold(*nearly_flat_precision(wrong), RecallAtPrecision(0.9))
        assert found.rates.tpr > 0.9
        assert precision_of(found.rates) == pytest.approx(precision, abs=0.02)


def test_a_bound_missed_by_more_than_the_noise_is_kept_at_any_cost():
    scores, signs = nearly_flat_precision(8)  # 80 false alarms: a precision of 0.73
    found = best_threshold(scores, signs, RecallAtPrecision(0.9))
    assert precision_of(found.rates) >= 0.9
    assert found.rates.tpr < 0.3


def test_a_higher_penalty_or_no_caution_never_gives_the_benefit_of_the_doubt():
    scores, signs = nearly_flat_precision(3)
    measure = RecallAtPrecision(0.9)
    for found in (
        best_threshold(scores, signs, measure, margin_scale=0.0),
        best_threshold(scores, signs, replace(measure, penalty=100.0)),
    ):
        assert precision_of(found.rates) >= 0.9


def test_precision_at_recall_keeps_the_recall_and_then_looks_for_precision():
    scores, signs = overlapping(2_000, 20_000)
    found = best_threshold(scores, signs, PrecisionAtRecall(0.8))
    assert 0.8 <= found.rates.tpr <= 0.81
    assert found.value == pytest.approx(precision_of(found.rates))


@pytest.mark.parametrize("measure", ["f1", "kappa", CostMatrix()], ids=str)
@pytest.mark.parametrize(("gain", "kept"), [(0.05, False), (0.15, True)])
def test_doubt_is_allowed_only_where_it_gains_a_tenth_of_the_measures_scale(measure, gain, kept):
    measure = Constrained(measure, tnr=0.9)
    useless, perfect = measure.scale(0.5)
    values = useless + (perfect - useless) * np.array([0.5, 0.5 + gain])
    ranks = constrained_ranks(values, measure, np.array([0.5, 0.6]), np.array([0.99, 0.9]), 0.5, (1e3, 1e3))
    assert ranks[1] == (values[1] if kept else -np.inf)
    assert kept or ranks[0] == values[0]


shares = st.floats(0.0, 1.0)
bounds = st.builds(
    Constraint, st.just("a bound"), st.floats(-3.0, 3.0), st.floats(-3.0, 3.0), st.floats(0.1, 3.0), shares
)


def slack_by_hand(bound, tpr, tnr, points, margin):
    """In standard errors of the line; half a point is added to the hits and to the misses of a class."""
    variances = []
    for rate, number in zip((tpr, tnr), points, strict=True):
        share = (number * rate + 0.5) / (number + 1)
        variances.append(share * (1 - share) / (number + 1))
    error = math.sqrt(bound.on_tpr**2 * variances[0] + bound.on_tnr**2 * variances[1])
    return (bound.constant + bound.on_tpr * tpr + bound.on_tnr * tnr) / error - margin


@settings(deadline=None, max_examples=100)
@given(
    st.lists(bounds, min_size=1, max_size=3),
    shares.filter(bool),
    shares,
    st.tuples(*[st.floats(1, 1e4)] * 2),
    shares,
)
def test_the_slack_is_that_of_the_tightest_bound_in_standard_errors(several, tpr, tnr, points, margin_scale):
    found = float(constraint_slack(several, tpr, tnr, points, margin_scale))
    expected = min(slack_by_hand(one, tpr, tnr, points, margin_scale * one.margin) for one in several)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)
    # In doubt a bound may be missed by a standard error.
    found = float(constraint_slack(several, tpr, tnr, points, margin_scale, in_doubt=True))
    expected = min(slack_by_hand(one, tpr, tnr, points, -margin_scale) for one in several)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("line", [(-3.0, 4.0, 0.0), (-1.0, 4.0, -2.0), (-5.0, 4.0, 2.0), (-1e3, 4.0, 997.0)])
def test_a_bound_missed_by_rounding_alone_is_kept(line):
    """At a TPR of 3/4 and a TNR of 1 the line is 0; it is missed by parts of 1e-12 of the sum of its numbers."""
    bound = Constraint("a bound", *line, margin=0.0)
    for missed, kept in ((0.7, True), (1.3, False)):
        tpr = 0.75 - missed * 1e-12 * sum(map(abs, line)) / 4.0
        assert (float(constraint_slack([bound], tpr, 1.0, (10.0, 10.0))) >= 0) == kept


def test_slack_is_taken_of_rates_one_by_one():
    several = RecallAtPrecision(0.5).constraints(0.2)
    tpr, tnr = np.array([0.9, 0.0, 0.4]), np.array([0.9, 1.0, 0.2])
    found = constraint_slack(several, tpr, tnr, (20, 80))
    assert found.tolist() == [
        float(constraint_slack(several, *one, (20, 80))) for one in zip(tpr, tnr, strict=True)
    ]
    assert found[0] > 0 > found[2]


def ranks_by_hand(values, slack, doubtful, allowed):
    sure = [value for value, kept in zip(values, slack, strict=True) if kept >= 0]
    perhaps = [value for value, kept in zip(values, doubtful, strict=True) if kept >= 0]
    if sure and max(sure) >= max(perhaps, default=-math.inf) - allowed:
        return [value if kept >= 0 else -math.inf for value, kept in zip(values, slack, strict=True)]
    if perhaps:
        return [value if kept >= 0 else -math.inf for value, kept in zip(values, doubtful, strict=True)]
    return slack


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(shares, st.floats(0.01, 1.0), shares), min_size=1, max_size=4), st.floats(0.3, 0.95))
def test_cuts_that_keep_the_bounds_for_sure_rank_before_those_that_may_and_those_that_do_not(cuts, bound):
    values, tpr, tnr = (np.array(one) for one in zip(*cuts, strict=True))
    measure, points = Constrained("f1", tpr=bound, tnr=bound), (40.0, 60.0)
    bounds = measure.constraints(0.4)
    slack = constraint_slack(bounds, tpr, tnr, points).tolist()
    doubtful = constraint_slack(bounds, tpr, tnr, points, in_doubt=True).tolist()
    found = constrained_ranks(values, measure, tpr, tnr, 0.4, points)
    assert found.tolist() == ranks_by_hand(values.tolist(), slack, doubtful, 0.1)
    assert constrained_ranks(values, measure, tpr, tnr, 0.4, points, None) is values


def test_cuts_without_a_value_are_never_chosen_by_their_slack():
    measure = Constrained("f1", tnr=0.99)
    values, tnr = np.array([-np.inf, 0.4, 0.5]), np.array([0.9, 0.3, 0.2])
    found = constrained_ranks(values, measure, np.full(3, 0.5), tnr, 0.5, (1e3, 1e3))
    assert found[0] == -np.inf
    assert np.argmax(found) == 1
    # Where none has any slack, that of nothing found, the values are all there is.
    nothing = constrained_ranks(values, measure, np.zeros(3), tnr, 0.5, (1e3, 1e3))
    np.testing.assert_array_equal(nothing, values)
