"""Convert one raw column into columns of a matrix: a class for each kind of column.

A codec is plain data, and part of the model file. ``block`` returns its columns for some rows: an array, or a CSR
matrix if the codec is ``sparse``.
"""

from __future__ import annotations

import datetime
import warnings
import zlib
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._errors import ColumnWarning, Place, shortened
from .dates import DAY, PERIODS, WHOLE_DAYS, parse_dates, seconds_of, whole_days
from .kinds import BOOLEAN, DATE, NUMBER, PLURAL, kind_of
from .summaries import check_not_infinite
from .text import BUCKETS, tf_idf
from .values import PLAIN, coded, numbers, parsed_numbers, short_levels

_FEW_TEXTS = 16
_ROWS_OF_UNKNOWN = 20  # fewer rows may all be of rare values


@dataclass
class Codec:
    """The kind of a column, and the reason for it."""

    name: str
    why: str
    kind: ClassVar[str]
    takes: ClassVar[str]
    """The required content of the column, in words."""
    sparse: ClassVar[bool] = False
    """Whether most entries are 0."""

    @property
    def width(self) -> int:
        return len(self.titles())

    @property
    def entries(self) -> int:
        """The approximate number of entries of a row that are not 0."""
        return self.width

    def titles(self) -> list[str]:
        """Return the names of the columns of the matrix."""
        return [self.name]

    def block(self, column: Any, place: Place) -> Any:
        raise NotImplementedError

    def fill(self, *, centred: bool) -> NDArray[np.float64]:
        """Return the values that fill a gap; columns of a CSR matrix are centered."""
        return np.zeros(self.width)

    def leaving_gaps(self) -> Codec:
        """Return a codec whose columns are NaN where a number or a date is missing."""
        return self

    def is_sound(self) -> bool:
        """Return whether the values from a file are values that a fit can give."""
        return isinstance(self.name, str) and isinstance(self.why, str)


def _is_number(*values: Any) -> bool:
    return all(isinstance(value, float) and np.isfinite(value) for value in values)


@dataclass
class Number(Codec):
    """A number; the mean of the column if it is missing. Texts are read as numbers."""

    mean: float
    lenient: bool = False
    """Whether texts that are not numbers count as missing, because there were some in the fit."""
    style: str = PLAIN
    centre: float = 0.0
    """The value subtracted in a CSR matrix, which no later step centers."""
    kind: ClassVar[str] = "number"
    takes: ClassVar[str] = "numbers"

    def block(self, column: Any, place: Place) -> NDArray[Any]:
        found = column_kind(column)
        if found not in (NUMBER, BOOLEAN):
            return self._of_texts(column, found, place)
        return numbers(column, self.name, place)

    def _of_texts(self, column: Any, found: str, place: Place) -> NDArray[Any]:
        if found == DATE:
            raise expected(self, found, place)
        codes = coded(column, self.name, place)
        values = parsed_numbers(codes.values, self.style)
        strange = np.isnan(values) & (codes.counts() > 0)
        if strange.any() and not self.lenient:
            refuse_value(codes, strange, f"is not a {self.kind}", self.name, place)
        return codes.of_rows(values, np.nan)

    def fill(self, *, centred: bool) -> NDArray[np.float64]:
        return np.array([self.mean - self.centre if centred else self.mean])

    def leaving_gaps(self) -> Number:
        return replace(self, mean=np.nan)

    def is_sound(self) -> bool:
        flags = isinstance(self.lenient, bool) and isinstance(self.style, str)
        return super().is_sound() and _is_number(self.mean, self.centre) and flags


@dataclass
class Boolean(Codec):
    """0 or 1, or one of two words; the share of 1 if it is missing."""

    mean: float
    words: dict[str, int] = field(default_factory=dict)
    centre: ClassVar[float] = 0.0
    kind: ClassVar[str] = "boolean"
    takes: ClassVar[str] = "booleans"

    def block(self, column: Any, place: Place) -> NDArray[Any]:
        found = column_kind(column)
        if found in (NUMBER, BOOLEAN):
            return numbers(column, self.name, place)
        if found == DATE:
            raise expected(self, found, place)
        words = self.words or {"false": 0, "true": 1, "0": 0, "1": 1}
        codes = coded(column, self.name, place)
        texts = [value.strip().lower() for value in codes.values.to_pylist()]
        values = np.array([words.get(text, np.nan) for text in texts], dtype=np.float64)
        strange = np.isnan(values) & (codes.counts() > 0)
        if strange.any() and not self.words:
            raise expected(self, found, place)
        if strange.any():
            refuse_value(codes, strange, f"is not one of {', '.join(words)}", self.name, place)
        return codes.of_rows(values, np.nan)

    def fill(self, *, centred: bool) -> NDArray[np.float64]:
        return np.array([self.mean])

    def leaving_gaps(self) -> Boolean:
        return replace(self, mean=np.nan)

    def is_sound(self) -> bool:
        words = isinstance(self.words, dict) and all(
            isinstance(word, str) and value in (0, 1) for word, value in self.words.items()
        )
        return super().is_sound() and _is_number(self.mean) and words


@dataclass
class Date(Codec):
    """The days since the first date, and the positions in the day, the week and the year.

    ``order`` is the order of day and month in texts; "time" for a time of day or a duration, in seconds; "seconds"
    in models of earlier versions, where days are seconds since 1970.
    """

    origin: float
    mean: float
    """The mean, in seconds since the origin, which replaces a missing date."""
    parts: tuple[str, ...]
    order: str
    lenient: bool = False
    centre: float = 0.0
    kind: ClassVar[str] = "date"
    takes: ClassVar[str] = "dates or times"

    def titles(self) -> list[str]:
        if self.order in ("time", "seconds"):
            first = f"{self.name} in seconds"
        else:
            began = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=self.origin)
            first = f"{self.name} in days since {began.date()}"
        return [
            first,
            *(f"{self.name}: {wave} of the {part}" for part in self.parts for wave in ("sine", "cosine")),
        ]

    def block(self, column: Any, place: Place) -> NDArray[Any]:
        seconds = self._seconds(column, place) - self.origin
        return seconds if self.order == "seconds" else self._encoded(seconds)

    def fill(self, *, centred: bool) -> NDArray[np.float64]:
        if self.order == "seconds":
            return np.array([self.mean - self.centre if centred else self.mean])
        return self._encoded(np.array([np.nan])).ravel()

    def leaving_gaps(self) -> Date:
        return replace(self, mean=np.nan)

    def _encoded(self, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        seconds = np.where(np.isnan(seconds), self.mean, seconds)
        out = np.empty((seconds.size, self.width))
        out[:, 0] = seconds if self.order == "time" else seconds / DAY
        for number, part in enumerate(self.parts):
            period, began = PERIODS[part]
            turn = (seconds + self.origin - began) % period * (2.0 * np.pi / period)
            out[:, 1 + 2 * number], out[:, 2 + 2 * number] = np.sin(turn), np.cos(turn)
        return out

    def _seconds(self, column: Any, place: Place) -> NDArray[np.float64]:
        found = column_kind(column)
        if found == DATE:
            return seconds_of(column)
        if found in (NUMBER, BOOLEAN) and str(getattr(column, "type", "")) != "null" and self.order != WHOLE_DAYS:
            raise expected(self, found, place)
        codes = coded(column, self.name, place)
        parsed = None if self.order == WHOLE_DAYS else parse_dates(codes.values)
        if self.order == WHOLE_DAYS:
            values = whole_days(parsed_numbers(codes.values))
        elif parsed is None:
            values = np.full(len(codes.values), np.nan)
        else:
            values = parsed.clocks if self.order == "time" else parsed.seconds.get(self.order, parsed.clocks)
        strange = np.isnan(values) & (codes.counts() > 0)
        if strange.any() and not self.lenient:
            refuse_value(codes, strange, "is not a date or time", self.name, place)
        return codes.of_rows(values, np.nan)

    def is_sound(self) -> bool:
        parts = isinstance(self.parts, (tuple, list)) and all(part in PERIODS for part in self.parts)
        day = _is_number(self.origin, self.mean, self.centre) and abs(self.origin) < 1e11
        return super().is_sound() and parts and day and isinstance(self.order, str)


@dataclass
class Category(Codec):
    """A column per value, one for all other values, and one for missing values if there were any in the fit."""

    levels: list[str]
    missing: bool
    other: bool
    kind: ClassVar[str] = "category"
    takes: ClassVar[str] = "text"
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._code_of = {level: code for code, level in enumerate(self.levels)}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_code_of"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._code_of = {level: code for code, level in enumerate(state.get("levels", ()))}

    @property
    def entries(self) -> int:
        return 1

    def titles(self) -> list[str]:
        extra = [f"{self.name} is other"] * self.other + [f"{self.name} is missing"] * self.missing
        return [f"{self.name}={level}" for level in self.levels] + extra

    @property
    def width(self) -> int:
        return len(self.levels) + self.other + self.missing

    def _known(self, values: Any) -> NDArray[np.int64]:
        """Return the column of each of these texts, -1 for a text without a column."""
        absent = len(self.levels) if self.other else -1
        if len(values) <= _FEW_TEXTS:  # Arrow would look at all levels first
            return np.array([self._code_of.get(value, absent) for value in values.to_pylist()], dtype=np.int64)
        import pyarrow as pa
        import pyarrow.compute as pc

        places = pc.index_in(values, value_set=pa.array(self.levels, values.type)).fill_null(absent)
        return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)

    def level_of_rows(self, column: Any, place: Place) -> NDArray[np.int64]:
        """Return the column of each row's value, -1 for a value without a column."""
        codes = coded(column, self.name, place)
        known = self._known(short_levels(codes.values))
        if known.size > 1 and codes.codes.size >= _ROWS_OF_UNKNOWN:
            self._warn_if_all_are_unknown(known, codes.values)
        return codes.of_rows(known, self.width - 1 if self.missing else -1)

    def _warn_if_all_are_unknown(self, known: NDArray[np.int64], values: Any) -> None:
        """Warn if rows have several values but none of those of the fit: the spelling may differ."""
        if not self.levels or np.any((known >= 0) & (known < len(self.levels))):
            return
        fitted, found = (
            ", ".join(map(repr, some[:3])) + (", ..." if len(some) > 3 else "")
            for some in (self.levels, values[:4].to_pylist())
        )
        warnings.warn(
            f"Column {self.name!r}: no row has a value of the fit ({fitted}); there are {found}. They count as "
            "other values. Are they written in another way?",
            ColumnWarning,
            stacklevel=2,
        )

    def block(self, column: Any, place: Place) -> Any:
        found = self.level_of_rows(column, place)
        known = found >= 0
        indptr = np.concatenate([[0], np.cumsum(known)])
        entries = np.ones(int(indptr[-1]), dtype=np.float32)
        return sparse.csr_array((entries, found[known], indptr), shape=(found.size, self.width))

    def is_sound(self) -> bool:
        texts = isinstance(self.levels, list) and all(isinstance(level, str) for level in self.levels)
        return super().is_sound() and texts and isinstance(self.missing, bool) and isinstance(self.other, bool)


@dataclass
class Hashed(Category):
    """A column for each bucket of a hash, for columns of many values in models of earlier versions."""

    buckets: int = 256
    kind: ClassVar[str] = "category, hashed"

    def titles(self) -> list[str]:
        extra = [f"{self.name} is missing"] * self.missing
        return [f"{self.name}#{bucket}" for bucket in range(self.buckets)] + extra

    @property
    def width(self) -> int:
        return self.buckets + self.missing

    def _known(self, values: Any) -> NDArray[np.int64]:
        return np.array([zlib.crc32(value.encode()) % self.buckets for value in values.to_pylist()], np.int64)

    def is_sound(self) -> bool:
        return super().is_sound() and isinstance(self.buckets, int) and self.buckets > 0


@dataclass
class Text(Codec):
    """tf-idf of the words, hashed into 4,096 columns."""

    idf: NDArray[np.float64]
    words: str
    """The most frequent words of each column, a line for each."""
    words_per_row: float
    damped: bool = False
    """Whether a repeated word in a text adds less than the first; not in models of earlier versions."""
    kind: ClassVar[str] = "text"
    takes: ClassVar[str] = "text"
    sparse: ClassVar[bool] = True

    @property
    def width(self) -> int:
        return BUCKETS

    @property
    def entries(self) -> int:
        return round(self.words_per_row) + 1

    def titles(self) -> list[str]:
        words = self.words.split("\n")
        return [f"{self.name}: {word}" if word else f"{self.name}#{place}" for place, word in enumerate(words)]

    def block(self, column: Any, place: Place) -> Any:
        codes = coded(column, self.name, place)
        of_values = tf_idf(codes.values, self.idf, damped=self.damped)
        missing = np.flatnonzero(codes.codes < 0)
        if missing.size:
            of_values = sparse.vstack([of_values, sparse.csr_array((1, BUCKETS), dtype=np.float32)], format="csr")
        return of_values[codes.codes % of_values.shape[0]]

    def is_sound(self) -> bool:
        idf = isinstance(self.idf, np.ndarray) and self.idf.shape == (BUCKETS,) and self.idf.dtype == np.float64
        words = isinstance(self.words, str) and self.words.count("\n") == BUCKETS - 1
        sound = super().is_sound() and words and isinstance(self.damped, bool)
        return sound and idf and bool(np.isfinite(self.idf).all())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Text):
            return False
        mine, theirs = ((one.name, one.words, one.damped) for one in (self, other))
        return mine == theirs and np.array_equal(self.idf, other.idf)


@dataclass
class Ignored(Codec):
    """Nothing."""

    warn: bool = False
    """Whether the rules, not the user, left the column out."""
    kind: ClassVar[str] = "left out"
    takes: ClassVar[str] = "anything"

    def titles(self) -> list[str]:
        return []

    def is_sound(self) -> bool:
        return super().is_sound() and isinstance(self.warn, bool)


CODECS = (Number, Boolean, Date, Category, Hashed, Text, Ignored)


def column_kind(column: Any) -> str:
    return kind_of(column.dtype if isinstance(column, np.ndarray) else column.type)


def expected(codec: Codec, found: str, place: Place) -> Exception:
    problem = f"{codec.takes} are expected here, and it holds {PLURAL.get(found, found)}."
    return place.error(problem, column=codec.name)


def refuse_value(codes: Any, strange: NDArray[np.bool_], what: str, name: str, place: Place) -> None:
    """Raise an error for the first row with an unexpected value."""
    row = int(np.argmax(np.append(strange, False)[codes.codes]))
    value = shortened(str(codes.values[int(codes.codes[row])]))
    raise place.error(f"{value!r} {what}. Correct the row, or leave it empty.", row, name)


def fill_gaps(codec: Any, raw: NDArray[Any], column: NDArray[Any], place: Place, centre: float = 0.0) -> None:
    """Replace missing numbers by the mean; an infinite number is an error."""
    with np.errstate(over="ignore"):  # a mean too large for 32 bits is that of a number which is, too
        column[np.isnan(column)] = codec.mean - centre
    check_not_infinite(raw, column, codec.name, place)
