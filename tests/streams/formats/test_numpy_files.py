"""npy and npz files."""

from __future__ import annotations

import struct
import zipfile

import numpy as np
import pytest
from scipy import sparse

from ratewise.streams import DataError, open_stream
from ratewise.streams.formats import numpy_files

X = np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
Y = (np.arange(500) % 3 == 0).astype(np.int8)


def whole(stream):
    windows = list(stream.windows())
    rows = [window.X.toarray() if stream.sparse else window.X for window in windows]
    return np.vstack(rows), windows[0].labels is not None and np.concatenate([window.labels for window in windows])


@pytest.mark.parametrize("target", [0, 2, 3, -1, -4])
def test_a_column_of_an_npy_file_can_be_the_target(tmp_path, target):
    Z = X.copy()
    Z[:, target] = Y
    np.save(tmp_path / "a.npy", Z)
    rows, labels = whole(open_stream(tmp_path / "a.npy", target=target))
    assert np.array_equal(rows, np.delete(X, target, axis=1))
    assert np.array_equal(labels, Y)


def test_target_and_weights_may_be_files_of_their_own(tmp_path):
    for name, array in (("X", X), ("y", Y), ("w", np.arange(500.0))):
        np.save(tmp_path / f"{name}.npy", array)
    names = [str(tmp_path / f"{name}.npy") for name in "Xyw"]
    stream = open_stream(names[0], target=names[1], weight=names[2], window_rows=300)
    first, second = stream.windows()
    assert np.array_equal(np.vstack([first.X, second.X]), X)
    assert np.array_equal(np.concatenate([first.labels, second.labels]), Y)
    assert second.weights.tolist() == list(range(300, 500))
    rows, labels = whole(open_stream(names[:2]))
    assert np.array_equal(rows, X)
    assert np.array_equal(labels, Y)


def test_features_are_chosen_by_number(tmp_path):
    np.save(tmp_path / "a.npy", X)
    rows, _ = whole(open_stream(tmp_path / "a.npy", features=[3, 1]))
    assert np.array_equal(rows, X[:, [3, 1]])


@pytest.mark.parametrize("dtype", ["u1", "i8", "f2", ">f4", "f8", "?"])
def test_every_type_and_order_of_numbers_is_read(tmp_path, dtype):
    Z = (np.arange(60).reshape(20, 3) % 2).astype(dtype)
    np.save(tmp_path / "a.npy", np.asfortranarray(Z))
    assert np.array_equal(whole(open_stream(tmp_path / "a.npy"))[0], Z.astype(np.float32))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_files_name_their_arrays(tmp_path, save):
    path = tmp_path / "a.npz"
    save(path, X=X, y=Y, other=1 - Y, w=np.ones(500), feature_names=np.array(["a", "b", "c", "d"]))
    stream = open_stream(path, target="other", weight="w", features=[1, 2])
    assert stream.feature_names == ("b", "c")
    assert stream.n_rows == 500
    rows, labels = whole(stream)
    assert np.array_equal(rows, X[:, 1:3])
    assert np.array_equal(labels, 1 - Y)
    assert next(stream.windows()).weights.tolist() == [1.0] * 500
    save(path, X=X)
    assert whole(open_stream(path))[1] is False


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_in_column_order_are_read(tmp_path, save):
    save(tmp_path / "a.npz", X=np.asfortranarray(X), y=Y)
    rows, labels = whole(open_stream(tmp_path / "a.npz", window_rows=170))
    assert np.array_equal(rows, X)
    assert np.array_equal(labels, Y)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_sparse_matrices_are_read_row_by_row(tmp_path, save):
    S = sparse.random_array((700, 50), density=0.1, format="csr", rng=np.random.default_rng(0), dtype=np.float32)
    y = np.arange(700) % 2
    save(tmp_path / "a.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=y)
    stream = open_stream(tmp_path / "a.npz", window_rows=300)
    assert stream.sparse
    rows, labels = whole(stream)
    assert np.array_equal(rows, S.toarray())
    assert np.array_equal(labels, y)


def test_missing_numbers_get_the_mean_of_their_column(tmp_path):
    Z = X.copy()
    Z[::7, 2] = np.nan
    np.save(tmp_path / "a.npy", Z)
    stream = open_stream(tmp_path / "a.npy")
    assert stream.survey().missing == {"x2": 72}
    rows, _ = whole(stream)
    assert rows[::7, 2] == pytest.approx(np.full(72, np.nanmean(Z[:, 2], dtype=float)), rel=1e-6)


def save_and_cut(path, save, share, **arrays):
    save(path, **arrays)
    whole_file = path.read_bytes()
    path.write_bytes(whole_file[: int(share * len(whole_file))])


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_files_that_were_cut_off_are_refused(tmp_path, share):
    np.save(tmp_path / "a.npy", X)
    text = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(text[: int(share * len(text))])
    with pytest.raises(DataError, match=r"a\.npy: (the file is|this is not a whole)"):
        open_stream(tmp_path / "a.npy")
    for save in (np.savez, np.savez_compressed):
        save_and_cut(tmp_path / "a.npz", save, share, X=X, y=Y)
        with pytest.raises(DataError, match=r"a\.npz: this is not a whole npz file"):
            open_stream(tmp_path / "a.npz")


def test_a_broken_compressed_array_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=X, y=Y)
    text = bytearray((tmp_path / "a.npz").read_bytes())
    text[3000:3100] = b"\x00" * 100
    (tmp_path / "a.npz").write_bytes(text)
    with pytest.raises(DataError, match=r"a\.npz.* cannot be unpacked"):
        whole(open_stream(tmp_path / "a.npz"))


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"X": X, "y": Y[:-1]}, {}, r"500 rows, and the shape of the target is \(499,\)"),
        ({"X": X[0], "y": Y}, {}, "a matrix is needed, and the array has 1 dimensions"),
        ({"Z": X}, {}, "an array X, or the arrays data, indices, indptr and shape, are needed"),
        ({"X": X, "y": Y}, {"target": "label"}, "no array 'label' for the target; there are X, y"),
        ({"X": X, "y": Y}, {"features": [4]}, "no column 4; there are 4 columns"),
        ({"X": X[:0], "y": Y[:0]}, {}, "there are no rows"),
        ({"X": np.array([[None]]), "y": Y}, {}, "array 'X': it holds Python objects"),
    ],
    ids=["lengths", "dimensions", "no matrix", "no target", "no column", "no rows", "objects"],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_bad_npz_files_are_refused(tmp_path, arrays, options, message, save):
    save(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=message):
        whole(open_stream(tmp_path / "a.npz", **options))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"target": 4}, DataError, "no column 4 for the target; there are 4 columns"),
        ({"target": "label"}, TypeError, "have no names"),
        ({"features": ["a"]}, TypeError, "have no names: features= takes column numbers"),
        ({"features": 3}, TypeError, "list of column numbers"),
        ({"target": 1, "features": [1, 2]}, ValueError, "cannot be a feature and the target"),
    ],
)
def test_bad_columns_of_npy_files_are_refused(tmp_path, options, error, message):
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(error, match=message):
        open_stream(tmp_path / "a.npy", **options)


def test_files_of_different_width_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :3])
    with pytest.raises(DataError, match=r"b\.npy: 3 columns, and 4 in .*a\.npy"):
        open_stream(tmp_path)


def test_a_target_file_of_another_length_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "y.npy", Y[:-1])
    with pytest.raises(DataError, match=r"a\.npy: 500 rows, and 499 values of the target"):
        open_stream(tmp_path / "a.npy", target=str(tmp_path / "y.npy"))


def header_of(array, **changes):
    """Return the bytes of an npy file whose header says something else."""
    described = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape} | changes
    header = (repr(described) + " " * 200)[:117].encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + array.tobytes()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shape": (10**6, 10**6)}, "does not fit"),
        ({"shape": (2**62, 4)}, "does not fit"),
        ({"shape": (-4, 3)}, "does not fit"),
        ({"shape": (3, 2, 2)}, "3 dimensions"),
        ({"shape": ()}, "0 dimensions"),
        ({"descr": "|O"}, "Python objects"),
        ({"descr": "<c8"}, "numbers are expected here, and the type is complex64"),
        ({"descr": "<M8[s]"}, "numbers are expected"),
        ({"descr": "nonsense"}, "not a whole npy file"),
        ({"shape": "(1,"}, "not a whole npy file"),
    ],
)
def test_a_header_that_does_not_fit_is_refused_before_reading(tmp_path, changes, words):
    content = header_of(np.ones((4, 3), np.float64), **changes)
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DataError, match=words):
        open_stream(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", content)
    with pytest.raises(DataError, match=words):
        open_stream(tmp_path / "a.npz")


CSR_FAULTS = {
    "a column too large": {"indices": lambda a: np.where(np.arange(a.size) == 5, 99, a)},
    "a column below 0": {"indices": lambda a: np.where(np.arange(a.size) == 5, -1, a)},
    "indptr falls": {"indptr": lambda a: a[::-1]},
    "indptr ends outside": {"indptr": lambda a: a + np.arange(a.size)},
    "indptr begins below 0": {"indptr": lambda a: a - 1},
    "too few numbers": {"data": lambda a: a[:-3]},
    "indptr too short": {"indptr": lambda a: a[:-1]},
    "a shape of three": {"shape": lambda a: np.append(a, 1)},
    "a shape below 0": {"shape": lambda a: -a},
    "more columns than possible": {"shape": lambda a: a * [1, 2**40]},
    "far more columns than numbers": {"shape": lambda a: a * [1, 10**6]},
    "indices that are no whole numbers": {"indices": lambda a: a + 0.5},
    "a matrix of indices": {"indices": lambda a: a.reshape(-1, 2)},
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("fault", CSR_FAULTS)
def test_csr_arrays_that_point_outside_are_refused(tmp_path, save, fault):
    matrix = sparse.csr_array(np.tile([[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 4.0]], (50, 1)))
    arrays = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    arrays |= {"shape": np.array(matrix.shape), "y": np.arange(matrix.shape[0]) % 2}
    for key, change in CSR_FAULTS[fault].items():
        arrays[key] = change(arrays[key])
    save(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=r"a\.npz"):
        open_stream(tmp_path / "a.npz").survey()


def test_an_archive_is_not_unpacked_beyond_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(numpy_files, "LARGEST_UNPACKED", 10_000)
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((1000, 50), order="F"), y=np.arange(1000) % 2)
    with pytest.raises(DataError, match=r"unpacked at once\. Save it with numpy\.savez"):
        open_stream(tmp_path / "a.npz")
