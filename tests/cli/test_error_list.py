"""The list of errors that every command must meet with a sentence, on rows so many that they come in windows.

Exit code 1, the file and the row or the column named, no traceback, nothing left behind. A full disk is met in a
process of its own, which the system lets write so many bytes and no more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from error_messages import one_sentence

resource = pytest.importorskip("resource")

ROWS = 60_000


def table(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)).astype(np.float32)
    columns = {name: X[:, j] for j, name in enumerate(("age", "height", "width"))}
    return pa.table({**columns, "label": (X[:, 0] + rng.normal(size=rows) > 1.0).astype(np.int8)})


def write_csv(path, lines):
    path.write_text("".join(f"{line}\n" for line in ("age,height,label", *lines)))
    return path


def lines(count):
    return [f"{i % 90},{i % 7}.5,{i % 2}" for i in range(count)]


def truncated_parquet(folder):
    """Cut within the rows; what stands at the end of the file, and says what is in it, is whole."""
    pq.write_table(table(), folder / "rows.parquet", row_group_size=10_000, compression="lz4")
    whole = (folder / "rows.parquet").read_bytes()
    middle = pq.ParquetFile(folder / "rows.parquet").metadata.row_group(3).column(0).data_page_offset
    (folder / "rows.parquet").write_bytes(whole[:middle] + bytes(20_000) + whole[middle + 20_000 :])
    return folder / "rows.parquet"


def parquet_without_an_end(folder):
    pq.write_table(table(), folder / "rows.parquet")
    os.truncate(folder / "rows.parquet", 100_000)
    return folder / "rows.parquet"


def ragged_csv(folder):
    return write_csv(folder / "rows.csv", [*lines(ROWS), "1,2", *lines(9)])


def svmlight_bad_index(folder):
    (folder / "rows.svm").write_text("+1 1:0.5 3:1\n-1 2:1\n" * 2000 + "+1 1:2 two:3\n")
    return folder / "rows.svm"


def different_columns(folder):
    (folder / "rows").mkdir()
    write_csv(folder / "rows" / "a.csv", lines(50))
    (folder / "rows" / "b.csv").write_text("age,weight,label\n1,2,0\n3,4,1\n")
    return folder / "rows"


def target_column_missing(folder):
    pq.write_table(table().drop_columns("label"), folder / "rows.parquet")
    return folder / "rows.parquet"


def target_missing_in_a_row(folder):
    return write_csv(folder / "rows.csv", [*lines(ROWS), "1,2,", *lines(9)])


def constant_target(folder):
    return write_csv(folder / "rows.csv", ["1,2,1"] * 60)


def three_valued_target(folder):
    return write_csv(folder / "rows.csv", [*lines(ROWS), "1,2,7", *lines(9)])


def empty_file(folder):
    (folder / "rows.csv").touch()
    return folder / "rows.csv"


# What the sentence must hold: the file, and the row or the column where there is one to name.
ERRORS = {
    truncated_parquet: ["rows.parquet, row 30,001: ", "cut off"],
    parquet_without_an_end: ["rows.parquet: ", "cut off"],
    ragged_csv: ["rows.csv, row 60,001 (line 60,002)"],
    svmlight_bad_index: ["rows.svm, line 4,001", "'two:3'"],
    different_columns: ["b.csv", "'height'"],
    target_column_missing: ["rows.parquet", "'label'"],
    target_missing_in_a_row: ["rows.csv, row 60,001, column 'label'"],
    constant_target: ["rows.csv, column 'label'", "1"],
    three_valued_target: ["rows.csv, row 60,001, column 'label'", "7"],
    empty_file: ["rows.csv: the file is empty"],
}


@pytest.mark.parametrize("make", ERRORS, ids=lambda make: make.__name__)
def test_a_fit_of_bad_data_says_where_and_leaves_nothing_behind(make, run, tmp_path):
    source = make(tmp_path)
    before = sorted(os.listdir(tmp_path))
    target = [] if source.suffix == ".svm" else ["--target", "label"]
    message = one_sentence(run("fit", source, *target, "-o", tmp_path / "model.skops"))
    for words in ERRORS[make]:
        assert words in message
    assert sorted(os.listdir(tmp_path)) == before


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, run):
    folder = tmp_path_factory.mktemp("fitted")
    pq.write_table(table(), folder / "rows.parquet", row_group_size=10_000)
    result = run("fit", folder / "rows.parquet", "--target", "label", "-q", "-o", folder / "model.skops")
    assert (result.exit_code, result.output) == (0, "")
    assert sorted(os.listdir(folder)) == ["model.skops", "rows.parquet"]
    pq.write_table(table(5_000), folder / "few.parquet")
    return folder


@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_a_model_applied_to_data_that_lack_one_of_its_columns(command, run, fitted, tmp_path):
    pq.write_table(table(100).drop_columns("height"), tmp_path / "new.parquet")
    message = one_sentence(run(command, fitted / "model.skops", tmp_path / "new.parquet"))
    assert "new.parquet: there is no column 'height', which the model was trained on" in message
    assert os.listdir(tmp_path) == ["new.parquet"]


class Ended(NamedTuple):
    """A process, as a result of the test runner."""

    exit_code: int
    stdout: str
    stderr: str
    exception: None = None

    @property
    def output(self):
        return self.stdout + self.stderr


def run_with_room_for(largest_file, *words):
    """Run a command in a process of its own, which may write no file larger than so many bytes."""
    ended = subprocess.run(
        [sys.executable, "-m", "ratewise", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file)),
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "output", "room", "full"),
    [
        (
            ["fit", "rows.parquet", "--target", "label", "--checkpoint-every", "20000"],
            "model.skops",
            2_000,
            "model.skops.checkpoint",
        ),
        (["fit", "few.parquet", "--target", "label"], "model.skops", 2_000, "model.skops"),  # without checkpoints
        (["predict", "model.skops", "rows.parquet"], "labels.parquet", 100_000, "labels.parquet"),
        (["convert", "rows.parquet"], "rows.feather", 100_000, "rows.feather"),
    ],
    ids=["a checkpoint", "a model", "labels", "rows"],
)
def test_a_disk_that_is_full_half_way_through(words, output, room, full, fitted, tmp_path):
    named = [fitted / word if "." in word else word for word in words]
    message = one_sentence(run_with_room_for(room, *named, "-o", tmp_path / output))
    # What the system says of a file beyond the limit.
    assert f"Error: {tmp_path / full}: File too large" in message
    assert os.listdir(tmp_path) == []
