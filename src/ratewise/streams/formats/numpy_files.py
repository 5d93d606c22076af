"""npy and npz files: arrays mapped into memory, or decompressed a run of rows at a time."""

from __future__ import annotations

import contextlib
import copy
import io
import math
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray
from scipy import sparse

from ..._errors import DataError, Place, first_line
from ..._input_checks import LARGEST_UNPACKED, is_text, trusted_csr
from ...features.learn import MOST_COLUMNS, are_too_few, too_wide
from . import (
    PIECE_BYTES,
    MappedFile,
    Opened,
    Reader,
    Request,
    Rows,
    few_enough_to_keep_open,
    matrix_encoder,
)

_PIECE_BYTES = 1 << 20
_FEWEST_PIECE_ROWS = 256
_LOCAL_HEADER = 30  # bytes of a zip member's header, before its name
_LARGEST_HEADER = 1 << 16
_CSR = ["data", "indices", "indptr"]
_NUMBERS = "biuf"
_KINDS = {"X": _NUMBERS, "data": _NUMBERS, "indices": "iu", "indptr": "iu", "weight": _NUMBERS, "target": "biufU"}


def open_files(paths: list[str], request: Request) -> Opened:
    if isinstance(request.features, int | str):
        raise TypeError("features= takes a list of column numbers.")
    opener = _open_npy if request.format == "npy" else _open_npz
    if request.format == "npy" and request.target is None and len(paths) == 2 and _is_vector(paths[1]):
        request = request._replace(target=paths[1])  # X.npy, y.npy
        paths = paths[:1]
    keep_open = few_enough_to_keep_open(len(paths))
    readers = [opener(path, request, keep_open) for path in paths]
    name, plan = readers[0].name, readers[0].plan
    for reader in readers[1:]:
        other = reader.plan
        if (other.n_features, other.is_sparse) != (plan.n_features, plan.is_sparse):
            raise DataError(
                f"{reader.name}: {other.n_features:,} columns, and {plan.n_features:,} in {name}. "
                "Files that are read together must have the same columns."
            )
    encoder = matrix_encoder(plan.n_features, name, request, is_sparse=plan.is_sparse, names=plan.names)
    return Opened(readers, encoder, request.target)


def _open_npy(path: str, request: Request, keep_open: bool) -> MappedReader:
    """Open a matrix in an npy file. Target and weight are column numbers, or other npy files."""
    X = _map_npy(path, "X")[1]
    target, weight = _column_number(request.target), _column_number(request.weight)
    plan = plan_matrix(X.shape[1], path, target, request.features, weight)

    def opened() -> _Arrays:
        file, matrix = _map_npy(path, "X")
        target_file, labels = _other_array(request.target, "target")
        weight_file, weights = _other_array(request.weight, "weight")
        return _Arrays(matrix, labels, weights, [file, *target_file, *weight_file])

    return MappedReader(path, opened, plan, keep_open)


def _column_number(value: Any) -> int | None:
    if isinstance(value, int):
        return value
    if value is None or str(value).endswith(".npy"):
        return None
    raise TypeError(
        f"The columns of an npy file have no names: give a column number or an npy file, not {value!r}."
    )


def _other_array(path: Any, role: str) -> tuple[list[MappedFile], Any]:
    """Map the array of a target or a weight in a separate file."""
    if path is None or isinstance(path, int):
        return [], None
    file, array = _map_npy(str(path), role)
    return [file], array.reshape(-1)


def _open_npz(path: str, request: Request, keep_open: bool) -> MappedReader | CompressedReader:
    """Open a matrix in an npz file: X, or data, indices, indptr and shape. Target and weight name other arrays."""
    file = _NpzFile(path)
    roles = file.roles(request.target, request.weight)
    is_sparse = "X" not in roles
    shape = file.sparse_shape() if is_sparse else file.headers["X"].shape
    for role, key in roles.items():
        found, wanted = file.headers[key].shape, (shape[0] + (role == "indptr"),)
        if role in ("target", "weight", "indptr") and found != wanted:
            raise DataError(f"{path}: {shape[0]:,} rows, and the shape of the {role} is {found}.")
    if is_sparse and request.encoder is None and are_too_few(file.headers["data"].shape[0], shape[1]):
        raise DataError(
            f"{path}: {shape[1]:,} columns, for {file.headers['data'].shape[0]:,} numbers in all rows. If it is "
            "meant so, fit the matrix in memory: MeasureClassifier().fit(scipy.sparse.load_npz(...), y)."
        )
    plan = replace(plan_matrix(shape[1], path, None, request.features, None), is_sparse=is_sparse)
    names = file.headers.get("feature_names")
    if names is not None and names.shape == shape[1:] and names.dtype.kind == "U":
        texts = file.load("feature_names")
        if not is_text(texts):
            raise DataError(f"{path}: feature_names hold numbers that are not characters. Write the file again.")
        plan = replace(plan, names=texts[plan.features].tolist())
    by_column = not is_sparse and file.headers["X"].fortran
    if file.can_be_mapped(roles) or by_column:
        return MappedReader(path, lambda: file.arrays(roles, shape[1]), plan, keep_open or by_column)
    return CompressedReader(path, file, roles, shape, plan)


@dataclass(frozen=True)
class MatrixPlan:
    """The columns of a matrix that are read; None if the target or the weights are not columns of it."""

    features: Any
    """A slice or an array of column numbers."""
    n_features: int
    target: int | None
    weight: int | None
    is_sparse: bool = False
    names: list[str] | None = None

    def rows(self, X: Any, target: Any, weights: Any, place: Place) -> Rows:
        """Return rows of the matrix, with target and weights where they are not columns of it."""
        target = target if self.target is None else X[:, self.target]
        weights = weights if self.weight is None else X[:, self.weight]
        whole = isinstance(self.features, slice) and self.n_features == X.shape[1]
        return Rows(X.shape[0], X if whole else X[:, self.features], target, weights, place)


def plan_matrix(
    n_columns: int, file: str, target: int | None, features: Sequence[int] | None, weight: int | None
) -> MatrixPlan:
    """Return the plan for a matrix with this many columns."""

    def checked(j: Any, use: str = "") -> int:
        if not isinstance(j, (int, np.integer)):
            raise TypeError(f"The columns of {file} have no names: features= takes column numbers, not {j!r}.")
        if not -n_columns <= j < n_columns:
            raise DataError(f"{file}: there is no column {j}{use}; there are {n_columns:,} columns.")
        return int(j) % n_columns

    roles = {" for the target": target, " for the weight": weight}
    taken = [checked(number, use) for use, number in roles.items() if number is not None]
    if n_columns > MOST_COLUMNS:
        raise DataError(too_wide(file, n_columns))
    if features is None:
        chosen = np.delete(np.arange(n_columns), taken)
    else:
        chosen = np.array([checked(j) for j in features], dtype=np.int64)
        if np.isin(chosen, taken).any():
            raise ValueError("A column cannot be a feature and the target or the weight too.")
    if not chosen.size:
        raise DataError(f"{file}: there are no columns besides the target and the weight to learn from.")
    first, stop = int(chosen[0]), int(chosen[0]) + chosen.size
    columns = slice(first, stop) if np.array_equal(chosen, np.arange(first, stop)) else chosen
    return MatrixPlan(columns, chosen.size, target, weight)


class _ArrayHeader:
    """The shape and type of an array, and where its numbers begin, checked before any number is read.

    ``start`` is the beginning of the file, and ``size`` the number of its bytes.
    """

    def __init__(self, start: bytes, size: int, name: str):
        self.name = name
        file = io.BytesIO(start)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the file is of Python 2
                version = npy_format.read_magic(file)
                read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
                shape, self.fortran, self.dtype = read(file)
        except Exception as error:  # a damaged header fails anywhere in the parser of Python and in numpy
            raise DataError(f"{name}: this is not a whole npy file. ({first_line(error)})") from error
        if self.dtype.hasobject:
            raise DataError(f"{name}: it holds Python objects, which are not read. Save numbers.")
        self.begin = file.tell()
        self.shape = tuple(map(int, shape))
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        if min(self.shape, default=0) < 0 or self.begin + self.nbytes > size:
            raise DataError(f"{name}: the file is cut off, or damaged; the shape {self.shape} does not fit it.")

    def check(self, role: str) -> None:
        """Refuse an array that cannot be the matrix, a part of it, the target or the weight."""
        if role == "X":
            if len(self.shape) != 2:
                raise DataError(
                    f"{self.name}: a matrix is needed, and the array has {len(self.shape)} dimensions."
                )
        elif math.prod(self.shape) != max(self.shape, default=0):
            raise DataError(f"{self.name}: the {role} must have one dimension, not the shape {self.shape}.")
        if self.dtype.kind not in _KINDS[role]:
            raise DataError(f"{self.name}: numbers are expected here, and the type is {self.dtype}.")

    def flat(self) -> _ArrayHeader:
        """Return the header of the same numbers in one row."""
        found = copy.copy(self)
        found.shape = (math.prod(self.shape),)
        return found

    def mapped(self, file: MappedFile, offset: int = 0) -> NDArray[Any]:
        """Return the array, not read yet; ``offset`` is where in the file it was found."""
        begin = offset + self.begin
        if begin + self.nbytes > len(file.bytes):
            raise DataError(f"{self.name}: the file is cut off; {self.shape} numbers do not fit into it.")
        flat = np.frombuffer(file.bytes, self.dtype, math.prod(self.shape), begin)
        return flat.reshape(self.shape, order="F" if self.fortran else "C")

    def take(self, file: Any, rows: int) -> NDArray[Any]:
        """Return the next rows, or entries, of the file of the array, which is decompressed from its beginning."""
        shape = (rows, *self.shape[1:])
        wanted = math.prod(shape) * self.dtype.itemsize
        if wanted > LARGEST_UNPACKED:
            raise DataError(
                f"{self.name}: {wanted / 2**30:,.1f} GB would have to be unpacked at once. Save it with "
                "numpy.savez, which does not pack."
            )
        with _unpacking(self.name):
            text = file.read(wanted)
        if len(text) < wanted:
            raise DataError(f"{self.name}: the file is cut off.")
        return np.frombuffer(text, self.dtype).reshape(shape)


@contextlib.contextmanager
def _unpacking(name: str) -> Iterator[None]:
    """Turn the errors of zipfile and the unpackers for a damaged archive into one message."""
    try:
        yield
    except (DataError, FileNotFoundError, PermissionError, IsADirectoryError, MemoryError):
        raise
    except Exception as error:  # zipfile lets errors of struct, zlib, lzma, codecs and its own pass
        raise DataError(
            f"{name}: this is not a whole npz file; it cannot be unpacked. ({first_line(error)})"
        ) from error


def _npy_header(path: str) -> _ArrayHeader:
    with open(path, "rb") as file:
        return _ArrayHeader(file.read(_LARGEST_HEADER), os.fstat(file.fileno()).st_size, path)


def _is_vector(path: str) -> bool:
    return len(_npy_header(path).shape) == 1


def _map_npy(path: str, role: str) -> tuple[MappedFile, NDArray[Any]]:
    """Return the array of an npy file, and the file."""
    mapped, header = MappedFile(path), _npy_header(path)
    header.check(role)
    return mapped, header.mapped(mapped)


class _NpzFile:
    """The arrays of an npz file, and whether they can be mapped."""

    def __init__(self, path: str):
        self._path = path
        self.headers: dict[str, _ArrayHeader] = {}
        with self.opened() as archive:
            self._members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            for key, info in self._members.items():
                with archive.open(info) as file:
                    start = file.read(_LARGEST_HEADER)
                self.headers[key] = _ArrayHeader(start, info.file_size, f"{path}, array {key!r}")

    @contextlib.contextmanager
    def opened(self) -> Iterator[zipfile.ZipFile]:
        with _unpacking(self._path), zipfile.ZipFile(self._path) as archive:
            yield archive

    def numbers_of(self, archive: zipfile.ZipFile, key: str) -> Any:
        """Return the file of an array, at its first number."""
        file = archive.open(self._members[key])
        file.read(self.headers[key].begin)
        return file

    def sparse_shape(self) -> tuple[int, ...]:
        header = self.headers["shape"]
        if header.shape != (2,) or header.dtype.kind not in "iu":
            raise DataError(f"{header.name}: two whole numbers are needed, rows and columns.")
        shape = tuple(map(int, self.load("shape")))
        if min(shape) < 0:
            raise DataError(f"{header.name}: the shape {shape} is not one of a matrix.")
        return shape

    def roles(self, target: str | None, weight: str | None) -> dict[str, str]:
        """Return which array is the matrix (or its data, indices, indptr), the target and the weight."""
        if "X" in self.headers:
            roles = {"X": "X"}
        elif all(key in self.headers for key in [*_CSR, "shape"]):
            roles = {key: key for key in _CSR}
        else:
            raise DataError(
                f"{self._path}: an array X, or the arrays data, indices, indptr and shape, are needed."
            )
        if target is None and "y" in self.headers:
            target = "y"
        for role, key in (("target", target), ("weight", weight)):
            if key is not None and key not in self.headers:
                there = ", ".join(self.headers)
                raise DataError(f"{self._path}: there is no array {key!r} for the {role}; there are {there}.")
            if key is not None:
                roles[role] = key
        for role, key in roles.items():
            self.headers[key].check(role)
        return roles

    def can_be_mapped(self, roles: dict[str, str]) -> bool:
        return all(self._members[key].compress_type == zipfile.ZIP_STORED for key in roles.values())

    def arrays(self, roles: dict[str, str], n_columns: int) -> _Arrays:
        """Map the arrays, or load them: if columns are compressed one by one, rows need the whole array."""
        files, found = [], {}
        if self.can_be_mapped(roles):
            files = [mapped := MappedFile(self._path)]
            for role, key in roles.items():
                offset = self._members[key].header_offset
                local = mapped.bytes[max(offset, 0) : offset + _LOCAL_HEADER]
                names = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
                found[role] = self.headers[key].mapped(mapped, offset + _LOCAL_HEADER + names)
        else:
            found = {role: self.load(key) for role, key in roles.items()}
        X = found["X"] if "X" in found else _CsrArrays(found, n_columns, self._path)
        return _Arrays(X, found.get("target"), found.get("weight"), files)

    def load(self, key: str) -> NDArray[Any]:
        """Unpack the whole of an array."""
        header = self.headers[key]
        with self.opened() as archive, self.numbers_of(archive, key) as file:
            flat = header.flat().take(file, math.prod(header.shape))
        return flat.reshape(header.shape, order="F" if header.fortran else "C")


class _Arrays(NamedTuple):
    """A matrix, dense or CSR, its target and weights, and the mapped files that contain them."""

    X: Any
    target: Any
    weights: Any
    files: list[MappedFile]


class _CsrArrays:
    """The three arrays of a CSR matrix, of which runs of rows are cut without reading the rest."""

    def __init__(self, arrays: dict[str, NDArray[Any]], n_columns: int, name: str):
        self._data, self._indices, self._indptr = (arrays[key] for key in _CSR)
        self._name = name
        self.shape = (self._indptr.size - 1, n_columns)
        self.nbytes = sum(arrays[key].nbytes for key in _CSR)

    def __getitem__(self, rows: slice) -> Any:
        indptr = self._indptr[rows.start : rows.stop + 1].astype(np.int64)
        first, last = int(indptr[0]), int(indptr[-1])
        if not 0 <= first <= last:
            raise Place(self._name, rows.start).error(f"the indptr goes from {first:,} to {last:,}.", 0)
        place = Place(self._name, rows.start)
        return _csr(self._data[first:last], self._indices[first:last], indptr - first, self.shape[1], place)


def _csr(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_columns: int, place: Place) -> Any:
    """Return rows of a file as a CSR matrix that can be trusted."""
    if data.dtype not in (np.float32, np.float64):  # scipy knows no short floats
        data = data.astype(np.float64)
    try:
        return trusted_csr(sparse.csr_array((data, indices, indptr), shape=(indptr.size - 1, n_columns)), "this")
    except ValueError as error:
        raise place.error(f"{error} Write the file again.", 0) from error


class MappedReader(Reader):
    """Rows of arrays with random access. Pieces are runs of rows of about a megabyte."""

    decodes = False

    def __init__(self, path: str, opened: Callable[[], _Arrays], plan: MatrixPlan, keep_open: bool):
        self._opened, self.plan = opened, plan
        arrays = opened()
        self._kept = arrays if keep_open else None
        self.mapped = arrays.files if keep_open else ()
        rows = int(arrays.X.shape[0])
        self._row_bytes = max(int(arrays.X.nbytes) // max(rows, 1), 1)
        self._step = max(_FEWEST_PIECE_ROWS, _PIECE_BYTES // self._row_bytes)
        super().__init__(path, [min(self._step, rows - start) for start in range(0, rows, self._step)])
        for what, array in (("the target", arrays.target), ("the weight", arrays.weights)):
            if array is not None and len(array) != rows:
                raise DataError(f"{path}: {rows:,} rows, and {len(array):,} values of {what}.")

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        arrays = self._kept or self._opened()
        self.require_whole()
        start = piece * self._step
        stop = start + (self.sizes[piece] or 0)
        target, weights = (None if part is None else part[start:stop] for part in (arrays.target, arrays.weights))
        yield self.plan.rows(arrays.X[start:stop], target, weights, Place(self.name, start))
        for file in arrays.files:
            file.used((stop - start) * self._row_bytes)


class CompressedReader(Reader):
    """Rows of a compressed npz file, which can only be read from its beginning."""

    lane_bytes = 4 << 20

    def __init__(self, path: str, file: _NpzFile, roles: dict[str, str], shape: tuple[int, ...], plan: MatrixPlan):
        super().__init__(path, shape[:1])
        self._file, self._roles, self._shape, self.plan = file, roles, shape, plan

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        with contextlib.ExitStack() as stack:
            archive = stack.enter_context(self._file.opened())
            take = {}
            for role, key in self._roles.items():
                file = stack.enter_context(self._file.numbers_of(archive, key))
                take[role] = partial(self._file.headers[key].take, file)
            row_bytes = 4 * self._shape[1] if "X" in take else 0
            batch_rows = max(min(batch_rows, PIECE_BYTES // max(row_bytes, 1)), 1)
            entries = int(take["indptr"](1)[0]) if "indptr" in take else 0
            first = 0
            while first < self._shape[0]:
                rows = min(batch_rows, self._shape[0] - first)
                place = Place(self.name, first)
                if "X" in take:
                    X: Any = take["X"](rows)
                else:
                    indptr = np.concatenate([[entries], take["indptr"](rows)]).astype(np.int64)
                    count = int(indptr[-1]) - entries
                    if count < 0 or (first == 0 and entries != 0):
                        raise place.error(f"the indptr goes from {entries:,} to {int(indptr[-1]):,}.", 0)
                    X = _csr(take["data"](count), take["indices"](count), indptr - entries, self._shape[1], place)
                    entries += count
                target, weights = (take[role](rows) if role in take else None for role in ("target", "weight"))
                yield self.plan.rows(X, target, weights, place)
                first += rows
