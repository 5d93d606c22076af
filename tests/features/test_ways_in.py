"""A column is taken for the same, with the same bits, from every way in; and refused in the same words."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from nasty_tables import TAKEN_FOR, N, nasty_tables, refused_tables, some

from ratewise import ColumnWarning, MeasureClassifier, open_stream

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


def ways_in(frame, folder):
    """The same rows by every way in, as (name, what open_stream takes, with the labels in column y)."""
    pl = pytest.importorskip("polars")
    path = folder / "rows.csv"
    frame.to_csv(path, index=False)
    read = pd.read_csv(path)
    read.to_parquet(folder / "rows.parquet", row_group_size=70)
    arrow = pa.Table.from_pandas(read, preserve_index=False)
    cut = [read[start : start + 37] for start in range(0, len(read), 37)]
    return {
        "csv": path,
        "parquet": folder / "rows.parquet",
        "pandas": [read],
        "polars": [pl.from_pandas(read)],
        "polars.read_csv": [pl.read_csv(path, infer_schema_length=None, null_values=["NA", "N/A"])],
        "arrow": [arrow],
        "pyarrow.csv": [__import__("pyarrow.csv").csv.read_csv(path)],
        "batches": [pa.Table.from_pandas(part, schema=arrow.schema, preserve_index=False) for part in cut],
    }


@pytest.mark.parametrize("name", nasty_tables())
def test_every_way_in_gives_the_same_bits(name, tmp_path, monkeypatch):
    monkeypatch.setattr("ratewise.streams.formats.PIECE_BYTES", 2_000)
    monkeypatch.setattr("ratewise.streams.formats.csv._HEAD_BYTES", 1_000)
    frame = pd.DataFrame({"a": nasty_tables()[name], "x": np.arange(N) * 0.5, "y": np.arange(N) % 2})
    expected = None
    for way, source in ways_in(frame, tmp_path).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ColumnWarning)
            stream = open_stream(source, target="y")
            survey = stream.survey()
            (X,) = [window.X for window in stream.windows()]
        X = X.toarray() if hasattr(X, "toarray") else X
        assert stream.encoder.codec("a").kind == TAKEN_FOR[name], way
        assert X.shape == (N, stream.encoder.codec("a").width + 1), way
        assert name in ("empty", "identifiers") or np.ptp(X, axis=0).max() > 0.0, way
        found = stream.encoder.feature_names, survey.missing, X.tobytes()
        expected = expected or (way, found)
        assert found[:2] == expected[1][:2], (way, expected[0])
        assert found[2] == expected[1][2], (way, expected[0])


def encoded(source):
    stream = open_stream(source, target="y")
    stream.survey()
    return list(stream.windows())


def refusal(fit, *arguments, **options):
    with pytest.raises(ValueError, match="column") as refused:
        fit(*arguments, **options)
    return str(refused.value).partition("column")[2]


@pytest.mark.parametrize("name", refused_tables())
def test_every_way_in_gives_the_same_refusal(name, tmp_path):
    dask_frame = pytest.importorskip("dask.dataframe")
    from ratewise.distributed import DaskMeasureClassifier

    frame = pd.DataFrame({"a": refused_tables()[name], "y": np.arange(N) % 2})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        ways = ways_in(frame, tmp_path)
        found = {way: refusal(encoded, source) for way, source in ways.items()}
        (read,) = ways["pandas"]
        rows = dask_frame.from_pandas(read, npartitions=3)
        found["memory"] = refusal(MeasureClassifier(encode="auto").fit, read[["a"]], read["y"])
        found["dask"] = refusal(DaskMeasureClassifier(encode="auto").fit, rows, target="y")
    assert len(set(found.values())) == 1, found


@pytest.mark.parametrize("name", nasty_tables())
def test_dask_frames_give_the_bits_of_memory(name):
    dask_frame = pytest.importorskip("dask.dataframe")
    from ratewise.distributed import DaskMeasureClassifier

    table = pd.DataFrame({"a": nasty_tables()[name], "b": np.array(some("u", "v", "w")), "x": np.arange(N) * 0.5})
    y = pd.Series((np.arange(N) % 7 < 3).astype(int), name="y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        in_memory = MeasureClassifier("f1", sharpen=False, random_state=0, encode="auto").fit(table, y)
        frame = dask_frame.from_pandas(table.assign(y=y), npartitions=3)
        spread = DaskMeasureClassifier("f1", sharpen=False, random_state=0).fit(frame, target="y")
        assert spread.encoder_.codecs == in_memory.encoder_.codecs
        assert np.array_equal(spread.coef_, in_memory.coef_)
        assert np.array_equal(spread.predict(frame).compute(), in_memory.predict(table))


SAID = {
    "numbers with gaps": "category",
    "whole numbers with gaps": "category",
    "numbers far from 0": "text",
    "numbers with a strange word": "number",
    "booleans": "category",
    "words for booleans": "boolean",
    "iso dates": "elapsed",
    "local times with gaps": "day first",
    "categories with rare ones": "text",
    "codes": "category",
    "text": "ignore",
    "identifiers": "category",
    "identifiers with gaps": "text",
    "words among numbers": "number",
    "numbers of a unit": "text",
    "days as numbers with gaps": "elapsed",
    "times of day": "elapsed",
    "text without spaces": "text",
    "constant with gaps": "category",
    "empty": "category",
}


@pytest.mark.parametrize("name", nasty_tables())
def test_what_is_said_of_columns_holds_on_dask_as_in_memory(name, tmp_path):
    dask_frame = pytest.importorskip("dask.dataframe")
    from ratewise.distributed import DaskMeasureClassifier

    table = pd.DataFrame({"a": nasty_tables()[name], "b": np.array(some("u", "v", "w")), "x": np.arange(N) * 0.5})
    rows = table.assign(y=(np.arange(N) % 7 < 3).astype(int))
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    settings = {"sharpen": False, "random_state": 0, "columns": {"a": SAID[name]}}
    in_memory = MeasureClassifier("f1", encode="auto", **settings).fit(table, rows["y"])
    frame = dask_frame.from_pandas(rows, npartitions=3)
    for source in (frame, str(tmp_path)):
        spread = DaskMeasureClassifier("f1", **settings).fit(source, target="y")
        assert spread.encoder_.codecs == in_memory.encoder_.codecs
        assert np.array_equal(spread.coef_, in_memory.coef_)
        assert np.array_equal(spread.predict(frame).compute(), in_memory.predict(table))
    assert spread.to_local().columns == {"a": SAID[name]}


def test_what_is_said_of_columns_on_dask_is_checked_before_any_work():
    dask_frame, dask_array = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask.array")
    from ratewise.distributed import DaskMeasureClassifier

    table = pd.DataFrame({"a": np.arange(N) % 5, "x": np.arange(N) * 0.5, "y": np.arange(N) % 2})
    frame = dask_frame.from_pandas(table, npartitions=3)
    for columns, message in [
        ({"zip": "category"}, "there is no column 'zip' to take for 'category'. Its columns are: 'a', 'x'"),
        ({"a": "colour"}, "columns: 'a' cannot be 'colour'. A column can be number"),
    ]:
        with pytest.raises(ValueError, match=message):
            DaskMeasureClassifier(columns=columns).fit(frame, target="y")
    arrays = dask_array.ones((N, 2), chunks=(100, 2)), dask_array.zeros(N, chunks=100)
    with pytest.raises(ValueError, match="columns= is for tables: give a dask DataFrame"):
        DaskMeasureClassifier(columns={"a": "category"}).fit(*arrays)
    numbers = DaskMeasureClassifier("f1", columns={"a": "category"}, sharpen=False, random_state=0)
    assert numbers.fit(frame, target="y").feature_names_in_[:2].tolist() == ["a=0", "a=1"]


NUMBERS_ONLY = {
    "codes read as numbers": np.arange(N) % 7 + 501,
    "whole numbers beyond float64": 2**60 + np.arange(N),
    "scientific": np.arange(N) * 1e-30 + 1e-28,
    "far from 0": 1.7e12 + np.arange(N),
    "empty": np.full(N, np.nan),
    "gaps": np.where(np.arange(N) % 5 == 0, np.nan, np.arange(N) % 11),
    "booleans": np.arange(N) % 3 == 0,
    "float32": (np.arange(N) / 7).astype(np.float32),
}


@pytest.mark.parametrize("name", NUMBERS_ONLY)
def test_dask_frames_of_numbers_are_encoded_if_asked_to_be(name):
    dask_frame = pytest.importorskip("dask.dataframe")
    from ratewise.distributed import DaskMeasureClassifier

    rng = np.random.default_rng(0)
    y = pd.Series((rng.random(N) < 0.4).astype(int), name="y")
    table = pd.DataFrame({"a": NUMBERS_ONLY[name], "x": rng.normal(size=N) + y})
    settings = {"sharpen": False, "random_state": 0, "encode": "auto"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        in_memory = MeasureClassifier("f1", **settings).fit(table, y)
        frame = dask_frame.from_pandas(table.assign(y=y), npartitions=3)
        spread = DaskMeasureClassifier("f1", **settings).fit(frame, target="y")
        assert spread.encoder_.codecs == in_memory.encoder_.codecs
        assert np.array_equal(spread.coef_, in_memory.coef_)
        assert np.array_equal(spread.intercept_, in_memory.intercept_)
        assert np.array_equal(spread.decision_function(frame).compute(), in_memory.decision_function(table))


def test_dask_arrays_cannot_be_encoded():
    dask_array = pytest.importorskip("dask.array")
    from ratewise.distributed import DaskMeasureClassifier

    X, y = dask_array.ones((N, 2), chunks=(100, 2)), dask_array.zeros(N, chunks=100)
    with pytest.raises(ValueError, match="encode='auto' is for tables: give a dask DataFrame"):
        DaskMeasureClassifier(encode="auto").fit(X, y)
    with pytest.raises(ValueError, match="encode must be 'auto' or None; got 'yes'"):
        DaskMeasureClassifier(encode="yes").fit(X, y)
