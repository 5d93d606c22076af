"""All that a person reads speaks of the positive class, also where it sorts first, as "fraud" does before "ok"."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

import ratewise
from ratewise import MeasureClassifier, MeasureMaximizer
from ratewise.cli.app import app
from ratewise.estimators._notebook import card_of
from ratewise.plots import ThresholdDisplay


def table(seed):
    """A column that rises with fraud, and noise."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(600, 2)), columns=["amount", "noise"])
    return X, np.where(X["amount"] + 0.5 * rng.normal(size=600) > 1.0, "fraud", "ok")


@pytest.fixture(scope="module")
def fitted():
    X, y = table(0)
    return MeasureClassifier("f1", pos_label="fraud", sharpen=False, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    ratewise.save_model(fitted, folder / "model.skops")
    X, y = table(1)
    X.assign(label=y).to_csv(folder / "rows.csv", index=False)
    return folder


def run(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_scikit_learns_attributes_speak_for_the_second_class(fitted):
    X, _ = table(1)
    assert fitted.classes_.tolist() == ["fraud", "ok"]
    assert fitted.coef_[0, 0] < 0
    assert np.array_equal(fitted.predict(X) == "ok", fitted.decision_function(X) > 0)


@pytest.mark.parametrize("make", ["own", "scikit-learn"])
def test_a_report_and_a_card_show_a_column_that_rises_with_fraud_above_0(fitted, make):
    X, y = table(1)
    model = fitted if make == "own" else LogisticRegression().fit(X, y)
    first = ratewise.report(model, X, y, pos_label="fraud").models[0].facts["influences"]["rows"][0]
    assert first["name"] == "amount"
    assert first["value"] > 0
    assert first["raw"] == pytest.approx(-model.coef_[0, 0], rel=1e-3)
    card = ratewise.model_card(model, X, y, pos_label="fraud").render()
    assert "towards fraud" in card
    assert f"| amount | {first['value']:.4g}" in " ".join(card.split())


def test_a_report_on_the_other_class_does_not_repeat_what_was_estimated_for_this_one(fitted):
    X, y = table(1)
    assert "The fit estimated" in ratewise.report(fitted, X, y).html()
    other = ratewise.report(fitted, X, y, pos_label="ok").html()
    assert "The fit estimated" not in other
    assert "was trained for" not in other


def test_inspect_shows_coefficients_and_the_threshold_of_the_positive_class(fitted, saved):
    found = json.loads(run("inspect", saved / "model.skops", "--json"))
    assert found["positive"] == "fraud"
    assert found["coefficients"][0]["column"] == "amount"
    assert found["coefficients"][0]["coefficient"] == -fitted.coef_[0, 0] > 0
    assert found["threshold"] == fitted.intercept_[0]
    assert "above 0 for fraud" in run("inspect", saved / "model.skops")


def test_predict_writes_scores_above_0_where_it_says_fraud(saved):
    rows = list(csv.DictReader(io.StringIO(run("predict", saved / "model.skops", saved / "rows.csv", "--quiet"))))
    assert {row["label"] for row in rows} == {"fraud", "ok"}
    assert all((float(row["score"]) > 0) == (row["label"] == "fraud") for row in rows)


def test_the_report_of_files_shows_the_same_coefficients(fitted, saved):
    run(
        "report", saved / "model.skops", saved / "rows.csv", "--target", "label", "-o", saved / "report.html", "-q"
    )
    page = (saved / "report.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["positive"] == "fraud"
    assert data["models"][0]["influences"]["rows"][0]["raw"] == pytest.approx(-fitted.coef_[0, 0], rel=1e-3)


def test_a_notebook_and_a_plot_cut_the_scores_of_the_positive_class(fitted):
    X, y = table(1)
    assert f"{fitted.intercept_[0]:.4g}" in card_of(fitted)
    display = ThresholdDisplay.from_estimator(fitted, X, y)
    assert display.tpr[0] == 1.0  # below every score all rows are predicted to be fraud
    assert display.chosen.rates.tpr == np.mean(fitted.predict(X)[y == "fraud"] == "fraud")


def test_a_maximizer_is_reported_in_the_same_way():
    X, y = table(0)
    model = MeasureMaximizer(LogisticRegression(), "f1", pos_label="fraud", cv=3).fit(X, y)
    one = ratewise.report(model, *table(1)).models[0]
    assert one.rows.names == ("fraud", "ok")
    assert one.scores[one.rows.positive].mean() > one.scores[~one.rows.positive].mean()
