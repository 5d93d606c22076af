"""Opening npy and npz files: which array, or which column, is what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..files.errors import DataError
from ..files.rows import Reader
from .mapped import MappedFile
from .matrices import MatrixPlan, plan_matrix
from .npz_files import NpzFile, PackedReader
from .numpy_files import Arrays, CsrArrays, MappedReader, map_npy

_CSR = ["data", "indices", "indptr"]


class MatrixSource(NamedTuple):
    """A reader of a matrix, and what is to be known of it."""

    reader: Reader
    n_features: int
    names: list[str] | None
    sparse: bool
    has_target: bool


def open_npy(
    path: str, name: str, target: Any, features: Sequence[int] | None, weight: Any, keep_open: bool
) -> MatrixSource:
    """A matrix in an npy file. Target and weight are column numbers, or other npy files."""
    X = map_npy(path, name)[1]
    if X.ndim != 2:
        raise DataError(f"{name}: a matrix is needed, and the array has {X.ndim} dimensions.")
    columns = [_column_number(value) for value in (target, weight)]
    plan = plan_matrix(X.shape[1], name, columns[0], features, columns[1])

    def opened() -> Arrays:
        file, matrix = map_npy(path, name)
        target_file, labels = _other_array(target)
        weight_file, weights = _other_array(weight)
        return Arrays(matrix, labels, weights, [file, *target_file, *weight_file])

    reader = MappedReader(name, opened, plan, keep_open)
    return MatrixSource(reader, plan.n_features, None, False, target is not None)


def _column_number(value: Any) -> int | None:
    if isinstance(value, int):
        return value
    if value is None or str(value).endswith(".npy"):
        return None
    raise TypeError(
        f"The columns of an npy file have no names: give a column number or an npy file, not {value!r}."
    )


def _other_array(path: Any) -> tuple[list[MappedFile], Any]:
    """The array of a target or a weight that is a file of its own."""
    if path is None or isinstance(path, int):
        return [], None
    file, array = map_npy(str(path), str(path))
    if array.ndim != 1 and array.size != array.shape[0]:
        raise DataError(f"{path}: target and weight must have one dimension, not the shape {array.shape}.")
    return [file], array.reshape(-1)


def open_npz(
    path: str, name: str, target: Any, features: Sequence[int] | None, weight: Any, keep_open: bool
) -> MatrixSource:
    """A matrix in an npz file: X, or data, indices, indptr and shape. Target and weight name other arrays."""
    file = NpzFile(path, name)
    roles = _roles(file, name, target, weight)
    is_sparse = "X" not in roles
    shape = _shape(file, is_sparse, name)
    _check_lengths(file, roles, shape[0], name)
    plan = plan_matrix(shape[1], name, None, features, None)
    names = None
    if "feature_names" in file.headers and len(loaded := file.load("feature_names")) == shape[1]:
        names = [str(title) for title in loaded[plan.features]]
    reader = _npz_reader(file, path, name, roles, shape, plan, keep_open)
    return MatrixSource(reader, plan.n_features, names, is_sparse, "target" in roles)


def _roles(file: NpzFile, name: str, target: Any, weight: Any) -> dict[str, str]:
    """Which array plays which part."""
    if "X" in file.headers:
        roles = {"X": "X"}
    elif all(key in file.headers for key in [*_CSR, "shape"]):
        roles = {key: key for key in _CSR}
    else:
        raise DataError(f"{name}: an array X, or the arrays data, indices, indptr and shape, are needed.")
    if target is None and "y" in file.headers:
        target = "y"
    for role, key in (("target", target), ("weight", weight)):
        if key is not None and key not in file.headers:
            raise DataError(
                f"{name}: there is no array {key!r} for the {role}; there are {', '.join(file.headers)}."
            )
        if key is not None:
            roles[role] = key
    return roles


def _check_lengths(file: NpzFile, roles: dict[str, str], rows: int, name: str) -> None:
    for role in ("target", "weight"):
        if role in roles and file.headers[roles[role]].shape != (rows,):
            raise DataError(
                f"{name}: {rows:,} rows, and the shape of the {role} is {file.headers[roles[role]].shape}."
            )


def _shape(file: NpzFile, is_sparse: bool, name: str) -> tuple[int, int]:
    shape = tuple(int(n) for n in (file.load("shape") if is_sparse else file.headers["X"].shape))
    if len(shape) != 2:
        raise DataError(f"{name}: a matrix is needed, and the array has {len(shape)} dimensions.")
    return shape


def _npz_reader(
    file: NpzFile,
    path: str,
    name: str,
    roles: dict[str, str],
    shape: tuple[int, int],
    plan: MatrixPlan,
    keep_open: bool,
) -> Reader:
    in_columns = "X" in roles and file.headers["X"].fortran
    if not file.can_be_mapped(list(roles.values())) and not in_columns:
        return PackedReader(path, name, roles, shape, plan)

    def opened() -> Arrays:
        if file.can_be_mapped(list(roles.values())):
            mapped, arrays = file.map(list(roles.values()))
            files = [mapped]
        else:  # compressed, column by column: rows cannot be had without all of it
            files, arrays = [], {key: file.load(key) for key in roles.values()}
        X: Any = arrays.get("X")
        if X is None:
            X = CsrArrays(arrays["data"], arrays["indices"], arrays["indptr"], shape[1])
        return Arrays(X, arrays.get(roles.get("target", "")), arrays.get(roles.get("weight", "")), files)

    return MappedReader(name, opened, plan, keep_open or in_columns)
