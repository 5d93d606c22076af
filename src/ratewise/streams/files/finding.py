"""Finding files, and what they are."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

from .errors import DataError

FORMATS = ("parquet", "feather", "csv", "svmlight", "npy", "npz")
_ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".arrows": "feather",
    ".ipc": "feather",
    ".csv": "csv",
    ".tsv": "csv",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".txt": "svmlight",
    ".npy": "npy",
    ".npz": "npz",
}
_PACKED = (".gz", ".bz2", ".zst")


def format_of(path: str) -> str | None:
    """The format a file's name tells, if any."""
    stem, ending = os.path.splitext(path.lower())
    if ending in _PACKED:
        ending = os.path.splitext(stem)[1]
        return _ENDINGS.get(ending) if _ENDINGS.get(ending) in ("csv", "svmlight") else None
    return _ENDINGS.get(ending)


def is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def find_files(source: Any, format: str | None) -> tuple[list[str], str]:
    """All files a path, a folder, a glob or a list of them stands for, in order, and their common format."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; it is {format!r}.")
    sources: Sequence[Any] = [source] if is_path(source) else source
    paths = [path for one in sources for path in _expanded(os.fspath(one), format)]
    formats = {format or format_of(path) for path in paths}
    if None in formats:
        unknown = next(path for path in paths if format_of(path) is None)
        raise DataError(
            f"{unknown}: its name does not tell its format. Say which it is: format='csv', for example."
        )
    if len(formats) > 1:
        kinds = ", ".join(sorted(str(found) for found in formats))
        raise DataError(f"{sources[0]}: files of different formats ({kinds}) cannot be read together.")
    return paths, str(formats.pop())


def _expanded(path: str, format: str | None) -> list[str]:
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        found = [file for file in _files_under(path) if format is not None or format_of(file) is not None]
        if not found:
            raise DataError(f"{path}: there are no files in this folder that can be read.")
        return found
    if os.path.exists(path):
        return [path]
    found = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
    if not found:
        raise FileNotFoundError(f"There is no file {path!r}.")
    return found


def _files_under(folder: str) -> list[str]:
    """All files in a folder and the folders in it, but for those that programs keep for themselves (_SUCCESS)."""
    found = []
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        found += [os.path.join(where, name) for name in files if not name.startswith((".", "_"))]
    return sorted(found)
