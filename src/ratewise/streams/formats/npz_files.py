"""Arrays in npz files: mapped into memory, or unpacked a run of rows at a time where they are compressed."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..files.errors import DataError
from ..files.rows import Place, Rows
from .mapped import MappedFile
from .matrices import MatrixPlan
from .numpy_files import ArrayHeader

_LOCAL_HEADER = 30  # bytes of a zip member's header, before its name


class Member:
    """An array in a zip file, unpacked from its beginning, a run at a time."""

    def __init__(self, archive: zipfile.ZipFile, name: str, file: str):
        self._stream = archive.open(f"{name}.npy")
        self._header = ArrayHeader(self._stream, f"{file}, array {name!r}")  # type: ignore[arg-type]
        self.shape = self._header.shape

    def close(self) -> None:
        self._stream.close()

    def take(self, rows: int) -> NDArray[Any]:
        """The next rows, or entries."""
        header = self._header
        shape = (rows, *header.shape[1:])
        wanted = int(np.prod(shape, dtype=np.int64)) * header.dtype.itemsize
        try:
            text = self._stream.read(wanted)
        except (zipfile.BadZipFile, OSError, EOFError) as error:
            raise DataError(f"{header.name}: it cannot be unpacked. ({error})") from error
        if len(text) < wanted:
            raise DataError(f"{header.name}: the file is cut off.")
        return np.frombuffer(text, header.dtype).reshape(shape)


class PackedReader:
    """Rows of a compressed npz file, which can only be read from its beginning."""

    repeatable = True
    pieces = 1
    lane_bytes = 4 << 20

    def __init__(self, path: str, name: str, arrays: dict[str, str], shape: tuple[int, int], plan: MatrixPlan):
        self.name = name
        self._path = path
        self._arrays = arrays
        self._shape = shape
        self._plan = plan

    def rows_of(self, piece: int) -> int:
        return self._shape[0]

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        with contextlib.ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(self._path))
            members = {role: Member(archive, name, self.name) for role, name in self._arrays.items()}
            for member in members.values():
                stack.callback(member.close)
            if "indptr" in members:
                members["indptr"].take(1)
            first, end = 0, 0
            while first < self._shape[0]:
                rows = min(batch_rows, self._shape[0] - first)
                if "X" in members:
                    X: Any = members["X"].take(rows)
                else:
                    X, end = self._csr(members, rows, end)
                target = members["target"].take(rows) if "target" in members else None
                weights = members["weight"].take(rows) if "weight" in members else None
                yield self._plan.rows(X, target, weights, Place(self.name, first))
                first += rows

    def _csr(self, members: dict[str, Member], rows: int, end: int) -> tuple[Any, int]:
        indptr = np.concatenate([[end], members["indptr"].take(rows)]).astype(np.int64)
        entries = int(indptr[-1]) - end
        parts = (members["data"].take(entries), members["indices"].take(entries), indptr - end)
        return sparse.csr_array(parts, shape=(rows, self._shape[1])), int(indptr[-1])


class NpzFile:
    """The arrays of an npz file, and whether they can be mapped."""

    def __init__(self, path: str, name: str):
        self._path, self._name = path, name
        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
                self.headers = {key: self._header(archive, key) for key in self._members}
        except (zipfile.BadZipFile, EOFError) as error:
            raise DataError(f"{name}: this is not a whole npz file. ({error})") from error

    def _header(self, archive: zipfile.ZipFile, key: str) -> ArrayHeader:
        with archive.open(f"{key}.npy") as file:
            return ArrayHeader(file, f"{self._name}, array {key!r}")  # type: ignore[arg-type]

    def can_be_mapped(self, keys: list[str]) -> bool:
        return all(self._members[key].compress_type == zipfile.ZIP_STORED for key in keys)

    def map(self, keys: list[str]) -> tuple[MappedFile, dict[str, NDArray[Any]]]:
        mapped = MappedFile(self._path, self._name)
        arrays = {}
        for key in keys:
            offset = self._members[key].header_offset
            local = mapped.bytes[offset : offset + _LOCAL_HEADER]
            names = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
            arrays[key] = self.headers[key].mapped(mapped, offset + _LOCAL_HEADER + names)
        return mapped, arrays

    def load(self, key: str) -> NDArray[Any]:
        with np.load(self._path) as arrays:
            loaded: NDArray[Any] = arrays[key]
            return loaded
