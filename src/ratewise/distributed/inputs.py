"""Dask collections, delayed partitions and folders as shards."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._errors import Place
from .._input_checks import plain_matrix, trusted_csr
from ..estimators._targets import checked_labels
from ..features.columns import check_wanted
from ..features.tables import arrow_of_pandas
from ..training.shards.engine import Shard
from ..training.shards.read import Names, ReadRows, naming, require_same_names
from .files import TableRows, checked, parquet_shards


@dataclass(frozen=True)
class Input:
    """The input of a fit."""

    shards: list[Any]
    """The delayed shards."""
    tables: bool = False
    """Whether the shards hold tables, to be encoded."""
    target: str | None = None


def shards_of(
    X: Any,
    y: Any,
    target: str | None,
    sample_weight: Any,
    encode: str | None = None,
    wanted: Mapping[str, str] | None = None,
    *,
    gaps: bool = False,
) -> Input:
    """Return X and y of any kind as delayed shards; ``wanted`` holds the kinds of columns that the user gives.

    With ``gaps``, numbers may be missing.
    """
    if isinstance(X, str | os.PathLike):
        return _of_files(X, y, target, sample_weight, wanted)
    if is_dask_frame(X):
        return _of_frames(X, y, target, sample_weight, encode, wanted, gaps)
    if encode is not None or wanted is not None:
        asked, other = ("encode='auto' is", "encode") if encode is not None else ("columns= is", "columns")
        raise ValueError(
            f"{asked} for tables: give a dask DataFrame, or the name of a folder of Parquet files, or "
            f"leave {other} out."
        )
    if is_dask_array(X):
        return _of_arrays(X, y, sample_weight, gaps)
    if isinstance(X, list | tuple) and X and y is None and sample_weight is None:
        return _of_partitions(X, gaps)
    raise TypeError(
        "fit takes dask arrays, a dask DataFrame, a list of delayed (X, y) partitions, or the name of a folder of "
        f"Parquet files; got {type(X).__name__}. Rows in memory: MeasureClassifier, or dask.array.from_array."
    )


def is_dask_array(X: Any) -> bool:
    from dask.array import Array

    return isinstance(X, Array)


def is_dask_frame(X: Any) -> bool:
    return type(X).__module__.startswith("dask") and hasattr(X, "map_partitions") and hasattr(X, "columns")


def _of_files(
    source: Any, y: Any, target: str | None, sample_weight: Any, wanted: Mapping[str, str] | None
) -> Input:
    from dask import delayed

    if target is None or y is not None:
        raise ValueError(f'Name the column that holds the labels: fit("{source}", target="...").')
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise ValueError("With files, sample_weight is the name of a column.")
    shards: list[Shard] = [*parquet_shards(source, target, sample_weight, wanted=wanted)]
    return Input([delayed(shard, pure=False) for shard in shards], tables=True, target=target)


def _of_arrays(X: Any, y: Any, sample_weight: Any, gaps: bool) -> Input:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns; it has {X.ndim}.")
    X = X.rechunk({1: X.shape[1]}) if X.numblocks[1] > 1 else X
    rows = [block[0] for block in X.to_delayed()]
    labels, weights = blocks_like(X, y, "y"), blocks_like(X, sample_weight, "sample_weight")
    return Input(_joined(rows, labels, weights, gaps=gaps))


def blocks_like(X: Any, other: Any, name: str) -> list[Any] | None:
    """Return the blocks of y, or of the weights, divided like the rows of X."""
    if other is None:
        return None
    from dask.array import from_array

    if hasattr(other, "to_dask_array"):
        other = other.to_dask_array(lengths=True)
    elif not is_dask_array(other):
        other = from_array(np.asarray(other))
    other = other.reshape(-1) if other.ndim > 1 else other
    unknown = any(np.isnan(size) for size in (*X.chunks[0], *other.chunks[0]))
    if unknown:
        if other.numblocks[0] != X.numblocks[0]:
            raise ValueError(
                f"X has {X.numblocks[0]} blocks and {name} has {other.numblocks[0]}, of unknown lengths: call "
                "compute_chunk_sizes() on both first."
            )
    elif other.shape[0] != X.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {X.shape[0]} rows in X, "
            f"{other.shape[0]} in {name}."
        )
    else:
        other = other.rechunk((X.chunks[0],))
    return list(other.to_delayed())


def _of_frames(
    X: Any,
    y: Any,
    target: str | None,
    sample_weight: Any,
    encode: str | None,
    wanted: Mapping[str, str] | None,
    gaps: bool,
) -> Input:
    if isinstance(y, str):
        y, target = None, y
    if (y is None) == (target is None):
        raise ValueError("Give the labels once: as y, or as the name of their column, target=.")
    if target is not None:
        if target not in X.columns:
            raise ValueError(f"There is no column {target!r}; there are {', '.join(map(repr, X.columns[:12]))}.")
        X, y = X.drop(columns=[target]), X[target]
    if isinstance(sample_weight, str):
        X, sample_weight = X.drop(columns=[sample_weight]), X[sample_weight]
    labels, weights = partitions_like(X, y, "y"), partitions_like(X, sample_weight, "sample_weight")
    check_wanted(wanted, list(map(str, X.columns)), Place("X"))
    encoded = encode is not None or wanted is not None or any(dtype.kind not in "biuf" for dtype in X.dtypes)
    shard = FrameShard if encoded else ArrayShard
    return Input(_joined(list(X.to_delayed()), labels, weights, tuple(X.columns), shard, gaps), encoded, target)


def partitions_like(X: Any, other: Any, name: str) -> list[Any] | None:
    if other is None:
        return None
    if not hasattr(other, "to_delayed"):
        raise TypeError(f"With a dask DataFrame, {name} must be a dask Series; got {type(other).__name__}.")
    parts = list(np.asarray(other.to_delayed(), dtype=object).reshape(-1))
    if len(parts) != X.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions and {name} has {len(parts)}: make both of one frame or repartition."
        )
    return parts


def _joined(
    X: list[Any],
    y: list[Any] | None,
    weights: list[Any] | None,
    columns: Names | None = None,
    kind: type[ArrayShard] | None = None,
    gaps: bool = False,
) -> list[Any]:
    from dask import delayed

    shard = delayed(kind or ArrayShard, pure=False)
    labels = y or [None] * len(X)
    shares = weights or [None] * len(X)
    parts = zip(X, labels, shares, strict=True)
    return [shard(*part, f"Partition {number}", columns, gaps) for number, part in enumerate(parts)]


def _of_partitions(parts: Sequence[Any], gaps: bool) -> Input:
    from dask import delayed

    shard = delayed(_shard_of_partition, pure=False)
    return Input([shard(part, number, gaps) for number, part in enumerate(parts)])


def _shard_of_partition(part: Any, number: int, gaps: bool) -> ArrayShard:
    if not isinstance(part, list | tuple) or len(part) not in (2, 3):
        raise TypeError(
            f"Partition {number} is a {type(part).__name__}, where a pair (X, y) or a triple (X, y, weights) is "
            "wanted."
        )
    X, y, *weights = part
    return ArrayShard(X, y, weights[0] if weights else None, f"Partition {number}", gaps=gaps)


@dataclass(frozen=True)
class ArrayShard(Shard):
    """Rows, labels and perhaps weights, as arrays, a CSR matrix, or columns of a data frame."""

    X: Any
    y: Any
    weights: Any = None
    name: str = "this partition"
    columns: Names | None = None
    """The required order of the columns, if it is known."""
    gaps: bool = False
    """Whether numbers may be missing."""

    def read(self) -> ReadRows:
        with naming(self.name):
            rows = self._rows()
        if rows.labels.size == 0:
            raise ValueError(
                f"{self.name} holds no rows: drop it, or repartition the data so that every part has some."
            )
        with naming(self.name):
            return checked(rows, gaps=self.gaps)

    def _rows(self) -> ReadRows:
        given = self.X if self.columns is None else in_order(self.X, self.columns)
        X, names = _as_matrix(given), _names_of(given)
        labels = _aligned(np.asarray(self.y).reshape(-1))
        if labels.size != X.shape[0]:
            raise ValueError(f"{X.shape[0]:,} rows in X, but {labels.size:,} labels in y.")
        weights = None if self.weights is None else _aligned(np.asarray(self.weights, np.float64).reshape(-1))
        if weights is not None and weights.size != X.shape[0]:
            raise ValueError(f"{X.shape[0]:,} rows in X, but {weights.size:,} sample weights.")
        return ReadRows(X, labels, weights, names)


class FrameShard(ArrayShard):
    """Rows of a data frame as a table, to be encoded."""

    def read(self) -> Any:
        with naming(self.name):
            frame = in_order(self.X, self.columns or tuple(self.X.columns))
            table = arrow_of_pandas(frame.reset_index(drop=True), self.name)
            names = tuple(table.column_names)
            target, weight = f"labels of {names}", f"weights of {names}"  # not the name of a column
            labels = checked_labels(self.y, table.num_rows).y if table.num_rows else np.zeros(0)
            table = table.append_column(target, [labels])
            if self.weights is not None:
                table = table.append_column(weight, [np.asarray(self.weights, np.float64).reshape(-1)])
        if table.num_rows == 0:
            raise ValueError(
                f"{self.name} holds no rows: drop it, or repartition the data so that every part has some."
            )
        return TableRows(table, names, target, None if self.weights is None else weight)


def _names_of(X: Any) -> Names | None:
    """Return the names of a table's columns; None if columns have no names."""
    names = getattr(X, "column_names", getattr(X, "columns", None))  # of Arrow, or of pandas and polars
    if names is None:
        return None
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ValueError(f"two columns are called {repeated[0]!r}: give each a name of its own.")
    return tuple(names)


def in_order(X: Any, names: Names) -> Any:
    """Return a partition of a frame with its columns in the order of the frame."""
    found = _names_of(X)
    if found is None or found == names:
        return X
    require_same_names(found, names, "the frame")
    return X[list(names)]


def _as_matrix(X: Any) -> Any:
    if sparse.issparse(X):
        X = sparse.csr_matrix(trusted_csr(X))
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float32)
        parts = (_aligned(X.data), _aligned(X.indices), _aligned(X.indptr))
        return sparse.csr_matrix(parts, shape=X.shape, copy=False)
    if hasattr(X, "select_dtypes"):
        others = [str(column) for column, dtype in X.dtypes.items() if dtype.kind not in "biuf"]
        if others:
            raise ValueError(
                f"column {others[0]!r} does not hold numbers. Encode it first, or give a dask DataFrame, whose "
                "columns are encoded."
            )
        X = X.to_numpy(dtype=np.float32 if all(t == np.float32 for t in X.dtypes) else np.float64)
    X = np.asarray(plain_matrix(X))
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns; it has {X.ndim}.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers; its type is {X.dtype}.")
    return _aligned(X.astype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64, copy=False))


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return aligned rows: rows from a network may lie at odd addresses, where numpy sums in another order."""
    found: NDArray[Any] = np.require(array, requirements=["C", "A"])
    return found
