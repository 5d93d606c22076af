"""Bounds on single classes of many: kept on new rows where they are promised, and told with numbers where not."""

from __future__ import annotations

import numpy as np
import pytest

from ratewise import ConstraintWarning, DecisionRule
from ratewise.measures import Constrained, confusion_measure

RARE = "eel"
NAMES = np.array(["cat", "cow", "dog", RARE])


def scored_rows(n_rows, *, seed):
    """Return probabilities, as sure as they should be, and labels of falling frequency."""
    rng = np.random.default_rng(seed)
    shares = 0.5 ** np.arange(4)
    codes = rng.choice(4, n_rows, p=shares / shares.sum())
    odds = 1.5 * (1.2 * np.eye(4)[codes] + rng.normal(size=(n_rows, 4))) + np.log(shares)
    proba = np.exp(odds)
    return proba / proba.sum(axis=1, keepdims=True), NAMES[codes]


def facts_of(rule, proba, y):
    """Return recall, precision and share of the predictions of each class."""
    predicted = rule.predict(proba)
    return {
        name: (
            float((predicted[y == name] == name).mean()),
            float((y[predicted == name] == name).mean()) if (predicted == name).any() else 1.0,
            float((predicted == name).mean()),
        )
        for name in NAMES.tolist()
    }


NEW = scored_rows(40_000, seed=1_000)
BOUNDS = {
    "every recall": ({"recall": 0.45}, lambda at: min(one[0] for one in at.values()) >= 0.45),
    "a recall": ({"recall": {RARE: 0.6}}, lambda at: at[RARE][0] >= 0.6),
    "a precision": ({"precision": {RARE: 0.5}}, lambda at: at[RARE][1] >= 0.5),
    "few predictions": ({"alert_rate": {"cat": 0.4}}, lambda at: at["cat"][2] <= 0.4),
    "all of these": (
        {"recall": {RARE: 0.4}, "precision": {"cat": 0.75}, "alert_rate": {"dog": 0.15}},
        lambda at: at[RARE][0] >= 0.4 and at["cat"][1] >= 0.75 and at["dog"][2] <= 0.15,
    ),
}


@pytest.mark.parametrize(
    ("measure", "name"), [*(("accuracy", name) for name in BOUNDS), ("f1", "every recall"), ("f1", "all of these")]
)
def test_what_is_promised_is_kept_on_new_rows(measure, name):
    bounds, kept = BOUNDS[name]
    found = []
    for seed in range(5):
        rule = DecisionRule(Constrained(measure, **bounds)).fit(*scored_rows(3000, seed=seed))
        assert rule.constraints_met_
        found.append(kept(facts_of(rule, *NEW)))
    assert sum(found) >= 4  # fewer of 5 draws, at a confidence of 0.9, in 8 of 100


def test_the_free_rule_misses_what_the_bounded_one_keeps():
    free = DecisionRule("accuracy").fit(*scored_rows(2000, seed=0))
    bounded = DecisionRule(Constrained("accuracy", recall=0.45)).fit(*scored_rows(2000, seed=0))
    assert facts_of(free, *NEW)[RARE][0] < 0.35
    assert min(one[0] for one in facts_of(bounded, *NEW).values()) > 0.45
    plain = confusion_measure("accuracy")
    values = [plain.score(NEW[1], one.predict(NEW[0])) for one in (free, bounded)]
    assert values[1] > values[0] - 0.1  # the price


def test_a_bound_that_costs_nothing_changes_little():
    free = DecisionRule("f1").fit(*scored_rows(3000, seed=0))
    bounded = DecisionRule(Constrained("f1", recall=0.1)).fit(*scored_rows(3000, seed=0))
    assert bounded.score(*NEW) == pytest.approx(free.score(*NEW), abs=0.01)


def test_what_cannot_be_promised_is_said_with_numbers():
    with pytest.warns(
        ConstraintWarning, match=r"the recall of '\w+' is 0\.\d+ here, at least 0\.\d+ can be"
    ) as told:
        rule = DecisionRule(Constrained("f1", recall=0.7)).fit(*scored_rows(2000, seed=0))
    assert rule.constraints_met_ is False
    assert "Ask for less, or give the model more rows" in str(told[0].message)
    # Nearest to the bounds: no class is left to itself.
    assert min(one[0] for one in facts_of(rule, *NEW).values()) > 0.4
    proba, y = scored_rows(2000, seed=0)
    few = np.r_[np.flatnonzero(y != RARE), np.flatnonzero(y == RARE)[:4]]
    with pytest.warns(ConstraintWarning, match=r"About \d+ rows of 'eel' would be needed \(there are 4\)"):
        DecisionRule(Constrained("f1", recall={RARE: 0.5})).fit(proba[few], y[few])


def test_rows_that_weigh_or_depend_on_others_are_worth_fewer():
    proba, y = scored_rows(600, seed=0)
    # The same rows ten times over, as groups of copies, promise what they promise once.
    copies = np.repeat(np.arange(600), 10)
    asked = Constrained("accuracy", recall={RARE: 0.4}, confidence=0.99)
    once, often = (
        DecisionRule(asked).fit(*rows, groups=groups)
        for rows, groups in (((proba, y), None), ((proba[copies], y[copies]), copies))
    )
    taken_for_new = DecisionRule(asked).fit(proba[copies], y[copies])
    found = [facts_of(one, *NEW)[RARE][0] for one in (once, often, taken_for_new)]
    assert found[0] == pytest.approx(found[1], abs=0.05)
    assert min(found[:2]) > found[2] + 0.05


def test_without_a_confidence_margins_decide():
    rule = DecisionRule(Constrained("accuracy", recall={RARE: 0.5}, confidence=None, margin=0.0))
    proba, y = scored_rows(2000, seed=3)
    rule.fit(proba, y)
    recall = facts_of(rule, proba, y)[RARE][0]
    assert 0.5 <= recall < 0.52  # of these rows themselves, and no more than is asked


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"recall": 1.5}, "recall must be a number above 0 and below 1"),
        ({"recall": {RARE: 2}}, "recall must be a share"),
        ({"recall": {}}, "names no class"),
        ({"recall": {"cod": 0.5}}, "names the class 'cod', and there is none; there are cat, cow, dog, eel"),
        ({"alert_rate": 0.02}, "adds up to 0.08, and every row is predicted"),
        ({"tpr": 0.5}, "tpr= is of two classes"),
        ({"recall": 0.5, "tpr_gap": 0.1}, "tpr_gap= is of two classes"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(bounds, words):
    with pytest.raises(ValueError, match=words):
        DecisionRule(Constrained("f1", **bounds)).fit(*scored_rows(100, seed=0))


def test_bounds_on_classes_are_not_for_two():
    proba, y = scored_rows(200, seed=0)
    two = np.column_stack([proba[:, 0], 1.0 - proba[:, 0]])
    with pytest.raises(ValueError, match="is of more than two classes; of two, bound tpr="):
        DecisionRule(Constrained("f1", recall=0.5)).fit(two, y != "cat")


def test_names_bound_classes_too():
    assert confusion_measure("macro-f1-at-recall-0.5") == confusion_measure(Constrained("f1", recall=0.5))
    both = confusion_measure("worst-recall-at-recall-0.3-at-precision-0.2")
    assert both == confusion_measure(Constrained("worst-recall", recall=0.3, precision=0.2))


def test_the_value_falls_where_a_bound_is_missed():
    measure = Constrained("accuracy", recall={"b": 0.5})
    of_many = confusion_measure(measure)
    assert of_many.score(["a", "a", "b"], ["a", "a", "b"]) == 1.0
    assert of_many.score(["a", "a", "b"], ["a", "a", "a"]) == pytest.approx(2 / 3 - 2.0)
