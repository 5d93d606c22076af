"""MeasureMaximizer with more than two classes, and with costs per row."""

from __future__ import annotations

import io

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from ratewise import ConstraintWarning, MeasureMaximizer, export_onnx, load_model, save_model
from ratewise.measures import ClassCosts, Constrained


def rare_classes(n_rows=2400, seed=0):
    X, y = make_classification(
        n_rows,
        12,
        n_informative=6,
        n_classes=4,
        n_clusters_per_class=1,
        weights=[0.7, 0.18, 0.08, 0.04],
        class_sep=0.8,
        random_state=seed,
    )
    labels = np.array(["ash", "elm", "fir", "oak"])[y]
    return train_test_split(X, labels, test_size=0.5, stratify=labels, random_state=0)


def test_the_worst_recall_of_any_model_rises():
    X, new_X, y, new_y = rare_classes()
    plain = LogisticRegression().fit(X, y)
    balanced = LogisticRegression(class_weight="balanced").fit(X, y)
    maximizer = MeasureMaximizer(LogisticRegression(), "worst-recall").fit(X, y)
    recalls = recall_score(new_y, maximizer.predict(new_X), average=None)
    of_plain, of_balanced = (
        recall_score(new_y, one.predict(new_X), average=None).min() for one in (plain, balanced)
    )
    assert maximizer.score(new_X, new_y) == pytest.approx(recalls.min())
    assert recalls.min() > of_plain + 0.1
    assert recalls.min() > of_balanced - 0.02
    assert maximizer.classes_.tolist() == ["ash", "elm", "fir", "oak"]
    for recall, interval in zip(recalls, maximizer.rates_interval_, strict=True):
        assert interval.tpr[0] - 0.05 < recall < interval.tpr[1] + 0.05
    assert maximizer.history_["kept"].sum() == 1


def test_probabilities_are_those_of_equally_weighted_rows():
    X, new_X, y, new_y = rare_classes()
    for measure in ("gmean", "accuracy"):
        maximizer = MeasureMaximizer(LogisticRegression(), measure).fit(X, y)
        proba = maximizer.predict_proba(new_X)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        shares = [np.mean(new_y == label) for label in maximizer.classes_]
        np.testing.assert_allclose(proba.mean(axis=0), shares, atol=0.02)
        decisions = maximizer.decision_function(new_X)
        assert (maximizer.classes_[decisions.argmax(axis=1)] == maximizer.predict(new_X)).all()


def test_boosting_pipelines_and_searches_take_many_classes():
    X, new_X, y, new_y = rare_classes()
    boosting = LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)
    maximizer = MeasureMaximizer(boosting, "gmean", cv=3).fit(X, y)
    assert maximizer.estimators_[0].get_params()["max_delta_step"] == 1.0
    plain = boosting.fit(X, y)
    recalls = recall_score(new_y, plain.predict(new_X), average=None)
    assert maximizer.score(new_X, new_y) > np.prod(recalls) ** 0.25
    scores = cross_val_score(
        MeasureMaximizer(GaussianNB(), "macro-f1", ensemble=False), *load_iris(return_X_y=True)
    )
    assert scores.mean() > 0.9


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_few_rows_do_no_harm(load):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    tuned, plain = [], []
    for seed in range(4):
        rows = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
        tuned.append(
            MeasureMaximizer(LogisticRegression(), "macro-f1").fit(rows[0], rows[2]).score(rows[1], rows[3])
        )
        model = LogisticRegression().fit(rows[0], rows[2])
        plain.append(ClassCosts(1.0 - np.eye(3)).score(rows[3], model.predict(rows[1])) + 1.0)
    assert np.mean(tuned) > np.mean(plain) - 0.01


def test_costs_per_row_with_two_classes_and_more():
    X, new_X, y, new_y = rare_classes()
    amounts, new_amounts = (np.exp(2.0 + np.random.default_rng(seed).normal(size=1200)) for seed in (0, 1))
    oak, new_oak = y == "oak", new_y == "oak"
    costs = {"false_positive": 2.0, "true_positive": 2.0, "false_negative": amounts}
    maximizer = MeasureMaximizer(LogisticRegression(), "cost").fit(X, oak, costs=costs)
    new_costs = costs | {"false_negative": new_amounts}
    predicted = maximizer.predict(new_X, costs=new_costs)
    spent = np.where(predicted, 2.0, new_oak * new_amounts)
    assert maximizer.score(new_X, new_oak, costs=new_costs) == pytest.approx(-spent.mean())
    assert spent.sum() < (new_oak * new_amounts).sum()
    assert maximizer.rule_.spent_.rule < maximizer.rule_.spent_.most_probable
    table = 5.0 * (1.0 - np.eye(4))
    many = MeasureMaximizer(LogisticRegression(), "cost").fit(X, y, costs=table)
    assert many.score(new_X, new_y, costs=table) == pytest.approx(
        -5.0 * (many.predict(new_X, costs=table) != new_y).mean()
    )


def test_weights_and_groups_are_kept():
    X, new_X, y, new_y = rare_classes()
    weights = np.where(y == "oak", 5.0, 1.0)
    maximizer = MeasureMaximizer(LogisticRegression(), "accuracy").fit(X, y, sample_weight=weights)
    plain = MeasureMaximizer(LogisticRegression(), "accuracy").fit(X, y, groups=np.arange(1200) // 2)
    found, usual = (np.mean(one.predict(new_X[new_y == "oak"]) == "oak") for one in (maximizer, plain))
    assert found > usual + 0.1


def test_it_is_saved_and_loaded():
    X, _, y, _ = rare_classes()
    maximizer = MeasureMaximizer(LogisticRegression(), "quadratic-kappa", cv=3).fit(X, y)
    file = io.BytesIO()
    save_model(maximizer, file)
    file.seek(0)
    assert (load_model(file).predict(X) == maximizer.predict(X)).all()


def test_a_notebook_shows_it_and_onnx_refuses_it():
    X, _, y, _ = rare_classes()
    many = MeasureMaximizer(LogisticRegression(), "gmean", cv=3).fit(X, y)
    costs = {"false_positive": 1.0, "false_negative": np.arange(1200)}
    of_costs = MeasureMaximizer(LogisticRegression(), "cost", cv=3).fit(X, y == "oak", costs=costs)
    for model, value in ((many, many.rule_.value_), (of_costs, of_costs.rule_.value_)):
        assert f"{value:.3f}" in model._repr_html_()
        with pytest.raises(ValueError, match="exports no decision rule"):
            export_onnx(model, io.BytesIO())


def test_bad_input_is_refused_in_a_sentence():
    X, _, y, _ = rare_classes()
    fit = MeasureMaximizer(LogisticRegression(), "gmean").fit
    for refused, message in (
        (lambda: fit(X, y, target_prevalence=0.1), "target_prevalence is for two classes"),
        (lambda: fit(X, y, costs=np.ones((4, 4))), 'costs= goes with measure="cost"'),
        (lambda: MeasureMaximizer(LogisticRegression(), "cost").fit(X, y), "needs costs="),
        (
            lambda: MeasureMaximizer(LogisticRegression(), "cost").fit(X, y, costs=np.ones((3, 3))),
            "one table of shape",
        ),
        (lambda: MeasureMaximizer(LogisticRegression(), "cost").fit(X, y, costs=-np.ones((4, 4))), "0 or more"),
        (lambda: MeasureMaximizer(LinearSVC(), "gmean").fit(X, y), "has no predict_proba"),
        (lambda: MeasureMaximizer(LogisticRegression(), "gmean", pos_label="oak").fit(X, y), "is for two classes"),
        (lambda: fit(X, np.where(np.arange(1200) < 1, "yew", y)), "only 1 row of class 'yew'"),
        (lambda: fit(X, y == "oak").predict(X, costs=np.ones((2, 2))), "without costs"),
    ):
        with pytest.raises(ValueError, match=message):
            refused()


def test_bounds_on_classes_are_kept_by_any_model():
    X, new_X, y, new_y = rare_classes(20_000)
    X, y = X[:3000], y[:3000]
    maximizer = MeasureMaximizer(GaussianNB(), Constrained("macro-f1", recall=0.5)).fit(X, y)
    recalls = recall_score(new_y, maximizer.predict(new_X), average=None)
    assert maximizer.constraints_met_
    assert recalls.min() > 0.5
    file = io.BytesIO()
    save_model(maximizer, file)
    file.seek(0)
    again = load_model(file)
    assert again.measure_ == maximizer.measure_
    assert (again.predict(new_X) == maximizer.predict(new_X)).all()
    with pytest.warns(ConstraintWarning, match=r"the recall of '\w+' is 0\.\d+ here") as told:
        maximizer.set_params(measure=Constrained("macro-f1", recall=0.9)).fit(X, y)
    assert len(told) == 1
    assert maximizer.constraints_met_ is False
