"""Columns far from 0, such as times in seconds: what they tell must not drown in the rounding of float32."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy import sparse

from ratewise import MeasureClassifier, open_stream

N = 4000
every_offset = pytest.mark.parametrize("offset", [1e6, 1e9, 1e12])


def rows(offset, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(N) < 0.3).astype(int)
    return np.column_stack([offset + 20.0 * (rng.standard_normal(N) + 1.5 * y), rng.standard_normal(N)]), y


def classifier():
    return MeasureClassifier("f1", sharpen=False, random_state=0)


def in_memory(offset, folder):
    return classifier().fit(*rows(offset))


def by_partial_fit(offset, folder):
    fitted, (X, y) = classifier(), rows(offset)
    for start in range(0, N, 500):
        fitted.partial_fit(X[start : start + 500], y[start : start + 500], classes=[0, 1])
    return fitted


def from_npy(offset, folder):
    np.save(folder / "rows.npy", np.column_stack(rows(offset)))
    return classifier().fit_stream(open_stream(folder / "rows.npy", target=2))


def from_parquet_in_windows(offset, folder):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = rows(offset)
    parquet.write_table(pa.table({"when": X[:, 0], "x": X[:, 1], "y": y}), folder / "rows.parquet")
    stream = open_stream(folder / "rows.parquet", target="y", window_rows=1000)
    return classifier().fit_stream(stream, checkpoint=folder / "fit.checkpoint")


def from_batches_read_once(offset, folder):
    X, y = rows(offset)
    batches = ((X[start : start + 500], y[start : start + 500]) for start in range(0, N, 500))
    return classifier().fit_stream(open_stream(batches, window_rows=1000))


def from_dask_arrays(offset, folder):
    da = pytest.importorskip("dask.array")
    from ratewise.distributed import DaskMeasureClassifier

    X, y = rows(offset)
    fitted = DaskMeasureClassifier("f1", sharpen=False, random_state=0, merging="models")
    return fitted.fit(da.from_array(X, chunks=(1000, 2)), da.from_array(y, chunks=1000)).to_local()


ROADS = [in_memory, by_partial_fit, from_npy, from_parquet_in_windows, from_batches_read_once, from_dask_arrays]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("road", ROADS)
def test_an_offset_costs_nothing_on_any_road(road, tmp_path):
    expected = road(0.0, tmp_path).score(*rows(0.0, seed=1))
    assert expected > 0.55
    for offset in (1e6, 1e9, 1e12):
        folder = tmp_path / f"{offset:g}"
        folder.mkdir()
        assert road(offset, folder).score(*rows(offset, seed=1)) == pytest.approx(expected, abs=0.005)


@every_offset
def test_windows_score_as_predict_does(offset, tmp_path):
    X, y = rows(offset)
    np.save(tmp_path / "rows.npy", X)
    fitted = in_memory(offset, tmp_path)
    stream = open_stream([(X, y)])
    stream.survey()
    windows = open_stream(tmp_path / "rows.npy", encoder=stream.encoder).windows()
    scores = np.concatenate([window.X @ fitted.coef_[0] + fitted.intercept_[0] for window in windows])
    assert np.mean((scores > 0) == fitted.predict(X)) > 0.999


def test_only_columns_that_float32_would_blur_are_held_in_float64():
    near, far = rows(1e3)[0], rows(1e9)[0]
    for X, width in ((near, np.float32), (far, np.float64), (far.astype(np.float32), np.float32)):
        stream = open_stream([(X, np.arange(N) % 2)])
        stream.survey()
        assert {window.X.dtype for window in stream.windows()} == {np.dtype(width)}
    constant = open_stream([(np.full((N, 1), 0.1 + 1e9), np.arange(N) % 2)])
    constant.survey()
    assert not constant.encoder.wide


@every_offset
def test_an_onnx_graph_agrees_with_predict(offset, tmp_path):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from ratewise.onnx import export_onnx

    fitted, file = in_memory(offset, tmp_path), io.BytesIO()
    export_onnx(fitted, file)
    X, _ = rows(offset, seed=1)
    labels = runtime.InferenceSession(file.getvalue()).run(["label"], {"X": X})[0]
    assert np.mean(labels == fitted.predict(X)) > 0.999


def test_sparse_rows_with_entries_that_repeat_are_fitted_as_their_sums():
    rng = np.random.default_rng(0)
    X, y = sparse.random(300, 20, 0.3, format="csr", random_state=0), rng.integers(0, 2, 300)
    repeated = sparse.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    assert np.array_equal(classifier().fit(repeated, y).coef_, classifier().fit(X, y).coef_)
