"""Blocks of svmlight text as the arrays of CSR matrices, and what is said of bad lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..files.errors import DataError
from . import svmlight_kernel as kernel
from .line_blocks import LineBlocks, Source

Numbering = bool | Literal["auto"]

_COMPLAINTS = {
    kernel.BAD_LABEL: "the label {} is not a number. A line is a label, then index:value pairs.",
    kernel.BAD_VALUE: "the value in {} is not a number.",
    kernel.NO_COLON: "{} has no colon. After the label a line has index:value pairs only.",
    kernel.NOT_AN_INDEX: "bad index in {}: it should be a whole number, then a colon.",
    kernel.BELOW_ZERO: "bad index in {}: an index cannot be negative.",
    kernel.BELOW_BASE: "bad index in {}: columns count from 1 here. Pass zero_based=True if they count from 0.",
    kernel.NOT_RISING: "bad index in {}: indices must rise along a line, and none may come twice.",
    kernel.TOO_HIGH: f"bad index in {{}}: the largest possible is {kernel.LARGEST_INDEX:,}.",
}


class SvmlightBlock(NamedTuple):
    """Some rows as CSR arrays, which the next block overwrites."""

    values: NDArray[np.floating[Any]]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int32]
    labels: NDArray[np.float64]
    first_line: int

    def copy(self) -> SvmlightBlock:
        values, indices, indptr, labels, first_line = self
        return SvmlightBlock(values.copy(), indices.copy(), indptr.copy(), labels.copy(), first_line)


class SvmlightBlocks:
    """The blocks of one file that hold rows, in order.

    While ``zero_based`` is None, indices are kept as they are written; ``settle`` ends that.
    """

    def __init__(
        self, source: Source, block_bytes: int, n_features: int | None, dtype: DTypeLike, zero_based: Numbering
    ):
        self.dtype = _checked(block_bytes, n_features, dtype, zero_based)
        self.zero_based: bool | None = None if zero_based == "auto" else bool(zero_based)
        self.smallest_index, self.largest_index = kernel.LARGEST_INDEX, -1  # as written
        self.bytes_read = 0
        self._guessed = False
        self._n_features = n_features
        self._lines = LineBlocks(source, block_bytes)
        self._arrays, self._arrays_fit = self._room_for(0), 0  # bytes of text

    def close(self) -> None:
        self._lines.close()

    @property
    def share_read(self) -> float:
        """How much of the file has been read, from 0 to 1; 0 where that cannot be known."""
        return self.bytes_read / self._lines.size if self._lines.size else 0.0

    @property
    def width(self) -> int:
        """Columns: as asked for, else as many as seen so far; at least one, as in scikit-learn."""
        return self._n_features or max(self.largest_index + 1 - self._base, 1)

    def __iter__(self) -> Iterator[SvmlightBlock]:
        while stop := self._lines.next_block():
            self.bytes_read += stop
            block = self._parsed(stop)
            if block.labels.size:
                yield block

    def settle(self, indices: list[NDArray[np.int32]]) -> None:
        """Unless it is known, decide where the numbering begins by all that was read, and shift these indices."""
        if self.zero_based is not None:
            return
        self.zero_based = self.smallest_index == 0
        self._guessed = True
        if not self.zero_based:
            for written in indices:
                np.subtract(written, 1, out=written)
        elif self._n_features is not None and self.largest_index >= self._n_features:
            raise DataError(
                f"{self._lines.name}: bad index {self.largest_index}. With index 0, which occurs too, that makes "
                f"more than the {self._n_features:,} features asked for by n_features={self._n_features}."
            )

    @property
    def _base(self) -> int:
        return 1 if self.zero_based is False else 0

    @property
    def _highest(self) -> int:
        """The largest index that may be written; while the numbering is open, that of the more generous one."""
        if self._n_features is None:
            return kernel.LARGEST_INDEX
        return min(kernel.LARGEST_INDEX, self._n_features - (self.zero_based is True))

    def _parsed(self, stop: int) -> SvmlightBlock:
        lines = self._lines
        if lines.buffer.size > self._arrays_fit:  # at first, and after a line that did not fit
            self._arrays, self._arrays_fit = self._room_for(lines.buffer.size), lines.buffer.size
        indptr, indices, values, labels, for_python = arrays = self._arrays
        status, at, n_rows, n_entries, n_left, n_lines, first_row, smallest, largest = kernel.parse_lines(
            lines.buffer, stop, self._base, self._highest, *arrays
        )
        self._convert(for_python[:n_left])
        if status != kernel.DONE:
            raise self._error(status, at)
        first_line = lines.line(max(first_row, 0))
        lines.lines_before += n_lines
        self.smallest_index = min(self.smallest_index, smallest)
        self.largest_index = max(self.largest_index, largest)
        return SvmlightBlock(
            values[:n_entries], indices[:n_entries], indptr[: n_rows + 1], labels[:n_rows], first_line
        )

    def _convert(self, for_python: NDArray[np.int64]) -> None:
        """Let Python read the numbers that the compiled loop left to it."""
        values, labels = self._arrays.values, self._arrays.labels
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, as in scikit-learn
            for entry, begin, end in for_python.tolist():
                try:
                    number = float(self._lines.text(begin, end))
                except ValueError:
                    status = kernel.BAD_LABEL if entry < 0 else kernel.BAD_VALUE
                    raise self._error(status, begin) from None
                if entry < 0:
                    labels[-1 - entry] = number
                else:
                    values[entry] = number

    def _room_for(self, size: int) -> _Arrays:
        """Arrays that no text of this many bytes can overflow; what is never written to takes no memory."""
        entries, rows = size // 4 + 1, size // 2 + 1
        return _Arrays(
            np.empty(rows + 1, dtype=np.int32),
            np.empty(entries, dtype=np.int32),
            np.empty(entries, dtype=self.dtype),
            np.empty(rows, dtype=np.float64),
            np.empty((entries, 3), dtype=np.int64),
        )

    def _error(self, status: int, at: int) -> DataError:
        return DataError(f"{self._lines.where(at)}: {self._complaint(status).format(self._lines.token(at))}")

    def _complaint(self, status: int) -> str:
        if status == kernel.BELOW_BASE and self._guessed:
            return (
                "bad index in {}: the first lines had no index 0, so columns were taken to count from 1. "
                "Pass zero_based=True if this file counts from 0."
            )
        if status == kernel.TOO_HIGH and self._highest < kernel.LARGEST_INDEX:
            return f"bad index in {{}}: it is beyond the {self._n_features:,} columns that n_features allows."
        return _COMPLAINTS[status]


class _Arrays(NamedTuple):
    """Room for the results of the compiled loop, used for one block after another; in its order."""

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: NDArray[np.floating[Any]]
    labels: NDArray[np.float64]
    for_python: NDArray[np.int64]


def _checked(block_bytes: int, n_features: int | None, dtype: DTypeLike, zero_based: Numbering) -> np.dtype[Any]:
    if block_bytes < 1:
        raise ValueError(f"chunk_bytes must be at least 1, not {block_bytes}.")
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be at least 1, not {n_features}.")
    if zero_based not in (True, False, "auto"):
        raise ValueError(f'zero_based must be True, False or "auto", not {zero_based!r}.')
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {np.dtype(dtype)}.")
    return np.dtype(dtype)
