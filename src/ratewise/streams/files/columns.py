"""Columns of a table, Arrow's or numpy's, as numbers, categories or labels."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError
from .rows import Place

NUMBER, BOOLEAN, CATEGORY = "number", "boolean", "category"

_LARGE_DICTIONARY = 1024


def kind_of(dtype: Any) -> str:
    """``number``, ``boolean`` or ``category``; else the word for what the column holds and we cannot use."""
    return _kind_of_numpy(dtype) if isinstance(dtype, np.dtype) else _kind_of_arrow(dtype)


def _kind_of_numpy(dtype: np.dtype[Any]) -> str:
    kinds = {"b": BOOLEAN, "i": NUMBER, "u": NUMBER, "f": NUMBER, "U": CATEGORY, "O": CATEGORY}
    return kinds.get(dtype.kind, {"M": "dates", "m": "durations"}.get(dtype.kind, str(dtype)))


@functools.lru_cache(maxsize=256)
def _kind_of_arrow(dtype: Any) -> str:
    from pyarrow import types

    if types.is_boolean(dtype):
        return BOOLEAN
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype) or types.is_null(dtype):
        return NUMBER
    if types.is_dictionary(dtype):
        inner = _kind_of_arrow(dtype.value_type)
        return CATEGORY if inner in (NUMBER, BOOLEAN) else inner
    if _is_text(dtype):
        return CATEGORY
    if types.is_temporal(dtype):
        return "durations" if types.is_duration(dtype) else "dates or times"
    return str(dtype)


def _is_text(dtype: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype))


def usable_kind(dtype: Any, name: str, file: str) -> str:
    """The kind of a column that is to be a feature."""
    kind = kind_of(dtype)
    if kind not in (NUMBER, BOOLEAN, CATEGORY):
        raise Place(file).error(
            f"it holds {kind}, which cannot be a feature. Turn it into numbers first, or leave it out with "
            "features=.",
            column=name,
        )
    return kind


def numbers(column: Any, name: str, place: Place) -> NDArray[Any]:
    """A column as an array of numbers, not copied if that can be; NaN where one is missing."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "b":
            return column.view(np.uint8)
        if column.dtype.kind in "iuf":
            return column
        return _numbers_of_objects(column, name, place)
    return _numbers_of_arrow(column, name, place)


def _numbers_of_objects(column: NDArray[Any], name: str, place: Place) -> NDArray[Any]:
    out = np.empty(column.size)
    for i, value in enumerate(column):
        try:
            out[i] = np.nan if value is None else value
        except (TypeError, ValueError):
            raise place.error(f"{value!r} is not a number.", i, name) from None
    return out


def _numbers_of_arrow(column: Any, name: str, place: Place) -> NDArray[Any]:
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


def categories(column: Any, name: str, place: Place) -> tuple[NDArray[np.int64], list[str]]:
    """Codes (-1 where missing) and the values they stand for; a dictionary column is used as it is."""
    if isinstance(column, np.ndarray):
        return _categories_of_objects(column)
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    dictionary = column.dictionary
    if len(dictionary) > _LARGE_DICTIONARY:  # most of it is not of these rows
        used, codes = np.unique(codes, return_inverse=True)
        missing = used.size > 0 and used[0] < 0
        dictionary = dictionary.take(pa.array(used[1:] if missing else used))
        codes = codes - 1 if missing else codes
    values = [None if value is None else str(value) for value in dictionary.to_pylist()]
    return _without_none(codes, values)


def _categories_of_objects(column: NDArray[Any]) -> tuple[NDArray[np.int64], list[str]]:
    seen: dict[Any, int] = {}
    codes = np.fromiter((seen.setdefault(_plain(value), len(seen)) for value in column), np.int64, column.size)
    return _without_none(codes, list(seen))


def _plain(value: Any) -> str | None:
    return None if value is None or value != value else str(value)


def _without_none(codes: NDArray[np.int64], values: list[str | None]) -> tuple[NDArray[np.int64], list[str]]:
    if None in values:
        recoded = np.array([i if value is not None else -1 for i, value in enumerate(values)] + [-1])
        codes = recoded[codes]
    return codes, [value if value is not None else "" for value in values]


def labels(column: Any, name: str, place: Place) -> NDArray[Any]:
    """The target column as an array of numbers, booleans or strings; none may be missing."""
    found: NDArray[Any] = column if isinstance(column, np.ndarray) else _labels_of_arrow(column, name, place)
    if found.dtype.kind == "f":
        absent = np.flatnonzero(np.isnan(found))
    elif found.dtype.kind == "O":
        absent = np.flatnonzero([value is None or value != value for value in found])
    else:
        return found
    if absent.size:
        raise place.error("the target is missing. Leave such rows out.", int(absent[0]), name)
    return found


def _labels_of_arrow(column: Any, name: str, place: Place) -> NDArray[Any]:
    kind = kind_of(column.type)
    if kind not in (NUMBER, BOOLEAN, CATEGORY):
        raise place.error(f"the target must be numbers, booleans or text, and it holds {kind}.", column=name)
    if column.null_count:
        first = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise place.error("the target is missing. Leave such rows out.", first, name)
    if kind == CATEGORY:
        codes, values = categories(column, name, place)
        return np.array(values or [""])[codes]
    if kind == BOOLEAN:
        out: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return out
    return numbers(column, name, place)


def sample_weights(column: Any, name: str, place: Place) -> NDArray[np.float64]:
    """The weights of the rows: finite, and not below 0."""
    weights = numbers(np.asarray(column) if isinstance(column, list) else column, name, place).astype(np.float64)
    bad = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if bad.size:
        raise place.error(
            f"a weight must be a finite number, not below 0; it is {weights[bad[0]]}.", int(bad[0]), name
        )
    return weights


def missing_column(name: str, file: str, there: list[str], whose: str) -> DataError:
    """The error for a column that is asked for and is not there."""
    shown = ", ".join(repr(other) for other in there[:12]) + (", ..." if len(there) > 12 else "")
    return DataError(f"{file}: there is no column {name!r}, which {whose}. Its columns are: {shown}.")
