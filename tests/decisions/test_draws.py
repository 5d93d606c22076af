"""Intervals from counts alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from ratewise.counts import Counts
from ratewise.decisions.draws import drawn_counts, interval, normal_draws, resampled, values_of
from ratewise.measures import FunctionMeasure, get_measure, measure_names

quick = settings(deadline=None, max_examples=50)
NORMALS = normal_draws(0)


def middle(values):
    """The interval without a value to include."""
    return interval(values, float(np.median(values)))


def test_drawing_counts_is_as_drawing_rows():
    rng = np.random.default_rng(0)
    truth = rng.random(300) < 0.3
    called = np.where(rng.random(300) < 0.8, truth, ~truth)
    measure = get_measure("f1")
    by_rows = []
    for _ in range(2000):
        sample = rng.integers(0, 300, size=300)
        by_rows.append(measure.score(truth[sample], called[sample], pos_label=True))
    by_counts = values_of(measure, resampled(Counts.of_labels(truth, called), NORMALS))
    assert np.allclose(middle(by_rows), middle(by_counts), atol=0.015)
    assert np.std(by_counts) == pytest.approx(np.std(by_rows), rel=0.1)


def test_the_interval_is_as_wide_as_it_should_be():
    many = resampled(Counts.of_two(9000, 1000, 1000, 9000), NORMALS)
    low, high = interval(many.tpr, 0.9)
    assert (high - low) / 2 == pytest.approx(1.96 * np.sqrt(0.9 * 0.1 / 10_000), rel=0.1)


@pytest.mark.parametrize("name", measure_names())
def test_every_measure_is_finite_on_samples_that_lost_a_cell(name):
    draws = resampled(Counts.of_two(1, 0, 0, 30), NORMALS)
    assert (draws.tpr == 1).any()
    assert np.isfinite(values_of(get_measure(name), draws)).all()


@pytest.mark.parametrize(("found", "positives"), [(0, 3), (3, 3), (1, 12), (60, 100), (997, 1000)])
def test_the_interval_of_a_rate_is_that_of_jeffreys(found, positives):
    rate, draws = found / positives, resampled(Counts.of_two(found, positives - found, 5, 95), NORMALS)
    low, high = beta.ppf([0.025, 0.975], found + 0.5, positives - found + 0.5)
    expected = min(low, rate), max(high, rate)
    assert interval(draws.tpr, rate) == pytest.approx(expected, abs=0.02 + 0.06 * (high - low))


def test_a_few_positives_all_missed_do_not_prove_that_all_would_be():
    low, high = interval(resampled(Counts.of_two(0, 3, 0, 100), NORMALS).tpr, 0.0)
    assert low == 0.0
    assert high > 0.4


def test_measures_written_for_single_numbers_are_taken_one_by_one():
    class Single:
        def value(self, tpr, tnr, prevalence):
            return min(tpr, tnr) if tpr > 0.5 else 0.0

    draws = resampled(Counts.of_two(30, 10, 5, 60), NORMALS)
    function = FunctionMeasure(lambda tpr, tnr: min(tpr, tnr) if tpr > 0.5 else 0.0)
    assert np.array_equal(values_of(Single(), draws), values_of(function, draws))


def weighted_counts(seed=0, rows=400):
    rng = np.random.default_rng(seed)
    truth = rng.random(rows) < 0.3
    called = np.where(rng.random(rows) < 0.8, truth, ~truth)
    weights = rng.choice([0.0, 0.5, 1.0, 4.0], size=rows)
    return truth, called, weights, Counts.of_labels(truth, called, weights)


def test_drawing_weights_is_drawing_weighted_rows():
    truth, called, weights, counts = weighted_counts()
    measure, rng, by_rows = get_measure("f1"), np.random.default_rng(3), []
    for _ in range(2000):
        sample = rng.integers(0, 400, size=400)
        by_rows.append(measure.score(truth[sample], called[sample], sample_weight=weights[sample], pos_label=True))
    by_weights = values_of(measure, resampled(counts, NORMALS))
    assert np.std(by_weights) == pytest.approx(np.std(by_rows), rel=0.15)
    assert middle(by_weights) == pytest.approx(middle(by_rows), abs=0.02)


def test_an_empty_cell_of_weighted_rows_is_as_uncertain_as_if_rows_of_usual_weight_were_missing_there():
    weight = 7.0
    plain = Counts.of_two(0, 12, 5, 95)
    by_weight, by_rows = resampled(plain.decay(weight), NORMALS), resampled(plain, NORMALS)
    assert by_weight.tpr == pytest.approx(by_rows.tpr)
    assert by_weight.tpr.max() > 0.05


def test_a_larger_normal_draws_a_larger_count():
    low, high = drawn_counts((20, 5, 8, 70), np.array([[-1000] * 4, [1000] * 4]))
    assert (low < [20, 5, 8, 70]).all()
    assert (high > [20, 5, 8, 70]).all()


def test_normal_draws_are_whole_thousandths_of_a_normal_distribution():
    found = normal_draws(3, 20_000)
    assert found.shape == (20_000, 4)
    assert found.dtype == np.int64
    assert found.mean() == pytest.approx(0.0, abs=20.0)
    assert found.std() == pytest.approx(1000.0, rel=0.02)
    np.testing.assert_array_equal(found[:5], normal_draws(3, 5))
    assert normal_draws(0).shape == (2_000, 4)


@quick
@given(st.tuples(*[st.integers(0, 50)] * 4), st.integers(-3_000, 3_000), st.floats(0.0, 1.0))
def test_counts_are_drawn_by_wilson_and_hilfertys_formula(counts, normal, more):
    more += 0.01
    found = drawn_counts(counts, np.full((1, 4), normal), more=more)[0]
    for count, drawn in zip(counts, found, strict=True):
        shape = count + more
        root = 1.0 - 1.0 / (9.0 * shape) + normal / 1000.0 / (3.0 * np.sqrt(shape))
        assert drawn == pytest.approx(shape * max(root, 0.0) ** 3)


def test_intervals_hold_the_middle_share_and_the_value_itself():
    values = np.arange(101.0)
    assert interval(values, 50.0) == pytest.approx((2.5, 97.5))
    assert interval(values, 50.0, 0.5) == pytest.approx((25.0, 75.0))
    assert interval(values, -3.0) == pytest.approx((-3.0, 97.5))
    assert interval(values, 103.0) == pytest.approx((2.5, 103.0))
