"""Windows over files and batches, whatever the format."""

from __future__ import annotations

import os
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ratewise.streams import DataError, formats, open_stream
from ratewise.streams.formats import numpy_files


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Files of a few hundred rows have several pieces."""
    monkeypatch.setattr(formats, "PIECE_BYTES", 500)
    monkeypatch.setattr(numpy_files, "_PIECE_BYTES", 400)
    monkeypatch.setattr(numpy_files, "_FEWEST_PIECE_ROWS", 16)


def dense(window):
    return window.X.toarray() if sparse.issparse(window.X) else window.X


def numbers_of(windows):
    return [dense(window)[:, 0].astype(int).tolist() for window in windows]


def seeded(stream, seed, skip=0):
    return list(stream.windows(np.random.default_rng(seed), skip))


def test_every_format_gives_the_rows_as_they_were_written(any_format, numbered):
    X, y = numbered(333)
    windows = list(open_stream(**any_format(333), window_rows=100).windows())
    assert [window.X.shape for window in windows] == [(100, 3)] * 3 + [(33, 3)]
    assert np.array_equal(np.vstack([dense(window) for window in windows]), X)
    assert np.array_equal(np.concatenate([window.labels for window in windows]), y)
    assert all(window.weights is None for window in windows)


def test_rows_are_c_contiguous_float32_or_csr_of_float32(any_format):
    stream = open_stream(**any_format(120), window_rows=50)
    for window in stream.windows(np.random.default_rng(0)):
        assert window.X.dtype == np.float32
        assert stream.sparse == sparse.issparse(window.X)
        assert stream.sparse or window.X.flags.c_contiguous


def test_a_shuffled_pass_reads_every_row_once_and_keeps_labels_with_rows(any_format, numbered):
    y = numbered(333)[1]
    windows = seeded(open_stream(**any_format(333), window_rows=100), 0)
    numbers = np.concatenate(numbers_of(windows))
    assert np.array_equal(np.sort(numbers), np.arange(1, 334))
    assert np.array_equal(np.concatenate([window.labels for window in windows]), y[numbers - 1])


def test_the_same_seed_gives_the_same_windows_and_another_seed_others(any_format):
    arguments = any_format(600)
    stream = open_stream(**arguments, window_rows=128)
    first, second = numbers_of(seeded(stream, 1)), numbers_of(seeded(stream, 1))
    assert first == second == numbers_of(seeded(open_stream(**arguments, window_rows=128), 1))
    one_piece = arguments["source"].endswith((".gz", ".bz2", "arrows", "packed.npz"))
    assert (numbers_of(seeded(stream, 2)) == first) == one_piece


def test_skipping_leaves_out_the_first_windows_and_changes_nothing_else(any_format):
    arguments = any_format(700)
    for seed in (None, 3):
        whole = open_stream(**arguments, window_rows=90)
        rng = None if seed is None else np.random.default_rng(seed)
        expected = numbers_of(whole.windows(rng))
        for survey_first in (False, True):
            stream = open_stream(**arguments, window_rows=90)
            if survey_first:
                stream.survey()
            for skip in (1, 5, 7, 8, 50):
                rng = None if seed is None else np.random.default_rng(seed)
                assert numbers_of(stream.windows(rng, skip)) == expected[skip:]


def test_rows_of_far_places_meet_in_one_window(tmp_path, numbered):
    X, y = numbered(4000)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    stream = open_stream(tmp_path / "X.npy", target=str(tmp_path / "y.npy"), window_rows=1000)
    for numbers in numbers_of(seeded(stream, 0)):
        assert np.ptp(numbers) > 2000
        assert np.unique(np.array(numbers) // 500).size >= 5


def test_the_number_of_rows_is_known_where_the_format_tells_and_after_a_survey(any_format):
    arguments = any_format(150)
    stream = open_stream(**arguments)
    told = arguments["source"].endswith(("parquet", "feather", "npy", "npz"))
    assert stream.n_rows == (150 if told else None)
    assert stream.survey().rows == stream.n_rows == 150


def test_a_survey_counts_rows_and_labels(any_format):
    survey = open_stream(**any_format(300)).survey()
    assert survey.rows == 300
    assert survey.label_counts == {0: 200, 1: 100}
    assert survey.missing == {}
    assert survey.hashed == {}
    assert survey.sorted_by_label is False


def test_progress_is_told_of_a_survey(any_format):
    told = []
    open_stream(**any_format(300)).survey(told.append)
    assert told[-1]["stage"] == "survey"
    assert told[-1]["done_rows"] == 300
    assert told[-1]["total_rows"] in (None, 300)


def test_a_window_says_where_its_rows_come_from(any_format):
    arguments = any_format(120)
    stream = open_stream(**arguments, window_rows=100)
    stream.survey()
    first, second = stream.windows()
    assert first.where == f"{arguments['source']}, rows 1 to 100"
    assert second.where == f"{arguments['source']}, rows 101 to 120"


def test_a_shuffled_window_names_a_few_of_its_places(tmp_path, numbered):
    X, y = numbered(1000)
    np.save(tmp_path / "a.npy", np.column_stack([X, y]))
    where = seeded(open_stream(tmp_path / "a.npy", target=3, window_rows=500), 0)[0].where
    assert where.count("a.npy, rows") == 3
    assert "more places" in where


def test_default_windows_hold_32_megabytes_within_bounds():
    def rows_for(features):
        return open_stream([(np.zeros((4, features), dtype=np.float32), np.arange(4) % 2)]).window_rows

    assert rows_for(2) == 1 << 18
    assert rows_for(1024) == 8192
    assert rows_for(40_000) == 1024


@pytest.mark.parametrize("rows", [0, -3])
def test_windows_of_no_rows_are_refused(rows):
    with pytest.raises(ValueError, match="window_rows must be at least 1"):
        open_stream([(np.eye(2), [0, 1])], window_rows=rows)


def test_sparse_windows_are_cut_by_their_entries_too(monkeypatch, tmp_path, numbered):
    monkeypatch.setattr("ratewise.streams.shuffle.WINDOW_BYTES", 8 * 90)
    X, y = numbered(200)
    rows = sparse.csr_array(X)
    np.savez(tmp_path / "a.npz", data=rows.data, indices=rows.indices, indptr=rows.indptr, shape=X.shape, y=y)
    stream = open_stream(tmp_path / "a.npz")
    windows = list(stream.windows())
    assert len(windows) > 3
    assert np.array_equal(np.vstack([dense(window) for window in windows]), X)
    assert numbers_of(stream.windows(skip=2)) == numbers_of(windows)[2:]


def test_passes_follow_one_another_with_none_at_the_end_of_each(any_format):
    stream = open_stream(**any_format(333), window_rows=100)
    with stream.passes([(None, 1), (np.random.default_rng(3), 0)]) as found:
        windows = list(found)
    assert [window is None for window in windows] == [False] * 3 + [True] + [False] * 4 + [True]
    assert numbers_of(windows[:3]) == numbers_of(stream.windows())[1:]
    assert numbers_of(windows[4:-1]) == numbers_of(seeded(stream, 3))


def test_the_next_pass_is_begun_before_the_last_is_used_up(any_format):
    begun = []

    def orders():
        for number in range(3):
            begun.append(number)
            yield None, 0

    stream = open_stream(**any_format(40), window_rows=100)
    stream.survey()
    with stream.passes(orders()) as windows:
        next(windows)
        limit = time.monotonic() + 10.0
        while len(begun) < 2 and time.monotonic() < limit:
            time.sleep(0.002)
        assert begun == [0, 1]


def test_a_small_window_holds_no_memory_of_a_large_one(any_format):
    (window,) = open_stream(**any_format(10), window_rows=100).windows()
    if not sparse.issparse(window.X):
        held = window.X
        while held.base is not None:
            held = held.base
        assert held.shape[0] < 100


@pytest.mark.parametrize("change", ["touched", "shortened"])
def test_a_file_that_changes_after_the_survey_is_refused(tmp_path, change):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "1.5,0\n2.5,1\n" * 50)
    stream = open_stream(path, target="y")
    stream.survey()
    if change == "touched":
        os.utime(path, ns=(1, 1))
    else:
        path.write_text("x,y\n1.5,0\n")
    with pytest.raises(DataError, match=r"rows.csv: the file has changed while it was read"):
        list(stream.windows())


@pytest.mark.parametrize("name", ["rows.npy", "rows.feather"])
def test_a_mapped_file_that_is_shortened_ends_in_a_sentence_and_no_signal(tmp_path, name):
    path = tmp_path / name
    X = np.arange(300_000.0).reshape(-1, 3)
    if name.endswith("npy"):
        np.save(path, X)
    else:
        pd.DataFrame(X, columns=["a", "b", "c"]).to_feather(path, compression="uncompressed", chunksize=1000)
    stream = open_stream(path)
    os.truncate(path, 1000)
    with pytest.raises(DataError, match=f"{name}: the file was shortened while it was read"):
        list(stream.windows())
