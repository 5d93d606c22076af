"""`ratewise follow`: rows from a pipe in, predictions out, and a state that outlives the process."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ratewise
from ratewise import MeasureClassifier, load_model, save_model

SOURCE = str(Path(ratewise.__file__).parents[1])


def followed(files, parts, batch=100):
    """The model of `ratewise fit` after partial_fit on frames, as Python has it."""
    model = load_model(files / "model.skops")
    for frame in parts:
        for start in range(0, len(frame), batch):
            some = frame[start : start + batch].dropna(subset="label")
            model.partial_fit(some.drop(columns="label"), some["label"].to_numpy().astype(int))
    return model


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def test_rows_are_predicted_as_by_the_model_and_learned_from(run, files, rows_to_test, tmp_path):
    state = tmp_path / "state.skops"
    rows = rows_to_test.assign(number=range(200))
    result = run("follow", files / "model.skops", "-o", state, "--id", "number", input=rows.to_csv(index=False))
    assert result.exit_code == 0, result.output
    written = rows_of(result.stdout)
    assert [int(row["number"]) for row in written] == list(range(200))
    first, model = rows_to_test[:100].drop(columns="label"), load_model(files / "model.skops")
    assert [int(row["label"]) for row in written[:100]] == model.predict(first).tolist()
    assert [float(row["score"]) for row in written[:100]] == model.decision_function(first).tolist()
    chances = [float(row["probability"]) for row in written[:100]]
    assert chances == pytest.approx(model.predict_proba(first)[:, 1].tolist())
    assert np.array_equal(load_model(state).coef_, followed(files, [rows_to_test]).coef_)
    assert "Rows predicted: 200; learned from: 200" in result.stderr


def test_the_same_command_goes_on_bit_for_bit(run, files, rows_to_test, tmp_path):
    command = ("follow", files / "model.skops", "-q", "-o", tmp_path / "state.skops")
    for part in (rows_to_test[:70], rows_to_test[70:]):
        result = run(*command, input=part.to_csv(index=False))
        assert result.exit_code == 0, result.output
        assert result.stderr == ""
    expected = followed(files, [rows_to_test[:70], rows_to_test[70:]])
    assert np.array_equal(load_model(tmp_path / "state.skops").coef_, expected.coef_)


def test_a_row_without_a_label_is_predicted_and_can_come_again_with_it(run, files, rows_to_test, tmp_path):
    late = pd.concat([rows_to_test[:50].assign(label=np.nan), rows_to_test[:50]])
    result = run("follow", files / "model.skops", "-o", tmp_path / "state", input=late.to_csv(index=False))
    assert "Rows predicted: 100; learned from: 50" in result.stderr
    assert np.array_equal(load_model(tmp_path / "state").coef_, followed(files, [rows_to_test[:50]]).coef_)
    unlabelled = run(
        "follow", files / "model.skops", "-o", tmp_path / "none", input=(files / "new.csv").read_text()
    )
    assert "Rows predicted: 200; learned from: 0." in unlabelled.stderr
    assert not (tmp_path / "none").exists()


def _cut(folder, files):
    state = (folder / "state").read_bytes()
    (folder / "state").write_bytes(state[: len(state) // 2])


def _no_model(folder, files):
    (folder / "state").write_bytes((files / "train.csv").read_bytes())


def _without_a_state(folder, files):
    (folder / "state").write_bytes((files / "model.skops").read_bytes())


def _of_another_model(folder, files):
    other = load_model(files / "model.skops").set_params(measure="gmean")
    table = pd.read_csv(files / "train.csv")
    other.partial_fit(table.drop(columns="label"), table["label"].to_numpy())
    save_model(other, folder / "state", state=True)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_cut, "is not a model file, or is damaged"),
        (_no_model, "is not a model file, or is damaged"),
        (_without_a_state, "is a model without the state of a stream"),
        (_of_another_model, "did not begin from"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_in_a_sentence(run, files, tmp_path, harm, words):
    rows = (files / "test.csv").read_text()
    command = ("follow", files / "model.skops", "-o", tmp_path / "state")
    assert run(*command, input=rows).exit_code == 0
    harm(tmp_path, files)
    result = run(*command, input=rows)
    assert result.exit_code in (1, 2)
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("age,height,noise,colour,label\n1,2,3,red,7\n", "row 1: the label '7' is unknown to the model"),
        ("age,height,noise,colour,label\n1,2,3,red,1\n1,2,3\n", "row 2: 3 values, where the header has 5"),
        ("age,noise,colour,label\n1,2,red,1\n", "there is no column 'height'"),
        ("age,height,noise,colour,label\n1,tall,3,red,1\n", "'tall'"),
        (b"age,height,noise,colour,label\n1,2,3,\xe9,1\n", "this is not UTF-8 text"),
        ('age,height,noise,colour,label\n1,2,3,"red,1\n' + 300_000 * "1,2,3\n", "Is a quote never closed?"),
    ],
)
def test_bad_rows_are_named(run, files, tmp_path, rows, words):
    result = run("follow", files / "model.skops", "-o", tmp_path / "state", input=rows)
    assert result.exit_code == 1
    assert words in result.stderr


def test_what_cannot_be_followed_is_bad_usage(run, files, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    save_model(MeasureClassifier().fit(X, X[:, 0] > 0), tmp_path / "matrix.skops")
    for words, message in (
        ((files / "model.skops", "-o", "-"), "the state needs a file"),
        ((tmp_path / "matrix.skops", "-o", tmp_path / "state"), "knows no columns by name"),
    ):
        result = run("follow", *words, input="")
        assert (result.exit_code, message in result.stderr) == (2, True), result.output


class Piped:
    """A command that reads from a pipe and goes on when the pipe is empty."""

    def __init__(self, files, state, *options):
        words = [sys.executable, "-m", "ratewise", "follow", files / "model.skops", "-q", "-o", state, *options]
        environment = {**os.environ, "PYTHONPATH": SOURCE}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(list(map(str, words)), env=environment, text=True, **pipes)

    def answers(self, frame, *, header=False):
        """Hand over rows, and wait for their predictions."""
        self.process.stdin.write(frame.to_csv(index=False, header=header))
        self.process.stdin.flush()
        return [self.process.stdout.readline() for _ in range(len(frame) + header)]

    def end(self, number):
        self.process.send_signal(number)
        self.process.communicate()
        return self.process.returncode


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_rows_are_answered_while_the_pipe_is_open_and_a_signal_saves_all(files, rows_to_test, tmp_path, number):
    piped = Piped(files, tmp_path / "state")
    answers = piped.answers(rows_to_test[:30], header=True)
    assert answers[0] == "label,score,probability\n"
    assert len(piped.answers(rows_to_test[30:60])) == 30
    time.sleep(1.0)  # until the last rows are learned from
    assert piped.end(number) == (130 if number == signal.SIGINT else 0)
    assert np.array_equal(load_model(tmp_path / "state").coef_, followed(files, [rows_to_test[:60]]).coef_)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_kill_9_loses_at_most_what_came_since_the_state_was_saved(files, rows_to_test, tmp_path):
    piped = Piped(files, tmp_path / "state", "--save-every", "0.3")
    piped.answers(rows_to_test[:60], header=True)
    deadline = time.monotonic() + 30.0
    while not (tmp_path / "state").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    saved = (tmp_path / "state").read_bytes()
    piped.answers(rows_to_test[60:70])
    piped.end(signal.SIGKILL)
    assert (tmp_path / "state").read_bytes() == saved
    again = Piped(files, tmp_path / "state")
    again.answers(rows_to_test[60:], header=True)
    time.sleep(1.0)
    again.end(signal.SIGTERM)
    assert np.array_equal(load_model(tmp_path / "state").coef_, followed(files, [rows_to_test]).coef_)
