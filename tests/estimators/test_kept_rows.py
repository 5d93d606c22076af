"""Rows of files that are decoded once: the same model as of files that are read anew in every pass."""

from __future__ import annotations

import gzip
import resource

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from sklearn.datasets import dump_svmlight_file

from ratewise import MeasureClassifier, open_stream
from ratewise.streams.kept import free_memory
from ratewise.training import config

ENOUGH = 1 << 30


@pytest.fixture(autouse=True)
def windows_only(monkeypatch):
    """As if no stream were so small that it is better read into memory."""
    monkeypatch.setattr(config, "IN_MEMORY_BYTES", 0)


def table(n=3_000, seed=0):
    """Return rows with numbers that miss some, texts, dates, labels and weights."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 3)).astype(np.float32)
    colours = rng.choice(["red", "green", "blue", "grey"], size=n)
    days = np.datetime64("2024-01-01") + rng.integers(0, 900, size=n)
    scores = numbers[:, 0] + (colours == "red") + rng.normal(size=n)
    gappy = np.where(rng.random(n) < 0.05, np.nan, numbers[:, 1])
    return pa.table(
        {
            "a": numbers[:, 0],
            "b": pa.array(gappy, from_pandas=True),
            "colour": colours,
            "day": days,
            "label": np.where(scores > 1.2, "yes", "no"),
            "w": rng.integers(1, 4, size=n).astype(float),
        }
    )


def wide(n=2_000, values=400):
    """Return rows of which the texts become so many columns that windows are sparse."""
    rng = np.random.default_rng(1)
    names = np.array([f"v{k}" for k in range(values)])
    chosen = rng.integers(0, values, size=n)
    columns = {f"t{k}": names[(chosen * (k + 3)) % values] for k in range(3)}
    return pa.table(columns | {"a": rng.normal(size=n), "label": (chosen % 7 == 0).astype(int)})


def write(path, kind):
    rows = table()
    if kind == "parquet":
        parquet.write_table(rows, path, row_group_size=700)
    elif kind == "wide":
        parquet.write_table(wide(), path, row_group_size=700)
    elif kind == "feather":
        feather.write_feather(rows, path, compression="lz4", chunksize=900)
    elif kind == "csv":
        csv.write_csv(rows, path)
    elif kind == "csv.gz":
        csv.write_csv(rows, path)
        path.write_bytes(gzip.compress(path.read_bytes()))
    else:
        X = np.random.default_rng(0).normal(size=(3_000, 6))
        dump_svmlight_file(X * (X > 0.2), (X[:, 0] > 1.0).astype(int), str(path))


def fitted(path, kind, **how):
    target = {} if kind == "svmlight" else {"target": "label"}
    weight = {} if kind in ("svmlight", "wide") else {"weight": "w"}
    endings = {"csv.gz": "csv", "wide": "parquet"}
    stream = open_stream(path, **target, **weight, format=endings.get(kind, kind), window_rows=1_000)
    return MeasureClassifier("f1", random_state=0).fit_stream(stream, **how)


def test_kept_rows_of_three_classes_give_the_same_model_bit_for_bit(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 3))
    names = np.array(["a", "b", "c"])[np.argmax(X + rng.normal(size=X.shape), axis=1)]
    path = tmp_path / "rows.parquet"
    parquet.write_table(
        pa.table({f"x{k}": X[:, k] for k in range(3)} | {"label": names}), path, row_group_size=900
    )
    expected, kept = (
        MeasureClassifier("f1", random_state=0).fit_stream(
            open_stream(path, target="label", window_rows=1_000), max_memory=room
        )
        for room in (0, ENOUGH)
    )
    assert kept.coef_.tobytes() == expected.coef_.tobytes()
    assert kept.classes_.tolist() == ["a", "b", "c"]


def same_bits(first, second):
    return (
        first.coef_.tobytes() == second.coef_.tobytes()
        and first.intercept_.tobytes() == second.intercept_.tobytes()
        and np.array_equal(first.history_["value"], second.history_["value"], equal_nan=True)
    )


@pytest.mark.parametrize("kind", ["parquet", "wide", "feather", "csv", "csv.gz", "svmlight"])
def test_kept_rows_give_the_same_model_bit_for_bit(kind, tmp_path):
    path = tmp_path / f"rows.{kind}"
    write(path, kind)
    expected = fitted(path, kind, max_memory=0)
    for room in (100_000, ENOUGH):  # some, but not all, ways to keep them fit; all of them
        assert same_bits(fitted(path, kind, max_memory=room), expected)
        assert same_bits(fitted(path, kind, max_memory=room, disk_cache=tmp_path), expected)
    assert same_bits(fitted(path, kind, max_memory=0, disk_cache=tmp_path), expected)


@pytest.fixture
def decoded(monkeypatch):
    """The row groups of Parquet files that were decoded."""
    found = []
    original = parquet.ParquetFile.iter_batches

    def counted(self, *arguments, **how):
        found.append(*how["row_groups"])
        return original(self, *arguments, **how)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", counted)
    return found


def test_a_file_whose_rows_fit_is_decoded_once(tmp_path, decoded):
    path = tmp_path / "rows.parquet"
    write(path, "parquet")
    fitted(path, "parquet", max_memory=ENOUGH)
    assert sorted(decoded) == [0, 1, 2, 3, 4]


def test_a_file_larger_than_memory_is_decoded_for_the_survey_and_for_the_folder_of_the_checkpoint(
    tmp_path, decoded
):
    path = tmp_path / "rows.parquet"
    write(path, "parquet")
    kept = tmp_path / "kept"
    kept.mkdir()
    fitted(path, "parquet", max_memory=0, checkpoint=kept / "checkpoint")
    assert sorted(decoded) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert {one.name for one in kept.iterdir()} <= {"checkpoint", "checkpoint.before"}


def test_without_a_disk_cache_the_files_are_read_in_every_pass(tmp_path, decoded):
    path = tmp_path / "rows.parquet"
    write(path, "parquet")
    fitted(path, "parquet", max_memory=0, checkpoint=tmp_path / "kept", disk_cache=False)
    assert len(decoded) > 4 * 5


def test_on_a_full_disk_the_files_are_read_in_every_pass(tmp_path):
    path = tmp_path / "rows.parquet"
    write(path, "parquet")
    expected = fitted(path, "parquet", max_memory=0)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.warns(RuntimeWarning, match="not kept in .*, and the files are read in every pass: File too"):
            model = fitted(path, "parquet", max_memory=0, disk_cache=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert same_bits(model, expected)
    assert [one.name for one in tmp_path.iterdir()] == ["rows.parquet"]


def test_a_wrong_place_for_rows_is_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    write(path, "parquet")
    with pytest.raises(FileNotFoundError, match="There is no folder nowhere to keep rows in"):
        fitted(path, "parquet", disk_cache="nowhere")
    with pytest.raises(ValueError, match="disk_cache must be 'auto', a folder or False; got True"):
        fitted(path, "parquet", disk_cache=True)


def test_a_fit_goes_on_from_a_checkpoint_whatever_is_kept(tmp_path):
    path, kept = tmp_path / "rows.parquet", tmp_path / "kept"
    write(path, "parquet")
    expected = fitted(path, "parquet")

    def stop(report):
        if report["stage"].startswith("learning, pass 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(path, "parquet", checkpoint=kept, checkpoint_every=2_000, progress=stop, max_memory=ENOUGH)
    assert same_bits(fitted(path, "parquet", checkpoint=kept, max_memory=0), expected)


@pytest.mark.parametrize("kind", ["parquet", "wide"])
def test_a_fit_that_keeps_rows_on_disk_goes_on_from_a_checkpoint(kind, tmp_path):
    path, kept = tmp_path / "rows.parquet", tmp_path / "kept"
    write(path, kind)
    expected = fitted(path, kind)

    def stop(report):
        if report["stage"].startswith("learning, pass 2"):
            raise KeyboardInterrupt

    how = {"checkpoint": kept, "checkpoint_every": 700, "max_memory": 0}
    with pytest.raises(KeyboardInterrupt):
        fitted(path, kind, progress=stop, **how)
    assert same_bits(fitted(path, kind, **how), expected)


def test_a_file_that_changes_while_its_rows_are_kept_is_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    write(path, "parquet")

    def change(report):
        if report["stage"].startswith("statistics"):
            with open(path, "ab") as file:
                file.write(b"more")

    with pytest.raises(ValueError, match="the file has changed while it was read"):
        fitted(path, "parquet", max_memory=ENOUGH, progress=change)


@pytest.mark.parametrize("asked", [-1, 2.5, "much", True, None])
def test_a_wrong_size_of_memory_is_refused(asked, tmp_path):
    path = tmp_path / "rows.parquet"
    write(path, "parquet")
    with pytest.raises(ValueError, match="max_memory must be 'auto' or a number of bytes"):
        fitted(path, "parquet", max_memory=asked)


def test_free_memory_is_a_number_of_bytes():
    assert free_memory() > 1 << 20
