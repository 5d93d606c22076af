"""The rules that decide the kind of a column. They are the same for every input.

A rule uses a summary of all rows of a column (:mod:`.summaries`), never a sample of them. So the result does not
depend on which rows come first or how they are cut into parts.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._errors import Place
from .codecs import Boolean, Category, Codec, Date, Ignored, Number, Text
from .dates import DAY, DAY_FIRST, MONTH_FIRST, WHOLE_DAYS, DateStats
from .kinds import BOOLEAN, CATEGORY, DATE, NUMBER, TEXT, say
from .summaries import FEW_OTHERS, ColumnSummary, NumberStats
from .values import COMMA, PLAIN, POINT

KINDS = (
    *("number", "boolean", "category", "date", "text", "ignore"),
    *("elapsed", "day first", "month first", "decimal point", "decimal comma"),
)
"""The kinds that ``columns=`` may give to a column."""

NEARLY_ALL, RARE = 0.95, 0.25
FEWEST_ROWS, MOST_LEVELS = 5, 255
LARGEST_MOST_LEVELS, ROWS_PER_LEVEL = 4095, 250
_WORDS_OF_TEXT, _WORDS_OF_NAMES, _FEW_TEXTS, _ROWS_OF_IDENTIFIERS, _FEW_LEVELS = 3.0, 1.5, 30, 50, 16
_DATES = ("date", "elapsed", "day first", "month first")
_LEAVE_OUT = "A date can be 'date', 'elapsed' or 'ignore'."
_BOOLEANS = ({"no": 0, "yes": 1}, {"false": 0, "true": 1}, {"n": 0, "y": 1}, {"f": 0, "t": 1}, {"off": 0, "on": 1})


def wishes(wanted: Mapping[str, str] | None) -> dict[str, str]:
    """Return the kinds of columns that a user gives as a dict, or raise an error."""
    if not isinstance(wanted, Mapping | None):
        raise TypeError(f"columns must be a dict, such as {{'zip': 'category'}}; got {wanted!r}.")
    return dict(wanted or {})


def check_wanted(wanted: Mapping[str, str] | None, names: list[str], place: Place) -> dict[str, str]:
    """Return the kinds of columns that a user gives, or raise an error for impossible ones."""
    found = wishes(wanted)
    for name, kind in found.items():
        if kind not in KINDS:
            raise ValueError(f"columns: {name!r} cannot be {kind!r}. A column can be {', '.join(KINDS)}.")
        if name not in names:
            shown = ", ".join(repr(other) for other in names[:12])
            wish = "leave out" if kind == "ignore" else f"take for {kind!r}"
            raise place.error(f"there is no column {name!r} to {wish}. Its columns are: {shown}.")
    return found


def summary_for(name: str, kind: str, wanted: str | None, style: str = PLAIN) -> ColumnSummary:
    """Return the empty summary of a column, with the kind by its type or by the user.

    ``style`` is how numbers are written in texts of columns that the user does not describe.
    """
    as_texts = wanted in ("category", "text") and kind in (NUMBER, BOOLEAN, CATEGORY, TEXT)
    return ColumnSummary(name, CATEGORY if as_texts else kind, wanted if wanted in (POINT, COMMA) else style)


def decide(summary: ColumnSummary, wanted: str | None, place: Place) -> Codec:
    """Return the encoding of a column: the one that the user wants, else the one that suits its values."""
    if wanted is not None:
        return _as_wanted(summary, wanted, place)
    if summary.kind == CATEGORY:
        return _category(summary, "its type")
    texts = summary.texts
    if texts.levels.rows:
        return _of_texts(summary, place)
    why = "its type" if summary.present else "it holds no values"
    if summary.kind == DATE:
        return _dates(summary, summary.dates, why, is_instant=summary.instant)
    if summary.kind == BOOLEAN:
        return Boolean(summary.name, why, summary.numbers.mean)
    return _of_numbers(summary, summary.numbers, why)


def _of_numbers(summary: ColumnSummary, numbers: NumberStats, why: str) -> Codec:
    """Return the codec of numbers: of days if nearly all numbers look like 20260531."""
    days, name = numbers.days, summary.name
    if days.first < days.last and days.rows >= NEARLY_ALL * numbers.rows:
        lenient = days.rows < summary.present
        why = "its numbers are days such as 20260531" + (f", but for {summary.present - days.rows:,}" * lenient)
        return _dates(summary, days, why, order=WHOLE_DAYS, lenient=lenient)
    return Number(name, why, numbers.mean, lenient=numbers.rows < summary.present, style=summary.style)


def _of_texts(summary: ColumnSummary, place: Place) -> Codec:
    """Return the codec of texts by the first rule that fits."""
    name, texts, present = summary.name, summary.texts, summary.present
    distinct = texts.levels.distinct
    words = _boolean_words(summary)
    if words is not None:
        return _boolean(summary, words, "its two words")
    numbers = texts.numbers.rows
    if numbers == present and not texts.codes:
        return _of_numbers(summary, texts.numbers, "all its texts are numbers")
    if _nearly_all(summary, numbers) and not texts.codes and distinct > _FEW_LEVELS:
        return _of_numbers(summary, texts.numbers, f"its texts are numbers, but for {_strange(summary)}")
    if distinct > _FEW_LEVELS and texts.written >= 0.1 * present and 2 * (texts.written + numbers) > present:
        raise place.error(_ask_for_decimals(name, texts.written_example), column=name)
    if len(texts.units) == 1 and distinct > _FEW_LEVELS and texts.measured.rows >= NEARLY_ALL * present:
        (unit,), lenient = texts.units, texts.measured.rows < present
        return Number(name, f"its texts are numbers of {unit}", texts.measured.mean, lenient=lenient, style=unit)
    order, most = max(((key, stats.rows) for key, stats in texts.dates.items()), key=lambda one: one[1])
    if most < NEARLY_ALL * present <= texts.slashed:
        raise place.error(_refuse_both_orders(name, texts.slashed_example), column=name)
    if _nearly_all(summary, most):
        if texts.slashed and not any(texts.days_over_12.values()) and texts.slashed >= 0.05 * present:
            raise place.error(_ask_for_order(name, texts.slashed_example), column=name)
        why = "its texts are dates" + (f", but for {_strange(summary)}" if most < present else "")
        return _dates(summary, texts.dates[order], why, order=order, lenient=most < present)
    if _nearly_all(summary, texts.clocks.rows):
        strange = texts.clocks.rows < present
        why = "its texts are times of day" + (f", but for {_strange(summary)}" if strange else "")
        return _dates(summary, texts.clocks, why, is_instant=False, lenient=strange)
    differ = distinct > _FEW_TEXTS and 2 * distinct > present
    if texts.n_words >= _WORDS_OF_TEXT * present and (differ or distinct > most_levels(summary.rows)):
        return _text(summary, f"{texts.n_words / present:.0f} words in a value, {distinct:,} different values")
    if texts.n_words >= _WORDS_OF_NAMES * present and (differ or _many_rare(summary)) and _words_recur(summary):
        return _text(summary, f"{distinct:,} different values, whose words recur")
    return _category(summary, f"{distinct:,} different values")


def _nearly_all(summary: ColumnSummary, rows: int) -> bool:
    """Return whether this number is nearly all rows: the rest is rare, or a few words such as unknown."""
    texts, present = summary.texts, summary.present
    few = len(texts.others) <= FEW_OTHERS < texts.levels.distinct - len(texts.others)
    return rows >= NEARLY_ALL * present or (few and 2 * rows >= present and rows + texts.n_others == present)


def _many_rare(summary: ColumnSummary) -> bool:
    """Return whether one row in four has a value that is too rare to get its own column."""
    counts = summary.texts.levels.by_count()[1]
    kept = counts[counts >= fewest_rows(summary.rows)][: most_levels(summary.rows)]
    return bool(summary.texts.levels.rows - kept.sum() >= RARE * summary.present)


def _words_recur(summary: ColumnSummary) -> bool:
    """Return whether at least half of the rows have a word that recurs in other rows, but not in most."""
    counts = summary.texts.words.words.by_count()[1]
    telling = counts[(counts >= FEWEST_ROWS) & (2 * counts < summary.present)]
    return telling.size >= FEWEST_ROWS and bool(2 * telling.sum() >= summary.present)


def _strange(summary: ColumnSummary) -> str:
    """Return how many values are neither numbers nor dates, and one of them."""
    texts = summary.texts
    known = max(texts.numbers.rows, texts.clocks.rows, *(stats.rows for stats in texts.dates.values()))
    letters = (value for value in texts.levels.by_count()[0] if not value.strip()[-1:].isdigit())
    example = next(letters, None)
    return f"{summary.present - known:,}" + (f", such as {example!r}" if example is not None else "")


def most_levels(rows: int) -> int:
    """Return how many columns a category may take: more on large data."""
    return min(max(MOST_LEVELS, rows // ROWS_PER_LEVEL), LARGEST_MOST_LEVELS)


def fewest_rows(rows: int) -> int:
    """Return how many rows a value must have to get its own column: 5, and fewer on small data."""
    return min(FEWEST_ROWS, max(rows // 100, 1))


def _category(summary: ColumnSummary, why: str, *, asked: bool = False) -> Codec:
    levels, rows, present = summary.texts.levels, summary.rows, summary.present
    distinct = levels.distinct
    values, counts = levels.by_count()
    enough = fewest_rows(rows)
    kept = [value for value, count in zip(values, counts, strict=True) if count >= enough][: most_levels(rows)]
    differs = distinct >= NEARLY_ALL * present and present >= _ROWS_OF_IDENTIFIERS
    if present and not asked and (differs or not kept):
        if differs:
            why = f"an identifier: {distinct:,} different values in {present:,} rows"
        else:
            why = f"no value has {enough} rows, and {distinct:,} are different"
        if min(summary.missing, present) < enough:
            return Ignored(summary.name, why, True)
        return Category(summary.name, f"{why}; whether there is one", [], True, True)
    pooled = int(levels.rows - counts[: len(kept)].sum()) if len(kept) else levels.rows
    if pooled:
        why += f"; {distinct - len(kept):,} rare ones are 'other'"
    return Category(summary.name, why, sorted(kept), summary.missing > 0, pooled > 0)


def _boolean_words(summary: ColumnSummary, pairs: tuple[dict[str, int], ...] = _BOOLEANS) -> dict[str, int] | None:
    levels = summary.texts.levels
    if levels.distinct > 2 * len(_BOOLEANS):
        return None
    found = {value.strip().lower() for value in levels.by_count()[0]}
    return next((words for words in pairs if found == set(words)), None)


def _boolean(summary: ColumnSummary, words: dict[str, int], why: str) -> Boolean:
    values, counts = summary.texts.levels.by_count()
    ones = sum(int(n) for value, n in zip(values, counts, strict=True) if words.get(value.strip().lower()))
    return Boolean(summary.name, why, ones / max(summary.present, 1), dict(words))


def _dates(
    summary: ColumnSummary,
    stats: DateStats,
    why: str,
    *,
    order: str = DAY_FIRST,
    is_instant: bool = True,
    lenient: bool = False,
    parts: bool = True,
) -> Date:
    if not stats.rows:
        return Date(summary.name, why, 0.0, 0.0, (), order, lenient)
    if not is_instant:
        hours = ("hour",) if parts and not summary.duration else ()
        return Date(summary.name, why, 0.0, stats.total / stats.rows, hours, "time", lenient)
    origin = stats.first // DAY * DAY
    mean = round((stats.total / stats.rows - origin) / 60.0) * 60.0
    return Date(summary.name, why, origin, mean, stats.parts if parts else (), order, lenient)


def _text(summary: ColumnSummary, why: str) -> Text:
    words = summary.texts.words
    mean = summary.texts.n_words / max(summary.rows, 1)
    return Text(summary.name, why, words.idf(), "\n".join(words.names()), float(mean), damped=True)


def _as_wanted(summary: ColumnSummary, wanted: str, place: Place) -> Codec:
    """Return the codec that the user wants, or raise an error that describes the values of the column."""
    name, why, texts = summary.name, "as asked", summary.texts
    typed = summary.numbers if summary.numbers.rows else texts.numbers
    if wanted == "ignore":
        return Ignored(name, why)
    if summary.dates.rows and wanted not in _DATES:
        raise place.error(f"it is to be {wanted!r}, and it holds dates or times. {_LEAVE_OUT}", column=name)
    if wanted == "category":
        return _category(summary, why, asked=True)
    if wanted == "text":
        return _text(summary, why)
    if wanted in ("number", POINT, COMMA):
        if summary.present and not typed.rows:
            raise place.error("it is to be a number, and none of its values is one.", column=name)
        style = summary.style if wanted == "number" else wanted
        return Number(name, why, typed.mean, lenient=bool(texts.levels.rows), style=style)
    if wanted == "boolean":
        words = _boolean_words(summary, (*_BOOLEANS, {"0": 0, "1": 1}))
        if words is None and (texts.levels.rows or typed.low < 0.0 or typed.high > 1.0):
            raise place.error("it is to be boolean, and its values are not two such as yes and no.", column=name)
        return Boolean(name, why, typed.mean) if words is None else _boolean(summary, words, why)
    order, stats = _dates_as_wanted(summary, wanted, typed)
    if summary.present and not stats.rows:
        hint = "Dates are texts such as 2026-05-31, or numbers such as 20260531."
        raise place.error(f"it is to be a date, and none of its values is one. {hint}", column=name)
    is_instant = summary.instant if summary.dates.rows else order != "time"
    lenient = stats.rows < summary.present
    parts = wanted != "elapsed"
    return _dates(summary, stats, why, order=order, is_instant=is_instant, lenient=lenient, parts=parts)


def _dates_as_wanted(summary: ColumnSummary, wanted: str, typed: NumberStats) -> tuple[str, DateStats]:
    """Return the order of day and month, and the statistics of dates, of a column that the user wants as dates."""
    texts = summary.texts
    order = {"month first": MONTH_FIRST, "day first": DAY_FIRST}.get(wanted)
    order = order or max(texts.dates, key=lambda key: texts.dates[key].rows)
    if summary.dates.rows:
        return order, summary.dates
    by_order = {order: texts.dates[order], WHOLE_DAYS: typed.days, "time": texts.clocks}
    return max(by_order.items(), key=lambda one: one[1].rows)


def _ask_for_decimals(name: str, example: str) -> str:
    comma = example.rfind(",") > example.rfind(".") and example[-4:-3] != ","
    kinds = (COMMA, POINT) if comma else (POINT, COMMA)
    return (
        f"it holds numbers written as {example!r}. Say {say(name, kinds[0])} to read them so, {kinds[1]!r} for "
        "the other way round, 'category' for codes, or 'ignore'."
    )


def _refuse_both_orders(name: str, example: str) -> str:
    return (
        f"it holds dates such as {example!r}, in some rows with the day first and in others with the month first. "
        f"Write them all as 2026-05-31, or say {say(name, DAY_FIRST)} to take the others for missing."
    )


def _ask_for_order(name: str, example: str) -> str:
    return (
        f"it holds dates such as {example!r}, and no row shows whether the day or the month comes first. "
        f"Say {say(name, DAY_FIRST)}, or {MONTH_FIRST!r}."
    )
