"""svmlight files as pieces of a stream."""

from __future__ import annotations

import io

import numpy as np
import pytest

from ratewise.streams import DataError, open_stream


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr("ratewise.streams.formats.PIECE_BYTES", 200)


def write(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def rows(n, features=3):
    return [f"{1 if i % 2 else -1} 1:{i + 1} {2 + i % (features - 1)}:0.5" for i in range(n)]


def whole(stream, rng=None):
    return np.vstack([window.X.toarray() for window in stream.windows(rng)])


def test_the_width_is_that_of_all_files(tmp_path):
    write(tmp_path / "a.svm", rows(50, 3))
    write(tmp_path / "b.svm", [*rows(50, 3), "1 9:2"])
    stream = open_stream(tmp_path)
    assert stream.survey().label_counts == {-1.0: 50, 1.0: 51}
    assert stream.encoder.n_features == 9
    X = whole(stream)
    assert X.shape == (101, 9)
    assert X[100].tolist() == [0] * 8 + [2]
    assert whole(open_stream(tmp_path)).shape == (101, 9)  # without a survey, too


def test_a_model_reads_narrower_and_wider_files_in_its_own_width(tmp_path):
    stream = open_stream(write(tmp_path / "a.svm", rows(50, 5)))
    stream.survey()
    for text, expected in (("1 1:7", [7, 0, 0, 0, 0]), ("1 2:7 8:1", [0, 7, 0, 0, 0])):
        path = write(tmp_path / "b.svm", [text])
        assert whole(open_stream(path, encoder=stream.encoder)).tolist() == [expected]


def test_a_model_keeps_to_the_numbering_of_its_training_file(tmp_path):
    stream = open_stream(write(tmp_path / "a.svm", ["1 0:1 2:1", "-1 1:1"]))
    stream.survey()
    assert stream.encoder.n_features == 3
    path = write(tmp_path / "b.svm", ["1 1:5"])
    assert whole(open_stream(path, encoder=stream.encoder)).tolist() == [[0, 5, 0]]


def test_files_read_together_share_their_numbering(tmp_path):
    write(tmp_path / "a.svm", ["1 0:1 2:1", "-1 1:1"])
    write(tmp_path / "b.svm", ["1 1:5"])
    assert whole(open_stream(tmp_path)).tolist() == [[1, 0, 1], [0, 1, 0], [0, 5, 0]]


@pytest.mark.parametrize("at", [1, 40, 99])
def test_a_bad_index_is_named_with_its_line(tmp_path, at):
    lines = rows(100)
    lines[at - 1] = "1 2:1 x:3"
    path = write(tmp_path / "a.svm", ["# a comment", *lines])
    with pytest.raises(DataError, match=rf"a\.svm.*line {at + 1}\b"):
        open_stream(path).survey()
    with pytest.raises(DataError, match=rf"a\.svm.*line {at + 1}\b"):
        whole(open_stream(path, features=3), np.random.default_rng(0))


def test_a_fixed_width_refuses_a_larger_index(tmp_path):
    path = write(tmp_path / "a.svm", [*rows(60), "1 4:1"])
    with pytest.raises(DataError, match=r"a\.svm.*line 61\b"):
        open_stream(path, features=3).survey()
    assert whole(open_stream(path, features=7)).shape == (61, 7)


def test_an_infinite_value_is_named_with_its_row(tmp_path):
    path = write(tmp_path / "a.svm", ["# a comment", *rows(60), "1 2:inf"])
    with pytest.raises(DataError, match=r"a\.svm, row 61: inf in column 1"):
        whole(open_stream(path, features=3), np.random.default_rng(0))


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing here\n"])
def test_an_empty_file_is_refused(tmp_path, text):
    (tmp_path / "a.svm").write_text(text)
    with pytest.raises(DataError, match=r"a\.svm: the file is empty"):
        open_stream(tmp_path / "a.svm")


@pytest.mark.parametrize("options", [{"target": "y"}, {"weight": "w"}])
def test_target_and_weight_cannot_be_named(tmp_path, options):
    path = write(tmp_path / "a.svm", rows(5))
    with pytest.raises(ValueError, match="hold their own target"):
        open_stream(path, **options)
    with pytest.raises(TypeError, match="number of columns"):
        open_stream(path, features=["a"])


class _Stdin:
    def __init__(self, lines):
        self.buffer = io.BytesIO(("\n".join(lines) + "\n").encode())


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr("sys.stdin", _Stdin(rows(300)))
    stream = open_stream("-", format="svmlight", window_rows=100)
    assert not stream.repeatable
    assert whole(stream)[:, 0].tolist() == list(range(1, 301))
    with pytest.raises(ValueError, match="standard input can be read once only"):
        stream.survey()


def test_standard_input_that_grows_wider_asks_for_the_width(monkeypatch):
    lines = [*rows(160_000), "1 9:1"]
    monkeypatch.setattr("sys.stdin", _Stdin(lines))
    with pytest.raises(DataError, match=r"9 features by now, and the first rows had 3 only.*features=9"):
        whole(open_stream("-", format="svmlight", window_rows=1000))
    monkeypatch.setattr("sys.stdin", _Stdin(lines))
    assert whole(open_stream("-", format="svmlight", window_rows=1000, features=9)).shape == (160_001, 9)


def test_a_width_that_is_a_slip_in_one_index_is_refused_unless_it_is_meant(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 2:3\n0 1:2 30000000:1\n")
    with pytest.raises(DataError, match=r"30,000,000 columns, for 4 numbers .* say features=30000000"):
        open_stream(tmp_path / "a.svm").survey()
    assert open_stream(tmp_path / "a.svm", features=30_000_000).survey().rows == 2
    with pytest.raises(DataError, match="at most 67,108,864"):
        open_stream(tmp_path / "a.svm", features=10**9)
