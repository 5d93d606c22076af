"""Columns of a table, Arrow's or numpy's: which are read, and as numbers, categories, labels or weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import ARROW_ERRORS, DataError, Place, not_whole
from .._input_checks import is_text
from ..features.columns import wishes
from ..features.encode import Encoder, missing_column
from ..features.kinds import BOOLEAN, CATEGORY, DATE, NUMBER, PLURAL, TEXT, is_null_type, kind_of
from ..features.learn import feature_kind
from ..features.tables import Schema
from ..features.values import COMMA, PLAIN, categories, numbers
from .formats import Reader, Request, Rows

LARGEST_EXACT = 2.0**53  # beyond it, whole numbers next to each other are one float64
_LIGHTEST, _HEAVIEST = 1e-30, 1e30  # weights: their squares are float32 too
_LONGEST_LABEL = 1000
_LONGEST_MEAN_BYTES, _MANY_BYTES = 1 << 14, 1 << 24  # of texts that are read


def is_long_text(n_bytes: int, count: int) -> bool:
    """Return whether texts of this many bytes are too long to be read some thousand rows at a time."""
    return n_bytes > max(_MANY_BYTES, _LONGEST_MEAN_BYTES * count)


def require_short_text(n_bytes: int, count: int, name: str, place: Place) -> None:
    """Refuse too many bytes of texts before they are copied."""
    if is_long_text(n_bytes, count):
        raise place.error(
            f"it holds long text, of more than {_LONGEST_MEAN_BYTES:,} bytes in the mean. Shorten it, or leave "
            "the column out with features=.",
            column=name,
        )


def labels(column: Any, name: str, place: Place) -> NDArray[Any]:
    """Return the target column as an array of numbers, booleans or strings; none may be missing."""
    if isinstance(column, np.ndarray):
        found: NDArray[Any] = column
    else:
        kind = kind_of(column.type)
        if kind not in (NUMBER, BOOLEAN, CATEGORY, TEXT):
            problem = f"the target must be numbers, booleans or text, and it holds {PLURAL.get(kind, kind)}."
            raise place.error(problem, column=name)
        if column.null_count:
            _check_not_missing(column.is_null().to_numpy(zero_copy_only=False), name, place)
        if kind in (CATEGORY, TEXT):
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
            problem = f"labels as large as {found[row]:.0f} cannot be distinguished as numbers; make them text."
            raise place.error(problem, row, name)
    elif found.dtype.kind == "U" and not is_text(found):
        raise place.error("the target holds numbers that are not characters. Write the file again.", column=name)
    elif found.dtype.kind == "O":
        _check_not_missing(np.array([value is None or value != value for value in found], bool), name, place)
    return found


def _check_not_long(codes: NDArray[np.int64], values: list[str], name: str, place: Place) -> None:
    """Refuse labels that would take gigabytes: numpy stores all of them at the length of the longest."""
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
        advice = "drop_unlabelled=True (command line: --drop-unlabelled)"
        raise place.error(
            f"the target is missing. To leave such rows out: {advice}.", int(np.argmax(missing)), name
        )


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


@dataclass(frozen=True)
class TablePlan:
    """The columns of a table that are read: the features and their kinds, and the names of target and weights."""

    kinds: dict[str, str]
    target: str | None
    weight: str | None
    target_type: Any
    ignores_others: bool
    """Whether the features were named, so that other columns do not matter."""
    kept: tuple[str, ...] = ()
    """Columns that come along as they are."""

    @property
    def columns(self) -> list[str]:
        others = [name for name in (self.target, self.weight, *self.kept) if name is not None]
        return [*self.kinds, *dict.fromkeys(others)]

    def rows(self, batch: Any, place: Place) -> Rows:
        """Return the rows of an Arrow record batch, or of a dict of arrays of the same length."""
        columns = batch if isinstance(batch, dict) else dict(zip(batch.schema.names, batch.columns, strict=True))
        features = {name: columns[name] for name in self.kinds}
        target = None if self.target is None else columns[self.target]
        weights = None if self.weight is None else columns[self.weight]
        kept = {name: columns[name] for name in self.kept}
        return Rows(len(next(iter(columns.values()))), features, target, weights, place, kept)

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
            other = feature_kind(schema[name], name, Place(file))
            if not is_null_type(schema[name]) and _family(kind) != _family(other):
                raise Place(file).error(f"it holds a {other}, and a {kind} in {first_file}.", column=name)


def _family(kind: str) -> str:
    """Return one family for kinds that may follow one another in a column."""
    return {BOOLEAN: NUMBER, CATEGORY: TEXT}.get(kind, kind)


def _kinds_for(encoder: Encoder, schema: Schema, file: str) -> dict[str, str]:
    """Return the kinds of the columns that a model reads, or refuse those that it cannot take."""
    kinds = {}
    for name in encoder.used:
        if name not in schema:
            raise missing_column(name, file, list(schema), "the model was trained on")
        found = feature_kind(schema[name], name, Place(file))
        takes = encoder.codec(name).takes if encoder.codecs else "numbers"
        wrong = {"dates or times": (NUMBER, BOOLEAN), "numbers": (DATE,), "booleans": (DATE,)}.get(takes, ())
        if found in wrong and not is_null_type(schema[name]):
            problem = f"it holds {PLURAL[found]}, and the model was trained on {takes}."
            raise Place(file).error(problem, column=name)
        kinds[name] = found if takes in ("numbers", "booleans") or found == DATE else TEXT
    return kinds


def make_plan(schema: Schema, file: str, request: Request) -> TablePlan:
    """Return the plan for a table, by what its first file holds."""
    target, weight, encoder, names = request.target, request.weight, request.encoder, request.features
    wished = [(target, "the target"), (weight, "the weight"), *((name, "kept") for name in request.keep)]
    for name, what in wished:
        if name is not None and name not in schema:
            raise missing_column(name, file, list(schema), f"is to be {what}")
    if encoder is not None:
        if not encoder.named:
            raise DataError(
                f"{file}: its columns have names, and the model was trained on {encoder.n_columns:,} columns "
                "without names; give it a matrix."
            )
        kinds = _kinds_for(encoder, schema, file)
    else:
        if names is None:
            names = [name for name in schema if name not in (target, weight, *request.keep)]
        for name in names:
            if name not in schema:
                raise missing_column(name, file, list(schema), "is among the features asked for")
            if name == target:
                raise ValueError(f"Column {name!r} is the target; it cannot be a feature too.")
        if not len(names):
            raise DataError(f"{file}: there are no columns besides the target and the weight to learn from.")
        wanted = wishes(request.columns)
        kinds = {name: feature_kind(schema[name], name, Place(file), wanted.get(name)) for name in names}
    named = encoder is not None or request.features is not None
    target_type = None if target is None else schema[target]
    return TablePlan(kinds, target, weight, target_type, named, request.keep)


def encoder_for(plan: TablePlan, request: Request) -> Encoder:
    """Return the encoder of the model, or a new one for the columns of a plan."""
    if request.encoder is not None:
        return request.encoder
    encoder = Encoder(list(plan.kinds), dict(plan.kinds), wanted=request.columns)
    encoder.style = COMMA if request.decimal == "," else PLAIN
    for name in [name for name in plan.kinds if encoder.wanted.get(name) == "ignore"]:
        del plan.kinds[name]
    return encoder


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
        self._plan, self.kinds = plan, plan.kinds

    def label_type(self, name: str) -> Any:
        """Return the type of the column that holds the labels."""
        return self.schema[name]

    def forget_types(self) -> None:
        """For rows of text, let a plan that was made for another file decide the types of the columns."""

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


class LabelledReader(Reader):
    """The rows of a table that have a label; rows without a label are counted."""

    def __init__(self, reader: Reader):
        super().__init__(reader.name, [None] * len(reader.sizes))
        self._reader = reader
        self.repeatable, self.lane_bytes, self.mapped = reader.repeatable, reader.lane_bytes, reader.mapped
        self.kinds, self.decodes = reader.kinds, reader.decodes
        self.unlabelled: dict[int, int] = {}
        """By piece, in the last reading of it."""

    def read(self, piece: int, batch_rows: int) -> Iterator[Rows]:
        self.unlabelled[piece] = 0
        for rows in self._reader.read(piece, batch_rows):
            labelled = rows if rows.target is None else rows.where(~_is_missing(rows.target))
            self.unlabelled[piece] += rows.size - labelled.size
            if labelled.size:
                yield labelled


def _is_missing(column: Any) -> NDArray[np.bool_]:
    if not isinstance(column, np.ndarray):
        found: NDArray[np.bool_] = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        return found
    if column.dtype.kind == "f":
        return np.isnan(column)
    return np.array([value is None or value != value for value in column.tolist()], dtype=np.bool_)
