"""What a column is taken for: the same from every way in, whatever rows come first."""

from __future__ import annotations

import copy
import datetime

import numpy as np
import pytest
from nasty_tables import CHINESE, DAYS, N, nasty_tables, some

from ratewise import ColumnWarning, MeasureClassifier, open_stream
from ratewise._errors import Place
from ratewise.features.columns import most_levels
from ratewise.features.dates import parse_dates
from ratewise.features.learn import EncoderFit
from ratewise.streams import DataError

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


def encoder_of(table, **options):
    size = len(next(iter(table.values()))) if isinstance(table, dict) else len(table)
    stream = open_stream([(table, np.arange(size) % 2)], **options)
    stream.survey()
    return stream.encoder


def taken_for(values, wanted=None, **more):
    columns = None if wanted is None else {"a": wanted}
    return encoder_of({"a": np.array(values, dtype=object), **more}, columns=columns).codec("a")


@pytest.mark.parametrize(
    ("values", "kind", "titles"),
    [
        (some("100.5", "2", " 3 ", "+4", "1e3"), "number", ["a"]),
        ([("?", "-", "N/A", "")[i % 4] if i % 9 == 0 else f"{i}.25" for i in range(N)], "number", ["a"]),
        (some("Yes", "No", "yes", "N/A"), "boolean", ["a"]),
        (some("t", "f"), "boolean", ["a"]),
        (some("TRUE", "False"), "boolean", ["a"]),
        (some("0", "1"), "number", ["a"]),
        (some("red", "blue"), "category", ["a=blue", "a=red"]),
        (some("red", None), "category", ["a=red", "a is missing"]),
        (some("007", "010", "x1"), "category", ["a=007", "a=010", "a=x1"]),
        (some("007", "010"), "category", ["a=007", "a=010"]),
        (some("1", "2", "3+"), "category", ["a=1", "a=2", "a=3+"]),
        (some("New York City Hall", "The Bronx of old"), "category", None),
        ([f"10.0.0.{i % 40}" for i in range(N)], "category", None),
        ([f"v1.{i % 40}.2" for i in range(N)], "category", None),
        ([f"{i / 10} kg" for i in range(N)], "number", ["a"]),
        ([f"{i % 90 / 10}{('kg', 'g')[i % 2]}" for i in range(N)], "category", None),
        ([f"{i % 20} year{'s' * (i % 20 != 1)}" for i in range(N)], "number", ["a"]),
        ([f"{20200100 + i % 28 + 1}" for i in range(N)], "date", None),
        ([",".join(f"tag{k}" for k in (i % 7, i % 11, i % 13)) for i in range(N)], "text", None),
        (
            ["".join(CHINESE[k % 13] for k in (i, i // 3, i * i, i // 7, 5, i // 9)) for i in range(N)],
            "text",
            None,
        ),
        (
            [f"{('Upper', 'Lower', 'Old', 'New', 'West', 'Sea')[i % 6]} town {i % 150}" for i in range(N)],
            "text",
            None,
        ),
    ],
)
def test_texts_are_what_their_values_say(values, kind, titles):
    codec = taken_for(values)
    assert codec.kind == kind, codec
    assert titles is None or codec.titles() == titles


def test_a_few_words_among_numbers_dates_and_times_are_missing_values_with_a_warning():
    for value in ("{}.5", "2024-01-{:02}", "{:02}:30"):
        column = ["unknown" if i % 4 == 0 else value.format(i % 23 + 1) for i in range(N)]
        with pytest.warns(ColumnWarning, match=r"'a' \(its texts are .*, but for 100, such as 'unknown'\)"):
            codec = taken_for(column)
        gap, first = codec.block(pa.array(["unknown", value.format(1)]), None).reshape(2, -1)[:, 0]
        assert np.isnan(gap) or gap == pytest.approx(codec.fill(centred=False)[0])
        assert np.isfinite(first)
    many = [f"word{i % 200}" if i % 4 == 0 else f"{i % 97}.5" for i in range(N)]
    assert taken_for(many).kind == "category"


def test_numbers_with_a_unit_are_numbers():
    codec = taken_for([f"{i / 10} kg" for i in range(N)])
    assert codec.block(pa.array(["2.5 kg", "2.5kg", "7", None]), None).tolist()[:3] == [2.5, 2.5, 7.0]
    with pytest.raises(DataError, match=r"column 'a': '2 lbs' is not a number"):
        codec.block(pa.array(["2 lbs"]), Place("rows"))


def test_numbers_such_as_20260531_are_days():
    whole = np.array([int(day.strftime("%Y%m%d")) for day in DAYS])
    expected = encoder_of({"a": np.array(DAYS, dtype="M8[D]")})
    for column in (whole, whole.astype(float), whole.astype(str).astype(object)):
        encoder = encoder_of({"a": column})
        assert encoder.feature_names == expected.feature_names
        dates = np.array(DAYS, dtype="M8[D]")
        assert np.array_equal(encoder.transform({"a": column}), expected.transform({"a": dates}))
        assert np.array_equal(encoder.transform({"a": dates}), expected.transform({"a": dates}))
    assert taken_for(whole, "number").kind == "number"
    assert encoder_of({"a": np.arange(N) + 20_000_000}).codec("a").kind == "number"
    with pytest.raises(DataError, match=r"row 1, column 'a': '20261399' is not a date"):
        encoder.transform({"a": np.array([20261399])})


@pytest.mark.parametrize(
    "text",
    [
        *("14.03.23", "20230314T000000", "20230314 00:00", "14. März 2023", "14 mars 2023", "14 de marzo de 2023"),
        *("14 de março de 2023", "14 marzo 2023", "14 maart 2023", "Mar 14, 2023", "14-Mar-23"),
    ],
)
def test_dates_of_several_languages_and_forms(text):
    seconds = parse_dates(pa.array([text])).seconds["day first"]
    assert seconds.astype("M8[s]").astype("M8[D]").tolist() == [datetime.date(2023, 3, 14)]


FORMS = {
    "%Y-%m-%d": False,
    "%Y/%m/%d": False,
    "%Y-%m-%d %H:%M": True,
    "%Y-%m-%dT%H:%M:%S.%f": True,
    "%Y-%m-%dT%H:%M:%SZ": True,
    "%Y-%m-%d %H:%M:%S+0000": True,
    "%d.%m.%Y": False,
    "%d/%m/%Y": False,
    "%m/%d/%Y %I:%M %p": True,
    "%m/%d/%y": False,
    "%d %b %Y": False,
    "%d-%B-%Y %H:%M": True,
    "%B %d, %Y": False,
    "%a, %d %b %Y %H:%M:%S GMT": True,
}


@pytest.mark.parametrize("form", FORMS)
def test_dates_in_texts_are_the_dates_that_were_written(form):
    typed = [day if FORMS[form] else day.replace(hour=0, minute=0) for day in DAYS]
    written, expected = [day.strftime(form) for day in DAYS], np.array(typed, dtype="M8[us]")
    of_text, of_type = encoder_of({"a": np.array(written, dtype=object)}), encoder_of({"a": expected})
    assert of_text.feature_names == of_type.feature_names
    assert of_text.feature_names[0] == "a in days since 2023-01-01"
    assert [name for name in ("hour", "weekday", "month") if any(name in title for title in of_text.feature_names)]
    found, wanted = of_text.transform({"a": np.array(written, dtype=object)}), of_type.transform({"a": expected})
    assert found == pytest.approx(wanted, abs=1e-6)
    swapped = of_text.transform({"a": expected})  # a model takes either
    assert np.array_equal(found, swapped)


def test_the_parts_of_dates_are_periodic_and_can_be_left_out():
    column = np.array(DAYS, dtype="M8[s]")
    X = encoder_of({"a": column}).transform({"a": column})
    assert X.shape[1] == 7
    for part, period in enumerate((1.0, 7.0, 365.2425)):
        sine, cosine = X[:, 1 + 2 * part], X[:, 2 + 2 * part]
        assert sine**2 + cosine**2 == pytest.approx(1.0, abs=1e-5)
        turns = np.unwrap(np.arctan2(sine, cosine)) if period > 2 else None
        if turns is not None:
            assert (turns[-1] - turns[0]) * period / (2 * np.pi) == pytest.approx(X[-1, 0] - X[0, 0], rel=1e-3)
    assert encoder_of({"a": column}, columns={"a": "elapsed"}).n_features == 1


def test_days_and_months_that_no_row_tells_apart_are_asked_for():
    values = [f"{1 + i % 12}/{1 + i % 9}/2023" for i in range(N)]
    with pytest.raises(DataError, match=r"column 'a': .*'1/1/2023'.*columns={'a': 'day first'}.*'month first'"):
        taken_for(values)
    day, month = (taken_for(values, wanted) for wanted in ("day first", "month first"))
    (row,) = (codec.block(pa.array(["3/4/2023"]), None)[0, 0] for codec in [day])
    assert row == 92.0  # the 3rd of April
    assert month.block(pa.array(["3/4/2023"]), None)[0, 0] == 62.0


@pytest.mark.parametrize(
    ("form", "kind", "expected"),
    [
        ("{},5", "decimal comma", 10.5),
        ("${}.20", "decimal point", 10.2),
        ("{}%", "decimal point", 10.0),
        ("1.{:03},50", "decimal comma", 1010.5),
        ("(1,{:03}.00)", "decimal point", -1010.0),
        ("\u20ac {},5", "decimal comma", 10.5),
    ],
)
def test_numbers_with_signs_and_separators_are_asked_for_and_then_read(form, kind, expected):
    values = [form.format(i) for i in range(10, 60)]
    with pytest.raises(DataError, match=rf"column 'a': it holds numbers written as .*columns={{'a': '{kind}'}}"):
        taken_for(values)
    codec = taken_for(values, kind)
    assert codec.block(pa.array(values[:1]), None).tolist() == [expected]
    assert np.isfinite(codec.mean)


def test_dates_of_both_orders_are_refused():
    values = [day.strftime("%d/%m/%Y" if i % 2 else "%m/%d/%Y") for i, day in enumerate(DAYS)]
    with pytest.raises(
        DataError, match=r"some rows with the day first and in others with the month first.*'day first'"
    ):
        taken_for(values)
    assert taken_for(values, "day first").lenient


def test_identifiers_are_left_out_with_a_warning_that_names_them():
    x = np.arange(N, dtype=float)
    for values in ([f"user{i}" for i in range(N)], [f"{i:05}" for i in range(N)], [f"{i}-1" for i in range(N)]):
        with pytest.warns(ColumnWarning, match=r"Left out: 'a' \(an identifier: 400 different values"):
            assert taken_for(values, x=x).width == 0
    assert taken_for([f"user{i}" for i in range(N)], "ignore", x=x).width == 0
    assert taken_for([f"user{i % 200}" for i in range(N)], "category").kind == "category"
    with pytest.raises(DataError, match="there is no column to learn from: 'a'"):
        taken_for([f"user{i}" for i in range(N)])


def test_a_column_of_which_no_value_recurs_tells_whether_there_is_one():
    for values in ([f"user{i}" for i in range(N)], [f"cabin {i % 100}" for i in range(N)]):
        with_gaps = [value if i % 3 else None for i, value in enumerate(values)]
        codec = taken_for(with_gaps)
        assert codec.titles() == ["a is other", "a is missing"]
        assert codec.why.endswith("; whether there is one")
        block = codec.block(pa.array(["user1", None, "new"]), None).toarray()
        assert block.tolist() == [[1, 0], [0, 1], [1, 0]]
    with pytest.warns(ColumnWarning, match="Left out: 'a'"):
        assert taken_for([None, *(f"user{i}" for i in range(N - 1))], x=np.arange(N)).kind == "left out"


def test_rare_values_are_pooled_and_so_are_values_never_seen():
    values = [*["a"] * 200, *["b"] * 150, *(f"rare{i}" for i in range(50))]
    codec = taken_for(values)
    assert codec.titles() == ["a=a", "a=b", "a is other"]
    assert "50 rare ones" in codec.why
    block = codec.block(pa.array(["a", "rare3", "new", None]), None).toarray()
    assert block.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_large_data_allow_more_values():
    assert most_levels(1_000) == most_levels(60_000) == 255
    assert most_levels(500_000) == 2_000
    assert most_levels(10**8) == 4_095


def test_texts_become_words_of_length_one_that_have_names():
    rng = np.random.default_rng(0)
    words = np.array(["refund", "late", "broken", "thanks", "order", "please"])
    values = [" ".join(rng.choice(words, 5)) + f" number{i}" for i in range(N)]
    codec = taken_for(values)
    assert codec.kind == "text"
    assert codec.width == 4096
    assert "a: refund" in {title.partition("|")[0] for title in codec.titles()}
    block = codec.block(pa.array(["refund", None, "Refund, refund! late", "?"]), None)
    assert np.sqrt(block.multiply(block).sum(axis=1)) == pytest.approx([1.0, 0.0, 1.0, 0.0])
    assert block[[0]].nnz == 1
    assert block[[2]].nnz == 2


def test_a_word_that_occurs_again_adds_less_but_for_models_of_earlier_versions():
    texts = [f"alpha beta gamma number{i}" for i in range(N)]
    codec = taken_for(texts, "text")
    earlier = copy.copy(codec)
    del earlier.__dict__["damped"]
    for one, expected in [(codec, 1.0 + np.log(10.0)), (earlier, 10.0)]:
        entries = np.sort(one.block(pa.array([f"{'alpha ' * 10}beta"]), None).data)
        assert entries[1] / entries[0] == pytest.approx(expected, rel=1e-6)


def test_names_whose_words_recur_are_texts_and_names_of_people_are_not():
    brands = [f"{('ford', 'opel', 'audi', 'fiat', 'seat', 'saab')[i % 6]} model{i}" for i in range(N)]
    assert taken_for(brands).kind == "text"
    with pytest.warns(ColumnWarning, match="an identifier"):
        assert taken_for([f"Ann{i} Bee{i}" for i in range(N)], x=np.arange(N, dtype=float)).kind == "left out"


def test_a_text_can_be_asked_for_and_a_wrong_wish_is_told():
    assert taken_for(some("one word", "two words"), "text").kind == "text"
    with pytest.raises(ValueError, match=r"columns: 'a' cannot be 'words'\. A column can be number, boolean"):
        taken_for(some("x", "y"), "words")
    with pytest.raises(DataError, match=r"there is no column 'b' to .*\. Its columns are: 'a'"):
        encoder_of({"a": np.arange(4.0)}, columns={"b": "number"})
    days = np.array(DAYS, dtype="M8[D]")
    for values, wanted, message in [
        (some("x", "y"), "date", "it is to be a date, and none of its values is one"),
        (np.arange(N), "date", "it is to be a date, and none of its values is one"),
        (some("x", "y"), "number", "it is to be a number, and none of its values is one"),
        (some("x", "y"), "decimal comma", "it is to be a number, and none of its values is one"),
        (some("x", "y"), "boolean", "it is to be boolean, and its values are not two"),
        (np.arange(N), "boolean", "it is to be boolean, and its values are not two"),
        *((days, kind, "and it holds dates or times") for kind in ("number", "category", "text", "boolean")),
    ]:
        with pytest.raises(DataError, match=message):
            encoder_of({"a": np.asarray(values)}, columns={"a": wanted})
    assert taken_for(some("0", "1"), "boolean").kind == "boolean"
    with pytest.raises(TypeError, match=r"columns must be a dict, such as {'zip': 'category'}; got \['a'\]"):
        encoder_of({"a": np.arange(4.0)}, columns=["a"])


def test_numbers_can_be_categories_by_name():
    table = {"zip": np.arange(N) % 3, "x": np.arange(N, dtype=float)}
    assert encoder_of(table, columns={"zip": "category"}).feature_names == ("zip=0", "zip=1", "zip=2", "x")
    with_gap = np.where(np.arange(N) % 7 == 0, np.nan, table["zip"])
    found = encoder_of({"zip": with_gap}, columns={"zip": "category"})
    assert found.feature_names == ("zip=0", "zip=1", "zip=2", "zip is missing")


def test_the_encoder_prints_a_table():
    encoder = encoder_of({"colour": np.array(some("red", "blue"), dtype=object), "x": np.arange(N, dtype=float)})
    assert str(encoder).splitlines() == [
        "column  taken for  columns  why",
        "colour  category         2  2 different values",
        "x       number           1  its type",
    ]


def test_summaries_of_parts_merge_to_the_summary_of_the_whole():
    table = pd.DataFrame(nasty_tables()).assign(x=np.arange(N) * 0.5)
    columns = {"identifiers": "ignore", "numbers with a strange word": "number", "words among numbers": "number"}
    whole = encoder_of(table, columns=columns)
    parts = []
    for start in range(0, N, 64):
        stream = open_stream([table[start : start + 64]], columns=columns)
        parts.append(EncoderFit(stream.encoder))
        rows = {name: pa.array(table[name][start : start + 64]) for name in table}
        parts[-1].add(rows, len(rows["x"]), stream._readers[0].place(0))
    for other in parts[1:]:
        parts[0].merge(other)
    parts[0].finish()
    assert parts[0].encoder.feature_names == whole.feature_names
    assert parts[0].encoder.codecs == whole.codecs


def test_dates_written_alike_are_read_as_any_others():
    alike = ["2026-05-31 10:30:00", "1969-12-31T23:59:59", "0050-02-28 00:00:00", "2024-02-29 24:00:00"]
    for texts in (alike, ["2026-05-31", "2023-02-29", "0069-01-01"], *([text] for text in alike)):
        together, apart = parse_dates(pa.array(texts)), parse_dates(pa.array([*texts, "1 Jan 2000"]))
        for order, seconds in apart.seconds.items():
            np.testing.assert_array_equal(together.seconds[order], seconds[:-1])


def test_what_words_weigh_does_not_depend_on_where_dates_stand():
    rng = np.random.default_rng(0)
    dates = [f"2024-05-{day:02d} 10:30:00" for day in rng.integers(1, 29, size=200)]
    texts = [f"word {number} of {number % 7} in a text that differs" for number in rng.integers(0, 900, size=600)]
    first = taken_for([*dates, *texts], "text")
    assert first == taken_for([*texts, *dates], "text")
    assert first.idf.max() > first.idf.min()


def test_acceptance_does_not_depend_on_the_rows():
    rng = np.random.default_rng(0)
    remarks = [f"remark {rng.integers(10**6)} on {'delivery ' * rng.integers(1, 12)}" for _ in range(12_000)]
    for rows in (remarks[:8_000], remarks[4_000:], remarks):
        assert taken_for(rows).kind == "text"
    days = [str(np.datetime64("2000-01-01") + k) for k in range(12_000)]
    for rows in (days[:9_000], days):
        assert taken_for(rows).kind == "date"


def test_a_list_of_dicts_is_told_what_to_become():
    with pytest.raises(TypeError, match=r"X is a list of dicts.*pandas.DataFrame\(X\)"):
        MeasureClassifier().fit([{"a": 1}, {"a": 2}], [0, 1])
