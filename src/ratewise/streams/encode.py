"""Raw columns as a matrix of numbers, the same way for every file and for the model's whole life."""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .columns import (
    CATEGORY,
    DATE,
    LONGEST_MEAN_LENGTH,
    NOT_A_FEATURE,
    NUMBER,
    categories,
    long_text,
    make_plan,
    missing_column,
    numbers,
    require_short_text,
)
from .errors import DataError, Place
from .formats import MOST_COLUMNS, Request, Rows, are_too_few, too_wide

LARGEST_VOCABULARY = 256
BUCKETS = 256
WIDEST_DENSE = 300
_MOST_VALUES = 10_000
_BLOCK_ROWS = 2048  # of 22 columns: fits into the second-level cache, in which columns become rows
_CHECKED_AT_ONCE = 1 << 16
# A column is far from 0 if rounding to float32 moves its values by more than this share of their deviation; in a
# CSR matrix, which nothing centres later, if its mean is so many deviations away.
_ROUNDING_NOTICED = 1e-3
_FAR = 10.0
_SAMPLED_ROWS, _SAMPLED_VALUES = 64, 1 << 18
# Texts such as "1,5", "$1.20", "12 %" and "1.234,50": numbers as people write them. Few values may be categories.
_DIGITS = r"(?:\d{1,3}(?:[ ,.'\u00a0]\d{3})+|\d+)(?:[.,]\d+)?"
_CURRENCY = r"[$\u20ac\u00a3\u00a5]"
_WRITTEN_NUMBER = re.compile(rf"\s*\(?[-+]?\s*(?:{_CURRENCY}\s?)?[-+]?{_DIGITS}\s?(?:%|{_CURRENCY})?\)?\s*")
_PLAIN_DIGITS, _PLAIN_NUMBER = re.compile(r"\s*[-+]?\d+\s*"), re.compile(r"\s*[-+]?\d+(?:\.\d+)?\s*")
_FEW_VALUES = 16


class Encoder:
    """How raw columns become the columns of a matrix of float32.

    A number stays a number; its column's mean stands in where it is missing. A boolean becomes 0 or 1, a date or
    time the seconds since 1970. A category becomes one column per value (``colour=red``), at most 256 of them: a
    column with more values is hashed into 256 buckets. A value that was not there when the encoder was learned
    gives zeros.

    Where a column lies so far from 0 that float32 would lose what it tells, such as a time, the matrix is of
    float64 (``wide``). A CSR matrix stays of float32: there a number, ``centres``, is subtracted.

    All it holds are lists, dicts and numpy arrays.

    Parameters
    ----------
    columns : list of str or int
        The names of the raw columns, or the number of columns of a matrix without names.
    kinds : dict, default all numbers
        ``number``, ``boolean``, ``date or time`` or ``category`` by name.
    sparse_input : bool
        The columns come as a sparse matrix.
    elastic : bool
        Sparse rows may come with fewer columns, or with more, which are left out: svmlight files do not say how
        many columns there are.

    Examples
    --------
    >>> import pandas as pd
    >>> from ratewise import open_stream
    >>> table = pd.DataFrame({"age": [1.0, 2.0], "colour": ["red", "blue"], "label": [0, 1]})
    >>> stream = open_stream([table], target="label")
    >>> _ = stream.survey()
    >>> stream.encoder.feature_names
    ('age', 'colour=blue', 'colour=red')
    """

    wide = False  # model files of earlier versions have neither
    centres: dict[str, float] = {}  # noqa: RUF012 - replaced, never changed

    def __init__(
        self,
        columns: list[str] | int,
        kinds: dict[str, str] | None = None,
        sparse_input: bool = False,
        elastic: bool = False,
    ):
        self.named = not isinstance(columns, int)
        self.n_columns = columns if isinstance(columns, int) else len(columns)
        self._names = [] if isinstance(columns, int) else list(columns)
        self.kinds = {} if kinds is None else {name: kind for name, kind in kinds.items() if kind != NUMBER}
        self.sparse_input = sparse_input
        self.elastic = elastic
        self.zero_based: bool | None = None  # svmlight: the first column is called 0, not 1
        self.vocabularies: dict[str, list[str]] = {}
        self.buckets: dict[str, int] = {}
        self.missing_levels: list[str] = []
        self.wide = False
        self.centres = {}
        self.means: NDArray[np.float64] = np.zeros(0 if sparse_input else self.n_columns)
        self.fitted = False

    @property
    def columns(self) -> list[str]:
        """The names of the raw columns, in order."""
        return self._names if self.named else [f"x{i}" for i in range(self.n_columns)]

    def kind(self, name: str) -> str:
        return self.kinds.get(name, NUMBER)

    @property
    def categories(self) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind == CATEGORY]

    def width(self, name: str) -> int:
        """Return how many columns of the matrix a raw column takes."""
        if self.kind(name) != CATEGORY:
            return 1
        return self.buckets.get(name, len(self.vocabularies.get(name, ()))) + (name in self.missing_levels)

    @property
    def n_features(self) -> int:
        """The number of columns of the matrix."""
        return self.n_columns + sum(self.width(name) - 1 for name in self.categories)

    @property
    def sparse(self) -> bool:
        """The matrix is CSR."""
        return self.sparse_input or (bool(self.categories) and self.n_features > WIDEST_DENSE)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the matrix' entries."""
        return np.dtype(np.float64 if self.wide and not self.sparse else np.float32)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the matrix' columns."""
        if not self.kinds:
            return tuple(self.columns)
        return tuple(title for name in self.columns for title in self._titles(name))

    def _titles(self, name: str) -> list[str]:
        if self.kind(name) != CATEGORY:
            return [f"{name} in seconds" if self.kind(name) == DATE else name]
        if name in self.buckets:
            titles = [f"{name}#{bucket}" for bucket in range(self.buckets[name])]
        else:
            titles = [f"{name}={value}" for value in self.vocabularies.get(name, ())]
        return titles + ([f"{name} is missing"] if name in self.missing_levels else [])

    def transform(self, table: Any, name: str = "the table") -> Any:
        """Return the matrix of a table (Arrow, pandas, polars, a dict of arrays) or of another matrix."""
        from .formats.batches import batch_rows

        filler, parts = Filler(self), list(batch_rows(table, name))
        if self.sparse:
            return sparse.vstack([filler.csr(rows) for rows in parts], format="csr", dtype=np.float32)
        out, start = np.empty((sum(rows.size for rows in parts), self.n_features), dtype=self.dtype), 0
        for rows in parts:
            filler.fill(rows, out[start : start + rows.size])
            start += rows.size
        return out


def learn_encoder(table: Any, name: str) -> Encoder:
    """Return the encoder of a table in memory."""
    from .formats.batches import batch_rows, table_schema

    plan = make_plan(table_schema(table, name), name, Request(None, None, None, None, None))
    learner = EncoderFit(Encoder(list(plan.kinds), plan.kinds))
    for rows in batch_rows(table, name, plan):
        learner.add(rows)
    if learner.rows == 0:
        raise DataError(f"{name}: there are no rows.")
    learner.finish()
    return learner.encoder


class Filler:
    """Writes rows into a matrix as an encoder says, with look-up tables in place of the encoder's plain lists."""

    def __init__(self, encoder: Encoder):
        self.encoder = encoder
        self.n_features = encoder.n_features
        widths = [encoder.width(name) for name in encoder.columns] if encoder.categories else []
        self._starts = [0, *np.cumsum(widths).tolist()] if widths else range(encoder.n_columns)
        vocabularies = encoder.vocabularies.items()
        self._codes = {name: {value: code for code, value in enumerate(values)} for name, values in vocabularies}

    def fill(self, rows: Rows, out: NDArray[np.float32]) -> None:
        """Write dense rows into ``out``."""
        features, place = rows.features, rows.place
        self._check_shape(features, place)
        if not isinstance(features, dict):
            dense = features.toarray() if sparse.issparse(features) else np.asarray(features)
            with np.errstate(over="ignore"):
                out[...] = dense
            if not _all_finite(out):
                for j in map(int, np.flatnonzero(~np.isfinite(out).all(axis=0))):
                    self._mend(j, self.encoder.columns[j], dense[:, j], out[:, j], place)
            return
        columns = []
        for position, (name, start) in enumerate(zip(self.encoder.columns, self._starts, strict=False)):
            if self.encoder.kind(name) != CATEGORY:
                kind = self.encoder.kind(name)
                columns.append((position, name, numbers(features[name], name, place, kind), start))
                continue
            levels = self._levels(features[name], name)
            out[:, start : start + self.encoder.width(name)] = 0.0
            known = np.flatnonzero(levels >= 0)
            out[known, start + levels[known]] = 1.0
        with np.errstate(over="ignore"):
            for begin in range(0, out.shape[0], _BLOCK_ROWS):  # a row stays in the cache until it is complete
                block = out[begin : begin + _BLOCK_ROWS]
                for _, _, column, start in columns:
                    block[:, start] = column[begin : begin + _BLOCK_ROWS]
        if not _all_finite(out):
            for position, name, column, start in columns:
                self._mend(position, name, column, out[:, start], place)

    def csr(self, rows: Rows) -> Any:
        """Return the rows as a CSR matrix."""
        features, place = rows.features, rows.place
        self._check_shape(features, place)
        if not isinstance(features, dict):
            return _finite_csr(sparse.csr_array(features), self.n_features, place)
        shape = (rows.size, self.encoder.n_columns)
        indices, data = np.empty(shape, dtype=np.int32), np.ones(shape, dtype=np.float32)
        for position, (name, start) in enumerate(zip(self.encoder.columns, self._starts, strict=False)):
            if self.encoder.kind(name) == CATEGORY:
                levels = self._levels(features[name], name)
                indices[:, position] = np.where(levels >= 0, start + levels, -1)
                continue
            indices[:, position] = start
            raw = numbers(features[name], name, place, self.encoder.kind(name))
            centre = self.encoder.centres.get(name, 0.0)
            with np.errstate(over="ignore"):
                data[:, position] = raw - centre if centre else raw
            self._mend(position, name, raw, data[:, position], place, centre)
        stored = (indices >= 0) & (data != 0)
        indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
        return sparse.csr_array((data[stored], indices[stored], indptr), shape=(rows.size, self.n_features))

    def _check_shape(self, features: Any, place: Place) -> None:
        encoder = self.encoder
        if isinstance(features, dict):
            for name in encoder.columns:
                if name not in features:
                    raise missing_column(name, place.file, list(features), "the model was trained on")
        elif features.shape[1] != encoder.n_columns and not encoder.elastic:
            raise place.error(f"{features.shape[1]:,} columns, where {encoder.n_columns:,} are expected.")

    def _mend(
        self, j: int, name: str, raw: NDArray[Any], column: NDArray[Any], place: Place, centre: float = 0.0
    ) -> None:
        """Put the mean where a number is missing; an infinite one is an error."""
        with np.errstate(over="ignore"):  # a mean too large for 32 bits is that of a number which is, too
            column[np.isnan(column)] = self.encoder.means[j] - centre
        _check_not_infinite(raw, column, name, place)

    def _levels(self, column: Any, name: str) -> NDArray[np.int64]:
        """Return the level of each row's value, -1 for one that has none."""
        codes, values = categories(column)
        buckets, vocabulary = self.encoder.buckets.get(name), self._codes.get(name, {})
        known = [vocabulary.get(value, -1) if buckets is None else bucket_of(value, buckets) for value in values]
        missing = self.encoder.width(name) - 1 if name in self.encoder.missing_levels else -1
        return np.array([*known, missing], dtype=np.int64)[codes]


def bucket_of(value: str, buckets: int) -> int:
    """Return the bucket of a value, the same on every machine and in every run."""
    return zlib.crc32(value.encode()) % buckets


def _check_not_infinite(raw: NDArray[Any], column: NDArray[Any], name: str, place: Place) -> None:
    infinite = np.flatnonzero(np.isinf(column))
    if infinite.size:
        value = raw[infinite[0]]
        raise place.error(f"{value} is infinite, or too large for 32-bit numbers.", int(infinite[0]), name)


def _all_finite(matrix: NDArray[np.float32]) -> bool:
    flat = matrix.reshape(-1)
    starts = range(0, flat.size, _CHECKED_AT_ONCE)
    return all(np.isfinite(flat[start : start + _CHECKED_AT_ONCE]).all() for start in starts)


def _finite_csr(matrix: Any, width: int, place: Place) -> Any:
    """Return the matrix as float32, with columns of zeros added, or columns left out, up to the width."""
    if matrix.shape[1] > width:
        matrix = matrix[:, :width]
    matrix = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
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


class EncoderFit:
    """Learns an encoder from rows: means, vocabularies, widths, and which columns cannot be used."""

    def __init__(self, encoder: Encoder):
        self.encoder = encoder
        self.rows = 0
        self._columns = encoder.columns if encoder.named else []
        self._sums = np.zeros(encoder.means.size)
        self._missing = np.zeros(encoder.means.size, dtype=np.int64)
        self._values = {name: _Values(name) for name in encoder.categories}
        self._parts = 0
        self._samples: dict[int, list[NDArray[np.float64]]] = {}  # of columns that float32 does not hold exactly
        self.width = encoder.n_columns
        self._entries = 0  # of sparse rows
        self._widest = Place("the rows")

    def add(self, rows: Rows) -> None:
        """Take in more rows."""
        self.rows += rows.size
        self._parts += 1
        if isinstance(rows.features, dict):
            self._add_columns(rows)
        elif self.encoder.sparse_input:
            self._entries += int(rows.features.nnz)
            if rows.features.shape[1] >= self.width:
                self.width, self._widest = int(rows.features.shape[1]), rows.place
        else:
            self._add_matrix(np.asarray(rows.features), rows.place)

    def _add_columns(self, rows: Rows) -> None:
        for j, name in enumerate(self._columns):
            column = rows.features[name]
            if self.encoder.kind(name) == CATEGORY:
                self._values[name].add(column, rows.place)
                continue
            values = numbers(column, name, rows.place, self.encoder.kind(name))
            self._sample(j, values)
            with np.errstate(over="ignore", invalid="ignore"):
                total = float(values.sum(dtype=np.float64))
            if not np.isfinite(total):
                total = self._sum_without_missing(values, j, name, rows.place)
            self._sums[j] += total

    def _add_matrix(self, X: NDArray[Any], place: Place) -> None:
        if X.shape[1] != self._sums.size:
            raise place.error(f"{X.shape[1]:,} columns, where {self._sums.size:,} are expected.")
        if X.dtype.kind not in "biuf":
            raise place.error(f"a matrix of numbers is needed, and its type is {X.dtype}.")
        for j in range(X.shape[1] if self._samples_now(X.dtype) else 0):
            self._sample(j, X[:, j], max(min(_SAMPLED_ROWS, _SAMPLED_VALUES // X.shape[1]), 8))
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            block = X[start : start + _BLOCK_ROWS]
            with np.errstate(over="ignore", invalid="ignore"):
                sums = block.sum(axis=0, dtype=np.float64)
            for j in map(int, np.flatnonzero(~np.isfinite(sums))):
                name = self.encoder.columns[j]
                sums[j] = self._sum_without_missing(block[:, j], j, name, place.shifted(start))
            self._sums += sums

    def _sum_without_missing(self, values: NDArray[Any], j: int, name: str, place: Place) -> float:
        with np.errstate(over="ignore"):
            _check_not_infinite(values, values.astype(np.float32), name, place)
        self._missing[j] += np.isnan(values).sum()
        return float(np.nansum(values, dtype=np.float64))

    def _samples_now(self, dtype: np.dtype[Any]) -> bool:
        """Return whether to sample: what float32 may round, in parts number 1, 2, 4, 8 and so on."""
        return self._parts & (self._parts - 1) == 0 and dtype.itemsize > (4 if dtype.kind == "f" else 2)

    def _sample(self, j: int, values: NDArray[Any], rows: int = _SAMPLED_ROWS) -> None:
        if values.size and self._samples_now(values.dtype):
            step = -(-values.size // rows)
            self._samples.setdefault(j, []).append(values[::step].astype(np.float64))

    def _find_far_columns(self) -> None:
        """Find columns that lie too far from 0 for float32, by a sample of their values."""
        for j, parts in self._samples.items():
            values = np.concatenate(parts)
            values = values[np.isfinite(values)]
            if values.size == 0 or values.min() == values.max():
                continue
            deviation = float(values.std())
            with np.errstate(over="ignore"):
                moved = float(np.abs(values - values.astype(np.float32)).max())
            if moved > _ROUNDING_NOTICED * deviation:
                self.encoder.wide = True
            mean = float(values.mean())
            if abs(mean) > _FAR * deviation and self.encoder.named:
                self.encoder.centres = self.encoder.centres | {self.encoder.columns[j]: mean}

    def finish(self) -> None:
        """Give the encoder all that was learned."""
        encoder = self.encoder
        if encoder.elastic:
            self._check_width()
            encoder.n_columns = self.width
        self.update_means()
        self._find_far_columns()
        for name, values in self._values.items():
            values.check()
            if len(values.seen) > LARGEST_VOCABULARY:
                encoder.buckets[name] = BUCKETS
            else:
                encoder.vocabularies[name] = sorted(values.seen)
            if values.some_missing and name not in encoder.missing_levels:
                encoder.missing_levels.append(name)
        encoder.fitted = True

    def _check_width(self) -> None:
        """Refuse a width that is no more than a slip in one index."""
        if self.width > MOST_COLUMNS:
            raise DataError(too_wide(self._widest.file, self.width))
        if are_too_few(self._entries, self.width):
            raise self._widest.error(
                f"the largest index makes {self.width:,} columns, for {self._entries:,} numbers in all rows. If "
                f"it is meant so, say features={self.width}."
            )

    def update_means(self) -> None:
        """Give the encoder the means of all rows so far; 0 for a column without any number."""
        self.encoder.means = self._sums / np.maximum(self.rows - self._missing, 1)

    @property
    def missing(self) -> dict[str, int]:
        """How many numbers are missing in each column that misses some."""
        names = self.encoder.columns if self._missing.any() else []
        return {names[j]: int(self._missing[j]) for j in np.flatnonzero(self._missing)}


class _Values:
    """The different values of one column."""

    def __init__(self, name: str):
        self.name = name
        self.seen: set[str] = set()
        self.some_missing = False
        self._length = self._count = 0
        self._file = ""

    def check(self) -> None:
        """Refuse numbers that are written as texts: as categories they would tell next to nothing."""
        if len(self.seen) <= _FEW_VALUES:
            return
        numbers_ = [value for value in self.seen if _WRITTEN_NUMBER.fullmatch(value)]
        code = _PLAIN_DIGITS if 2 * len(self.seen) > self._count else _PLAIN_NUMBER  # those with a point recur
        written = [value for value in numbers_ if not code.fullmatch(value)]
        if 2 * len(numbers_) > len(self.seen) and 10 * len(written) > len(self.seen):
            raise Place(self._file).error(
                f"it holds numbers written as texts, such as {min(written)!r}. Make them plain numbers, such as "
                "1234.5, without commas and signs of currency or percent; or leave it out with features=.",
                column=self.name,
            )

    def add(self, column: Any, place: Place) -> None:
        texts = getattr(column, "dictionary", column)
        require_short_text(texts.nbytes, len(texts), self.name, place)
        codes, values = categories(column)
        present = np.bincount(codes + 1, minlength=len(values) + 1)
        self.some_missing = self.some_missing or bool(present[0])
        used = [(value, int(count)) for value, count in zip(values, present[1:], strict=True) if count]
        self._length += sum(len(value) * count for value, count in used)
        self._count += sum(count for _, count in used)
        self.seen.update(value for value, _ in used)
        self._file = place.file
        if self._length > LONGEST_MEAN_LENGTH * max(self._count, 1):
            raise long_text(self.name, place)
        if len(self.seen) > _MOST_VALUES:
            self.check()
            problem = f"it holds more than {_MOST_VALUES:,} different texts, too many for a category."
            raise place.error(f"{problem} {NOT_A_FEATURE}", column=self.name)
