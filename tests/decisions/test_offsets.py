"""Rules from probabilities of many classes: better than the most probable class, and never tuned to noise."""

from __future__ import annotations

import numpy as np
import pytest

from ratewise.decisions.offsets import ClassGains, best_gains
from ratewise.measures import ClassCosts, FunctionOfCounts, confusion_measure

NAMES = [
    "min",
    "gmean",
    "hmean",
    "qmean",
    "balanced-accuracy",
    "f1",
    "mcc",
    "kappa",
    "quadratic-kappa",
    "accuracy",
]


def scored_rows(n_rows, n_classes=4, *, seed=0, separation=1.5):
    """Return probabilities, as sure as they should be, and classes of falling frequency."""
    rng = np.random.default_rng(seed)
    shares = 0.5 ** np.arange(n_classes)
    codes = rng.choice(n_classes, n_rows, p=shares / shares.sum())
    codes[:n_classes] = np.arange(n_classes)
    centres = separation * np.eye(n_classes)
    places = centres[codes] + rng.normal(size=(n_rows, n_classes))
    odds = places @ centres.T + np.log(shares)
    proba = np.exp(odds - odds.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True), codes


def value_of(measure, codes, predicted, n_classes=4):
    return measure.score(codes, predicted, labels=np.arange(n_classes))


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_is_at_least_as_good_on_new_rows_as_the_most_probable_class(name):
    measure = confusion_measure(name)
    (proba, codes), (new_proba, new_codes) = (scored_rows(3000, seed=seed) for seed in (1, 2))
    rule = best_gains(proba, codes, np.ones(3000), measure).rule
    tuned = value_of(measure, new_codes, rule.predict(new_proba))
    plain = value_of(measure, new_codes, new_proba.argmax(axis=1))
    more = {"min": 0.25, "hmean": 0.1, "gmean": 0.05, "balanced-accuracy": 0.02}.get(name, -0.005)
    assert tuned > plain + more


def test_probabilities_of_balanced_training_are_corrected():
    (proba, codes), (new_proba, new_codes) = (scored_rows(3000, seed=seed) for seed in (1, 2))
    odd, new_odd = (np.sqrt(one * 2.0 ** np.arange(4)) for one in (proba, new_proba))  # balanced, and too unsure
    odd, new_odd = (one / one.sum(axis=1, keepdims=True) for one in (odd, new_odd))
    accuracy = confusion_measure("accuracy")
    rule = best_gains(odd, codes, np.ones(3000), accuracy).rule
    best = value_of(accuracy, new_codes, new_proba.argmax(axis=1))
    assert value_of(accuracy, new_codes, new_odd.argmax(axis=1)) < best - 0.03
    assert value_of(accuracy, new_codes, rule.predict(new_odd)) > best - 0.005
    assert rule.slope == pytest.approx(2.0, rel=0.1)


def test_costs_are_kept_to_exactly():
    proba, codes = scored_rows(3000)
    costs = ClassCosts(((0, 1, 1, 1), (5, 0, 1, 1), (20, 1, 0, 1), (20, 9, 1, 0)))
    rule = best_gains(proba, codes, np.ones(3000), costs).rule
    by_hand = (rule.calibrated(proba) @ np.array(costs.costs)).argmin(axis=1)
    assert (rule.predict(proba) == by_hand).all()


def test_few_rows_are_not_tuned_to():
    f1, losses = confusion_measure("f1"), []
    new_proba, new_codes = scored_rows(3000, seed=100, separation=3.0)
    for seed in range(20):
        proba, codes = scored_rows(60, seed=seed, separation=3.0)
        rule = best_gains(proba, codes, np.ones(60), f1).rule
        tuned, plain = (
            value_of(f1, new_codes, one) for one in (rule.predict(new_proba), new_proba.argmax(axis=1))
        )
        losses.append(plain - tuned)
    assert np.mean(losses) < 0.005
    assert np.median(losses) == 0


def test_weights_count_as_copies():
    proba, codes = scored_rows(600)
    times = np.where(codes == 3, 3, 1)
    gmean = confusion_measure("gmean")
    weighted = best_gains(proba, codes, times.astype(float), gmean).rule
    copied = best_gains(proba.repeat(times, axis=0), codes.repeat(times), np.ones(times.sum()), gmean).rule
    new_proba, new_codes = scored_rows(3000, seed=2)
    values = [value_of(gmean, new_codes, rule.predict(new_proba)) for rule in (weighted, copied)]
    assert values[0] == pytest.approx(values[1], abs=0.02)


def test_offsets_say_the_same_as_gains_of_recalls():
    proba, codes = scored_rows(3000)
    rule = best_gains(proba, codes, np.ones(3000), confusion_measure("gmean")).rule
    assert rule.offsets is not None
    by_offsets = (np.log(np.maximum(proba, 1e-12)) + rule.offsets).argmax(axis=1)
    assert (by_offsets == rule.predict(proba)).mean() > 0.999
    quadratic = best_gains(proba, codes, np.ones(3000), confusion_measure("quadratic-kappa")).rule
    assert quadratic.gains.shape == (4, 4)
    assert quadratic.offsets is None
    assert (ClassGains.none(4).predict(proba) == proba.argmax(axis=1)).all()


def test_two_classes_and_functions_of_the_table_have_rules_too():
    proba, codes = scored_rows(2000, 2)
    worse_rate = FunctionOfCounts(lambda C: C[0, 0] / C[0].sum() * C[1, 1] / C[1].sum())
    for measure in (worse_rate, confusion_measure("gmean"), ClassCosts(((0, 1), (5, 0)))):
        rule = best_gains(proba, codes, np.ones(2000), measure).rule
        plain = value_of(measure, codes, proba.argmax(axis=1), 2)
        assert value_of(measure, codes, rule.predict(proba), 2) > plain + 0.005


def test_a_thousand_classes_have_a_rule():
    rng = np.random.default_rng(0)
    codes = np.append(np.arange(1000), rng.integers(0, 1000, 2000))
    odds = rng.normal(size=(3000, 1000)).astype(np.float32)
    odds[np.arange(3000), codes] += 4.0
    proba = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    measure = confusion_measure("balanced-accuracy")
    rule = best_gains(proba, codes, np.ones(3000), measure).rule
    assert value_of(measure, codes, rule.predict(proba), 1000) >= value_of(
        measure, codes, proba.argmax(axis=1), 1000
    )
