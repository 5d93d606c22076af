"""Batches that a program makes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ratewise.streams import DataError, open_stream


def batches(n=4, rows=10):
    for i in range(n):
        X = np.full((rows, 2), i, dtype=np.float32)
        yield X, np.arange(rows) % 2


def firsts(stream, rng=None):
    return [window.X[0, 0] for window in stream.windows(rng)]


def test_a_list_can_be_read_again_and_in_random_order():
    stream = open_stream(list(batches()), window_rows=10)
    assert stream.repeatable
    assert stream.n_rows == 40
    assert firsts(stream) == firsts(stream) == [0, 1, 2, 3]
    X = np.vstack([window.X for window in stream.windows(np.random.default_rng(0))])
    assert np.array_equal(np.sort(X[:, 0]), np.repeat(range(4), 10))


def test_a_function_is_called_for_every_pass():
    calls = []

    def make():
        calls.append(1)
        return batches()

    stream = open_stream(make, window_rows=10)
    assert stream.repeatable
    assert firsts(stream) == firsts(stream) == [0, 1, 2, 3]
    assert len(calls) == 3  # one to look at the first batch


def test_an_object_that_can_be_iterated_again_is_repeatable():
    class Loader:
        def __iter__(self):
            return batches()

    stream = open_stream(Loader(), window_rows=10)
    assert stream.repeatable
    assert firsts(stream) == firsts(stream) == [0, 1, 2, 3]


def test_a_generator_is_read_once_whole_and_refuses_a_second_pass():
    stream = open_stream(batches(), window_rows=10)
    assert not stream.repeatable
    assert stream.n_rows is None
    assert firsts(stream) == [0, 1, 2, 3]
    for again in (stream.windows, stream.survey):
        with pytest.raises(
            ValueError, match=r"can be read once only, and has been.*a function that returns a new"
        ):
            again()


def test_what_a_generator_raises_passes_through():
    def failing():
        yield from batches(2)
        raise RuntimeError("the network is gone")

    stream = open_stream(failing(), window_rows=10)
    windows = stream.windows()
    assert next(windows).X[0, 0] == 0
    with pytest.raises(RuntimeError, match="the network is gone"):
        list(windows)


def test_a_single_pass_imputes_by_the_running_mean():
    def make():
        yield np.array([[1.0], [3.0]]), [0, 1]
        yield np.array([[np.nan], [8.0]]), [0, 1]

    windows = [window.X.ravel().tolist() for window in open_stream(make(), window_rows=2).windows()]
    assert windows == [[1.0, 3.0], [4.0, 8.0]]


def test_a_single_pass_learns_its_categories_from_the_first_window():
    def make():
        yield {"colour": np.array(["red", "blue"], dtype=object), "y": np.array([0, 1])}
        yield {"colour": np.array(["green", "red"], dtype=object), "y": np.array([0, 1])}

    stream = open_stream(make(), target="y", window_rows=2)
    assert [window.X.tolist() for window in stream.windows()] == [[[0, 1], [1, 0]], [[0, 0], [0, 1]]]
    assert stream.feature_names == ("colour=blue", "colour=red")


def test_weights_come_with_their_rows():
    stream = open_stream([(np.eye(2), [0, 1], [2.0, 3.0]), (np.eye(2), [0, 1], [4, 5])])
    (window,) = stream.windows()
    assert window.weights.tolist() == [2.0, 3.0, 4.0, 5.0]
    assert window.weights.dtype == np.float64


def test_sparse_batches_give_sparse_windows():
    stream = open_stream([(sparse.coo_array(np.eye(3)), [0, 1, 0]), (sparse.csr_matrix(np.eye(3)), [0, 1, 1])])
    assert stream.sparse
    (window,) = stream.windows()
    assert window.X.format == "csr"
    assert window.X.toarray().tolist() == np.vstack([np.eye(3), np.eye(3)]).tolist()


def tables(kind):
    columns = {"a": [1.0, 2.0], "colour": ["red", "blue"], "w": [1.0, 0.5], "y": [0, 1]}
    if kind == "dict":
        return {name: np.array(values) for name, values in columns.items()}
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(columns)
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(columns)
    table = pytest.importorskip("pyarrow").table(columns)
    return table if kind == "table" else table.to_batches()[0]


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "table", "record batch"])
@pytest.mark.parametrize("how", ["list", "itself", "generator"])
def test_tables_of_every_library_are_batches(kind, how):
    table = tables(kind)
    source = {"list": [table, table], "itself": table, "generator": iter([table, table])}[how]
    stream = open_stream(source, target="y", weight="w")
    (window,) = stream.windows()
    once = [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    copies = 1 if how == "itself" else 2
    assert window.X.tolist() == once * copies
    assert window.labels.tolist() == [0, 1] * copies
    assert window.weights.tolist() == [1.0, 0.5] * copies
    assert stream.feature_names == ("a", "colour=blue", "colour=red")


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "table"])
def test_a_table_may_come_with_its_labels_apart(kind):
    table = tables(kind)
    (window,) = open_stream([(table, [1, 0])], features=["a"]).windows()
    assert window.X.tolist() == [[1.0], [2.0]]
    assert window.labels.tolist() == [1, 0]


def test_labels_of_every_library_are_understood():
    pa, pd, pl = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    for labels in ([0, 1], pa.array([0, 1]), pa.chunked_array([[0], [1]]), pd.Series([0, 1]), pl.Series([0, 1])):
        (window,) = open_stream([(np.eye(2), labels)]).windows()
        assert window.labels.tolist() == [0, 1]


def test_readers_and_data_sets_of_arrow_are_batches(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import dataset

    table = pa.table({"a": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
    once = open_stream(pa.RecordBatchReader.from_batches(table.schema, table.to_batches(2)), target="y")
    assert not once.repeatable
    again = open_stream(dataset.dataset(table), target="y")
    assert again.repeatable
    for stream in (once, again):
        (window,) = stream.windows()
        assert window.X.ravel().tolist() == [1.0, 2.0, 3.0]


def test_a_pair_of_arrays_is_one_batch():
    (window,) = open_stream((np.eye(2), np.array([0, 1]))).windows()
    assert window.X.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "there are no batches"),
        (iter([]), "there are no batches"),
        ([(np.zeros((0, 2)), [])], "there are no rows"),
        ([(np.eye(2), [0, 1, 0])], "batch 1: 2 rows and 3 labels"),
        ([(np.eye(2), [0, 1], [1.0])], "batch 1: 2 rows and 1 weights"),
        ([(np.eye(2), [0, 1]), (np.eye(3), [0, 1, 0])], "batch 2: 3 columns, where 2 are expected"),
        ([{"a": np.ones(1)}, {"b": np.ones(1)}], "batch 2: there is no column 'a', which the first batch had"),
    ],
    ids=["no batch", "empty iterator", "no rows", "labels", "weights", "columns", "names"],
)
def test_bad_batches_are_refused_by_their_number(source, message):
    with pytest.raises(DataError, match=message):
        list(open_stream(source).windows())


@pytest.mark.parametrize("source", [3, None, [1, 2], [(np.ones(3), [0, 1, 0])]], ids=str)
def test_what_is_no_batch_is_refused(source):
    with pytest.raises(TypeError, match=r"needed|must be"):
        open_stream(source)


def test_columns_cannot_be_named_in_arrays():
    with pytest.raises(ValueError, match="have no names"):
        open_stream([(np.eye(2), [0, 1])], target="y")


def test_mixed_types_in_a_column_are_refused_by_name():
    pd = pytest.importorskip("pandas")
    with pytest.raises(DataError, match=r"batch 1, column 'a': it holds values of different types"):
        open_stream([pd.DataFrame({"a": pd.Series([1, "x"], dtype=object), "y": [0, 1]})], target="y")
