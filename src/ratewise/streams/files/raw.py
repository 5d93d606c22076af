"""Rows as they are in the files, mixed but not encoded: for writing them to another file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .errors import DataError
from .file_stream import FileStream
from .packages import need_pyarrow
from .prefetch import Prefetched
from .rows import Rows
from .shuffle import Mixer, lanes_at_once, piece_order, take_size


class RawWindow(NamedTuple):
    """Some thousand rows as an Arrow table, and where they come from."""

    table: Any
    where: str


def raw_windows(
    stream: FileStream, rng: np.random.Generator | None = None, *, most_columns: int = 4096
) -> Iterator[RawWindow]:
    """One pass over the raw columns and the target of a stream, as Arrow tables of a window's rows.

    With a generator, rows of different places meet in one window and are shuffled within it. Sparse rows become
    as many columns as they are wide, at most ``most_columns``.
    """
    if stream.encoder.elastic and not stream.encoder.fitted:
        stream.survey()  # only the whole of an svmlight file tells its width
    width = stream.encoder.n_columns
    if stream.encoder.sparse_input and width > most_columns:
        raise DataError(
            f"{stream._readers[0].name}: sparse rows of {width:,} columns. A table of them would be mostly zeros; "
            "leave them as they are."
        )
    return Prefetched(_windows(stream, rng))


def _windows(stream: FileStream, rng: np.random.Generator | None) -> Iterator[RawWindow]:
    readers, wanted = stream._readers, stream.window_rows
    if stream.encoder.sparse_input:
        wanted = max((32 << 20) // (4 * max(stream.encoder.n_columns, 1)), 1024)
    lanes = 1 if rng is None else lanes_at_once(readers)
    mixer = Mixer(readers, piece_order(readers, rng), lanes, take_size(wanted, lanes))
    while rows := _gather(mixer, wanted):
        pa = need_pyarrow("files to convert them")
        table = pa.concat_tables([_table(part, stream) for part in rows], promote_options="permissive")
        if rng is not None:
            table = table.take(pa.array(rng.permutation(table.num_rows)))
        yield RawWindow(table, rows[0].place.file)


def _gather(mixer: Mixer, wanted: int) -> list[Rows]:
    gathered: list[Rows] = []
    while wanted > 0 and (rows := mixer.take(wanted)):
        gathered += rows
        wanted -= sum(part.size for part in rows)
    return gathered


def _table(rows: Rows, stream: FileStream) -> Any:
    columns = _features(rows, stream)
    if rows.target is not None:
        columns[stream.target or "y"] = rows.target
    if rows.weights is not None:
        columns[stream.weight or "weight"] = rows.weights
    pa = need_pyarrow("files to convert them")
    return pa.table({name: _plain(column) for name, column in columns.items()})


def _features(rows: Rows, stream: FileStream) -> dict[str, Any]:
    if isinstance(rows.features, dict):
        return dict(rows.features)
    X = rows.features.toarray() if sparse.issparse(rows.features) else np.asarray(rows.features)
    missing = stream.encoder.n_columns - X.shape[1]
    if missing > 0:  # svmlight rows are as wide as their last entry
        X = np.pad(X, ((0, 0), (0, missing)))
    return {name: X[:, j] for j, name in enumerate(stream.encoder.columns)}


def _plain(column: Any) -> Any:
    """Dictionaries of different parts differ, and a Feather file takes one only: so texts are written out."""
    pa = need_pyarrow("files to convert them")
    if isinstance(column, np.ndarray):
        return pa.array(np.ascontiguousarray(column))
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column
