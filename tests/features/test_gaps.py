"""With a basis, missing numbers and dates are a level of their own, whichever way rows come in."""

from __future__ import annotations

import numpy as np
import pytest

from ratewise import MeasureClassifier, load_model, open_stream, save_model
from ratewise.transforms import Standardizer, with_means

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

N, TRAIN = 1_500, 1_000
INDICATORS = ["age is missing", "seen in days since 2024-01-01 is missing", "member is missing"]


def people(seed=0):
    """People of whom those without an age, a date or an answer are mostly positive."""
    rng = np.random.default_rng(seed)
    gone = rng.random((N, 3)) < 0.15
    days = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N) % 400, unit="D"))
    table = pd.DataFrame(
        {
            "age": np.where(gone[:, 0], np.nan, rng.normal(50.0, 10.0, N)),
            "income": rng.gamma(2.0, 20.0, N),
            "seen": days.mask(gone[:, 1]),
            "member": pd.array(np.where(gone[:, 2], None, rng.random(N) < 0.5), dtype="boolean"),
            "town": rng.choice(["north", "south", "west"], N),
        }
    )
    y = (gone.sum(axis=1) + 0.3 * rng.normal(size=N) > 0.5).astype(int)
    return table, y


TABLE, Y = people()


def classifier(basis="splines", **more):
    return MeasureClassifier("f1", basis=basis, random_state=0, **more)


@pytest.fixture(scope="module")
def in_memory():
    return classifier(encode="auto").fit(TABLE[:TRAIN], Y[:TRAIN])


def score(model):
    return model.score(TABLE[TRAIN:], Y[TRAIN:])


def test_gaps_of_a_table_are_columns_and_help(in_memory):
    names = in_memory.get_feature_names_out().tolist()
    assert [name for name in names if "missing" in name] == INDICATORS
    filled = classifier(None, encode="auto").fit(TABLE[:TRAIN], Y[:TRAIN])
    assert score(in_memory) > 0.95 > 0.7 > score(filled)


def test_auto_keeps_gaps_where_curves_do_not_help():
    found = classifier("auto", encode="auto").fit(TABLE[:TRAIN], Y[:TRAIN])
    assert "age is missing" in found.get_feature_names_out()
    assert score(found) > 0.95


def test_every_way_in_gives_the_same_model(in_memory, tmp_path):
    pl = pytest.importorskip("polars")
    rows = TABLE[:TRAIN].assign(y=Y[:TRAIN])
    rows.to_parquet(tmp_path / "rows.parquet")
    sources = [tmp_path / "rows.parquet", [rows], [pl.from_pandas(rows)], [pa.Table.from_pandas(rows)]]
    expected = in_memory.decision_function(TABLE)
    for source in sources:
        found = classifier().fit_stream(open_stream(source, target="y"))
        assert found.decision_function(TABLE).tobytes() == expected.tobytes()
        stream = open_stream(source, target="y", encoder=found.encoder_)
        matrix = np.concatenate([window.X for window in stream.windows()])
        assert matrix.tobytes() == in_memory.encoder_.transform(TABLE[:TRAIN]).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("basis", ["splines", "auto"])
def test_windows_of_files_keep_gaps(basis, tmp_path):
    TABLE[:TRAIN].assign(y=Y[:TRAIN]).to_parquet(tmp_path / "rows.parquet", row_group_size=250)
    stream = open_stream(tmp_path / "rows.parquet", target="y", window_rows=250)
    found = classifier(basis).fit_stream(stream, checkpoint=tmp_path / "fit")
    assert set(INDICATORS) <= set(found.get_feature_names_out())
    assert score(found) > 0.95
    plain = classifier(None).fit_stream(stream)  # the same stream, whose gaps are filled again
    assert plain.basis_ is None
    assert np.isnan(found.encoder_.transform(TABLE)).any()
    assert not np.isnan(plain.encoder_.transform(TABLE)).any()


def test_windows_of_a_matrix_and_a_stream_read_once_keep_gaps():
    X = TABLE[["age", "income"]].to_numpy(np.float32)
    y = (np.isnan(X[:, 0]) | (X[:, 1] > 80)).astype(int)
    parts = [(X[start : start + 250], y[start : start + 250]) for start in range(0, TRAIN, 250)]
    expected = classifier().fit(X[:TRAIN], y[:TRAIN])
    found = classifier().fit_stream(open_stream(parts))
    assert found.coef_.tobytes() == expected.coef_.tobytes()
    once = classifier().fit_stream(open_stream(part for part in parts))
    assert once.get_feature_names_out().tolist()[:3] == ["x0", "x1", "x0 is missing"]
    assert min(once.score(X[TRAIN:], y[TRAIN:]), found.score(X[TRAIN:], y[TRAIN:])) > 0.9


def test_batches_of_a_table_keep_gaps():
    found = classifier(encode="auto")
    for start in range(0, TRAIN, 250):
        found.partial_fit(TABLE[start : start + 250], Y[start : start + 250], classes=[0, 1])
    assert set(INDICATORS) <= set(found.get_feature_names_out())
    assert score(found) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("merging", ["auto", "gradients", "models"])
def test_shards_keep_gaps(merging, in_memory):
    frames = pytest.importorskip("dask.dataframe")
    from ratewise.distributed import DaskMeasureClassifier

    rows = frames.from_pandas(TABLE[:TRAIN].assign(y=Y[:TRAIN]), npartitions=3)
    found = DaskMeasureClassifier("f1", basis="splines", merging=merging, random_state=0).fit(rows, target="y")
    assert set(INDICATORS) <= set(found.to_local().get_feature_names_out())
    assert score(found.to_local()) > 0.95


def test_shards_of_numbers_have_gaps_with_a_basis_only():
    arrays = pytest.importorskip("dask.array")
    from ratewise.distributed import DaskMeasureClassifier

    X = TABLE[["age", "income"]].to_numpy()
    rows = arrays.from_array(X, chunks=(500, 2)), arrays.from_array(Y, chunks=500)
    found = DaskMeasureClassifier("f1", basis="splines", random_state=0).fit(*rows)
    assert found.to_local().get_feature_names_out()[2] == "x0 is missing"
    with pytest.raises(ValueError, match="NaN in column 0"):
        DaskMeasureClassifier("f1", random_state=0).fit(*rows)


def test_model_files_and_graphs_keep_gaps(in_memory, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    from ratewise.onnx import export_onnx

    save_model(in_memory, tmp_path / "model.skops")
    expected = in_memory.decision_function(TABLE)
    assert load_model(tmp_path / "model.skops").decision_function(TABLE).tobytes() == expected.tobytes()
    export_onnx(in_memory, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    matrix = in_memory.encoder_.transform(TABLE).astype(np.float64)
    _, scores, _ = session.run(None, {session.get_inputs()[0].name: matrix})
    assert scores.ravel() == pytest.approx(expected, abs=1e-10)


def test_a_gap_that_no_row_of_the_fit_had_is_the_mean():
    full = TABLE[["income", "town"]]
    for basis in ("splines", None):
        found = classifier(basis, encode="auto").fit(full[:TRAIN], Y[:TRAIN])
        gap, mean = full[:1].assign(income=np.nan), full[:1].assign(income=full["income"][:TRAIN].mean())
        assert found.decision_function(gap) == pytest.approx(found.decision_function(mean), abs=1e-4)


def test_many_classes_share_the_indicators():
    three = np.where(TABLE["town"] == "west", 2, Y)
    found = classifier(encode="auto").fit(TABLE[:TRAIN], three[:TRAIN])
    assert set(INDICATORS) <= set(found.get_feature_names_out())
    assert found.score(TABLE[TRAIN:], three[TRAIN:]) > 0.9


@pytest.mark.parametrize("rows", [1, 7, 200])
def test_moments_with_gaps_are_those_of_filled_columns(rows):
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(200, 4)) * (1.0, 10.0, 0.1, 1.0) + 3.0
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, 3] = np.where(rng.random(200) < 0.5, 2.0, np.nan)  # constant, but for gaps
    found = Standardizer(4)
    for start in range(0, 200, rows):
        found.update_with_gaps(X[start : start + rows]).require_scalable(X[start : start + rows])
    filled = with_means(X)
    assert found.count == 200
    assert found.centre == pytest.approx(filled.mean(axis=0), rel=1e-9)
    assert found.scale[:3] == pytest.approx(filled.std(axis=0)[:3], rel=1e-9)
    assert found.scale[3] == 1.0
