"""Reports on what decisions cost."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import ratewise
from ratewise import MeasureClassifier, MeasureMaximizer


def frauds(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=rows) > 1.6, "fraud", "sale")
    costs = {"false_positive": 10.0, "true_positive": 10.0, "false_negative": np.exp(3.0 + rng.normal(size=rows))}
    return X, y, costs


@pytest.fixture(scope="module")
def models():
    X, y, costs = frauds(2000, 0)
    linear = MeasureClassifier("cost", pos_label="fraud", random_state=0).fit(X, y, costs=costs)
    maximizer = MeasureMaximizer(LogisticRegression(), "cost", pos_label="fraud", cv=3).fit(X, y, costs=costs)
    return {"linear": linear, "maximizer": maximizer, "plain": LogisticRegression().fit(X, y)}


@pytest.mark.parametrize("name", ["linear", "maximizer", "plain"])
def test_the_report_says_what_decisions_cost_and_what_they_save(models, name):
    X, y, costs = frauds(1000, 1)
    model = models[name]
    about = ratewise.report({name: model}, X, y, costs=costs, pos_label="fraud")
    (one,) = about.models
    predicted = model.predict(X) if name == "plain" else model.predict(X, costs=costs)
    missed = np.where(y == "fraud", costs["false_negative"], 0.0)
    spent = np.where(predicted == "fraud", 10.0, missed)
    found = one.facts["costs"]
    assert found.total == pytest.approx(spent.sum())
    none, threshold = found.others
    assert none.name == "no model: every row is predicted sale"
    assert none.saved == pytest.approx(missed.sum() - spent.sum())
    assert none.error == pytest.approx((missed - spent).std() * np.sqrt(1000))
    share = model.predict_proba(X)[:, list(model.classes_).index("fraud")]
    by_hand = [np.where(share > cut, 10.0, missed).sum() for cut in np.append(share, -1.0)]
    if name != "linear":  # the report cuts the same probabilities
        assert threshold.total == pytest.approx(min(by_hand))
    page = about.html()
    assert f"<td>{spent.sum():,.2f}</td>" in page
    assert ("decides row by row" in page) == (name != "plain")


def test_models_stand_side_by_side_and_are_judged_by_mean_costs(models):
    X, y, costs = frauds(1000, 1)
    about = ratewise.report(models, X, y, costs=costs, pos_label="fraud")
    assert {one.measure.costs[0] for one in about.models} == {(0.0, 10.0)}
    assert about.html().count("What the decisions of") == 2 * 3  # a heading and its label
    totals = [one.facts["costs"].total for one in about.models]
    words = " ".join(about.html().split())
    assert f"linear decides row by row, by the costs of each row: its decisions cost {totals[0]:,.2f}" in words
    assert f"the decisions of linear cost {totals[2] - totals[0]:,.2f} less than those of plain" in words
    assert "of the two is better" not in words


def test_costs_of_more_than_two_classes():
    X, y = load_iris(return_X_y=True)
    table = 1.0 - np.eye(3)
    model = MeasureMaximizer(LogisticRegression(max_iter=500), "cost", cv=3).fit(X[:, :2], y, costs=table)
    (one,) = (about := ratewise.report(model, X[:, :2], y, costs=table)).models
    assert one.costs.total == (model.predict(X[:, :2], costs=table) != y).sum()
    assert one.costs.others[0].total == 100.0
    assert "no model: every row is predicted 0" in about.html()


def test_a_model_of_costs_needs_them(models):
    X, y, _ = frauds(100, 1)
    for name in ("linear", "maximizer"):
        with pytest.raises(ValueError, match="give costs= of these rows too"):
            ratewise.report(models[name], X, y)
    with pytest.raises(ValueError, match="costs are named"):
        ratewise.report(models["plain"], X, y, costs={"amount": 1.0})


def test_costs_that_make_alerts_dear_in_the_mean(models):
    X, y, costs = frauds(1000, 1)
    dear = costs | {"false_negative": np.where(costs["false_negative"] > 60, 80.0, 1.0)}
    for name, model in models.items():
        (one,) = ratewise.report({name: model}, X, y, costs=dear, pos_label="fraud").models
        assert one.facts["costs"].others[0].total == (dear["false_negative"] * (y == "fraud")).sum()


def test_names_of_costs_go_by_the_positive_class_of_the_report(models):
    X, y, costs = frauds(1000, 1)
    turned = {"true_negative": 10.0, "false_negative": 10.0, "false_positive": costs["false_negative"]}
    of_frauds = ratewise.report(models["maximizer"], X, y, costs=costs, pos_label="fraud").models[0]
    of_sales = ratewise.report(models["maximizer"], X, y, costs=turned, pos_label="sale").models[0]
    assert of_sales.facts["costs"].total == pytest.approx(of_frauds.facts["costs"].total)
