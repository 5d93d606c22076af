"""Costs per row on the command line: --costs with columns."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from ratewise import MeasureClassifier, load_model, open_stream, save_model
from ratewise.measures import CostMatrix

COSTS = ("--costs", "10", "amount", "--true-positive-cost", "10")

PAIRS = (("model.skops", "new.csv"), ("commas.skops", "new-commas.csv"))


def frauds(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 2))
    label = np.where(X[:, 0] + 0.5 * rng.normal(size=1500) > 1.4, "fraud", "sale")
    amount = np.exp(3.0 + rng.normal(size=1500)).round(2)
    return pd.DataFrame(X, columns=["a", "b"]).assign(amount=amount, label=label)


def spent(rows, labels):
    return np.where(labels == "fraud", 10.0, np.where(rows["label"] == "fraud", rows["amount"], 0.0)).sum()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, run):
    path = tmp_path_factory.mktemp("frauds")
    frauds(0).to_csv(path / "train.csv", index=False)
    frauds(1).to_csv(path / "new.csv", index=False)
    fit = ["fit", path / "train.csv", "--target", "label", "--positive", "fraud", *COSTS]
    found = run(*fit, "-o", path / "model.skops")
    assert found.exit_code == 0, found.output
    assert "row by row, by the costs of the row" in found.stdout
    return path


def test_the_column_is_a_feature_too_and_the_model_is_that_of_python(folder):
    model, rows = load_model(folder / "model.skops"), frauds(0)
    assert model.feature_names_in_.tolist() == ["a", "b", "amount"]
    assert model.cost_columns_ == {"false_positive": 10.0, "false_negative": "amount", "true_positive": 10.0}
    files = str(folder / "train.csv")
    stream = open_stream(files, target="label", features=["a", "b", "amount"], keep=["amount"])
    again = MeasureClassifier("cost", pos_label="fraud", random_state=0)
    again.fit_stream(stream, costs=model.cost_columns_)
    assert np.array_equal(again.coef_, model.coef_)
    costs = {"false_positive": 10.0, "true_positive": 10.0, "false_negative": rows["amount"]}
    in_memory = MeasureClassifier("cost", pos_label="fraud", random_state=0)
    in_memory.fit(rows[["a", "b", "amount"]].to_numpy(np.float32), rows["label"], costs=costs)
    labels = model.predict(rows[["a", "b", "amount"]], costs=costs)
    assert (in_memory.predict(rows[["a", "b", "amount"]].to_numpy(), costs=costs) == labels).mean() > 0.98


def test_predict_evaluate_and_report_find_the_costs_by_their_columns(folder, run):
    rows, page = frauds(1), folder / "page.html"
    found = run("predict", folder / "model.skops", folder / "new.csv", "-o", folder / "out.csv")
    assert found.exit_code == 0, found.output
    labels = pd.read_csv(folder / "out.csv")["label"].to_numpy()
    model = load_model(folder / "model.skops")
    costs = {"false_positive": 10.0, "true_positive": 10.0, "false_negative": rows["amount"]}
    assert (labels == model.predict(rows[["a", "b", "amount"]], costs=costs)).all()
    said = json.loads(run("evaluate", folder / "model.skops", folder / "new.csv", "--json").stdout)
    assert said["costs"]["these decisions"] == pytest.approx(spent(rows, labels), rel=1e-5)
    assert said["costs"]["predicting sale for every row"] == pytest.approx(spent(rows, np.full(1500, "sale")))
    assert said["trained_for"] == "costs per row"
    assert said["confusion"]["true_positives"] == ((labels == "fraud") & (rows["label"] == "fraud")).sum()
    assert "Cost of these decisions" in run("evaluate", folder / "model.skops", folder / "new.csv").stdout
    assert run("report", folder / "model.skops", folder / "new.csv", "-o", page).exit_code == 0
    assert f"<td>{spent(rows, labels):,.2f}</td>" in page.read_text("utf-8")


def test_other_costs_than_those_of_the_fit(folder, run):
    many = run("predict", folder / "model.skops", folder / "new.csv", "--costs", "0.1", "amount").stdout
    few = run("predict", folder / "model.skops", folder / "new.csv", "--costs", "50", "amount").stdout
    assert many.count("fraud") > 2 * few.count("fraud")


def test_costs_that_are_numbers_are_a_measure_and_reports_of_it_take_costs_of_rows(folder, run):
    fit = ["fit", folder / "train.csv", "--target", "label", "--positive", "fraud", "--costs", "10", "40"]
    assert run(*fit, "--true-positive-cost", "10", "-o", folder / "plain.skops").exit_code == 0
    assert load_model(folder / "plain.skops").measure_ == CostMatrix(((0.0, 10.0), (40.0, 10.0)))
    pages = run("report", folder / "plain.skops", folder / "new.csv", *COSTS, "-o", folder / "plain.html")
    assert pages.exit_code == 0, pages.output
    assert "What the decisions of plain cost" in (folder / "plain.html").read_text("utf-8")


def test_costs_with_decimal_commas(folder, run):
    for name in ("train", "new"):
        rows = pd.read_csv(folder / f"{name}.csv")
        rows.to_csv(folder / f"{name}-commas.csv", index=False, sep=";", decimal=",")
    fit = [
        "fit",
        folder / "train-commas.csv",
        "--decimal",
        ",",
        "--target",
        "label",
        "--positive",
        "fraud",
        *COSTS,
    ]
    found = run(*fit, "-o", folder / "commas.skops")
    assert found.exit_code == 0, found.output
    one, other = (run("predict", folder / model, folder / rows).stdout for model, rows in PAIRS)
    assert one.count("fraud") == other.count("fraud") > 20


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fit", "train.csv", "--costs", "10", "amounts"], "there is no column 'amounts'"),
        (
            ["fit", "train.csv", "--costs", "10", "word"],
            "a finite number, 0 or more, and one row has 'much'",
        ),
        (
            ["fit", "train.csv", "--costs", "10", "debt"],
            "a finite number, 0 or more, and one row has '-1.0'",
        ),
        (
            ["fit", "train.csv", "--costs", "10", "gap"],
            "Column 'gap' holds costs: every row needs a finite number",
        ),
        (["fit", "train.csv", "--costs", "-1", "amount"], "costs must be 0 or more"),
        (["fit", "train.csv", "--costs", "10", "amount", "--measure", "f1"], "both say what to maximize"),
        (
            ["fit", "train.csv", "--costs", "1"],
            "takes two values, FP and FN, and '--target' is in",
        ),
        (["fit", "train.csv", "--true-positive-cost", "3"], "--true-positive-cost is for --costs"),
        (
            ["fit", "train.csv", "--costs", "10", "amount", "--sensitive", "word"],
            "are for measures, without costs",
        ),
        (["fit", "-", "--format", "csv", "--costs", "10", "amount"], "needs files"),
        (["predict", "f1.skops", "train.csv", "--costs", "10", "amount"], "was fitted without costs"),
        (["predict", "python.skops", "train.csv"], "name their numbers or columns with --costs"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(run, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    rows = frauds(0).assign(word="much", debt=-1.0)
    rows["gap"] = rows["amount"].where(rows.index != 7)
    rows.to_csv("train.csv", index=False)
    X, y = rows[["a", "b"]], rows["label"]
    save_model(MeasureClassifier(random_state=0).fit(X, y), "f1.skops")
    costs = {"false_positive": 10.0, "false_negative": rows["amount"]}
    save_model(MeasureClassifier("cost", pos_label="fraud", random_state=0).fit(X, y, costs=costs), "python.skops")
    words = [*words, "--target", "label", "-o", "x.skops"] if words[0] == "fit" else words
    found = run(*words)
    assert found.exit_code in (1, 2)
    assert said in " ".join(found.stderr.split())
