"""Dask collections are predicted as rows in memory are: the same answers, or the same refusal."""

from __future__ import annotations

import numpy as np
import pytest

from ratewise import MeasureClassifier
from ratewise.distributed import DaskMeasureClassifier
from ratewise.solvers import WeightedLogistic

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
delayed = pytest.importorskip("dask").delayed

FAST = {"random_state": 0, "passes": 2, "solver": WeightedLogistic(passes=2), "sharpen": False}
NAMES = list("abcd")
LAZY = ["predict", "predict_proba", "decision_function"]
ROWS = 1_200


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(ROWS, 4)), columns=NAMES)
    return table.assign(label=table["a"] + 0.3 * rng.normal(size=ROWS) > 0.8)


@pytest.fixture(scope="module")
def fitted(table):
    """By the name of a frame's column of labels."""
    return DaskMeasureClassifier(**FAST).fit(dd.from_pandas(table, npartitions=3, sort=False), target="label")


@pytest.fixture(scope="module")
def with_gaps(table, tmp_path_factory):
    """A table with gaps and texts, and a model fitted on its Parquet file."""
    rng = np.random.default_rng(1)
    table = table.assign(kind=np.where(table["label"], "u", rng.choice(["u", "v"], ROWS)))
    table.loc[rng.random(ROWS) < 0.3, "c"] = np.nan
    folder = tmp_path_factory.mktemp("parquet")
    table.to_parquet(folder / "rows.parquet")
    return table, DaskMeasureClassifier(**FAST).fit(folder, target="label")


def parts_of(table, number=3):
    return dd.from_pandas(table, npartitions=number, sort=False)


@pytest.mark.parametrize("method", LAZY)
def test_gaps_and_texts_of_a_frame_are_encoded_in_every_partition(with_gaps, method):
    table, model = with_gaps
    here = getattr(model, method)(table)
    np.testing.assert_allclose(getattr(model, method)(parts_of(table)).compute(), here, rtol=1e-6)
    reordered = parts_of(table[table.columns[::-1]])
    np.testing.assert_allclose(getattr(model, method)(reordered).compute(), here, rtol=1e-6)


def test_gaps_and_texts_of_a_frame_are_scored_as_in_memory(with_gaps):
    table, model = with_gaps
    parts = parts_of(table)
    assert model.score(parts, parts["label"]) == model.score(table, table["label"]) > 0.8


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("method", LAZY)
def test_what_memory_refuses_is_refused_with_the_number_of_its_partition(fitted, table, method, value):
    rows = table[NAMES].copy()
    rows.loc[ROWS - 1, "c"] = value
    with pytest.raises(ValueError, match=r"^X contains .*'c'"):
        getattr(fitted, method)(rows)
    with pytest.raises(ValueError, match=r"^Partition 2: X contains .*'c'"):
        getattr(fitted, method)(parts_of(rows)).compute()
    nameless = DaskMeasureClassifier(**FAST).fit([delayed((table[NAMES].to_numpy(), table["label"]))])
    with pytest.raises(ValueError, match=r"^Partition 2: X contains .*column 2"):
        getattr(nameless, method)(da.from_array(rows.to_numpy(), chunks=(ROWS // 3, -1))).compute()


def test_texts_that_a_model_cannot_encode_are_refused_with_the_partition(fitted, table):
    rows = table[NAMES].astype({"b": object})
    rows.loc[:, "b"] = "red"
    with pytest.raises(ValueError, match=r"^Partition 0: X: column 'b' holds 'red', which is not a number"):
        fitted.predict(parts_of(rows, 1)).compute()


@pytest.mark.parametrize("method", LAZY)
def test_columns_in_another_order_or_of_other_names_are_refused_as_in_memory(fitted, table, method):
    for rows in (table[NAMES[::-1]], table[NAMES].rename(columns={"d": "e"}), table[NAMES].assign(e=0.0)):
        with pytest.raises(ValueError, match=r"feature names") as here:
            getattr(fitted, method)(rows)
        with pytest.raises(ValueError, match=r"^Partition 0: The feature names") as there:
            getattr(fitted, method)(parts_of(rows, 1)).compute()
        assert str(there.value) == f"Partition 0: {here.value}"


@pytest.mark.parametrize("method", LAZY)
def test_a_partition_without_rows_has_no_predictions(fitted, table, method):
    parts = parts_of(table[NAMES].reset_index())
    kept = parts[parts["index"] >= ROWS // 2][NAMES]  # nothing of the first partition
    here = getattr(fitted, method)(table[NAMES][ROWS // 2 :])
    np.testing.assert_allclose(getattr(fitted, method)(kept).compute(), here)


def delayed_parts(table, *orders):
    """A part of the rows for each order of the columns."""
    step = len(orders)
    return [
        delayed((table[order].iloc[number::step], table["label"].iloc[number::step]))
        for number, order in enumerate(orders)
    ]


@pytest.mark.parametrize("merging", ["auto", "models", "gradients"])
def test_partitions_with_columns_in_another_order_give_the_same_model(table, merging):
    asked = FAST | {"merging": merging}
    plain = DaskMeasureClassifier(**asked).fit(delayed_parts(table, NAMES, NAMES))
    mixed = DaskMeasureClassifier(**asked).fit(delayed_parts(table, NAMES, list("dbca")))
    np.testing.assert_array_equal(mixed.coef_, plain.coef_)
    assert mixed.feature_names_in_.tolist() == plain.feature_names_in_.tolist() == NAMES


def test_partitions_of_a_frame_come_into_the_order_that_the_frame_says(table):
    cut = [table.iloc[:600], table.iloc[600:][["d", "label", "b", "a", "c"]]]
    odd = dd.from_delayed([delayed(one) for one in cut], meta=table.iloc[:0], verify_meta=False)
    plain = DaskMeasureClassifier(**FAST).fit(parts_of(table, 2), target="label")
    found = DaskMeasureClassifier(**FAST).fit(odd, target="label")
    np.testing.assert_array_equal(found.coef_, plain.coef_)
    np.testing.assert_array_equal(found.predict(odd[NAMES]).compute(), plain.predict(table[NAMES]))


def test_partitions_with_other_columns_are_refused_by_number_and_names(table):
    other = table.rename(columns={"d": "e"})
    first, second = delayed_parts(table, NAMES, NAMES)
    renamed = delayed((other[[*"abce"]], other["label"]))
    with pytest.raises(ValueError, match=r"^Partition 2: its columns are 'a', 'b', 'c', 'e', but .* 0 are 'a'"):
        DaskMeasureClassifier(**FAST).fit([first, second, renamed])
    with pytest.raises(ValueError, match=r"^Partition 1: its columns are without names, but"):
        DaskMeasureClassifier(**FAST).fit([first, delayed((table[NAMES].to_numpy(), table["label"]))])
    with pytest.raises(ValueError, match=r"^Partition 0: two columns are called 'a'"):
        DaskMeasureClassifier(**FAST).fit([delayed((table[["a", "a", "b"]], table["label"]))])


def test_labels_that_no_model_can_learn_are_refused_in_a_sentence(table):
    X, y = table[NAMES].to_numpy(), table["label"].to_numpy()
    mixed = [delayed((X, y.astype(int))), delayed((X, y.astype(str)))]
    with pytest.raises(ValueError, match=r"y mixes labels of different types \(int, str\)"):
        DaskMeasureClassifier(**FAST).fit(mixed)
    nobody = np.where(np.arange(ROWS) == 5, None, y.astype(object))
    unknown = table["label"].astype("boolean").where(table.index > 3)
    for labels in (nobody, unknown):
        with pytest.raises(ValueError, match=r"^Partition 0: Input y contains NaN, None or NA"):
            DaskMeasureClassifier(**FAST).fit([delayed((X, labels))])
        with pytest.raises(ValueError, match=r"^Input y contains NaN, None or NA"):
            MeasureClassifier().fit(X, labels)


@pytest.mark.parametrize("merging", ["auto", "models", "gradients"])
@pytest.mark.parametrize("factor", [1e160, 1e-170])
def test_columns_that_cannot_be_scaled_are_refused_with_their_name_and_partition(table, merging, factor):
    odd = table[NAMES].assign(c=lambda table: factor * table["c"])
    parts = [delayed((rows, table["label"])) for rows in (table[NAMES], odd)]
    with pytest.raises(ValueError, match=r"^Partition 1: X contains .* in column 2 \('c'\).* another scale"):
        DaskMeasureClassifier(**FAST | {"merging": merging}).fit(parts)


def test_gaps_in_the_rows_of_a_fit_are_refused_with_their_name_and_partition(table):
    parts = [
        delayed((rows, table["label"])) for rows in (table[NAMES], table[NAMES].replace(table["b"][7], np.nan))
    ]
    with pytest.raises(ValueError, match=r"^Partition 1: X contains NaN in column 1 \('b'\)\. Fill it first"):
        DaskMeasureClassifier(**FAST).fit(parts)


def test_labels_to_score_by_may_be_an_array_or_cut_otherwise(fitted, table):
    X, y = table[NAMES].to_numpy(), table["label"].to_numpy()
    model = DaskMeasureClassifier(**FAST).fit([delayed((X, y))])
    blocks, expected = da.from_array(X, chunks=(500, -1)), model.score(X, y)
    assert model.score(blocks, y) == expected
    assert model.score(blocks, da.from_array(y, chunks=((300, 900),))) == expected
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        model.score(blocks, y[:-1])
    with pytest.raises(TypeError, match=r"y must be a dask Series; got ndarray"):
        fitted.score(parts_of(table), y)


@pytest.mark.parametrize("as_type", [str, object])
def test_labels_of_another_type_are_refused_by_score_as_in_memory(fitted, table, as_type):
    parts, labels = parts_of(table), table["label"].astype(str).to_numpy().astype(as_type)
    with pytest.raises(ValueError, match=r"not among the classes|different types"):
        fitted.score(table[NAMES], labels)
    theirs = parts_of(pd.DataFrame({"y": labels}))["y"]
    with pytest.raises(ValueError, match=r"not among the classes|different types"):
        fitted.score(parts, theirs)
    with pytest.raises(ValueError, match=r"Partition \d: Input y contains NaN"):
        fitted.score(parts, parts["label"].astype("boolean").where(parts["a"] > 0))


def test_a_lazy_frame_is_refused_in_a_sentence(table):
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"LazyFrame, whose rows are not read yet: give X\.collect\(\)"):
        MeasureClassifier().fit(polars.from_pandas(table[NAMES]).lazy(), table["label"])
