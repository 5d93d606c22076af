"""svmlight text, against a slow and obvious reader and against scikit-learn's."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import re
import threading
import tracemalloc
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from ratewise.kernels import svmlight as kernel
from ratewise.streams import DataError, Encoder, open_stream
from ratewise.streams.formats import svmlight as svmlight_module
from ratewise.streams.formats.svmlight import SvmlightReader

quick = settings(deadline=None, max_examples=60)

NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
INDEX = re.compile(rb"\+?\d{1,18}")


def float32(text):
    """A number rounded to float64, then to float32, as scikit-learn does."""
    with np.errstate(over="ignore"):
        return float(np.float32(float(text)))


def plain_reader(content, zero_based):
    """What the compiled parser should do, written to be read.

    Labels, one dict of column -> value a row, and the number of the bad line at which reading stopped, or None.
    """
    labels, rows = [], []
    for number, line in enumerate(content.split(b"\n"), start=1):
        tokens = line.split(b"#")[0].split()
        if not tokens:
            continue
        row = {}
        if not NUMBER.fullmatch(tokens[0]):
            return labels, rows, number
        for token in tokens[1:]:
            if token.startswith(b"qid:"):
                continue
            index, colon, value = token.partition(b":")
            if not (INDEX.fullmatch(index) and colon and NUMBER.fullmatch(value)):
                return labels, rows, number
            column = int(index) - (not zero_based)
            if column < 0 or int(index) > 2**31 - 1 or (row and column <= max(row)):
                return labels, rows, number
            row[column] = float32(value)
        labels.append(float(tokens[0]))
        rows.append(row)
    return labels, rows, None


def plain_rows(content, zero_based=False):
    labels, rows, bad_line = plain_reader(content, zero_based)
    assert bad_line is None
    return labels, rows


def blocks_of(size):
    return mock.patch.object(svmlight_module, "_BLOCK_BYTES", size)


def chunks_of(content, zero_based=None, features=None, block_bytes=1 << 20):
    """All that the reader of a stream gives, block by block, before it is encoded."""
    with blocks_of(block_bytes):
        return list(SvmlightReader("the text", features, zero_based, io.BytesIO(content)).read(0, 1000))


def rows_of(chunks):
    """Labels and rows of some chunks, in the form of the plain reader."""
    labels, rows = [], []
    for chunk in chunks:
        X = chunk.features
        assert X.dtype == np.float32
        labels += chunk.target.tolist()
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            rows.append(dict(zip(X.indices[start:stop].tolist(), X.data[start:stop].tolist(), strict=True)))
    return labels, rows


def encoder_of(zero_based, features=None):
    """An encoder that knows where columns begin to count, and how many there are if a number is given."""
    encoder = Encoder(features or 1, sparse_input=True, elastic=features is None)
    encoder.zero_based = zero_based
    return encoder


@contextmanager
def stdin_stream(content, **options):
    file = content if hasattr(content, "read") else io.BytesIO(content)
    with mock.patch("sys.stdin", SimpleNamespace(buffer=file)):
        yield open_stream("-", format="svmlight", **options)


def read_whole(stream):
    """The matrix and the labels of all windows."""
    windows = list(stream.windows())
    return sparse.vstack([window.X for window in windows]), np.concatenate([w.labels for w in windows])


def read_content(content, **options):
    with stdin_stream(content, **options) as stream:
        return read_whole(stream)


def bits(array):
    return array.view(np.uint64 if array.dtype == np.float64 else np.uint32).tolist()


def assert_same(ours, theirs):
    """Equal bit for bit, but for the width of the indices, which depends on the version of scikit-learn."""
    (X, y), (Z, z) = ours, theirs
    assert X.dtype == Z.dtype == np.float32
    assert X.shape == Z.shape
    assert bits(X.data) == bits(Z.data)
    assert X.indices.tolist() == Z.indices.tolist()
    assert X.indptr.tolist() == Z.indptr.tolist()
    assert bits(y) == bits(z)


def scikit_learn(content, **options):
    return load_svmlight_file(io.BytesIO(content), dtype=np.float32, **options)


def message_about(content, **options):
    with pytest.raises(DataError) as caught:
        chunks_of(content, **options)
    return str(caught.value)


written_floats = st.builds(
    lambda number, form: form % number,
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["%r", "%.16g", "%.17g", "%.18e", "%.6f", "%+.3e", "%.0f", "%.25g"]),
)
written_decimals = st.from_regex(
    r"[+-]?([0-9]{1,22}(\.[0-9]{0,22})?|\.[0-9]{1,22})([eE][+-]?[0-9]{1,3})?", fullmatch=True
)
numbers = st.one_of(
    written_floats,
    written_decimals,
    st.sampled_from(["1", "+1", "-1", "0", "-0.0", "1.0", "inf", "-Infinity", "nan", "-NaN", "1e400", "1e-400"]),
)
blanks = st.sampled_from([" ", "  ", "\t", " \t ", "\r", "\f"])


@st.composite
def good_lines(draw, values, largest=2**31 - 2):
    pieces = [draw(st.sampled_from(["", " "])), draw(values)]
    if draw(st.booleans()):
        pieces += [draw(blanks), f"qid:{draw(st.integers(0, 99))}"]
    for index in sorted(draw(st.sets(st.one_of(st.integers(0, 12), st.integers(0, largest)), max_size=6))):
        pieces += [draw(blanks), f"{index}:{draw(values)}"]
    pieces.append(draw(st.sampled_from(["", "", " ", "\r", "# 3:4", " # x"])))
    return "".join(pieces)


# Put together in any order, these make lines that are good, nearly good and bad.
scraps = [*"0123456789:.+-e #\t\r\n_x\x00\u00e9", *[" ", "\n"] * 5, *["\n1 ", "\n-1 "] * 3]
scraps += [
    "1:2 ",
    "2:.5 ",
    "3:1e3 ",
    "4:nan ",
    "qid:7 ",
    "7:1",
    "0:0",
    "inf",
    "nan",
    "1e5",
    "12345678901234567890",
]
other_lines = st.sampled_from(["", " ", "# comment 1:2", "\t# \u00e9", "\r"])
endings = st.sampled_from(["", "\n", "\n\n"])


def good_files(values, **limits):
    lines = good_lines(values, **limits)
    return st.lists(st.one_of(lines, lines, other_lines), max_size=8).map("\n".join)


# A stream refuses wider rows, and labels that float64 cannot tell apart.
of_a_stream = numbers.filter(lambda text: abs(float(text)) < 2**53 and np.isfinite(float32(text)))


@pytest.mark.slow
@quick
@given(text=good_files(of_a_stream, largest=2**20), ending=endings)
def test_a_stream_is_what_scikit_learn_reads_bit_for_bit(text, ending):
    content = (text + ending).encode()
    theirs = scikit_learn(content)
    assume(theirs[1].size)
    assert_same(read_content(content), theirs)
    assert_same(read_content(content, encoder=encoder_of(True)), scikit_learn(content, zero_based=True))


@quick
@given(text=good_files(numbers), ending=endings)
def test_numbers_that_are_not_finite_are_what_scikit_learn_reads(text, ending):
    content = (text + ending).encode()
    for zero_based in (None, True):
        theirs = scikit_learn(content, zero_based="auto" if zero_based is None else zero_based)
        chunks = chunks_of(content, zero_based)
        assert len(chunks) == (theirs[1].size > 0)
        for chunk in chunks:
            assert_same((chunk.features, chunk.target), theirs)


@quick
@given(text=good_files(numbers), ending=endings, block_bytes=st.integers(1, 200))
def test_where_blocks_are_cut_does_not_matter(text, ending, block_bytes):
    content = (text + ending).encode()
    expected = plain_rows(content, zero_based=True)
    chunks = chunks_of(content, True, block_bytes=block_bytes)
    assert repr(rows_of(chunks)) == repr(expected)  # repr, for nan is not equal to itself


@settings(deadline=None, max_examples=600)
@given(
    content=st.lists(st.sampled_from(scraps), max_size=30).map(lambda parts: "".join(parts).encode()),
    block_bytes=st.integers(1, 70),
    zero_based=st.booleans(),
)
@example(b"1 1:2\n1 5:1 3:1\n", 16, False)
def test_any_text_is_read_or_refused_as_the_plain_reader_does(content, block_bytes, zero_based):
    options = {"zero_based": zero_based, "block_bytes": block_bytes}
    labels, rows, bad_line = plain_reader(content, zero_based)
    if bad_line is None:
        assert repr(rows_of(chunks_of(content, **options))) == repr((labels, rows))
    else:
        assert message_about(content, **options).startswith(f"the text, line {bad_line}: ")


@quick
@given(tokens=st.lists(st.one_of(written_floats, written_decimals), min_size=1, max_size=20))
def test_numbers_are_rounded_as_python_rounds_them(tokens):
    (rows,) = chunks_of("".join(f"{token}\n" for token in tokens).encode())
    assert bits(rows.target) == bits(np.array([float(token) for token in tokens]))


@quick
@given(
    mantissas=st.lists(st.integers(2**52, 2**53 - 1), min_size=1, max_size=20),
    power=st.integers(-1070, 960),
    nudge=st.sampled_from([-1, 0, 1]),
)
def test_numbers_next_to_the_middle_of_two_floats_go_to_the_right_one(mantissas, power, nudge):
    tokens = []
    for mantissa in mantissas:
        top, bottom = (2 * mantissa + 1) << max(power, 0), 1 << max(-power, 0)  # halfway to the next mantissa
        exponent = len(str(top)) - len(str(bottom)) - 18
        scaled = top * 10 ** max(-exponent, 0) // (bottom * 10 ** max(exponent, 0))
        tokens.append(f"{scaled + nudge}e{exponent}")
    (rows,) = chunks_of("".join(f"{token}\n" for token in tokens).encode())
    assert bits(rows.target) == bits(np.array([float(token) for token in tokens]))


@quick
@given(seed=st.integers(0, 1000), zero_based=st.booleans())
def test_what_scikit_learn_writes_is_read_back(seed, zero_based):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((9, 7), density=0.4, rng=rng, data_sampler=rng.normal, format="csr")
    y = rng.choice([-1.0, 1.0, 0.25], size=9)
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=zero_based, comment="two\nlines")
    ours = read_content(file.getvalue(), encoder=encoder_of(zero_based, features=7))
    assert_same(ours, scikit_learn(file.getvalue(), n_features=7, zero_based=zero_based))


def test_files_of_many_blocks_are_read_whole(tmp_path):
    lines = [f"{i % 2} 1:{i} 7:0.5 {8 + i % 50}:1e-3" for i in range(60_000)] + ["1"] * 3000 + ["0 2:2"] * 70_000
    content = "\n".join(lines).encode()
    path = tmp_path / "rows.svm"
    path.write_bytes(content)
    theirs = scikit_learn(content)
    assert_same(read_whole(open_stream(path)), theirs)
    assert_same(read_content(content), theirs)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"])
@pytest.mark.parametrize("name", ["rows.svm", "rows.svm.gz", "rows.svm.bz2"])
def test_the_content_of_a_file_tells_its_compression_whatever_its_name(tmp_path, compress, name):
    content = b"1 1:2.5 3:1\n-1 2:1\n" * 500
    path = tmp_path / name
    path.write_bytes(compress(content))
    theirs = scikit_learn(content)
    for block_bytes in (1000, 1 << 20):
        with blocks_of(block_bytes), path.open("rb") as file:
            assert_same(read_whole(open_stream(path)), theirs)
            assert_same(read_content(file), theirs)
            assert not file.closed


class Pipe(io.RawIOBase):
    """A file that can only be read, a few bytes at a time."""

    def __init__(self, content, most=7):
        self.content, self.most = io.BytesIO(content), most

    def readable(self):
        return True

    def readinto(self, room):
        return self.content.readinto(memoryview(room)[: self.most])


@pytest.mark.parametrize("block_bytes", [5, 100, 1 << 20])
def test_a_pipe_that_gives_few_bytes_at_a_time_is_read_to_its_end(block_bytes):
    content = b"1 1:2.5 3:1\n-1 2:1\n" * 20
    with blocks_of(block_bytes):
        assert_same(read_content(io.BufferedReader(Pipe(content))), scikit_learn(content))


def test_a_file_that_does_not_wait_for_its_data_is_refused_not_taken_for_ended():
    for text in (b"", b"1 1:0.5\n1 1:0.2"):
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.write(writing, text)
        try:
            with os.fdopen(reading, "rb") as file, pytest.raises(BlockingIOError):
                list(SvmlightReader("the text", None, None, file).read(0, 1000))
        finally:
            os.close(writing)


def test_chunks_do_not_change_when_later_ones_are_read():
    chunks = chunks_of(b"".join(b"%d %d:%d\n" % (i, i, i) for i in range(1, 100)), block_bytes=40)
    assert len(chunks) > 10
    for chunk in chunks:
        assert (chunk.features.indices + 1).tolist() == chunk.features.data.tolist() == chunk.target.tolist()


def test_a_stream_is_as_wide_as_its_largest_index_or_as_asked_for():
    content = b"1 2:1\n1 5:1\n1 1:1\n"
    with blocks_of(6):
        assert read_content(content)[0].shape == (3, 5)
        assert read_content(content, features=9)[0].shape == (3, 9)
    assert [chunk.features.shape[1] for chunk in chunks_of(content, features=9, block_bytes=6)] == [9, 9, 9]


def test_a_file_without_rows_gives_no_chunk():
    assert chunks_of(b"") == []
    assert chunks_of(b"# nothing\n\n   ") == []


def test_numbers_too_large_for_float32_become_infinite():
    (chunk,) = chunks_of(b"1 1:1e39 2:-123456789012345678901234567890e20 3:1e400\n")
    assert chunk.features.data.tolist() == [np.inf, -np.inf, np.inf]


# Where counting begins


def test_columns_count_from_one_unless_an_index_zero_comes():
    assert read_content(b"1 1:5\n")[0].toarray().tolist() == [[5.0]]
    assert read_content(b"1 1:5\n1 0:3\n")[0].toarray().tolist() == [[0.0, 5.0], [3.0, 0.0]]


def test_the_first_block_with_rows_decides_where_columns_begin():
    content = b"# 0:1\n" * 9 + b"1 1:5\n1 3:1\n1 0:3\n1 2:4\n"
    for block_bytes in (71, 100):
        assert rows_of(chunks_of(content, block_bytes=block_bytes)) == plain_rows(content, zero_based=True)


def test_an_index_zero_after_columns_counted_from_one_is_refused():
    content = b"1 1:5\n" * 10 + b"1 0:3\n"
    with blocks_of(18), stdin_stream(content) as stream:
        assert stream.encoder.zero_based is False
        with pytest.raises(
            DataError, match=r"line 11: bad index in '0:3'.*count from 1 here.*first lines have no index 0"
        ):
            read_whole(stream)
    chunks = chunks_of(content, True, block_bytes=6)
    assert rows_of(chunks) == plain_rows(content, zero_based=True)


def test_what_is_read_before_a_stream_is_asked_for_rows_is_bounded():
    file = io.BytesIO(b"1 1:5\n" * 1000)
    with blocks_of(600), stdin_stream(file):
        assert 600 <= file.tell() <= 660


@pytest.mark.parametrize("zero_based", [None, True, False])
def test_as_many_columns_as_asked_for_may_be_used_and_no_more(zero_based):
    first = 1 if zero_based is False else 0
    fitting = b"1 %d:1\n1 %d:1\n" % (first, first + 2)
    assert chunks_of(fitting, zero_based, features=3)[0].features.shape == (2, 3)
    for block_bytes in (6, 1 << 20):
        message = message_about(fitting, zero_based=zero_based, features=2, block_bytes=block_bytes)
        assert "bad index" in message
        assert "2 columns" in message


# What is wrong with a file


@pytest.mark.parametrize(
    ("line", "token", "words"),
    [
        ("one 1:2", "one", "label .* is not a number"),
        ("1,2 1:2", "1,2", "label .* is not a number"),
        ("1:2 2:2", "1:2", "label .* is not a number"),
        ("n", "n", "label .* is not a number"),
        ("nay 1:2", "nay", "label .* is not a number"),
        ("1 3:x", "3:x", "value .* is not a number"),
        ("1 3:", "3:", "value .* is not a number"),
        ("1 3: 4", "3:", "value .* is not a number"),
        ("1 3:1:2", "3:1:2", "value .* is not a number"),
        ("1 3:1_000", "3:1_000", "value .* is not a number"),
        ("1 3:0x10", "3:0x10", "value .* is not a number"),
        ("1 3:1e", "3:1e", "value .* is not a number"),
        ("1 3:.", "3:.", "value .* is not a number"),
        ("1 3:naan", "3:naan", "value .* is not a number"),
        ("1 3", "3", "has no colon"),
        ("1 2:1 3 4:1", "3", "has no colon"),
        ("1 a:1", "a:1", "bad index"),
        ("1 1.5:1", "1.5:1", "bad index"),
        ("1 :1", ":1", "bad index"),
        ("1 1qid:1", "1qid:1", "bad index"),
        ("1 -2:1", "-2:1", "bad index .* negative"),
        ("1 0:1", "0:1", "bad index .* count from 1 .* first lines have no index 0"),
        ("1 3:1 2:1", "2:1", "bad index .* rise"),
        ("1 3:1 3:1", "3:1", "bad index .* twice"),
        ("1 2147483648:1", "2147483648:1", "bad index .* 2,147,483,647"),
        ("1 18446744073709551617:1", "18446744073709551617:1", "bad index .* 2,147,483,647"),
        ("1 11:1", "11:1", "bad index .* 10 columns"),
        ("1 \u00e9:1", "\u00e9:1", "bad index"),
        ("1 1:" + "7" * 100 + "x", "1:" + "7" * 38 + "...", "value .* is not a number"),
    ],
)
@pytest.mark.parametrize("block_bytes", [16, 1 << 20])
def test_a_bad_line_is_named_with_its_number_and_token(tmp_path, line, token, words, block_bytes):
    path = tmp_path / "bad.svm"
    path.write_text(f"1 1:2\n# comment\n\n1 1:1 # fine\n{line}\nworse\n", encoding="utf-8")
    features = None if "2147483648" in line or "1844" in line else 10
    with blocks_of(block_bytes), pytest.raises(DataError, match=words) as caught:
        read_whole(open_stream(path, encoder=encoder_of(False, features)))
    assert str(caught.value).startswith(f"{path}, line 5: ")
    assert repr(token) in str(caught.value)


def test_of_two_bad_numbers_the_first_is_named():
    # Python judges the word only after the compiled loop has stopped at the second.
    assert "line 2: the value in '1:nanny'" in message_about(b"1 1:1\n1 1:nanny\n1 x\n")


def test_an_endless_line_is_refused(monkeypatch):
    monkeypatch.setattr(svmlight_module, "_LONGEST_LINE", 64)
    content = b"1\n2\n" + b"3" * 500
    assert "line 3: this line has more than 64 bytes" in message_about(content, block_bytes=16)


def test_the_largest_index_is_read_for_a_model_and_makes_no_width():
    content = b"1 2147483647:1\n"
    with pytest.raises(DataError, match="2,147,483,647 columns, where at most 67,108,864 are possible"):
        read_content(content)
    (rows,) = SvmlightReader("the text", None, True, io.BytesIO(content)).read(0, 1000)
    assert rows.features.shape == (1, 2**31)
    assert rows.features.indices.tolist() == [2**31 - 1]


def test_chunks_before_a_bad_line_can_be_used_and_the_reader_ends_there():
    with blocks_of(11):
        file = io.BytesIO(b"1 1:1\n1 2:1\nbad\n1 1:1\n")
        chunks = SvmlightReader("the text", None, False, file).read(0, 1000)
        assert rows_of([next(chunks)]) == ([1.0, 1.0], [{0: 1.0}, {1: 1.0}])
        with pytest.raises(DataError, match="line 3"):
            next(chunks)
        assert list(chunks) == []


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress], ids=["gzip", "bzip2"])
@pytest.mark.parametrize("block_bytes", [10_000, 1 << 20])
def test_a_damaged_compressed_file_is_refused_by_name(tmp_path, compress, block_bytes):
    content = compress(b"".join(b"%d 1:%d\n" % (i, i * i) for i in range(20_000)))
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(content[:-1000])
    with blocks_of(block_bytes), pytest.raises(DataError, match=r"rows\.svm\.gz, line .*cut short or damaged"):
        read_whole(open_stream(path, features=1))
    changed = bytearray(content)
    changed[len(content) // 2] ^= 0xFF
    path.write_bytes(changed)
    # The line is one of nonsense, or that before the checksum is seen.
    with blocks_of(block_bytes), pytest.raises(DataError, match=r"rows\.svm\.gz, line "):
        read_whole(open_stream(path, features=1))


def test_a_missing_file_is_missed_at_once(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_stream(tmp_path / "none.svm")


def test_an_impossible_number_of_columns_is_refused(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:1\n")
    with pytest.raises(ValueError, match="features must be at least 1, not 0"):
        open_stream(path, features=0)


# Memory and threads


class Repeated(io.RawIOBase):
    """The same lines over and over: a file of any length that is nowhere."""

    def __init__(self, times):
        self.times = times
        self.lines = io.BytesIO(b"".join(b"1 %d:0.5 7777:1.25\n" % i for i in range(1, 1000)))

    def readable(self):
        return True

    def readinto(self, room):
        count = self.lines.readinto(room)
        if count == 0 and self.times > 1:
            self.times -= 1
            self.lines.seek(0)
            count = self.lines.readinto(room)
        return count


def test_memory_does_not_grow_with_the_file():
    def peak(times):
        tracemalloc.start()
        with blocks_of(5000):
            reader = SvmlightReader("the text", None, False, io.BufferedReader(Repeated(times)))
            rows = sum(chunk.size for chunk in reader.read(0, 1000))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert rows == 999 * times
        return most

    peak(1)  # compiles
    # Chunks that wait for the garbage collector may add up to a few percent of the text.
    assert peak(300) - peak(10) < 0.1 * 300 * len(Repeated(1).lines.getvalue())


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_stream_left_half_way_closes_its_file(tmp_path, recwarn, compress):
    path = tmp_path / "rows.svm"
    path.write_bytes(compress(b"1 1:1\n" * 100))
    with blocks_of(6):
        stream = open_stream(path, features=1, window_rows=10)
        next(stream.windows())
        chunks = SvmlightReader(str(path), None, None).read(0, 10)
        next(chunks)
        del stream, chunks
        open_stream(path)  # never read
    assert len(recwarn) == 0


def test_files_can_be_read_in_several_threads_at_once(tmp_path):
    content = [b"".join(b"%d %d:%d.5\n" % (k, k + 1, i) for i in range(5000)) for k in range(4)]
    found = [None] * 4

    def read(k):
        found[k] = rows_of(SvmlightReader("the text", None, False, io.BytesIO(content[k])).read(0, 1000))

    with blocks_of(1000):
        threads = [threading.Thread(target=read, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [plain_rows(text) for text in content]


def test_the_compiled_loop_lets_other_threads_run():
    assert kernel.parse_lines.targetoptions["nogil"]
