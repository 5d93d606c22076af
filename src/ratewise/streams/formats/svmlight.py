"""svmlight / libsvm text: ``label index:value index:value ... # comment``, one row a line."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from .growing import GrowingArray
from .line_blocks import Source
from .svmlight_blocks import Numbering, SvmlightBlock, SvmlightBlocks

DEFAULT_CHUNK_BYTES = 1 << 20
# Smaller, so that all of a block stays in a core's cache; no matrix is made of it.
_LOAD_BYTES = 1 << 18
# How much text "auto" looks at before it decides where the file's numbering begins.
_LOOK_BYTES = 1 << 20


class SvmlightChunk(NamedTuple):
    """Consecutive rows of a file."""

    X: sparse.csr_matrix
    y: NDArray[np.float64]
    first_line: int
    """The line of the first of these rows, from 1; comments and empty lines count."""


def read_svmlight(
    source: Source,
    *,
    chunk_bytes: int = DEFAULT_CHUNK_BYTES,
    n_features: int | None = None,
    dtype: DTypeLike = np.float32,
    zero_based: Numbering = "auto",
) -> SvmlightReader:
    """Read a file chunk by chunk, in memory that does not depend on its length.

    Parameters
    ----------
    source : path or open binary file
        Plain, gzip or bzip2, which the first bytes tell. For standard input give ``sys.stdin.buffer``.
    chunk_bytes : int
        Bytes of text a chunk is made of. A longer line is a chunk by itself.
    n_features : int, optional
        Columns of every ``X``; a larger index is an error. Without it a chunk is as wide as the largest index so
        far asks for, so that later chunks may be wider.
    dtype : float32 or float64
        Of ``X``. Numbers are rounded to float64 first, as scikit-learn does.
    zero_based : bool or "auto"
        Whether the file calls its first column 0 or 1. "auto" looks at the first mebibyte of text (or the first
        chunk, if that is more) and takes 1 unless a 0 occurs there. Should a 0 come later, that is an error which
        asks for ``zero_based=True``: columns never shift on the way. Files that belong together should be read
        with the same explicit value, which ``reader.zero_based`` tells.

    Returns
    -------
    SvmlightReader
        An iterator over :class:`SvmlightChunk`. What is wrong with a file raises :class:`DataError` with the line
        and the token. Rows with NaN or infinite values are read as they are.
    """
    return SvmlightReader(source, chunk_bytes, n_features, dtype, zero_based)


def load_svmlight(
    source: Source,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: Numbering = "auto",
) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
    """Read a whole file: ``X, y``, equal bit for bit to scikit-learn's ``load_svmlight_file``.

    Here "auto" looks at the whole file: it counts from 0 if an index 0 occurs anywhere. The other parameters are
    those of :func:`read_svmlight`.
    """
    blocks = SvmlightBlocks(source, _LOAD_BYTES, n_features, dtype, zero_based)
    values, indices, labels = GrowingArray(blocks.dtype), GrowingArray(np.int32), GrowingArray(np.float64)
    indptr = GrowingArray(np.int64)
    indptr.append(np.zeros(1, dtype=np.int64))
    with contextlib.closing(blocks):
        for block in blocks:
            share = blocks.share_read
            indptr.append(block.indptr[1:] + np.int64(values.size), share)
            values.append(block.values, share)
            indices.append(block.indices, share)
            labels.append(block.labels, share)
    columns = indices.finish()
    blocks.settle([columns])
    row_ends = indptr.finish()
    if row_ends[-1] <= np.iinfo(np.int32).max:
        row_ends = row_ends.astype(np.int32)
    y = labels.finish()
    return sparse.csr_matrix((values.finish(), columns, row_ends), shape=(y.size, blocks.width)), y


class SvmlightReader(Iterator[SvmlightChunk]):
    """The chunks of one file, in order, once. Made by :func:`read_svmlight`."""

    def __init__(
        self, source: Source, chunk_bytes: int, n_features: int | None, dtype: DTypeLike, zero_based: Numbering
    ):
        self._blocks = SvmlightBlocks(source, chunk_bytes, n_features, dtype, zero_based)
        self._chunks = self._read()

    @property
    def zero_based(self) -> bool | None:
        """Whether the file counts from 0; None until "auto" has decided, which the first chunk waits for."""
        return self._blocks.zero_based

    def __next__(self) -> SvmlightChunk:
        return next(self._chunks)

    def close(self) -> None:
        """Close the file, if it was opened here. Happens by itself at the end of the file or of the reader."""
        self._chunks.close()
        self._blocks.close()

    def __enter__(self) -> SvmlightReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_chunks"):
            self.close()

    def _read(self) -> Generator[SvmlightChunk]:
        blocks = self._blocks
        waiting: list[SvmlightBlock] = []
        try:
            for block in blocks:
                waiting.append(block.copy())
                if blocks.zero_based is None and blocks.smallest_index > 0 and blocks.bytes_read < _LOOK_BYTES:
                    continue
                yield from self._chunks_of(waiting)
                waiting = []
            yield from self._chunks_of(waiting)
        finally:
            blocks.close()

    def _chunks_of(self, waiting: list[SvmlightBlock]) -> Iterator[SvmlightChunk]:
        self._blocks.settle([block.indices for block in waiting])
        for block in waiting:
            shape = (block.labels.size, self._blocks.width)
            X = sparse.csr_matrix((block.values, block.indices, block.indptr), shape=shape)
            yield SvmlightChunk(X, block.labels, block.first_line)
