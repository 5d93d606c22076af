"""Columns of Arrow or numpy as arrays that rules and encoders work with: numbers, and texts with their codes."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._errors import ARROW_ERRORS, Place, need_pyarrow
from .kinds import BOOLEAN, GAPS, NUMBER, PLURAL, TEXT, kind_of

LONGEST_LEVEL = 100
"""The number of characters by which values of a category are distinguished."""
PLAIN, POINT, COMMA = "", "decimal point", "decimal comma"
"""How numbers are written in texts: 1234.5; as in $1,234.50 and 12%; as in 1.234,50. Any other style is a unit."""

_LARGE_DICTIONARY = 1024
_NUMBER = r"^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$|^[-+]?(?i:inf|infinity)$"
_DIGITS = r"(?:\d{1,3}(?:[ ,.'\x{00a0}\x{202f}]\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d+)(?:[.,]\d+)?"
_MINUS = r"[-+\x{2212}]"
_CODES = "EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|BRL|MXN|ZAR|SEK|NOK|DKK|PLN|CZK|HUF|TRY|RUB|KRW|SGD|HKD"
_CURRENCY = rf"(?:\p{{Sc}}|R\$|Rs\.?|kr\.?|z\x{{0142}}|{_CODES})"
WRITTEN_NUMBER = rf"^\(?{_MINUS}?\s*(?:{_CURRENCY}\s?)?{_MINUS}?{_DIGITS}\s?(?:%|{_CURRENCY})?\)?$"
_SIGNS = r"\s%()'\x{00a0}\x{202f}"
_DECORATION = {POINT: rf"{_CURRENCY}|[{_SIGNS},]", COMMA: rf"{_CURRENCY}|[{_SIGNS}.]"}
_PLAIN_NUMBER = r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)"
_WITH_UNIT = rf"^\s*(?P<number>{_PLAIN_NUMBER})\s?(?P<unit>[^\s\d.,:;|()+-]+)\s*$"


def as_column(values: Any, name: str, place: Place) -> Any:
    """Return values as an array of Arrow or numpy; texts and objects become an Arrow array."""
    array = values if isinstance(values, np.ndarray) or hasattr(values, "type") else np.asarray(values)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "OU":
        return array
    pa = need_pyarrow("text columns")
    try:
        return pa.array(array, from_pandas=True)
    except ARROW_ERRORS as error:
        problem = "it holds values of different types, or of one that is neither number, text nor time"
        raise place.error(f"{problem}. Make them all numbers or all text.", column=name) from error


def numbers(column: Any, name: str, place: Place) -> NDArray[Any]:
    """Return a column of numbers or booleans as an array, not copied if possible; NaN for missing values."""
    dtype = column.dtype if isinstance(column, np.ndarray) else column.type
    found = kind_of(dtype)
    if found not in (NUMBER, BOOLEAN):
        raise place.error(f"numbers are expected here, and it holds {PLURAL.get(found, found)}.", column=name)
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


class Coded(NamedTuple):
    """A column as the code of each row's value, -1 for a missing value, and the values as Arrow texts."""

    codes: NDArray[np.int64]
    values: Any

    def counts(self) -> NDArray[np.int64]:
        """Return how often each value occurs."""
        found: NDArray[np.int64] = np.bincount(self.codes + 1, minlength=len(self.values) + 1)[1:]
        return found

    def of_rows(self, of_values: NDArray[Any], missing: Any) -> NDArray[Any]:
        """Return for each row the entry of its value in ``of_values``."""
        found: NDArray[Any] = np.append(of_values, np.array(missing, of_values.dtype))[self.codes]
        return found


def coded(column: Any, name: str, place: Place) -> Coded:
    """Return the values of a column as texts, each once, without those that mean a missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = as_column(column, name, place)
    if isinstance(column, np.ndarray):
        column = pa.array(column, from_pandas=True)
    is_dictionary = pa.types.is_dictionary(column.type)
    column = _without_unused(column) if is_dictionary else column.dictionary_encode()
    values = column.dictionary
    if not pa.types.is_string(values.type):
        values = values.cast(pa.string()) if kind_of(values.type) == TEXT else _as_texts(values)
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    trimmed = pc.utf8_trim_whitespace(values)
    gaps = pc.is_in(trimmed, pa.array(sorted(GAPS), pa.string()))
    gap = pc.or_kleene(gaps, values.is_null()).to_numpy(zero_copy_only=False)
    if gap.any():
        kept = np.flatnonzero(~gap)
        recoded = np.full(gap.size + 1, -1, dtype=np.int64)
        recoded[kept] = np.arange(kept.size)
        codes, values = recoded[codes], values.take(pa.array(kept))
    return Coded(codes, values)


def _without_unused(column: Any) -> Any:
    """Return a dictionary column without the values that do not occur, if it may have many of them."""
    import pyarrow as pa

    if len(column.dictionary) <= max(_LARGE_DICTIONARY, len(column) // 4):
        return column
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    used, codes = np.unique(codes, return_inverse=True)
    missing = used.size > 0 and used[0] < 0
    values = column.dictionary.take(pa.array(used[1:] if missing else used))
    codes = codes - 1 if missing else codes
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), values)


def _as_texts(column: Any) -> Any:
    """Return numbers as texts: whole numbers without a point, because a gap turns integers into floats."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return column.cast(pa.string())
    known = pc.if_else(pc.is_nan(column), None, column)
    whole = pc.and_(pc.equal(pc.floor(known), known), pc.less(pc.abs(known), 2.0**53))
    as_integers = pc.if_else(whole, known, None).cast(pa.int64()).cast(pa.string())
    return pc.if_else(whole, as_integers, known.cast(pa.string()))


def parsed_numbers(texts: Any, style: str = PLAIN) -> NDArray[np.float64]:
    """Return Arrow texts as numbers; NaN for texts that are not numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(texts)
    if style not in (PLAIN, POINT, COMMA):
        texts = pc.replace_substring_regex(texts, rf"\s?{re.escape(style)}s?$", "")
    elif style != PLAIN:
        negative = pc.match_substring_regex(texts, r"^\(.*\)$")
        texts = pc.replace_substring_regex(texts, _DECORATION[style], "")
        texts = pc.replace_substring(texts, "\u2212", "-")
        texts = pc.replace_substring(texts, ",", ".") if style == COMMA else texts
        texts = pc.if_else(negative, pc.binary_join_element_wise("-", texts, ""), texts)
    texts = pc.if_else(pc.match_substring_regex(texts, _NUMBER), texts, None)
    texts = pc.replace_substring_regex(texts, r"^\+", "")
    found: NDArray[np.float64] = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def units_in(texts: Any) -> set[str]:
    """Return the units behind numbers, such as kg in 5.2 kg, without the s of a plural."""
    import pyarrow.compute as pc

    units = pc.struct_field(pc.extract_regex(texts, _WITH_UNIT), "unit").drop_null().unique().to_pylist()
    return {unit[:-1] if unit.endswith("s") and len(unit) > 2 else unit for unit in units}


def short_levels(values: Any) -> Any:
    """Return texts cut to a length that still distinguishes levels."""
    import pyarrow.compute as pc

    if len(values) and (pc.max(pc.binary_length(values)).as_py() or 0) > LONGEST_LEVEL:
        return pc.utf8_slice_codeunits(values, 0, LONGEST_LEVEL)
    return values


def categories(column: Any, name: str = "", place: Place | None = None) -> tuple[NDArray[np.int64], list[str]]:
    """Return the codes of labels (-1 if missing) and the value of each code, as text."""
    import pyarrow as pa

    column = as_column(column, name, place or Place("the labels"))
    column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    column = _without_unused(column)
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    values = column.dictionary.to_pylist()
    if None in values:
        codes = np.array([i if value is not None else -1 for i, value in enumerate(values)] + [-1])[codes]
    return codes, ["" if value is None else str(value) for value in values]
