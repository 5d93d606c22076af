"""Finding files, and what they are."""

from __future__ import annotations

import os

import pytest

from ratewise.streams import DataError
from ratewise.streams.formats import format_of
from ratewise.streams.open import find_files


@pytest.fixture
def folder(tmp_path):
    for name in (
        "b.csv",
        "a.csv",
        "deep/c.csv",
        "deep/.hidden.csv",
        "_SUCCESS",
        "notes.md",
        "sales.xlsx",
        "_old/d.csv",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    return tmp_path


def names(found, folder):
    return [os.path.relpath(path, folder) for path in found[0]]


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.parquet", "parquet"),
        ("a.PARQUET", "parquet"),
        ("a.feather", "feather"),
        ("a.arrow", "feather"),
        ("a.csv", "csv"),
        ("a.csv.gz", "csv"),
        ("a.tsv", "csv"),
        ("a.svm", "svmlight"),
        ("a.libsvm.bz2", "svmlight"),
        ("a.txt.gz", "svmlight"),
        ("a.npy", "npy"),
        ("a.npz", "npz"),
        ("a.parquet.gz", None),
        ("a.xlsx", None),
        ("a", None),
    ],
)
def test_a_name_tells_the_format(name, format):
    assert format_of(name) == format


def test_a_folder_stands_for_its_files_in_order_and_those_of_folders_in_it(folder):
    assert names(find_files(folder, None), folder) == ["a.csv", "b.csv", "deep/c.csv"]


def test_a_glob_and_a_list_stand_for_their_files(folder):
    assert names(find_files(str(folder / "*.csv"), None), folder) == ["a.csv", "b.csv"]
    assert names(find_files(str(folder / "**" / "*.csv"), None), folder)[-1] == "deep/c.csv"
    assert names(find_files([folder / "b.csv", folder / "deep"], None), folder) == ["b.csv", "deep/c.csv"]


def test_a_format_that_is_given_goes_before_the_name(folder):
    assert find_files(folder / "notes.md", "csv") == ([str(folder / "notes.md")], "csv")


@pytest.mark.parametrize(
    ("source", "format", "error", "message"),
    [
        ("none.csv", None, FileNotFoundError, "There is no file .*none.csv"),
        ("*.parquet", None, FileNotFoundError, "There is no file"),
        ("notes.md", None, DataError, r"notes.md: its name does not show its format.*format="),
        ("a.csv", "excel", ValueError, "format must be one of parquet"),
        ("sales.xlsx", None, DataError, "sales.xlsx: spreadsheets are not read. Save it as CSV first"),
    ],
)
def test_what_cannot_be_found_is_said(folder, source, format, error, message):
    with pytest.raises(error, match=message):
        find_files(str(folder / source), format)


def test_a_folder_of_different_formats_or_of_nothing_is_refused(folder, tmp_path):
    (folder / "d.npy").write_bytes(b"")
    with pytest.raises(DataError, match=r"different formats \(csv, npy\) cannot be read together"):
        find_files(folder, None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no files in this folder"):
        find_files(tmp_path / "empty", None)
