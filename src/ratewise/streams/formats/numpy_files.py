"""npy and npz files: arrays mapped into memory, or decompressed a run of rows at a time."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray
from scipy import sparse

from ..errors import DataError, Place
from . import MappedFile, Opened, Reader, Request, Rows, few_enough_to_keep_open, matrix_encoder

_PIECE_BYTES = 1 << 20
_FEWEST_PIECE_ROWS = 256
_LOCAL_HEADER = 30  # bytes of a zip member's header, before its name
_CSR = ["data", "indices", "indptr"]


def open_files(paths: list[str], request: Request) -> Opened:
    if isinstance(request.features, int | str):
        raise TypeError("features= takes a list of column numbers.")
    opener = _open_npy if request.format == "npy" else _open_npz
    if request.format == "npy" and request.target is None and len(paths) == 2 and _map_npy(paths[1])[1].ndim == 1:
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
    X = _map_npy(path)[1]
    if X.ndim != 2:
        raise DataError(f"{path}: a matrix is needed, and the array has {X.ndim} dimensions.")
    target, weight = _column_number(request.target), _column_number(request.weight)
    plan = plan_matrix(X.shape[1], path, target, request.features, weight)

    def opened() -> _Arrays:
        file, matrix = _map_npy(path)
        target_file, labels = _other_array(request.target)
        weight_file, weights = _other_array(request.weight)
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


def _other_array(path: Any) -> tuple[list[MappedFile], Any]:
    """Map the array of a target or a weight that is a file of its own."""
    if path is None or isinstance(path, int):
        return [], None
    file, array = _map_npy(str(path))
    if array.ndim != 1 and array.size != array.shape[0]:
        raise DataError(f"{path}: target and weight must have one dimension, not the shape {array.shape}.")
    return [file], array.reshape(-1)


def _open_npz(path: str, request: Request, keep_open: bool) -> MappedReader | CompressedReader:
    """Open a matrix in an npz file: X, or data, indices, indptr and shape. Target and weight name other arrays."""
    file = _NpzFile(path)
    roles = file.roles(request.target, request.weight)
    is_sparse = "X" not in roles
    shape = tuple(int(n) for n in (file.load("shape") if is_sparse else file.headers["X"].shape))
    if len(shape) != 2:
        raise DataError(f"{path}: a matrix is needed, and the array has {len(shape)} dimensions.")
    for role in ("target", "weight"):
        if role in roles and (found := file.headers[roles[role]].shape) != (shape[0],):
            raise DataError(f"{path}: {shape[0]:,} rows, and the shape of the {role} is {found}.")
    plan = replace(plan_matrix(shape[1], path, None, request.features, None), is_sparse=is_sparse)
    if "feature_names" in file.headers and len(names := file.load("feature_names")) == shape[1]:
        plan = replace(plan, names=[str(name) for name in names[plan.features]])
    by_column = not is_sparse and file.headers["X"].fortran
    if file.can_be_mapped(roles) or by_column:
        return MappedReader(path, lambda: file.arrays(roles, shape[1]), plan, keep_open or by_column)
    return CompressedReader(path, roles, shape, plan)


@dataclass(frozen=True)
class MatrixPlan:
    """The columns of a matrix that are read; None where the target or the weights are not columns of it."""

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
        return Rows(X.shape[0], X[:, self.features], target, weights, place)


def plan_matrix(
    n_columns: int, file: str, target: int | None, features: Sequence[int] | None, weight: int | None
) -> MatrixPlan:
    """Return the plan for a matrix with so many columns."""

    def checked(j: Any, use: str = "") -> int:
        if not isinstance(j, (int, np.integer)):
            raise TypeError(f"The columns of {file} have no names: features= takes column numbers, not {j!r}.")
        if not -n_columns <= j < n_columns:
            raise DataError(f"{file}: there is no column {j}{use}; there are {n_columns:,} columns.")
        return int(j) % n_columns

    roles = {" for the target": target, " for the weight": weight}
    taken = [checked(number, use) for use, number in roles.items() if number is not None]
    if features is None:
        chosen = [j for j in range(n_columns) if j not in taken]
    else:
        chosen = [checked(j) for j in features]
        if set(chosen) & set(taken):
            raise ValueError("A column cannot be a feature and the target or the weight too.")
    if not chosen:
        raise DataError(f"{file}: there are no columns besides the target and the weight to learn from.")
    in_a_row = chosen == list(range(chosen[0], chosen[0] + len(chosen)))
    columns = slice(chosen[0], chosen[0] + len(chosen)) if in_a_row else np.array(chosen)
    return MatrixPlan(columns, len(chosen), target, weight)


class _ArrayHeader:
    """The shape and type of an array in an open file, and where its numbers begin."""

    def __init__(self, file: Any, name: str):
        try:
            version = npy_format.read_magic(file)
            read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
            self.shape, self.fortran, self.dtype = read(file)
        except ValueError as error:
            raise DataError(f"{name}: this is not a whole npy file. ({error})") from error
        if self.dtype.hasobject:
            raise DataError(f"{name}: it holds Python objects, which are not read. Save numbers.")
        self.begin = file.tell()
        self.name = name

    def mapped(self, file: MappedFile, offset: int = 0) -> NDArray[Any]:
        """Return the array, not read yet; ``offset`` is where in the file it was found."""
        begin, size = offset + self.begin, int(np.prod(self.shape, dtype=np.int64))
        if begin + size * self.dtype.itemsize > len(file.bytes):
            raise DataError(f"{self.name}: the file is cut off; {self.shape} numbers do not fit into it.")
        flat = np.frombuffer(file.bytes, self.dtype, size, begin)
        return flat.reshape(self.shape, order="F" if self.fortran else "C")

    def take(self, file: Any, rows: int) -> NDArray[Any]:
        """Return the next rows, or entries, of the file of the array, which is decompressed from its beginning."""
        shape = (rows, *self.shape[1:])
        wanted = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
        try:
            text = file.read(wanted)
        except (zipfile.BadZipFile, OSError, EOFError) as error:
            raise DataError(f"{self.name}: it cannot be unpacked. ({error})") from error
        if len(text) < wanted:
            raise DataError(f"{self.name}: the file is cut off.")
        return np.frombuffer(text, self.dtype).reshape(shape)


def _map_npy(path: str) -> tuple[MappedFile, NDArray[Any]]:
    """Return the array of an npy file, and the file."""
    mapped = MappedFile(path)
    with open(path, "rb") as file:
        return mapped, _ArrayHeader(file, path).mapped(mapped)


class _NpzFile:
    """The arrays of an npz file, and whether they can be mapped."""

    def __init__(self, path: str):
        self._path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
                self.headers = {key: self._header(archive, key) for key in self._members}
        except (zipfile.BadZipFile, EOFError) as error:
            raise DataError(f"{path}: this is not a whole npz file. ({error})") from error

    def _header(self, archive: zipfile.ZipFile, key: str) -> _ArrayHeader:
        with archive.open(f"{key}.npy") as file:
            return _ArrayHeader(file, f"{self._path}, array {key!r}")

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
        return roles

    def can_be_mapped(self, roles: dict[str, str]) -> bool:
        return all(self._members[key].compress_type == zipfile.ZIP_STORED for key in roles.values())

    def arrays(self, roles: dict[str, str], n_columns: int) -> _Arrays:
        """Map the arrays, or load them: compressed column by column, rows cannot be had without all of it."""
        files, found = [], {}
        if self.can_be_mapped(roles):
            files = [mapped := MappedFile(self._path)]
            for role, key in roles.items():
                offset = self._members[key].header_offset
                local = mapped.bytes[offset : offset + _LOCAL_HEADER]
                names = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
                found[role] = self.headers[key].mapped(mapped, offset + _LOCAL_HEADER + names)
        else:
            found = {role: self.load(key) for role, key in roles.items()}
        X = found["X"] if "X" in found else _CsrArrays(found, n_columns)
        return _Arrays(X, found.get("target"), found.get("weight"), files)

    def load(self, key: str) -> NDArray[Any]:
        with np.load(self._path) as arrays:
            loaded: NDArray[Any] = arrays[key]
            return loaded


class _Arrays(NamedTuple):
    """A matrix, dense or CSR, its target and weights, and the mapped files they lie in."""

    X: Any
    target: Any
    weights: Any
    files: list[MappedFile]


class _CsrArrays:
    """The three arrays of a CSR matrix, of which runs of rows are cut without reading the rest."""

    def __init__(self, arrays: dict[str, NDArray[Any]], n_columns: int):
        self._data, self._indices, self._indptr = (arrays[key] for key in _CSR)
        self.shape = (self._indptr.size - 1, n_columns)
        self.nbytes = sum(arrays[key].nbytes for key in _CSR)

    def __getitem__(self, rows: slice) -> Any:
        indptr = self._indptr[rows.start : rows.stop + 1]
        first, last = int(indptr[0]), int(indptr[-1])
        parts = (self._data[first:last], self._indices[first:last], indptr - first)
        return sparse.csr_array(parts, shape=(indptr.size - 1, self.shape[1]))


class MappedReader(Reader):
    """Rows of arrays with random access. Pieces are runs of rows of about a megabyte."""

    def __init__(self, path: str, opened: Callable[[], _Arrays], plan: MatrixPlan, keep_open: bool):
        self._opened, self.plan = opened, plan
        arrays = opened()
        self._kept = arrays if keep_open else None
        rows = int(arrays.X.shape[0])
        self._row_bytes = max(int(arrays.X.nbytes) // max(rows, 1), 1)
        self._step = max(_FEWEST_PIECE_ROWS, _PIECE_BYTES // self._row_bytes)
        super().__init__(path, [min(self._step, rows - start) for start in range(0, rows, self._step)])
        for what, array in (("the target", arrays.target), ("the weight", arrays.weights)):
            if array is not None and len(array) != rows:
                raise DataError(f"{path}: {rows:,} rows, and {len(array):,} values of {what}.")

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        arrays = self._kept or self._opened()
        start = piece * self._step
        stop = start + (self.sizes[piece] or 0)
        target, weights = (None if part is None else part[start:stop] for part in (arrays.target, arrays.weights))
        yield self.plan.rows(arrays.X[start:stop], target, weights, Place(self.name, start))
        for file in arrays.files:
            file.used((stop - start) * self._row_bytes)


class CompressedReader(Reader):
    """Rows of a compressed npz file, which can only be read from its beginning."""

    lane_bytes = 4 << 20

    def __init__(self, path: str, roles: dict[str, str], shape: tuple[int, ...], plan: MatrixPlan):
        super().__init__(path, shape[:1])
        self._roles, self._shape, self.plan = roles, shape, plan

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        with contextlib.ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(self.name))
            take = {}
            for role, key in self._roles.items():
                file = stack.enter_context(archive.open(f"{key}.npy"))
                take[role] = partial(_ArrayHeader(file, f"{self.name}, array {key!r}").take, file)
            if "indptr" in take:
                take["indptr"](1)
            first, entries = 0, 0
            while first < self._shape[0]:
                rows = min(batch_rows, self._shape[0] - first)
                if "X" in take:
                    X: Any = take["X"](rows)
                else:
                    indptr = np.concatenate([[entries], take["indptr"](rows)]).astype(np.int64)
                    count = int(indptr[-1]) - entries
                    parts = (take["data"](count), take["indices"](count), indptr - entries)
                    X = sparse.csr_array(parts, shape=(rows, self._shape[1]))
                    entries += count
                target, weights = (take[role](rows) if role in take else None for role in ("target", "weight"))
                yield self.plan.rows(X, target, weights, Place(self.name, first))
                first += rows
