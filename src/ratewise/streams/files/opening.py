"""``open_stream``: from a name, or from batches, to a stream."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from ..formats.batches import BatchReader, is_batch, is_table, schema_of
from ..formats.csv_files import CsvReader
from ..formats.feather import open_feather
from ..formats.numpy_open import MatrixSource, open_npy, open_npz
from ..formats.parquet import ParquetReader
from .encode import Encoder
from .errors import DataError
from .file_stream import FileStream
from .finding import find_files, is_path
from .rows import Reader
from .tables import TablePlan, make_plan

_MOST_FILES_KEPT_OPEN = 64
_MOST_BYTES_KEPT = 64 << 20


def open_stream(
    source: Any,
    *,
    target: Any = None,
    features: Sequence[Any] | int | None = None,
    weight: Any = None,
    format: str | None = None,
    window_rows: int | None = None,
    encoder: Encoder | None = None,
) -> FileStream:
    """A stream of rows from files, or from batches, that need not fit in memory.

    Parameters
    ----------
    source : path, list of paths, batches
        A file, a folder, a glob such as ``"train/*.parquet"``, or a list of them: Parquet, Feather or Arrow, CSV
        (plain or gzip), svmlight (plain, gzip or bzip2), npy, npz. ``"-"`` is standard input. Or batches: a list,
        an iterator, or a function that returns one; each batch is a pair (X, y), a triple (X, y, weights), or a
        table of pandas, polars or Arrow.
    target : str or int, optional
        The column that holds the labels. npy: the number of a column, or another npy file. npz: the name of an
        array, ``y`` if not given. svmlight files hold their own. None: there are no labels, as for predicting.
    features : list of str, optional
        The columns to learn from; all others if not given. Only these are read. Column numbers for npy and npz;
        for svmlight the number of columns, if it is to be fixed.
    weight : str or int, optional
        The column that holds the weights of the rows, named as the target is.
    format : str, optional
        "parquet", "feather", "csv", "svmlight", "npy" or "npz", where the file's name does not tell.
    window_rows : int, optional
        How many rows are in memory at a time; 32 MB of them if not given.
    encoder : Encoder, optional
        Of a model: columns are then looked up by its names.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.streams import open_stream
    >>> X, y = np.eye(4, dtype=np.float32), np.array([0, 1, 0, 1])
    >>> stream = open_stream([(X, y), (X, y)])
    >>> stream.survey().label_counts
    {0: 4, 1: 4}
    >>> [window.X.shape for window in stream.windows()]
    [(8, 4)]
    """
    asked = _Asked(target, features, weight, format, window_rows, encoder)
    if is_path(source) and os.fspath(source) == "-":
        return asked.from_standard_input()
    if is_path(source) or (isinstance(source, list | tuple) and source and all(map(is_path, source))):
        return asked.from_files(*find_files(source, format))
    return asked.from_batches(source)


class _Asked:
    """What was asked of ``open_stream``."""

    def __init__(
        self,
        target: Any,
        features: Any,
        weight: Any,
        format: str | None,
        rows: int | None,
        encoder: Encoder | None,
    ):
        if encoder is not None and features is not None:
            raise ValueError("The encoder of a model says which the features are: give encoder= or features=.")
        self.target, self.features, self.weight = target, features, weight
        self.format, self.rows, self.encoder = format, rows, encoder

    def stream(self, readers: Sequence[Reader], encoder: Encoder, target: Any = None) -> FileStream:
        known = [reader.rows_of(piece) for reader in readers for piece in range(reader.pieces)]
        if all(size == 0 for size in known):
            raise DataError(f"{readers[0].name}: there are no rows.")
        weight = None if self.weight is None else str(self.weight)
        target = None if target is None else str(target)
        return FileStream(readers, encoder, target=target, weight=weight, window_rows=self.rows)

    def from_standard_input(self) -> FileStream:
        if self.format == "csv":
            return self.tables([CsvReader("-", "standard input", sys.stdin.buffer)])
        if self.format == "svmlight":
            return self.svmlight([], sys.stdin.buffer)
        raise ValueError("Standard input is read as CSV or svmlight: say format='csv' or format='svmlight'.")

    def from_files(self, paths: list[str], format: str) -> FileStream:
        if format == "svmlight":
            return self.svmlight(paths)
        if format in ("npy", "npz"):
            return self.matrices(paths, format)
        makers: dict[str, Any] = {"parquet": ParquetReader, "feather": open_feather, "csv": CsvReader}
        return self.tables([makers[format](path, path) for path in paths])

    def tables(self, readers: list[Any]) -> FileStream:
        """Files with named columns."""
        for name in [self.target, self.weight]:
            if name is not None and not isinstance(name, str):
                raise TypeError(f"Columns of a table are named: target= and weight= take a name, not {name!r}.")
        if isinstance(self.features, int | str):
            raise TypeError("features= takes a list of column names.")
        first = self._first_with_rows(readers)
        plan = make_plan(first.schema, first.name, self.target, self.features, self.weight, self.encoder)
        if isinstance(first, CsvReader) and self.encoder is None:
            first.look_further(plan.columns)
            plan = make_plan(first.schema, first.name, self.target, self.features, self.weight, None)
        kept_bytes = sum(getattr(reader, "kept_bytes", 0) for reader in readers)
        keep_open = len(readers) <= _MOST_FILES_KEPT_OPEN and kept_bytes <= _MOST_BYTES_KEPT
        for reader in readers:
            if reader is not first:
                if isinstance(reader, CsvReader):
                    reader.forget_types()
                plan.check(reader.schema, reader.name, first.name)
            reader.follow(plan, keep_open)
        return self.stream(readers, self.encoder or plan.encoder(), self.target)

    def _first_with_rows(self, readers: list[Any]) -> Any:
        """The file that tells what the columns hold."""
        for reader in readers:
            if not isinstance(reader, CsvReader) or reader.has_rows:
                return reader
        raise DataError(f"{readers[0].name}: there are no rows below the header.")

    def matrices(self, paths: list[str], format: str) -> FileStream:
        """npy and npz files."""
        if isinstance(self.features, int | str):
            raise TypeError("features= takes a list of column numbers.")
        opener = open_npy if format == "npy" else open_npz
        target = self.target
        if format == "npy" and target is None and len(paths) == 2 and _is_flat(paths[1]):
            paths, target = paths[:1], paths[1]  # X.npy, y.npy
        keep_open = len(paths) <= _MOST_FILES_KEPT_OPEN
        sources = [opener(path, path, target, self.features, self.weight, keep_open) for path in paths]
        return self.stream([one.reader for one in sources], self._matrix_encoder(sources), target)

    def _matrix_encoder(self, sources: list[MatrixSource]) -> Encoder:
        first = sources[0]
        for other in sources[1:]:
            if other.n_features != first.n_features or other.sparse != first.sparse:
                raise DataError(
                    f"{other.reader.name}: {other.n_features:,} columns, and {first.n_features:,} in "
                    f"{first.reader.name}. Files that are read together must have the same columns."
                )
        if self.encoder is not None:
            _check_width(first.n_features, first.reader.name, self.encoder)
            return self.encoder
        return Encoder(first.names or first.n_features, sparse_input=first.sparse)

    def svmlight(self, paths: list[str], stream: Any = None) -> FileStream:
        from ..formats.svmlight_files import SvmlightFile  # its compiled code takes a moment to import

        if self.target is not None or self.weight is not None:
            raise ValueError(
                "svmlight files hold their own target, and no weights: leave out target= and weight=."
            )
        if self.features is not None and not isinstance(self.features, int):
            raise TypeError("svmlight: features= takes the number of columns.")
        encoder = self.encoder
        fixed = self.features if encoder is None else (None if encoder.elastic else encoder.n_columns)
        zero_based = None if encoder is None else encoder.zero_based
        readers: list[SvmlightFile] = []
        for path in paths or ["-"]:
            name = path if stream is None else "standard input"
            readers.append(SvmlightFile(path, name, fixed, zero_based, stream))
            zero_based = readers[0].zero_based
        if not any(reader.has_rows for reader in readers):
            raise DataError(f"{readers[0].name}: the file is empty.")
        if encoder is None:
            width = fixed if fixed is not None else max(reader.width for reader in readers)
            encoder = Encoder(width, sparse_input=True, elastic=fixed is None)
            encoder.zero_based = zero_based
        return self.stream(readers, encoder, "label")

    def from_batches(self, source: Any) -> FileStream:
        """Batches that a program makes."""
        if is_batch(source):
            source = [source]
        elif hasattr(source, "to_batches"):  # a data set of Arrow
            source = source.to_batches
        elif not (callable(source) or hasattr(source, "__iter__")):
            raise TypeError(f"A path, a list of paths or batches of rows are needed, not {type(source).__name__}.")
        reader = BatchReader(source)
        first = reader.first()
        table = first[0] if isinstance(first, tuple) else first
        if is_table(table):
            plan = self._batch_plan(table, isinstance(first, tuple))
            reader.follow(plan)
            return self.stream([reader], self.encoder or plan.encoder(), self.target)
        return self.stream([reader], self._batch_encoder(table))

    def _batch_plan(self, table: Any, has_labels: bool) -> TablePlan:
        if has_labels and self.target is not None:
            raise ValueError("Batches that are pairs (X, y) bring their labels: leave out target=.")
        return make_plan(
            schema_of(table, "batch 1"), "batch 1", self.target, self.features, self.weight, self.encoder
        )

    def _batch_encoder(self, X: Any) -> Encoder:
        if self.target is not None or self.features is not None or self.weight is not None:
            raise ValueError("Batches of arrays have no names: give (X, y) or (X, y, weights), and no columns.")
        if getattr(X, "ndim", 0) != 2:
            raise TypeError(
                "A batch must be a pair (X, y) with a matrix X, or a table of pandas, polars or Arrow."
            )
        if self.encoder is not None:
            _check_width(X.shape[1], "batch 1", self.encoder)
            return self.encoder
        return Encoder(int(X.shape[1]), sparse_input=hasattr(X, "tocsr"))


def _check_width(n_features: int, name: str, encoder: Encoder) -> None:
    if n_features != encoder.n_columns and not encoder.elastic:
        raise DataError(f"{name}: {n_features:,} columns, and the model was trained on {encoder.n_columns:,}.")


def _is_flat(path: str) -> bool:
    from ..formats.numpy_files import map_npy

    return map_npy(path, path)[1].ndim == 1
