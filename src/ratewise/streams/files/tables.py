"""Which columns of a table are read, and what for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .columns import BOOLEAN, CATEGORY, NUMBER, missing_column, usable_kind
from .encode import Encoder
from .errors import DataError
from .rows import Place, Rows

Schema = dict[str, Any]  # column name -> Arrow or numpy type, in the order of the file


@dataclass(frozen=True)
class TablePlan:
    """The columns that are read: the features and their kinds, and the names of target and weights."""

    kinds: dict[str, str]
    target: str | None
    weight: str | None
    target_type: Any = None
    ignores_others: bool = False
    """The features were named, so other columns do not matter."""

    @property
    def columns(self) -> list[str]:
        others = [name for name in (self.target, self.weight) if name is not None]
        return [*self.kinds, *dict.fromkeys(others)]

    def encoder(self) -> Encoder:
        return Encoder(list(self.kinds), self.kinds)

    def rows(self, batch: Any, place: Place) -> Rows:
        """The rows of an Arrow record batch, or of a dict of equally long arrays."""
        columns = batch if isinstance(batch, dict) else dict(zip(batch.schema.names, batch.columns, strict=True))
        features = {name: columns[name] for name in self.kinds}
        size = len(next(iter(columns.values())))
        target = None if self.target is None else columns[self.target]
        weights = None if self.weight is None else columns[self.weight]
        return Rows(size, features, target, weights, place)

    def batches(self, table: Any, place: Place) -> Iterator[Rows]:
        """The rows of an Arrow table, one record batch at a time."""
        start = 0
        for batch in table.to_batches():
            yield self.rows(batch, place.shifted(start))
            start += batch.num_rows

    def check(self, schema: Schema, file: str, first_file: str) -> None:
        """Another file must have the same columns, of the same kinds."""
        for name in self.columns:
            if name not in schema:
                raise missing_column(name, file, list(schema), f"{first_file} has")
        if not self.ignores_others:
            extra = [name for name in schema if name not in self.columns]
            if extra:
                raise DataError(
                    f"{file}: column {extra[0]!r} is not in {first_file}. Files that are read together must have "
                    "the same columns; name those to read with features=."
                )
        for name, kind in self.kinds.items():
            other = usable_kind(schema[name], name, file)
            if not fits(kind, other):
                raise Place(file).error(f"it holds a {other}, and a {kind} in {first_file}.", column=name)


def fits(kind: str, found: str) -> bool:
    """What was found can be read as this kind: a boolean is a number too, and anything can be a category."""
    return kind == CATEGORY or found in (NUMBER, BOOLEAN)


def make_plan(
    schema: Schema,
    file: str,
    target: str | None,
    features: Sequence[str] | None,
    weight: str | None,
    encoder: Encoder | None,
) -> TablePlan:
    """The plan for a table, by what its first file holds."""
    for name, what in ((target, "the target"), (weight, "the weight")):
        if name is not None and name not in schema:
            raise missing_column(name, file, list(schema), f"is to be {what}")
    target_type = None if target is None else schema[target]
    if encoder is not None:
        _check_against_model(schema, file, encoder)
        return TablePlan({name: encoder.kind(name) for name in encoder.columns}, target, weight, target_type, True)
    names = [name for name in schema if name not in (target, weight)] if features is None else list(features)
    for name in names:
        if name not in schema:
            raise missing_column(name, file, list(schema), "is among the features asked for")
        if name == target:
            raise ValueError(f"Column {name!r} is the target; it cannot be a feature too.")
    if not names:
        raise DataError(f"{file}: there are no columns besides the target and the weight to learn from.")
    kinds = {name: usable_kind(schema[name], name, file) for name in names}
    return TablePlan(kinds, target, weight, target_type, features is not None)


def _check_against_model(schema: Schema, file: str, encoder: Encoder) -> None:
    if not encoder.named:
        raise DataError(
            f"{file}: its columns have names, and the model was trained on {encoder.n_columns:,} columns without "
            "names; give it a matrix."
        )
    for name in encoder.columns:
        if name not in schema:
            raise missing_column(name, file, list(schema), "the model was trained on")
        found = usable_kind(schema[name], name, file)
        if not fits(encoder.kind(name), found):
            raise Place(file).error("it holds text, and the model was trained on numbers.", column=name)
