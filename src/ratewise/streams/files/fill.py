"""Rows written into a matrix, near the speed of memory."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .columns import CATEGORY, categories, missing_column, numbers
from .encode import Encoder
from .rows import Place

_BLOCK_ROWS = 2048  # of 22 columns: fits into the second-level cache, in which columns become rows
_CHECKED_AT_ONCE = 1 << 16


class Filler:
    """Writes rows into a matrix, as an encoder says; looks things up faster than the encoder's plain lists."""

    def __init__(self, encoder: Encoder):
        self.encoder = encoder
        self.n_features = encoder.n_features
        widths = [encoder.width(name) for name in encoder.columns] if encoder.categories else []
        self._starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64) if widths else None
        self._codes = {
            name: {value: code for code, value in enumerate(vocabulary)}
            for name, vocabulary in encoder.vocabularies.items()
        }

    def matrix(self, features: Any, size: int, place: Place) -> Any:
        """A new matrix of the rows."""
        if self.encoder.sparse:
            return self.csr(features, size, place)
        out = np.empty((size, self.n_features), dtype=np.float32)
        self.fill(features, out, place)
        return out

    def fill(self, features: Any, out: NDArray[np.float32], place: Place) -> None:
        """Write dense rows into ``out``."""
        self._check_shape(features, place)
        if not isinstance(features, dict):
            dense = features.toarray() if sparse.issparse(features) else np.asarray(features)
            self._fill_matrix(dense, out, place)
            return
        columns, targets = [], []
        for position, name in enumerate(self.encoder.columns):
            start = position if self._starts is None else int(self._starts[position])
            if self.encoder.kind(name) == CATEGORY:
                self._fill_category(features[name], name, out, start, place)
            else:
                columns.append((position, name, numbers(features[name], name, place)))
                targets.append(start)
        self._fill_numbers(columns, targets, out, place)

    def _check_shape(self, features: Any, place: Place) -> None:
        encoder = self.encoder
        if isinstance(features, dict):
            for name in encoder.columns:
                if name not in features:
                    raise missing_column(name, place.file, list(features), "the model was trained on")
        elif features.shape[1] != encoder.n_columns and not encoder.elastic:
            raise place.error(f"{features.shape[1]:,} columns, where {encoder.n_columns:,} are expected.")

    def _fill_matrix(self, X: NDArray[Any], out: NDArray[np.float32], place: Place) -> None:
        with np.errstate(over="ignore"):
            out[...] = X
        if not _all_finite(out):
            for j in np.flatnonzero(~np.isfinite(out).all(axis=0)):
                self._mend(int(j), self.encoder.columns[j], X[:, j], out[:, j], place)

    def _fill_numbers(self, columns: Any, targets: list[int], out: NDArray[np.float32], place: Place) -> None:
        """Turn columns into rows, a block at a time, so that each row is in the cache until all of it is there."""
        with np.errstate(over="ignore"):
            for start in range(0, out.shape[0], _BLOCK_ROWS):
                block = out[start : start + _BLOCK_ROWS]
                for (_, _, column), target in zip(columns, targets, strict=True):
                    block[:, target] = column[start : start + _BLOCK_ROWS]
        if not _all_finite(out):
            for (position, name, column), target in zip(columns, targets, strict=True):
                self._mend(position, name, column, out[:, target], place)

    def _mend(self, j: int, name: str, raw: NDArray[Any], column: NDArray[np.float32], place: Place) -> None:
        """Put the mean where a number is missing; an infinite one is an error."""
        column[np.isnan(column)] = self.encoder.means[j]
        infinite = np.flatnonzero(np.isinf(column))
        if infinite.size:
            raise infinite_number(raw[infinite[0]], name, int(infinite[0]), place)

    def _fill_category(self, column: Any, name: str, out: NDArray[np.float32], start: int, place: Place) -> None:
        levels = self.levels(column, name, place)
        out[:, start : start + self.encoder.width(name)] = 0.0
        known = np.flatnonzero(levels >= 0)
        out[known, start + levels[known]] = 1.0

    def levels(self, column: Any, name: str, place: Place) -> NDArray[np.int64]:
        """The level of each row's value, -1 for one that has none."""
        codes, values = categories(column, name, place)
        buckets = self.encoder.buckets.get(name)
        if buckets is not None:
            known = [bucket_of(value, buckets) for value in values]
        else:
            vocabulary = self._codes.get(name, {})
            known = [vocabulary.get(value, -1) for value in values]
        missing = self.encoder.width(name) - 1 if name in self.encoder.missing_levels else -1
        return np.array([*known, missing], dtype=np.int64)[codes]

    def csr(self, features: Any, size: int, place: Place) -> Any:
        """The rows as a CSR matrix."""
        self._check_shape(features, place)
        if not isinstance(features, dict):
            return _finite_csr(_of_width(sparse.csr_array(features), self.n_features), place)
        k = self.encoder.n_columns
        indices = np.empty((size, k), dtype=np.int32)
        data = np.ones((size, k), dtype=np.float32)
        for position, name in enumerate(self.encoder.columns):
            start = position if self._starts is None else int(self._starts[position])
            if self.encoder.kind(name) == CATEGORY:
                levels = self.levels(features[name], name, place)
                indices[:, position] = np.where(levels >= 0, start + levels, -1)
                continue
            indices[:, position] = start
            raw = numbers(features[name], name, place)
            with np.errstate(over="ignore"):
                data[:, position] = raw
            self._mend(position, name, raw, data[:, position], place)
        stored = (indices >= 0) & (data != 0)
        indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
        return sparse.csr_array((data[stored], indices[stored], indptr), shape=(size, self.n_features))


def bucket_of(value: str, buckets: int) -> int:
    """The bucket of a value, the same on every machine and in every run."""
    return zlib.crc32(value.encode()) % buckets


def infinite_number(value: Any, name: str, offset: int, place: Place) -> Exception:
    return place.error(f"{value} is infinite, or too large for 32-bit numbers.", offset, name)


def _all_finite(matrix: NDArray[np.float32]) -> bool:
    flat = matrix.reshape(-1)
    starts = range(0, flat.size, _CHECKED_AT_ONCE)
    return all(np.isfinite(flat[start : start + _CHECKED_AT_ONCE]).all() for start in starts)


def _finite_csr(matrix: Any, place: Place) -> Any:
    with np.errstate(over="ignore"):
        out = sparse.csr_array(matrix, dtype=np.float32)
    if not np.isfinite(out.data).all():
        entry = int(np.argmin(np.isfinite(out.data)))
        row = int(np.searchsorted(out.indptr, entry, side="right")) - 1
        raise place.error(
            f"{matrix.data[entry]} in column {int(out.indices[entry]):,}: "
            "the numbers of sparse data must be finite, and none may be missing.",
            row,
        )
    return out


def _of_width(matrix: Any, width: int) -> Any:
    """Columns of zeros added, or columns left out, up to the width."""
    if matrix.shape[1] > width:
        return matrix[:, :width]
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
