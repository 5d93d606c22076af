"""Bounds on groups on the command line: --sensitive."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ratewise import MeasureClassifier, load_model, open_stream, save_model
from ratewise.cli.app import app
from ratewise.measures import Constrained, get_measure, measure_name

MEASURE = "f1-at-tpr-gap-0.1"


def people(rows, seed):
    """Women are a third of the rows, and have fewer positives, whose columns tell less."""
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(rows) < 1 / 3, "f", "m")
    men = sex == "m"
    y = rng.random(rows) < np.where(men, 0.3, 0.15)
    table = pd.DataFrame(rng.standard_normal((rows, 3)), columns=["a", "b", "c"])
    table["a"] += np.where(men, 2.0, 1.6) * y + 0.4 * men
    return table.assign(sex=sex, rich=np.where(y, "yes", "no"))


def run(*asked):
    return CliRunner().invoke(app, list(map(str, asked)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("people")
    people(6_000, 0).to_csv(path / "train.csv", index=False)
    people(20_000, 1).to_csv(path / "new.csv", index=False)
    fit = ["fit", path / "train.csv", "--target", "rich", "--sensitive", "sex", "--measure", MEASURE]
    found = run(*fit, "-o", path / "model.skops", "--json")
    assert found.exit_code == 0, found.output
    (path / "fit.json").write_text(found.stdout)
    return path


def test_fit_remembers_the_column_and_does_not_learn_from_it(folder):
    model, said = load_model(folder / "model.skops"), json.loads((folder / "fit.json").read_text())
    assert model.sensitive_column_ == "sex"
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert said["measure"] == MEASURE
    assert said["constraints_met"]
    assert [one["group"] for one in said["groups"]] == ["f", "m"]


def test_predict_and_evaluate_take_the_threshold_of_each_group(folder):
    new = people(20_000, 1)
    found = run("predict", folder / "model.skops", folder / "new.csv", "-o", folder / "out.csv", "--id", "sex")
    assert found.exit_code == 0, found.output
    labels = pd.read_csv(folder / "out.csv")["label"].to_numpy()
    model = load_model(folder / "model.skops")
    expected = model.predict(new[["a", "b", "c"]], sensitive_features=new["sex"])
    assert (labels == expected).all()
    recalls = {one: (labels[mine] == "yes").mean() for one, mine in positives(new).items()}
    found = run("evaluate", folder / "model.skops", folder / "new.csv", "--json")
    assert found.exit_code == 0, found.output
    report = json.loads(found.stdout)
    assert {one["group"]: one["tpr"]["value"] for one in report["groups"]} == pytest.approx(recalls)
    (gap,) = report["bounds_between_groups"]
    assert gap["difference"] == pytest.approx(abs(recalls["f"] - recalls["m"]))
    assert gap["difference"] < gap["at_most"] == 0.1
    confusion = report["confusion"]
    assert confusion["true_positives"] + confusion["false_positives"] == (labels == "yes").sum()
    words = run("evaluate", folder / "model.skops", folder / "new.csv").output
    assert "The largest difference in TPR between two groups is" in words
    assert "group" in run("inspect", folder / "model.skops").output


def positives(table):
    return {name: ((table["sex"] == name) & (table["rich"] == "yes")).to_numpy() for name in "fm"}


def test_evaluate_shows_groups_of_any_model(folder):
    fit = ["fit", folder / "train.csv", "--target", "rich", "--exclude", "sex", "-o", folder / "plain.skops"]
    assert run(*fit).exit_code == 0
    plain = json.loads(run("evaluate", folder / "plain.skops", folder / "new.csv", "--json").stdout)
    assert "groups" not in plain
    found = run("evaluate", folder / "plain.skops", folder / "new.csv", "--sensitive", "sex", "--json")
    report = json.loads(found.stdout)
    assert {one["group"] for one in report["groups"]} == {"f", "m"}
    assert report["bounds_between_groups"] == []
    assert report["measures"] == plain["measures"]


def test_a_report_is_of_the_predictions_of_each_group(folder):
    found = run("report", folder / "model.skops", folder / "new.csv", "-o", folder / "report.html")
    assert found.exit_code == 0, found.output
    page, new = (folder / "report.html").read_text(), people(20_000, 1)
    model = load_model(folder / "model.skops")
    labels = model.predict(new[["a", "b", "c"]], sensitive_features=new["sex"])
    recalls = [(labels[mine] == "yes").mean() for mine in positives(new).values()]
    assert f"the largest difference is {abs(recalls[0] - recalls[1]):.4f}." in page
    assert all(f"<td>{100 * one:.1f}% (" in page for one in recalls)
    assert "a difference in TPR between groups of at most 0.1" in page


def test_files_give_the_model_of_rows_in_memory(folder):
    train = people(6_000, 0)
    stream = open_stream(folder / "train.csv", target="rich", keep=["sex"])
    by_file = MeasureClassifier(MEASURE, random_state=0).fit_stream(stream, sensitive_features="sex")
    assert by_file.constraints_met_
    assert set(by_file.rates_by_group_) == {"f", "m"}
    again = by_file.fit(train[["a", "b", "c"]], train["rich"], sensitive_features=train["sex"])
    assert not hasattr(again, "sensitive_column_")


@pytest.mark.parametrize("names", [(3, 7), (False, True)])
def test_groups_are_known_in_files_that_keep_types_and_in_files_that_do_not(names, tmp_path):
    table = people(1_000, 0).assign(sex=lambda one: np.where(one["sex"] == "f", *names))
    table.to_csv(tmp_path / "rows.csv", index=False)
    table.to_parquet(tmp_path / "rows.parquet")
    fit = ["fit", tmp_path / "rows.csv", "--target", "rich", "--sensitive", "sex"]
    assert run(*fit, "--measure", "f1-at-tpr-gap-0.8", "-o", tmp_path / "model.skops").exit_code == 0
    texts, typed = (
        run("predict", tmp_path / "model.skops", tmp_path / f"rows.{kind}") for kind in ("csv", "parquet")
    )
    assert typed.exit_code == 0, typed.output
    assert texts.stdout == typed.stdout


def test_what_is_missing_is_said_in_a_sentence(folder):
    train, model = folder / "train.csv", folder / "model.skops"
    output = folder / "other.skops"
    found = run("fit", train, "--target", "rich", "--measure", MEASURE, "-o", output)
    assert found.exit_code == 2
    assert "name their column with --sensitive" in " ".join(found.output.split())
    people(50, 2).drop(columns="sex").to_csv(folder / "no sex.csv", index=False)
    found = run("predict", model, folder / "no sex.csv")
    assert found.exit_code == 1
    assert "sex" in found.output
    people(50, 2).assign(sex="x").to_csv(folder / "others.csv", index=False)
    found = run("evaluate", model, folder / "others.csv")
    assert "a group that the training rows did not have; known: 'f', 'm'" in " ".join(found.output.split())
    rows = people(2_000, 0)
    X, y, sex = rows[["a", "b", "c"]], rows["rich"], rows["sex"]
    bounded = MeasureClassifier(Constrained("f1", tpr_gap=0.5), random_state=0)
    save_model(bounded.fit(X, y, sensitive_features=sex), output)
    found = run("predict", output, folder / "new.csv")
    assert found.exit_code == 2
    assert "name the column of the groups with --sensitive" in " ".join(found.output.split())
    assert run("predict", output, folder / "new.csv", "--sensitive", "sex").exit_code == 0


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("f1-at-tpr-gap-0.05", Constrained("f1", tpr_gap=0.05)),
        ("G-mean at FPR gap .1", Constrained("gmean", fpr_gap=0.1)),
        ("f2_at_alert_rate_gap_0.02", Constrained("f2", alert_rate_gap=0.02)),
        ("f1-at-tpr-gap-0.05-at-fpr-gap-0.1", Constrained("f1", tpr_gap=0.05, fpr_gap=0.1)),
    ],
)
def test_bounds_between_groups_have_names(name, measure):
    assert get_measure(name) == measure
    assert get_measure(measure_name(measure)) == measure


@pytest.mark.parametrize(
    "name", ["f1-at-tpr-gap-2", "nothing-at-tpr-gap-0.1", "tpr-gap-0.1", "f1-at-tpr-gap-0.1-at-tpr-gap-0.2"]
)
def test_names_of_bounds_that_are_none(name):
    with pytest.raises(ValueError, match="There is no measure"):
        get_measure(name)
