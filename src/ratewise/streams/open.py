"""``open_stream``: from the name of files, or from batches, to a stream."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._errors import DataError
from ..features.encode import Encoder
from .columns import LabelledReader, TableReader, encoder_for, make_plan
from .formats import FORMATS, Format, Opened, Request, few_enough_to_keep_open, format_of
from .stream import Stream

_MOST_BYTES_KEPT = 64 << 20
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")


def open_stream(
    source: Any,
    *,
    target: Any = None,
    features: Sequence[Any] | int | None = None,
    weight: Any = None,
    format: str | None = None,
    window_rows: int | None = None,
    encoder: Encoder | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    decimal: str = ".",
    drop_unlabelled: bool = False,
) -> Stream:
    """Return a stream of rows from files or batches that do not have to fit in memory.

    Parameters
    ----------
    source : path, list of paths, batches
        A file, a folder, a glob such as ``"train/*.parquet"``, or a list of them: Parquet, Feather or Arrow, CSV
        (plain or gzip), svmlight (plain, gzip or bzip2), npy, npz. ``"-"`` is standard input. Or batches: a list,
        an iterator, or a function that returns one; each batch is a pair (X, y), a triple (X, y, weights), or a
        table of pandas, polars or Arrow.
    target : str or int, optional
        The column of the labels. npy: the number of a column, or another npy file. npz: the name of an array, by
        default ``y``. svmlight files contain their labels. None: there are no labels, as for prediction.
    features : list of str, optional
        The columns to learn from; by default all other columns. Only these are read. For npy and npz, column
        numbers; for svmlight, the number of columns, if it should be fixed.
    weight : str or int, optional
        The column with the weights of the rows, given in the same way as the target.
    format : str, optional
        "parquet", "feather", "csv", "svmlight", "npy" or "npz", if the file's name does not show it.
    window_rows : int, optional
        How many rows are in memory at a time; by default 32 MB of rows.
    encoder : Encoder, optional
        The encoder of a model: its names then select the columns.
    columns : dict, optional
        The kinds of some columns, by name, if the rules would choose other kinds: "number", "boolean", "category",
        "date", "text" or "ignore".
    keep : list of str, optional
        Columns that each window has unchanged (``window.kept``), such as identifiers, groups or times. They are
        features only if ``features`` names them.
    decimal : {".", ","}, default="."
        The decimal sign of numbers in CSV files.
    drop_unlabelled : bool, default=False
        Leave out rows whose label is missing; otherwise they raise an error. ``stream.n_unlabelled`` counts them.

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
    if encoder is not None and features is not None:
        raise ValueError("The encoder of a model says which the features are: give encoder= or features=.")
    if decimal not in (".", ","):
        raise ValueError(f"decimal must be '.' or ','; it is {decimal!r}.")
    request = Request(target, features, weight, format, encoder, columns, tuple(keep), decimal)
    if _is_path(source) and os.fspath(source) == "-":
        opened = _open_standard_input(request)
    elif _is_path(source) or (isinstance(source, list | tuple) and source and all(map(_is_path, source))):
        paths, format = find_files(source, format)
        opened = _open_paths(paths, request._replace(format=format), FORMATS[format])
    else:
        from .formats.batches import open_batches

        opened = open_batches(source, request)
    readers = opened.readers
    if columns and not opened.encoder.named:
        raise ValueError("columns= says what named columns are, and these have no names.")
    if (keep or drop_unlabelled) and not opened.encoder.named:
        raise ValueError("keep= and drop_unlabelled= are for tables, and these columns have no names.")
    if drop_unlabelled:
        opened = opened._replace(readers=[LabelledReader(reader) for reader in readers])
    if all(size == 0 for reader in readers for size in reader.sizes):
        raise DataError(f"{readers[0].name}: there are no rows.")
    return Stream(opened, None if weight is None else str(weight), window_rows, keep)


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _open_paths(paths: list[str], request: Request, format: Format) -> Opened:
    """Open files, or one pipe or device, which can be read only once, like standard input."""
    pipes = [path for path in paths if os.path.exists(path) and not os.path.isfile(path)]
    if not pipes:
        return format.open_files(paths, request)
    if len(paths) > 1 or format.text is None:
        texts = " or ".join(one.text for one in FORMATS.values() if one.text is not None)
        raise DataError(f"{pipes[0]}: this is a pipe or a device, from which {texts} can be read, one at a time.")
    return format.open_files(paths, request, open(os.open(paths[0], os.O_RDONLY), "rb", closefd=False))


def _open_standard_input(request: Request) -> Opened:
    texts = {name: format.text for name, format in FORMATS.items() if format.text is not None}
    if request.format not in texts:
        options = " or ".join(f"format={name!r}" for name in texts)
        raise ValueError(f"Standard input is read as {' or '.join(texts.values())}: say {options}.")
    if sys.stdin is None:  # as after `<&-`
        raise DataError("Standard input is closed: there is nothing to read.")
    return FORMATS[request.format].open_files(["standard input"], request, sys.stdin.buffer)


def find_files(source: Any, format: str | None) -> tuple[list[str], str]:
    """Return all files of a path, a folder, a glob or a list of them, and their common format."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; it is {format!r}.")
    sources: Sequence[Any] = [source] if _is_path(source) else source
    paths = [path for one in sources for path in _expanded(os.fspath(one), format)]
    formats = {format or format_of(path) for path in paths}
    if None in formats:
        unknown = next(path for path in paths if format_of(path) is None)
        if unknown.lower().endswith(_SPREADSHEETS):
            raise DataError(f"{unknown}: spreadsheets are not read. Save it as CSV first.")
        raise DataError(
            f"{unknown}: its name does not show its format. Say which it is: format='csv', for example."
        )
    if len(formats) > 1:
        kinds = ", ".join(sorted(str(found) for found in formats))
        raise DataError(f"{sources[0]}: files of different formats ({kinds}) cannot be read together.")
    return paths, str(formats.pop())


def _expanded(path: str, format: str | None) -> list[str]:
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        found = []
        for where, folders, files in os.walk(path):  # except for hidden ones and markers such as _SUCCESS
            folders[:] = [name for name in folders if not name.startswith((".", "_"))]
            found += [os.path.join(where, name) for name in files if not name.startswith((".", "_"))]
        found = sorted(file for file in found if format is not None or format_of(file) is not None)
        if not found:
            raise DataError(f"{path}: there are no files in this folder that can be read.")
        return found
    if os.path.exists(path):
        return [path]
    found = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
    if not found:
        raise FileNotFoundError(f"There is no file {path!r}.")
    return found


def open_tables(readers: Sequence[TableReader], request: Request) -> Opened:
    """Agree on the columns of files that have named columns; the first file with rows gives their types."""
    for name in [request.target, request.weight]:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"Columns of a table are named: target= and weight= take a name, not {name!r}.")
    if isinstance(request.features, int | str):
        raise TypeError("features= takes a list of column names.")
    first = next((reader for reader in readers if reader.has_rows), None)
    if first is None:
        raise DataError(f"{readers[0].name}: there are no rows below the header.")
    plan = make_plan(first.schema, first.name, request)
    if request.target is not None:
        plan = replace(plan, target_type=first.label_type(request.target))
    encoder = encoder_for(plan, request)
    kept_bytes = sum(reader.kept_bytes for reader in readers)
    keep_open = few_enough_to_keep_open(len(readers)) and kept_bytes <= _MOST_BYTES_KEPT
    for reader in readers:
        if reader is not first:
            reader.forget_types()
            plan.check(reader.schema, reader.name, first.name)
        reader.follow(plan, keep_open)
    return Opened(readers, encoder, request.target)
