"""Certified thresholds keep their bounds as often as they say, and intervals cover."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm

from ratewise import UnknownRateWarning, certify
from ratewise.decisions.certify import (
    binomial_tail,
    bound_message,
    bounded_rate,
    certified_threshold,
    decide,
    least_successes,
    points_of_groups,
    predicted_positive,
    promised_rate,
)
from ratewise.decisions.intervals import ModelShift, lower_bound, moved, rates_interval
from ratewise.measures import (
    Bound,
    Constrained,
    FBeta,
    GMean,
    PrecisionAtRecall,
    Rates,
    RecallAtAlertRate,
    RecallAtPrecision,
    TPRAtFPR,
    TPRAtTNR,
    at_prevalence,
)
from ratewise.solvers import best_threshold, rates_at
from ratewise.solvers.base import Scores

quick = settings(deadline=None, max_examples=60)
SHIFT = 2.256


def overlapping(rows=20_000, prevalence=0.05, shift=SHIFT, seed=0):
    """Scores whose true rates at any threshold are known."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < prevalence
    return rng.standard_normal(rows) + shift * y, y


def truth(threshold, prevalence=0.05, shift=SHIFT):
    tpr, fpr = norm.sf(threshold - shift), norm.sf(threshold)
    return {
        "tpr": tpr,
        "tnr": 1 - fpr,
        "precision": prevalence * tpr / (prevalence * tpr + (1 - prevalence) * fpr),
        "quiet": 1 - prevalence * tpr - (1 - prevalence) * fpr,
    }


@quick
@given(trials=st.integers(1, 5_000), share=st.floats(0.0, 1.0), error=st.floats(0.001, 0.5))
def test_the_lower_bound_is_clopper_and_pearsons(trials, share, error):
    successes = round(share * trials)
    exact = beta.ppf(error, successes, trials - successes + 1) if successes else 0.0
    assert float(lower_bound(successes, trials, error)) == pytest.approx(exact, abs=1e-9)


@quick
@given(
    negatives=st.integers(20, 3_000),
    bound=st.floats(0.5, 0.95),
    sure=st.floats(0.6, 0.99),
    seed=st.integers(0, 99),
)
def test_one_class_is_cut_at_the_order_statistic_that_just_passes_the_binomial_test(negatives, bound, sure, seed):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(negatives + 50) + 2.0 * (np.arange(negatives + 50) < 50)
    signs = np.where(np.arange(scores.size) < 50, 1.0, -1.0)
    threshold = certified_threshold(scores, signs, TPRAtTNR(bound, confidence=sure), (50.0, float(negatives)))
    passed = (
        binom.sf(np.arange(negatives + 1) - 1, negatives, bound) <= 1 - sure
    )  # so many quiet negatives prove it
    if threshold is None:
        highest_positive = scores[:50].max()
        assert not passed[: int((scores[50:] <= highest_positive).sum())].any()
    else:
        quiet = int((scores[50:] <= threshold).sum())
        assert passed[quiet]
        missed = scores[:50][scores[:50] <= threshold]
        if missed.size:  # a cut that finds one positive more proves too little
            assert not passed[int((scores[50:] < missed.max()).sum())]


@pytest.mark.parametrize(
    ("measure", "name", "bound"),
    [
        (RecallAtPrecision(0.8), "precision", 0.8),
        (TPRAtTNR(0.98), "tnr", 0.98),
        (TPRAtFPR(0.02), "tnr", 0.98),
        (PrecisionAtRecall(0.7), "tpr", 0.7),
        (RecallAtAlertRate(0.03), "quiet", 0.97),
        (Constrained("gmean", alert_rate=0.03), "quiet", 0.97),
    ],
    ids=lambda case: type(case).__name__,
)
def test_the_bound_is_kept_as_often_as_the_confidence_says_and_made_use_of(measure, name, bound):
    reached = []
    for seed in range(100):
        scores, y = overlapping(seed=seed)
        found = certify(scores, y, measure)
        assert found.kept
        reached.append(truth(found.threshold)[name])
    kept = np.sum(np.array(reached) >= bound)
    assert kept >= binom.ppf(0.001, 100, 0.9)
    assert np.mean(reached) < bound + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("sure", [0.8, 0.9, 0.95])
def test_bounds_hold_in_five_hundred_draws(sure):
    for measure, name, bound in (
        (RecallAtPrecision(0.8, confidence=sure), "precision", 0.8),
        (TPRAtTNR(0.98, confidence=sure), "tnr", 0.98),
        (PrecisionAtRecall(0.7, confidence=sure), "tpr", 0.7),
        (RecallAtAlertRate(0.05, confidence=sure), "quiet", 0.95),
    ):
        kept = 0
        for seed in range(500):
            scores, y = overlapping(5_000, 0.1, seed=1_000 + seed)
            found = certify(scores, y, measure)
            kept += not found.kept or truth(found.threshold, 0.1)[name] >= bound
        assert kept >= binom.ppf(0.001, 500, sure), measure


def test_two_bounds_share_the_error():
    both = Constrained("f1", tpr=0.5, precision=0.6)
    for seed in range(20):
        scores, y = overlapping(seed=seed)
        found = certify(scores, y, both)
        if found.kept:
            reached = truth(found.threshold)
            assert reached["tpr"] >= 0.5
            assert reached["precision"] >= 0.6


@pytest.mark.parametrize("error_share", [1.0, 0.7])
def test_of_two_bounds_each_is_tested_at_half_of_the_error(error_share):
    scores, y = overlapping(2_000, 0.3)
    signs, points = np.where(y, 1.0, -1.0), (float(y.sum()), float((~y).sum()))
    both = Constrained("gmean", tpr=0.01, tnr=0.9, confidence=0.8)  # the TNR alone binds
    one = Constrained("gmean", tnr=0.9, confidence=1.0 - 0.5 * (1.0 - 0.8))
    found = certified_threshold(scores, signs, both, points, error_share)
    assert found == certified_threshold(scores, signs, one, points, error_share)
    assert found > certified_threshold(scores, signs, one, points, 2.0)


def test_what_can_be_promised_of_two_bounds_shares_the_error_too():
    measure = Constrained("f1", tpr=0.9, tnr=0.9)
    promised = bound_message(measure, Rates(0.8, 0.85, 0.5), (100.0, 100.0))
    for rate, hits in (("TPR", 80), ("TNR", 85)):
        assert f"a {rate} of at least {beta.ppf(0.05, hits, 101 - hits):.3g}" in promised


def test_a_bound_by_margin_beside_one_with_a_confidence_is_kept_too():
    measure = Constrained(RecallAtPrecision(0.6, confidence=None), tnr=0.98)
    found = certify(*overlapping(), measure)
    assert found.kept
    assert found.rates.tnr > 0.98
    assert truth(found.threshold)["precision"] > 0.58


def test_an_alert_budget_is_certified_by_a_binomial_test_on_all_rows():
    scores, y = overlapping(3_000, 0.2)
    found = certify(scores, y, RecallAtAlertRate(0.1, confidence=0.95))
    alerts = int((scores > found.threshold).sum())
    assert binom.cdf(alerts, 3_000, 0.1) <= 0.05 < binom.cdf(alerts + 1, 3_000, 0.1)
    # Where positives are to be twice as many, each of them counts for more, and fewer rows may be alerts.
    elsewhere = certify(scores, y, at_prevalence(RecallAtAlertRate(0.1, confidence=0.95), 0.4))
    assert elsewhere.threshold > found.threshold
    assert 1 - truth(elsewhere.threshold, 0.4)["quiet"] < 0.1


def test_an_alert_budget_that_cannot_be_promised_is_said_with_numbers():
    rng = np.random.default_rng(0)
    tied = np.where(rng.random(400) < 0.3, 2.0, rng.standard_normal(400) - 3.0)
    message = certify(tied, np.arange(400) % 3 == 0, RecallAtAlertRate(0.004)).message
    assert "a share of rows predicted positive of at most 0.004 (with a confidence of 0.9)" in message
    at = Rates(0.3, 0.99, 0.1)  # 30 + 9 of 1,000 rows
    promised = 1 - beta.ppf(0.1, 961, 40)
    assert f"is a share of rows predicted positive of at most {promised:.3g}." in bound_message(
        RecallAtAlertRate(0.04), at, (100.0, 900.0)
    )


def test_a_higher_confidence_cuts_higher_and_none_goes_by_the_margin():
    scores, y = overlapping()
    cuts = [
        certify(scores, y, RecallAtPrecision(0.8, confidence=sure)).threshold for sure in (None, 0.8, 0.95, 0.999)
    ]
    assert cuts == sorted(cuts)
    assert len(set(cuts)) == 4


def test_weights_and_groups_count_as_the_points_they_are_worth():
    scores, y = overlapping(6_000, 0.2)
    plain = certify(scores, y, TPRAtTNR(0.95))
    same = certify(scores, y, TPRAtTNR(0.95), sample_weight=np.full(6_000, 7.0))
    assert same.threshold == plain.threshold
    uneven = certify(scores, y, TPRAtTNR(0.95), sample_weight=np.random.default_rng(1).exponential(size=6_000))
    assert uneven.rates.tnr > 0.95
    # Every row ten times over, and its copies a group: no more is known than from one of each.
    times = [np.repeat(one, 10) for one in (scores, y, np.arange(6_000))]
    grouped = certify(*times[:2], TPRAtTNR(0.95), groups=times[2])
    assert grouped.threshold == pytest.approx(plain.threshold, abs=1e-9)
    assert certify(*times[:2], TPRAtTNR(0.95)).threshold < plain.threshold


def test_groups_of_uneven_size_are_worth_fewer_than_their_number():
    signs = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    assert points_of_groups(signs, np.array([0, 0, 1, 2, 3, 4])) == pytest.approx((9 / 5, 3.0))
    assert points_of_groups(signs[:3], np.arange(3)) == (3.0, 0.0)
    assert points_of_groups(0.3 * signs, np.array([0, 0, 1, 2, 3, 4])) == pytest.approx((9 / 5, 3.0))


def test_a_precision_elsewhere_is_asked_of_the_rows_as_they_are():
    """Half as many positives there: the same rates must keep a higher precision here."""
    scores, y = overlapping()
    found = certify(scores, y, at_prevalence(RecallAtPrecision(0.7), 0.025))
    assert found.kept
    assert truth(found.threshold, 0.025)["precision"] >= 0.7
    assert found.threshold > certify(scores, y, RecallAtPrecision(0.7)).threshold


def test_what_cannot_be_promised_is_said_with_numbers():
    scores, y = overlapping(400, 0.2)
    found = certify(scores, y, RecallAtPrecision(0.95))
    assert not found.kept
    assert "a precision of at least 0.95 (with a confidence of 0.9)" in found.message
    assert "would be needed (there are" in found.message or "Ask for less" in found.message
    few = certify(scores[:30], y[:30], TPRAtTNR(0.99))
    assert not few.kept, "thirty rows cannot prove a TNR of 0.99"


def test_the_number_of_rows_said_to_be_needed_is_enough():
    rates, points = Rates(0.5, 0.995, 0.1), (20.0, 180.0)
    message = bound_message(TPRAtTNR(0.99), rates, points)
    needed = float(message.split("positives and ")[1].split(" negatives")[0].replace(",", ""))
    assert bound_message(TPRAtTNR(0.99), rates, (needed / 9, needed * 1.01)) is None
    assert bound_message(TPRAtTNR(0.99), rates, (needed / 9, needed * 0.95)) is not None


def test_a_measure_without_bounds_is_cut_where_it_is_best():
    scores, y = overlapping(2_000, 0.2)
    found = certify(scores, y, "f1")
    assert found.kept
    assert found.message is None
    values = [FBeta().score(y, scores > cut) for cut in np.quantile(scores, np.linspace(0.01, 0.99, 200))]
    assert FBeta().score(y, scores > found.threshold) >= max(values)


def test_a_confidence_for_another_bound_is_refused():
    @dataclasses.dataclass(frozen=True)
    class Odd(FBeta):
        @property
        def bounds(self):
            return (Bound((0, 0), (None, 0), 0.9, confidence=0.9),)

    with pytest.raises(ValueError, match="the share of rows predicted positive; not for a share"):
        certify(*overlapping(500), Odd())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": np.ones((4, 2))}, "take the column of the positive class"),
        ({"scores": [0.0, 1.0, np.nan, 2.0]}, "not finite"),
        ({"y": [1, 1, 1, 1]}, "two classes, both of them; it holds 1"),
        ({"pos_label": 7}, "pos_label=7 is not among"),
        ({"sample_weight": [1, 1, -1, 1]}, "numbers of 0 or more"),
        ({"sample_weight": [0, 1, 0, 1]}, "All rows of one class"),
        ({"groups": [1, 2]}, "groups has shape"),
    ],
)
def test_bad_input_is_refused(change, message):
    good = {"scores": [0.0, 1.0, 2.0, 3.0], "y": [0, 1, 0, 1], "measure": "f1"}
    with pytest.raises(ValueError, match=message):
        certify(**(good | change))


def test_pos_label_turns_the_classes_round():
    scores, y = overlapping(2_000, 0.3)
    found = certify(-scores, y, TPRAtTNR(0.9), pos_label=False)
    assert np.mean(-scores[y] <= found.threshold) >= 0.9


@pytest.mark.parametrize("points", [(40.0, 400.0), (2_000.0, 50_000.0)])
def test_intervals_cover_as_often_as_they_say(points):
    """Rates of fixed models: Clopper and Pearson's cover at least, and the measure's about as often."""
    rng = np.random.default_rng(0)
    true = Rates(0.8, 0.95, 0.1)
    inside = np.zeros(3)
    for _ in range(400):
        seen = Rates(*(rng.binomial(int(n), rate) / n for n, rate in zip(points, true[:2], strict=True)), 0.1)
        found = rates_interval(seen, FBeta(), points)
        real = (*true[:2], float(FBeta().value(*true)))
        inside += [low <= value <= high for (low, high), value in zip(found[:3], real, strict=True)]
    assert (inside >= 400 * 0.92).all()
    assert inside[2] <= 400 * 0.985


def test_the_interval_of_a_value_allows_for_the_noise_of_the_prevalence():
    rng, truth = np.random.default_rng(0), Rates(0.7, 0.9, 0.1)
    held = dict.fromkeys(("with", "without"), 0)
    for _ in range(300):
        positives = rng.binomial(1000, truth.prevalence)
        points = (float(positives), 1000.0 - positives)
        right = rng.binomial([positives, 1000 - positives], truth[:2])
        seen = Rates(right[0] / points[0], right[1] / points[1], positives / 1000)
        for name, measure in (("with", FBeta()), ("without", at_prevalence(FBeta(), seen.prevalence))):
            low, high = rates_interval(seen, measure, points).value
            held[name] += low <= FBeta().value(*truth) <= high
    assert held["with"] / 300 > 0.93
    assert held["with"] > held["without"]
    of_rates = [rates_interval(truth, one, (100.0, 900.0)).value for one in (GMean(), at_prevalence(GMean(), 0.1))]
    assert of_rates[0] == of_rates[1]


def test_intervals_have_the_confidence_of_the_bounds():
    assert rates_interval(Rates(0.5, 0.9, 0.1), FBeta(), (100.0, 900.0)).confidence == 0.95
    assert rates_interval(Rates(0.5, 0.9, 0.1), TPRAtTNR(0.8, confidence=0.8), (100.0, 900.0)).confidence == 0.8


def test_rates_of_the_training_rows_are_taken_for_too_high():
    rates, points = Rates(0.8, 0.9, 0.1), (500.0, 4_500.0)
    fresh, trained = (rates_interval(rates, FBeta(), points, fitted) for fitted in (0, 10))
    assert trained.tpr[0] < fresh.tpr[0]
    assert trained.tpr[1] < fresh.tpr[1]
    assert trained.value[1] < fresh.value[1]


def test_an_interval_holds_the_rates_that_are_stated():
    for rates in (Rates(1.0, 1.0, 0.1), Rates(0.999, 0.9, 0.1)):
        found = rates_interval(rates, FBeta(), (50.0, 450.0), 10)
        stated = (*rates[:2], FBeta().value(*rates))
        assert all(low <= one <= high for one, (low, high) in zip(stated, found[:3], strict=True))


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.where(np.arange(50) == 3, None, True), "every row needs a label"),
        (np.where(np.arange(50) == 3, np.nan, 1.0), "every row needs a label"),
        (np.ma.masked_array(np.arange(50) % 2, np.arange(50) == 3), "every row needs a label"),
        (np.array([1, "1"] * 25, dtype=object), r"y mixes labels of different types \(int, str\)"),
    ],
)
def test_labels_that_are_missing_or_of_many_types_are_refused(labels, words):
    with pytest.raises(ValueError, match=words):
        certify(np.arange(50.0), labels, "f1")


def test_one_row_of_a_class_is_warned_of():
    with pytest.warns(UnknownRateWarning, match="The TPR on new rows is not known"):
        found = certify(np.arange(50.0), np.arange(50) == 49, "f1")
    assert found.rates_interval.tpr == (0.0, 1.0)


def test_an_interval_under_a_bound_that_is_not_promised_allows_for_the_choice():
    """Of noise, the threshold with the best precision by chance."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(40):
        signed = np.where(np.arange(1_000) % 5 == 0, 1.0, -1.0)
        scores = Scores(rng.standard_normal(1_000), signed, folds=(200,) * 5)
        measure, points = RecallAtPrecision(0.5, confidence=0.9), (200.0, 800.0)

        def choose(some, measure=measure, points=points):
            return best_threshold(*some[:2], measure, points=points).threshold

        found = decide(scores, measure, choose(scores), points, choose=choose)
        assert found.message is not None
        true = norm.sf(found.threshold)  # of both classes
        held += found.interval.tpr[0] <= true <= found.interval.tpr[1]
    assert held >= 34


def test_what_the_model_returned_loses_is_kept_in_addition():
    rng = np.random.default_rng(0)
    signed = np.where(np.arange(4_000) % 4 == 0, 1.0, -1.0)
    scores = Scores(rng.standard_normal(4_000) + 2.0 * (signed > 0), signed)
    measure, points = TPRAtTNR(0.9, confidence=0.9), (1_000.0, 3_000.0)

    def shift_of(tnr):
        return lambda threshold: ModelShift((0.0, tnr), (0.9, 0.9), (0.0, 0.0), 5)

    none, gain, loss = (decide(scores, measure, 0.0, points, shift_at=shift_of(tnr)) for tnr in (0.0, 0.02, -0.02))
    assert gain.threshold == none.threshold
    assert loss.threshold > none.threshold
    assert loss.rates.tnr == pytest.approx(none.rates.tnr, abs=0.001)  # after the loss
    assert decide(scores, measure, 0.0, points, shift_at=shift_of(-0.2)).message is not None


def test_an_interval_allows_for_what_other_rows_would_have_chosen():
    rng = np.random.default_rng(0)
    signed = np.where(np.arange(300) % 10 == 0, 1.0, -1.0)
    values = rng.standard_normal(300) + 1.5 * (signed > 0)
    scores, points = Scores(values, signed, folds=(60,) * 5), (30.0, 270.0)

    def choose(some):
        return best_threshold(some.values, some.signed_weights, FBeta()).threshold

    threshold = choose(scores)
    fixed = decide(scores, FBeta(), threshold, points)
    chosen = decide(scores, FBeta(), threshold, points, choose=choose)
    assert chosen.rates == fixed.rates
    above = [scores.of_folds([k]).values - choose(scores.of_folds({*range(5)} - {k})) for k in range(5)]
    change = rates_at(np.concatenate(above), signed).tpr - fixed.rates.tpr
    assert change < 0
    assert chosen.interval.tpr == pytest.approx((fixed.interval.tpr[0] + change, fixed.interval.tpr[1]))


def test_out_of_fold_rates_are_moved_to_the_model_returned():
    """The mean of five models calls 0.02 more of the negatives right than they do, on the rows they learned."""
    rates, points = Rates(0.8, 0.9, 0.1), (500.0, 4_500.0)
    shift = ModelShift((0.0, 0.02), (0.85, 0.9), (0.0, 0.0), 5)
    plain, found = rates_interval(rates, FBeta(), points), rates_interval(rates, FBeta(), points, shift=shift)
    assert moved(rates, shift) == Rates(0.8, pytest.approx(0.92), 0.1)
    assert found.tnr[0] < 0.92 < found.tnr[1]
    assert plain.tnr[1] < found.tnr[1]
    # Models of four fifths of the rows may be worse than one of all: by up to a fifth of the flattery.
    assert found.tpr == (plain.tpr[0], pytest.approx(plain.tpr[1] + 0.05 / 5))
    wider = rates_interval(rates, FBeta(), points, shift=shift._replace(variance=(0.5, 0.5)))
    assert wider.tpr[0] < found.tpr[0] < found.tpr[1] < wider.tpr[1]
    assert wider.value[0] < found.value[0] < found.value[1] < wider.value[1]


def test_what_rows_that_were_learned_do_not_show_moves_one_end():
    rates, points = Rates(0.8, 0.9, 0.1), (500.0, 4_500.0)
    shift = ModelShift((0.0, 0.0), (1.0, 0.9), (0.0, 0.0), np.inf)
    of_all = shift._replace(rates=(0.05, -0.01))
    blended = shift.blended(of_all, (0.2, 1.0))
    assert moved(rates, blended) == Rates(pytest.approx(0.81), pytest.approx(0.89), 0.1)
    without = rates_interval(rates, FBeta(), points, shift=blended._replace(unseen=(0.0, 0.0)))
    found = rates_interval(rates, FBeta(), points, shift=blended)
    assert found.tpr == (without.tpr[0], pytest.approx(without.tpr[1] + 0.04))
    assert found.tnr == pytest.approx(without.tnr)


def test_rates_that_are_moved_stay_rates():
    shift = ModelShift((0.5, -1.5), (1.0, 1.0), (0.1, 0.1), 2)
    assert moved(Rates(0.9, 0.8, 0.1), shift) == Rates(1.0, 0.0, 0.1)
    found = rates_interval(Rates(0.9, 0.8, 0.1), FBeta(), (50.0, 90.0), shift=shift)
    assert 0.0 <= min(found.tpr + found.tnr) <= max(found.tpr + found.tnr) <= 1.0


def test_a_precision_that_dips_at_few_calls_is_certified_at_more():
    """60 hits, then 20 false alarms, then 400 hits: 0.75 at 80 calls, 0.96 at 480."""
    y = np.concatenate([np.ones(60), np.zeros(20), np.ones(400), np.zeros(5_000)]).astype(bool)
    found = certify(-np.arange(y.size, dtype=float), y, RecallAtPrecision(0.8, confidence=0.9))
    assert found.kept
    assert found.rates.tpr > 0.9


def test_a_decision_holds_the_probabilities_of_its_scores():
    rng = np.random.default_rng(0)
    positive = rng.random(2_000) < 0.3
    scores = Scores(rng.normal(size=2_000) + 2.0 * positive, np.where(positive, 1.0, -1.0))
    decision = decide(scores, GMean(), 1.0, (600.0, 1400.0))
    odds = decision.calibration.log_odds(scores.values - 1.0)
    assert (1.0 / (1.0 + np.exp(-odds))).mean() == pytest.approx(positive.mean(), abs=0.02)
    # Two normal distributions, two apart: the log odds rise by two per unit.
    assert np.polyfit(scores.values, odds, 1)[0] == pytest.approx(2.0, abs=0.3)


# Every number again, slowly.


@quick
@given(
    trials=st.integers(1, 2_000),
    share=st.floats(0.01, 0.99),
    part=st.floats(0.0, 1.0),
    error=st.floats(0.001, 0.5),
)
def test_tests_are_the_binomial_ones(trials, share, part, error):
    successes = round(part * trials)
    assert float(binomial_tail(successes, trials, share)) == pytest.approx(
        binom.sf(successes - 1, trials, share), abs=1e-12
    )
    enough = np.flatnonzero(binom.sf(np.arange(trials + 1) - 1, trials, share) <= error)
    least = least_successes(trials, share, error)
    assert least == math.inf if enough.size == 0 else enough[0] - 1 < least <= enough[0]
    if enough.size:  # of successes that need not be whole, those at which the test just passes
        assert float(binomial_tail(least, trials, share)) == pytest.approx(error, rel=1e-6)


def test_no_trials_prove_nothing():
    assert float(binomial_tail(least_successes(1.0, 1e-3, 0.9), 1.0, 1e-3)) == pytest.approx(0.9)
    assert least_successes(0.0, 0.1, 0.9) == math.inf
    assert least_successes(0.5, 0.1, 0.9) < 0.5
    assert float(binomial_tail(0.0, 0.0, 0.5)) == 1.0
    assert float(binomial_tail(3.0, 3.0, 0.5)) == pytest.approx(0.125)
    assert float(binomial_tail(3.0 + 1e-12, 3.0, 0.5)) == pytest.approx(0.125)  # but for rounding
    assert float(lower_bound(1e-9, 10.0, 0.5)) == 0.0


@quick
@given(
    hits=st.integers(0, 50),
    misses=st.integers(0, 50),
    alarms=st.integers(0, 50),
    quiet=st.integers(0, 50),
    weight=st.floats(0.1, 10.0),
)
def test_calls_count_as_kish_says_where_positives_weigh_more_than_negatives(hits, misses, alarms, quiet, weight):
    positives, negatives = hits + misses, alarms + quiet
    if not (positives and negatives and hits + alarms):
        return
    prevalence = weight * positives / (weight * positives + negatives)
    rates = hits / positives, quiet / negatives
    found = predicted_positive(*rates, prevalence, (float(positives), float(negatives)))
    called = np.repeat([weight, 1.0], [hits, alarms])
    calls = called.sum() ** 2 / (called**2).sum()
    assert [float(one) for one in found] == pytest.approx([calls * weight * hits / called.sum(), calls], rel=1e-9)


def certified_calls(hits, least, error):
    """The numbers of calls at which a precision is certified by two sequences of tests, up to the first failure.

    They begin half and four fifths of the way, on a log scale, from the fewest calls to the most, and have nine
    tenths and a tenth of the error; the second has that of the first too, if it has not failed.
    """
    rows, positives = hits.size - 1, hits[-1]
    fewest, most = math.log(error) / math.log(least), min(positives / least, rows)
    if fewest > most:
        return []
    begins = [fewest ** (1 - place) * most**place for place in (0.5, 0.8, 1.0)]
    passed, left = [], 0.0
    for share, number, end in ((0.9, *begins[:2]), (0.1, *begins[1:])):
        left += share * error
        while number < 1.03 * end:
            calls = min(math.ceil(number - 1e-6), rows)
            chance = binom.sf(hits[calls] - 1, calls, least)
            assume(abs(chance - left) > 1e-9)
            if chance > left:
                left = 0.0
                break
            passed.append(calls)
            number *= 1.03
    return passed


@settings(deadline=None, max_examples=200)
@given(
    rows=st.integers(20, 900),
    apart=st.floats(0.5, 4.0),
    least=st.floats(0.2, 0.9),
    sure=st.floats(0.5, 0.99),
    error_share=st.sampled_from([1.0, 0.7]),
    seed=st.integers(0, 99),
)
def test_a_precision_is_certified_by_two_sequences_of_binomial_tests(rows, apart, least, sure, error_share, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 4 == 0
    scores = rng.standard_normal(rows) + apart * y
    measure = RecallAtPrecision(least, confidence=sure)
    points = float(y.sum()), float(rows - y.sum())
    found = certified_threshold(scores, np.where(y, 1.0, -1.0), measure, points, error_share)
    order = np.argsort(-scores)
    hits = np.append(0, np.cumsum(y[order]))
    rates = [
        (hits[calls] / points[0], 1.0 - (calls - hits[calls]) / points[1])
        for calls in certified_calls(hits, least, error_share * (1.0 - sure))
    ]
    best = max((float(measure.value(*one, points[0] / rows)) for one in rates), default=None)
    if found is None:
        assert best is None
    else:
        called = scores > found
        reached = called[y].mean(), 1.0 - called[~y].mean()
        assert float(measure.value(*reached, points[0] / rows)) == pytest.approx(best, abs=1e-9)


def test_of_certified_cuts_that_do_equally_well_the_one_nearest_zero_is_taken():
    scores = np.append(5.0, np.arange(100.0) - 98.5)  # one positive, far above a hundred negatives
    signs = np.append(1.0, np.full(100, -1.0))
    # Every cut that leaves 97 negatives or more quiet is certified, and the TPR is 1 at all of them.
    found = certified_threshold(scores, signs, TPRAtTNR(0.9), (1.0, 100.0))
    assert found == 0.0


def quantiles_by_hand(rate, points, places):
    """Jeffreys' distribution of a rate."""
    return beta.ppf(places, rate * points + 0.5, (1 - rate) * points + 0.5)


@settings(deadline=None, max_examples=100)
@example(rates=(0.0, 0.609375), points=(21.0, 21.0), fitted=0, shifted=True, seed=0)  # an end at 0, one at 1
@given(
    rates=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    points=st.tuples(st.floats(20.5, 5_000.0), st.floats(20.5, 5_000.0)),
    fitted=st.integers(0, 20),
    shifted=st.booleans(),
    seed=st.integers(0, 99),
)
def test_intervals_are_made_of_clopper_and_pearsons_and_of_what_is_known_of_the_model(
    rates, points, fitted, shifted, seed
):
    rng = np.random.default_rng(seed)
    shift = ModelShift(*(tuple(rng.uniform(low, 1.0, 2)) for low in (-1.0, 0.0, -1.0)), folds=5)
    shift = shift._replace(rates=(0.1 * shift.rates[0], 0.1 * shift.rates[1]))
    rates = Rates(*rates, 0.3)
    found = rates_interval(rates, GMean(), points, fitted, shift if shifted else None)
    grids, places, stated = [], (np.arange(64) + 0.5) / 64, 1.0
    for k, number in enumerate(points):
        number = max(number, 1.0)
        rate, variance, least, most = rates[k], 0.0, -2.0 * fitted / number, -0.5 * fitted / number
        if shifted:
            rate, variance = float(np.clip(rate + shift.rates[k], 0, 1)), max(shift.variance[k], 0.0)
            gain = (shift.of_training[k] - rates[k]) / 5
            least, most = min(gain, 0.0), max(gain, 0.0)
        hits = rate * number
        low = beta.ppf(0.025, hits, number - hits + 1) if hits > 1e-9 else 0.0
        high = beta.ppf(0.975, hits + 1, number - hits) if number - hits > 1e-9 else 1.0
        more = norm.ppf(0.975) * math.sqrt(variance / number)
        expected = (  # the rate that a fit states lies within
            min(rate, rate + least - math.sqrt((rate - low) ** 2 + more**2)),
            max(rate, rate + most + math.sqrt((high - rate) ** 2 + more**2)),
        )
        stated *= rate
        assert found[k] == pytest.approx(np.clip(expected, 0, 1), abs=1e-7)
        # The variance of a rate, of the model and of a step anywhere between the least and the most.
        rate = float(np.clip(rate + (least + most) / 2, 0, 1))
        noise = max(rate * (1 - rate), 1 / number)
        variance_of_all = noise / number + variance / number + (most - least) ** 2 / 12
        grids.append(quantiles_by_hand(rate, noise / variance_of_all, places))
    values = [math.sqrt(tpr * tnr) for tpr in grids[0] for tnr in grids[1]]
    low, high = np.quantile(values, [0.025, 0.975])
    low, high = min(low, math.sqrt(stated)), max(high, math.sqrt(stated))
    assert found.value == pytest.approx((low, high), abs=1e-7)


@pytest.mark.parametrize(("number", "fitted"), [(0.0, 0), (1.0, 0), (5.0, 5)])
def test_a_rate_may_be_anything_where_too_few_points_tell_it(number, fitted):
    found = rates_interval(Rates(1.0, 0.5, 0.5), GMean(), (number, 100.0), fitted)
    assert found.tpr == (0.0, 1.0)
    assert found.value[0] == 0.0
    assert found.value[1] > 0.7


@quick
@given(
    rate=st.floats(0.05, 0.999),
    asked=st.floats(0.05, 0.99),
    points=st.floats(3.0, 3_000.0),
    sure=st.floats(0.6, 0.99),
)
def test_what_is_promised_of_a_rate_and_how_many_rows_would_promise_what_is_asked(rate, asked, points, sure):
    (bound,) = TPRAtTNR(asked, confidence=sure).constraints(0.5)
    found = promised_rate(bound, 2, Rates(0.5, rate, 0.5), (7.0, points))
    error = 0.5 * (1.0 - sure)
    assert (found.kind, found.asked) == ("TNR", pytest.approx(asked))
    assert found.promised == pytest.approx(beta.ppf(error, rate * points, (1 - rate) * points + 1), abs=1e-9)
    if rate <= asked + 1e-9:
        assert found.times == math.inf or rate > asked - 1e-9  # whatever the number of rows
        return

    def promises(times):
        hits, misses = times * rate * points, times * (1 - rate) * points
        return beta.ppf(error, hits, misses + 1) >= asked

    if found.times * points < 1e8:
        assert promises(found.times * 1.001)
        assert found.times == pytest.approx(1.0, rel=1e-5) or not promises(found.times / 1.001)


def test_what_is_promised_of_a_precision_is_of_the_hits_among_the_calls():
    """Of 40 positives 30 are hit, and of 60 negatives 6 are called: 30 of 36."""
    (bound,) = RecallAtPrecision(0.8, confidence=0.9).constraints(0.4)
    found = promised_rate(bound, 1, Rates(0.75, 0.9, 0.4), (40.0, 60.0))
    assert (found.kind, found.asked) == ("precision", pytest.approx(0.8))
    assert found.promised == pytest.approx(beta.ppf(0.1, 30, 7))
    assert beta.ppf(0.1, 30 * found.times, 6 * found.times + 1) == pytest.approx(0.8, abs=1e-4)


def test_the_search_for_enough_rows_ends_at_a_billion():
    (bound,) = TPRAtTNR(0.5).constraints(0.5)
    found = promised_rate(bound, 1, Rates(0.5, 0.5 + 1e-9, 0.5), (1.0, 100.0))
    assert 1e9 <= 100.0 * found.times <= 2.0001e9


def test_a_rate_of_no_rows_promises_nothing():
    (bound,) = TPRAtTNR(0.5).constraints(0.5)
    assert promised_rate(bound, 1, Rates(0.5, 0.0, 0.5), (1.0, 0.0))[1:] == (0.0, pytest.approx(0.5), math.inf)


@quick
@given(least=st.floats(0.01, 0.99), prevalence=st.floats(1e-6, 0.99), here=st.floats(0.01, 0.99))
def test_a_bound_says_its_kind_and_a_precision_is_restated_at_the_rows_own_prevalence(least, prevalence, here):
    (tnr,), (tpr,) = TPRAtTNR(least).constraints(0.5), PrecisionAtRecall(least).constraints(0.5)
    assert bounded_rate(tnr, here) == ("TNR", pytest.approx(least))
    assert bounded_rate(tpr, here) == ("TPR", pytest.approx(least))
    (precision,) = RecallAtPrecision(least).constraints(prevalence)
    kind, restated = bounded_rate(precision, here)
    # The odds of a called row to be positive are those of all rows times a factor that the rates tell.
    odds = least / (1 - least) * (1 - prevalence) / prevalence * here / (1 - here)
    assert (kind, restated / (1 - restated)) == ("precision", pytest.approx(odds, rel=1e-6))


def test_a_decision_says_what_cannot_be_promised_and_where_it_cuts():
    rng = np.random.default_rng(0)
    signs = np.repeat([1.0, -1.0], [300, 700])
    scores = Scores(rng.normal(size=1_000) + 2.0 * (signs > 0), signs)
    points, measure = (300.0, 700.0), TPRAtTNR(0.9)
    kept = decide(scores, measure, 9.0, points)
    assert kept.threshold == certified_threshold(*scores[:2], measure, points, 0.7)
    assert kept.message is None
    assert kept.rates == rates_at(*scores[:2], kept.threshold)
    # Not to be tuned: the threshold stays, and is judged where it is.
    assert decide(scores, measure, kept.threshold, points, tune=False) == kept
    missed = decide(scores, measure, -9.0, points, tune=False)
    assert (missed.threshold, missed.rates.tnr) == (-9.0, 0.0)
    assert "a TNR of at least 0.9" in missed.message
    # Nothing can be certified of so few rows: the threshold given is all there is.
    few = decide(scores, measure, 1.0, (3.0, 7.0))
    assert (few.threshold, few.message is None) == (1.0, False)
    # All of the error may be spent on scores of the model itself: then the cut is lower.
    assert decide(scores, measure, 9.0, points, error_share=1.0).threshold <= kept.threshold


def test_a_decision_moves_its_rates_by_the_shift_at_its_threshold():
    signs = np.repeat([1.0, -1.0], 100)
    scores = Scores(np.linspace(1.0, -1.0, 200), signs)
    asked = []

    def shift_at(threshold):
        asked.append(threshold)
        return ModelShift((-0.1, 0.0), (1.0, 1.0), (0.0, 0.0), 5)

    found = decide(scores, GMean(), 0.0, (100.0, 100.0), shift_at=shift_at)
    assert asked == [0.0]
    assert found.rates == Rates(pytest.approx(0.9), 1.0, 0.5)
    assert found.interval == rates_interval(Rates(1.0, 1.0, 0.5), GMean(), (100.0, 100.0), shift=shift_at(0.0))
    fitted = decide(scores, GMean(), 0.0, (100.0, 100.0), fitted=3)
    assert fitted.interval == rates_interval(Rates(1.0, 1.0, 0.5), GMean(), (100.0, 100.0), 3)


@pytest.mark.parametrize("searched", [False, True])
def test_bounds_that_hold_need_no_sentence_unless_a_search_has_failed(searched):
    sure, margin = TPRAtTNR(0.9), TPRAtTNR(0.9, confidence=None)
    rates, points = Rates(0.5, 0.95, 0.5), (1_000.0, 1_000.0)
    assert (bound_message(sure, rates, points, searched=searched) is None) == (not searched)
    assert bound_message(margin, rates, points, searched=searched) is None  # nothing is searched for it
    assert bound_message(GMean(), rates, points, searched=searched) is None
    for measure in (sure, margin):
        assert bound_message(measure, rates._replace(tpr=0.0), points) is not None
        assert bound_message(measure, rates._replace(tnr=0.9), points) is not None


def test_the_sentence_tells_how_sure_the_bounds_were_to_be_and_what_the_rates_are():
    message = bound_message(TPRAtTNR(0.9, confidence=None), Rates(0.25, 0.5, 0.5), (40.0, 60.0))
    assert "a TNR of at least 0.9 (by 0.5 standard errors)" in message
    assert "a TPR of 0.25, a TNR of 0.5 and a precision of 0.333" in message
    assert message.endswith("Ask for less, or give the model more rows or columns.")
    assert "can be promised" not in message
    nothing = bound_message(TPRAtTNR(0.9), Rates(0.0, 1.0, 0.5), (40.0, 60.0))
    assert "a precision of not defined" in nothing
    assert "a precision of 1." in bound_message(TPRAtTNR(0.9), Rates(0.05, 1.0, 0.5), (40.0, 6.0))
    assert "a precision of 0." in bound_message(TPRAtTNR(0.9), Rates(0.0, 0.99, 0.5), (40.0, 60.0))


def test_rows_of_weight_zero_do_not_count():
    scores, y = overlapping(3_000, 0.3)
    weights = np.where(np.arange(3_000) < 2_000, 1.0, 0.0)
    groups = np.arange(3_000)
    measure = TPRAtTNR(0.8)
    expected = certify(scores[:2_000], y[:2_000], measure)
    assert certify(scores, y, measure, sample_weight=weights) == expected
    assert certify(scores, y, measure, sample_weight=weights, groups=groups) == expected
