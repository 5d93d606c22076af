"""svmlight text, against a slow and obvious reader and against scikit-learn's."""

from __future__ import annotations

import bz2
import gzip
import io
import re
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from ratewise.kernels import svmlight as kernel
from ratewise.streams import DataError
from ratewise.streams.formats import svmlight as svmlight_module
from ratewise.streams.formats.svmlight import load_svmlight, read_svmlight

quick = settings(deadline=None, max_examples=60)
widths = pytest.mark.parametrize("dtype", [np.float32, np.float64])

NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
INDEX = re.compile(rb"\+?\d{1,18}")


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
            row[column] = float(value)
        labels.append(float(tokens[0]))
        rows.append(row)
    return labels, rows, None


def plain_rows(content, zero_based=False):
    labels, rows, bad_line = plain_reader(content, zero_based)
    assert bad_line is None
    return labels, rows


def chunks_of(content, **options):
    return list(read_svmlight(io.BytesIO(content), **options))


def rows_of(chunks):
    """Labels and rows of some chunks, in the form of the plain reader."""
    labels, rows = [], []
    for X, y, _ in chunks:
        labels += y.tolist()
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            rows.append(dict(zip(X.indices[start:stop].tolist(), X.data[start:stop].tolist(), strict=True)))
    return labels, rows


def bits(array):
    return array.view(np.uint64 if array.dtype == np.float64 else np.uint32).tolist()


def assert_same(ours, theirs):
    """Equal bit for bit, but for the width of the indices, which depends on the version of scikit-learn."""
    (X, y), (Z, z) = ours, theirs
    assert X.dtype == Z.dtype
    assert X.shape == Z.shape
    assert bits(X.data) == bits(Z.data)
    assert X.indices.tolist() == Z.indices.tolist()
    assert X.indptr.tolist() == Z.indptr.tolist()
    assert bits(y) == bits(z)


def complaint_about(content, **options):
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
def good_lines(draw):
    pieces = [draw(st.sampled_from(["", " "])), draw(numbers)]
    if draw(st.booleans()):
        pieces += [draw(blanks), f"qid:{draw(st.integers(0, 99))}"]
    for index in sorted(draw(st.sets(st.one_of(st.integers(0, 12), st.integers(0, 2**31 - 2)), max_size=6))):
        pieces += [draw(blanks), f"{index}:{draw(numbers)}"]
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
good_files = st.lists(st.one_of(good_lines(), good_lines(), other_lines), max_size=8).map("\n".join)
endings = st.sampled_from(["", "\n", "\n\n"])


@widths
@quick
@given(text=good_files, ending=endings)
def test_a_whole_file_is_what_scikit_learn_reads_bit_for_bit(dtype, text, ending):
    content = (text + ending).encode()
    for zero_based in ("auto", True):
        theirs = load_svmlight_file(io.BytesIO(content), dtype=dtype, zero_based=zero_based)
        assert_same(load_svmlight(io.BytesIO(content), dtype=dtype, zero_based=zero_based), theirs)


@quick
@given(text=good_files, ending=endings, chunk_bytes=st.integers(1, 200))
def test_where_chunks_are_cut_does_not_matter(text, ending, chunk_bytes):
    content = (text + ending).encode()
    expected = plain_rows(content, zero_based=True)
    chunks = chunks_of(content, chunk_bytes=chunk_bytes, dtype=np.float64, zero_based=True)
    assert repr(rows_of(chunks)) == repr(expected)  # repr, for nan is not equal to itself


@settings(deadline=None, max_examples=600)
@given(
    content=st.lists(st.sampled_from(scraps), max_size=30).map(lambda parts: "".join(parts).encode()),
    chunk_bytes=st.integers(1, 70),
    zero_based=st.booleans(),
)
@example(b"1 1:2\n1 5:1 3:1\n", 16, False)
def test_any_text_is_read_or_refused_as_the_plain_reader_does(content, chunk_bytes, zero_based):
    options = {"chunk_bytes": chunk_bytes, "dtype": np.float64, "zero_based": zero_based}
    labels, rows, bad_line = plain_reader(content, zero_based)
    if bad_line is None:
        assert repr(rows_of(chunks_of(content, **options))) == repr((labels, rows))
    else:
        assert complaint_about(content, **options).startswith(f"the open file, line {bad_line}: ")


@quick
@given(tokens=st.lists(st.one_of(written_floats, written_decimals), min_size=1, max_size=20))
def test_numbers_are_rounded_as_python_rounds_them(tokens):
    (chunk,) = chunks_of("".join(f"{token}\n" for token in tokens).encode())
    assert bits(chunk.y) == bits(np.array([float(token) for token in tokens]))


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
    (chunk,) = chunks_of("".join(f"{token}\n" for token in tokens).encode())
    assert bits(chunk.y) == bits(np.array([float(token) for token in tokens]))


@widths
@quick
@given(seed=st.integers(0, 1000), zero_based=st.booleans())
def test_what_scikit_learn_writes_is_read_back(dtype, seed, zero_based):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((9, 7), density=0.4, rng=rng, data_sampler=rng.normal, dtype=dtype, format="csr")
    y = rng.choice([-1.0, 1.0, 0.25], size=9)
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=zero_based, comment="two\nlines")
    options = {"n_features": 7, "dtype": dtype, "zero_based": zero_based}
    theirs = load_svmlight_file(io.BytesIO(file.getvalue()), **options)
    assert_same(load_svmlight(io.BytesIO(file.getvalue()), **options), theirs)


def test_files_of_many_blocks_are_read_whole(tmp_path):
    # Larger than a block of load_svmlight, and its end is sparser than its beginning: the guess of the size fails.
    lines = [f"{i % 2} 1:{i} 7:0.5 {8 + i % 50}:1e-3" for i in range(20_000)] + ["1"] * 3000 + ["-1 2:2"] * 70_000
    content = "\n".join(lines).encode()
    path = tmp_path / "rows.svm"
    path.write_bytes(content)
    theirs = load_svmlight_file(io.BytesIO(content))
    assert_same(load_svmlight(path), theirs)
    assert_same(load_svmlight(io.BytesIO(content)), theirs)  # of unknown size


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"])
@pytest.mark.parametrize("name", ["rows.svm", "rows.svm.gz", "rows.svm.bz2"])
def test_the_content_of_a_file_tells_its_compression_whatever_its_name(tmp_path, compress, name):
    content = b"1 1:2.5 3:1\n-1 2:1\n" * 500
    path = tmp_path / name
    path.write_bytes(compress(content))
    theirs = load_svmlight_file(io.BytesIO(content))
    assert_same(load_svmlight(path), theirs)
    assert_same(load_svmlight(str(path)), theirs)
    with path.open("rb") as file:
        assert_same(load_svmlight(file), theirs)
        assert not file.closed
    chunks = list(read_svmlight(path, chunk_bytes=1000))
    assert len(chunks) > 5
    assert rows_of(chunks) == plain_rows(content)


class Pipe:
    """A file that can only be read, a few bytes at a time."""

    def __init__(self, content, most=7):
        self.content, self.most = io.BytesIO(content), most

    def read(self, size):
        return self.content.read(min(size, self.most))


def test_a_pipe_that_gives_few_bytes_at_a_time_is_read_to_its_end():
    content = b"1 1:2.5 3:1\n-1 2:1\n" * 20
    chunks = list(read_svmlight(Pipe(content)))
    assert rows_of(chunks) == plain_rows(content)


def test_each_chunk_knows_the_line_of_its_first_row():
    content = b"# head\n\n1 1:1\n# a\n# b\n2 1:1\n\n3 1:1\n# end\n"
    chunks = chunks_of(content, chunk_bytes=8)
    lines = content.split(b"\n")
    assert [chunk.first_line for chunk in chunks] == [3, 6, 8]
    assert [float(lines[chunk.first_line - 1].split()[0]) for chunk in chunks] == [c.y[0] for c in chunks]


def test_chunks_do_not_change_when_later_ones_are_read():
    chunks = chunks_of(b"".join(b"%d %d:%d\n" % (i, i, i) for i in range(1, 100)), chunk_bytes=40)
    assert len(chunks) > 10
    for chunk in chunks:
        assert (chunk.X.indices + 1).tolist() == chunk.X.data.tolist() == chunk.y.tolist()


def test_without_n_features_chunks_widen_with_the_largest_index_so_far():
    content = b"1 2:1\n1 5:1\n1 1:1\n"
    assert [c.X.shape[1] for c in chunks_of(content, chunk_bytes=6, zero_based=False)] == [2, 5, 5]
    assert [c.X.shape[1] for c in chunks_of(content, chunk_bytes=6, n_features=9)] == [9, 9, 9]


def test_a_file_without_rows_gives_no_chunk():
    assert chunks_of(b"") == []
    assert chunks_of(b"# nothing\n\n   ") == []
    assert load_svmlight(io.BytesIO(b""))[0].shape == (0, 1)  # as in scikit-learn


@widths
def test_numbers_too_large_for_the_width_asked_for_become_infinite(dtype):
    content = b"1 1:1e39 2:-123456789012345678901234567890e20 3:1e400\n"
    (chunk,) = chunks_of(content, dtype=dtype)
    huge = [np.inf, -np.inf] if dtype == np.float32 else [1e39, -123456789012345678901234567890e20]
    assert chunk.X.data.tolist() == [*huge, np.inf]


# Where counting begins


def test_auto_counts_from_one_unless_an_index_zero_comes():
    assert chunks_of(b"1 1:5\n")[0].X.toarray().tolist() == [[5.0]]
    assert chunks_of(b"1 1:5\n1 0:3\n")[0].X.toarray().tolist() == [[0.0, 5.0], [3.0, 0.0]]


def test_auto_decides_alike_however_the_first_lines_are_cut():
    content = b"1 1:5\n1 3:1\n1 0:3\n1 2:4\n"
    for chunk_bytes in (1, 6, 7, 13, 100):
        reader = read_svmlight(io.BytesIO(content), chunk_bytes=chunk_bytes)
        assert reader.zero_based is None
        assert rows_of(reader) == plain_rows(content, zero_based=True)
        assert reader.zero_based is True


def test_an_index_zero_after_auto_took_one_is_refused_with_what_to_pass(monkeypatch):
    monkeypatch.setattr(svmlight_module, "_LOOK_BYTES", 20)
    content = b"1 1:5\n" * 10 + b"1 0:3\n"
    reader = read_svmlight(io.BytesIO(content), chunk_bytes=6)
    assert next(reader).X.toarray().tolist() == [[5.0]]
    assert reader.zero_based is False
    with pytest.raises(DataError, match=r"line 11: bad index in '0:3'.*Pass zero_based=True"):
        list(reader)
    assert rows_of(chunks_of(content, chunk_bytes=6, zero_based=True)) == plain_rows(content, zero_based=True)


def test_what_auto_looks_at_is_bounded(monkeypatch):
    monkeypatch.setattr(svmlight_module, "_LOOK_BYTES", 600)
    file = io.BytesIO(b"1 1:5\n" * 1000)
    next(read_svmlight(file, chunk_bytes=60))
    assert 600 <= file.tell() <= 660


@pytest.mark.parametrize("zero_based", ["auto", True, False])
def test_as_many_columns_as_asked_for_may_be_used_and_no_more(zero_based):
    first = 1 if zero_based is False else 0
    fitting = b"1 %d:1\n1 %d:1\n" % (first, first + 2)
    assert load_svmlight(io.BytesIO(fitting), n_features=3, zero_based=zero_based)[0].shape == (2, 3)
    for options in ({"chunk_bytes": 6}, {}):
        assert "bad index" in complaint_about(fitting, n_features=2, zero_based=zero_based, **options)
    with pytest.raises(DataError, match="bad index"):
        load_svmlight(io.BytesIO(fitting), n_features=2, zero_based=zero_based)


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
        ("1 0:1", "0:1", "bad index .* count from 1 .* zero_based=True"),
        ("1 3:1 2:1", "2:1", "bad index .* rise"),
        ("1 3:1 3:1", "3:1", "bad index .* twice"),
        ("1 2147483648:1", "2147483648:1", "bad index .* 2,147,483,647"),
        ("1 18446744073709551617:1", "18446744073709551617:1", "bad index .* 2,147,483,647"),
        ("1 11:1", "11:1", "bad index .* 10 columns"),
        ("1 \u00e9:1", "\u00e9:1", "bad index"),
        ("1 1:" + "7" * 100 + "x", "1:" + "7" * 38 + "...", "value .* is not a number"),
    ],
)
@pytest.mark.parametrize("chunk_bytes", [16, 1 << 20])
def test_a_bad_line_is_named_with_its_number_and_token(tmp_path, line, token, words, chunk_bytes):
    path = tmp_path / "bad.svm"
    path.write_text(f"1 1:2\n# comment\n\n1 1:1 # fine\n{line}\nworse\n", encoding="utf-8")
    options = {} if "2147483648" in line or "1844" in line else {"n_features": 10}
    with pytest.raises(DataError, match=words) as caught:
        list(read_svmlight(path, chunk_bytes=chunk_bytes, zero_based=False, **options))
    assert str(caught.value).startswith(f"{path}, line 5: ")
    assert repr(token) in str(caught.value)


def test_of_two_bad_numbers_the_first_is_named():
    # Python judges the word only after the compiled loop has stopped at the second.
    assert "line 2: the value in '1:nanny'" in complaint_about(b"1 1:1\n1 1:nanny\n1 x\n")


def test_the_largest_index_can_be_used():
    content = b"1 2147483647:1\n"
    assert load_svmlight(io.BytesIO(content))[0].shape == (1, 2**31 - 1)
    assert_same(
        load_svmlight(io.BytesIO(content), zero_based=True),
        load_svmlight_file(io.BytesIO(content), zero_based=True),
    )


def test_chunks_before_a_bad_line_can_be_used_and_the_reader_ends_there():
    reader = read_svmlight(io.BytesIO(b"1 1:1\n1 2:1\nbad\n1 1:1\n"), chunk_bytes=12, zero_based=False)
    assert rows_of([next(reader)]) == ([1.0, 1.0], [{0: 1.0}, {1: 1.0}])
    with pytest.raises(DataError, match="line 3"):
        next(reader)
    assert list(reader) == []


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress], ids=["gzip", "bzip2"])
@pytest.mark.parametrize("chunk_bytes", [10_000, 1 << 20])
def test_a_damaged_compressed_file_is_refused_by_name(tmp_path, compress, chunk_bytes):
    content = compress(b"".join(b"%d 1:%d\n" % (i, i * i) for i in range(20_000)))
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(content[:-1000])
    with pytest.raises(DataError, match=r"rows\.svm\.gz, line .*cut short or damaged"):
        list(read_svmlight(path, chunk_bytes=chunk_bytes))
    changed = bytearray(content)
    changed[len(content) // 2] ^= 0xFF
    path.write_bytes(changed)
    with pytest.raises(DataError, match=r"rows\.svm\.gz, line "):  # of nonsense lines before the checksum is seen
        list(read_svmlight(path, chunk_bytes=chunk_bytes))


def test_a_missing_file_is_missed_at_once(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_svmlight(tmp_path / "none.svm")


def test_a_file_open_as_text_is_refused():
    with pytest.raises(TypeError, match="binary"):
        read_svmlight(io.StringIO("1 1:1\n"))


@pytest.mark.parametrize(
    "options", [{"chunk_bytes": 0}, {"n_features": 0}, {"dtype": np.int32}, {"zero_based": "maybe"}]
)
def test_impossible_options_are_refused_by_name(options):
    (name,) = options
    with pytest.raises(ValueError, match=name):
        read_svmlight(io.BytesIO(b""), **options)


# Memory and threads


class Repeated:
    """The same lines over and over: a file of any length that is nowhere."""

    def __init__(self, times):
        self.times = times
        self.lines = io.BytesIO(b"".join(b"1 %d:0.5 7777:1.25\n" % i for i in range(1, 1000)))

    def readinto(self, room):
        count = self.lines.readinto(room)
        if count == 0 and self.times > 1:
            self.times -= 1
            self.lines.seek(0)
            count = self.lines.readinto(room)
        return count

    def read(self, size):
        raise NotImplementedError


def test_memory_does_not_grow_with_the_file():
    def peak(times):
        tracemalloc.start()
        rows = sum(chunk.y.size for chunk in read_svmlight(Repeated(times), chunk_bytes=5000, zero_based=False))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert rows == 999 * times
        return most

    peak(1)  # compiles
    assert peak(300) < 1.2 * peak(10)


def test_a_reader_left_half_way_closes_its_file(tmp_path, recwarn):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:1\n" * 100)
    reader = read_svmlight(path, chunk_bytes=6, zero_based=False)
    next(reader)
    del reader
    read_svmlight(path)  # never begun
    with read_svmlight(path) as never_begun:
        pass
    assert list(never_begun) == []
    assert len(recwarn) == 0


def test_files_can_be_read_in_several_threads_at_once():
    content = [b"".join(b"%d %d:%d.5\n" % (k, k + 1, i) for i in range(5000)) for k in range(4)]
    found = [None] * 4

    def read(k):
        found[k] = rows_of(chunks_of(content[k], chunk_bytes=1000, zero_based=False))

    threads = [threading.Thread(target=read, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [plain_rows(text) for text in content]


def test_the_compiled_loop_lets_other_threads_run():
    assert kernel.parse_lines.targetoptions["nogil"]
