"""Bad usage: one sentence, exit code 2, nothing written; and Ctrl-C, which is no error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ratewise
from ratewise import MeasureClassifier, save_model
from ratewise.cli._output import sentence
from ratewise.training.checkpoint import Checkpoint

SOURCE = str(Path(ratewise.__file__).parents[1])

BAD_USAGE = [
    (["fit", "{f}/train.csv", "--target", "label"], "Missing option '-o'"),
    (["fit", "-o", "{t}/m.skops"], "Missing argument 'DATA...'"),
    (["fit", "{f}/train.csv", "--target", "label", "--measure", "f11", "-o", "{t}/m.skops"], "no measure 'f11'"),
    (
        ["fit", "{f}/train.csv", "--target", "label", "--solver", "spade", "-o", "{t}/m.skops"],
        "Spade maximizes concave",
    ),
    (
        ["fit", "{f}/train.csv", "--target", "label", "--passes", "0", "-o", "{t}/m.skops"],
        "a whole number above 0",
    ),
    (["fit", "{f}/train.csv", "--target", "label", "--features", "a,,b", "-o", "{t}/m.skops"], "column names"),
    (["fit", "{f}/train.csv", "--target", "label", "-o", "{t}/no/m.skops"], "does not exist"),
    (["fit", "{f}/train.csv", "--target", "label", "-o", "{t}"], "is a folder"),
    (["fit", "{f}/train.csv", "--target", "label", "--json", "-o", "-"], "both want standard output"),
    (["fit", "{f}/train.csv", "-o", "{t}/m.skops"], "Which column is to be predicted"),
    (["fit", "{t}/a.svm", "--features", "a,b", "-o", "{t}/m.skops"], "takes the number of columns"),
    (["predict", "{f}/model.skops", "-"], "Standard input is read as CSV or svmlight"),
    (["fit", "-", "{f}/train.csv", "--target", "label", "-o", "{t}/m.skops"], "cannot be mixed with files"),
    (["evaluate", "-", "-"], "cannot both be standard input"),
    (["predict", "{f}/model.skops", "{f}/new.csv", "-o", "{t}/labels.xls"], "must end in .csv"),
    (["predict", "{f}/model.skops"], "Missing argument 'DATA...'"),
    (["convert", "{f}/train.csv", "--format", "xls", "-o", "{t}/a.feather"], "'xls' is not one of"),
    (["nonsense"], "No such command 'nonsense'"),
]


@pytest.mark.parametrize(("words", "message"), BAD_USAGE, ids=[message for _, message in BAD_USAGE])
def test_bad_usage_ends_with_2_and_a_sentence(run, files, tmp_path, words, message):
    result = run(*(word.format(f=files, t=tmp_path) for word in words))
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["report", "m.skops", "{f}/test.csv", "--slice", "age", "-o", "r.html"],
            "a model of more than two classes: leave out --slice",
        ),
        (
            ["report", "m.skops", "{f}/test.csv", "--and", "{f}/model.skops", "-o", "r.html"],
            "m.skops is a model of more than two classes; the others are of two",
        ),
        (["evaluate", "m.skops", "{f}/test.csv", "--positive", "1"], "3 classes: leave out --positive"),
        (["predict", "m.skops", "{f}/new.csv", "--sensitive", "age"], "3 classes: leave out --sensitive"),
    ],
    ids=["report", "report of both", "evaluate", "predict"],
)
def test_what_is_for_two_classes_says_so_of_a_model_of_three(run, files, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    model = MeasureClassifier(sharpen=False, random_state=0).fit(rng.normal(size=(60, 2)), np.arange(60) % 3)
    save_model(model, "m.skops")
    result = run(*(word.format(f=files) for word in words))
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert os.listdir(tmp_path) == ["m.skops"]
    assert run("export", "m.skops", "m.onnx").exit_code == 0


def python(*words, **kwargs):
    environment = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *words], capture_output=True, env=environment, timeout=120, **kwargs)


def test_help_imports_nothing_heavy():
    heavy = "{'numpy', 'scipy', 'sklearn', 'numba', 'pyarrow', 'rich', 'skops', 'pandas'}"
    code = f"import sys; import ratewise.cli.app; print(sorted({heavy} & set(sys.modules)))"
    assert python("-c", code).stdout.decode().strip() == "[]"


@pytest.mark.parametrize("command", ["fit", "evaluate", "predict", "report"])
def test_a_missing_file_is_noticed_before_anything_slow_is_imported(command, tmp_path):
    words = ["missing.csv", "--target", "y"] if command == "fit" else ["missing.skops", "missing.csv"]
    words += [] if command == "evaluate" else ["-o", "out.csv"]
    code = (
        "import sys; from ratewise.cli.app import app\n"
        f"try: app({[command, *words]!r})\n"
        "except SystemExit as end: print(end.code, sorted({'sklearn', 'skops', 'numba'} & set(sys.modules)))"
    )
    ended = python("-c", code, cwd=tmp_path)
    assert ended.stdout.decode().strip() == "1 []"
    assert b"missing." in ended.stderr


def test_python_dash_m_shows_the_help_and_the_version():
    ended = python("-m", "ratewise", "--help")
    assert ended.returncode == 0
    assert b"ratewise fit train.parquet" in ended.stdout
    assert b"0.1.0" in python("-m", "ratewise", "--version").stdout


def test_without_click_the_pip_line_is_shown():
    code = "import sys; sys.modules['click'] = None; from ratewise.cli import main; main()"
    ended = python("-c", code)
    assert ended.returncode == 1
    assert ended.stderr.decode().strip() == 'The command line needs click and rich: pip install "ratewise[cli]"'


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_standard_output_is_one_sentence(files):
    with open("/dev/full", "w") as full:
        environment = {**os.environ, "PYTHONPATH": SOURCE}
        words = [sys.executable, "-m", "ratewise", "predict", files / "model.skops", files / "new.csv"]
        ended = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, env=environment, timeout=120, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr.decode().strip() == "Error: No space left on device"


def test_ctrl_c_says_where_the_checkpoint_is_and_how_to_go_on(run, files, tmp_path, monkeypatch):
    def interrupted(self, stream, passes, options):
        Checkpoint(options.checkpoint, {}).save("work in progress")
        raise KeyboardInterrupt

    monkeypatch.setattr(MeasureClassifier, "_fit_stream", interrupted)
    monkeypatch.setattr(sys, "argv", ["ratewise", "fit", "my data.csv"])
    result = run("fit", files / "train.csv", "--target", "label", "-o", tmp_path / "model.skops")
    assert result.exit_code == 130
    assert f"kept in {tmp_path}/model.skops.checkpoint" in result.stderr
    assert "ratewise fit 'my data.csv'" in result.stderr
    assert os.listdir(tmp_path) == ["model.skops.checkpoint"]


def test_the_checkpoint_options_reach_the_fit_and_a_finished_fit_leaves_none(run, files, tmp_path, monkeypatch):
    seen = {}

    def fit_stream(self, stream, passes, options):
        seen.update(passes=passes, before=options.checkpoint.exists())
        seen.update(every=options.checkpoint_every, in_windows=options.in_windows)
        Checkpoint(options.checkpoint, {}).save("nearly done")
        X, y = next((window.X, window.labels) for window in stream.windows())
        return self.fit(X, y)

    monkeypatch.setattr(MeasureClassifier, "_fit_stream", fit_stream)
    words = ["fit", files / "train.csv", "--target", "label", "--plain", "-o", tmp_path / "model.skops"]
    place = tmp_path / "kept"
    Checkpoint(place, {}).save("an earlier run")
    result = run(*words, "--passes", 7, "--checkpoint", place, "--checkpoint-every", 1000)
    assert result.exit_code == 0, result.output
    assert seen == {"passes": 7, "before": True, "every": 1000, "in_windows": True}
    Checkpoint(place, {}).save("an earlier run")
    assert run(*words, "--checkpoint", place, "--no-resume").exit_code == 0
    assert seen == {"passes": "auto", "before": False, "every": None, "in_windows": True}
    assert run(*words).exit_code == 0
    assert seen == {"passes": "auto", "before": False, "every": None, "in_windows": False}
    assert os.listdir(tmp_path) == ["model.skops"]


def test_ctrl_c_elsewhere_just_stops(run, files, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("ratewise.cli.evaluate._count", interrupted)
    result = run("evaluate", files / "model.skops", files / "test.csv")
    assert (result.exit_code, result.stderr.strip()) == (130, "Stopped.")


def test_a_defect_of_ours_is_no_traceback_either(run, files, monkeypatch):
    def broken(*args, **kwargs):
        raise KeyError("oops")

    monkeypatch.setattr("ratewise.cli.evaluate._count", broken)
    result = run("evaluate", files / "model.skops", files / "test.csv")
    assert result.exit_code == 1
    assert "KeyError" in result.stderr
    assert "RATEWISE_DEBUG=1" in result.stderr
    monkeypatch.setenv("RATEWISE_DEBUG", "1")
    assert isinstance(run("evaluate", files / "model.skops", files / "test.csv").exception, KeyError)


def test_sentences_name_options_as_the_command_line_does():
    assert sentence(ValueError("leave it out with features=.")) == "leave it out with --features."
    assert sentence(ValueError("say format='csv' here")) == "say --format csv here"
    assert (
        sentence(ModuleNotFoundError("No module", name="rich")) == 'This needs rich: pip install "ratewise[cli]"'
    )
    assert sentence(OSError(28, "No space left on device", "a.csv")) == "a.csv: No space left on device"


@pytest.mark.filterwarnings("default::ratewise.ColumnWarning")
def test_a_column_that_is_left_out_is_told_of_once(run, tmp_path):
    rows = "".join(f"p{k:05d},{k % 7},{'fraud' if k % 7 > 4 else 'ok'}\n" for k in range(400))
    (tmp_path / "rows.csv").write_text("id,x,status\n" + rows)
    fit = ["fit", tmp_path / "rows.csv", "--target", "status", "--positive", "fraud"]
    result = run(*fit, "-o", tmp_path / "model.skops")
    assert result.exit_code == 0
    assert result.stderr.count("Left out: 'id'") == 1
