"""DecisionRule: decisions from probabilities of any model, for any measure and for costs per row."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score

from ratewise import ConstraintWarning, DecisionRule, UnknownRateWarning, certify, load_model, save_model
from ratewise.measures import ClassCosts, RecallAtPrecision, get_measure

NAMES = np.array(["cat", "cow", "dog", "eel"])


def scored_rows(n_rows=3000, n_classes=4, *, seed=0):
    """Return probabilities, as sure as they should be, and labels of falling frequency."""
    rng = np.random.default_rng(seed)
    shares = 0.5 ** np.arange(n_classes)
    codes = rng.choice(n_classes, n_rows, p=shares / shares.sum())
    odds = 1.5 * (1.5 * np.eye(n_classes)[codes] + rng.normal(size=(n_rows, n_classes))) + np.log(shares)
    proba = np.exp(odds)
    return proba / proba.sum(axis=1, keepdims=True), NAMES[codes]


def amounts_at_stake(seed, n_rows=4000):
    """Return probabilities, labels and the cost of a miss in each row."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-2.0, 2.0, n_rows)
    positive = 1.0 / (1.0 + np.exp(-log_odds))
    y = rng.random(n_rows) < positive
    amounts = np.exp(rng.normal(3.0, 1.5, n_rows))
    wrong = 1.0 / (1.0 + np.exp(-2.0 * log_odds))  # too sure
    return np.column_stack([1.0 - wrong, wrong]), y, amounts


def test_the_worst_recall_rises_on_new_rows():
    (proba, y), (new_proba, new_y) = scored_rows(seed=1), scored_rows(seed=2)
    rule = DecisionRule("worst-recall").fit(proba, y)
    recalls = recall_score(new_y, rule.predict(new_proba), average=None)
    assert rule.score(new_proba, new_y) == pytest.approx(recalls.min())
    assert recalls.min() > recall_score(new_y, NAMES[new_proba.argmax(axis=1)], average=None).min() + 0.25
    assert rule.classes_.tolist() == NAMES.tolist()
    assert rule.offsets_.shape == (4,)
    assert rule.threshold_ is None
    for recall, interval in zip(recalls, rule.rates_interval_, strict=True):
        assert interval.tpr[0] - 0.02 < recall < interval.tpr[1] + 0.02
    assert rule.counts_.weights.sum() == 3000


def test_two_classes_have_the_threshold_of_certify():
    proba, y, _ = amounts_at_stake(0)
    measure = RecallAtPrecision(0.8)
    rule, found = DecisionRule(measure).fit(proba, y), certify(proba[:, 1], y, measure)
    assert rule.threshold_ == found.threshold
    assert rule.rates_ == found.rates
    assert rule.constraints_met_
    other = DecisionRule("f1", pos_label=False).fit(proba, y)
    assert other.threshold_ == certify(proba[:, 0], ~y, "f1").threshold
    assert other.score(proba, y) == pytest.approx(get_measure("f1").score(~y, ~other.predict(proba)))
    with pytest.warns(ConstraintWarning, match="precision"):
        DecisionRule(RecallAtPrecision(0.999, confidence=0.99)).fit(proba[:200], y[:200])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_columns_named_by_the_classes_may_be_in_any_order(n_classes):
    proba, y = scored_rows(500, n_classes)
    table = pd.DataFrame(proba, columns=NAMES[:n_classes])
    turned = table[table.columns[::-1]]
    rule = DecisionRule("gmean").fit(proba, y)
    assert (DecisionRule("gmean").fit(turned, y).predict(table) == rule.predict(proba)).all()
    assert rule.score(turned, y) == rule.score(proba, y)
    numbered = pd.DataFrame(proba[:, ::-1], columns=range(n_classes)[::-1])
    by_number = DecisionRule("gmean").fit(numbered, np.searchsorted(NAMES[:n_classes], y))
    assert (NAMES[by_number.predict(numbered)] == rule.predict(proba)).all()


def test_costs_of_each_row_are_weighed_against_its_probability():
    (proba, y, amounts), (new_proba, new_y, new_amounts) = amounts_at_stake(0), amounts_at_stake(1)
    costs = {"false_positive": 10.0, "true_positive": 10.0, "false_negative": amounts}
    rule = DecisionRule("cost").fit(proba, y, costs=costs)
    new_costs = costs | {"false_negative": new_amounts}
    table = np.zeros((4000, 2, 2))
    table[:, :, 1], table[:, 1, 0] = 10.0, new_amounts
    predicted = rule.predict(new_proba, costs=new_costs)
    assert (predicted == rule.predict(new_proba, costs=table)).all()
    spent = np.where(predicted, 10.0, new_y * new_amounts).sum()
    assert rule.score(new_proba, new_y, costs=new_costs) == pytest.approx(-spent / 4000)
    plain = certify(-proba[:, 0], y, "cost")
    by_threshold = min(
        np.where(new_proba[:, 1] > one, 10.0, new_y * new_amounts).sum()
        for one in (*np.quantile(new_proba[:, 1], np.linspace(0, 1, 50)), plain.threshold)
    )
    assert spent < 0.95 * by_threshold
    assert rule.spent_.rule < rule.spent_.best_threshold < rule.spent_.one_class


@pytest.mark.parametrize("groups", [None, np.arange(4000) // 4])
def test_costs_leave_true_probabilities_and_correct_those_too_sure(groups):
    sure, y, amounts = amounts_at_stake(0)
    shares = np.sqrt(sure)
    true = shares / shares.sum(axis=1, keepdims=True)
    costs = {"false_positive": 10.0, "false_negative": amounts}
    for proba, slope in ((true, 1.0), (sure, pytest.approx(0.5, abs=0.05))):
        rule = DecisionRule("cost").fit(proba, y, costs=costs, groups=groups)
        assert rule.calibration_[0, 0] == slope
    assert DecisionRule("cost").fit(true, y, costs=costs).calibration_.tolist() == [[1.0, 0.0]]


def test_costs_of_many_classes():
    proba, y = scored_rows()
    table = np.array([[0, 1, 1, 1], [5, 0, 1, 1], [20, 1, 0, 1], [20, 9, 1, 0.0]])
    rule = DecisionRule("cost").fit(proba, y, costs=table)
    assert rule.spent_.rule < rule.spent_.most_probable
    assert rule.spent_.best_threshold is None
    same = DecisionRule(ClassCosts(table)).fit(proba, y)
    assert rule.score(proba, y, costs=table) == pytest.approx(same.score(proba, y), rel=0.02)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_rejected_rows_are_few_and_the_others_are_decided_better(n_classes):
    proba, y = scored_rows(n_classes=n_classes)
    shares, gains = [], []
    for seed in range(1, 11):
        new_proba, new_y = scored_rows(1000, n_classes, seed=seed)
        rule, plain = (DecisionRule("gmean", reject=share).fit(proba, y) for share in (0.1, 0.0))
        shares.append(rule.rejected(new_proba).mean())
        gains.append(rule.score(new_proba, new_y) - plain.score(new_proba, new_y))
    assert 0.06 < np.mean(shares) <= 0.1
    assert np.mean(gains) > 0.01
    assert not plain.rejected(proba).any()


def test_rules_are_saved_and_cloned():
    proba, y = scored_rows()
    two, labels, amounts = amounts_at_stake(0)
    costs = {"false_positive": 10.0, "false_negative": amounts}
    for rule, rows, more in (
        (DecisionRule("macro-f1").fit(proba, y), proba, {}),
        (DecisionRule("quadratic-kappa", reject=0.05).fit(proba, y), proba, {}),
        (DecisionRule("f1").fit(two, labels), two, {}),
        (DecisionRule("cost").fit(two, labels, costs=costs), two, {"costs": costs}),
    ):
        file = io.BytesIO()
        save_model(rule, file)
        file.seek(0)
        loaded = load_model(file)
        assert (loaded.predict(rows, **more) == rule.predict(rows, **more)).all()
        assert (loaded.rejected(rows, **more) == rule.rejected(rows, **more)).all()
        assert clone(rule).get_params() == rule.get_params()
    with pytest.raises(ValueError, match="plain Python function"):
        save_model(DecisionRule(lambda C: C[0, 0] / C.sum()).fit(proba, y), io.BytesIO())


def test_probabilities_of_a_model_by_folds():
    X, y = load_digits(return_X_y=True)
    model = LogisticRegression(max_iter=2_000).fit(X[:900] / 16, y[:900])
    proba = model.predict_proba(X[900:] / 16)
    rule = DecisionRule("macro-f1").fit(proba[:400], y[900:1300])
    plain = clone(rule).set_params(measure="accuracy").fit(proba[:400], y[900:1300])
    assert rule.score(proba[400:], y[1300:]) > 0.85
    assert plain.score(proba[400:], y[1300:]) > 0.85


GOOD, LABELS = scored_rows(200)
TABLE = np.ones((4, 4))
BAD = [
    ({"proba": GOOD[:, 0]}, "a row per sample and a column per class"),
    ({"proba": GOOD[:, :1]}, "a row per sample and a column per class"),
    ({"proba": np.full_like(GOOD, np.nan)}, "not finite"),
    ({"proba": 2 * GOOD}, "must hold probabilities: row"),
    ({"proba": np.column_stack([GOOD, GOOD]) / 2}, "8 columns and y holds 4 classes"),
    ({"y": np.where(LABELS == "eel", "cat", LABELS)}, "4 columns and y holds 3 classes"),
    ({"y": LABELS[:-1]}, "inconsistent numbers"),
    ({"sample_weight": np.where(LABELS == "eel", 0.0, 1.0)}, "'eel' have sample_weight 0"),
    ({"measure": "cost"}, "needs costs="),
    ({"costs": TABLE}, 'goes with measure="cost"'),
    ({"measure": "cost", "costs": -TABLE}, "0 or more"),
    ({"measure": "cost", "costs": TABLE * np.inf}, "NaN or infinity"),
    ({"measure": "cost", "costs": np.ones((3, 3))}, r"one table of shape \(4, 4\); got shape \(3, 3\)"),
    ({"measure": "cost", "costs": np.ones((10, 4, 4))}, r"an array of shape \(200, 4, 4\)"),
    ({"measure": "cost", "costs": {"false_positive": 1}}, "those of two classes"),
    ({"measure": ClassCosts(np.ones((3, 3)))}, "costs are of 3 classes"),
    ({"measure": RecallAtPrecision(0.8)}, "has bounds"),
    ({"measure": "precise"}, "no measure"),
    ({"reject": 1.0}, "reject must be a share"),
    ({"pos_label": "cat"}, "is for two classes"),
]


@pytest.mark.parametrize(("changed", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_refused_in_a_sentence(changed, message):
    settings = {name: changed[name] for name in ("measure", "reject", "pos_label") if name in changed}
    given = {"proba": GOOD, "y": LABELS} | {name: value for name, value in changed.items() if name not in settings}
    with pytest.raises(ValueError, match=message):
        DecisionRule(**settings).fit(**given)


def test_bad_input_to_predict_is_refused_in_a_sentence():
    rule = DecisionRule("gmean").fit(GOOD, LABELS)
    with pytest.raises(ValueError, match="2 columns; the rule is of 4 classes"):
        rule.predict(np.full((3, 2), 0.5))
    with pytest.raises(ValueError, match="without costs"):
        rule.predict(GOOD, costs=TABLE)
    with pytest.raises(ValueError, match="not among the classes"):
        rule.score(GOOD, np.full(200, "fox"))
    of_costs = DecisionRule("cost").fit(GOOD, LABELS, costs=TABLE)
    with pytest.raises(ValueError, match="give costs= of these rows"):
        of_costs.predict(GOOD)
    two, y, amounts = amounts_at_stake(0)
    for costs, message in (
        ({"false_positive": 1, "misses": 2}, "costs are named .* got 'misses'"),
        ({"false_negative": amounts[:5]}, "a number or one per row"),
        ({"false_negative": "ten"}, "must be numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            DecisionRule("cost").fit(two, y, costs=costs)


def test_an_interval_counts_groups_and_holds_the_rate_stated():
    rng = np.random.default_rng(0)
    y = np.repeat(rng.random(200) < 0.3, 5)
    second = np.clip(0.5 + 0.3 * (2.0 * y - 1.0) + 0.3 * np.repeat(rng.standard_normal(200), 5), 0.01, 0.99)
    proba, groups = np.column_stack([1.0 - second, second]), np.repeat(np.arange(200), 5)
    alone, grouped = (DecisionRule("f1").fit(proba, y, groups=one).rates_interval_ for one in (None, groups))
    for mine, wider in zip(alone[:2], grouped[:2], strict=True):
        assert wider[1] - wider[0] > 1.5 * (mine[1] - mine[0])
    perfect = DecisionRule("f1").fit(np.column_stack([~y, y]).astype(float), y)
    assert perfect.rates_.tpr == perfect.rates_interval_.tpr[1] == 1.0


@pytest.mark.parametrize("names", [("no", "yes"), ("a", "b", "c")])
def test_a_class_of_one_row_has_a_rate_that_is_not_known(names):
    y = np.array([names[0]] * 60 + [names[-1]] + list(names[1:-1]) * 30)
    proba = np.random.default_rng(0).dirichlet(np.ones(len(names)), y.size)
    with pytest.warns(UnknownRateWarning, match="The TPR on new rows is not known, and its interval is 0 to 1"):
        rule = DecisionRule("f1" if len(names) == 2 else "macro-f1").fit(proba, y)
    last = rule.rates_interval_ if len(names) == 2 else rule.rates_interval_[-1]
    assert last.tpr == (0.0, 1.0)
