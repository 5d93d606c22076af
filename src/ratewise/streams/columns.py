"""Columns of a table, Arrow's or numpy's: which are read, and as numbers, categories, labels or weights."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foreign import is_text
from .errors import ARROW_ERRORS, DataError, Place, not_whole, shortened
from .formats import Reader, Request, Rows

NUMBER, BOOLEAN, CATEGORY, DATE = "number", "boolean", "category", "date or time"
Schema = dict[str, Any]  # column name -> Arrow or numpy type, in the order of the file

_NUMPY_KINDS = dict.fromkeys("iuf", NUMBER) | dict.fromkeys("UO", CATEGORY)
_NUMPY_KINDS |= {"b": BOOLEAN, "M": DATE, "m": DATE}
_PLURAL = {NUMBER: "numbers", BOOLEAN: "booleans", CATEGORY: "text", DATE: "dates or times"}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SECONDS_PER_DAY = 86_400.0
_LARGE_DICTIONARY = 1024
LARGEST_EXACT = 2.0**53  # beyond it, whole numbers next to each other are one float64
_LIGHTEST, _HEAVIEST = 1e-30, 1e30  # weights: their squares are float32 too
_LONGEST_LABEL = 1000
LONGEST_MEAN_LENGTH, _MANY_BYTES = 64.0, 1 << 24  # of texts that are to be categories
NOT_A_FEATURE = "Turn it into numbers first, or leave it out with features=."


@functools.lru_cache(maxsize=256)
def kind_of(dtype: Any) -> str:
    """Return ``number``, ``boolean``, ``category`` or ``date or time``; else a word for what the column holds."""
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
    return DATE if types.is_temporal(dtype) and not types.is_interval(dtype) else str(dtype)


def _feature_kind(dtype: Any, name: str, file: str) -> str:
    """Return the kind of a column that is to be a feature."""
    kind = kind_of(dtype)
    if kind not in (NUMBER, BOOLEAN, CATEGORY, DATE):
        raise Place(file).error(f"it holds {kind}, which cannot be a feature. {NOT_A_FEATURE}", column=name)
    return kind


def long_text(name: str, place: Place) -> DataError:
    return place.error(f"it holds long text, which cannot be a feature. {NOT_A_FEATURE}", column=name)


def is_long_text(n_bytes: int, count: int) -> bool:
    """Return whether texts of so many bytes are too long; 4 bytes may be one character."""
    return n_bytes > max(_MANY_BYTES, 4 * LONGEST_MEAN_LENGTH * count)


def require_short_text(n_bytes: int, count: int, name: str, place: Place) -> None:
    """Refuse so many bytes of texts before they are copied."""
    if is_long_text(n_bytes, count):
        raise long_text(name, place)


def numbers(column: Any, name: str, place: Place, kind: str = NUMBER) -> NDArray[Any]:
    """Return a column as an array of numbers, not copied if possible; NaN where one is missing.

    Dates and times, if that is the kind expected, become seconds: since 1970, since midnight, or of a duration.
    """
    dtype = column.dtype if isinstance(column, np.ndarray) else column.type
    found = kind_of(dtype)
    if isinstance(dtype, np.dtype) and found == CATEGORY:
        return _numbers_of_objects(column, name, place)
    if not _can_be_read_as(kind, dtype, found):
        expected = "dates or times" if kind == DATE else "numbers"
        raise place.error(f"{expected} are expected here, and it holds {_PLURAL.get(found, found)}.", column=name)
    if found == DATE:
        return _seconds_of_numpy(column) if isinstance(dtype, np.dtype) else _seconds_of_arrow(column)
    out: NDArray[Any]
    if isinstance(dtype, np.dtype):
        out = column.view(np.uint8) if found == BOOLEAN else column
        return out
    import pyarrow as pa

    if found == BOOLEAN:
        column = column.cast(pa.uint8())
    elif not pa.types.is_integer(dtype) and not pa.types.is_floating(dtype):
        column = column.cast(pa.float64())
    out = column.to_numpy(zero_copy_only=False)
    return out


def _seconds_of_numpy(column: NDArray[Any]) -> NDArray[np.float64]:
    unit = f"{column.dtype.kind}8[us]"
    seconds = np.asarray(column.astype(unit).astype(np.int64) * _SECONDS["us"], dtype=np.float64)
    seconds[np.isnat(column)] = np.nan
    return seconds


def _seconds_of_arrow(column: Any) -> NDArray[np.float64]:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    dtype = column.type
    unit = _SECONDS_PER_DAY if pa.types.is_date32(dtype) else _SECONDS[getattr(dtype, "unit", "ms")]
    whole = column.cast(pa.int32() if dtype.bit_width == 32 else pa.int64())
    seconds: NDArray[np.float64] = whole.to_numpy(zero_copy_only=False) * unit
    return seconds


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
            problem = f"the target must be numbers, booleans or text, and it holds {_PLURAL.get(kind, kind)}."
            raise place.error(problem, column=name)
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
        large = np.abs(found) >= LARGEST_EXACT
        if large.any():
            row = int(np.argmax(large))
            problem = f"labels as large as {found[row]:.0f} cannot be told apart as numbers; make them text."
            raise place.error(problem, row, name)
    elif found.dtype.kind == "U" and not is_text(found):
        raise place.error("the target holds numbers that are no characters. Write the file anew.", column=name)
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
    extreme = np.flatnonzero((weights > _HEAVIEST) | ((weights < _LIGHTEST) & (weights > 0)))
    if extreme.size:
        raise place.error(
            f"a weight must be 0, or between {_LIGHTEST:g} and {_HEAVIEST:g}; it is {weights[extreme[0]]:g}. Only "
            "the proportions of weights matter: divide them by their mean.",
            int(extreme[0]),
            name,
        )
    return weights


def missing_column(name: str, file: str, there: list[str], whose: str) -> DataError:
    """Return the error for a column that is asked for and is not there."""
    shown = ", ".join(repr(shortened(other)) for other in there[:12]) + (", ..." if len(there) > 12 else "")
    return DataError(f"{file}: there is no column {shortened(name)!r}, which {whose}. Its columns are: {shown}.")


def unique_names(names: list[str], file: str) -> list[str]:
    """Return the names of columns, or refuse one that is there twice."""
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise DataError(f"{file}: there are two columns {shortened(twice)!r}. Rename one of them.")
    return names


@dataclass(frozen=True)
class TablePlan:
    """The columns of a table that are read: the features and their kinds, and the names of target and weights."""

    kinds: dict[str, str]
    target: str | None
    weight: str | None
    target_type: Any
    ignores_others: bool
    """The features were named, so other columns do not matter."""
    date_types: dict[str, Any]
    """What to read dates and times as, where rows are text."""

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
            if not _can_be_read_as(kind, schema[name], other):
                raise Place(file).error(f"it holds a {other}, and a {kind} in {first_file}.", column=name)

    def check_categories(self, schema: Schema, file: str, first_file: str) -> None:
        """Refuse numbers in another file where the first has text: they would become categories unnoticed."""
        for name, kind in self.kinds.items():
            dtype = schema.get(name)
            if kind == CATEGORY and dtype is not None and kind_of(dtype) == NUMBER and not _is_null_type(dtype):
                raise Place(file).error(
                    f"it holds numbers, and text in {first_file}. Make it numbers in all files or text in all, or "
                    "leave it out with features=.",
                    column=name,
                )


def _can_be_read_as(kind: str, dtype: Any, found: str) -> bool:
    """Return whether a column fits: a boolean is a number too, and anything can be a category."""
    if kind == DATE:
        return found == DATE or _is_null_type(dtype)
    return kind == CATEGORY or found in (NUMBER, BOOLEAN)


def _is_null_type(dtype: Any) -> bool:
    return str(dtype) == "null"


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
            found = _feature_kind(schema[name], name, file)
            if not _can_be_read_as(kind, schema[name], found):
                problem = f"it holds {_PLURAL[found]}, and the model was trained on {_PLURAL[kind]}."
                raise Place(file).error(problem, column=name)
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
    dates = {name: schema[name] for name, kind in kinds.items() if kind == DATE and kind_of(schema[name]) == DATE}
    return TablePlan(kinds, target, weight, None if target is None else schema[target], named, dates)


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
            except ARROW_ERRORS as error:
                raise place.error(not_whole(kind, error), 0) from error
            if batch is None:
                return
            yield self.plan.rows(batch, place)
            place = place.shifted(batch.num_rows)
