"""Table 2: canonical forms, ranges, rates and valuations; and what is refused by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score

from ratewise.measures import (
    BalancedAccuracy,
    CohenKappa,
    CostMatrix,
    FBeta,
    GMean,
    GowerLegendre,
    Jaccard,
    MinRate,
    NetBenefit,
    PrecisionAtRecall,
    PseudoLinear,
    PseudoLinearMeasure,
    RecallAtPrecision,
    TPRAtFPR,
    TPRAtTNR,
    Tversky,
    at_prevalence,
    get_measure,
    measure_names,
)

quick = settings(deadline=None, max_examples=80)
rates = st.floats(0.0, 1.0)
levels = st.floats(0.0, 1.0)
prevalences = st.floats(0.001, 0.999)
betas = st.floats(0.1, 10.0)
below_one = st.floats(0.01, 0.99)
above_one = st.floats(1.01, 20.0)
pseudo_linear = st.one_of(
    betas.map(FBeta),
    st.just(Jaccard()),
    below_one.map(GowerLegendre),
    above_one.map(GowerLegendre),
    st.just(BalancedAccuracy()),
    st.just(CohenKappa()),
    st.builds(Tversky, st.floats(0.05, 5.0), st.floats(0.05, 5.0)),
    below_one.map(NetBenefit),
    below_one.map(lambda cost: CostMatrix(((0.0, cost), (1.0, -cost)))),
)


def theta_of(prevalence):
    return (1.0 - prevalence) / prevalence


def assert_same_up_to_a_factor(coefficients, numerator, denominator):
    ours = np.concatenate(coefficients)
    table = np.array([*numerator, *denominator])
    assert ours / ours[3] == pytest.approx(table / table[3], rel=1e-9, abs=1e-12)


@quick
@given(p=prevalences, beta=betas)
def test_f_beta_has_the_canonical_form_of_table_2(p, beta):
    theta, b2 = theta_of(p), beta**2
    assert_same_up_to_a_factor(FBeta(beta).coefficients(p), (0, 1 + b2, 0), (b2 + theta, 1, -theta))


@quick
@given(p=prevalences)
def test_jaccard_has_the_canonical_form_of_table_2(p):
    theta = theta_of(p)
    assert_same_up_to_a_factor(Jaccard().coefficients(p), (0, 1, 0), (1 + theta, 0, -theta))


@quick
@given(p=prevalences, sigma=st.floats(0.01, 20.0))
def test_gower_legendre_has_the_canonical_form_of_table_2(p, sigma):
    theta = theta_of(p)
    denominator = (sigma * (1 + theta), 1 - sigma, theta * (1 - sigma))
    assert_same_up_to_a_factor(GowerLegendre(sigma).coefficients(p), (0, 1, theta), denominator)


@quick
@given(measure=pseudo_linear, tpr=rates, tnr=rates, p=prevalences, level=levels)
def test_the_valuation_reaches_a_level_exactly_if_the_measure_does(measure, tpr, tnr, p, level):
    value = measure.value(tpr, tnr, p)
    assume(abs(value - level) > 1e-6)
    assert (measure.valuation(tpr, tnr, level, p) >= level) == (value >= level)


@quick
@given(measure=pseudo_linear, tpr=rates, tnr=rates, p=prevalences)
def test_at_its_own_level_a_measure_values_itself(measure, tpr, tnr, p):
    level = float(measure.value(tpr, tnr, p))
    assert measure.valuation(tpr, tnr, level, p) == pytest.approx(level, abs=1e-9)


@quick
@given(p=prevalences, beta=betas, share=below_one)
def test_f_betas_range_and_rate_are_those_of_table_2(p, beta, share):
    theta, b2 = theta_of(p), beta**2
    limit = 1 + b2 / theta
    m = share * limit
    assert FBeta(beta).reward_limit(p) == pytest.approx(limit, rel=1e-9)
    assert FBeta(beta).convergence_rate(m, p) == pytest.approx(m * (1 + theta) / (m + b2 + theta), rel=1e-9)


@quick
@given(p=prevalences, share=below_one)
def test_jaccards_range_and_rate_are_those_of_table_2(p, share):
    theta = theta_of(p)
    limit = (1 + theta) / theta
    m = share * limit
    assert Jaccard().reward_limit(p) == pytest.approx(limit, rel=1e-9)
    assert Jaccard().convergence_rate(m, p) == pytest.approx(m * theta / (1 + theta), rel=1e-9)


@quick
@given(p=prevalences, sigma=below_one, m=st.floats(0.01, 100.0))
def test_gower_legendres_range_and_rate_below_sigma_one_are_those_of_table_2(p, sigma, m):
    rate = (1 - sigma) * m / ((1 - sigma) * m + sigma)
    assert GowerLegendre(sigma).reward_limit(p) == math.inf
    assert GowerLegendre(sigma).convergence_rate(m, p) == pytest.approx(rate, rel=1e-9)


@quick
@given(p=prevalences, sigma=above_one, share=below_one)
def test_gower_legendres_range_and_rate_above_sigma_one_are_those_of_table_2(p, sigma, share):
    limit = sigma / (sigma - 1)
    m = share * limit
    assert GowerLegendre(sigma).reward_limit(p) == pytest.approx(limit, rel=1e-9)
    assert GowerLegendre(sigma).convergence_rate(m, p) == pytest.approx((sigma - 1) * m / sigma, rel=1e-9)


@quick
@given(p=prevalences)
def test_kappas_range_and_rate(p):
    """gamma and delta are (n - p) p / (p^2 + n^2) and (p - n) n / (p^2 + n^2), one of them negative."""
    n = 1 - p
    gamma, delta = (n - p) * p / (p**2 + n**2), (p - n) * n / (p**2 + n**2)
    assert CohenKappa().reward_limit(p) > 1.0
    assert CohenKappa().convergence_rate(1.0, p) == pytest.approx(
        abs(gamma - delta) / (max(gamma, delta) + 1), rel=1e-9
    )


@pytest.mark.parametrize("m", [0.0, -1.0, 1.5, 2.0])
def test_a_rate_of_convergence_is_refused_outside_the_range(m):
    # Jaccard at p = 1/3: theta = 2, so rewards must stay below 3/2.
    with pytest.raises(ValueError, match=r"0 < m < 1\.5"):
        Jaccard().convergence_rate(m, 1 / 3)


@quick
@given(p=prevalences, beta=betas, level=levels)
def test_f_beta_values_a_positive_point_one_plus_beta_squared_less_the_level(p, beta, level):
    on_positives, on_negatives = FBeta(beta).valuation_weights(level, p)
    per_positive, per_negative = on_positives / p, on_negatives / (1 - p)
    assert per_positive * level == pytest.approx(per_negative * (1 + beta**2 - level), rel=1e-9, abs=1e-12)
    assert per_positive > 0


@quick
@given(p=prevalences, level=levels)
def test_jaccard_values_a_negative_point_as_many_positive_ones_as_the_level(p, level):
    on_positives, on_negatives = Jaccard().valuation_weights(level, p)
    assert on_negatives / (1 - p) == pytest.approx(level * on_positives / p, rel=1e-9, abs=1e-12)
    assert on_positives > 0


@pytest.mark.parametrize("level", [0.0, 0.3, 1.0])
def test_algorithm_3s_weights_hold_for_f1_on_balanced_data_only(level):
    # Printed: 1 - v/2 and v/2, which sum to 1; ours are the same up to scale at p = 1/2.
    weights = np.array(FBeta().valuation_weights(level, 0.5))
    assert weights / weights.sum() == pytest.approx([1 - level / 2, level / 2])
    skewed = np.array(FBeta().valuation_weights(level, 0.1))
    assert (skewed / skewed.sum() == pytest.approx([1 - level / 2, level / 2])) == (level == 0.0)


def test_f_betas_popular_form_as_the_paper_prints_it_is_wrong():
    # TP 3, FP 1, FN 2, TN 4 and beta = 2. Right: 5*3 / (5*3 + 4*2 + 1) = 15/24.
    # Printed, with b^2 TP for b^2 FN: 5*3 / (5*3 + 4*3 + 1) = 15/28.
    y_true = np.repeat([1, 0, 1, 0], [3, 1, 2, 4])
    y_pred = np.repeat([1, 1, 0, 0], [3, 1, 2, 4])
    assert fbeta_score(y_true, y_pred, beta=2) == pytest.approx(15 / 24)
    assert FBeta(2).score(y_true, y_pred) == pytest.approx(15 / 24)
    assert abs(15 / 28 - 15 / 24) > 0.08


@pytest.mark.parametrize("bad", [0, -1, -0.5, math.nan, math.inf, "1", None, True, [1.0]])
def test_a_bad_beta_or_sigma_is_refused_by_name(bad):
    with pytest.raises(ValueError, match="FBeta: beta must be a finite number above 0"):
        FBeta(beta=bad)
    with pytest.raises(ValueError, match="GowerLegendre: sigma must be a finite number above 0"):
        GowerLegendre(sigma=bad)


@pytest.mark.parametrize(
    "bad", [(1, 2), (1, 2, 3, 4), (1, math.nan, 0), (1, 0, math.inf), (), 5, None, ("x", 1, 1)]
)
@pytest.mark.parametrize("name", ["a", "b"])
def test_bad_coefficients_are_refused_by_name(name, bad):
    with pytest.raises(ValueError, match=f"PseudoLinear: {name} must be three finite numbers"):
        PseudoLinear(**({"a": (0, 1, 1), "b": (2, 0, 0)} | {name: bad}))


def test_a_denominator_without_a_constant_is_refused():
    with pytest.raises(ValueError, match=r"b\[0\].*must not be 0"):
        PseudoLinear(a=(0, 1, 1), b=(0, 1, 1))


@pytest.mark.parametrize("b", [(1, 0, -1), (1, -0.5, -0.5), (1, -2, 0), (-1, 1, 0)])
def test_check_against_refuses_a_denominator_that_can_vanish(b):
    with pytest.raises(ValueError, match="its denominator can become 0"):
        PseudoLinear(a=(0, 1, 1), b=b).check_against(0.3)


def test_how_large_rewards_get_decides_whether_a_denominator_can_vanish():
    measure = PseudoLinear(a=(0, 1, 1), b=(3, -1, -1))  # 3 - 2m is positive below m = 3/2
    measure.check_against(0.3, largest_reward=1.4)
    with pytest.raises(ValueError, match=r"rewards below 1\.5"):
        measure.check_against(0.3, largest_reward=1.5)


@pytest.mark.parametrize(
    ("a", "b"),
    [((0, -1, 1), (1, 0, 0)), ((0, 1, -0.1), (1, 0, 0)), ((1, 0, 0), (1, 0, 1)), ((1, 0, 0), (1, 0, 0))],
    ids=["falls with P", "falls with N", "falls by its denominator", "constant"],
)
def test_check_against_refuses_a_measure_that_does_not_grow(a, b):
    with pytest.raises(ValueError, match="does not grow with both TPR and TNR"):
        PseudoLinear(a=a, b=b).check_against(0.3)


@quick
@given(measure=pseudo_linear, p=prevalences)
def test_check_against_accepts_every_measure_of_table_2_and_ours(measure, p):
    measure.check_against(p)


@quick
@given(
    a=st.tuples(st.floats(-1, 1), st.floats(-0.5, 3), st.floats(-0.5, 3)),
    b=st.tuples(st.floats(0.5, 3), st.floats(-1, 1), st.floats(-1, 1)),
)
def test_what_check_against_accepts_grows_with_both_rates(a, b):
    measure = PseudoLinear(a=a, b=b)
    try:
        measure.check_against(0.3)
    except ValueError:
        assume(False)
    tpr, tnr = np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9), indexing="ij")
    values = measure.value(tpr, tnr)
    slack = 1e-7 * (1 + np.abs(values).max())
    assert np.diff(values, axis=0).min() >= -slack
    assert np.diff(values, axis=1).min() >= -slack


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("f11", "'f1'"),
        ("recall-at-precision", "'recall-at-precision-0.9'"),
        ("jacard", "'jaccard'"),
        ("hmeam", "'hmean'"),
        ("gower", "'gower-leg"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_ones(asked, hint):
    with pytest.raises(ValueError, match=f"There is no measure '{asked}'. Did you mean .*{hint}"):
        get_measure(asked)


def test_a_name_like_no_other_is_answered_with_all_of_them():
    with pytest.raises(ValueError, match="There is no measure 'zzzz'") as refused:
        get_measure("zzzz")
    assert "Did you mean" not in str(refused.value)
    assert all(name in str(refused.value) for name in measure_names())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("F1", FBeta(1.0)),
        ("G-mean", GMean()),
        ("gmean ", GMean()),
        ("balanced accuracy", BalancedAccuracy()),
        ("Gower_Legendre", GowerLegendre(0.5)),
        ("f3", FBeta(3.0)),
        ("F 0.25", FBeta(0.25)),
        ("recall-at-precision-0.95", RecallAtPrecision(0.95)),
        ("precision_at_recall_.5", PrecisionAtRecall(0.5)),
        ("TPR at FPR 0.001", TPRAtFPR(0.001)),
        ("tpr-at-fpr-1e-3", TPRAtFPR(0.001)),
        ("tpr-at-tnr-0.5", TPRAtTNR(0.5)),
    ],
)
def test_a_name_may_be_written_as_people_write_it_and_hold_any_number(written, meant):
    assert get_measure(written) == meant


@pytest.mark.parametrize(
    ("asked", "why"), [("recall-at-precision-1.5", "below 1; got 1.5"), ("f0", "above 0; got 0")]
)
def test_a_number_that_makes_no_measure_is_refused_with_what_it_must_be(asked, why):
    with pytest.raises(ValueError, match=f"There is no measure '{asked}'. .*must be .*{why}"):
        get_measure(asked)


def test_a_class_in_place_of_a_measure_is_refused():
    with pytest.raises(ValueError, match=r"measure=FBeta is a class; write FBeta\(\.\.\.\)"):
        get_measure(FBeta)


@pytest.mark.parametrize("bad", [None, 1, 1.0, ["f1"], b"f1", int])
def test_what_is_neither_name_nor_measure_is_refused(bad):
    with pytest.raises(ValueError, match="measure must be a name, a Measure or a function"):
        get_measure(bad)


def test_a_measure_is_returned_as_it_is():
    mine = FBeta(3.0)
    assert get_measure(mine) is mine
    assert get_measure("min") == MinRate()


@pytest.mark.parametrize("name", ["f1", "jaccard", "gower-legendre"])
def test_a_pseudo_linear_measure_at_a_prevalence_stays_one(name):
    measure = get_measure(name)
    elsewhere = at_prevalence(measure, 0.3)
    assert isinstance(elsewhere, PseudoLinearMeasure)
    for prevalence in (None, 0.1, 0.9):
        assert elsewhere.value(0.7, 0.8, prevalence) == pytest.approx(measure.value(0.7, 0.8, 0.3))


def test_check_against_looks_at_the_levels_that_a_measure_can_have():
    """At its lowest level, -2 / 2, this one grows with the TPR; at -2, which it never has, it would fall."""
    measure = PseudoLinear(a=(-2.0, 1.5, 3.0), b=(2.0, -1.0, 0.0))
    measure.check_against(0.3)
    assert np.diff(measure.value(np.linspace(0, 1, 11), 0.0)).min() > 0
    with pytest.raises(ValueError, match="does not grow"):
        PseudoLinear(a=(-4.0, 1.5, 3.0), b=(2.0, -1.0, 0.0)).check_against(0.3)


def test_a_ratio_of_nothing_is_0_and_has_no_slopes():
    measure = FBeta()
    assert measure.value(0.0, 1.0, 0.0) == 0.0
    assert measure.value(np.array([0.0, 1.0]), 1.0, 0.0).tolist() == [0.0, 0.0]
    assert measure.slopes(0.0, 1.0, 0.0) == (0.0, 0.0)


def test_at_a_prevalence_a_measure_keeps_its_flags_scale_and_bounds():
    cost = at_prevalence(CostMatrix(), 0.3)
    assert cost.scale(0.9) == CostMatrix().scale(0.3)
    assert (cost.smooth, cost.monotone) == (True, True)
    bounded = at_prevalence(RecallAtPrecision(0.8), 0.3)
    assert bounded.constraints(0.9) == RecallAtPrecision(0.8).constraints(0.3)
    assert bounded.slopes(0.5, 0.5, 0.9) == RecallAtPrecision(0.8).slopes(0.5, 0.5, 0.3)
    assert (bounded.smooth, bounded.monotone) == (False, True)
    assert at_prevalence(get_measure("mcc"), 0.3).slopes(0.5, 0.9, 0.9) == get_measure("mcc").slopes(0.5, 0.9, 0.3)
    assert at_prevalence(GMean(), 0.3) == GMean()
