"""Raw columns as a matrix."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise.persistence import OWN_TYPES
from ratewise.streams import DataError, Encoder, open_stream

quick = settings(deadline=None, max_examples=40)


def learned(table, **options):
    """The encoder and the survey of a table."""
    size = len(next(iter(table.values())))
    stream = open_stream([(table, np.arange(size) % 2)], **options)
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


def test_many_columns_of_categories_make_a_sparse_matrix_with_the_same_numbers():
    names = [f"v{i:03d}" for i in range(160)]
    columns = {
        "a": objects(*names),
        "n": np.array([np.nan, *range(159)]),
        "b": objects(*reversed(names)),
    }
    encoder, _ = learned(columns, columns={"a": "category", "b": "category"})
    assert encoder.sparse
    X = encoder.transform(columns)
    assert sparse.issparse(X)
    assert X.format == "csr"
    assert X.dtype == np.float32
    expected = np.hstack([np.eye(160), columns["n"][:, None], np.eye(160)[::-1]])
    expected[0, 160] = 79.0
    expected[:, 160] -= 79.0  # nothing centers a sparse matrix later
    assert np.array_equal(X.toarray(), expected)
    assert X.nnz == 160 * 3 - 2  # the two 0 are not stored
    window = next(open_stream([(columns, np.arange(160) % 2)], encoder=encoder).windows())
    assert np.array_equal(window.X.toarray(), expected)


def test_numbers_that_are_mostly_0_stay_so_in_a_sparse_matrix():
    rows = np.arange(1600)
    a, b = (np.array([f"v{i % k}" for i in rows], dtype=object) for k in (160, 200))
    columns = {"a": a, "b": b, "n": np.where(rows % 20, 0.0, 3.0)}
    encoder, _ = learned(columns)
    assert encoder.transform(columns)[:, [360]].nnz == 80


@quick
@given(
    values=st.lists(st.one_of(st.none(), st.from_regex(r"[a-d]{1,2}x", fullmatch=True)), min_size=2, max_size=40),
    cut=st.integers(1, 39),
)
def test_one_hot_columns_give_back_the_values(values, cut):
    column = objects("ax", *values)[1:] if any(values) else objects("ax", *values)
    values = column.tolist()
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
    assert stream.encoder.codecs[0].mean == pytest.approx(expected, rel=1e-9, abs=1e-4)


def test_an_infinite_number_is_refused_with_row_and_column():
    encoder, _ = learned({"a": np.arange(3.0), "b": np.arange(3.0)})
    with pytest.raises(DataError, match=r"row 2, column 'b': inf is infinite"):
        encoder.transform({"a": np.arange(3.0), "b": np.array([1.0, np.inf, np.nan])})
    with pytest.raises(DataError, match=r"row 3, column 'b': 1e\+39 is infinite, or too large"):
        encoder.transform({"a": np.arange(3.0), "b": np.array([1.0, 0.0, 1e39])})
    with pytest.raises(DataError, match=r"row 2, column 'b': -inf is infinite"):
        learned({"a": np.arange(3.0), "b": np.array([1.0, -np.inf, np.nan])})


@pytest.mark.parametrize("columns", [MIXED, {"u": objects(*(f"one of {i} words" for i in range(400)))}])
def test_it_survives_pickle(columns):
    encoder, _ = learned(columns)
    copy = pickle.loads(pickle.dumps(encoder))
    assert copy.feature_names == encoder.feature_names
    found, expected = copy.transform(columns), encoder.transform(columns)
    assert (found != expected).nnz == 0 if sparse.issparse(found) else np.array_equal(found, expected)


def test_it_survives_skops():
    skops_io = pytest.importorskip("skops.io")
    encoder, _ = learned(MIXED)
    copy = skops_io.loads(skops_io.dumps(encoder), trusted=list(OWN_TYPES))
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


def test_dates_become_days_since_the_first_and_times_seconds():
    pa = pytest.importorskip("pyarrow")
    import datetime

    moment = datetime.datetime(2020, 1, 1, 12, 0)
    for value, title, expected in (
        (moment.date(), "when in days since 2020-01-01", 0.0),
        (moment, "when in days since 2020-01-01", 0.5),
        (moment.time(), "when in seconds", 43_200.0),
        (datetime.timedelta(days=1, seconds=2), "when in seconds", 86_402.0),
    ):
        column = pa.array([value, None, value])
        encoder, survey = learned({"when": column})
        assert encoder.feature_names[0] == title
        assert encoder.n_features == (3 if isinstance(value, datetime.time) else 1)  # the hour, of a time of day
        assert survey.missing == {"when": 1}
        assert encoder.transform({"when": column})[:, 0].tolist() == [expected] * 3
    column = np.array(["2020-01-01", "NaT", "2020-01-03"], dtype="M8[D]")
    encoder, _ = learned({"when": column})
    assert encoder.transform({"when": column}).ravel().tolist() == [0.0, 1.0, 2.0]


def test_a_date_where_numbers_were_learned_is_refused_and_the_other_way_round():
    dates, numbers = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), np.array([1.0, 2.0])
    of_dates, _ = learned({"a": dates})
    of_numbers, _ = learned({"a": numbers})
    with pytest.raises(DataError, match="column 'a': dates or times are expected here, and it holds numbers"):
        of_dates.transform({"a": numbers})
    with pytest.raises(DataError, match="column 'a': numbers are expected here, and it holds dates or times"):
        of_numbers.transform({"a": dates})


def test_columns_of_other_types_are_refused_with_what_to_do():
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    for values, advice in (
        (pa.array([[1], [2]]), "list.*column of numbers for each entry"),
        (pa.array([{"a": 1}, {"a": 2}]), "struct.*column for each field"),
        (pa.array([b"a", b"b"]), "binary.*Decode it to text"),
        (pd.Series(pd.interval_range(0, 2)), "nterval.*ends as two columns"),
        (pd.Series(pd.period_range("2024-01", periods=2, freq="M")), "eriod.*Make it dates"),
    ):
        table = pd.DataFrame({"when": values, "y": [0, 1]}) if isinstance(values, pd.Series) else None
        table = pa.table({"when": values, "y": [0, 1]}) if table is None else table
        with pytest.raises(DataError, match=rf"column 'when': it holds .*{advice}.*columns={{'when': 'ignore'}}"):
            open_stream([table], target="y")


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
        DataError, match=r"labels as large as 9007199254740992 cannot be distinguished.*make them text"
    ):
        open_stream([(X, np.array([2.0**53, 1.0] * 2))]).survey()
