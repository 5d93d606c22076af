"""The exact best threshold against every cut there is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.decisions import cuts as threshold_module
from ratewise.decisions.choose import half_standard_error, near_best
from ratewise.decisions.cuts import (
    BestThreshold,
    Cuts,
    ScoreBins,
    ScoreHistogram,
    ScoreRange,
    beside_tied_rows,
    effective_points,
    quick_threshold,
    smoothed_threshold,
)
from ratewise.measures import FBeta, GMean, Measure, MinRate, get_measure, measure_names
from ratewise.solvers import best_threshold, rates_at

quick = settings(deadline=None, max_examples=50)
weights = st.one_of(st.just(1.0), st.floats(0.1, 10.0))
# Few different scores, so that ties are common; or any.
scores = st.one_of(st.integers(-3, 3).map(float), st.floats(-100.0, 100.0))
points = st.lists(st.tuples(scores, st.sampled_from([-1.0, 1.0]), weights), min_size=1, max_size=25)
every_name = pytest.mark.parametrize("name", measure_names())


def columns(rows):
    table = np.array(rows)
    return table[:, 0], table[:, 1] * table[:, 2]


def rates_by_hand(scores, signed_weights, called):
    all_positive = signed_weights[signed_weights > 0].sum()
    all_negative = -signed_weights[signed_weights < 0].sum()
    hits = signed_weights[called & (signed_weights > 0)].sum()
    rejections = -signed_weights[~called & (signed_weights < 0)].sum()
    tpr = hits / all_positive if all_positive else 0.0
    tnr = rejections / all_negative if all_negative else 0.0
    return tpr, tnr, all_positive / (all_positive + all_negative)


def best_of_all_cuts(scores, signed_weights, measure):
    """Among the cuts that keep the constraints, if any does; None if there are constraints and none does."""
    cuts = [-np.inf, *np.unique(scores)]
    rates = [rates_by_hand(scores, signed_weights, scores > cut) for cut in cuts]
    if measure.constraints(rates[0][2]):
        rates = [one for one in rates if keeps(measure, *one)]
    return max((float(measure.value(*one)) for one in rates), default=None)


def keeps(measure, tpr, tnr, prevalence):
    bounds = measure.constraints(prevalence)
    return tpr > 0 and all(bound.excess(tpr, tnr) >= -1e-9 * (1 + abs(bound.constant)) for bound in bounds)


@dataclass(frozen=True)
class Accuracy(Measure):
    """A user's own measure, with nothing but a value."""

    def value(self, tpr, tnr, prevalence=None):
        return prevalence * tpr + (1.0 - prevalence) * tnr


@dataclass(frozen=True)
class Precision(Measure):
    """One that is not defined where nothing is predicted positive."""

    def value(self, tpr, tnr, prevalence=None):
        called = prevalence * tpr + (1.0 - prevalence) * (1.0 - tnr)
        return np.where(called > 0, prevalence * tpr / np.where(called > 0, called, 1.0), np.nan)


@dataclass(frozen=True)
class Indifferent(Measure):
    """Every cut is as good as any other, but for rounding."""

    rounding: float = 0.0

    def value(self, tpr, tnr, prevalence=None):
        return 0.5 + self.rounding * np.asarray(tpr)


@every_name
@quick
@given(rows=points)
def test_the_best_threshold_is_the_best_of_all_cuts(name, rows):
    scores, signed_weights = columns(rows)
    measure = get_measure(name)
    found = best_threshold(scores, signed_weights, measure, margin_scale=0.0)
    best = best_of_all_cuts(scores, signed_weights, measure)
    if best is None:
        assert not keeps(measure, *found.rates)
    else:
        assert found.value == pytest.approx(best, abs=1e-9)


@every_name
@quick
@given(rows=points)
def test_a_threshold_reproduces_the_rates_and_the_value_it_reports(name, rows):
    scores, signed_weights = columns(rows)
    found = best_threshold(scores, signed_weights, get_measure(name))
    assert_reproduced(found, scores, signed_weights, get_measure(name))


def assert_reproduced(found, scores, signed_weights, measure):
    rates = rates_at(scores, signed_weights, found.threshold)
    assert tuple(rates) == pytest.approx(tuple(found.rates), abs=1e-12)
    # A rate that is 0 but for rounding has a root of 1e-8.
    assert float(measure.value(*rates)) == pytest.approx(found.value, abs=1e-7)


@quick
@given(rows=points, threshold=scores)
def test_rates_at_counts_scores_above_the_threshold_as_called(rows, threshold):
    scores, signed_weights = columns(rows)
    expected = rates_by_hand(scores, signed_weights, scores > threshold)
    assert tuple(rates_at(scores, signed_weights, threshold)) == pytest.approx(expected, abs=1e-12)


def test_a_score_at_the_threshold_is_not_called():
    # Called: the 2 alone. One positive of two is hit, both negatives are spared.
    rates = rates_at(np.array([2.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.0, -1.0, -1.0]), 1.0)
    assert rates == (0.5, 1.0, 0.5)


def test_the_threshold_lies_midway_between_the_scores_it_parts():
    found = best_threshold(np.array([1.0, 3.0, 7.0, 8.0]), np.array([-1.0, -1.0, 1.0, 1.0]), MinRate())
    assert found.threshold == 5.0
    assert found.value == 1.0


def test_weights_move_the_threshold():
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    light = best_threshold(scores, np.array([1.0, -1.0, 1.0, -1.0]), Accuracy())
    heavy = best_threshold(scores, np.array([1.0, -9.0, 1.0, -1.0]), Accuracy())
    # Unweighted, cuts after one and after three points are both 3/4 right, and the lower is nearer zero.
    assert light.threshold == 1.5
    assert heavy.threshold == 3.5


@every_name
@pytest.mark.parametrize("score", [0.0, -2.5, 1e6])
def test_scores_all_equal_leave_a_choice_of_all_or_none(name, score):
    scores, signed_weights = np.full(4, score), np.array([1.0, 1.0, 1.0, -1.0])
    found = best_threshold(scores, signed_weights, get_measure(name))
    assert_reproduced(found, scores, signed_weights, get_measure(name))
    assert found.rates[:2] in [(1.0, 0.0), (0.0, 1.0)]
    # Calling all four: F1 = 6/7. Calling none: 0.
    if name == "f1":
        assert found.value == pytest.approx(6 / 7)


@every_name
@pytest.mark.parametrize("signed_weight", [1.0, -2.0])
def test_a_single_point_is_enough(name, signed_weight):
    scores, signed_weights = np.array([0.3]), np.array([signed_weight])
    found = best_threshold(scores, signed_weights, get_measure(name))
    assert_reproduced(found, scores, signed_weights, get_measure(name))


def test_a_single_positive_point_is_called():
    found = best_threshold(np.array([-0.3]), np.array([1.0]), FBeta())
    assert found.threshold < -0.3
    assert found.value == 1.0


@pytest.mark.parametrize("start", [1.0, -1.0, 0.0, 1e-300, 123456.789, -1e15])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("steps", [0, 1])
def test_neighbouring_floats_are_parted(start, dtype, steps):
    low = dtype(start)
    for _ in range(steps):  # so that the lower of the two is once the even float and once the odd one
        low = np.nextafter(low, dtype(np.inf))
    scores = np.array([low, np.nextafter(low, dtype(np.inf))])
    signed_weights = np.array([-1.0, 1.0])
    found = best_threshold(scores, signed_weights, MinRate())
    assert found.value == 1.0
    assert_reproduced(found, scores, signed_weights, MinRate())


@pytest.mark.parametrize("score", [1e17, -1e17])
@pytest.mark.parametrize("measure", [FBeta(), Accuracy()], ids=repr)
@pytest.mark.parametrize("signs", [[1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
def test_scores_too_large_to_tell_from_themselves_plus_one_keep_their_threshold(score, measure, signs):
    scores, signed_weights = np.full(3, score), np.array(signs)
    found = best_threshold(scores, signed_weights, measure)
    assert_reproduced(found, scores, signed_weights, measure)


@quick
@given(rows=points)
def test_a_measure_of_the_users_own_needs_only_a_value(rows):
    scores, signed_weights = columns(rows)
    found = best_threshold(scores, signed_weights, Accuracy())
    assert found.value == pytest.approx(best_of_all_cuts(scores, signed_weights, Accuracy()), abs=1e-9)
    assert_reproduced(found, scores, signed_weights, Accuracy())


def test_cuts_where_a_measure_is_not_defined_are_passed_over():
    found = best_threshold(np.array([3.0, 2.0, 1.0]), np.array([1.0, -1.0, 1.0]), Precision())
    assert found.value == 1.0
    assert found.threshold == 2.5


@pytest.mark.parametrize("n", [9, 5001])
@pytest.mark.parametrize("rounding", [0.0, 1e-13, -1e-13])
def test_of_equally_good_cuts_the_one_nearest_zero_is_taken(n, rounding):
    # Scores at odd numbers around zero, so 0 is a midpoint.
    scores = 2.0 * np.arange(n + 1) - n
    signed_weights = np.resize([1.0, -1.0], n + 1)
    assert best_threshold(scores, signed_weights, Indifferent(rounding)).threshold == 0.0


@quick
@given(rows=points, seed=st.integers(0, 1000))
def test_the_order_of_the_points_does_not_matter(rows, seed):
    scores, signed_weights = columns(rows)
    order = np.random.default_rng(seed).permutation(scores.size)
    found = best_threshold(scores, signed_weights, FBeta())
    shuffled = best_threshold(scores[order], signed_weights[order], FBeta())
    assert shuffled.threshold == found.threshold
    assert shuffled.value == pytest.approx(found.value, abs=1e-12)


def test_the_points_are_left_as_they_were():
    scores, signed_weights = np.array([1.0, -1.0, 0.5]), np.array([1.0, -1.0, -1.0])
    best_threshold(scores, signed_weights, FBeta())
    assert scores.tolist() == [1.0, -1.0, 0.5]
    assert signed_weights.tolist() == [1.0, -1.0, -1.0]


@every_name
@quick
@given(points)
def test_the_search_among_bins_finds_the_same_cut_as_the_search_among_all(name, rows):
    """With three bins for a handful of scores, most cuts lie inside a bin and many at an edge."""
    scores, signed_weights = columns(rows)
    measure = get_measure(name)
    everything = best_threshold(scores, signed_weights, measure)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threshold_module, "_MANY_SCORES", 1)
        patch.setattr(threshold_module, "_BINS", 3)
        binned = best_threshold(scores, signed_weights, measure)
    # A rate that is 0 but for rounding has a root of 1e-8.
    assert binned.value == pytest.approx(everything.value, abs=1e-7)
    assert rates_at(scores, signed_weights, binned.threshold) == pytest.approx(tuple(binned.rates), abs=1e-9)


@every_name
def test_many_scores_are_cut_as_well_as_a_full_sort_cuts_them(name):
    rng = np.random.default_rng(0)
    signed_weights = np.where(rng.random(50_000) < 0.03, 1.0, -1.0) * rng.uniform(0.5, 2.0, 50_000)
    scores = (rng.standard_normal(50_000) + (signed_weights > 0)).astype(np.float32)
    measure = get_measure(name)
    found = best_threshold(scores, signed_weights, measure)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threshold_module, "_MANY_SCORES", 10**9)
        expected = best_threshold(scores, signed_weights, measure)
    assert found.threshold == expected.threshold
    assert found.value == pytest.approx(expected.value, abs=1e-12)


@pytest.mark.parametrize("measure", [FBeta(), GMean(), MinRate()], ids=str)
@pytest.mark.parametrize("tolerance", [0.001, 0.02, 0.3])
def test_a_smoothed_threshold_of_many_scores_is_that_of_all_cuts(measure, tolerance):
    rng = np.random.default_rng(5)
    scores = np.round(rng.standard_normal(60_000), 3).astype(np.float32)  # with ties
    signs = np.where(scores + rng.standard_normal(60_000) > 2.0, 1.0, -1.0)
    cuts = Cuts(scores, signs, measure)
    merit = np.maximum(cuts.values - cuts.values.max() + tolerance, 0.0) * np.diff(cuts.tpr, prepend=0.0)
    near = np.flatnonzero(merit)
    expected = np.average(cuts.thresholds(near), weights=merit[near])
    assert smoothed_threshold(scores, signs, measure, tolerance) == pytest.approx(expected, abs=1e-9)


def test_a_smoothed_threshold_lies_among_the_good_ones():
    rng = np.random.default_rng(0)
    signs = np.where(np.arange(300) < 30, 1.0, -1.0)
    scores = rng.standard_normal(300) + signs
    for name in ("f1", "gmean", "min"):
        measure = get_measure(name)
        best = best_threshold(scores, signs, measure)
        assert smoothed_threshold(scores, signs, measure, 0.0) == best.threshold
        smoothed = smoothed_threshold(scores, signs, measure, 0.05)
        called = scores > smoothed
        value = measure.value(called[:30].mean(), 1 - called[30:].mean(), 0.1)
        assert value > best.value - 0.08


def test_a_smoothed_threshold_varies_less_from_sample_to_sample():
    measure = FBeta(1.0)
    found = {0.0: [], 0.1: []}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        signs = np.where(np.arange(400) < 20, 1.0, -1.0)
        scores = rng.standard_normal(400) + signs
        for tolerance, thresholds in found.items():
            thresholds.append(smoothed_threshold(scores, signs, measure, tolerance))
    assert np.std(found[0.1]) < 0.8 * np.std(found[0.0])


def with_tied_rows(block):
    """Half of the positives and a tenth of the negatives are tied; the others lie well apart, at -1 and 1."""
    scores = np.concatenate([np.full(50, block), np.full(50, 1.0), np.full(100, block), np.full(900, -1.0)])
    signs = np.repeat([1.0, 1.0, -1.0, -1.0], [50, 50, 100, 900])
    return scores.astype(np.float32), signs


@pytest.mark.parametrize("block", [-0.002, 0.002])
def test_tied_rows_fall_to_the_side_that_is_better_for_all_of_them(block):
    scores, signs = with_tied_rows(block)
    threshold = beside_tied_rows(0.0, scores, signs, MinRate(), 0.01)
    assert rates_at(scores, signs, threshold)[:2] == (1.0, pytest.approx(0.9))
    assert (threshold == 0.0) == (block > 0)  # it was on the right side already


def test_a_threshold_is_left_alone_where_others_are_better_by_chance_only():
    scores, signs = with_tied_rows(-0.002)
    assert beside_tied_rows(0.0, scores, signs, MinRate(), 0.3) == 0.0


def test_a_better_cut_far_away_is_left_alone_whatever_the_tied_rows():
    scores = np.concatenate([np.linspace(-3, 3, 601), np.linspace(-3, 3, 601)]).astype(np.float32)
    signs = np.repeat([1.0, -1.0], 601)
    threshold = beside_tied_rows(1.5, scores, signs, MinRate(), 0.01)
    assert abs(threshold - 1.5) <= 0.03 * scores.std()


@quick
@given(points, st.floats(-4.0, 4.0), st.sampled_from([0.02, 0.5, 2.0]))
def test_the_cut_taken_beside_tied_rows_is_the_best_of_those_near_by(rows, threshold, near_by):
    scores, signed = columns(rows)
    cuts = Cuts(scores, signed, MinRate(), margin_scale=None)
    thresholds = cuts.thresholds(np.arange(cuts.values.size))[::-1]
    reach = near_by * scores.std()
    first = max(np.searchsorted(thresholds, threshold - reach) - 1, 0)
    near = slice(first, np.searchsorted(thresholds, threshold + reach) + 1)
    best = max(cuts.values[::-1][near], default=-np.inf)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threshold_module, "_NEAR", near_by)
        moved = beside_tied_rows(threshold, scores, signed, MinRate(), 0.0)
    found = MinRate().value(*rates_at(scores, signed, moved))
    assert found == pytest.approx(max(best, MinRate().value(*rates_at(scores, signed, threshold))))


def test_a_quick_threshold_of_many_scores_is_nearly_the_best():
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(60_000) < 0.05, 1.0, -1.0)
    scores = rng.standard_normal(60_000) + 2.0 * (signs > 0)
    for name in ("f1", "gmean", "min", "mcc"):
        measure = get_measure(name)
        quick = quick_threshold(scores, signs, measure)
        assert isinstance(quick, BestThreshold)
        assert_reproduced(quick, scores, signs, measure)
        best = best_threshold(scores, signs, measure)
        assert best.value - 0.002 < quick.value <= best.value + 1e-12


def test_bins_of_parts_add_up_and_keep_the_weight_of_each_class():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(1_000)
    signed_weights = rng.choice([-1.0, 1.0], 1_000) * rng.uniform(0.5, 2.0, 1_000)
    scores[:2] = -1e6, 1e6  # the first and the last bin hold all beyond
    bins = ScoreBins.around(0.0, 1.0)
    whole, parts = bins.empty(), bins.empty()
    bins.add(scores, signed_weights, whole)
    for part in (slice(0, 400), slice(400, 1_000)):
        bins.add(scores[part], signed_weights[part], parts)
    np.testing.assert_allclose(parts, whole)
    middles, weights = bins.as_scores(whole)
    assert weights[weights > 0].sum() == pytest.approx(signed_weights[signed_weights > 0].sum())
    assert weights[weights < 0].sum() == pytest.approx(signed_weights[signed_weights < 0].sum())
    inside = np.abs(scores) < 5.9
    assert np.sum(middles * weights) == pytest.approx(
        np.sum((scores * signed_weights)[inside]) + bins.low * signed_weights[0] - bins.low * signed_weights[1],
        abs=bins.width * 1_000,
    )


def test_bins_that_reach_further_are_as_wide_and_more():
    near, far = ScoreBins.around(1.0, 2.0), ScoreBins.around(1.0, 2.0, reach=48.0)
    assert near.width == pytest.approx(2 * 6.0 * 2.0 / 8_192)
    assert far.width == near.width
    assert far.number == 8 * near.number
    assert near.low == pytest.approx(1.0 - 6.0 * 2.0)
    assert far.low == pytest.approx(1.0 - 48.0 * 2.0)


@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_a_histogram_has_the_rates_at_its_edges(unit):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(5_000)
    signed_weights = unit * np.where(scores + rng.standard_normal(5_000) > 1.0, 2.0, -1.0)
    histogram = ScoreHistogram.of(scores, signed_weights)
    for edge in (100, 4_000, 4_096, 5_000, 8_000):
        tpr, tnr, prevalence = rates_by_hand(scores, signed_weights, scores >= histogram.edges[edge])
        assert histogram.rates.tpr[edge] == pytest.approx(tpr, abs=1e-12)
        assert histogram.rates.tnr[edge] == pytest.approx(tnr, abs=1e-12)
        assert histogram.rates.prevalence == pytest.approx(prevalence)


def test_half_a_standard_error_is_that_of_a_share_on_the_measures_scale():
    assert half_standard_error(0.8, (0.0, 1.0), 100) == pytest.approx(0.5 * np.sqrt(0.8 * 0.2 / 100))
    # The same share of a scale that is twice as long, and begins below 0.
    assert half_standard_error(0.6, (-1.0, 1.0), 100) == pytest.approx(
        2 * half_standard_error(0.8, (0.0, 1.0), 100)
    )
    # Even a perfect value is not certain: it counts as one of 1e-6 from its end.
    assert half_standard_error(1.0, (0.0, 1.0), 100) == pytest.approx(0.5 * np.sqrt(1e-6 / 100))


def test_candidates_as_good_as_the_best_but_for_noise_are_near_it():
    assert near_best([0.7, 0.9, 0.85, 0.8], 0.1) == [1, 2, 3]
    assert near_best([0.7, 0.9, -np.inf], 0.0) == [1]


def test_effective_points_count_equal_weights_as_rows_and_uneven_ones_as_fewer():
    assert effective_points(np.array([3.0, 3.0, -0.1, -0.1, -0.1])) == pytest.approx((2.0, 3.0))
    positives, negatives = effective_points(np.array([1.0, 100.0, -1.0]))
    assert 1.0 < positives < 1.1
    assert negatives == 1.0
    assert effective_points(np.array([-1.0])) == (0.0, 1.0)


@quick
@given(rows=points, least=st.floats(0.0, 1.0))
def test_among_cuts_of_a_least_tpr_the_best_is_taken(rows, least):
    scores, signed_weights = columns(rows)
    found = Cuts(scores, signed_weights, Accuracy(), margin_scale=None).best(least)
    rates = [rates_by_hand(scores, signed_weights, scores > cut) for cut in (-np.inf, *np.unique(scores))]
    enough = [Accuracy().value(*one) for one in rates if one[0] >= least]
    if enough:  # not so if no row is positive
        assert found.value == pytest.approx(max(enough), abs=1e-9)
        assert found.rates.tpr >= least


def test_cuts_beyond_all_scores_lie_half_away():
    cuts = Cuts(np.array([5.0, 2.0]), np.array([1.0, -1.0]), MinRate(), margin_scale=None)
    np.testing.assert_array_equal(cuts.thresholds(np.arange(3)), [5.5, 3.5, 1.5])


def test_occupied_bins_stand_for_their_scores_at_their_middles():
    bins = ScoreBins(-1.0, 0.5, 4)  # -1, -0.5, 0, 0.5 and 1
    weights = bins.empty()
    bins.add(np.array([-0.9, -0.6, 0.7, 9.0, -9.0]), np.array([1.0, -2.0, 4.0, -8.0, 16.0]), weights)
    np.testing.assert_array_equal(weights, [[2.0, 0.0, 0.0, 8.0], [17.0, 0.0, 0.0, 4.0]])
    middles, signed_weights = bins.as_scores(weights)
    np.testing.assert_array_equal(middles, [-0.75, 0.75, -0.75, 0.75])
    np.testing.assert_array_equal(signed_weights, [-2.0, -8.0, 17.0, 4.0])


@quick
@given(mean=st.floats(-100.0, 100.0), deviation=st.floats(1.0, 100.0))
def test_bins_are_moved_down_by_less_than_a_width_to_have_an_edge_at_zero(mean, deviation):
    bins = ScoreBins.around(mean, deviation)
    moved = bins.with_an_edge_at_zero()
    assert moved[1:] == bins[1:]
    assert -1e-6 <= (bins.low - moved.low) / bins.width <= 1 + 1e-6
    assert moved.low / moved.width == pytest.approx(round(moved.low / moved.width), abs=1e-6)


def test_a_histogram_offers_its_inner_edges_as_thresholds():
    scores, signed_weights = np.linspace(-1.0, 1.0, 201), np.ones(201)
    signed_weights[:20] = -1.0
    histogram = ScoreHistogram.of(scores, signed_weights)
    values = histogram.values(FBeta())
    assert histogram.edges.size == values.size == 8_193
    for edge in (1, 3_000, 5_000, 8_191):
        rates = rates_by_hand(scores, signed_weights, scores >= histogram.edges[edge])
        assert values[edge] == pytest.approx(float(FBeta().value(*rates)))
    assert histogram.edges[[0, -1]].tolist() == [-np.inf, np.inf]
    assert values[[0, -1]].tolist() == [-np.inf, -np.inf]
    assert np.isfinite(values[1:-1]).all()


def test_a_quick_threshold_of_many_equal_scores_is_finite():
    scores, signs = np.full(40_000, 2.0), np.resize([1.0, 1.0, -1.0], 40_000)
    bounded = get_measure("f1-at-tnr-0.95")
    assert quick_threshold(scores, signs, bounded) == best_threshold(scores, signs, bounded)
    found = quick_threshold(scores, signs, FBeta())
    assert np.isfinite(found.threshold)
    assert np.isfinite(found.value)


def test_of_many_scores_only_those_near_the_best_cut_are_sorted():
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(50_000) < 0.2, 1.0, -1.0)
    scores = rng.standard_normal(50_000) + 2.0 * (signs > 0)
    best = best_threshold(scores, signs, FBeta())
    for tolerance, most in ((1e-12, 0.01), (0.01, 0.2)):
        stretches = ScoreHistogram.of(scores, signs).where_the_best_may_lie(FBeta(), tolerance)
        inside = [(scores >= one.low) & (scores < one.high) for one in stretches]
        assert 0 < sum(map(np.count_nonzero, inside)) < most * scores.size
        assert any(one.low < best.threshold < one.high for one in stretches)
        for one in stretches:
            above = scores >= one.high
            assert one.true_positives == np.count_nonzero(above & (signs > 0))
            assert one.false_positives == np.count_nonzero(above & (signs < 0))
            assert (one.positives, one.negatives) == (np.count_nonzero(signs > 0), np.count_nonzero(signs < 0))


def test_a_smoothed_threshold_weighs_cuts_by_their_merit_and_the_positives_that_they_gain():
    # Below the first cut, of F1 1/2, each positive more is a cut: after 1, 2, 3 and 4 of them F1 is 2k / (k + 4).
    scores, signs = np.array([5.0, 4.0, 3.0, 1.0, -1.0, -3.0]), np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    merits = np.array([2 * k / (k + 4) - 0.5 for k in (2, 3, 4)])
    expected = np.average([3.5, 2.0, 0.0], weights=merits)
    assert smoothed_threshold(scores, signs, FBeta(), 0.5) == pytest.approx(expected)


def test_where_no_positive_lies_at_a_good_cut_the_smoothed_threshold_is_the_best():
    scores, signs = np.array([3.0, 2.0, 1.0]), np.array([-1.0, -1.0, -1.0])
    assert (
        smoothed_threshold(scores, signs, Accuracy(), 0.1) == best_threshold(scores, signs, Accuracy()).threshold
    )


@quick
@given(rows=points, ends=st.tuples(scores, scores))
def test_the_cuts_of_a_stretch_are_those_of_all_scores_but_for_its_ends(rows, ends):
    scores, signed_weights = columns(rows)
    low, high = min(ends), max(ends)
    inside, above = (scores >= low) & (scores < high), scores >= high
    if not inside.any():
        return
    positive, negative = signed_weights > 0, signed_weights < 0
    totals = signed_weights[positive].sum(), -signed_weights[negative].sum()
    hits, alarms = signed_weights[positive & above].sum(), -signed_weights[negative & above].sum()
    found = Cuts(
        scores, signed_weights, Accuracy(), ScoreRange(low, high, hits, alarms, *totals), margin_scale=None
    )
    everything = Cuts(scores, signed_weights, Accuracy(), margin_scale=None)
    first = int(np.unique(scores[above]).size)
    number = int(np.unique(scores[inside]).size)
    same = slice(first, first + number + 1)
    np.testing.assert_allclose(found.tpr, everything.tpr[same], atol=1e-12)
    np.testing.assert_allclose(found.tnr, everything.tnr[same], atol=1e-12)
    assert found.values[[0, -1]].tolist() == [-np.inf, -np.inf]
    np.testing.assert_allclose(found.values[1:-1], everything.values[same][1:-1], atol=1e-12)
    inner = np.arange(1, number)
    np.testing.assert_array_equal(found.thresholds(inner), everything.thresholds(first + inner))


def test_all_cuts_are_looked_at_where_scores_are_few_or_a_measure_may_fall():
    scores, signs = np.linspace(-1.0, 1.0, 32_768), np.repeat([-1.0, 1.0], 16_384)
    assert threshold_module._ranges_to_search(scores[1:], signs[1:], FBeta()) == [threshold_module._ALL_SCORES]
    assert threshold_module._ranges_to_search(scores, signs, Accuracy()) == [threshold_module._ALL_SCORES]
    (found,) = threshold_module._ranges_to_search(scores, signs, FBeta())
    assert found.high - found.low < 0.01


@pytest.mark.parametrize("name", ["recall-at-precision-0.5", "recall-at-precision-0.99", "f1-at-tnr-0.95"])
@pytest.mark.parametrize("margin_scale", [1.0, 0.0, None])
def test_a_quick_threshold_of_many_scores_under_a_bound_is_the_exact_one(name, margin_scale):
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(40_000) < 0.1, 1.0, -1.0)
    scores = rng.standard_t(4, signs.size).astype(np.float32) + signs.astype(np.float32)  # with long tails
    how = {"measure": get_measure(name), "margin_scale": margin_scale}
    assert quick_threshold(scores, signs, **how) == best_threshold(scores, signs, **how)


def test_a_quick_threshold_of_few_scores_or_under_a_bound_is_the_exact_one():
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(32_768) < 0.2, 1.0, -1.0)
    scores = rng.standard_normal(32_768) + 2.0 * (signs > 0)
    measure = get_measure("recall-at-precision-0.9")
    assert quick_threshold(scores, signs, measure) == best_threshold(scores, signs, measure)
    assert quick_threshold(scores[1:], signs[1:], FBeta()) == best_threshold(scores[1:], signs[1:], FBeta())
    assert quick_threshold(scores, signs, FBeta()).threshold in ScoreHistogram.of(scores, signs).edges
