"""MeasureClassifier with costs per row."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import StratifiedKFold, cross_val_score

from ratewise import MeasureClassifier, MeasureMaximizer, export_onnx, load_model, open_stream, save_model
from ratewise.decisions.costs import cost_weights, expected_costs, row_costs

KINDS = {"false_positive": 10.0, "true_positive": 10.0}


def frauds(rows=3000, seed=0):
    """Two columns, few positives, and amounts of which a few are large."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=rows) > 1.6).astype(int)
    return X, y, np.exp(3.0 + rng.normal(size=rows))


@pytest.fixture(scope="module")
def model():
    X, y, amounts = frauds()
    return MeasureClassifier("cost", random_state=0).fit(X, y, costs=KINDS | {"false_negative": amounts})


def test_decisions_cost_less_than_any_one_threshold(model):
    X, y, amounts = frauds(seed=1)
    costs = KINDS | {"false_negative": amounts}
    predicted = model.predict(X, costs=costs)
    spent = np.where(predicted, 10.0, y * amounts)
    assert model.score(X, y, costs=costs) == pytest.approx(-spent.mean())
    scores = model.decision_function(X)
    thresholds = np.quantile(scores, np.linspace(0.5, 1.0, 200))
    best = min(np.where(scores > one, 10.0, y * amounts).sum() for one in thresholds)
    assert spent.sum() < 0.9 * best
    by_hand = expected_costs(model.predict_proba(X), row_costs(costs, y.size, 2)).argmin(axis=1)
    assert (predicted == by_hand).all()


def test_the_measure_is_what_one_threshold_costs(model):
    _, y, amounts = frauds()
    none, every = (model.measure_.value(*rates, model.rates_.prevalence) for rates in ((0.0, 1.0), (1.0, 0.0)))
    assert -none == pytest.approx((y * (amounts - 10.0)).mean(), rel=1e-6)
    assert -every == pytest.approx(((1 - y) * 10.0).mean(), rel=1e-6)
    assert model.fitted_to_costs_
    assert not MeasureClassifier("cost", random_state=0).fit(*frauds(300)[:2]).fitted_to_costs_


def test_rows_weigh_the_root_of_what_is_at_stake_whatever_their_class():
    X, y, amounts = frauds()
    table = row_costs(KINDS | {"false_negative": amounts}, y.size, 2)
    weights, at_stake = cost_weights(table), 10.0 + np.abs(amounts - 10.0)
    np.testing.assert_allclose(weights, np.sqrt(at_stake) / np.sqrt(at_stake).mean())
    of_costs = MeasureClassifier("cost", random_state=0).fit(X, y, costs=table)
    weighted = MeasureClassifier(of_costs.measure_, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(of_costs.coef_, weighted.coef_)


def test_costs_where_few_rows_are_worth_an_alert():
    X, y, amounts = frauds()
    amounts = np.where(amounts > 60, 80.0, 1.0)
    costs = KINDS | {"false_negative": amounts}
    assert amounts[y == 1].mean() < KINDS["true_positive"]
    model = MeasureClassifier("cost", random_state=0).fit(X, y, costs=costs)
    predicted = model.predict(X, costs=costs)
    assert predicted.any()
    assert (amounts[predicted == 1] == 80.0).all()
    assert -model.score(X, y, costs=costs) < (y * amounts).mean()


def test_scikit_learn_takes_a_frame_of_costs_apart():
    X, y, amounts = frauds(600)
    frame = pd.DataFrame(KINDS | {"false_negative": amounts})
    with config_context(enable_metadata_routing=True):
        model = MeasureClassifier("cost", random_state=0).set_fit_request(costs=True).set_score_request(costs=True)
        scores = cross_val_score(model, X, y, cv=2, params={"costs": frame})
    table = row_costs(dict(frame), y.size, 2)
    for score, (train, test) in zip(scores, StratifiedKFold(2).split(X, y), strict=True):
        by_hand = MeasureClassifier("cost", random_state=0).fit(X[train], y[train], costs=table[train])
        assert score == pytest.approx(by_hand.score(X[test], y[test], costs=table[test]))


def test_the_positive_class_is_the_one_that_costs_are_named_for():
    X, y, amounts = frauds()
    costs = KINDS | {"false_negative": amounts}
    names = np.array(["fraud", "none"])[1 - y]
    named = MeasureClassifier("cost", pos_label="fraud", random_state=0).fit(X, names, costs=costs)
    usual = MeasureClassifier("cost", random_state=0).fit(X, y, costs=costs)
    same = (named.predict(X, costs=costs) == "fraud") == (usual.predict(X, costs=costs) == 1)
    assert same.mean() > 0.999


def test_a_saved_model_still_asks_for_costs(model):
    X, y, amounts = frauds(100, seed=1)
    file = io.BytesIO()
    save_model(model, file)
    file.seek(0)
    again = load_model(file)
    costs = KINDS | {"false_negative": amounts}
    assert again.score(X, y, costs=costs) == model.score(X, y, costs=costs)
    with pytest.raises(ValueError, match="give costs= of these rows too"):
        again.predict(X)
    with pytest.raises(ValueError, match="exports no decision rule, which many classes and costs have"):
        export_onnx(again, io.BytesIO())


X, Y, AMOUNTS = frauds(300)
COSTS = KINDS | {"false_negative": AMOUNTS}


def fit(costs, y=Y, measure="cost", **more):
    return MeasureClassifier(measure, random_state=0).fit(X, y, costs=costs, **more)


def stream(measure, costs):
    return MeasureClassifier(measure).fit_stream(open_stream([(X, Y)]), costs=costs)


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: fit(COSTS, measure="f1"), 'costs= goes with measure="cost"'),
        (lambda: fit({"false_positive": -1.0}), "must be 0 or more"),
        (lambda: fit({"false_positive": AMOUNTS * np.nan}), "contain NaN or infinity"),
        (lambda: fit({"false_positive": AMOUNTS[:5]}), "must be a number or one per row"),
        (lambda: fit(np.ones((3, 3))), "one table of shape"),
        (lambda: fit(AMOUNTS), "one column; say of what"),
        (lambda: fit(np.ones((2, 2))), "the same whatever is predicted"),
        (
            lambda: fit(np.eye(2)),
            "in no positive row does a mistake cost more than the right decision",
        ),
        (lambda: fit(COSTS, y=np.arange(300) % 3), "of two classes, and y has 3"),
        (lambda: fit(COSTS, y=np.eye(300, 4)), "y is an indicator matrix of labels"),
        (lambda: fit(COSTS, y=np.zeros(300)), "holds one class only"),
        (lambda: fit(COSTS, target_prevalence=0.1), "are for measures, without costs"),
        (lambda: fit(COSTS).score(X, Y), "give costs= of these rows too"),
        (lambda: MeasureClassifier("cost").fit(X, Y).predict(X, costs=COSTS), "leave costs= out"),
        (lambda: fit(COSTS).partial_fit(X, Y), "which partial_fit does not take"),
        (lambda: stream("cost", {"false_negative": "c0", "false_positive": 1}), "does not keep 'c0'"),
        (lambda: stream("cost", {"false_negative": 5, "false_positive": 1}), "are a measure: CostMatrix"),
        (lambda: stream("cost", np.ones((2, 2))), "name columns"),
        (lambda: stream("cost", {"fn": "c0"}), "costs are named true_negative"),
        (lambda: stream("f1", {"false_negative": "c0"}), 'costs= goes with measure="cost"'),
    ],
)
def test_bad_input_is_refused_in_a_sentence(refused, message):
    with pytest.raises(ValueError, match=message):
        refused()


def test_more_than_two_classes_go_through_the_maximizer():
    y = np.digitize(X[:, 0], [-0.5, 0.8])
    costs = 1.0 - np.eye(3)
    model = MeasureMaximizer(MeasureClassifier("accuracy", random_state=0), "cost", cv=2).fit(X, y, costs=costs)
    assert model.score(X, y, costs=costs) > -0.1
    assert model.history_["weights"].tolist() == ["plain", "root of costs", "costs", "all"]
