"""Parquet files: what stands at their end is read once, not with every row group."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from ratewise.streams import DataError, open_stream
from ratewise.streams.formats import arrow_files


@pytest.fixture
def ends_read(monkeypatch):
    """How often a file was opened without the end of it given."""
    found = []
    opened = pq.ParquetFile

    def noting(path, metadata=None, **options):
        if metadata is None:
            found.append(path)
        return opened(path, metadata=metadata, **options)

    monkeypatch.setattr(pq, "ParquetFile", noting)
    return found


@pytest.fixture
def path(tmp_path):
    columns = {"x": np.arange(3000, dtype=np.float32), "y": np.arange(3000) % 2}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=100)
    return tmp_path / "rows.parquet"


def all_rows(path):
    stream = open_stream(path, target="y", window_rows=700)
    return np.concatenate([window.X[:, 0] for window in stream.windows(np.random.default_rng(0))])


def test_the_end_of_a_file_is_read_once_and_not_with_every_row_group(path, ends_read):
    assert sorted(all_rows(path)) == list(range(3000))
    assert len(ends_read) <= 2  # when the stream is opened, and when it is read


def test_a_file_whose_end_is_too_large_to_be_kept_is_read_all_the_same(path, ends_read, monkeypatch):
    monkeypatch.setattr("ratewise.streams.open._MOST_BYTES_KEPT", 10)
    assert sorted(all_rows(path)) == list(range(3000))
    assert len(ends_read) > 2


def test_the_end_of_a_file_is_let_go_when_nobody_has_it_open(path, monkeypatch):
    monkeypatch.setattr("ratewise.streams.open._MOST_BYTES_KEPT", 10)
    stream = open_stream(path, target="y", window_rows=700)
    windows = stream.windows(np.random.default_rng(0))
    next(windows)
    windows.close()
    del windows
    assert stream._readers[0]._metadata is None
    list(stream.windows())
    assert stream._readers[0]._metadata is None


def test_texts_that_hardly_recur_are_not_read_as_a_dictionary_and_become_the_same_rows(tmp_path):
    rng = np.random.default_rng(0)
    seconds = rng.integers(0, 10**8, 1 << 16).astype("M8[s]").astype(str)
    columns = {"when": np.char.replace(seconds, "T", " "), "colour": rng.choice(["red", "blue"], 1 << 16)}
    table = pa.table(columns | {"label": rng.integers(0, 2, 1 << 16)})
    pq.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, tmp_path / "a.feather")
    parquet, arrow = (open_stream(tmp_path / name, target="label") for name in ("a.parquet", "a.feather"))
    (reader,) = parquet._readers
    batch = next(reader.read(0, 1000)).features
    assert [pa.types.is_dictionary(batch[name].type) for name in ("when", "colour")] == [False, True]
    for mine, other in zip(parquet.windows(), arrow.windows(), strict=True):
        assert np.array_equal(mine.X, other.X)
    assert str(parquet.encoder) == str(arrow.encoder)


def write_with_a_bad_dictionary(path, opener):
    """Write a column whose code 3 stands for none of its two values, as a damaged file has it."""
    codes = pa.array([0, 1, 3, 0] * 20, pa.int32())
    column = pa.DictionaryArray.from_arrays(codes, ["red", "green"], safe=False)
    batch = pa.record_batch([column, pa.array([0, 1] * 40)], ["colour", "label"])
    with opener(str(path), batch.schema) as writer:
        writer.write_batch(batch)


def write_with_bad_offsets(path, opener):
    offsets = pa.py_buffer(np.array([0, 3, 2**30, 9, *range(10, 87)], np.int32).tobytes())
    column = pa.StringArray.from_buffers(80, offsets, pa.py_buffer(b"x" * 100))
    batch = pa.record_batch([column, pa.array([0, 1] * 40)], ["colour", "label"])
    with opener(str(path), batch.schema) as writer:
        writer.write_batch(batch)


@pytest.mark.parametrize("write", [write_with_a_bad_dictionary, write_with_bad_offsets])
@pytest.mark.parametrize("opener", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrays_that_point_outside_are_refused(tmp_path, write, opener):
    write(tmp_path / "a.arrow", opener)
    with pytest.raises(DataError, match=r"a\.arrow.*not a whole Arrow file"):
        open_stream(tmp_path / "a.arrow", target="label").survey()


def test_a_record_batch_is_not_unpacked_beyond_the_limit(tmp_path, monkeypatch):
    table = pa.table({"a": np.zeros(100_000), "label": np.arange(100_000) % 2})
    feather.write_feather(table, tmp_path / "a.feather", compression="lz4", chunksize=100_000)
    monkeypatch.setattr(arrow_files, "LARGEST_UNPACKED", 1_000_000)
    with pytest.raises(DataError, match=r"0\.0 GB would have to be unpacked at once.*write_feather"):
        open_stream(tmp_path / "a.feather", target="label")
    feather.write_feather(table, tmp_path / "b.feather", compression="lz4", chunksize=10_000)
    assert open_stream(tmp_path / "b.feather", target="label").n_rows == 100_000


@pytest.mark.parametrize("compression", ["lz4", "uncompressed"])
@pytest.mark.parametrize("names", [["empty", "text"], ["text", "a"], ["a", "flag"], ["noise"]])
def test_compression_is_seen_whatever_the_columns_hold(tmp_path, compression, names):
    columns = {"empty": pa.nulls(1000), "text": ["abc"] * 1000, "a": np.ones(1000), "flag": [False, True] * 500}
    columns["noise"] = np.random.default_rng(0).normal(size=1000)
    table = pa.table({name: columns[name] for name in names})
    feather.write_feather(table, tmp_path / "a.feather", compression=compression)
    (reader,) = open_stream(tmp_path / "a.feather")._readers
    assert reader._compressed == (compression == "lz4")


def test_long_texts_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "long.parquet"
    long = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 1000), pa.array(["a" * 2_000_000, "b"]))
    pq.write_table(pa.table({"x": np.arange(2000.0), "t": long}), path, store_schema=False)
    before = pa.total_allocated_bytes()
    with pytest.raises(DataError, match="column 't': a label of 2,000,000 characters"):
        open_stream(path, target="t").survey()
    with pytest.raises(DataError, match="column 't': its texts are so long that they cannot be written out"):
        list(open_stream(path, target="x").raw_windows())
    pq.write_table(pa.table({"t": [f"{i}" + "a" * 200_000 for i in range(100)]}), path)
    with pytest.raises(DataError, match="column 't': it holds long text"):
        open_stream(path)
    assert pa.total_allocated_bytes() < before + (1 << 26)
