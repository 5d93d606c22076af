"""Blocks of svmlight text as the arrays of CSR matrices, and what is said of bad lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import svmlight_kernel as kernel
from .errors import DataError
from .line_blocks import LineBlocks, Source

Numbering = bool | Literal["auto"]


class SvmlightBlock(NamedTuple):
    """Some rows as CSR arrays."""

    values: NDArray[np.floating[Any]]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int32]
    labels: NDArray[np.float64]
    first_line: int


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
        self._arrays = self._room_for(0)

    def close(self) -> None:
        self._lines.close()

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

    def settle(self, blocks: list[SvmlightBlock]) -> None:
        """Decide where the numbering begins by all that was read, and shift these blocks accordingly."""
        self.zero_based = self.smallest_index == 0
        self._guessed = True
        if not self.zero_based:
            for block in blocks:
                np.subtract(block.indices, 1, out=block.indices)
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
        if self._arrays.labels.size < stop // 2:
            self._arrays = self._room_for(lines.buffer.size)
        indptr, indices, values, labels, for_python = arrays = self._arrays
        status, at, n_rows, n_entries, n_left, n_lines, first_row, smallest, largest = kernel.parse_lines(
            lines.buffer, stop, self._base, self._highest, *arrays
        )
        self._convert(for_python[:n_left])
        if status != kernel.DONE:
            raise DataError(f"{lines.where(at)}: {self._complaint(status, lines.token(at))}")
        first_line = lines.line(max(first_row, 0))
        lines.lines_before += n_lines
        self.smallest_index = min(self.smallest_index, smallest)
        self.largest_index = max(self.largest_index, largest)
        return SvmlightBlock(
            values[:n_entries].copy(),
            indices[:n_entries].copy(),
            indptr[: n_rows + 1].copy(),
            labels[:n_rows].copy(),
            first_line,
        )

    def _convert(self, for_python: NDArray[np.int64]) -> None:
        """Let Python read the numbers that the compiled loop left to it."""
        for entry, begin, end in for_python.tolist():
            try:
                number = float(self._lines.text(begin, end))
            except ValueError:
                status = kernel.BAD_LABEL if entry < 0 else kernel.BAD_VALUE
                complaint = self._complaint(status, self._lines.token(begin))
                raise DataError(f"{self._lines.where(begin)}: {complaint}") from None
            if entry < 0:
                self._arrays.labels[-1 - entry] = number
            else:
                with np.errstate(over="ignore"):  # infinite in float32, as in scikit-learn
                    self._arrays.values[entry] = number

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

    def _complaint(self, status: int, token: str) -> str:
        if status == kernel.BAD_LABEL:
            return f"the label {token} is not a number. A line is a label, then index:value pairs."
        if status == kernel.BAD_VALUE:
            return f"the value in {token} is not a number."
        if status == kernel.NO_COLON:
            return f"{token} has no colon. Write index:value."
        if status == kernel.NOT_AN_INDEX:
            return f"bad index in {token}: a whole number and a colon should come first."
        if status == kernel.BELOW_ZERO:
            return f"bad index in {token}: indices cannot be negative."
        if status == kernel.NOT_RISING:
            return f"bad index in {token}: indices must rise along a line, each at most once."
        if status == kernel.BELOW_BASE and self._guessed:
            return (
                f"bad index in {token}: no line before had an index 0, so columns were taken to be counted from 1. "
                "Pass zero_based=True."
            )
        if status == kernel.BELOW_BASE:
            return f"bad index in {token}: columns are counted from 1 here. Pass zero_based=True if from 0."
        if self._highest < kernel.LARGEST_INDEX:
            return f"bad index in {token}: beyond the {self._n_features:,} features that n_features asks for."
        return f"bad index in {token}: the largest possible is {kernel.LARGEST_INDEX:,}."


class _Arrays(NamedTuple):
    """Room for the results of the compiled loop, used for one block after another; in its order."""

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: NDArray[np.floating[Any]]
    labels: NDArray[np.float64]
    for_python: NDArray[np.int64]


def _checked(
    block_bytes: int, n_features: int | None, dtype: DTypeLike, zero_based: Numbering
) -> np.dtype[np.floating[Any]]:
    if block_bytes < 1:
        raise ValueError(f"chunk_bytes must be at least 1, not {block_bytes}.")
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be at least 1, not {n_features}.")
    if zero_based not in (True, False, "auto"):
        raise ValueError(f'zero_based must be True, False or "auto", not {zero_based!r}.')
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {np.dtype(dtype)}.")
    return np.dtype(dtype)
