"""Opening files: which columns are read, and what is wrong with files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from written import TABLE_FORMATS, write_table

from ratewise.streams import DataError, open_stream

pytest.importorskip("pyarrow")
binary_tables = pytest.mark.parametrize("ending", ["parquet", "feather", "lz4.feather", "arrows"])
all_tables = pytest.mark.parametrize("ending", TABLE_FORMATS)


def columns(rows=120, **others):
    rng = np.random.default_rng(1)
    return {
        "a": np.arange(rows, dtype=np.float64),
        "b": rng.normal(size=rows),
        **others,
        "label": np.arange(rows) % 2,
    }


@pytest.fixture
def write(tmp_path):
    def write(name, values=None, **options):
        return write_table(tmp_path / name, columns() if values is None else values, **options)

    return write


def first_window(*args, **kwargs):
    return next(iter(open_stream(*args, **kwargs).windows()))


@all_tables
def test_only_the_features_asked_for_are_read_in_the_order_asked_for(write, ending):
    stream = open_stream(write(f"t.{ending}"), target="label", features=["b", "a"])
    assert stream.feature_names == ("b", "a")
    (window,) = stream.windows()
    assert window.X[:, 1].tolist() == list(range(120))


@all_tables
def test_all_other_columns_are_features_if_none_are_named(write, ending):
    path = write(f"t.{ending}", columns(w=np.full(120, 2.0)))
    assert open_stream(path, target="label").feature_names == ("a", "b", "w")
    stream = open_stream(path, target="label", weight="w")
    assert stream.feature_names == ("a", "b")
    (window,) = stream.windows()
    assert window.weights.tolist() == [2.0] * 120
    assert open_stream(path).feature_names == ("a", "b", "w", "label")
    assert first_window(path).labels is None


@all_tables
def test_a_column_that_is_not_there_is_named(write, ending):
    path = write(f"t.{ending}")
    with pytest.raises(DataError, match=r"no column 'y', which is to be the target.*'a', 'b', 'label'"):
        open_stream(path, target="y")
    with pytest.raises(DataError, match="no column 'w', which is to be the weight"):
        open_stream(path, target="label", weight="w")
    with pytest.raises(DataError, match="no column 'c', which is among the features asked for"):
        open_stream(path, target="label", features=["a", "c"])
    with pytest.raises(ValueError, match="Column 'label' is the target"):
        open_stream(path, target="label", features=["label"])


@all_tables
def test_files_of_one_folder_must_have_the_same_columns(write, tmp_path, ending):
    write(f"1.{ending}")
    write(f"2.{ending}", columns(c=np.zeros(120)))
    with pytest.raises(DataError, match=rf"2\.{ending}: column 'c' is not in .*1\.{ending}"):
        open_stream(tmp_path, target="label")
    assert open_stream(tmp_path, target="label", features=["a"]).survey().rows == 240
    write(f"0.{ending}", columns(c=np.zeros(120)))
    with pytest.raises(DataError, match=rf"1\.{ending}: there is no column 'c', which .*0\.{ending} has"):
        open_stream(tmp_path, target="label")


@binary_tables
def test_files_of_one_folder_must_hold_the_same_kinds(write, tmp_path, ending):
    write(f"1.{ending}")
    write(f"2.{ending}", columns() | {"b": ["x"] * 120})
    with pytest.raises(DataError, match=rf"2\.{ending}, column 'b': it holds a text, and a number in"):
        open_stream(tmp_path, target="label")


@binary_tables
def test_files_may_hold_numbers_of_different_width_and_columns_in_another_order(write, tmp_path, ending):
    write(f"1.{ending}")
    write(f"2.{ending}", {name: values.astype(np.int8) for name, values in reversed(columns(9).items())})
    stream = open_stream(tmp_path, target="label")
    X = np.vstack([window.X for window in stream.windows()])
    assert X.shape == (129, 2)
    assert X[120:, 0].tolist() == list(range(9))


@all_tables
def test_files_of_a_folder_are_read_one_after_another_or_mixed(write, tmp_path, ending):
    for i in range(4):
        write(f"{i}.{ending}", columns() | {"a": np.full(120, float(i))})
    stream = open_stream(tmp_path, target="label", window_rows=240)
    in_order = [np.unique(window.X[:, 0]).tolist() for window in stream.windows()]
    assert in_order == [[0.0, 1.0], [2.0, 3.0]]
    for window in stream.windows(np.random.default_rng(0)):
        assert np.unique(window.X[:, 0]).size >= 3


def test_many_files_are_not_all_kept_open(write, tmp_path, monkeypatch):
    monkeypatch.setattr("ratewise.streams.formats._MOST_FILES_KEPT_OPEN", 2)
    for i in range(6):
        write(f"{i}.feather", columns(10))
        np.save(tmp_path / f"{i}.npy", np.ones((10, 2)))
    for source, target in (("*.feather", "label"), ("*.npy", 1)):
        before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
        stream = open_stream(str(tmp_path / source), target=target)
        after = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
        assert after == before
        assert sum(window.X.shape[0] for window in stream.windows(np.random.default_rng(0))) == 60


@binary_tables
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_file_that_was_cut_off_is_refused(write, ending, share):
    path = write(f"t.{ending}", columns(3000))
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(DataError, match=rf"t\.{ending}.*(empty|cut off)"):
        open_stream(path, target="label").survey()


def test_a_parquet_file_with_a_broken_page_is_refused_with_file_and_row(write):
    path = write("t.parquet", columns(3000), rows_at_once=1000)
    text = bytearray(Path(path).read_bytes())
    middle = len(text) // 2
    text[middle - 4000 : middle + 4000] = b"\xff" * 8000
    Path(path).write_bytes(text)
    with pytest.raises(DataError, match=r"t\.parquet, row 1,001: this is not a whole Parquet file"):
        open_stream(path, target="label").survey()


@binary_tables
def test_a_table_without_rows_is_refused(write, ending):
    path = write(f"t.{ending}", columns(0))
    with pytest.raises(DataError, match=rf"t\.{ending}: there are no rows"):
        open_stream(path, target="label").survey()


@all_tables
def test_bad_targets_are_refused(write, ending):
    constant = write(f"constant.{ending}", columns() | {"label": np.ones(120, dtype=int)})
    with pytest.raises(DataError, match=rf"constant\.{ending}, column 'label': the target is 1 in all 120 rows"):
        open_stream(constant, target="label").survey()
    numbers = columns()
    numbers["label"] = numbers["label"] + np.where(np.arange(120) == 77, 0.5, 0.0)
    with pytest.raises(
        DataError,
        match=rf"numbers\.{ending}, row 78, column 'label': labels such as 0.0, 1.0 and [01].5 are not classes",
    ):
        open_stream(write(f"numbers.{ending}", numbers), target="label").survey()
    missing = columns() | {"label": [i % 2 if i != 60 else None for i in range(120)]}
    with pytest.raises(DataError, match=rf"missing\.{ending}, row 61, column 'label': the target is missing"):
        open_stream(write(f"missing.{ending}", missing), target="label").survey()


@all_tables
def test_text_labels_and_categories_are_read(write, ending):
    text = columns(colour=np.where(np.arange(120) % 3 == 0, "red", "blue").tolist())
    text["label"] = np.where(text["label"] == 1, "spam", "ham").tolist()
    stream = open_stream(write(f"t.{ending}", text), target="label")
    assert stream.survey().label_counts == {"ham": 60, "spam": 60}
    assert stream.feature_names == ("a", "b", "colour=blue", "colour=red")
    (window,) = stream.windows()
    assert window.X[:3, 2:].tolist() == [[0, 1], [1, 0], [1, 0]]
    assert window.labels[:2].tolist() == ["ham", "spam"]


@all_tables
def test_a_model_reads_its_own_columns_from_any_format(write, ending):
    text = columns(colour=["red", "blue"] * 60)
    stream = open_stream(write("train.parquet", text), target="label")
    stream.survey()
    expected = next(stream.windows()).X
    others = {"z": np.zeros(120), **dict(reversed(text.items()))}
    window = first_window(write(f"test.{ending}", others), encoder=stream.encoder)
    np.testing.assert_allclose(window.X, expected)
    short = {name: values for name, values in text.items() if name != "b"}
    with pytest.raises(DataError, match="no column 'b', which the model was trained on"):
        open_stream(write(f"short.{ending}", short), encoder=stream.encoder)
    wrong = text | {"b": ["x"] * 120}
    with pytest.raises(DataError, match=r"'b'.*(trained on numbers|'x' is not a number)"):
        first_window(write(f"wrong.{ending}", wrong), encoder=stream.encoder)


def test_an_encoder_and_features_together_are_refused(write):
    stream = open_stream(write("t.parquet"), target="label")
    with pytest.raises(ValueError, match="encoder= or features="):
        open_stream(write("t.parquet"), encoder=stream.encoder, features=["a"])


def test_a_model_of_a_matrix_and_one_of_a_table_are_told_apart(write, tmp_path):
    np.save(tmp_path / "X.npy", np.ones((5, 3)))
    of_matrix = open_stream(tmp_path / "X.npy").encoder
    with pytest.raises(DataError, match="trained on 3 columns without names"):
        open_stream(write("t.parquet"), encoder=of_matrix)
    of_table = open_stream(write("t.parquet"), target="label").encoder
    with pytest.raises(DataError, match="3 columns, and the model was trained on 2"):
        open_stream(tmp_path / "X.npy", encoder=of_table)


@pytest.mark.parametrize("options", [{"target": 3}, {"weight": 1}, {"features": 2}, {"features": "a"}], ids=str)
def test_columns_of_tables_are_named_by_text(write, options):
    with pytest.raises(TypeError, match="name"):
        open_stream(write("t.parquet"), **options)


def test_standard_input_needs_a_format():
    with pytest.raises(ValueError, match="format='csv' or format='svmlight'"):
        open_stream("-")


def test_arrays_are_read_without_pyarrow():
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import numpy as np; from ratewise.streams import open_stream\n"
        "print(open_stream([({'c': np.array([1.0, 2.0])}, [0, 1])]).survey().rows)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "2"


def test_without_pyarrow_the_pip_line_is_told(monkeypatch, write):
    path = write("t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'Parquet needs pyarrow: pip install "ratewise\[files\]"'):
        open_stream(path, target="label")


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
def test_two_columns_of_one_name_are_refused(tmp_path, ending):
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.Table.from_arrays([pa.array([1.0, 2.0]), pa.array([3.0, 4.0])], names=["a", "a"])
    path = tmp_path / f"t.{ending}"
    if ending == "arrow":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    else:
        (parquet.write_table if ending == "parquet" else feather.write_feather)(table, path)
    with pytest.raises(DataError, match=r"t\..*: there are two columns 'a'. Rename one"):
        open_stream(path)


def test_numbers_in_a_later_file_where_the_type_is_text_in_the_first_are_refused(tmp_path):
    import pandas as pd

    for name, values in (("a", ["x", "y"]), ("b", [1.5, 2.5])):
        pd.DataFrame({"code": values, "y": [0, 1]}).to_parquet(tmp_path / f"{name}.parquet")
    files = [tmp_path / f"{name}.parquet" for name in "ab"]
    with pytest.raises(DataError, match=r"b\..*column 'code': it holds a number, and a text in .*a\."):
        open_stream(files, target="y")
    with pytest.raises(DataError, match="column 'code'"):
        open_stream(files[::-1], target="y").survey()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_read_once_and_only_as_text(tmp_path):
    pipe = tmp_path / "rows"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=["a,label\n" + "1,0\n2,1\n" * 50])
    writer.start()
    stream = open_stream(pipe, format="csv", target="label")
    assert not stream.repeatable
    assert sum(window.X.shape[0] for window in stream.windows()) == 100
    writer.join()
    for format in ("npz", "npy", "parquet", "feather"):
        with pytest.raises(DataError, match="rows: this is a pipe or a device, from which CSV or svmlight"):
            open_stream(pipe, format=format)


@all_tables
def test_a_weight_below_0_is_said_with_the_name_of_its_column(write, ending):
    path = write(f"t.{ending}", columns(w=np.where(np.arange(120) == 7, -1.0, 1.0)))
    with pytest.raises(DataError, match=r"'?\bw\b.*not below 0"):
        list(open_stream(path, target="label", weight="w").windows())
