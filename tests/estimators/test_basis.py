"""A basis wherever a fit is: memory, files, cluster, online, many classes, labels, bounds, model files, ONNX."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from ratewise import ConstraintWarning, MeasureClassifier, export_onnx, load_model, open_stream, save_model
from ratewise.features import SplineBasis


def curved(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of which a curve and a product tell the class, and no line does."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).astype(np.float32)
    noise = 0.5 * rng.normal(size=n_rows)
    return X, (np.abs(X[:, 0]) + 1.5 * X[:, 1] * X[:, 2] + noise > 1.7).astype(int)


X, y = curved(2000)
NEW = curved(2000, seed=1)


def fitted(basis: object, **options: object) -> MeasureClassifier:
    return MeasureClassifier("gmean", basis=basis, random_state=0, **options).fit(X, y)


def test_curves_and_pairs_find_what_lines_do_not() -> None:
    linear, splines, pairs = (fitted(basis).score(*NEW) for basis in (None, "splines", "pairs"))
    assert linear + 0.1 < splines
    assert splines + 0.05 < pairs


def test_auto_takes_the_simplest_that_does_about_as_well() -> None:
    auto = fitted("auto")
    assert auto.basis_.kind == "pairs"
    assert (auto.predict(NEW[0]) == fitted("pairs").predict(NEW[0])).all()
    rng = np.random.default_rng(0)
    linear_truth = (X @ [1.0, -1.0, 0.5, 0.0, 0.0] + rng.logistic(size=2000) > 2.0).astype(int)
    chosen = MeasureClassifier("gmean", basis="auto", random_state=0).fit(X, linear_truth)
    plain = MeasureClassifier("gmean", random_state=0).fit(X, linear_truth)
    assert chosen.basis_ is None
    np.testing.assert_array_equal(chosen.coef_, plain.coef_)


def test_coefficients_are_of_the_named_columns() -> None:
    model = fitted(SplineBasis(3, pairs=True))
    names = model.get_feature_names_out(list("abcde")).tolist()
    assert model.coef_.shape == (1, len(names)) == (1, 5 + 15 + 10)
    coef = dict(zip(names, model.coef_[0], strict=True))
    # Along one column the score bends by the coefficient of each hinge.
    knots = model.basis_.knots[0]
    grid = np.zeros((5, 5))
    grid[:, 0] = [knots[0] - 1, knots[0], (knots[0] + knots[1]) / 2, knots[1], (knots[1] + knots[2]) / 2]
    slopes = np.diff(model.decision_function(grid)) / np.diff(grid[:, 0])
    products = [coef[f"a * {other}"] / model.basis_.spread[0] * (0 - mean) / spread for other, mean, spread in
                zip("bcde", model.basis_.centre[1:], model.basis_.spread[1:], strict=True)]  # fmt: skip
    bends = [coef[name] for name in names if name.startswith("a >")]
    np.testing.assert_allclose(slopes[0] - sum(products), coef["a"], atol=1e-8)
    np.testing.assert_allclose(np.diff(slopes), [bends[0], 0.0, bends[1]], atol=1e-8)


def test_files_and_a_checkpoint_do_as_well_as_memory(tmp_path: object) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    rows, labels = curved(30_000, seed=3)
    table = pa.table({f"c{k}": rows[:, k] for k in range(5)} | {"label": labels})
    parquet.write_table(table, f"{tmp_path}/rows.parquet")
    model = MeasureClassifier("gmean", basis="pairs", random_state=0)
    memory = clone(model).fit(rows, labels).score(*NEW)
    stream = open_stream(f"{tmp_path}/rows.parquet", target="label")
    files = clone(model).fit_stream(stream, checkpoint=f"{tmp_path}/kept")
    assert files.basis_.kind == "pairs"
    predicted = files.basis_.scores(NEW[0], files.coef_[0], files.intercept_[0]) > 0
    assert files.measure_.score(NEW[1], predicted) > memory - 0.01


@pytest.mark.slow
def test_shards_do_as_well_as_memory() -> None:
    da = pytest.importorskip("dask.array")
    from ratewise.distributed import DaskMeasureClassifier

    rows, labels = curved(30_000, seed=3)
    shards = DaskMeasureClassifier("gmean", basis="auto", merging="models", random_state=0).fit(
        da.from_array(rows, chunks=(10_000, -1)), da.from_array(labels, chunks=10_000)
    )
    memory = MeasureClassifier("gmean", basis="auto", random_state=0).fit(rows, labels)
    assert shards.basis_.kind == memory.basis_.kind == "pairs"
    assert shards.to_local().score(*NEW) > memory.score(*NEW) - 0.01


def test_rows_that_come_in_batches_are_coded_by_the_knots_of_the_first() -> None:
    rows, labels = curved(20_000, seed=4)
    models = {}
    for basis in (None, "pairs"):
        model = MeasureClassifier("gmean", basis=basis, random_state=0)
        for part in range(0, 20_000, 2_000):
            model.partial_fit(rows[part : part + 2_000], labels[part : part + 2_000], classes=[0, 1])
            knots = None if basis is None else model.basis_.knots[0]
            models.setdefault("knots", knots)
        models[basis] = model
    assert models["pairs"].score(*NEW) > models[None].score(*NEW) + 0.2
    first = MeasureClassifier("gmean", basis="pairs", random_state=0).partial_fit(
        rows[:2000], labels[:2000], [0, 1]
    )
    np.testing.assert_array_equal(first.basis_.knots[0], models["pairs"].basis_.knots[0])


def test_many_classes_and_many_labels_share_one_basis() -> None:
    three = y + (np.abs(X[:, 3]) > 1.2) * (1 - y) * 2
    model = MeasureClassifier("gmean", basis="splines", random_state=0).fit(X, three)
    assert model.coef_.shape == (3, model.basis_.width)
    assert model.score(X, three) > MeasureClassifier("gmean", random_state=0).fit(X, three).score(X, three) + 0.1
    labels = np.column_stack([y, np.abs(X[:, 3]) > 1.2]).astype(int)
    both = MeasureClassifier("gmean", basis="splines", random_state=0).fit(X, labels)
    assert both.coef_.shape == (2, both.basis_.width)
    assert both.score(X, labels) > 0.8


def test_missing_values_are_a_level_and_infinity_is_refused() -> None:
    gaps = X.copy()
    gaps[::3, 4] = np.nan
    found = np.where(np.isnan(gaps[:, 4]), 1, y)
    for basis in ("splines", "auto"):
        model = MeasureClassifier("gmean", basis=basis, random_state=0).fit(gaps, found)
        assert model.predict(gaps[::3]).mean() > 0.9
        with pytest.raises(ValueError, match=r"infinity in column 4"):
            model.predict(np.where(np.isnan(gaps), np.inf, gaps))
        with pytest.raises(ValueError, match=r"infinity in column 4"):
            model.fit(np.where(np.isnan(gaps), np.inf, gaps), found)


def test_a_model_file_and_an_onnx_graph_predict_the_same(tmp_path: object) -> None:
    gaps = X.copy()
    gaps[::3, 4] = np.nan
    model = MeasureClassifier("gmean", basis="pairs", random_state=0).fit(gaps, y)
    file = io.BytesIO()
    save_model(model, file)
    file.seek(0)
    again = load_model(file)
    np.testing.assert_array_equal(again.decision_function(gaps), model.decision_function(gaps))
    assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    export_onnx(model, f"{tmp_path}/model.onnx")
    session = runtime.InferenceSession(f"{tmp_path}/model.onnx", providers=["CPUExecutionProvider"])
    label, score, probability = session.run(None, {"X": gaps.astype(np.float64)})
    np.testing.assert_array_equal(label, model.predict(gaps))
    np.testing.assert_allclose(score, model.decision_function(gaps.astype(np.float64)), atol=1e-9)
    np.testing.assert_allclose(probability, model.predict_proba(gaps.astype(np.float64)), atol=1e-9)


def test_a_bound_is_certified_by_out_of_fold_scores() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConstraintWarning)
        model = MeasureClassifier("tpr-at-tnr-0.8", basis="pairs", random_state=0).fit(X, y)
    assert model.constraints_met_
    assert (model.predict(NEW[0])[NEW[1] == 0] == 0).mean() > 0.78


def test_groups_weights_low_memory_and_warm_start_take_a_basis() -> None:
    groups = np.arange(2000) // 4
    weights = np.where(y == 1, 2.0, 1.0)
    model = MeasureClassifier("gmean", basis="pairs", random_state=0)
    for options in ({"groups": groups}, {"sample_weight": weights}):
        assert clone(model).fit(X, y, **options).score(*NEW) > 0.8
    np.testing.assert_allclose(
        clone(model).set_params(low_memory=True).fit(X, y).coef_,
        clone(model).fit(X, y).coef_,
        rtol=1e-4,
        atol=1e-6,
    )
    warm = clone(model).set_params(warm_start=True).fit(X, y)
    knots = warm.basis_.knots[0]
    warm.fit(X[:1000], y[:1000])
    np.testing.assert_array_equal(warm.basis_.knots[0], knots)


def test_sparse_rows_are_left_as_they_are() -> None:
    from scipy import sparse

    rows = sparse.csr_matrix(np.where(X > 1, X, 0))
    model = MeasureClassifier("gmean", basis="auto", random_state=0).fit(rows, y)
    assert model.basis_ is None
    np.testing.assert_array_equal(model.coef_, MeasureClassifier("gmean", random_state=0).fit(rows, y).coef_)


@pytest.mark.parametrize(
    ("basis", "rows", "labels", "message"),
    [
        ("cubic", X, y, "basis must be None, 'splines'"),
        (SplineBasis().fit(X[:, :3]), X, y, "fitted on 3 columns, and X has 5"),
        ("auto", X, np.arange(2000) % 3, "y has 3 classes: name 'splines'"),
        ("pairs", np.tile(X, 6), np.arange(2000) % 3, "use basis='splines'"),
        ("splines", X.astype(str) + "a", y, "which is not a number"),
    ],
)
def test_what_cannot_be_coded_is_refused_in_a_sentence(
    basis: object, rows: np.ndarray, labels: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        MeasureClassifier("gmean", basis=basis).fit(rows, labels)


def test_a_basis_of_columns_with_other_names_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X[:200], columns=list("abcde"))
    model = MeasureClassifier("gmean", basis=SplineBasis(2).fit(table))
    for other in (table[list("bacde")], table.rename(columns={"a": "z"})):
        with pytest.raises(ValueError, match=r"fitted on other columns: number 0 was 'a', and in X it is '[bz]'"):
            model.fit(other, y[:200])
        with pytest.raises(ValueError, match="fitted on other columns"):
            MeasureClassifier("gmean", basis=model.basis).partial_fit(other, y[:200], classes=[0, 1])
    assert model.fit(table, y[:200]).basis_.n_columns == 5
    assert model.fit(X[:200], y[:200]).basis_.n_columns == 5  # without names there is nothing to compare


def test_more_pairs_than_memory_takes_are_refused_and_auto_leaves_them_out() -> None:
    rows = np.random.default_rng(0).normal(size=(120, 3_001)).astype(np.float32)
    labels = (rows[:, 0] > 0).astype(int)
    with pytest.raises(ValueError, match="3,001 columns, which make 4,501,500 pairs: more than fit in memory"):
        MeasureClassifier("gmean", basis="pairs").fit(rows, labels)
    assert MeasureClassifier("gmean", basis="auto", random_state=0).fit(rows, labels).score(rows, labels) > 0.6


def test_few_points_keep_curves_only_where_they_pay() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(400, 8))
    line = rows @ [2.0, -1.5, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0] + 0.5 * rng.logistic(size=400)
    bow = np.abs(rows[:, 0]) + 0.1 * rng.normal(size=400)
    for scores, kept in ((line, False), (bow, True)):
        labels = (scores > np.quantile(scores, 0.9)).astype(int)
        found = MeasureClassifier("f1", basis="splines", random_state=0).fit(rows, labels)
        assert (found.basis_ is not None) == kept
    named = MeasureClassifier("f1", basis=SplineBasis(3), random_state=0).fit(rows, line > np.quantile(line, 0.9))
    assert named.basis_.kind == "splines"


def test_standardizing_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="leave standardize=True"):
        MeasureClassifier("gmean", basis="splines", standardize=False).fit(X, y)
