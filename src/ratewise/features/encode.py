"""Encode raw columns as a matrix of numbers: the same for every kind of input, in fit and in predict."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._errors import DataError, Place, shortened
from .._sparse_rows import csr_of, stacked
from .codecs import CODECS, Boolean, Category, Codec, Date, Hashed, Ignored, Number, fill_gaps
from .columns import check_wanted
from .kinds import BOOLEAN, CATEGORY, DATE, NUMBER, TEXT
from .values import PLAIN

WIDEST_DENSE = 300
_BLOCK_ROWS = 2048  # with 22 columns they fit into the second-level cache, in which columns become rows
_CHECKED_AT_ONCE = 1 << 16


class Encoder:
    """Convert raw columns into the columns of a float32 matrix.

    ``print(encoder)`` shows the kind of every column of a table, and the reason; docs/tables.md states the rules.
    If a column is so far from 0 that float32 would lose its differences, the matrix is float64 (``wide``).

    Parameters
    ----------
    columns : list of str or int
        The names of the raw columns, or the number of columns of a matrix without names.
    kinds : dict, default all numbers
        The kinds of columns by their types: ``number``, ``boolean``, ``date or time``, ``category`` or ``text``.
    sparse_input : bool
        Whether the columns come as a sparse matrix.
    elastic : bool
        Whether sparse rows may have fewer columns, or more, which are left out: svmlight files do not give the
        number of columns.
    wanted : dict, optional
        The kinds that the user gives, by name: see ``columns`` of :class:`~ratewise.MeasureClassifier`.

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

    def __init__(
        self,
        columns: list[str] | int,
        kinds: dict[str, str] | None = None,
        sparse_input: bool = False,
        elastic: bool = False,
        wanted: Mapping[str, str] | None = None,
    ):
        self.named = not isinstance(columns, int)
        self.n_columns = columns if isinstance(columns, int) else len(columns)
        self._names = [] if isinstance(columns, int) else list(columns)
        self.sparse_input = sparse_input
        self.elastic = elastic
        self.zero_based: bool | None = None  # svmlight: the first column has number 0, not 1
        self.wanted = check_wanted(wanted, self._names, Place("the table"))
        ignored = {name for name, kind in self.wanted.items() if kind == "ignore"}
        self.kinds = {name: kind for name, kind in (kinds or {}).items() if kind != NUMBER and name not in ignored}
        self.style = PLAIN
        """How numbers are written in texts of columns that the user does not describe."""
        self.wide = False
        self.leaves_gaps = False
        """Missing numbers and dates of a dense matrix are NaN, for a basis; otherwise the mean of their column."""
        self.codecs: list[Codec] = []
        """The learned encoding of each named column, in order."""
        self.means: NDArray[np.float64] = np.zeros(0 if sparse_input else self.n_columns)
        self.fitted = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(
            {"wide": False, "leaves_gaps": False, "wanted": {}, "codecs": [], "style": PLAIN} | state
        )
        if "vocabularies" in state:
            self._take_over(state)

    def _take_over(self, state: dict[str, Any]) -> None:
        """Set the state from an encoder of a version before codecs."""
        for name in ("vocabularies", "buckets", "missing_levels", "centres"):
            self.__dict__.pop(name, None)
        centres, means = state.get("centres", {}), state["means"]
        for place, name in enumerate(state["_names"] if state["named"] else ()):
            kind, missing = state["kinds"].get(name, NUMBER), name in state["missing_levels"]
            mean, centre = float(means[place]) if place < len(means) else 0.0, centres.get(name, 0.0)
            if kind == CATEGORY and name in state["buckets"]:
                codec: Codec = Hashed(name, "", [], missing, False, state["buckets"][name])
            elif kind == CATEGORY:
                codec = Category(name, "", state["vocabularies"].get(name, []), missing, False)
            elif kind == DATE:
                codec = Date(name, "", 0.0, mean, (), "seconds", centre=centre)
            else:
                codec = Boolean(name, "", mean) if kind == BOOLEAN else Number(name, "", mean, centre=centre)
            self.codecs.append(codec)

    @property
    def columns(self) -> list[str]:
        """The names of the raw columns, in order."""
        return self._names if self.named else [f"x{i}" for i in range(self.n_columns)]

    @property
    def used(self) -> list[str]:
        """The names of the columns that rows must have: all except those that are left out."""
        if not self.codecs:
            return [name for name in self.columns if self.wanted.get(name) != "ignore"]
        return [codec.name for codec in self.codecs if not isinstance(codec, Ignored)]

    def kind(self, name: str) -> str:
        """Return the kind of a column by its type."""
        return self.kinds.get(name, NUMBER)

    def codec(self, name: str) -> Codec:
        return self.codecs[self._names.index(name)]

    def start(self, name: str) -> int:
        """Return the first column of the matrix that belongs to a raw column."""
        return sum(codec.width for codec in self.codecs[: self._names.index(name)])

    @property
    def several(self) -> list[str]:
        """The raw columns that are not numbers, or do not become exactly one column of the matrix."""
        plain = (Number, Boolean)
        return [codec.name for codec in self.codecs if not isinstance(codec, plain)]

    @property
    def n_features(self) -> int:
        """The number of columns of the matrix."""
        return sum(codec.width for codec in self.codecs) if self.codecs else self.n_columns

    @property
    def sparse(self) -> bool:
        """Whether the matrix is CSR."""
        return self.sparse_input or (any(codec.sparse for codec in self.codecs) and self.n_features > WIDEST_DENSE)

    @property
    def row_bytes(self) -> int:
        """The approximate memory of a row of the matrix."""
        if not self.sparse:
            return self.dtype.itemsize * self.n_features
        return 8 * sum(codec.entries for codec in self.codecs)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the entries of the matrix."""
        return np.dtype(np.float64 if self.wide and not self.sparse else np.float32)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns of the matrix."""
        if not self.codecs:
            return tuple(self.columns)
        return tuple(title for codec in self.codecs for title in codec.titles())

    def table(self) -> list[tuple[str, str, str, int]]:
        """Return, for every raw column: its name, its kind, the reason, and the number of columns it became."""
        return [(codec.name, codec.kind, codec.why, codec.width) for codec in self.codecs]

    def described(self) -> list[dict[str, Any]] | None:
        """Return the rows of the table by name; None where all columns are numbers."""
        heads = ("raw_column", "taken_for", "columns", "why")
        rows = ((name, kind, width, why) for name, kind, why, width in self.table())
        return [dict(zip(heads, row, strict=True)) for row in rows] if self.several else None

    def __repr__(self) -> str:
        if not self.codecs:
            return f"Encoder of {self.n_columns:,} columns{'' if self.fitted else ', not fitted'}"
        heads = ("column", "taken for", "columns", "why")
        rows = [(name, kind, f"{width:,}", why) for name, kind, why, width in self.table()]
        widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(3)]
        lines = (
            f"{name:{widths[0]}}  {kind:{widths[1]}}  {width:>{widths[2]}}  {why}".rstrip()
            for name, kind, width, why in [heads, *rows]
        )
        return "\n".join(lines)

    def leaving_gaps(self, wanted: bool) -> Encoder:
        """Return this encoder, or a copy of it, so that it leaves gaps if ``wanted`` and fills them otherwise."""
        if self.leaves_gaps == wanted:
            return self
        other = copy.copy(self)
        other.leaves_gaps = wanted
        return other

    def filled(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return a dense matrix with the mean of a column where a number is missing."""
        missing = np.isnan(X)
        return np.where(missing, self.fills(), X).astype(X.dtype, copy=False) if missing.any() else X

    def fills(self) -> NDArray[np.float64]:
        """Return the value that fills gaps in each column of the matrix: 0 for categories and texts."""
        if not self.codecs:
            return self.means if self.means.size else np.zeros(self.n_features)
        parts = [codec.fill(centred=self.sparse) for codec in self.codecs]
        return np.concatenate(parts)

    def facts(self) -> list[Any]:
        """Return everything that the matrix depends on, as plain values and arrays."""
        return [self.columns, self.wide, self.means, *(vars(codec) for codec in self.codecs)]

    def is_sound(self, n_features: int) -> bool:
        """Return whether all parts have the types and sizes that a fit gives them."""
        new = {
            name: value for name, value in vars(Encoder(0)).items() if isinstance(value, (bool, int, list, dict))
        }
        typed = all(isinstance(vars(self).get(name, value), type(value)) for name, value in new.items())
        shapes = ((self.n_columns,), (0,))
        means = (
            isinstance(self.means, np.ndarray) and self.means.dtype == np.float64 and self.means.shape in shapes
        )
        return (
            typed
            and means
            and bool(np.isfinite(self.means).all())
            and all(isinstance(codec, CODECS) and codec.is_sound() for codec in self.codecs)
            and [codec.name for codec in self.codecs] in ([], self._names)
            and not (self.named and self.sparse_input)
            and (not self.named or len(self._names) == self.n_columns)
            and self.n_features == n_features
            and {*self.kinds.values()} <= {BOOLEAN, CATEGORY, DATE, TEXT}
        )

    def transform(self, table: Any, name: str = "the table") -> Any:
        """Return the matrix of a table (Arrow, pandas, polars, a dict of arrays) or of another matrix."""
        from .tables import is_table, parts_of

        if not is_table(table):
            X = sparse.csr_array(table) if sparse.issparse(table) else np.asarray(table)
            return self.matrix([(X, X.shape[0], Place(name, 0))])
        return self.matrix(parts_of(table, name))

    def matrix(self, parts: Iterable[tuple[Any, int, Place]]) -> Any:
        """Return the matrix of parts of a table or matrix; a part is features, number of rows, and their place."""
        parts, filler = list(parts), Filler(self)
        if self.sparse:
            return stacked([filler.csr(*part) for part in parts])
        out, start = np.empty((sum(rows for _, rows, _ in parts), self.n_features), dtype=self.dtype), 0
        for features, rows, place in parts:
            filler.fill(features, place, out[start : start + rows])
            start += rows
        return out


class Filler:
    """Writes rows into a matrix by an encoder. Rows are named columns, a dense matrix or a CSR matrix."""

    def __init__(self, encoder: Encoder):
        self.encoder = encoder
        self.n_features = encoder.n_features
        leaves_gaps = encoder.leaves_gaps and not encoder.sparse
        self._means = np.full_like(encoder.means, np.nan) if leaves_gaps else encoder.means
        if encoder.named and not encoder.codecs:  # a matrix whose columns have names
            means = zip(encoder.columns, self._means.tolist(), strict=True)
            self._codecs: list[Any] = [Number(name, "", mean) for name, mean in means]
        else:
            codecs = (codec for codec in encoder.codecs if not isinstance(codec, Ignored))
            self._codecs = [codec.leaving_gaps() if leaves_gaps else codec for codec in codecs]
        self._starts = np.cumsum([0, *(codec.width for codec in self._codecs)]).tolist()

    def fill(self, features: Any, place: Place, out: NDArray[Any]) -> None:
        """Write dense rows into ``out``."""
        self._check_shape(features, place)
        if not isinstance(features, dict):
            self._fill_matrix(features, place, out)
            return
        columns = []
        for codec, start in zip(self._codecs, self._starts, strict=False):
            block = codec.block(features[codec.name], place)
            if codec.sparse:
                out[:, start : start + codec.width] = block.toarray()
            elif block.ndim == 2:
                out[:, start : start + codec.width] = block
            else:
                columns.append((codec, block, start))
        with np.errstate(over="ignore"):
            for begin in range(0, out.shape[0], _BLOCK_ROWS):  # a row stays in the cache until it is complete
                rows = out[begin : begin + _BLOCK_ROWS]
                for _, block, start in columns:
                    rows[:, start] = block[begin : begin + _BLOCK_ROWS]
        if not _all_finite(out):
            for codec, block, start in columns:
                fill_gaps(codec, block, out[:, start], place)

    def _fill_matrix(self, features: Any, place: Place, out: NDArray[Any]) -> None:
        dense = features.toarray() if sparse.issparse(features) else np.asarray(features)
        with np.errstate(over="ignore"):
            out[...] = dense
        if not _all_finite(out):
            names = self.encoder.columns
            for j in map(int, np.flatnonzero(~np.isfinite(out).all(axis=0))):
                fill_gaps(Number(names[j], "", float(self._means[j])), dense[:, j], out[:, j], place)

    def csr(self, features: Any, rows: int, place: Place) -> Any:
        """Return the rows as a CSR matrix."""
        self._check_shape(features, place)
        if not isinstance(features, dict):
            return _finite_csr(sparse.csr_array(features), self.n_features, place)
        blocks: list[Any] = []
        slots = _Slots(rows)
        for codec, start in zip(self._codecs, self._starts, strict=False):
            column = features[codec.name]
            if isinstance(codec, Category):
                slots.add_places(codec.level_of_rows(column, place), start)
            elif codec.sparse:
                blocks += [*slots.csr_before(start), codec.block(column, place)]
                slots = _Slots(rows, start + codec.width)
            else:
                block = codec.block(column, place)
                dense = [*block.T.astype(np.float32)] if block.ndim == 2 else [_centred(codec, block, place)]
                for number, values in enumerate(dense):
                    slots.add_values(values, start + number)
        blocks += slots.csr_before(self.n_features)
        return blocks[0] if len(blocks) == 1 else sparse.hstack(blocks, format="csr", dtype=np.float32)

    def _check_shape(self, features: Any, place: Place) -> None:
        encoder = self.encoder
        if isinstance(features, dict):
            for name in encoder.used:
                if name not in features:
                    raise missing_column(name, place.file, list(features), "the model was trained on")
        elif features.shape[1] != encoder.n_columns and not encoder.elastic:
            raise place.error(f"{features.shape[1]:,} columns, where {encoder.n_columns:,} are expected.")


class _Slots:
    """Columns of a CSR matrix, from ``first`` on; every row has at most one entry for each slot."""

    def __init__(self, rows: int, first: int = 0):
        self._rows, self._first = rows, first
        self._values: list[Any] = []
        self._columns: list[Any] = []

    def add_values(self, values: NDArray[np.float32], column: int) -> None:
        """Add a column of numbers; zeros get no entry."""
        self._values.append(values)
        self._columns.append(column - self._first)

    def add_places(self, places: NDArray[np.int64], start: int) -> None:
        """Add an entry of 1 in each row, in the column at its place after ``start``; no entry for -1."""
        self._values.append(places >= 0)
        self._columns.append(places + (start - self._first))

    def csr_before(self, stop: int) -> list[Any]:
        """Return a list with the matrix of the columns up to this one; an empty list if there are none."""
        if not self._values:
            return []
        values = np.empty((self._rows, len(self._values)), dtype=np.float32)
        columns = np.empty(values.shape, dtype=np.int32)
        for begin in range(0, self._rows, _BLOCK_ROWS):  # a row stays in the cache until it is complete
            rows = slice(begin, begin + _BLOCK_ROWS)
            for slot, (value, column) in enumerate(zip(self._values, self._columns, strict=True)):
                values[rows, slot] = value[rows]
                columns[rows, slot] = column if isinstance(column, int) else column[rows]
        is_entry = values != 0
        indptr = np.zeros(self._rows + 1, dtype=np.int32)
        np.cumsum(is_entry.sum(axis=1), out=indptr[1:])
        every = int(indptr[-1]) == values.size
        data, indices = (one.reshape(-1) if every else one[is_entry] for one in (values, columns))
        return [csr_of(data, indices, indptr, sparse.csr_array, stop - self._first)]


def _centred(codec: Any, block: NDArray[Any], place: Place) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        column = (block - codec.centre if codec.centre else block).astype(np.float32)
    fill_gaps(codec, block, column, place, codec.centre)
    return column


def missing_column(name: str, file: str, there: list[str], whose: str) -> DataError:
    """Return the error for a requested column that does not exist."""
    shown = ", ".join(repr(shortened(other)) for other in there[:12]) + (", ..." if len(there) > 12 else "")
    return DataError(f"{file}: there is no column {shortened(name)!r}, which {whose}. Its columns are: {shown}.")


def _all_finite(matrix: NDArray[Any]) -> bool:
    flat = matrix.reshape(-1)
    starts = range(0, flat.size, _CHECKED_AT_ONCE)
    return all(np.isfinite(flat[start : start + _CHECKED_AT_ONCE]).all() for start in starts)


def _finite_csr(matrix: Any, width: int, place: Place) -> Any:
    """Return the matrix as float32, with columns of zeros added, or columns left out, to reach the width."""
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
