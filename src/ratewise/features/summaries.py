"""Summaries of columns for the rules, counted in one pass over the rows. Summaries can be merged."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import Place
from .dates import (
    DAY_FIRST,
    MONTH_FIRST,
    DateStats,
    is_duration,
    is_instant,
    parse_dates,
    plain_dates,
    seconds_of,
    whole_days,
)
from .kinds import BOOLEAN, DATE, NUMBER, kind_of
from .levels import Counted, Levels
from .text import WordCounts, words_in
from .values import PLAIN, WRITTEN_NUMBER, coded, numbers, parsed_numbers, short_levels, units_in

FEW_OTHERS = 16
_EXACT_BITS = 34
_ROUNDING_NOTICED = 1e-3  # of the deviation
_LARGEST = float(np.finfo(np.float32).max)


@dataclass
class NumberStats:
    """The number of numbers, their range, and what they would lose in float32."""

    rows: int = 0
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    squares: float = 0.0
    """The sum of the squared distances from the mean."""
    moved: float = 0.0
    """The largest change of a number by rounding to float32."""
    days: DateStats = field(default_factory=DateStats)
    """Statistics of numbers such as 20260531."""

    def add(self, values: NDArray[Any], name: str, place: Place) -> int:
        """Add numbers; return how many are missing. An infinite number is an error."""
        size = values.size
        with np.errstate(over="ignore", invalid="ignore"):
            is_finite = math.isfinite(float(values.sum(dtype=np.float64)))
        if not is_finite:
            values = values[~np.isnan(values)]
        self.add_counted(values, None, name, place)
        return int(size - values.size)

    def add_counted(self, values: NDArray[Any], counts: NDArray[np.int64] | None, name: str, place: Place) -> None:
        """Add finite numbers, each with its count."""
        if values.size == 0:
            return
        wide = values.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            if values.dtype.itemsize > (4 if values.dtype.kind == "f" else 2):
                rounded = wide.astype(np.float32)
                check_not_infinite(values, rounded, name, place)
                self.moved = max(self.moved, float(np.abs(wide - rounded).max()))
            else:
                check_not_infinite(values, values, name, place)
        rows = int(values.size if counts is None else counts.sum())
        total = float(wide.sum() if counts is None else wide @ counts)
        apart = wide - total / rows
        squares = float(apart @ (apart if counts is None else apart * counts))
        self.merge(NumberStats(rows, total, float(wide.min()), float(wide.max()), squares))
        self.days.add(whole_days(wide), counts)

    def merge(self, other: NumberStats) -> None:
        rows = self.rows + other.rows
        if self.rows and other.rows:
            apart = self.total / self.rows - other.total / other.rows
            self.squares += apart * apart * self.rows * other.rows / rows
        self.rows, self.total, self.squares = rows, self.total + other.total, self.squares + other.squares
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.moved = max(self.moved, other.moved)
        self.days.merge(other.days)

    @property
    def mean(self) -> float:
        """The mean, rounded so that it does not depend on how the rows were cut into parts."""
        mean, size = self.total / max(self.rows, 1), max(abs(self.low), abs(self.high))
        if not 0.0 < size < math.inf:
            return mean
        grid = 2.0 ** max(math.frexp(size)[1] - _EXACT_BITS, -1000)
        return round(mean / grid) * grid

    @property
    def deviation(self) -> float:
        return math.sqrt(self.squares / max(self.rows, 1))

    @property
    def is_far(self) -> bool:
        """Whether the numbers lie too far from 0 for float32."""
        return self.low < self.high and self.moved > _ROUNDING_NOTICED * self.deviation


def check_not_infinite(raw: NDArray[Any], column: NDArray[Any], name: str, place: Place) -> None:
    """Raise an error for numbers that are infinite, or become infinite as float32."""
    infinite = np.flatnonzero(np.isinf(column))
    if infinite.size:
        value = raw[infinite[0]]
        raise place.error(f"{value} is infinite, or too large for 32-bit numbers.", int(infinite[0]), name)


@dataclass
class TextStats:
    """What the values of a column of texts look like."""

    levels: Levels = field(default_factory=Levels)
    numbers: NumberStats = field(default_factory=NumberStats)
    codes: int = 0
    """The number of rows with a leading 0 that a number does not need."""
    written: int = 0
    """The number of rows with formatted numbers: 1,234.50 or $5 or 12%."""
    written_example: str = ""
    dates: dict[str, DateStats] = field(default_factory=lambda: {DAY_FIRST: DateStats(), MONTH_FIRST: DateStats()})
    clocks: DateStats = field(default_factory=DateStats)
    days_over_12: dict[str, int] = field(default_factory=lambda: {DAY_FIRST: 0, MONTH_FIRST: 0})
    slashed: int = 0
    slashed_example: str = ""
    units: set[str] = field(default_factory=set)
    """A few of the units after numbers, as in 5.2 kg."""
    measured: NumberStats = field(default_factory=NumberStats)
    """The numbers before the unit, if there is only one unit."""
    n_others: int = 0
    """The number of rows with neither numbers nor dates or times."""
    others: set[str] = field(default_factory=set)
    """A few values of these rows."""
    n_words: int = 0
    words: WordCounts = field(default_factory=WordCounts)

    def add(self, values: Any, counts: NDArray[np.int64], name: str, place: Place, style: str) -> None:
        """Add distinct texts and their counts; numbers among the texts are written in this style."""
        import pyarrow.compute as pc

        self.levels.add(short_levels(values), counts)
        plain = plain_dates(values)
        if plain is not None:
            self._add_plain_dates(values, plain, counts)
            return
        found = parsed_numbers(values, style)
        is_number = np.abs(found) < _LARGEST  # a larger number raises an error with its row when it is encoded
        if is_number.any():
            self.numbers.add_counted(found[is_number], counts[is_number], name, place)
            zeros = pc.match_substring_regex(values, r"^\s*0\d").to_numpy(zero_copy_only=False)
            self.codes += int(counts[zeros & is_number].sum())
        if is_number.all():
            return
        written = pc.match_substring_regex(pc.utf8_trim_whitespace(values), WRITTEN_NUMBER)
        self._add_written(values, written.to_numpy(zero_copy_only=False) & ~is_number, counts)
        is_date = self._add_dates(values, counts)
        self._add_others(values, is_number | is_date, counts, name, place)
        words = words_in(values)
        self.n_words += int(words @ counts)
        self.words.add(values, np.where(is_date, 0, words), counts)

    def _add_others(
        self, values: Any, known: NDArray[np.bool_], counts: NDArray[np.int64], name: str, place: Place
    ) -> None:
        """Add texts that are neither numbers nor dates."""
        others = np.flatnonzero(~known & (counts > 0))
        self.n_others += int(counts[others].sum())
        values = values.take(others)
        if len(self.others) <= FEW_OTHERS:
            self.others |= set(values[: FEW_OTHERS + 1].to_pylist())
        if len(self.units) > 1:
            return
        self.units |= units_in(values)
        if len(self.units) == 1:
            found = parsed_numbers(values, *self.units)
            here = np.abs(found) < _LARGEST
            self.measured.add_counted(found[here], counts[others][here], name, place)

    def _add_plain_dates(self, values: Any, seconds: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
        """Add texts that are all dates, so that their digits do not count as words."""
        import pyarrow.compute as pc

        for stats in self.dates.values():
            stats.add(seconds, counts)
        words = pc.count_substring(values, " ").to_numpy(zero_copy_only=False) + 1
        self.n_words += int(words @ counts)

    def _add_written(self, values: Any, written: NDArray[np.bool_], counts: NDArray[np.int64]) -> None:
        if written.any():
            self.written += int(counts[written].sum())
            example = min(values.take(np.flatnonzero(written)).to_pylist())
            self.written_example = min(filter(None, (self.written_example, example)))

    def _add_dates(self, values: Any, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Add the dates among texts, and return which texts are dates."""
        parsed = parse_dates(values)
        if parsed is None:
            return np.zeros(counts.size, dtype=np.bool_)
        for order, seconds in parsed.seconds.items():
            self.dates[order].add(seconds, counts)
        self.clocks.add(parsed.clocks, counts)
        if parsed.slashed.any():
            self.slashed += int(counts[parsed.slashed].sum())
            self.days_over_12[DAY_FIRST] += int(counts[parsed.first > 12].sum())
            self.days_over_12[MONTH_FIRST] += int(counts[parsed.second > 12].sum())
            example = min(values.take(np.flatnonzero(parsed.slashed)).to_pylist())
            self.slashed_example = min(filter(None, (self.slashed_example, example)))
        day_first, month_first = (np.isfinite(seconds) for seconds in parsed.seconds.values())
        return day_first | month_first | np.isfinite(parsed.clocks)

    def merge(self, other: TextStats) -> None:
        self.levels.merge(other.levels)
        self.numbers.merge(other.numbers)
        self.words.merge(other.words)
        self.clocks.merge(other.clocks)
        self.codes, self.written = self.codes + other.codes, self.written + other.written
        self.slashed, self.n_words = self.slashed + other.slashed, self.n_words + other.n_words
        self.n_others += other.n_others
        self.others, self.units = self.others | other.others, self.units | other.units
        self.measured.merge(other.measured)
        for order in self.dates:
            self.dates[order].merge(other.dates[order])
            self.days_over_12[order] += other.days_over_12[order]
        for example in ("written_example", "slashed_example"):
            mine, theirs = getattr(self, example), getattr(other, example)
            setattr(self, example, min(mine, theirs) if mine and theirs else mine or theirs)


@dataclass
class ColumnSummary:
    """The summary of one column; ``kind`` is its kind by its type."""

    name: str
    kind: str
    style: str = PLAIN
    """How numbers are written in texts."""
    rows: int = 0
    missing: int = 0
    numbers: NumberStats = field(default_factory=NumberStats)
    dates: DateStats = field(default_factory=DateStats)
    instant: bool = False
    """Whether its type includes the day: not a time of day or a duration."""
    duration: bool = False
    _texts: TextStats = field(default_factory=TextStats)
    _waiting: Counted = field(default_factory=Counted)

    @property
    def texts(self) -> TextStats:
        """The statistics of the texts of all rows so far."""
        self._look_at_waiting()
        return self._texts

    def _look_at_waiting(self) -> None:
        """Examine each text once, even if it occurs in many parts of the rows."""
        values, counts = self._waiting.merged()
        self._waiting = Counted()
        if counts.size:
            self._texts.add(values, counts, self.name, Place(self.name), self.style)

    def __getstate__(self) -> dict[str, Any]:
        self._look_at_waiting()
        return self.__dict__

    def add(self, column: Any, place: Place) -> None:
        """Add the column of more rows."""
        self.rows += len(column)
        dtype = column.dtype if isinstance(column, np.ndarray) else column.type
        found = kind_of(dtype)
        if self.kind == DATE and found == DATE:
            seconds = seconds_of(column)
            self.missing += int(np.isnan(seconds).sum())
            self.dates.add(seconds)
            self.instant, self.duration = is_instant(dtype), is_duration(dtype)
        elif self.kind in (NUMBER, BOOLEAN, DATE) and found in (NUMBER, BOOLEAN):
            self.missing += self.numbers.add(numbers(column, self.name, place), self.name, place)
        else:
            codes, values = coded(column, self.name, place)
            counts = np.bincount(codes + 1, minlength=len(values) + 1)
            self.missing += int(counts[0])
            self._waiting.add(values, counts[1:])
            if self._waiting.is_large:
                self._look_at_waiting()

    @property
    def mixed(self) -> bool:
        """Whether the first rows were numbers and later rows texts: all rows must be read again as texts."""
        return self.numbers.rows > 0 and self.texts.levels.rows > 0

    @property
    def present(self) -> int:
        return self.rows - self.missing

    def unread(self, kind: str) -> int:
        """Return the number of rows without a value of a kind: number, boolean or date."""
        texts = self.texts
        numbers = (self.numbers.rows, texts.numbers.rows)
        dates = (self.dates.rows, texts.clocks.rows, *(stats.rows for stats in texts.dates.values()))
        return self.rows - max({"number": numbers, "date": dates}.get(kind, (self.present,)))

    def merge(self, other: ColumnSummary) -> None:
        self.rows, self.missing = self.rows + other.rows, self.missing + other.missing
        self.instant, self.duration = self.instant or other.instant, self.duration or other.duration
        self.numbers.merge(other.numbers)
        self.dates.merge(other.dates)
        self.texts.merge(other.texts)
