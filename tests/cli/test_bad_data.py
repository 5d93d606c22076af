"""Bad data: one sentence with the file and the row, exit code 1, no model left behind, never a traceback."""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from error_messages import one_sentence

from ratewise import MeasureClassifier, save_model
from ratewise.measures import Measure


def csv(*lines):
    return "".join(f"{line}\n" for line in ("age,height,label", *lines)).encode()


GOOD = [f"{i},{i % 7},{i % 2}" for i in range(40)]


def parquet_cut_short(folder):
    pd.DataFrame({"age": np.arange(1000.0), "label": np.arange(1000) % 2}).to_parquet(folder / "rows.parquet")
    whole = (folder / "rows.parquet").read_bytes()
    (folder / "rows.parquet").write_bytes(whole[: len(whole) // 2])
    return folder / "rows.parquet"


def file_of(name, content):
    def make(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return make


def folder_of_two(folder):
    (folder / "rows").mkdir()
    (folder / "rows" / "a.csv").write_bytes(csv(*GOOD))
    (folder / "rows" / "b.csv").write_bytes(b"age,weight,label\n1,2,0\n3,4,1\n")
    return folder / "rows"


# How to make the data, and what the sentence must hold.
BAD_DATA = {
    "truncated Parquet": (parquet_cut_short, ["rows.parquet"]),
    "ragged CSV": (file_of("rows.csv", csv(*GOOD, "1,2", *GOOD)), ["rows.csv", "42"]),
    "svmlight bad index": (
        file_of("rows.svm", b"+1 1:0.5\n-1 2:1\n+1 0x:3\n"),
        ["rows.svm", "3"],
    ),
    "different columns": (folder_of_two, ["b.csv", "height"]),
    "missing target column": (file_of("rows.csv", b"age,height\n1,2\n3,4\n"), ["rows.csv", "label"]),
    "missing target value": (file_of("rows.csv", csv(*GOOD, "1,2,", *GOOD)), ["rows.csv", "row 41", "label"]),
    "constant target": (file_of("rows.csv", csv("1,2,1", "2,3,1")), ["rows.csv", "label"]),
    "three-valued target": (file_of("rows.csv", csv(*GOOD, "1,2,7")), ["rows.csv", "7"]),
    "empty file": (file_of("rows.csv", b""), ["rows.csv"]),
    "only a header": (file_of("rows.csv", csv()), ["rows.csv"]),
    "no such file": (lambda folder: folder / "nowhere.csv", ["nowhere.csv"]),
}


@pytest.mark.parametrize("what", BAD_DATA)
def test_fit_refuses(run, tmp_path, what):
    make, words = BAD_DATA[what]
    source = make(tmp_path)
    before = sorted(os.listdir(tmp_path))
    target = [] if source.suffix == ".svm" else ["--target", "label"]
    message = one_sentence(run("fit", source, *target, "-o", tmp_path / "model.skops"))
    for word in words:
        assert word in message
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("command", ["evaluate", "predict", "convert"])
@pytest.mark.parametrize(
    "what", ["truncated Parquet", "ragged CSV", "empty file", "no such file", "different columns"]
)
def test_other_commands_refuse_what_cannot_be_read(run, files, tmp_path, command, what):
    source = BAD_DATA[what][0](tmp_path)
    before = sorted(os.listdir(tmp_path))
    model = [] if command == "convert" else [files / "model.skops"]
    output = [] if command == "evaluate" else ["-o", tmp_path / "out.feather"]
    one_sentence(run(command, *model, source, *output))
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_data_that_lack_a_column_of_the_model_are_refused_by_name(run, files, rows_to_test, tmp_path, command):
    rows_to_test.drop(columns="height").to_csv(tmp_path / "rows.csv", index=False)
    message = one_sentence(run(command, files / "model.skops", tmp_path / "rows.csv"))
    assert "rows.csv" in message
    assert "height" in message


def test_a_label_that_the_model_does_not_know_is_refused(run, files, rows_to_test, tmp_path):
    rows_to_test.assign(label=rows_to_test["label"] + 5).to_csv(tmp_path / "rows.csv", index=False)
    message = one_sentence(run("evaluate", files / "model.skops", tmp_path / "rows.csv"))
    assert "rows.csv" in message
    assert "unknown to the model" in message


def test_evaluating_on_one_class_only_is_refused(run, files, rows_to_test, tmp_path):
    rows_to_test.assign(label=0).to_csv(tmp_path / "rows.csv", index=False)
    message = one_sentence(run("evaluate", files / "model.skops", tmp_path / "rows.csv"))
    assert "no positive row" in message


def test_text_where_the_model_learned_numbers_is_refused(run, files, rows_to_test, tmp_path):
    rows_to_test.assign(age="old").to_csv(tmp_path / "rows.csv", index=False)
    message = one_sentence(run("predict", files / "model.skops", tmp_path / "rows.csv"))
    assert "rows.csv" in message
    assert "age" in message


@pytest.mark.parametrize("command", ["evaluate", "predict", "inspect", "export"])
@pytest.mark.parametrize("content", [b"", b"no model", b"PK\x03\x04"])
def test_a_file_that_is_no_model_is_refused(run, files, tmp_path, command, content):
    (tmp_path / "model.skops").write_bytes(content)
    more = {"inspect": [], "export": [tmp_path / "model.onnx"]}.get(command, [files / "test.csv"])
    message = one_sentence(run(command, tmp_path / "model.skops", *more))
    assert "model.skops is not a model file" in message
    assert os.listdir(tmp_path) == ["model.skops"]


def test_a_model_with_a_measure_of_the_users_own_is_refused_with_advice(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    save_model(MeasureClassifier(OwnMeasure(), random_state=0).fit(X, X[:, 0] > 0), tmp_path / "model.skops")
    assert "OwnMeasure, which ratewise does not trust" in one_sentence(run("inspect", tmp_path / "model.skops"))


@dataclass(frozen=True)
class OwnMeasure(Measure):
    def value(self, tpr, tnr, prevalence=None):
        return tpr * tnr


def no_space(descriptor):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_nothing_behind(run, files, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", no_space)
    for words in (
        ["fit", files / "train.csv", "--target", "label", "-o", tmp_path / "model.skops"],
        ["predict", files / "model.skops", files / "new.csv", "-o", tmp_path / "labels.csv"],
        ["predict", files / "model.skops", files / "new.csv", "-o", tmp_path / "labels.parquet"],
        ["convert", files / "train.csv", "-o", tmp_path / "train.feather"],
        ["export", files / "model.skops", tmp_path / "model.onnx"],
    ):
        message = one_sentence(run(*words))
        assert f"{words[-1]}: No space left on device" in message
        assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_device_is_one_sentence(run, files):
    for words in (
        ["fit", files / "train.csv", "--target", "label", "-o", "/dev/full"],
        ["predict", files / "model.skops", files / "new.csv", "-o", "/dev/full"],
        ["convert", files / "train.csv", "-o", "/dev/full"],
        ["export", files / "model.skops", "/dev/full"],
    ):
        assert "/dev/full: No space left on device" in one_sentence(run(*words))


def test_a_missing_package_gives_the_pip_line(run, files, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    message = one_sentence(run("export", files / "model.skops", tmp_path / "model.onnx"))
    assert 'pip install "ratewise[onnx]"' in message
    assert os.listdir(tmp_path) == []


def labelled(folder, *more):
    """600 rows of "fine" and "fraud", and some more."""
    rows = [f"{number % 40},{number % 7},{'fraud' if number % 40 > 20 else 'fine'}" for number in range(600)]
    (folder / "rows.csv").write_text("\n".join(["age,height,label", *rows, *more, ""]))
    return folder / "rows.csv"


@pytest.mark.filterwarnings("default::ratewise.UnknownRateWarning")
def test_a_label_of_one_row_is_refused_and_of_few_rows_pointed_out(run, tmp_path):
    fit = ["fit", labelled(tmp_path, "1,2,frud"), "--target", "label", "-o", tmp_path / "model.skops"]
    message = one_sentence(run(*fit))
    assert "rows.csv, row 601, column 'label'" in message
    assert "'frud' has 1 row of 601: is it a mistyped 'fraud'?" in message
    labelled(tmp_path, "1,2,frud", "1,2,frud", "1,3,9", "1,3,9")
    result = run(*fit)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "label '9' has 2 rows of 604: is it a mistake?; label 'frud' has 2 rows" in said
    assert "is it a mistyped 'fraud'?" in said
    assert "604 rows, 4 classes" in said
    labelled(tmp_path, *["1,2,fried"] * 12)
    assert "mistyped" not in run(*fit).output
