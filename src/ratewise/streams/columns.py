"""Columns of a table, Arrow's or numpy's: which are read, and as numbers, categories, labels or weights."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, Place, not_whole, shortened
from .formats import Reader, Request, Rows

NUMBER, BOOLEAN, CATEGORY = "number", "boolean", "category"
Schema = dict[str, Any]  # column name -> Arrow or numpy type, in the order of the file

_NUMPY_KINDS = dict.fromkeys("iuf", NUMBER) | dict.fromkeys("UO", CATEGORY)
_NUMPY_KINDS |= {"b": BOOLEAN, "M": "dates", "m": "durations"}
_LARGE_DICTIONARY = 1024
_LONGEST_LABEL = 1000


@functools.lru_cache(maxsize=256)
def kind_of(dtype: Any) -> str:
    """Return ``number``, ``boolean`` or ``category``; else a word for what a column of this type holds."""
    if isinstance(dtype, np.dtype):
        return _NUMPY_KINDS.get(dtype.kind, str(dtype))
    from pyarrow import types

    if types.is_boolean(dtype):
        return BOOLEAN
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype) or types.is_null(dtype):
        return NUMBER
    if types.is_dictionary(dtype):
        values = kind_of(dtype.value_type)
        return CATEGORY if values in (NUMBER, BOOLEAN) else values
    if types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype):
        return CATEGORY
    if types.is_temporal(dtype):
        return "durations" if types.is_duration(dtype) else "dates or times"
    return str(dtype)


def _feature_kind(dtype: Any, name: str, file: str) -> str:
    """Return the kind of a column that is to be a feature."""
    kind = kind_of(dtype)
    if kind not in (NUMBER, BOOLEAN, CATEGORY):
        raise Place(file).error(
            f"it holds {kind}, which cannot be a feature. Turn it into numbers first, or leave it out with "
            "features=.",
            column=name,
        )
    return kind


def numbers(column: Any, name: str, place: Place) -> NDArray[Any]:
    """Return a column as an array of numbers, not copied if possible; NaN where one is missing."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "iuf":
            return column
        return column.view(np.uint8) if column.dtype.kind == "b" else _numbers_of_objects(column, name, place)
    import pyarrow as pa

    kind = kind_of(column.type)
    if kind not in (NUMBER, BOOLEAN):
        what = "text" if kind == CATEGORY else kind
        raise place.error(f"numbers are expected here, and it holds {what}.", column=name)
    if kind == BOOLEAN:
        column = column.cast(pa.uint8())
    elif not pa.types.is_integer(column.type) and not pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
    out: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return out


def _numbers_of_objects(column: NDArray[Any], name: str, place: Place) -> NDArray[Any]:
    out = np.empty(column.size)
    for i, value in enumerate(column):
        try:
            out[i] = np.nan if value is None else value
        except (TypeError, ValueError):
            raise place.error(f"{value!r} is not a number.", i, name) from None
    return out


def categories(column: Any) -> tuple[NDArray[np.int64], list[str]]:
    """Return codes (-1 where missing) and the values they stand for; a dictionary column is used as it is."""
    values: list[str | None]
    if isinstance(column, np.ndarray):
        seen: dict[str | None, int] = {}
        texts = (None if value is None or value != value else str(value) for value in column)
        codes = np.fromiter((seen.setdefault(text, len(seen)) for text in texts), np.int64, column.size)
        values = list(seen)
    else:
        codes, values = _categories_of_arrow(column)
    if None in values:
        recoded = np.array([i if value is not None else -1 for i, value in enumerate(values)] + [-1])
        codes = recoded[codes]
    return codes, [value if value is not None else "" for value in values]


def _categories_of_arrow(column: Any) -> tuple[NDArray[np.int64], list[str | None]]:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    dictionary = column.dictionary
    if len(dictionary) > _LARGE_DICTIONARY:  # most of its values do not occur in these rows
        used, codes = np.unique(codes, return_inverse=True)
        missing = used.size > 0 and used[0] < 0
        dictionary = dictionary.take(pa.array(used[1:] if missing else used))
        codes = codes - 1 if missing else codes
    return codes, [None if value is None else str(value) for value in dictionary.to_pylist()]


def labels(column: Any, name: str, place: Place) -> NDArray[Any]:
    """Return the target column as an array of numbers, booleans or strings; none may be missing."""
    if isinstance(column, np.ndarray):
        found: NDArray[Any] = column
    else:
        kind = kind_of(column.type)
        if kind not in (NUMBER, BOOLEAN, CATEGORY):
            raise place.error(f"the target must be numbers, booleans or text, and it holds {kind}.", column=name)
        if column.null_count:
            _check_not_missing(column.is_null().to_numpy(zero_copy_only=False), name, place)
        if kind == CATEGORY:
            codes, values = categories(column)
            _check_not_long(codes, values, name, place)
            found = np.array(values or [""])[codes]
        else:
            found = numbers(column, name, place) if kind == NUMBER else column.to_numpy(zero_copy_only=False)
    if found.dtype.kind == "f":
        _check_not_missing(np.isnan(found), name, place)
    elif found.dtype.kind == "O":
        _check_not_missing(np.array([value is None or value != value for value in found], bool), name, place)
    return found


def _check_not_long(codes: NDArray[np.int64], values: list[str], name: str, place: Place) -> None:
    """Refuse labels that would take gigabytes: numpy gives all of them the room of the longest."""
    longest = max(range(len(values)), key=lambda i: len(values[i]), default=0)
    if values and len(values[longest]) > _LONGEST_LABEL:
        row = int(np.argmax(codes == longest))
        raise place.error(
            f"a label of {len(values[longest]):,} characters, where at most {_LONGEST_LABEL:,} are possible. Is "
            "this the column to predict?",
            row,
            name,
        )


def _check_not_missing(missing: NDArray[np.bool_], name: str, place: Place) -> None:
    if missing.any():
        raise place.error("the target is missing. Leave such rows out.", int(np.argmax(missing)), name)


def sample_weights(column: Any, name: str, place: Place) -> NDArray[np.float64]:
    """Return the weights of the rows: finite, and not below 0."""
    weights = numbers(np.asarray(column) if isinstance(column, list) else column, name, place).astype(np.float64)
    bad = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if bad.size:
        raise place.error(
            f"a weight must be a finite number, not below 0; it is {weights[bad[0]]}.", int(bad[0]), name
        )
    return weights


def missing_column(name: str, file: str, there: list[str], whose: str) -> DataError:
    """Return the error for a column that is asked for and is not there."""
    shown = ", ".join(repr(shortened(other)) for other in there[:12]) + (", ..." if len(there) > 12 else "")
    return DataError(f"{file}: there is no column {shortened(name)!r}, which {whose}. Its columns are: {shown}.")


@dataclass(frozen=True)
class TablePlan:
    """The columns of a table that are read: the features and their kinds, and the names of target and weights."""

    kinds: dict[str, str]
    target: str | None
    weight: str | None
    target_type: Any
    ignores_others: bool
    """The features were named, so other columns do not matter."""

    @property
    def columns(self) -> list[str]:
        others = [name for name in (self.target, self.weight) if name is not None]
        return [*self.kinds, *dict.fromkeys(others)]

    def rows(self, batch: Any, place: Place) -> Rows:
        """Return the rows of an Arrow record batch, or of a dict of arrays of the same length."""
        columns = batch if isinstance(batch, dict) else dict(zip(batch.schema.names, batch.columns, strict=True))
        features = {name: columns[name] for name in self.kinds}
        target = None if self.target is None else columns[self.target]
        weights = None if self.weight is None else columns[self.weight]
        return Rows(len(next(iter(columns.values()))), features, target, weights, place)

    def check(self, schema: Schema, file: str, first_file: str) -> None:
        """Check that another file has the same columns, of the same kinds."""
        for name in self.columns:
            if name not in schema:
                raise missing_column(name, file, list(schema), f"{first_file} has")
        mine = set(self.columns)
        extra = [name for name in schema if name not in mine]
        if extra and not self.ignores_others:
            raise DataError(
                f"{file}: column {extra[0]!r} is not in {first_file}. Files that are read together must have "
                "the same columns; name those to read with features=."
            )
        for name, kind in self.kinds.items():
            other = _feature_kind(schema[name], name, file)
            if not _can_be_read_as(kind, other):
                raise Place(file).error(f"it holds a {other}, and a {kind} in {first_file}.", column=name)


def _can_be_read_as(kind: str, found: str) -> bool:
    """Return whether a column fits: a boolean is a number too, and anything can be a category."""
    return kind == CATEGORY or found in (NUMBER, BOOLEAN)


def make_plan(schema: Schema, file: str, request: Request) -> TablePlan:
    """Return the plan for a table, by what its first file holds."""
    target, weight, encoder, names = request.target, request.weight, request.encoder, request.features
    for name, what in ((target, "the target"), (weight, "the weight")):
        if name is not None and name not in schema:
            raise missing_column(name, file, list(schema), f"is to be {what}")
    if encoder is not None:
        if not encoder.named:
            raise DataError(
                f"{file}: its columns have names, and the model was trained on {encoder.n_columns:,} columns "
                "without names; give it a matrix."
            )
        kinds = {name: encoder.kind(name) for name in encoder.columns}
        for name, kind in kinds.items():
            if name not in schema:
                raise missing_column(name, file, list(schema), "the model was trained on")
            if not _can_be_read_as(kind, _feature_kind(schema[name], name, file)):
                raise Place(file).error("it holds text, and the model was trained on numbers.", column=name)
    else:
        if names is None:
            names = [name for name in schema if name not in (target, weight)]
        for name in names:
            if name not in schema:
                raise missing_column(name, file, list(schema), "is among the features asked for")
            if name == target:
                raise ValueError(f"Column {name!r} is the target; it cannot be a feature too.")
        if not len(names):
            raise DataError(f"{file}: there are no columns besides the target and the weight to learn from.")
        kinds = {name: _feature_kind(schema[name], name, file) for name in names}
    named = encoder is not None or request.features is not None
    return TablePlan(kinds, target, weight, None if target is None else schema[target], named)


class TableReader(Reader):
    """A file with named columns."""

    has_rows = True
    kept_bytes = 0
    """About how much memory the file takes if it is kept open."""
    schema: Schema
    _plan: TablePlan | None = None

    @property
    def plan(self) -> TablePlan:
        assert self._plan is not None, "follow comes first"
        return self._plan

    def follow(self, plan: TablePlan, keep_open: bool) -> None:
        """Read what the plan says, and keep the file open between reads if it pays."""
        self._plan = plan

    def find_types(self, columns: list[str]) -> None:
        """Find the types of columns that the first rows do not tell."""

    def forget_types(self) -> None:
        """Leave it to a plan that was made for another file what the columns hold, where rows are text."""

    def rows_in_order(self, batches: Iterable[Any], place: Place, kind: str) -> Iterator[Rows]:
        """Yield the rows of record batches; one that cannot be read is an error with its row."""
        batches = iter(batches)
        while True:
            try:
                batch = next(batches, None)
            except (OSError, ValueError) as error:
                raise place.error(not_whole(kind, error), 0) from error
            if batch is None:
                return
            yield self.plan.rows(batch, place)
            place = place.shifted(batch.num_rows)
