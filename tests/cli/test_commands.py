"""The commands, from rows in files to labels in files."""

from __future__ import annotations

import functools
import io
import json
import os
import subprocess
import sys

import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from ratewise import MeasureClassifier, __version__, load_model, open_stream, save_model
from ratewise.measures import get_measure, measure_names


def labels_of(files, name="test.csv"):
    """What the model says in Python of the rows of a file."""
    model = load_model(files / "model.skops")
    X = np.concatenate([np.asarray(one.X) for one in open_stream(files / name, encoder=model.encoder_).windows()])
    named = pd.DataFrame(X, columns=model.feature_names_in_)
    return model.predict(named), model.decision_function(named)


def test_fit_and_evaluate_as_in_the_handbook(run, files, tmp_path):
    model = tmp_path / "model.skops"
    fitted = run("fit", files / "train.parquet", "--target", "label", "--measure", "f1", "-o", model)
    assert fitted.exit_code == 0, fitted.output
    assert "saved in" in fitted.stdout
    assert os.listdir(tmp_path) == ["model.skops"]
    result = run("evaluate", model, files / "test.parquet")
    assert result.exit_code == 0, result.output
    for word in ("predicted 1", "is 0", "TPR", "TNR", "precision", "alert rate", "f1 *", "95%", "--all prints"):
        assert word in result.stdout
    assert "recall-at-precision" not in result.stdout
    assert result.stderr == ""
    every = run("evaluate", model, files / "test.parquet", "--all").stdout
    assert all(name in every for name in measure_names())


def test_evaluate_tells_the_counts_and_the_measures_of_the_predictions(run, files, rows_to_test):
    report = json.loads(run("evaluate", files / "model.skops", files / "test.csv", "--json").stdout)
    predicted, truth = labels_of(files)[0], rows_to_test["label"].to_numpy()
    assert report["rows"] == 200
    assert report["confusion"] == {
        "true_positives": int(((truth == 1) & (predicted == 1)).sum()),
        "false_negatives": int(((truth == 1) & (predicted == 0)).sum()),
        "false_positives": int(((truth == 0) & (predicted == 1)).sum()),
        "true_negatives": int(((truth == 0) & (predicted == 0)).sum()),
    }
    assert report["trained_for"] == "f1"
    assert list(report["measures"]) == measure_names()
    for name, one in report["measures"].items():
        assert one["value"] == pytest.approx(get_measure(name).score(truth, predicted))
        assert one["low"] <= one["value"] <= one["high"]
        if not get_measure(name).constraints(0.5):  # their penalties are steep
            assert 0.01 < one["high"] - one["low"] < 0.5
    assert report["tpr"]["value"] > 0.6
    assert report["tnr"]["value"] > 0.8
    assert report["alert_rate"]["value"] == pytest.approx((predicted == 1).mean())
    assert report["precision"]["value"] == pytest.approx((truth[predicted == 1] == 1).mean())


def test_intervals_of_the_rates_are_told_and_rows_that_contradict_them_too(run, files, rows_to_test, tmp_path):
    fitted = run("fit", files / "train.csv", "--target", "label", "-o", tmp_path / "model.skops")
    assert "On new rows expect TPR 0." in fitted.stdout
    assert "95% intervals" in run("inspect", files / "model.skops").stdout
    alike = json.loads(run("evaluate", files / "model.skops", files / "test.csv", "--json").stdout)
    assert alike["contradicted"] == []
    rows_to_test.assign(age=-rows_to_test["age"]).to_csv(tmp_path / "drifted.csv", index=False)
    drifted = run("evaluate", files / "model.skops", tmp_path / "drifted.csv")
    assert "The TPR here is not the one of the fit" in drifted.stdout


def test_the_same_seed_gives_the_same_model_and_intervals(run, files, tmp_path):
    for name in ("a", "b"):
        result = run("fit", files / "train.csv", "--target", "label", "--seed", 5, "-o", tmp_path / name)
        assert result.exit_code == 0
    a, b = load_model(tmp_path / "a"), load_model(tmp_path / "b")
    assert np.array_equal(a.coef_, b.coef_)
    reports = [run("evaluate", tmp_path / name, files / "test.csv", "--json").stdout for name in ("a", "b")]
    assert reports[0] == reports[1]


@pytest.mark.parametrize("suffix", [".csv", ".feather", ".parquet"])
def test_predictions_go_to_a_file_of_the_kind_its_name_says(run, files, tmp_path, suffix):
    output = tmp_path / f"labels{suffix}"
    result = run("predict", files / "model.skops", files / "new.csv", "-o", output)
    assert result.exit_code == 0, result.output
    assert result.output == ""
    old = int(pd.__version__.split(".")[0]) < 3  # where exact numbers have to be asked for
    exact_csv = functools.partial(pd.read_csv, **({"float_precision": "round_trip"} if old else {}))
    readers = {".csv": exact_csv, ".feather": pd.read_feather, ".parquet": pd.read_parquet}
    written = readers[suffix](output)
    labels, scores = labels_of(files)
    assert list(written.columns) == ["label", "score", "probability"]
    assert ((written["score"] > 0) == written["label"]).all()
    assert (written["probability"].rank() == written["score"].rank()).all()
    assert np.array_equal(written["label"], labels)
    assert np.array_equal(written["score"], scores)
    assert os.listdir(tmp_path) == [output.name]


def test_predictions_go_to_standard_output_and_rows_come_from_standard_input(run, files):
    text = (files / "new.csv").read_text()
    result = run("predict", files / "model.skops", "-", "--format", "csv", input=text)
    assert result.exit_code == 0, result.output
    written = pd.read_csv(io.StringIO(result.stdout))
    assert np.array_equal(written["label"], labels_of(files)[0])
    assert result.stderr == ""


def test_a_basis_is_learned_saved_and_predicted_with(run, files, tmp_path):
    model = tmp_path / "model.skops"
    result = run("fit", files / "train.csv", "--target", "label", "--basis", "pairs", "-o", model)
    assert result.exit_code == 0, result.output
    loaded, test = load_model(model), pd.read_csv(files / "test.csv")
    assert loaded.basis_.kind == "pairs"
    written = pd.read_csv(io.StringIO(run("predict", model, files / "new.csv").stdout))
    assert np.array_equal(written["label"], loaded.predict(test))
    shown = run("inspect", model, "--json").stdout
    assert "age * height" in shown
    assert json.loads(shown)["features"] == loaded.n_features_in_ < loaded.coef_.shape[1]  # as fit says


def test_the_order_of_columns_does_not_matter_and_more_columns_do_not_harm(run, files, rows_to_test, tmp_path):
    mixed = rows_to_test[["noise", "colour", "label", "age", "height"]].assign(more="text")
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    result = run("predict", files / "model.skops", tmp_path / "mixed.csv")
    assert np.array_equal(pd.read_csv(io.StringIO(result.stdout))["label"], labels_of(files)[0])


def test_a_model_goes_to_standard_output_and_comes_from_standard_input(run, files):
    fitted = run("fit", files / "train.csv", "--target", "label", "-o", "-")
    assert fitted.exit_code == 0
    assert np.array_equal(
        load_model(io.BytesIO(fitted.stdout_bytes)).coef_, load_model(files / "model.skops").coef_
    )
    assert "saved in standard output" in fitted.stderr
    result = run("evaluate", "-", files / "test.csv", "--json", input=fitted.stdout_bytes)
    assert result.stdout == run("evaluate", files / "model.skops", files / "test.csv", "--json").stdout


def test_rows_to_learn_from_may_come_from_standard_input(run, files, tmp_path):
    text = (files / "train.csv").read_text()
    words = ("fit", "-", "--format", "csv", "--target", "label", "--positive", "1", "-o", tmp_path / "model.skops")
    result = run(*words, input=text)
    assert result.exit_code == 0, result.output
    assert load_model(tmp_path / "model.skops").n_features_in_ == 6


@pytest.mark.parametrize(("text", "label"), [("1", 1), ("0", 0)])
def test_the_positive_class_is_found_by_what_is_written(run, files, tmp_path, text, label):
    words = ("fit", files / "train.csv", "--target", "label", "--positive", text, "-o", tmp_path / "model.skops")
    assert run(*words).exit_code == 0
    assert load_model(tmp_path / "model.skops").pos_label == label


def test_a_positive_class_that_looks_like_a_number_may_be_a_text(run, files, rows_to_test, tmp_path):
    rows_to_test.assign(label=rows_to_test["label"].astype(str)).to_parquet(tmp_path / "texts.parquet")
    words = ("fit", tmp_path / "texts.parquet", "--target", "label", "--positive", "0", "-o", tmp_path / "m.skops")
    assert run(*words).exit_code == 0
    assert load_model(tmp_path / "m.skops").pos_label == "0"
    report = json.loads(run("evaluate", tmp_path / "m.skops", tmp_path / "texts.parquet", "--json").stdout)
    assert report["prevalence"] == pytest.approx(1 - rows_to_test["label"].mean())


def test_a_positive_class_of_most_rows_that_nobody_asked_for_is_pointed_out(run, rows_to_test, tmp_path):
    names = rows_to_test["label"].map({1: "fraud", 0: "ok"})
    rows_to_test.assign(label=names).to_csv(tmp_path / "rows.csv", index=False)
    words = ("fit", tmp_path / "rows.csv", "--target", "label", "-o", tmp_path / "m.skops")
    assert "The positive class is ok" in run(*words).stderr
    assert "add --positive fraud." in run(*words).stderr
    assert "The positive class" not in run(*words, "--positive", "fraud").stderr
    assert "The positive class" not in run(*words, "--positive", "ok").stderr


def test_options_reach_the_classifier(run, files, tmp_path):
    words = ("fit", files / "train.csv", "--target", "label", "--measure", "gmean", "--solver", "spade", "--plain")
    result = run(*words, "--features", "age,colour", "--seed", 3, "--json", "-o", tmp_path / "model.skops")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    model = load_model(tmp_path / "model.skops")
    assert (model.measure, model.solver, model.sharpen, model.random_state) == ("gmean", "spade", False, 3)
    assert model.feature_names_in_.tolist() == ["age", "colour=blue", "colour=green", "colour=red"]
    assert report["measure"] == "gmean"
    assert report["value"] == pytest.approx(np.sqrt(report["tpr"] * report["tnr"]))
    assert report["rows"] == 400


def test_quiet_says_nothing(run, files, tmp_path):
    result = run("fit", files / "train.csv", "--target", "label", "-q", "-o", tmp_path / "model.skops")
    assert (result.exit_code, result.output) == (0, "")


def test_inspect_names_the_measure_the_columns_and_the_version(run, files):
    result = run("inspect", files / "model.skops")
    for word in ("f1", "tpr", "age", "colour=red", __version__, "label", "taken for"):
        assert word in result.stdout
    report = json.loads(run("inspect", files / "model.skops", "--top", 2, "--json").stdout)
    model = load_model(files / "model.skops")
    assert report["threshold"] == -model.intercept_[0]
    assert [one["column"] for one in report["coefficients"]] == ["age", "colour=red"]
    assert report["coefficients"][0]["coefficient"] == model.coef_[0, 0]


def test_coefficients_are_ranked_by_a_standard_deviation_of_their_column(run, files, tmp_path):
    model = load_model(files / "model.skops")
    model.coef_ = np.array([[1.0, -5.0, 0.0, 0.0, 3.0, 2.0]])
    model.feature_spread_ = np.array([100.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    save_model(model, tmp_path / "spread.skops")
    del model.feature_spread_
    save_model(model, tmp_path / "plain.skops")
    first = {}
    for name in ("spread", "plain"):
        report = json.loads(run("inspect", tmp_path / f"{name}.skops", "--json").stdout)
        first[name] = report["coefficients"][0]
    assert first["spread"] == {"column": "age", "coefficient": 1.0, "per_deviation": 100.0}
    assert first["plain"] == {"column": "height", "coefficient": -5.0}


def test_a_model_fitted_in_python_without_names_can_be_inspected_and_used(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)).astype(np.float32)
    model = MeasureClassifier("gmean", sharpen=False, random_state=0).fit(X, X[:, 1] > 0.5)
    save_model(model, tmp_path / "model.skops")
    assert "x1" in run("inspect", tmp_path / "model.skops").stdout
    np.savez(tmp_path / "rows.npz", X=X, y=X[:, 1] > 0.5)
    report = json.loads(run("evaluate", tmp_path / "model.skops", tmp_path / "rows.npz", "--json").stdout)
    assert report["measures"]["gmean"]["value"] == pytest.approx(model.score(X, X[:, 1] > 0.5))


def test_measures_are_those_of_the_registry(run):
    assert list(json.loads(run("measures", "--json").stdout)) == measure_names()
    for name in measure_names():
        assert name in run("measures").stdout


def test_measures_of_many_classes_are_listed_too(run):
    names = measure_names(many_classes=True)
    assert list(json.loads(run("measures", "--many-classes", "--json").stdout)) == names
    assert {"quadratic-kappa", "worst-recall", "f1"} <= set(names)


def test_a_model_of_three_classes_is_evaluated_inspected_and_predicts(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.array(["ape", "bee", "cat"])[np.digitize(X[:, 0] + 0.3 * rng.normal(size=400), [-0.5, 0.8])]
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(kind=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    path = tmp_path / "model.skops"
    assert run("fit", tmp_path / "rows.csv", "--target", "kind", "-o", path).exit_code == 0
    model = load_model(path)
    shown = run("evaluate", path, tmp_path / "rows.csv").stdout
    assert all(word in shown for word in ("is ape", "predicted cat", "recall", "macro-f1 *", "400 rows"))
    report = json.loads(run("evaluate", path, tmp_path / "rows.csv", "--json").stdout)
    predicted = model.predict(frame[["a", "b"]])
    one = report["measures"]["macro-f1"]
    assert one["value"] == pytest.approx(model.score(frame[["a", "b"]], y))
    assert one["low"] < one["value"] < one["high"] <= 1.0
    for k, found in enumerate(report["classes"]):
        label = found["class"]
        assert found["recall"] == pytest.approx((predicted == label)[y == label].mean())
        assert found["precision"] == pytest.approx((y == label)[predicted == label].mean())
        assert found["recall_low"] < found["recall"] < found["recall_high"]
        assert sum(report["confusion"][k]) == (y == label).sum()
    written = pd.read_csv(io.StringIO(run("predict", path, tmp_path / "rows.csv", "--id", "kind").stdout))
    assert written["label"].tolist() == predicted.tolist()
    shares = model.predict_proba(frame[["a", "b"]])[np.arange(400), np.searchsorted(model.classes_, predicted)]
    np.testing.assert_allclose(written["probability"], shares)
    page = tmp_path / "page.html"
    made = run("report", path, tmp_path / "rows.csv", "--and", path, "--measure", "worst-recall", "-o", page)
    assert made.exit_code == 0, made.output
    worst = min(found["recall"] for found in report["classes"])
    words = page.read_text("utf-8")
    assert f"the worst-recall is {worst:.3f}" in " ".join(words.split())
    assert ">model (2)<" in words
    facts = json.loads(run("inspect", path, "--json").stdout)
    assert [one["class"] for one in facts["rates_by_class"]] == ["ape", "bee", "cat"]
    assert facts["coefficients"][0]["column"] == "a"
    assert "recall" in run("inspect", path).stdout


def test_an_exported_graph_gives_the_labels_of_predict(run, files, tmp_path):
    result = run("export", files / "model.skops", tmp_path / "model.onnx")
    assert result.exit_code == 0, result.output
    model = load_model(files / "model.skops")
    X = np.random.default_rng(0).normal(size=(1000, model.n_features_in_))
    session = onnxruntime.InferenceSession((tmp_path / "model.onnx").read_bytes())
    named = pd.DataFrame(X, columns=model.feature_names_in_)
    assert np.array_equal(session.run(["label"], {"X": X})[0], model.predict(named))


def test_convert_keeps_every_row_and_mixes_them(run, files, tmp_path, rows_to_test):
    output = tmp_path / "train.feather"
    result = run("convert", files / "train.csv", "-o", output)
    assert result.exit_code == 0, result.output
    assert "400 rows" in result.stdout
    before, after = pd.read_csv(files / "train.csv"), pd.read_feather(output)
    assert sorted(before.columns) == sorted(after.columns)
    after = after[before.columns]
    assert not np.array_equal(before["age"], after["age"])
    order = ["age", "height", "noise"]
    pd.testing.assert_frame_equal(
        before.sort_values(order, ignore_index=True),
        after.sort_values(order, ignore_index=True),
        check_dtype=False,
    )
    assert os.listdir(tmp_path) == ["train.feather"]


def test_convert_can_leave_the_order_and_a_fit_of_its_file_is_the_same(run, files, tmp_path):
    output = tmp_path / "train.feather"
    assert run("convert", files / "train.csv", "--in-order", "--compression", "none", "-o", output).exit_code == 0
    assert np.array_equal(pd.read_feather(output)["age"], pd.read_csv(files / "train.csv")["age"])
    assert run("fit", output, "--target", "label", "-o", tmp_path / "model.skops").exit_code == 0
    report = json.loads(run("evaluate", tmp_path / "model.skops", files / "test.csv", "--json").stdout)
    assert report["measures"]["f1"]["value"] > 0.7


def test_convert_makes_columns_of_sparse_rows_if_they_are_few(run, tmp_path):
    (tmp_path / "rows.svm").write_text("+1 1:0.5 3:2\n-1 2:1\n+1 3:1\n-1 1:1\n")
    assert run("convert", tmp_path / "rows.svm", "--in-order", "-o", tmp_path / "rows.feather").exit_code == 0
    frame = pd.read_feather(tmp_path / "rows.feather")
    assert frame.shape == (4, 4)
    assert frame.iloc[:, -1].tolist() == [1, -1, 1, -1]
    (tmp_path / "wide.svm").write_text("+1 1:0.5 30000:2\n-1 2:1\n")
    result = run("convert", tmp_path / "wide.svm", "-o", tmp_path / "wide.feather")
    assert result.exit_code == 1
    assert "30,000 columns" in result.stderr
    assert not (tmp_path / "wide.feather").exists()


def test_the_demo_plays_three_acts_and_names_its_report(run, tmp_path):
    page = tmp_path / "page.html"
    result = run("demo", "--repetitions", "2", "-o", page)
    assert result.exit_code == 0, result.output
    for words in ("1. A promise", "2. A measure", "3. Where nothing is gained", "of 2", str(page)):
        assert words in result.stdout
    assert b"Is the digit an 8?" in page.read_bytes()


def test_warmup_runs_every_job_and_says_so(run, monkeypatch):
    from ratewise.cli import warmup

    done = []
    monkeypatch.setattr(warmup, "jobs", lambda: [warmup.Job("a", lambda: done.append(1))] * 3)
    result = run("warmup")
    assert result.exit_code == 0
    assert done == [1, 1, 1]
    assert f"Ready: {len(measure_names())} measures" in result.stdout


WARMED_UP = """
import sys, warnings
import numpy as np
from numba.core.dispatcher import Dispatcher
from ratewise import MeasureClassifier, measures, open_stream
from ratewise.cli import warmup
from ratewise.kernels import numpy_fallbacks
from ratewise.training import config

warnings.simplefilter("ignore")
measures.measure_names = lambda: ["f1", "gmean", "min"]

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("ratewise.")]
    loops = {loop for module in modules for loop in vars(module).values() if isinstance(loop, Dispatcher)}
    return {(loop.__name__, str(types)) for loop in loops for types in loop.signatures}

with numpy_fallbacks.compiled_only():
    for job in warmup.jobs():
        job.run()
ready = compiled()
assert "learn" in {name for name, _ in ready}
config.IN_MEMORY_BYTES = 0
for number, dtype in ((200, np.float64), (config.MANY_ROWS, np.float32), (config.MANY_ROWS, np.float64)):
    for X, y in warmup.made_up_rows(number, dtype):
        for name in measures.measure_names():
            MeasureClassifier(name, random_state=1).fit(X, y).score(X, y)
        MeasureClassifier("gmean", random_state=1).fit(X, y, sample_weight=np.ones(number))
        MeasureClassifier("min", random_state=1).partial_fit(X, y, classes=[False, True])
        MeasureClassifier("gmean", random_state=1).fit_stream(open_stream([(X, y)]))
        MeasureClassifier("gmean", basis="splines", random_state=1).fit(X, y).score(X, y)
for loop in sorted(compiled() - ready):
    print(*loop)
"""


@pytest.mark.slow
def test_after_warmup_no_default_fit_compiles_anything():
    """In a process of its own, where no other test has compiled anything."""
    done = subprocess.run([sys.executable, "-c", WARMED_UP], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr + done.stdout


def test_warmup_compiles_every_measure_for_dense_and_sparse_rows(monkeypatch):
    from scipy import sparse

    from ratewise.cli import warmup

    fits = []
    monkeypatch.setattr(
        warmup,
        "_fit",
        lambda name, rows, sharpen="auto", weighted=False: fits.append((name, sparse.issparse(rows.X), sharpen)),
    )
    for job in warmup.jobs():
        if job.stage in measure_names():
            job.run()
    assert fits == [(name, is_sparse, False) for is_sparse in (False, True) for name in measure_names()]


def test_one_job_of_warmup_is_a_fit_that_works():
    from ratewise.cli import warmup

    jobs = {job.stage: job for job in warmup.jobs()}
    for stage in ("gmean", "f1"):
        jobs[stage].run()


def test_warmup_compiles_the_parser_of_text():
    from ratewise.cli.warmup import read_svmlight
    from ratewise.kernels import svmlight

    read_svmlight()
    assert svmlight.parse_lines.signatures


def test_evaluate_counts_weights(run, files, rows_to_test, tmp_path):
    weights = np.random.default_rng(0).choice([0.5, 3.0], size=200)
    rows_to_test.assign(w=weights).to_csv(tmp_path / "rows.csv", index=False)
    words = ["evaluate", files / "model.skops", tmp_path / "rows.csv", "--json"]
    weighted, plain = (json.loads(run(*words, *more).stdout) for more in (["--weight", "w"], []))
    predicted, truth = labels_of(files)[0], rows_to_test["label"].to_numpy()
    assert weighted["rows"] == plain["rows"] == 200
    assert sum(weighted["confusion"].values()) == pytest.approx(weights.sum())
    expected = get_measure("f1").score(truth, predicted, sample_weight=weights)
    assert weighted["measures"]["f1"]["value"] == pytest.approx(expected)
    assert plain["measures"]["f1"]["value"] == pytest.approx(get_measure("f1").score(truth, predicted))


def test_reading_the_written_feather_with_arrow_gives_a_table(run, files, tmp_path):
    run("predict", files / "model.skops", files / "new.csv", "-o", tmp_path / "labels.arrow")
    read = pyarrow.feather.read_table(tmp_path / "labels.arrow")
    assert read.schema.types == [pa.int64(), pa.float64(), pa.float64()]


def test_a_report_of_a_model_holds_the_numbers_of_evaluate(run, files, tmp_path):
    page = tmp_path / "report.html"
    result = run("report", files / "model.skops", files / "test.csv", "-o", page)
    assert result.exit_code == 0, result.output
    evaluated = json.loads(run("evaluate", files / "model.skops", files / "test.csv", "--json").stdout)
    f1 = evaluated["measures"]["f1"]
    text = page.read_text()
    assert f"{f1['value']:.4f} (with 95% confidence between {f1['low']:.4f} and {f1['high']:.4f})" in text
    assert '"column":"colour"' in text


def test_a_report_sets_models_side_by_side_and_groups_by_a_column(run, files, tmp_path):
    model, page = files / "model.skops", tmp_path / "report.html"
    result = run(
        "report", model, files / "test.parquet", "--and", model, "--slice", "age", "-o", page, "--title", "T"
    )
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert "<title>T</title>" in text
    assert '"name":"model (2)"' in text
    assert '"column":"age"' in text
    assert '"column":"colour"' not in text


def test_a_report_of_scores_needs_no_model(run, files, rows_to_test, tmp_path):
    scores = rows_to_test[["label"]].assign(score=rows_to_test["age"])
    scores.to_csv(tmp_path / "scores.csv", index=False)
    result = run(
        "report", tmp_path / "scores.csv", "--score", "score", "--target", "label", "-o", tmp_path / "r.html"
    )
    assert result.exit_code == 0, result.output
    assert "threshold was chosen on these rows" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model.skops"], "Give a model and then the data"),
        (["model.skops", "test.csv", "--slice", "nothing"], "no column nothing"),
        (["test.csv", "--score", "age"], "--score needs --target"),
        (["model.skops", "test.csv", "--threshold", "1"], "--threshold is for --score"),
        (["test.csv", "--score", "age", "--target", "label", "--and", "model.skops"], "need a MODEL"),
    ],
)
def test_a_report_that_is_asked_for_wrongly_is_refused(run, files, tmp_path, words, message):
    paths = [files / word if word.endswith((".csv", ".skops")) else word for word in words]
    result = run("report", *paths, "-o", tmp_path / "r.html")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "r.html").exists()


def test_what_columns_are_can_be_said_and_is_shown(run, tmp_path):
    rows = [f"{i % 5},u{i},{i % 7}.5,{int(i % 5 < 2)}" for i in range(200)]
    (tmp_path / "rows.csv").write_text("\n".join(["zip,id,x,label", *rows, ""]))
    model = tmp_path / "model.skops"
    asked = ["--as", "zip=category", "--exclude", "id"]
    result = run("fit", tmp_path / "rows.csv", "--target", "label", *asked, "-o", model)
    assert result.exit_code == 0, result.output
    assert "left out" in result.stdout
    found = json.loads(run("inspect", model, "--json").stdout)
    taken_for = {one["raw_column"]: (one["taken_for"], one["columns"]) for one in found["columns"]}
    assert taken_for == {"zip": ("category", 5), "id": ("left out", 0), "x": ("number", 1)}
    assert "zip" in run("inspect", model).stdout
    assert run("predict", model, tmp_path / "rows.csv").exit_code == 0
    wrong = run("fit", tmp_path / "rows.csv", "--target", "label", "--as", "zip=town", "-o", model)
    assert wrong.exit_code == 2
    assert "--as zip=town: give COLUMN=KIND, where KIND is one of number, boolean" in " ".join(
        wrong.stderr.split()
    )
