"""Whole lines of a file, block by block."""

from __future__ import annotations

import gzip
import io
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.streams import DataError
from ratewise.streams.formats import svmlight as svmlight_module
from ratewise.streams.formats.svmlight import LineBlocks


def blocks_of(lines):
    """The text of all blocks, each as long as ``next_block`` said."""
    found = []
    while stop := lines.next_block():
        found.append(bytes(lines.buffer[:stop]))
        lines.lines_before += found[-1].count(b"\n")
    return found


@settings(deadline=None)
@given(content=st.text("ab\n", max_size=60).map(str.encode), size=st.integers(1, 70))
def test_blocks_are_whole_lines_and_together_the_file_with_a_newline_at_its_end(content, size):
    blocks = blocks_of(LineBlocks(io.BytesIO(content), size))
    assert all(block.endswith(b"\n") for block in blocks)
    whole = content if content.endswith(b"\n") or not content else content + b"\n"
    assert b"".join(blocks) == whole


def test_blocks_are_as_large_as_asked_for_but_for_lines_that_do_not_fit():
    lines = LineBlocks(io.BytesIO(b"aaa\n" * 10 + b"b" * 30 + b"\n"), 10)
    assert [len(block) for block in blocks_of(lines)] == [8, 8, 8, 8, 8, 31]


def test_an_endless_line_is_refused(monkeypatch):
    monkeypatch.setattr(svmlight_module, "_LONGEST_LINE", 64)
    lines = LineBlocks(io.BytesIO(b"a\nb\n" + b"c" * 500), 16)
    with pytest.raises(DataError, match="line 3: this line has more than 64 bytes"):
        blocks_of(lines)


def test_places_are_told_by_line_and_token():
    lines = LineBlocks(io.BytesIO(b"one\ntwo three\n" * 3), 14)
    assert lines.next_block() == 14
    lines.lines_before += 2
    lines.next_block()
    assert lines.where(0) == "the open file, line 3"
    assert lines.where(9) == "the open file, line 4"
    assert lines.token(10) == "'three'"


def test_the_size_is_known_of_a_plain_file_only(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"abc\n")
    lines = LineBlocks(path, 10)
    assert lines.size == 4
    lines.close()
    path.write_bytes(gzip.compress(b"abc\n"))
    lines = LineBlocks(path, 10)
    assert lines.size is None
    lines.close()
    assert LineBlocks(io.BytesIO(b"abc\n"), 10).size is None


def test_standard_input_is_called_by_its_name():
    class Input(io.BytesIO):
        name = "<stdin>"

    assert LineBlocks(Input(b"a\n"), 10).name == "standard input"


def test_a_file_that_does_not_wait_for_its_data_is_refused_not_taken_for_ended():
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        with os.fdopen(reading, "rb", buffering=0) as file, pytest.raises(BlockingIOError):
            LineBlocks(file, 10).next_block()
    finally:
        os.close(writing)
