"""Tables as people have them: identifiers, decimal commas, rows without labels, groups and times."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ratewise import MeasureClassifier, load_model, open_stream
from ratewise.measures import CostMatrix


def orders(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    late = rng.random(rows) < 0.25
    return pd.DataFrame(
        {
            "order": [f"{number:06}" for number in range(rows)],
            "when": pd.date_range("2026-01-01", periods=rows, freq="3h").strftime("%Y-%m-%d %H:%M"),
            "card": [f"c{number}" for number in rng.integers(0, 60, rows)],
            "amount": np.round(rng.gamma(2.0, size=rows) * 50.0 + 60.0 * late, 2),
            "outcome": np.where(late, "late", "in time"),
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("orders") / "orders.csv"
    orders().to_csv(path, index=False)
    return path


def fitted(run, table, output, *options):
    words = ("fit", table, "--target", "outcome", "--positive", "late", "--exclude", "when,card", "-o", output)
    result = run(*words, *options)
    assert result.exit_code == 0, result.output
    return result


def test_an_identifier_is_kept_out_and_carried_to_the_predictions(run, table, tmp_path):
    model = tmp_path / "m.skops"
    fitted(run, table, model, "--id", "order")
    assert load_model(model).get_feature_names_out().tolist() == ["amount"]
    for name, read in (
        ("p.csv", lambda path: pd.read_csv(path, dtype={"order": str})),
        ("p.parquet", pd.read_parquet),
    ):
        result = run("predict", model, table, "--id", "order,card", "-o", tmp_path / name)
        assert result.exit_code == 0, result.output
        written = read(tmp_path / name)
        assert list(written.columns) == ["order", "card", "label", "score", "probability"]
        assert written["order"].tolist() == orders()["order"].tolist()
        assert ((written["score"] > 0) == (written["label"] == "late")).all()
        assert written["probability"].rank().equals(written["score"].rank())
    assert "has a column of that name" in run("predict", model, table, "--id", "label").stderr
    assert "'nothing'" in run("predict", model, table, "--id", "nothing").stderr


def test_an_identifier_that_is_a_feature_too_keeps_its_zeros(run, table, tmp_path):
    fitted(run, table, tmp_path / "m.skops")
    result = run("predict", tmp_path / "m.skops", table, "--id", "order")
    assert result.stdout.splitlines()[1].startswith("000000,")


@pytest.mark.filterwarnings("always::ratewise.ColumnWarning")
def test_decimal_commas_give_the_model_of_decimal_points(run, table, tmp_path):
    german = orders()
    german["amount"] = [f"{value:.2f}".replace(".", ",") for value in german["amount"]]
    german.to_csv(tmp_path / "german.csv", sep=";", index=False)
    fitted(run, table, tmp_path / "m.skops", "--id", "order")
    fitted(run, tmp_path / "german.csv", tmp_path / "g.skops", "--id", "order", "--decimal", ",")
    point, comma = load_model(tmp_path / "m.skops"), load_model(tmp_path / "g.skops")
    np.testing.assert_array_equal(point.coef_, comma.coef_)
    read = ("predict", tmp_path / "m.skops")
    assert run(*read, tmp_path / "german.csv", "--decimal", ",").stdout == run(*read, table).stdout
    gaps = german.assign(amount=["unbekannt", *german["amount"][1:]])
    gaps.to_csv(tmp_path / "gaps.csv", sep=";", index=False)
    result = fitted(run, tmp_path / "gaps.csv", tmp_path / "g.skops", "--id", "order", "--decimal", ",")
    assert "'amount'" in result.stderr
    assert load_model(tmp_path / "g.skops").encoder_.described()[-1]["taken_for"] == "number"


def test_rows_without_a_label_are_refused_or_left_out_and_counted(run, table, tmp_path):
    some = orders()
    some.loc[10:19, "outcome"] = None
    some.to_csv(tmp_path / "some.csv", index=False)
    some.drop(index=range(10, 20)).to_csv(tmp_path / "rest.csv", index=False)
    words = ("fit", tmp_path / "some.csv", "--target", "outcome", "-o", tmp_path / "x.skops")
    assert "the target is missing" in run(*words).stderr
    result = fitted(run, tmp_path / "some.csv", tmp_path / "s.skops", "--id", "order", "--drop-unlabelled")
    assert "Left out 10 rows without a label." in result.stderr
    fitted(run, tmp_path / "rest.csv", tmp_path / "r.skops", "--id", "order")
    left_out, rest = load_model(tmp_path / "s.skops"), load_model(tmp_path / "r.skops")
    np.testing.assert_array_equal(left_out.coef_, rest.coef_)
    assert left_out.survey_.rows == 590
    told = run("evaluate", tmp_path / "r.skops", tmp_path / "some.csv", "--drop-unlabelled", "--json")
    assert told.stdout == run("evaluate", tmp_path / "r.skops", tmp_path / "rest.csv", "--json").stdout


def test_groups_and_times_make_the_folds(run, table, tmp_path):
    plain = fitted(run, table, tmp_path / "m.skops", "--id", "order")
    assert "in the order of" not in plain.stderr  # the column is not among the features
    for option, column in (("--groups", "card"), ("--time", "when")):
        fitted(run, table, tmp_path / "f.skops", "--id", "order", option, column)
        with_folds, without = load_model(tmp_path / "f.skops"), load_model(tmp_path / "m.skops")
        assert with_folds.rates_ != without.rates_
        assert with_folds.get_feature_names_out().tolist() == ["amount"]
    late = orders()["outcome"][300:] == "late"
    assert load_model(tmp_path / "f.skops").rates_.prevalence == pytest.approx(late.mean(), abs=1e-6)
    result = run("fit", table, "--target", "outcome", "--groups", "card", "--time", "when", "-o", tmp_path / "x")
    assert "give one of them" in result.stderr
    result = run("fit", table, "--target", "outcome", "--time", "card", "-o", tmp_path / "x")
    assert "'card' holds no times" in result.stderr


def test_rows_in_the_order_of_time_are_pointed_out(run, table, tmp_path):
    left_out = ("--exclude", "order", "--exclude", "card")
    words = ("fit", table, "--target", "outcome", *left_out, "-o", tmp_path / "m.skops")
    assert "The rows are in the order of 'when'" in run(*words).stderr
    orders().sample(frac=1.0, random_state=0).to_csv(tmp_path / "mixed.csv", index=False)
    words = ("fit", tmp_path / "mixed.csv", *words[2:])
    assert "in the order of" not in run(*words).stderr


def test_the_prevalence_to_expect_reaches_the_fit(run, table, tmp_path):
    fitted(run, table, tmp_path / "m.skops", "--id", "order", "--target-prevalence", "0.02")
    model, data = load_model(tmp_path / "m.skops"), orders()
    assert model.rates_.prevalence == 0.02
    in_memory = MeasureClassifier("f1", pos_label="late", random_state=0).fit(
        data[["amount"]].astype(np.float32), data["outcome"], target_prevalence=0.02
    )
    assert model.rates_.tpr == pytest.approx(in_memory.rates_.tpr, abs=0.1)
    assert model.predict_proba(data[["amount"]])[:, 1].mean() < 0.06


def test_columns_without_commas_between_them_are_pointed_out(run, table, tmp_path):
    result = run("fit", table, "--target", "outcome", "--exclude", "order", "card", "-o", tmp_path / "x")
    assert result.exit_code == 2
    assert "--exclude order,card" in result.stderr


def test_costs_take_the_place_of_a_measure(run, table, tmp_path):
    shown = fitted(run, table, tmp_path / "m.skops", "--id", "order", "--costs", "1", "20").stdout
    assert "cost 1:20" in shown
    assert "share of late" in shown
    model = load_model(tmp_path / "m.skops")
    assert model.measure_ == CostMatrix(((0.0, 1.0), (20.0, 0.0)))
    fitted(run, table, tmp_path / "cheap.skops", "--id", "order", "--costs", "20", "1")
    assert load_model(tmp_path / "cheap.skops").rates_.tpr < model.rates_.tpr
    both = run("fit", table, "--target", "outcome", "--measure", "f1", "--costs", "1", "20", "-o", tmp_path / "x")
    assert (both.exit_code, "give one of them" in both.stderr) == (2, True)
    free = run("fit", table, "--target", "outcome", "--costs", "0", "20", "-o", tmp_path / "x")
    assert (free.exit_code, "must cost more" in free.stderr) == (2, True)


def test_the_positive_class_is_said_and_checked(run, table, tmp_path):
    fitted(run, table, tmp_path / "m.skops", "--id", "order")
    for command in (("evaluate",), ("report", "-o", tmp_path / "r.html")):
        words = (*command[:1], tmp_path / "m.skops", table, *command[1:], "--positive")
        assert run(*words, "late").exit_code == 0
        result = run(*words, "in time")
        assert result.exit_code == 2
        assert "is late, not in time" in result.stderr
    words = ("report", table, "--score", "amount", "--target", "outcome", "-o", tmp_path / "r.html")
    assert "The positive class is late, the last in sorted order" in run(*words).stderr
    assert "The positive class" not in run(*words, "--positive", "in time").stderr
    assert "the labels are in time, late" in run(*words, "--positive", "never").stderr


def test_a_stream_keeps_columns_as_they_are(table):
    stream = open_stream(str(table), target="outcome", keep=["order", "card"])
    (window,) = stream.windows()
    assert window.kept["order"][:2] == ["000000", "000001"]
    assert stream.encoder.columns == ["when", "amount"]
    with pytest.raises(ValueError, match="does not keep 'when'"):
        MeasureClassifier(random_state=0).fit_stream(stream, time="when")
    with pytest.raises(ValueError, match="have no names"):
        open_stream([(np.zeros((3, 2)), np.array([0, 1, 1]))], keep=["a"])
    with pytest.raises(ValueError, match="decimal must be"):
        open_stream(str(table), decimal=";")


@pytest.mark.parametrize(
    ("basis", "words"), [("none", "the mean of their column"), ("splines", "a level of their own")]
)
def test_what_became_of_missing_numbers_is_said(run, tmp_path, basis, words):
    rows = orders(200)
    rows.loc[::9, "amount"] = np.nan
    rows.to_csv(tmp_path / "gaps.csv", index=False)
    assert (
        words in fitted(run, tmp_path / "gaps.csv", tmp_path / "m.skops", "--basis", basis, "--id", "order").stderr
    )


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (
            ("--exclude", "cart"),
            "there is no column 'cart' to leave out. Its columns are: 'order', 'when', 'card'",
        ),
        (("--as", "cart=text"), "there is no column 'cart' to take for 'text'"),
    ],
)
def test_a_column_that_is_not_there_is_named(run, table, tmp_path, option, words):
    result = run("fit", table, "--target", "outcome", "-o", tmp_path / "m.skops", *option)
    assert (result.exit_code, words in result.stderr) == (1, True), result.stderr


def test_commands_are_listed_in_the_order_of_their_use(run):
    listed = run("--help").stdout.split("Commands:")[1].split("\n")
    assert [line.split()[0] for line in listed if line.strip()][:4] == ["fit", "evaluate", "report", "predict"]
    assert not any(line.endswith("...") for line in listed)
