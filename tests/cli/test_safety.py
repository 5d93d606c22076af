"""Nothing that a user has is lost, and nothing ends in a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from error_messages import one_sentence

import ratewise
from ratewise import MeasureClassifier, open_stream, save_model
from ratewise.cli._output import printable
from ratewise.training.checkpoint import Checkpoint

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(ratewise.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
RATEWISE = [sys.executable, "-m", "ratewise"]


@pytest.fixture
def mine(files, tmp_path, monkeypatch):
    """A folder of the user's own files, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    for name in ("train.csv", "new.csv", "model.skops"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    (tmp_path / "linked.csv").symlink_to("train.csv")
    os.link("new.csv", "other.csv")
    (tmp_path / "folder").mkdir()
    pd.read_csv("train.csv").to_feather("folder/rows.feather")
    np.save("X.npy", np.eye(4))
    np.save("y.npy", np.array([0, 1, 0, 1]))
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


INPUTS_AS_OUTPUTS = [
    "fit train.csv --target label -o train.csv",
    "fit train.csv --target label -o linked.csv",
    "fit linked.csv --target label -o train.csv",
    "fit train.csv --target label -o m.skops --checkpoint train.csv",
    "fit train.csv --target label -o m.skops --checkpoint new.csv",
    "fit train.csv --target label -o m.skops --checkpoint m.skops",
    "fit train.csv --target label -o m.skops --checkpoint ./m.skops",
    "fit X.npy --target y.npy -o y.npy",
    "predict model.skops new.csv -o new.csv",
    "predict model.skops new.csv -o other.csv",
    "predict model.skops *.csv -o train.csv",
    "export model.skops model.skops",
    "report model.skops train.csv -o model.skops",
    "report model.skops train.csv -o linked.csv",
    "convert folder -o folder/rows.feather",
    "convert train.csv -o rows.csv",
]


@pytest.mark.parametrize("words", INPUTS_AS_OUTPUTS)
def test_no_file_that_is_read_is_written_to(run, mine, words):
    before = contents(mine)
    result = run(*words.split())
    assert result.exit_code == 2
    assert "name" in result.stderr.splitlines()[-1]
    assert contents(mine) == before


def test_a_model_may_take_the_place_of_a_model_and_a_checkpoint_of_a_checkpoint(run, mine):
    Checkpoint("kept", {}).save("an earlier fit")
    words = ["fit", "train.csv", "--target", "label", "--plain", "-o", "model.skops", "--checkpoint", "kept"]
    result = run(*words, "--no-resume")
    assert result.exit_code == 0, result.output
    assert not Path("kept").exists()


@pytest.mark.parametrize(
    ("closed", "words"),
    [
        ("stdout", ["measures"]),
        ("stdin", ["evaluate", "-", "rows.csv"]),
        ("stdin", ["fit", "-", "--format", "csv", "--target", "y", "-o", "m.skops"]),
    ],
)
def test_a_closed_stream_is_one_sentence(closed, words):
    descriptor = {"stdin": 0, "stdout": 1}[closed]
    ended = subprocess.run(
        [*RATEWISE, *words], stderr=subprocess.PIPE, env=ENVIRONMENT, preexec_fn=lambda: os.close(descriptor)
    )
    assert ended.stderr.decode() == f"Error: Standard {closed[3:]}put is closed\n"
    assert ended.returncode == 1


def test_a_closed_standard_output_does_not_hinder_a_command_that_is_quiet(mine):
    words = ["fit", "train.csv", "--target", "label", "--plain", "-q", "-o", "m.skops"]
    ended = subprocess.run(
        [*RATEWISE, *words], stderr=subprocess.PIPE, env=ENVIRONMENT, preexec_fn=lambda: os.close(1)
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert Path("m.skops").read_bytes()[:2] == b"PK"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_help_on_a_full_disk_is_one_sentence():
    with open("/dev/full", "w") as full:
        ended = subprocess.run([*RATEWISE, "--help"], stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert (ended.returncode, ended.stderr) == (1, b"Error: No space left on device\n")


SLOW_FIT = """
import sys, time
from ratewise import cli, streams
from ratewise.training import files
take = files.WindowSource._take
def slow_take(self, window, state):
    print("window", flush=True)
    time.sleep(0.2)
    return take(self, window, state)
files.WindowSource._take = slow_take
sys.argv[0] = "ratewise"
cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("presses", [1, 2, 3, 8])
def test_any_number_of_ctrl_c_ends_in_one_message_and_the_same_command_goes_on(mine, presses):
    words = ["fit", "train.csv", "--target", "label", "-o", "m.skops", "--checkpoint-every", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENVIRONMENT, "text": True}
    with subprocess.Popen([sys.executable, "-c", SLOW_FIT, *words], **pipes) as process:
        for _ in range(3):
            assert process.stdout.readline() == "window\n"
        for _ in range(presses):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.startswith("Stopped. What was learned is kept in m.skops.checkpoint")
    assert "Traceback" not in errors
    ended = subprocess.run([*RATEWISE, *words], **pipes)
    assert ended.returncode == 0, ended.stderr
    assert not Path("m.skops.checkpoint").exists()


def test_an_early_ctrl_c_is_no_traceback():
    code = "import signal; from ratewise import cli; cli._replace_closed_streams = lambda: signal.raise_signal(2)"
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}; cli.main()"], capture_output=True, env=ENVIRONMENT, text=True
    )
    assert (ended.returncode, ended.stderr) == (130, "Stopped.\n")


CALLED_BACK = """
import ctypes, os, signal, sys, time
from ratewise import cli
from ratewise.cli import app
@ctypes.CFUNCTYPE(None)
def called_back():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)
def command(**settings):
    called_back()
    time.sleep(20)
app.app = command
cli.main()
"""


def test_a_ctrl_c_while_c_calls_python_is_not_lost():
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", CALLED_BACK], capture_output=True, env=ENVIRONMENT, timeout=60)
    assert (ended.returncode, ended.stderr) == (130, b"Stopped.\n")
    assert time.monotonic() - began < 15


def test_a_checkpoint_of_changed_rows_is_said_to_be_left_out(run, mine, monkeypatch):
    def interrupted(report):
        if report["stage"].startswith("learning"):
            raise KeyboardInterrupt

    words = ["fit", "train.csv", "--target", "label", "-o", "m.skops", "--checkpoint-every", "100"]
    with monkeypatch.context() as patched:
        patched.setattr("ratewise.cli.fit.Meter.__call__", lambda self, report: interrupted(report))
        assert run(*words).exit_code == 130
    with open("train.csv", "a") as file:
        file.write("1.0,2.0,3.0,red,1\n")
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "Warning: The checkpoint m.skops.checkpoint was not used, and the fit starts again" in result.stderr
    assert ".py:" not in result.stderr


@pytest.mark.parametrize("more", [[], ["--checkpoint-every", "100"]], ids=["memory", "windows"])
def test_weights_that_are_all_zero_are_one_sentence(run, mine, more):
    pd.read_csv("train.csv").assign(w=0.0).to_csv("zero.csv", index=False)
    result = run("fit", "zero.csv", "--target", "label", "--weight", "w", "-o", "m.skops", *more)
    assert "All rows of one class have weight 0" in one_sentence(result)
    assert not Path("m.skops").exists()


def test_warnings_of_numpy_are_not_for_users_but_ours_are(run, mine, monkeypatch):
    def warns(*args, **kwargs):
        warnings.warn("overflow encountered in multiply", RuntimeWarning, stacklevel=1)
        warnings.warn("the bounds were not met", ratewise.ConstraintWarning, stacklevel=1)
        raise ValueError("the end")

    monkeypatch.setattr("ratewise.cli.evaluate._count", warns)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("evaluate", "model.skops", "train.csv")
    assert result.stderr == "Warning: the bounds were not met\nError: the end\n"


def test_names_of_columns_and_classes_cannot_steer_a_terminal(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["\x1b[2J", "\x9b31m\u202e"])
    model = MeasureClassifier(sharpen=False, random_state=0)
    model.fit(frame, np.where(frame.iloc[:, 0] > 0, "\x1b]0;title\x07", "no"))
    save_model(model, "m.skops")
    for more in ([], ["--json"]):
        result = run("inspect", "m.skops", *more)
        assert result.exit_code == 0, result.output
        assert not set("\x1b\x07\x9b\u202e") & set(result.stdout)
    assert printable("\x1b[31m ü\n") == "\\x1b[31m ü\n"


def test_convert_writes_what_the_name_says(run, mine):
    result = run("convert", "train.csv", "--in-order", "-o", "rows.parquet")
    assert result.exit_code == 0, result.output
    assert Path("rows.parquet").read_bytes()[:4] == b"PAR1"
    assert np.array_equal(pd.read_parquet("rows.parquet")["age"], pd.read_csv("train.csv")["age"])
    assert sum(window.X.shape[0] for window in open_stream("rows.parquet", target="label").windows()) == 400
