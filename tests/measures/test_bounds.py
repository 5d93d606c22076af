"""Measures under bounds, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from derivatives import assert_slopes_are_derivatives
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratewise.counts import Counts
from ratewise.measures import (
    Bound,
    Constrained,
    CostMatrix,
    FBeta,
    GMean,
    Jaccard,
    MinRate,
    NetBenefit,
    PrecisionAtRecall,
    RecallAtAlertRate,
    RecallAtPrecision,
    TPRAtFPR,
    TPRAtTNR,
    Tversky,
    WeightedMin,
    get_measure,
)

quick = settings(deadline=None, max_examples=80)
rates = st.floats(0.0, 1.0)
inner_rates = st.floats(0.02, 0.98)
prevalences = st.floats(0.01, 0.99)
shares = st.floats(0.05, 0.95)
cells = st.sampled_from([0, 1, None])


def precision_of(tpr, tnr, p):
    called = p * tpr + (1 - p) * (1 - tnr)
    return p * tpr / called if called > 0 else math.nan


@quick
@given(tpr=rates, tnr=rates, p=prevalences, bound=shares)
def test_a_bound_on_the_precision_holds_exactly_where_the_precision_reaches_it(tpr, tnr, p, bound):
    precision = precision_of(tpr, tnr, p)
    # The bound's line is of the order of 1: a 1e-24th of the rows called, however precise, is lost in rounding.
    assume(p * tpr + (1 - p) * (1 - tnr) > 1e-4 and abs(precision - bound) > 1e-9)
    (constraint,) = RecallAtPrecision(bound).constraints(p)
    assert (constraint.excess(tpr, tnr) > 0) == (precision > bound)


@quick
@given(tpr=rates, tnr=rates, p=prevalences, bound=shares)
def test_bounds_on_the_rates_hold_exactly_where_the_rates_reach_them(tpr, tnr, p, bound):
    assume(min(abs(tpr - bound), abs(tnr - bound), abs(1 - tnr - bound)) > 1e-9)
    (at_tnr,), (at_fpr,) = TPRAtTNR(bound).constraints(p), TPRAtFPR(bound).constraints(p)
    (at_recall,) = PrecisionAtRecall(bound).constraints(p)
    assert (at_tnr.excess(tpr, tnr) > 0) == (tnr > bound)
    assert (at_fpr.excess(tpr, tnr) > 0) == (1 - tnr < bound)
    assert (at_recall.excess(tpr, tnr) > 0) == (tpr > bound)


@quick
@given(tpr=rates, tnr=rates, p=prevalences, bound=shares)
def test_where_the_bound_holds_the_value_is_the_plain_one(tpr, tnr, p, bound):
    for measure, plain in (
        (TPRAtTNR(bound), tpr),
        (RecallAtPrecision(bound), tpr),
        (PrecisionAtRecall(bound), precision_of(tpr, tnr, p) if tpr > 0 else 0.0),
        (Constrained("f1", tpr=bound, tnr=bound), FBeta().value(tpr, tnr, p)),
    ):
        kept = all(constraint.excess(tpr, tnr) >= 0 for constraint in measure.constraints(p))
        value = measure.value(tpr, tnr, p)
        assert value == pytest.approx(plain, abs=1e-12) if kept else value <= plain


@quick
@given(tpr=rates, tnr=rates, p=prevalences, bound=shares)
def test_constrained_with_one_bound_is_the_measure_of_that_name(tpr, tnr, p, bound):
    def recall(tpr, tnr):
        return tpr

    pairs = [
        (Constrained(recall, tnr=bound), TPRAtTNR(bound)),
        (Constrained(recall, precision=bound), RecallAtPrecision(bound)),
        (RecallAtPrecision(bound).at_prevalence(p), RecallAtPrecision(bound)),
    ]
    for one, other in pairs:
        assert one.value(tpr, tnr, p) == pytest.approx(other.value(tpr, tnr, p), rel=1e-9, abs=1e-9)


@quick
@given(tpr=inner_rates, tnr=inner_rates, p=prevalences, bound=shares)
def test_slopes_of_a_constrained_measure_are_derivatives(tpr, tnr, p, bound):
    measure = Constrained("gmean", tpr=bound, precision=bound)
    assume(all(abs(constraint.excess(tpr, tnr)) > 1e-2 for constraint in measure.constraints(p)))
    assert_slopes_are_derivatives(measure, tpr, tnr, p, tolerance=1e-3)


def test_constrained_takes_names_measures_and_functions_and_adds_to_their_bounds():
    assert Constrained("gmean", tnr=0.9) == Constrained(GMean(), tnr=0.9)
    assert hash(Constrained("gmean", tnr=0.9)) == hash(Constrained(GMean(), tnr=0.9))
    assert Constrained(lambda tpr, tnr: tpr * tnr, tpr=0.5).value(0.8, 0.5) == pytest.approx(0.4)
    both = Constrained(TPRAtTNR(0.9), precision=0.7)
    assert [constraint.label for constraint in both.constraints(0.2)] == [
        "a TNR of at least 0.9",
        "a precision of at least 0.7",
    ]


def test_constrained_values_come_in_arrays_too():
    measure = Constrained("f1", tnr=0.95)
    values = measure.value(np.array([0.5, 0.9]), np.array([0.99, 0.5]), 0.1)
    assert values == pytest.approx([measure.value(0.5, 0.99, 0.1), measure.value(0.9, 0.5, 0.1)])


@pytest.mark.parametrize(
    "measure", ["mcc", "fowlkes-mallows", "recall-at-precision-0.9", "precision-at-recall-0.8"]
)
def test_measures_of_the_prevalence_ask_for_it(measure):
    with pytest.raises(ValueError, match="give value\\(\\) a prevalence"):
        get_measure(measure).value(0.5, 0.5)


@quick
@given(tpr=rates, tnr=rates, p=prevalences)
def test_tversky_is_f1_and_jaccard_at_its_corners(tpr, tnr, p):
    assert Tversky(0.5, 0.5).value(tpr, tnr, p) == pytest.approx(FBeta().value(tpr, tnr, p), abs=1e-12)
    assert Tversky(1.0, 1.0).value(tpr, tnr, p) == pytest.approx(Jaccard().value(tpr, tnr, p), abs=1e-12)
    assert Tversky(0.2, 0.8).value(tpr, tnr, p) == pytest.approx(FBeta(2.0).value(tpr, tnr, p), abs=1e-12)


@quick
@given(tpr=rates, tnr=rates)
def test_weighted_min_with_equal_weights_is_min(tpr, tnr):
    assert WeightedMin(1.0, 1.0).value(tpr, tnr) == pytest.approx(MinRate().value(tpr, tnr), abs=1e-12)


def test_the_heavier_class_of_weighted_min_is_neglected_less():
    assert WeightedMin(1.0, 0.5).value(0.95, 0.9) == pytest.approx(0.95)
    assert WeightedMin(1.0, 0.5).value(0.9, 0.95) == pytest.approx(0.9)


@quick
@given(tpr=rates, tnr=rates, p=prevalences, t=shares)
def test_net_benefit_is_a_cost_matrix(tpr, tnr, p, t):
    """Minus the cost of a false alarm at odds t and of a miss at 1, plus what all positives together are worth."""
    cost = CostMatrix(((0, t / (1 - t)), (1, 0)))
    assert NetBenefit(t).value(tpr, tnr, p) == pytest.approx(cost.value(tpr, tnr, p) + p, abs=1e-9)


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        (((0, 1),), "four finite numbers"),
        (((0, 1, 2), (1, 0, 2)), "four finite numbers"),
        (((0, math.nan), (1, 0)), "four finite numbers"),
        (5, "four finite numbers"),
        ((("a", 1), (1, 0)), "four finite numbers"),
        (((1, 1), (5, 0)), "a mistake must cost more"),
        (((0, 1), (0, 5)), "a mistake must cost more"),
        (((0, 1), (5, 5)), "a mistake must cost more"),
    ],
)
def test_a_cost_matrix_that_makes_no_sense_is_refused(costs, words):
    with pytest.raises(ValueError, match=words):
        CostMatrix(costs)


@quick
@given(tpr=rates, tnr=rates, p=prevalences, right=st.tuples(rates, rates))
def test_a_cost_matrix_is_minus_the_mean_cost_of_a_row(tpr, tnr, p, right):
    (tn, tp), (fp, fn) = right, (3.0, 7.0)
    cost = p * (tpr * tp + (1 - tpr) * fn) + (1 - p) * (tnr * tn + (1 - tnr) * fp)
    assert CostMatrix(((tn, fp), (fn, tp))).value(tpr, tnr, p) == pytest.approx(-cost, abs=1e-9)


def test_a_cost_matrix_may_come_as_lists_or_an_array():
    assert CostMatrix([[0, 1], [5, -2]]) == CostMatrix(np.array([[0, 1], [5, -2]]))
    assert CostMatrix([[0, 1], [5, -2]]).value(0.5, 0.9, 0.1) == pytest.approx(-(0.9 * 0.1 + 0.05 * 5 - 0.05 * 2))


@pytest.mark.parametrize("bad", [0, 1, -0.5, 1.5, math.nan, "0.9", None, True])
def test_a_bound_must_be_a_share(bad):
    makers = {
        "TPRAtTNR: tnr": TPRAtTNR,
        "TPRAtFPR: fpr": TPRAtFPR,
        "RecallAtPrecision: precision": RecallAtPrecision,
        "PrecisionAtRecall: recall": PrecisionAtRecall,
        "RecallAtAlertRate: alert_rate": RecallAtAlertRate,
        "NetBenefit: probability": NetBenefit,
    }
    for words, make in makers.items():
        with pytest.raises(ValueError, match=f"{words} must be a number above 0 and below 1"):
            make(bad)


@pytest.mark.parametrize("make", [TPRAtTNR, TPRAtFPR, RecallAtPrecision, PrecisionAtRecall])
@pytest.mark.parametrize("settings", [{"penalty": 0}, {"penalty": math.inf}, {"margin": -1}, {"margin": "half"}])
def test_penalties_and_margins_out_of_range_are_refused_by_name(make, settings):
    with pytest.raises(ValueError, match=f"{make.__name__}: {next(iter(settings))} must be a finite number"):
        make(0.5, **settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "at least one of tpr, tnr, precision and recall"),
        ({"tpr": 1.5}, "Constrained: tpr must be"),
        ({"tnr": 0.9, "penalty": -1}, "Constrained: penalty must be"),
        ({"alert_rate": 0.0}, "Constrained: alert_rate must be"),
    ],
)
def test_constrained_needs_bounds_that_make_sense(settings, words):
    with pytest.raises(ValueError, match=words):
        Constrained("f1", **settings)


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_tversky_and_weighted_min_refuse_weights_that_are_not_positive(name):
    with pytest.raises(ValueError, match=f"Tversky: {name} must be a finite number above 0"):
        Tversky(**{name: 0})
    with pytest.raises(ValueError, match="WeightedMin: on_negatives must be a finite number above 0"):
        WeightedMin(1.0, -1.0)


@pytest.mark.parametrize(
    ("bound", "missed"), [({"tpr": 0.8}, 0.125), ({"tnr": 0.95}, 1.0), ({"tpr": 0.8, "tnr": 0.95}, 1.125)]
)
def test_a_missed_bound_costs_its_penalty_times_the_share_that_is_missing(bound, missed):
    # An eighth of the TPR is missing; there are twice the false alarms that are allowed.
    measure = Constrained("gmean", penalty=3.0, margin=0.2, **bound)
    assert measure.value(0.7, 0.9) == pytest.approx(GMean().value(0.7, 0.9) - 3.0 * missed)
    assert [one.margin for one in measure.constraints(0.5)] == [0.2] * len(bound)


def test_at_the_corner_of_a_minimum_the_slopes_are_the_mean_of_those_beside_it():
    measure = WeightedMin(0.5, 2.0)
    beside = [measure.slopes(tpr, 0.875) for tpr in (0.4, 0.6)]
    assert measure.slopes(0.5, 0.875) == pytest.approx(np.mean(beside, axis=0))


@pytest.mark.parametrize("measure", [TPRAtTNR(0.9), TPRAtTNR(0.3)], ids=str)
def test_the_slope_of_the_conjugate_of_a_penalty_is_the_nearest_point_of_the_bounds_line(measure):
    constant, on_tpr, on_tnr = measure.line()
    x, y = measure.conjugate_gradient(1.5, 0.5)
    assert constant + on_tpr * x + on_tnr * y == pytest.approx(0.0, abs=1e-12)
    assert x * on_tnr == pytest.approx(y * on_tpr)  # at a right angle to the line


@pytest.mark.parametrize("kind", [RecallAtPrecision, TPRAtTNR, TPRAtFPR, PrecisionAtRecall, RecallAtAlertRate])
@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, "high"])
def test_a_confidence_is_a_share_or_none(kind, confidence):
    with pytest.raises(ValueError, match="confidence must be a number above 0 and below 1"):
        kind(0.5, confidence=confidence)
    assert kind(0.5, confidence=None).confidence is None


def test_at_a_bound_that_is_just_kept_the_slopes_are_half_of_the_penalised_or_those_of_the_measure_itself():
    measure = TPRAtTNR(0.5, penalty=3.0)
    beside = [measure.slopes(0.7, tnr) for tnr in (0.4, 0.6)]
    assert measure.slopes(0.7, 0.5) == pytest.approx(np.mean(beside, axis=0))
    kept = Constrained("gmean", tnr=0.5, penalty=3.0)
    assert kept.slopes(0.7, 0.5) == GMean().slopes(0.7, 0.5)


@quick
@given(
    numerator=st.tuples(cells, cells),
    denominator=st.tuples(cells, cells),
    level=st.floats(0.05, 0.95),
    at_least=st.booleans(),
    counts=st.tuples(*[st.integers(1, 50)] * 4),
)
def test_a_bound_is_kept_where_its_line_in_the_two_rates_is_not_negative(
    numerator, denominator, level, at_least, counts
):
    bound = Bound(numerator, denominator, level, at_least)
    table = Counts.of_two(*counts)
    share = bound.share(table.weights)
    assume(abs(share - level) > 1e-9)
    excess = bound.at(table.rates.prevalence).excess(*table.rates[:2])
    assert (excess >= 0) == bound.kept(table.weights) == ((share > level) == at_least)


def test_bounds_of_classes_and_groups_are_data():
    tables = np.array([np.diag([5, 5, 5]), [[2, 3, 0], [0, 5, 0], [1, 0, 4]]])  # of two groups
    recall, precision = Bound((0, 0), (0, None), 0.5), Bound((1, 1), (None, 1), 0.6)
    assert recall.kept(tables) == [True, False]
    assert precision.share(tables).tolist() == [1.0, 0.625]
    assert recall._replace(group=1).share(tables) == 0.4
    assert Bound((None, 2), (None, None), 0.3, at_least=False).share(tables[1]) == pytest.approx(4 / 15)


def test_a_bound_at_a_prevalence_of_its_own_does_not_depend_on_that_of_the_rows():
    bound = Bound((1, 1), (None, 1), 0.8)
    assert bound._replace(prevalence=0.1).at(0.5) == bound.at(0.1) != bound.at(0.5)


def test_an_alert_budget_is_a_share_of_all_rows_whatever_their_class():
    """Of 1,000 rows 100 are positive: 10 hits and 10 false alarms use up the budget, 40 alerts are twice it."""
    recall, constrained = RecallAtAlertRate(0.02), Constrained(lambda tpr, tnr: tpr, alert_rate=0.02)
    for measure in (recall, constrained):
        assert measure.value(0.1, 1 - 10 / 900, 0.1) == pytest.approx(0.1)
        (bound,) = measure.bounds
        assert bound.label == "a share of rows predicted positive of at most 0.02"
        tables = np.array([[[970, 10], [10, 10]], [[970, 10], [9, 11]]])
        assert bound.kept(tables) == [True, False]
        with pytest.raises(ValueError, match="depends on the share of positives"):
            measure.value(0.4, 0.9)
    # Of 40 alerts, as of 40 hits, half can be followed up; Constrained has its penalty, twice the share missed.
    for tpr, tnr in ((0.1, 1 - 30 / 900), (0.4, 1.0)):
        assert recall.value(tpr, tnr, 0.1) == pytest.approx(tpr / 2)
        assert constrained.value(tpr, tnr, 0.1) == pytest.approx(tpr - 2.0)
    assert constrained.slopes(0.4, 0.9, 0.1) == pytest.approx((1 - 2 * 0.1 / 0.02, 2 * 0.9 / 0.02))
