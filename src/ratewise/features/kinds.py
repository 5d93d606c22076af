"""The kind of the values of a column, by their type, and names of columns for messages."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

NUMBER, BOOLEAN, CATEGORY, DATE, TEXT = "number", "boolean", "category", "date or time", "text"
"""Kinds by type: strings are ``text`` until their values show more; ``category`` is a categorical type."""
PLURAL = {NUMBER: "numbers", BOOLEAN: "booleans", CATEGORY: "text", DATE: "dates or times", TEXT: "text"}

_GAPS_OF_PANDAS = "#N/A #NA -1.#IND -1.#QNAN -NaN -nan 1.#IND 1.#QNAN <NA> N/A NA NULL NaN None n/a nan null"
GAPS = frozenset(["", "-", "?", "#N/A N/A", *_GAPS_OF_PANDAS.split()])
"""Texts that stand for a missing value, in every column that is not known to be of another type."""

_NUMPY_KINDS = dict.fromkeys("iuf", NUMBER) | dict.fromkeys("UO", TEXT)
_NUMPY_KINDS |= {"b": BOOLEAN, "M": DATE, "m": DATE}
_ADVICE = {
    "interval": "Give its ends as two columns of numbers",
    "period": "Make it dates, for instance with .dt.to_timestamp()",
    "uuid": "Make it text if it recurs",
    "list": "Make a column of numbers for each entry",
    "struct": "Make a column for each field",
    "map": "Make a column for each key",
    "binary": "Decode it to text",
}


@functools.lru_cache(maxsize=256)
def kind_of(dtype: Any) -> str:
    """Return the kind of a type of Arrow or numpy; for other types, a word for the content of the column."""
    if isinstance(dtype, np.dtype):
        return _NUMPY_KINDS.get(dtype.kind, str(dtype))
    from pyarrow import types

    if types.is_boolean(dtype):
        return BOOLEAN
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype) or types.is_null(dtype):
        return NUMBER
    if types.is_dictionary(dtype):
        values = kind_of(dtype.value_type)
        return CATEGORY if values in (NUMBER, BOOLEAN, TEXT) else values
    if types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype):
        return TEXT
    return DATE if types.is_temporal(dtype) and not types.is_interval(dtype) else str(dtype)


def is_null_type(dtype: Any) -> bool:
    return str(dtype) == "null"


def cannot_be_a_feature(name: str, what: str) -> str:
    """Return a message on a column whose type no rule covers, and what to do with it."""
    advice = next((text for word, text in _ADVICE.items() if word in what.lower()), "Turn it into numbers or text")
    return f"it holds {what}, which cannot be a feature. {advice}, or leave it out: {say(name, 'ignore')}."


def say(name: str, kind: str) -> str:
    """Return what to type to give the kind of a column, in Python and on the command line."""
    option = f"--exclude {name}" if kind == "ignore" else f"--as {name}={kind.replace(' ', '-')}"
    return f"columns={{{name!r}: {kind!r}}} (command line: {option})"
