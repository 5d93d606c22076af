"""Dates and times, of types and of texts: seconds since 1970, and the parts that recur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import DataError

DAY = 86_400.0
PERIODS = {"hour": (DAY, 0.0), "weekday": (7.0 * DAY, -3.0 * DAY), "month": (365.2425 * DAY, 0.0)}
"""The length of each part's period in seconds, and when one began: 1970 began on a Thursday."""
DAY_FIRST, MONTH_FIRST = "day first", "month first"
WHOLE_DAYS = "whole days"
"""How numbers such as 20260531 are dates."""

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PLAIN_LENGTHS = (len("2026-05-31"), len("2026-05-31 10:30:00"))
_YEAR_100 = -59_011_459_200.0
_FIRST_DAY, _LAST_DAY = 18_000_101.0, 22_001_231.0
_LEAST_WEEKS, _LEAST_MONTHS = 7.0 * DAY, 365.0 * DAY
_CLOCK = r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2}(?:[.,]\d+)?))?"
_ZONE = r"\s?(?P<half>[AaPp][Mm])?\s?(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?"
_TIME = rf"(?:(?:T|,? +){_CLOCK}{_ZONE})?\s*$"
_WEEKDAY = r"^\s*(?:[A-Za-z]{3,9},? +)?"
_LETTERS = r"[^\s\d.,:/-]+"  # \p{L} takes milliseconds to compile
_MONTH = rf"(?P<name>{_LETTERS})\.?"
_ISO = r"^\s*(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})" + _TIME
_NAMED = (
    rf"{_WEEKDAY}(?P<d>\d{{1,2}})(?:[ -]|\. ?| de ){_MONTH}(?:[ ,-]+| de )(?P<y>\d{{4}}|\d{{2}})" + _TIME,
    rf"{_WEEKDAY}{_MONTH} +(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? +(?P<y>\d{{4}})" + _TIME,
)
_DOTTED = (
    r"^\s*(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})" + _TIME,
    r"^\s*(?P<d>\d{2})\.(?P<m>\d{2})\.(?P<y>\d{2})" + _TIME,
)
_COMPACT = r"^\s*(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})[T ](?P<H>\d{2}):?(?P<M>\d{2}):?(?P<S>\d{2}(?:\.\d+)?)?"
_COMPACT += _ZONE + r"\s*$"
_SLASHED = r"^\s*(?P<a>\d{1,2})[-/](?P<b>\d{1,2})[-/](?P<y>\d{4}|\d{2})" + _TIME
_ONLY_CLOCK = rf"^\s*{_CLOCK}\s?(?P<half>[AaPp][Mm])?\s*$"
_MAYBE = rf"^\s*(?:(?:{_LETTERS}\.?,? +){{0,2}}\d{{1,4}}(?:st|nd|rd|th)?[-/. :,]|\d{{8}}[T ]\d{{2}})"
_MONTHS = {
    month: number
    for number, months in enumerate(
        [
            *(
                "jan ene gen",
                "feb fév fev",
                "mar mär mrz mrt maa",
                "apr avr abr",
                "may mai mei mag",
                "jun juin giu",
            ),
            *("jul juil lug", "aug aoû aou ago", "sep set", "oct okt ott out", "nov", "dec dez déc dic"),
        ],
        start=1,
    )
    for month in months.split()
}
"""The first letters of the months, in English, German, French, Spanish, Italian, Portuguese and Dutch."""


def seconds_of(column: Any) -> NDArray[np.float64]:
    """Return a column of a type for dates, times or durations as seconds; NaN for missing values."""
    if isinstance(column, np.ndarray):
        seconds = np.asarray(column.astype(f"{column.dtype.kind}8[us]").astype(np.int64) * 1e-6, dtype=np.float64)
        seconds[np.isnat(column)] = np.nan
        return seconds
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    dtype = column.type
    unit = DAY if pa.types.is_date32(dtype) else _SECONDS[getattr(dtype, "unit", "ms")]
    whole = column.cast(pa.int32() if dtype.bit_width == 32 else pa.int64())
    found: NDArray[np.float64] = whole.to_numpy(zero_copy_only=False) * unit
    return found


def is_instant(dtype: Any) -> bool:
    """Return whether a type for dates or times includes the day, and is not only a time of day or a duration."""
    if isinstance(dtype, np.dtype):
        return dtype.kind == "M"
    import pyarrow as pa

    dtype = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    return bool(pa.types.is_date(dtype) or pa.types.is_timestamp(dtype))


def is_duration(dtype: Any) -> bool:
    """Return whether a type for dates or times is a type of durations, which have no position in the day."""
    return dtype.kind == "m" if isinstance(dtype, np.dtype) else str(dtype).startswith("duration")


def whole_days(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers such as 20260531 as seconds since 1970; NaN for other numbers."""
    found = np.full(values.size, np.nan)
    maybe = np.flatnonzero((values >= _FIRST_DAY) & (values <= _LAST_DAY))
    if maybe.size:
        days = values[maybe]
        days = np.where(days % 1.0 == 0.0, days, np.nan)
        found[maybe] = _seconds_at(days // 10_000, days // 100 % 100, days % 100)
    return found


@dataclass
class ParsedDates:
    """Texts read as dates: seconds since 1970, NaN for other texts.

    ``slashed`` marks the texts that allow both orders of day and month; ``first`` and ``second`` are their two
    numbers.
    """

    seconds: dict[str, NDArray[np.float64]]
    """The seconds by the order of day and month: both orders are tried until all rows have been read."""
    slashed: NDArray[np.bool_]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    clocks: NDArray[np.float64]
    """The seconds since midnight, for texts that are only a time of day."""


def parse_dates(texts: Any) -> ParsedDates | None:
    """Return texts of Arrow as dates; None if none of them looks like one."""
    import pyarrow.compute as pc

    n = len(texts)
    plain = plain_dates(texts)
    if plain is not None:
        none = np.full(n, np.nan)
        return ParsedDates({DAY_FIRST: plain, MONTH_FIRST: plain}, np.zeros(n, dtype=bool), none, none, none)
    maybe = np.flatnonzero(_as_mask(pc.match_substring_regex(texts, _MAYBE)))
    if maybe.size == 0:
        return None
    texts = texts.take(maybe) if maybe.size < n else texts
    both = np.full(len(texts), np.nan)
    for pattern in (_ISO, *_DOTTED, *_NAMED, _COMPACT):
        left = np.flatnonzero(np.isnan(both))
        if left.size:
            both[left] = _matched(texts.take(left), pattern)
    left = np.flatnonzero(np.isnan(both))
    slashed = np.zeros(n, dtype=bool)
    first, second, clocks = (np.full(n, np.nan) for _ in range(3))
    orders = {DAY_FIRST: both.copy(), MONTH_FIRST: both.copy()}
    if left.size:
        fields = _fields(texts.take(left), _SLASHED)
        a, b = fields.number("a"), fields.number("b")
        orders[DAY_FIRST][left] = fields.seconds(fields.number("y"), b, a)
        orders[MONTH_FIRST][left] = fields.seconds(fields.number("y"), a, b)
        is_date = np.isfinite(orders[DAY_FIRST][left]) | np.isfinite(orders[MONTH_FIRST][left])
        places = maybe[left[is_date]]
        slashed[places], first[places], second[places] = True, a[is_date], b[is_date]
        clock = _fields(texts.take(left), _ONLY_CLOCK)
        clocks[maybe[left]] = clock.clock()
    seconds = {}
    for order, found in orders.items():
        seconds[order] = np.full(n, np.nan)
        seconds[order][maybe] = found
    return ParsedDates(seconds, slashed, first, second, clocks)


def plain_dates(texts: Any) -> NDArray[np.float64] | None:
    """Return texts that are all written as 2026-05-31, or all as 2026-05-31 10:30:00; None if they are not.

    The result is the same as with the patterns, in a fraction of the time.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(texts) or texts.null_count:
        return None
    ends = pc.min_max(pc.binary_length(texts)).as_py()
    if ends["min"] != ends["max"] or ends["min"] not in _PLAIN_LENGTHS:
        return None
    try:
        found = texts.cast(pa.timestamp("s")).cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.float64)
    except pa.ArrowInvalid:
        return None
    return found if found.min() >= _YEAR_100 else None  # years with two digits mean other years


def _matched(texts: Any, pattern: str) -> NDArray[np.float64]:
    fields = _fields(texts, pattern)
    return fields.seconds(fields.number("y"), fields.month(), fields.number("d"))


def _as_mask(values: Any) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = values.fill_null(False).to_numpy(zero_copy_only=False)
    return found


def _fields(texts: Any, pattern: str) -> _Fields:
    import pyarrow.compute as pc

    return _Fields(pc.extract_regex(texts, pattern), len(texts))


class _Fields:
    """The parts of texts that match a pattern."""

    def __init__(self, found: Any, size: int):
        self._found, self._size = found, size
        self._names = {field.name for field in found.type}

    def _text(self, name: str) -> Any:
        import pyarrow.compute as pc

        return pc.struct_field(self._found, name) if name in self._names else None

    def number(self, name: str) -> NDArray[np.float64]:
        """Return the numbers of a part; NaN if the part is missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = self._text(name)
        if texts is None:
            return np.full(self._size, np.nan)
        texts = pc.replace_substring(texts, ",", ".")
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
        found: NDArray[np.float64] = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return found

    def month(self) -> NDArray[np.float64]:
        import pyarrow.compute as pc

        names = self._text("name")
        if names is None:
            return self.number("m")
        texts = pc.utf8_lower(names).dictionary_encode()
        known = [_MONTHS.get(one[:4], _MONTHS.get(one[:3], np.nan)) for one in texts.dictionary.to_pylist()]
        found: NDArray[np.float64] = np.array([*known, np.nan])[
            texts.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        ]
        return found

    def clock(self) -> NDArray[np.float64]:
        """Return the seconds since midnight; NaN for an impossible time."""
        hours, minutes, seconds = self.number("H"), self.number("M"), np.nan_to_num(self.number("S"))
        half = self._text("half")
        if half is not None:
            import pyarrow.compute as pc

            letters = np.array(pc.utf8_lower(half).fill_null("").to_pylist(), dtype="U2")
            hours = np.where(letters == "", hours, hours % 12 + 12.0 * (letters == "pm"))
        found = 3600.0 * hours + 60.0 * minutes + seconds
        return np.where((hours < 24) & (minutes < 60) & (seconds < 61), found, np.nan)

    def seconds(
        self, year: NDArray[np.float64], month: NDArray[np.float64], day: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the seconds since 1970; NaN for an impossible day."""
        year = np.where(year < 69, year + 2000, np.where(year < 100, year + 1900, year))
        found = _seconds_at(year, month, day)
        clock = self.clock()
        given = np.isfinite(self.number("H"))
        return found + np.where(given, clock, 0.0) - self._offset()

    def _offset(self) -> NDArray[np.float64]:
        zones = self._text("zone")
        if zones is None:
            return np.zeros(self._size)
        texts = zones.dictionary_encode()
        offsets = np.array([*(_offset_of(one or "") for one in texts.dictionary.to_pylist()), 0.0])
        found: NDArray[np.float64] = offsets[texts.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
        return found


def _seconds_at(
    year: NDArray[np.float64], month: NDArray[np.float64], day: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the seconds since 1970 at which days begin; NaN for a day that does not exist."""
    whole = np.isfinite(year) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    y, m, d = (np.where(whole, part, 1.0) for part in (year, month, day))
    first = (y - 1970).astype("M8[Y]").astype("M8[M]") + (m - 1).astype("m8[M]")
    days = first.astype("M8[D]") + (d - 1).astype("m8[D]")
    whole &= days.astype("M8[M]") == first
    return np.where(whole, days.astype(np.int64) * DAY, np.nan)


def _offset_of(zone: str) -> float:
    digits = zone[1:].replace(":", "")
    if not digits.isdigit():
        return 0.0
    return (-1.0 if zone[0] == "-" else 1.0) * (3600.0 * int(digits[:2]) + 60.0 * int(digits[2:] or 0))


@dataclass
class DateStats:
    """Statistics of dates: how many there are, their range, and which parts vary."""

    rows: int = 0
    total: float = 0.0
    first: float = np.inf
    last: float = -np.inf
    hours: int = 0  # a bit for each that occurs

    def add(self, seconds: NDArray[np.float64], counts: NDArray[np.int64] | None = None) -> None:
        here = np.isfinite(seconds)
        if not here.any():
            return
        seconds = seconds[here]
        weights = np.ones(seconds.size, dtype=np.int64) if counts is None else counts[here]
        self.rows += int(weights.sum())
        self.total += float(seconds @ weights)
        self.first, self.last = min(self.first, float(seconds.min())), max(self.last, float(seconds.max()))
        hours = (seconds % DAY // 3600.0).astype(np.int64)
        self.hours |= int(np.bitwise_or.reduce(1 << hours))

    def merge(self, other: DateStats) -> None:
        self.rows, self.total = self.rows + other.rows, self.total + other.total
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.hours |= other.hours

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that carry information beyond the elapsed time."""
        span = self.last - self.first
        found = {"hour": self.hours & (self.hours - 1), "weekday": span >= _LEAST_WEEKS}
        return tuple(name for name, there in (found | {"month": span >= _LEAST_MONTHS}).items() if there)


def times_of(values: list[Any], name: str) -> NDArray[np.float64]:
    """Return times as numbers that rise with them: numbers, dates, or texts of either."""
    import pyarrow as pa

    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        texts = pa.array([None if value is None else str(value) for value in values], pa.string())
        parsed = parse_dates(texts)
        if parsed is None:
            raise DataError(f"Column {name!r} holds no times, such as 2026-05-01 10:30, nor numbers.") from None
        if parsed.slashed.any() and not ((parsed.first > 12).any() or (parsed.second > 12).any()):
            raise DataError(_either_order(name)) from None
        found = max(parsed.seconds.values(), key=lambda seconds: np.isfinite(seconds).sum())
    missing = np.flatnonzero(~np.isfinite(found))
    if missing.size:
        raise DataError(f"Column {name!r}: {values[missing[0]]!r} in row {missing[0] + 1:,} is not a time.")
    return found


def _either_order(name: str) -> str:
    return f"Column {name!r}: no row shows whether the day or the month comes first. Write dates as 2026-05-31."
