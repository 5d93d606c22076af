"""Raw columns as a matrix."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise.streams import DataError, Encoder, open_stream
from ratewise.streams.encode import BUCKETS, LARGEST_VOCABULARY, bucket_of

quick = settings(deadline=None, max_examples=40)


def learned(columns, **labels):
    """The encoder and the survey of a table."""
    size = len(next(iter(columns.values())))
    stream = open_stream([(columns, np.arange(size) % 2)], **labels)
    survey = stream.survey()
    return stream.encoder, survey


def objects(*values):
    return np.array(values, dtype=object)


MIXED = {
    "size": np.array([1.0, np.nan, 3.0, 8.0]),
    "colour": objects("red", "blue", None, "red"),
    "new": np.array([True, False, True, True]),
    "count": np.array([4, 5, 6, 7], dtype=np.int32),
}


def test_numbers_booleans_and_categories_each_become_columns():
    encoder, survey = learned(MIXED)
    assert encoder.fitted
    assert encoder.columns == ["size", "colour", "new", "count"]
    assert encoder.feature_names == ("size", "colour=blue", "colour=red", "colour is missing", "new", "count")
    assert encoder.n_features == 6
    assert survey.missing == {"size": 1}
    assert encoder.transform(MIXED).tolist() == [
        [1.0, 0.0, 1.0, 0.0, 1.0, 4.0],
        [4.0, 1.0, 0.0, 0.0, 0.0, 5.0],  # the mean of 1, 3 and 8
        [3.0, 0.0, 0.0, 1.0, 1.0, 6.0],
        [8.0, 0.0, 1.0, 0.0, 1.0, 7.0],
    ]


def test_the_matrix_is_float32_and_c_contiguous():
    X = learned(MIXED)[0].transform(MIXED)
    assert X.dtype == np.float32
    assert X.flags.c_contiguous


def tables_of(columns):
    pa, pd, pl = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    plain = {
        name: [None if value != value else value for value in column.tolist()] for name, column in columns.items()
    }
    arrow = pa.table(plain)
    categorical = arrow.set_column(1, "colour", arrow["colour"].dictionary_encode())
    return {
        "arrow": arrow,
        "arrow dictionary": categorical,
        "record batch": arrow.to_batches()[0],
        "pandas": pd.DataFrame(plain),
        "pandas categorical": pd.DataFrame(plain).astype({"colour": "category"}),
        "polars": pl.DataFrame(plain),
        "polars categorical": pl.DataFrame(plain).with_columns(pl.col("colour").cast(pl.Categorical)),
    }


def test_every_kind_of_table_is_encoded_alike():
    encoder, _ = learned(MIXED)
    expected = encoder.transform(MIXED).tolist()
    for name, table in tables_of(MIXED).items():
        assert encoder.transform(table).tolist() == expected, name
        relearned, _ = learned_table(table)
        assert relearned.transform(table).tolist() == expected, name


def learned_table(table):
    stream = open_stream([(table, np.arange(4) % 2)])
    return stream.encoder, stream.survey()


def test_columns_are_found_by_name_in_any_order_among_others():
    encoder, _ = learned(MIXED)
    shuffled = {"other": np.zeros(4), **dict(reversed(MIXED.items()))}
    assert encoder.transform(shuffled).tolist() == encoder.transform(MIXED).tolist()


def test_a_missing_column_of_a_model_is_named():
    encoder, _ = learned(MIXED)
    with pytest.raises(DataError, match="no column 'colour', which the model was trained on"):
        encoder.transform({name: column for name, column in MIXED.items() if name != "colour"})


def test_a_value_never_seen_gives_zeros():
    encoder, _ = learned({"colour": objects("red", "blue")})
    assert encoder.transform({"colour": objects("green", "red", None)}).tolist() == [[0, 0], [0, 1], [0, 0]]


def test_a_column_without_any_number_becomes_zeros():
    encoder, survey = learned({"a": np.full(4, np.nan), "b": np.ones(4)})
    assert survey.missing == {"a": 4}
    assert encoder.transform({"a": np.array([np.nan]), "b": np.array([2.0])}).tolist() == [[0.0, 2.0]]


def test_a_vocabulary_that_overflows_is_hashed():
    names = [f"user {i}" for i in range(LARGEST_VOCABULARY + 1)]
    encoder, survey = learned({"user": objects(*names), "n": np.arange(len(names))})
    assert survey.hashed == {"user": BUCKETS}
    assert encoder.n_features == BUCKETS + 1
    assert encoder.feature_names[:2] == ("user#0", "user#1")
    X = encoder.transform({"user": objects("user 3", "somebody else"), "n": np.zeros(2)})
    assert X[:, :BUCKETS].argmax(axis=1).tolist() == [bucket_of("user 3", 256), bucket_of("somebody else", 256)]
    assert X.sum() == 2.0


def test_the_largest_vocabulary_is_not_hashed():
    names = [f"user {i}" for i in range(LARGEST_VOCABULARY)]
    encoder, survey = learned({"user": objects(*names)})
    assert survey.hashed == {}
    assert encoder.n_features == LARGEST_VOCABULARY
    assert encoder.transform({"user": objects(*names)}).sum() == LARGEST_VOCABULARY


def test_hashes_are_the_same_everywhere():
    assert bucket_of("123456789", 256) == 0x26  # CRC-32's published check value is CBF43926
    assert bucket_of("", 256) == 0


def test_many_columns_of_categories_make_a_sparse_matrix_with_the_same_numbers():
    names = [f"v{i:03d}" for i in range(160)]
    columns = {
        "a": objects(*names),
        "n": np.array([np.nan, *range(159)]),
        "b": objects(*reversed(names)),
    }
    encoder, _ = learned(columns)
    assert encoder.sparse
    X = encoder.transform(columns)
    assert sparse.issparse(X)
    assert X.format == "csr"
    assert X.dtype == np.float32
    expected = np.hstack([np.eye(160), columns["n"][:, None], np.eye(160)[::-1]])
    expected[0, 160] = 79.0
    assert np.array_equal(X.toarray(), expected)
    assert X.nnz == 160 * 3 - 1  # the one 0 is not stored
    window = next(open_stream([(columns, np.arange(160) % 2)], encoder=encoder).windows())
    assert np.array_equal(window.X.toarray(), expected)


@quick
@given(
    values=st.lists(st.one_of(st.none(), st.text(max_size=5)), min_size=2, max_size=40),
    cut=st.integers(1, 39),
)
def test_one_hot_columns_give_back_the_values(values, cut):
    column = objects(*values)
    encoder, _ = learned({"a": column})
    X = np.vstack([encoder.transform({"a": part}) for part in (column[:cut], column[cut:]) if part.size])
    names = np.array(encoder.feature_names, dtype=object)
    assert (X.sum(axis=1) == 1.0).all()
    expected = ["a is missing" if value is None else f"a={value}" for value in values]
    assert names[X.argmax(axis=1)].tolist() == expected


@quick
@given(
    numbers=st.lists(st.one_of(st.just(float("nan")), st.floats(-1e6, 1e6, width=32)), min_size=1, max_size=50),
    cut=st.integers(0, 50),
)
def test_means_of_parts_are_the_mean_of_the_whole(numbers, cut):
    column = np.array(numbers)
    parts = [({"a": part}, np.arange(part.size)) for part in (column[:cut], column[cut:]) if part.size]
    stream = open_stream([(part, np.zeros(part["a"].size)) for part, _ in parts] + [({"a": np.zeros(0)}, [])])
    with pytest.raises(DataError, match="two classes"):
        stream.survey()
    stream = open_stream([part for part, _ in parts])
    survey = stream.survey()
    assert survey.missing.get("a", 0) == np.isnan(column).sum()
    expected = np.nanmean(column) if np.isfinite(column).any() else 0.0
    assert stream.encoder.means[0] == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_an_infinite_number_is_refused_with_row_and_column():
    encoder, _ = learned({"a": np.arange(3.0), "b": np.arange(3.0)})
    with pytest.raises(DataError, match=r"row 2, column 'b': inf is infinite"):
        encoder.transform({"a": np.arange(3.0), "b": np.array([1.0, np.inf, np.nan])})
    with pytest.raises(DataError, match=r"row 3, column 'b': 1e\+39 is infinite, or too large"):
        encoder.transform({"a": np.arange(3.0), "b": np.array([1.0, 0.0, 1e39])})
    with pytest.raises(DataError, match=r"row 2, column 'b': -inf is infinite"):
        learned({"a": np.arange(3.0), "b": np.array([1.0, -np.inf, np.nan])})


@pytest.mark.parametrize("columns", [MIXED, {"u": objects(*(f"u{i}" for i in range(400)))}])
def test_it_survives_pickle(columns):
    encoder, _ = learned(columns)
    copy = pickle.loads(pickle.dumps(encoder))
    assert copy.feature_names == encoder.feature_names
    assert np.array_equal(copy.transform(columns), encoder.transform(columns))


def test_it_survives_skops():
    skops_io = pytest.importorskip("skops.io")
    encoder, _ = learned(MIXED)
    copy = skops_io.loads(skops_io.dumps(encoder), trusted=["ratewise.streams.encode.Encoder"])
    assert np.array_equal(copy.transform(MIXED), encoder.transform(MIXED))


def test_numeric_columns_have_no_kinds_to_keep():
    encoder, _ = learned({"a": np.arange(3.0), "b": np.arange(3)})
    assert not encoder.kinds
    assert learned(MIXED)[0].kinds
    assert Encoder(3).columns == ["x0", "x1", "x2"]


def test_matrices_are_encoded_column_by_column():
    stream = open_stream([(np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 0.0]]), [0, 1, 0])])
    assert stream.survey().missing == {"x1": 1}
    assert stream.encoder.transform(np.array([[np.nan, np.nan]])).tolist() == [[3.0, 2.0]]
    with pytest.raises(DataError, match="3 columns, where 2 are expected"):
        stream.encoder.transform(np.zeros((1, 3)))


def test_sparse_rows_must_be_finite():
    X = sparse.csr_array(np.array([[0.0, 1.0], [np.nan, 0.0]]))
    stream = open_stream([(X, [0, 1])])
    with pytest.raises(DataError, match="row 2: nan in column 0"):
        list(stream.windows())


def test_dates_and_times_become_seconds():
    pa = pytest.importorskip("pyarrow")
    import datetime

    moment = datetime.datetime(2020, 1, 1, 12, 30, 15, 500_000)
    midnight = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC).timestamp()
    for value, seconds in (
        (moment.date(), midnight),
        (moment, midnight + 45_015.5),
        (moment.time(), 45_015.5),
        (datetime.timedelta(days=1, seconds=2), 86_402.0),
    ):
        column = pa.array([value, None, value])
        encoder, survey = learned({"when": column})
        assert encoder.feature_names == ("when in seconds",)
        assert survey.missing == {"when": 1}
        assert encoder.transform({"when": column}).ravel() == pytest.approx([seconds] * 3, rel=1e-7)
    column = np.array(["2020-01-01", "NaT", "2020-01-03"], dtype="M8[D]")
    encoder, _ = learned({"when": column})
    assert encoder.transform({"when": column}).ravel().tolist() == [midnight + 86_400.0 * day for day in (0, 1, 2)]


def test_a_date_where_numbers_were_learned_is_refused_and_the_other_way_round():
    dates, numbers = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), np.array([1.0, 2.0])
    of_dates, _ = learned({"a": dates})
    of_numbers, _ = learned({"a": numbers})
    with pytest.raises(DataError, match="column 'a': dates or times are expected here, and it holds numbers"):
        of_dates.transform({"a": numbers})
    with pytest.raises(DataError, match="column 'a': numbers are expected here, and it holds dates or times"):
        of_numbers.transform({"a": dates})


def test_nested_and_binary_columns_are_refused_by_name():
    pa = pytest.importorskip("pyarrow")

    for values, what in (
        (pa.array([[1], [2]]), "list"),
        (pa.array([b"a", b"b"]), "binary"),
    ):
        with pytest.raises(DataError, match=f"column 'when': it holds {what}.*features="):
            open_stream([pa.table({"when": values, "y": [0, 1]})], target="y")


def test_long_text_is_refused_by_name():
    with pytest.raises(DataError, match="column 'note': it holds long text"):
        learned({"note": objects("x" * 65, "y" * 70)})
    learned({"note": objects("x" * 64, "y" * 60)})


def test_too_many_different_texts_are_refused_by_name():
    with pytest.raises(DataError, match="column 'id': it holds more than 10,000 different texts"):
        learned({"id": objects(*(f"{i}" for i in range(10_001)))})


def test_a_large_dictionary_of_which_few_values_occur_is_no_burden():
    pa = pytest.importorskip("pyarrow")
    values = pa.array([f"v{i}" for i in range(20_000)])
    column = pa.DictionaryArray.from_arrays(pa.array([7, None, 19_999], pa.int32()), values)
    encoder, _ = learned({"a": column})
    assert encoder.feature_names == ("a=v19999", "a=v7", "a is missing")
    assert encoder.transform({"a": column}).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize("type_name", ["int8", "uint16", "int64", "float16", "float64", "bool_", "decimal"])
def test_every_width_of_number_is_read(type_name):
    pa = pytest.importorskip("pyarrow")
    dtype = pa.decimal128(12, 2) if type_name == "decimal" else getattr(pa, type_name)()
    column = pa.array([1, 0, None, 1]).cast(pa.float64() if type_name == "float16" else pa.int32()).cast(dtype)
    encoder, survey = learned({"a": column})
    assert survey.missing == {"a": 1}
    assert encoder.transform({"a": column}).ravel() == pytest.approx([1.0, 0.0, 2 / 3, 1.0])


@pytest.mark.parametrize("form", ["{},5", "${}.20", "{}%", "{} %", "1.{:03},50", "(1,{:03}.00)", "\u20ac {},5"])
def test_numbers_written_as_texts_are_refused_with_an_example(form):
    texts = objects(*(form.format(i) for i in range(10, 60)))
    with pytest.raises(DataError, match=r"column 'price': it holds numbers written as texts, such as .*features="):
        learned({"price": texts, "x": np.arange(50.0)})
    few = objects(*(form.format(i % 5) for i in range(50)))
    assert learned({"price": few})[1].categories == {"price": 5}


@pytest.mark.parametrize("form", ["{}", "{:05}", "A{}", "{}-1", "10.0.0.{}", "{}:30", "v1.{}.2"])
def test_codes_versions_and_times_of_day_are_categories(form):
    texts = objects(*(form.format(i) for i in range(10, 60)))
    assert learned({"code": texts})[1].categories == {"code": 50}


def test_weights_beyond_what_float32_squares_hold_are_refused():
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(
        DataError, match=r"row 2.*must be 0, or between 1e-30 and 1e\+30; it is 1e-40.*by their mean"
    ):
        list(open_stream([(X, y, np.array([1.0, 1e-40, 0.0, 1.0]))]).windows())


def test_labels_that_floats_cannot_tell_apart_are_refused():
    X = np.eye(4)
    assert open_stream([(X, np.array([2**53, 2**53 + 1] * 2))]).survey().label_counts == {2**53: 2, 2**53 + 1: 2}
    with pytest.raises(
        DataError, match=r"labels as large as 9007199254740992 cannot be told apart.*make them text"
    ):
        open_stream([(X, np.array([2.0**53, 1.0] * 2))]).survey()


def test_texts_of_decimal_numbers_are_refused_unless_they_recur_as_codes_do():
    numbers = [f"{i / 7:.3f}" for i in range(100)]
    with pytest.raises(DataError, match=r"column 'a': it holds numbers written as texts, such as '0\.000'"):
        open_stream([{"a": np.array(numbers), "y": np.arange(100) % 2}], target="y").survey()
    codes = np.array([f"{250 + i % 30}.{i % 2}" for i in range(300)])
    survey = open_stream([{"a": codes, "y": np.arange(300) % 2}], target="y").survey()
    assert survey.categories == {"a": 30}
