"""Parquet files: what stands at their end is read once, not with every row group."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratewise.streams import open_stream


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
