"""Shards of Parquet files: each worker reads its own row groups, and all agree on one encoder."""

from __future__ import annotations

import copy
import glob
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..estimators._rows import require_finite
from ..estimators._targets import checked_labels
from ..features.encode import Encoder
from ..features.learn import EncoderFit
from ..features.tables import parts_of
from ..streams import DataError, open_stream
from ..training.shards.engine import Answer, Engine, Question, Setup, Shard
from ..training.shards.read import ReadRows, naming
from ..transforms import Standardizer

_PARTS = 16
_FEWEST_ROWS = 50_000
_MOST_VALUES = 1 << 26


class TableRows(NamedTuple):
    """A table as it was read."""

    table: Any
    columns: tuple[str, ...]
    target: str
    weight: str | None

    @property
    def nbytes(self) -> int:
        return int(self.table.nbytes)


@dataclass(frozen=True)
class ParquetShard(Shard):
    """Some row groups of some files."""

    groups: tuple[tuple[str, tuple[int, ...]], ...]
    columns: tuple[str, ...]
    target: str
    weight: str | None

    def read(self) -> TableRows:
        import pyarrow
        from pyarrow import parquet

        wanted = [*self.columns, self.target, *([] if self.weight is None else [self.weight])]
        tables = []
        for path, numbers in self.groups:
            try:
                with parquet.ParquetFile(path) as file:
                    tables.append(file.read_row_groups(list(numbers), columns=wanted, use_threads=False))
            except FileNotFoundError:
                raise DataError(
                    f"{path}: a worker finds no such file. All workers must see the folder under the same name."
                ) from None
        table = pyarrow.concat_tables(tables, promote_options="permissive")
        return TableRows(table, self.columns, self.target, self.weight)


@dataclass(frozen=True)
class ColumnsSeen(Answer):
    """What an encoder has to know about some of the rows."""

    learner: EncoderFit

    def merge(self, other: ColumnsSeen) -> ColumnsSeen:
        learner = copy.deepcopy(self.learner)
        learner.merge(other.learner)
        return ColumnsSeen(learner)


@dataclass(frozen=True)
class SeeColumns(Question[ColumnsSeen]):
    wanted: tuple[tuple[str, str], ...] = ()
    """The kinds of columns that the user gives."""

    name: ClassVar[str] = "columns"

    def answer(self, rows: TableRows, shard: int) -> ColumnsSeen:
        stream = open_stream([rows.table], features=list(rows.columns), columns=dict(self.wanted))
        learner = EncoderFit(stream.encoder)
        for columns, size, place in parts_of(rows.table, f"Partition {shard}"):
            learner.add(columns, size, place)
        return ColumnsSeen(learner)


@dataclass(frozen=True)
class Encode(Setup):
    """Tables become matrices."""

    encoder: Encoder

    name: ClassVar[str] = "encode"

    def apply(self, rows: TableRows, shard: int) -> Any:
        stream = open_stream(
            [rows.table],
            target=rows.target,
            weight=rows.weight,
            encoder=self.encoder,
            window_rows=rows.table.num_rows,
        )
        (window,) = list(stream.windows())
        assert window.labels is not None
        with naming(f"Partition {shard}"):
            encoded = ReadRows(window.X, window.labels, window.weights)
            return checked(encoded, gaps=self.encoder.leaves_gaps)


def checked(rows: ReadRows, *, gaps: bool) -> ReadRows:
    """Return rows with plain labels, or raise an error for invalid rows. With ``gaps``, numbers may be missing."""
    weights, X = rows.weights, rows.X
    if weights is not None and not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("sample weights must be finite numbers of 0 or more.")
    with np.errstate(all="ignore"):
        moments = Standardizer(X.shape[1])
        statistics = moments.update_with_gaps(X) if gaps else moments.update(X)
    if not np.isfinite(statistics.squares).all():
        advice = "Fill it first, for instance with DataFrame.fillna"
        require_finite(X, rows.names, advice=advice, allow_nan=gaps)
    statistics.require_scalable(X, rows.names)
    return rows._replace(labels=checked_labels(rows.labels, rows.labels.size).y)


def encode(engine: Engine, wanted: Mapping[str, str] | None = None, *, gaps: bool = False) -> EncoderFit:
    """Encode the tables of all shards in the same way; ``wanted`` holds the kinds of columns that the user gives.

    With ``gaps``, missing numbers are not filled.
    """
    learner = engine.ask(SeeColumns(tuple((wanted or {}).items()))).learner
    learner.finish()
    learner.encoder.leaves_gaps = gaps
    engine.prepare(Encode(learner.encoder))
    return learner


def parquet_shards(
    source: Any,
    target: str,
    weight: str | None = None,
    wanted: Mapping[str, str] | None = None,
) -> list[ParquetShard]:
    """Return shards of the row groups of a file, a folder or a glob, independent of the cluster."""
    files = _files(source)
    # It raises an error for files that differ, and for names that are not columns.
    stream = open_stream(files, target=target, weight=weight, columns=wanted)
    columns = tuple(stream.encoder.columns)
    groups = list(_row_groups(files))
    total = sum(rows for _, _, rows in groups)
    enough = max(min(total / _PARTS, _MOST_VALUES / len(columns)), _FEWEST_ROWS)
    shards: list[ParquetShard] = []
    held: dict[str, list[int]] = {}
    filled = 0
    for path, number, rows in groups:
        held.setdefault(path, []).append(number)
        filled += rows
        if filled >= enough:
            shards.append(_shard(held, columns, target, weight))
            held, filled = {}, 0
    if held:
        shards.append(_shard(held, columns, target, weight))
    return shards


def _shard(held: dict[str, list[int]], columns: tuple[str, ...], target: str, weight: str | None) -> ParquetShard:
    return ParquetShard(tuple((path, tuple(numbers)) for path, numbers in held.items()), columns, target, weight)


def _row_groups(files: list[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the file, the number and the rows of each row group that is not empty."""
    from pyarrow import parquet

    for path in files:
        metadata = parquet.read_metadata(path)
        for number in range(metadata.num_row_groups):
            if rows := metadata.row_group(number).num_rows:
                yield path, number, rows


def _files(source: Any) -> list[str]:
    name = os.path.abspath(os.fspath(source))  # as workers on other machines know it
    if os.path.isdir(name):
        found = sorted(str(path) for path in Path(name).rglob("*.parquet"))
    else:
        found = sorted(glob.glob(name)) if glob.has_magic(name) else [name]
    if not found:
        raise DataError(
            f"{source}: there are no .parquet files. Make one with: ratewise convert DATA -o rows.parquet"
        )
    if not all(path.endswith(".parquet") for path in found):
        raise DataError(
            f"{source}: a fit on a cluster reads Parquet files, whose row groups can be shared out. Make one "
            "with: ratewise convert DATA -o rows.parquet"
        )
    return found
