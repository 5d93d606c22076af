"""CSV files: types, faults and where they are."""

from __future__ import annotations

import gzip
import io
import sys
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ratewise import ColumnWarning
from ratewise.streams import DataError, open_stream

pytest.importorskip("pyarrow")
from ratewise.streams.formats.csv import arrow_reader


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Types are taken from the first 200 bytes, and files are read in pieces of 300."""
    monkeypatch.setattr("ratewise.streams.formats.PIECE_BYTES", 300)
    monkeypatch.setattr("ratewise.streams.formats.csv._HEAD_BYTES", 200)


@pytest.fixture(params=["csv", "csv.gz"])
def write(request, tmp_path):
    def write(text, name="a"):
        path = tmp_path / f"{name}.{request.param}"
        opener = gzip.open if request.param.endswith("gz") else open
        with opener(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def lines(*rows, header="a,b,y"):
    return "\n".join([header, *rows]) + "\n"


def many(n, row="{i},{i}.5,{y}"):
    return [row.format(i=i, y=i % 2) for i in range(n)]


def matrix(stream):
    windows = list(stream.windows())
    return np.vstack([window.X for window in windows]), np.concatenate([window.labels for window in windows])


def test_whole_numbers_may_be_followed_by_fractions_and_gaps(write):
    rows = [*many(100, "{i},1,{y}"), "0.25,,1", ",1e3,0", "-3, 4 ,1"]
    stream = open_stream(write(lines(*rows)), target="y")
    survey = stream.survey()
    X, y = matrix(stream)
    assert survey.missing == {"a": 1, "b": 1}
    assert X[100:, 0].tolist() == pytest.approx([0.25, (4950 + 0.25 - 3) / 102, -3.0])
    assert X[100:, 1].tolist() == pytest.approx([(100 + 1000 + 4) / 102, 1000.0, 4.0])
    assert y.dtype == np.int64
    assert survey.label_counts == {0: 51, 1: 52}


def test_usual_words_for_missing_are_missing(write):
    stream = open_stream(write(lines("1,NA,0", "?,2,1", "null,NaN,0", "nan,None,1")), target="y")
    assert stream.survey().missing == {"a": 3, "b": 3}


def test_a_column_empty_at_first_may_hold_numbers_or_text_later(write):
    rows = [*many(80, "{i},,,{y}"), "1,0.5,red,0", "2,,blue,1"]
    stream = open_stream(write(lines(*rows, header="a,b,c,y")), target="y")
    stream.survey()
    assert stream.feature_names == ("a", "b", "c=blue", "c=red", "c is missing")
    assert matrix(stream)[0][-2].tolist() == [1.0, 0.5, 0.0, 1.0, 0.0]


def test_text_booleans_and_text_labels_are_read(write):
    text = lines("x,true,no", "y,false,yes", "x,,no", header="c,d,y")
    stream = open_stream(write(text), target="y")
    assert stream.survey().label_counts == {"no": 2, "yes": 1}
    X, y = matrix(stream)
    assert stream.feature_names == ("c=x", "c=y", "d")
    assert X.tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.5]]
    assert y.tolist() == ["no", "yes", "no"]


def test_quoted_values_with_commas_and_line_breaks_are_read(write):
    text = lines('1,"red, ""dark""",0', '2,"two\nlines",1', '3,"red, ""dark""",0')
    stream = open_stream(write(text), target="y")
    stream.survey()
    assert stream.feature_names == ("a", 'b=red, "dark"', "b=two\nlines")
    assert matrix(stream)[0].tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]


def test_line_breaks_in_values_far_from_the_top_are_read_or_refused(write):
    """A piece may end in the middle of such a value; it must never be read wrongly."""
    outcomes = []
    for rows_before in range(40, 80):
        text = lines(*many(rows_before, "{i},red,{y}"), '2,"two\nlines",1', *many(5, "{i},red,{y}"))
        try:
            survey = open_stream(write(text), target="y").survey()
        except DataError as error:
            outcomes.append("a quoted value has line breaks in it" in str(error))
        else:
            outcomes.append(survey.rows == rows_before + 6)
    assert all(outcomes)


@pytest.mark.parametrize("delimiter", ["\t", ";", "|"])
def test_other_delimiters_are_seen_in_the_header(write, delimiter):
    text = lines(*many(50)).replace(",", delimiter)
    X, y = matrix(open_stream(write(text), target="y"))
    assert X.shape == (50, 2)
    assert y.sum() == 25


def test_windows_line_ends_a_mark_at_the_start_and_blank_lines_are_fine(write):
    text = lines(*many(60)).replace("\n", "\r\n").replace("5\r\n", "5\r\n\r\n")
    stream = open_stream(write(b"\xef\xbb\xbf" + text.encode()), target="y", features=["a"])
    assert matrix(stream)[0].ravel().tolist() == list(range(60))


def test_a_last_line_need_not_end(write):
    assert matrix(open_stream(write(lines(*many(77))[:-1]), target="y"))[0].shape == (77, 2)


def test_columns_that_are_not_asked_for_may_hold_anything(write):
    rows = [*many(60, "{i},2020-01-01,{y}"), "3,nonsense,1"]
    path = write(lines(*rows))
    assert matrix(open_stream(path, target="y", features=["a"]))[0].shape == (61, 1)
    with pytest.warns(ColumnWarning, match=r"'b' \(its texts are dates, but for 1, such as 'nonsense'\)"):
        assert matrix(open_stream(path, target="y"))[0].shape == (61, 2)


def test_dates_may_be_followed_by_times_and_gaps(write):
    rows = [*many(60, "{i},1970-01-02,{y}"), "3,1970-01-01T00:00:01.5,1", "4,,1"]
    X, _ = matrix(open_stream(write(lines(*rows)), target="y"))
    assert X[:2, 1].tolist() == [1.0] * 2
    assert X[-2:, 1] == pytest.approx([1.5 / 86_400, 60 / 61], abs=1e-3)


@pytest.mark.parametrize("at", [1, 5, 70, 149])
def test_a_ragged_row_is_named(write, at):
    for bad, count in (("1,2", 2), ("1,2,3,4", 4)):
        rows = many(150)
        rows[at - 1] = bad
        with pytest.raises(
            DataError, match=rf"a\.csv(\.gz)?, row {at} \(line {at + 1}\): {count} values, where the header has 3"
        ):
            open_stream(write(lines(*rows)), target="y").survey()


@pytest.mark.parametrize("at", [1, 5, 70, 149])
def test_text_in_a_number_column_counts_as_missing_and_is_told(write, at):
    rows = many(150)
    rows[at - 1] = "7,abc,1"
    stream = open_stream(write(lines(*rows)), target="y")
    with pytest.warns(ColumnWarning, match=r"'b' \(its texts are numbers, but for 1, such as 'abc'\)"):
        survey = stream.survey()
    assert survey.missing == {"b": 1}
    others = [i + 0.5 for i in range(150) if i != at - 1]
    assert matrix(stream)[0][at - 1, 1] == pytest.approx(np.mean(others))


@pytest.mark.parametrize("at", [1, 70, 149])
def test_a_model_refuses_text_where_the_fit_had_numbers_only(write, at):
    rows = many(150)
    fitted = open_stream(write(lines(*rows)), target="y")
    fitted.survey()
    rows[at - 1] = "7,abc,1"
    with pytest.raises(DataError, match=rf"b\.csv(\.gz)?, row {at}, column 'b': 'abc' is not a number"):
        matrix(open_stream(write(lines(*rows), "b"), target="y", encoder=fitted.encoder))


def test_text_in_a_boolean_column_and_in_the_target_is_named(write):
    rows = many(90, "true,1,{y}")
    stream = open_stream(write(lines(*rows, "maybe,1,0", "maybe,1,1")), target="y")
    stream.survey()
    assert stream.feature_names == ("a=maybe", "a=true", "b")
    with pytest.raises(DataError, match=r"row 91 \(line 92\), column 'y': 'x' is not a number"):
        open_stream(write(lines(*rows, "true,1,x")), target="y").survey()


def test_blank_lines_count_as_lines_and_not_as_rows(write):
    rows = many(120)
    rows[100] = "1,2,x"
    rows[50] += "\n"
    with pytest.raises(DataError, match=r"row 101 \(line 103\), column 'y'"):
        open_stream(write(lines(*rows)), target="y").survey()


def test_a_missing_target_and_a_label_with_a_fraction_are_named(write):
    rows = many(120)
    with pytest.raises(DataError, match=r"row 121, column 'y': the target is missing"):
        open_stream(write(lines(*rows, "1,2,")), target="y").survey()
    with pytest.raises(DataError, match=r"row 121, column 'y': labels such as 0, 1 and 0.5 are not classes"):
        open_stream(write(lines(*rows, "1,2,0.5")), target="y").survey()
    with pytest.raises(DataError, match=r"row 121, column 'y': the label 2 has 1 row of 121: is it a mistake\?"):
        open_stream(write(lines(*rows, "1,2,2")), target="y").survey()
    assert open_stream(write(lines(*rows, "1,2,2", "1,2,2")), target="y").survey().label_counts[2] == 2


def test_an_infinite_number_is_named_in_a_shuffled_pass_too(write):
    path = write(lines(*many(120), "1,inf,0"))
    stream = open_stream(path, target="y")
    stream.encoder.fitted = True
    with pytest.raises(DataError, match=r"row 121, column 'b': inf is infinite"):
        list(stream.windows(np.random.default_rng(0)))


def test_bytes_that_are_no_text_are_refused(write):
    path = write(lines(*many(90)).encode() + "1,grün,0\n".encode("latin-1"))
    with pytest.raises(DataError, match="UTF-8"):
        open_stream(path, target="y").survey()
    with pytest.raises(DataError, match="UTF-8"):
        open_stream(write("grün,y\n1,2\n".encode("latin-1")), target="y")


@pytest.mark.parametrize("text", ["", "\n\n", "a,b,y\n", "a,b,y"])
def test_an_empty_file_is_refused(write, text):
    with pytest.raises(DataError, match=r"a\.csv(\.gz)?: (the file is empty|there are no rows)"):
        open_stream(write(text), target="y")


def test_a_column_named_twice_is_refused(write):
    with pytest.raises(DataError, match="the column 'a' twice"):
        open_stream(write("a,a,y\n1,2,0\n"), target="y")


def test_a_compressed_file_that_was_cut_off_is_refused(tmp_path):
    whole = gzip.compress(lines(*many(5000)).encode())
    path = tmp_path / "a.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"a\.csv\.gz"):
        open_stream(path, target="y").survey()


def test_codes_that_are_numbers_in_one_file_and_text_in_another_are_one_category(write, tmp_path):
    paths = [write(lines(*many(90, "{y},1,{y}")), "a"), write(lines(*many(90, "x{y},1,{y}")), "b")]
    for order in (paths, paths[::-1]):
        stream = open_stream(order, target="y")
        stream.survey()
        assert stream.feature_names == ("a=0", "a=1", "a=x0", "a=x1", "b")
        assert matrix(stream)[0][:, :4].sum(axis=0).tolist() == [45.0] * 4


def test_a_file_with_a_header_only_is_passed_over(write):
    empty, full = write("a,b,y\n", "0"), write(lines(*many(9)), "1")
    for order in ([empty, full], [full, empty]):
        assert open_stream(order, target="y").survey().rows == 9


class _Stdin:
    def __init__(self, text):
        self.buffer = io.BytesIO(text.encode())


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr("sys.stdin", _Stdin(lines(*many(500))))
    stream = open_stream("-", target="y", format="csv", window_rows=100)
    assert not stream.repeatable
    assert matrix(stream)[0][:, 0].tolist() == list(range(500))
    with pytest.raises(ValueError, match="standard input can be read once only"):
        stream.windows()


def test_faults_of_standard_input_are_told(monkeypatch):
    monkeypatch.setattr("sys.stdin", _Stdin(lines(*many(500), "1,2,abc")))
    with pytest.raises(
        DataError, match=r"standard input, row 501 \(line 502\), column 'y': 'abc' is not a number"
    ):
        matrix(open_stream("-", target="y", format="csv"))


@example([*["x"] * 6, *['two "" quotes'] * 6, "a\nbreak"])
@given(
    st.lists(st.sampled_from(["x", 'two "" quotes', "a\nbreak", "\n\n", "", "é" * 90]), min_size=4, max_size=60)
)
def test_values_with_line_breaks_are_read_whole_wherever_reads_end(texts):
    texts = ["a\nbreak", *texts]
    rows = [f'{i},"{text}",{i % 2}' for i, text in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", _Stdin(lines(*rows)))
        stream = open_stream("-", target="y", format="csv", features=["a"])
        X, y = matrix(stream)
    assert X[:, 0].tolist() == list(range(len(texts)))
    assert y.tolist() == [i % 2 for i in range(len(texts))]


def test_a_quote_that_is_never_closed_is_refused_before_memory_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("ratewise.streams.formats.csv._LONGEST_ROW", 2_000)
    words = many(50, "{i},word,{y}")
    text = lines('1,"a\nb",0', *words, '1,"never closed,0', *40 * words)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(
        DataError, match=r"a\.csv\.gz: a row has more than 2,000 bytes\. Is a quote never closed\?"
    ):
        open_stream(tmp_path / "a.csv.gz", target="y").survey()


def test_no_thread_of_arrows_keeps_memory_of_pythons():
    # Its thread would need Python to give it back, and abort the process if Python ended meanwhile.
    text = b"a,b\n1,2\n" + bytes(1)
    holders = sys.getrefcount(text)
    reader = arrow_reader(text)
    assert sys.getrefcount(text) == holders
    assert reader.read() == text


def test_a_model_decides_how_columns_are_read(write):
    stream = open_stream(write(lines("x,1,0", "7,2,1", "x,3,0")), target="y")
    stream.survey()
    assert stream.feature_names == ("a=7", "a=x", "b")
    numeric_looking = write(lines("7,2", "7,3", header="a,b"), "b")
    (window,) = open_stream(numeric_looking, encoder=stream.encoder).windows()
    assert window.X.tolist() == [[1.0, 0.0, 2.0], [1.0, 0.0, 3.0]]
    assert window.labels is None
    with pytest.raises(DataError, match="no column 'b', which the model was trained on"):
        open_stream(write(lines("7", header="a"), "c"), encoder=stream.encoder)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,label\r1,0\r2,1\r", "lines end in CR"),
        (b"a,b,label\n1,caf\xe9,0\n2,x,1\n", "column 'b': there is text that is not UTF-8.*iconv -f latin1"),
        (b"pr\xe9nom,label\n1,0\n2,1\n", "header is not UTF-8.*iconv -f latin1"),
        (bytes(1000), "zero bytes"),
        (b"x" * 3_000, "first line has more than 2,600 bytes"),
        (b"a,label\n1," + b"y" * 2_000 + b"\n2,no\n", "row 1, column 'label': a label of 2,000 characters"),
    ],
)
def test_what_is_no_table_is_told_in_a_sentence(tmp_path, monkeypatch, content, words):
    monkeypatch.setattr("ratewise.streams.formats.csv._LONGEST_ROW", 2_500)
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=words):
        open_stream(tmp_path / "a.csv", target="label").survey()


def test_a_header_of_many_columns_is_read_in_time(tmp_path):
    names = [f"c{j}" for j in range(20_000)]
    lines = [",".join(["label", *names])] + [",".join([str(i % 2), *(["1"] * 20_000)]) for i in range(4)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    began = time.process_time()
    stream = open_stream(tmp_path / "a.csv", target="label")
    assert time.process_time() - began < 3.0  # 20 s if every name is compared with every other
    assert stream.encoder.n_columns == 20_000


def test_a_closed_standard_input_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="Standard input is closed"):
        open_stream("-", format="csv", target="label")


def test_labels_that_float64_cannot_tell_apart_are_refused(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("x,y\n" + f"1,{2**53}\n2,{2**53 + 1}\n3,5\n" * 20)
    with pytest.raises(DataError, match=r"row 1, column 'y': labels as large as 9007199254740992 cannot be"):
        open_stream(path, target="y").survey()
