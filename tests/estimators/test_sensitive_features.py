"""Bounds on groups of rows in a fit, and predictions with a threshold for each group."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from ratewise import (
    ConstraintWarning,
    DecisionRule,
    MeasureClassifier,
    MeasureMaximizer,
    certify,
    export_onnx,
    load_model,
    open_stream,
    report,
    save_model,
)
from ratewise.distributed import DaskMeasureClassifier
from ratewise.measures import Constrained, Rates, RatesInterval
from ratewise.plots import ThresholdDisplay

MEASURE = Constrained("f1", tpr_gap=0.1)


def people(rows, seed):
    """Women are a third of the rows, and have fewer positives, whose columns tell less."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(rows) < 1 / 3, "f", "m")
    men = group == "m"
    y = rng.random(rows) < np.where(men, 0.3, 0.15)
    X = rng.standard_normal((rows, 4))
    X[:, 0] += np.where(men, 2.0, 1.6) * y + 0.4 * men
    X[:, 1] += 0.5 * y
    return X, y, group


def recalls(y, predicted, group):
    return {name: predicted[y & (group == name)].mean() for name in "fm"}


@pytest.fixture(scope="module")
def train():
    return people(6_000, 0)


@pytest.fixture(scope="module")
def new():
    return people(60_000, 1)


MODELS = {
    "sharpened": lambda measure: MeasureClassifier(measure, random_state=0),
    "plain": lambda measure: MeasureClassifier(measure, sharpen=False, random_state=0),
    "low memory": lambda measure: MeasureClassifier(measure, low_memory=True, random_state=0),
    "maximizer": lambda measure: MeasureMaximizer(LogisticRegression(), measure, cv=3),
}


@pytest.mark.parametrize("kind", MODELS)
def test_the_bound_is_kept_on_new_rows_and_costs_little(kind, train, new):
    X, y, group = train
    model = MODELS[kind](MEASURE).fit(X, y, sensitive_features=group)
    assert model.constraints_met_
    predicted = model.predict(new[0], sensitive_features=new[2])
    found = recalls(new[1], predicted, new[2])
    assert abs(found["f"] - found["m"]) <= 0.1
    assert {name: rates.tpr for name, rates in model.rates_by_group_.items()} == pytest.approx(found, abs=0.06)
    assert all(isinstance(rates, Rates) for rates in model.rates_by_group_.values())
    for name, interval in model.rates_interval_by_group_.items():
        assert isinstance(interval, RatesInterval)
        assert interval.tpr[0] <= model.rates_by_group_[name].tpr <= interval.tpr[1]
    free = MODELS[kind]("f1").fit(X, y)
    apart = recalls(new[1], free.predict(new[0]), new[2])
    assert abs(apart["f"] - apart["m"]) > 0.1, "without the bound it does not hold"
    assert model.score(new[0], new[1], sensitive_features=new[2]) > free.score(new[0], new[1]) - 0.03


def test_one_threshold_for_all_needs_no_groups_in_predictions(train, new):
    X, y, group = train
    measure = Constrained("gmean", fpr_gap=0.12, group_cuts=False)
    model = MeasureClassifier(measure, random_state=0).fit(X, y, sensitive_features=group)
    predicted = model.predict(new[0])
    fpr = [predicted[~new[1] & (new[2] == name)].mean() for name in "fm"]
    assert abs(fpr[0] - fpr[1]) <= 0.12
    assert not hasattr(model, "group_thresholds_")
    assert (model.predict(new[0], sensitive_features=new[2]) == predicted).all()


@pytest.mark.parametrize("kind", ["sharpened", "maximizer"])
def test_either_class_may_be_the_positive_one(kind, train, new):
    X, y, group = train
    model = MODELS[kind](MEASURE).set_params(pos_label=False).fit(X, ~y, sensitive_features=group)
    same = MODELS[kind](MEASURE).fit(X, y, sensitive_features=group)
    turned = model.predict(new[0], sensitive_features=new[2])
    assert np.mean(turned != same.predict(new[0], sensitive_features=new[2])) > 0.999


def test_groups_without_bounds_are_reported_and_change_nothing(train):
    X, y, group = train
    plain = MeasureClassifier("gmean", random_state=0).fit(X, y)
    model = MeasureClassifier("gmean", random_state=0).fit(X, y, sensitive_features=group)
    assert set(model.rates_by_group_) == {"f", "m"}
    assert model.constraints_met_ is None
    assert (model.coef_ == plain.coef_).all()
    assert model.intercept_ == plain.intercept_
    counted = model.predict(X)
    for name, rates in model.rates_by_group_.items():
        assert rates.tpr == pytest.approx(counted[y & (group == name)].mean(), abs=0.03)
    assert not hasattr(plain.fit(X, y), "groups_")
    with pytest.raises(Exception, match="not fitted"):
        _ = plain.rates_by_group_


def test_what_cannot_be_promised_is_warned_of_with_numbers(train):
    X, y, group = (one[:300] for one in train)
    with pytest.warns(
        ConstraintWarning, match=r"difference in TPR .* rows would be needed, first of all of f"
    ) as told:
        model = MeasureClassifier(Constrained("f1", tpr_gap=0.02), random_state=0).fit(
            X, y, sensitive_features=group
        )
    assert model.constraints_met_ is False
    assert told[0].filename == __file__


@pytest.mark.parametrize("kind", ["sharpened", "maximizer"])
def test_a_model_file_keeps_the_thresholds_of_the_groups(kind, train, new, tmp_path):
    X, y, group = train
    model = MODELS[kind](MEASURE).fit(X, y, sensitive_features=group)
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    asked = new[0][:500], new[2][:500]
    assert (again.predict(*asked) == model.predict(*asked)).all()
    assert again.rates_by_group_ == model.rates_by_group_
    assert again.rates_interval_by_group_ == model.rates_interval_by_group_
    assert again.measure_ == MEASURE


def test_ways_that_know_no_groups_refuse_in_a_sentence(train, tmp_path):
    X, y, group = train
    model = MeasureClassifier(MEASURE, random_state=0).fit(X, y, sensitive_features=group)
    with pytest.raises(ValueError, match=r"cannot be exported to ONNX.*group_cuts=False"):
        export_onnx(model, tmp_path / "model.onnx")
    for ask in (
        model.predict,
        lambda X: model.score(X, y),
        lambda X: ThresholdDisplay.from_estimator(model, X, y),
    ):
        with pytest.raises(ValueError, match="a threshold for each group: give predict the sensitive_features"):
            ask(X)
    np.savetxt(tmp_path / "rows.csv", X[:5], delimiter=",", header="a,b,c,d", comments="")
    classifier = MeasureClassifier(MEASURE)
    for learn in (
        lambda: classifier.fit(X, y),
        lambda: classifier.partial_fit(X, y, classes=[False, True]),
        lambda: DaskMeasureClassifier(MEASURE).fit([(X, y)]),
        lambda: classifier.fit_stream(open_stream(str(tmp_path / "rows.csv"), target="d")),
        lambda: MeasureMaximizer(LogisticRegression(), MEASURE).fit(X, y),
    ):
        with pytest.raises(ValueError, match="has bounds on groups of rows: fit it to rows in memory or to files"):
            learn()


@pytest.mark.parametrize(
    ("settings", "y", "words"),
    [
        ({"target_prevalence": 0.1}, None, "target_prevalence is for all rows"),
        ({}, np.arange(600) % 3, "sensitive_features are for two classes, and y has 3 classes"),
        ({}, np.eye(2, dtype=int)[np.arange(600) % 2], "sensitive_features are for two classes, and y has labels"),
        ({"sensitive_features": ["f", "m"]}, None, "sensitive_features has 2 values, but X has 600 rows"),
    ],
)
def test_bad_input_of_a_fit_is_refused(settings, y, words, train):
    X, labels, group = (one[:600] for one in train)
    settings = {"sensitive_features": group} | settings
    with pytest.raises(ValueError, match=words):
        MeasureClassifier("f1").fit(X, labels if y is None else y, **settings)
    if y is None:
        with pytest.raises(ValueError, match=words):
            MeasureMaximizer(LogisticRegression()).fit(X, labels, **settings)


@pytest.mark.parametrize("kind", ["sharpened", "maximizer"])
def test_bad_groups_of_a_prediction_are_refused(kind, train):
    X, y, group = train
    model = MODELS[kind](MEASURE).fit(X, y, sensitive_features=group)
    for values, words in (
        (group[:10], "sensitive_features has 10 values, but X has 6000 rows"),
        (np.where(np.arange(6_000) == 7, "x", group), "contains 'x', a group that the training rows did not have"),
        (np.where(np.arange(6_000) == 7, None, group), "missing values; every row needs a group"),
    ):
        with pytest.raises(ValueError, match=words):
            model.predict(X, sensitive_features=values)


def test_rows_of_weight_zero_and_a_group_without_positives(train):
    X, y, group = (one[:2_000] for one in train)
    weights = (np.arange(2_000) % 2).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        weighted = MeasureClassifier(MEASURE, random_state=0).fit(X, y, weights, sensitive_features=group)
        assert weighted.rates_by_group_["f"].prevalence == pytest.approx(y[(group == "f") & (weights > 0)].mean())
    words = "A difference in TPR .* cannot be kept: group 'f' of sensitive_features has no positive row"
    for model in (MeasureClassifier(MEASURE), MeasureMaximizer(LogisticRegression(), MEASURE)):
        with pytest.raises(ValueError, match=words):
            model.fit(X, y & (group == "m"), sensitive_features=group)


def test_scores_of_any_model_can_be_certified_with_groups(train):
    X, y, group = train
    found = certify(X[:, 0], y, MEASURE, sensitive_features=group)
    assert found.kept
    assert set(found.thresholds) == {"f", "m"}


def test_a_decision_rule_of_any_models_probabilities_keeps_bounds_on_groups(train, new):
    X, y, group = train
    model = LogisticRegression().fit(X[::2], y[::2])
    proba, rest = model.predict_proba(X[1::2]), (y[1::2], group[1::2])
    rule = DecisionRule(MEASURE).fit(proba, rest[0], sensitive_features=rest[1])
    assert rule.constraints_met_
    predicted = rule.predict(model.predict_proba(new[0]), sensitive_features=new[2])
    found = recalls(new[1], predicted, new[2])
    assert abs(found["f"] - found["m"]) <= 0.1
    own = recalls(rest[0], rule.predict(proba, sensitive_features=rest[1]), rest[1])
    assert {name: rates.tpr for name, rates in rule.rates_by_group_.items()} == pytest.approx(own)
    assert rule.score(proba, rest[0], sensitive_features=rest[1]) == pytest.approx(
        MEASURE.measure.value(*rule.rates_)
    )
    for ask, words in (
        (lambda: rule.predict(proba), "a threshold for each group: give predict the sensitive_features"),
        (lambda: DecisionRule(MEASURE).fit(proba, rest[0]), "has bounds on groups of rows"),
        (
            lambda: DecisionRule("f1", reject=0.1).fit(proba, rest[0], sensitive_features=rest[1]),
            "sensitive_features are for a measure of two classes, without costs and reject",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            ask()


@pytest.mark.parametrize("kind", ["sharpened", "maximizer"])
@pytest.mark.parametrize("positive", [True, False])
def test_reports_and_notebooks_show_the_rates_of_each_group(kind, positive, train, new):
    X, y, group = train
    truth = y if positive else ~y
    model = MODELS[kind](MEASURE).set_params(pos_label=positive).fit(X, truth, sensitive_features=group)
    rows, labels, groups = (one[:20_000] for one in new)
    labels = labels if positive else ~labels
    about = report(model, rows, labels, sensitive_features=groups)
    predicted = model.predict(rows, sensitive_features=groups) == positive
    assert (about.models[0].predicted == predicted).all()
    found = [predicted[(labels == positive) & (groups == name)].mean() for name in "fm"]
    page = about.html()
    assert f"the largest difference is {abs(found[0] - found[1]):.4f}." in page
    assert "Rates of each group" in page
    assert "f: TPR, FPR" in model._repr_html_()
    with pytest.raises(ValueError, match="give predict the sensitive_features"):
        report(model, rows, labels)


def test_a_report_shows_groups_of_any_model_and_levels_of_bounds(train, new):
    X, y, group = train
    rows, labels, groups = (one[:5_000] for one in new)
    plain = report(LogisticRegression().fit(X, y), rows, labels, sensitive_features=groups)
    assert "Rates of each group" in plain.html()
    assert "Rates of each group" not in report(LogisticRegression().fit(X, y), rows, labels).html()
    measure = Constrained("f1", tpr=0.6, per_group=True)
    model = MeasureClassifier(measure, random_state=0).fit(X, y, sensitive_features=group)
    page = report(model, rows, labels, sensitive_features=groups).html()
    assert "fitted for a TPR of at least 0.6 in every group; on these rows the lowest is" in page


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (["f", float("nan")], "contains missing values"),
        (pd.Series([("f", "old"), ("m", "young")]), "must be one column.* Join them into one first"),
    ],
)
def test_groups_in_lists_and_of_several_parts_are_refused(groups, words):
    with pytest.raises(ValueError, match=words):
        certify([0.1, 0.9], [0, 1], Constrained("f1", tpr_gap=0.1), sensitive_features=groups)
