"""One threshold per group: bounds on groups and between them, promised with a confidence."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import beta, binom, norm

from ratewise import certify
from ratewise.measures import Constrained, Gap, get_measure

SHIFT, OFFSET, POSITIVE = np.array([1.6, 1.9]), np.array([-0.3, 0.2]), np.array([0.11, 0.3])


def people(rows, seed=0, share=0.33):
    """Scores of two groups whose true rates at any thresholds are known; the first is rarer and scores lower."""
    rng = np.random.default_rng(seed)
    codes = (rng.random(rows) > share).astype(int)
    y = rng.random(rows) < POSITIVE[codes]
    scores = rng.standard_normal(rows) + SHIFT[codes] * y + OFFSET[codes]
    return scores, y, np.array(["f", "m"])[codes]


def truth(thresholds):
    cuts = np.array([thresholds["f"], thresholds["m"]])
    tpr, fpr = norm.sf(cuts - SHIFT - OFFSET), norm.sf(cuts - OFFSET)
    return {"tpr": tpr, "fpr": fpr, "alerts": POSITIVE * tpr + (1 - POSITIVE) * fpr}


def difference(rates):
    return float(abs(rates[0] - rates[1]))


CASES = {
    "equal opportunity": (Constrained("f1", tpr_gap=0.05), lambda at: difference(at["tpr"]) <= 0.05),
    "equalized odds": (
        Constrained("f1", tpr_gap=0.08, fpr_gap=0.08),
        lambda at: max(difference(at["tpr"]), difference(at["fpr"])) <= 0.08,
    ),
    "demographic parity": (Constrained("f1", alert_rate_gap=0.05), lambda at: difference(at["alerts"]) <= 0.05),
    "recall in every group": (Constrained("f1", tpr=0.7, per_group=True), lambda at: min(at["tpr"]) >= 0.7),
    "a gap and a budget": (
        Constrained("f1", tpr_gap=0.08, alert_rate=0.1),
        lambda at: difference(at["tpr"]) <= 0.08 and np.dot([0.33, 0.67], at["alerts"]) <= 0.1,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bounds_on_groups_are_kept_as_often_as_the_confidence_says(case):
    measure, kept = CASES[case]
    held = []
    for seed in range(20):
        scores, y, group = people(8_000, seed)
        found = certify(scores, y, measure, sensitive_features=group)
        assert found.kept, found.message
        held.append(kept(truth(found.thresholds)))
    assert np.sum(held) >= binom.ppf(0.001, 20, 0.9)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_bounds_on_groups_hold_in_two_hundred_draws(case):
    measure, kept = CASES[case]
    held = []
    for seed in range(1_000, 1_200):
        scores, y, group = people(3_000, seed)
        found = certify(scores, y, measure, sensitive_features=group)
        if found.kept:
            held.append(kept(truth(found.thresholds)))
    assert np.sum(held) >= binom.ppf(0.001, len(held), 0.9)


def test_thresholds_are_about_the_best_pair_that_keeps_the_bound():
    """Against all pairs on a grid, by the rows at their word."""
    scores, y, group = people(3_000)
    measure = Constrained("f1", tpr_gap=0.05, margin=0.0, confidence=None)
    found = certify(scores, y, measure, sensitive_features=group)
    grid = np.linspace(-1.0, 2.5, 120)
    above = {name: scores[group == name][:, np.newaxis] > grid for name in "fm"}
    hits = {name: (above[name] & y[group == name][:, np.newaxis]).sum(axis=0) for name in "fm"}
    calls = {name: above[name].sum(axis=0) for name in "fm"}
    tpr = {name: hits[name] / y[group == name].sum() for name in "fm"}
    best = max(
        2 * (hits["f"][a] + hits["m"][b]) / (calls["f"][a] + calls["m"][b] + y.sum())
        for a, b in itertools.product(range(grid.size), repeat=2)
        if abs(tpr["f"][a] - tpr["m"][b]) <= 0.05
    )
    predicted = scores > np.where(group == "f", found.thresholds["f"], found.thresholds["m"])
    assert get_measure("f1").score(y, predicted) >= best - 0.002
    assert difference([predicted[y & (group == name)].mean() for name in "fm"]) <= 0.05


def test_a_gap_is_certified_by_the_ends_of_both_rates():
    scores, y, group = people(4_000)
    found = certify(scores, y, Constrained("f1", tpr_gap=0.1), sensitive_features=group)
    ends = []
    for name in "fm":
        mine = scores[(group == name) & y]
        hits, number, error = int((mine > found.thresholds[name]).sum()), mine.size, 0.7 * 0.1
        low, high = beta.ppf(error, hits, number - hits + 1), beta.ppf(1 - error, hits + 1, number - hits)
        ends.append((hits / number, low, high))
    for (one, _, high), (other, low, _) in itertools.permutations(ends, 2):
        assert one - other + np.hypot(high - one, other - low) <= 0.1 + 1e-9


def test_with_one_threshold_for_all_rows_the_bound_holds_too():
    scores, y, group = people(8_000)
    measure = Constrained("f1", alert_rate_gap=0.1, group_cuts=False)
    found = certify(scores, y, measure, sensitive_features=group)
    assert found.kept
    assert found.thresholds is None
    assert difference(truth({"f": found.threshold, "m": found.threshold})["alerts"]) <= 0.1
    apart = certify(scores, y, Constrained("f1", alert_rate_gap=0.1), sensitive_features=group)
    f1 = get_measure("f1")
    assert f1.value(*apart.rates) > f1.value(*found.rates)


def test_what_cannot_be_promised_is_said_of_each_group():
    scores, y, group = people(300)
    found = certify(scores, y, Constrained("f1", tpr_gap=0.03), sensitive_features=group)
    assert not found.kept
    assert "a difference in TPR between groups of at most 0.03 with a confidence of 0.9" in found.message
    assert " in f, " in found.message
    positives = int(y[group == "f"].sum())
    assert (
        f"times as many rows would be needed, first of all of f (there are {positives} positives" in found.message
    )
    of_men = y & (group == "m")
    with pytest.raises(ValueError, match="group 'f' of sensitive_features has no positive row"):
        certify(scores, of_men, Constrained("f1", tpr_gap=0.3), sensitive_features=group)


def test_of_a_measure_without_bounds_on_groups_the_groups_change_nothing():
    scores, y, group = people(2_000)
    plain, grouped = certify(scores, y, "gmean"), certify(scores, y, "gmean", sensitive_features=group)
    assert grouped == plain


def test_weights_count_as_copies_of_rows():
    scores, y, group = people(1_500)
    measure = Constrained("f1", tpr=0.7, per_group=True, confidence=None, margin=0.0)
    twice = certify(*(np.repeat(one, 2) for one in (scores, y)), measure, sensitive_features=np.repeat(group, 2))
    weighted = certify(scores, y, measure, sample_weight=np.full(1_500, 2.0), sensitive_features=group)
    assert weighted.thresholds == pytest.approx(twice.thresholds)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a", "b"], "has 2 values, but X has 4 rows"),
        (["a", "a", "a", "a"], "holds one group only"),
        (["a", "b", None, "a"], "missing values; every row needs a group"),
        ([0.0, 1.0, np.nan, 0.0], "NaN or infinity; every row needs a group"),
        ([["a", "b"], ["a", "b"], ["a", "b"], ["a", "b"]], "must be one column"),
        (np.array(["a", 1, "b", 2], dtype=object), "mixes values of different types"),
        (None, r"has bounds on groups of rows: fit it to rows in memory or to files, with sensitive_features="),
    ],
)
def test_groups_that_make_no_sense_are_refused(values, words):
    with pytest.raises(ValueError, match=words):
        certify([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1], Constrained("f1", tpr_gap=0.1), sensitive_features=values)


def test_a_gap_is_read_off_a_table_per_group():
    table = np.array([[[90, 10], [2, 8]], [[70, 30], [3, 7]], [[8, 2], [1, 9]]])
    assert Gap((1, 1), (1, None), 0.1).difference(table) == pytest.approx(0.2)
    assert Gap((0, 1), (0, None), 0.1).difference(table) == pytest.approx(0.2)
    assert [one.label for one in Constrained("f1", tpr_gap=0.1, tpr=0.5, per_group=True).group_bounds] == [
        "a TPR of at least 0.5",
        "a difference in TPR between groups of at most 0.1",
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tpr_gap": 0.0}, "Constrained: tpr_gap must be a number above 0 and below 1"),
        ({"tpr": 0.5, "per_group": "yes"}, "Constrained: per_group must be True or False"),
    ],
)
def test_bounds_on_groups_out_of_range_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        Constrained("f1", **settings)
