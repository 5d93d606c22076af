"""Arrays in npy files, mapped into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray
from scipy import sparse

from ..files.errors import DataError
from ..files.rows import Place, Rows
from .mapped import MappedFile
from .matrices import MatrixPlan

_PIECE_BYTES = 1 << 20
_FEWEST_PIECE_ROWS = 256


class ArrayHeader:
    """The shape and type of an array in a file, and where its numbers begin."""

    def __init__(self, file: BinaryIO, name: str):
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

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def mapped(self, file: MappedFile, offset: int = 0) -> NDArray[Any]:
        """The array, not read yet; ``offset`` is where in the file it was found."""
        begin = offset + self.begin
        if begin + self.nbytes > len(file.bytes):
            raise DataError(f"{self.name}: the file is cut off; {self.shape} numbers do not fit into it.")
        flat = np.frombuffer(file.bytes, self.dtype, int(np.prod(self.shape, dtype=np.int64)), begin)
        return flat.reshape(self.shape, order="F" if self.fortran else "C")


def map_npy(path: str, name: str) -> tuple[MappedFile, NDArray[Any]]:
    """The array of an npy file."""
    mapped = MappedFile(path, name)
    with open(path, "rb") as file:
        header = ArrayHeader(file, name)
    return mapped, header.mapped(mapped)


class Arrays(NamedTuple):
    """A matrix, dense or CSR, what goes with it, and the mapped files it lies in."""

    X: Any
    target: Any
    weights: Any
    files: list[MappedFile]


class MappedReader:
    """Rows of arrays that need not be read from their beginning. Pieces are runs of rows of about a megabyte."""

    repeatable = True
    lane_bytes = 0

    def __init__(self, name: str, opened: Callable[[], Arrays], plan: MatrixPlan, keep_open: bool):
        self.name = name
        self._opened = opened
        self._plan = plan
        arrays = opened()
        self._kept = arrays if keep_open else None
        self._rows = int(arrays.X.shape[0])
        self._row_bytes = max(int(arrays.X.nbytes) // max(self._rows, 1), 1)
        self._step = max(_FEWEST_PIECE_ROWS, _PIECE_BYTES // self._row_bytes)
        for what, array in (("the target", arrays.target), ("the weight", arrays.weights)):
            if array is not None and len(array) != self._rows:
                raise DataError(f"{name}: {self._rows:,} rows, and {len(array):,} values of {what}.")

    @property
    def pieces(self) -> int:
        return -(-self._rows // self._step)

    def rows_of(self, piece: int) -> int:
        return min(self._step, self._rows - piece * self._step)

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        arrays = self._kept or self._opened()
        start = piece * self._step
        stop = start + self.rows_of(piece)
        target = None if arrays.target is None else arrays.target[start:stop]
        weights = None if arrays.weights is None else arrays.weights[start:stop]
        yield self._plan.rows(arrays.X[start:stop], target, weights, Place(self.name, start))
        for file in arrays.files:
            file.used((stop - start) * self._row_bytes)


class CsrArrays:
    """The three arrays of a CSR matrix, of which runs of rows are cut without reading the rest."""

    def __init__(self, data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_columns: int):
        self._data, self._indices, self._indptr = data, indices, indptr
        self.shape = (indptr.size - 1, n_columns)
        self.nbytes = data.nbytes + indices.nbytes + indptr.nbytes

    def __getitem__(self, rows: slice) -> Any:
        indptr = self._indptr[rows.start : rows.stop + 1]
        first, last = int(indptr[0]), int(indptr[-1])
        parts = (self._data[first:last], self._indices[first:last], indptr - first)
        return sparse.csr_array(parts, shape=(indptr.size - 1, self.shape[1]))
