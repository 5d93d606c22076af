"""The list of errors of the issue, end to end: a process of its own for every one of them, as a user starts it.

Exit code 1, one sentence that names the file and the row or the column, no traceback, nothing left behind.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

resource = pytest.importorskip("resource")

ROWS = 60_000  # so many that they are learned from window by window, with checkpoints


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


def text_in_a_number_column(folder):
    return write_csv(folder / "rows.csv", [*lines(ROWS), "old,2,1", *lines(9)])


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
    text_in_a_number_column: ["rows.csv, row 60,001", "'age'", "'old'"],
    svmlight_bad_index: ["rows.svm, line 4,001", "'two:3'"],
    different_columns: ["b.csv", "'height'"],
    target_column_missing: ["rows.parquet", "'label'"],
    target_missing_in_a_row: ["rows.csv, row 60,001, column 'label'"],
    constant_target: ["rows.csv, column 'label'", "1"],
    three_valued_target: ["rows.csv, row 60,001, column 'label'", "7"],
    empty_file: ["rows.csv: the file is empty"],
}


def ratewise(*words, largest_file=None):
    """Run the command in a process of its own, which may write no file larger than so many bytes."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    return subprocess.run(
        [sys.executable, "-m", "ratewise", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=None if largest_file is None else limit,
    )


def one_sentence(result):
    assert result.returncode == 1, result.stderr
    assert "Traceback" not in result.stderr
    assert "defect" not in result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    return result.stderr


@pytest.mark.parametrize("make", ERRORS, ids=lambda make: make.__name__)
def test_a_fit_of_bad_data_says_where_and_leaves_nothing_behind(make, tmp_path):
    source = make(tmp_path)
    before = sorted(os.listdir(tmp_path))
    target = [] if source.suffix == ".svm" else ["--target", "label"]
    told = one_sentence(ratewise("fit", source, *target, "-o", tmp_path / "model.skops"))
    for words in ERRORS[make]:
        assert words in told
    assert sorted(os.listdir(tmp_path)) == before


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    pq.write_table(table(), folder / "rows.parquet", row_group_size=10_000)
    result = ratewise("fit", folder / "rows.parquet", "--target", "label", "-q", "-o", folder / "model.skops")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert sorted(os.listdir(folder)) == ["model.skops", "rows.parquet"]
    return folder


@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_a_model_applied_to_data_that_lack_one_of_its_columns(command, fitted, tmp_path):
    pq.write_table(table(100).drop_columns("height"), tmp_path / "new.parquet")
    told = one_sentence(ratewise(command, fitted / "model.skops", tmp_path / "new.parquet"))
    assert "new.parquet: there is no column 'height', which the model was trained on" in told
    assert os.listdir(tmp_path) == ["new.parquet"]


# So many bytes fit: none of the checkpoint; the checkpoint, but not all of what predict and convert write.
@pytest.mark.parametrize(
    ("words", "output", "largest_file"),
    [
        (["fit", "rows.parquet", "--target", "label"], "model.skops", 2_000),
        (["predict", "model.skops", "rows.parquet"], "labels.csv", 100_000),
        (["predict", "model.skops", "rows.parquet"], "labels.parquet", 100_000),
        (["convert", "rows.parquet"], "rows.feather", 100_000),
    ],
    ids=["fit", "predict to CSV", "predict to Parquet", "convert"],
)
def test_a_disk_that_is_full_half_way_through_a_file(words, output, largest_file, fitted, tmp_path):
    named = [fitted / word if "." in word else word for word in words]
    told = one_sentence(ratewise(*named, "-o", tmp_path / output, largest_file=largest_file))
    assert f"{tmp_path / output}" in told
    assert "File too large" in told  # what the system says of a file beyond the limit
    assert os.listdir(tmp_path) == []


def test_a_disk_too_full_for_the_model_alone(fitted, tmp_path):
    pq.write_table(table(5_000), tmp_path / "few.parquet")  # learned from in memory: no checkpoint on the way
    words = ["fit", tmp_path / "few.parquet", "--target", "label", "-o", tmp_path / "model.skops"]
    told = one_sentence(ratewise(*words, largest_file=2_000))
    assert f"{tmp_path / 'model.skops'}: File too large" in told
    assert os.listdir(tmp_path) == ["few.parquet"]
