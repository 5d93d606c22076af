"""Checkpoints of a fit on disk: each is written completely or not at all, and the previous one is kept.

A file has a line that names its format, the length of a JSON header, the header, the bytes of the arrays, and a
digest of all these. No code runs from it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import stat
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .. import __version__
from .._atomic import abandoned_parts, atomic_write
from .plain_data import Known, Packed, described, dtype_from_json, dtype_to_json, pack, unpack

_KIND = b"ratewise checkpoint "
_MAGIC = _KIND + b"2\n"
_DIGEST_BYTES = 32
_SAMPLES, _SAMPLE_BYTES = 16, 1 << 14


class CheckpointWarning(RuntimeWarning):
    """A checkpoint was not used: the fit started again, or continued from the previous checkpoint."""


class Checkpoint:
    """A file that holds a fit in progress, and a second file that holds the previous state.

    Parameters
    ----------
    path : path
    fit : dict
        The settings of the fit, and where the rows are. A checkpoint of another fit is refused.
    rows : dict
        A description of the rows. If they have changed, the fit starts again and says so.
    settings : object, optional
        Settings whose measure and solver may be the user's own.
    """

    def __init__(self, path: Any, fit: dict[str, Any], rows: dict[str, Any] | None = None, settings: Any = None):
        self._path = Path(path)
        self._before = _before(self._path)
        self._fit = {name: described(value) for name, value in fit.items()}
        self._rows = {name: described(value) for name, value in (rows or {}).items()}
        self._known = Known(settings)
        self._damaged = False
        if not self._path.absolute().parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self._path.absolute().parent} to keep a checkpoint in.")
        for one in (self._path, self._before):
            require_checkpoint(one)

    def save(self, state: Any) -> None:
        try:
            packed = pack(state, self._known)
        except TypeError as error:
            raise ValueError(
                f"{error}. Use classes at the top of the module that defines your measure or solver, with plain "
                "values, lists, dicts and arrays for attributes; or fit without a checkpoint."
            ) from error
        arrays = [[dtype_to_json(one.dtype), one.shape, _order(one)] for one in packed.arrays]
        header = {
            "version": __version__,
            "fit": self._fit,
            "rows": self._rows,
            "arrays": arrays,
            "state": packed.tree,
        }
        with atomic_write(self._path) as file:
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), 0o600)
            file.write(_MAGIC)
            hashed = _Hashed(file)
            text = json.dumps(header).encode()
            hashed.write(len(text).to_bytes(8, "little"))
            hashed.write(text)
            for array in packed.arrays:  # one by one, to save memory
                hashed.write(np.ascontiguousarray(array.T if _order(array) == "F" else array).data)
            file.write(hashed.digest())
            if not self._damaged:
                with contextlib.suppress(FileNotFoundError):  # none exists, or an equal fit just ended
                    self._path.replace(self._before)
        self._damaged = False

    def load(self) -> Any:
        """Return the last complete state; None if there is none, or if the rows have changed since."""
        for path in (self._path, self._before):
            if not path.exists():
                continue
            try:
                header, packed = _read(path)
                if (reason := self._reason_to_begin_anew(header, path)) is not None:
                    _warn(f"The checkpoint {path} was not used, and the fit starts again: {reason}.")
                    return None
                return unpack(packed, self._known)
            except _AnotherFit:
                raise
            except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, MemoryError):
                self._damaged = True  # it must not replace the previous checkpoint
                _warn(
                    f"The checkpoint {path} is damaged, or of another version of ratewise, and was not used; the "
                    "one before it is, if there is one."
                )
        return None

    def discard(self) -> None:
        """Remove the checkpoint of a fit that failed: the same fit would fail again."""
        remove_checkpoint(self._path)

    def _reason_to_begin_anew(self, header: dict[str, Any], path: Path) -> str | None:
        if header["version"] != __version__:
            return f"it was written by ratewise {header['version']}, and this is {__version__}"
        for name, now in self._fit.items():
            if (then := header["fit"].get(name)) != now:
                hint = " A random_state makes a fit repeatable." if name == "seed" else ""
                raise _AnotherFit(
                    f"The checkpoint {path} is of another fit: {name} was {then} and is {now} now. "
                    f"Remove the file to start again, or name another.{hint}"
                )
        changed = [name for name, now in self._rows.items() if header["rows"].get(name) != now]
        changed += [name for name in header["rows"] if name not in self._rows]
        return f"the rows have changed since ({', '.join(changed)})" if changed else None


class _AnotherFit(ValueError):
    """A checkpoint of another fit, which is not changed."""


def _read(path: Path) -> tuple[dict[str, Any], Packed]:
    """Return the content of a checkpoint; any error means that the file is damaged."""
    content = path.read_bytes()
    body = memoryview(content)[len(_MAGIC) : -_DIGEST_BYTES]
    if not content.startswith(_MAGIC) or hashlib.sha256(body).digest() != content[-_DIGEST_BYTES:]:
        raise ValueError("damaged")
    begin = 8 + int.from_bytes(body[:8], "little")
    header = json.loads(bytes(body[8:begin]))
    arrays = []
    for kind, shape, order in header["arrays"]:
        dtype = dtype_from_json(kind)
        count = math.prod(shape)
        array = np.frombuffer(body, dtype=dtype, count=count, offset=begin) if count else np.empty(0, dtype=dtype)
        arrays.append(array.reshape(shape, order=order).copy(order=order))
        begin += count * dtype.itemsize
    return header, Packed(header["state"], arrays)


def _order(array: Any) -> str:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


class _Hashed:
    """A file to write to, and the digest of the bytes written."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, content: Any) -> None:
        self._hash.update(content)
        self._file.write(content)

    def digest(self) -> bytes:
        return self._hash.digest()


def _warn(message: str) -> None:
    warnings.warn(message, CheckpointWarning, stacklevel=6)


def require_checkpoint(path: Path) -> None:
    """Refuse an existing file that is not a checkpoint of this user; it is not changed."""
    if not path.exists():
        return
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise ValueError(f"{path} is not a regular file: name another to keep a checkpoint in.")
    if hasattr(os, "geteuid") and about.st_uid != os.geteuid():
        raise ValueError(
            f"The checkpoint {path} belongs to another user and is not read: remove it, or name another file."
        )
    if about.st_size and not _is_checkpoint(path):
        raise ValueError(
            f"{path} exists and is not a checkpoint of ratewise. It was not changed; name another file."
        )


def _is_checkpoint(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_KIND)) == _KIND


def kept_checkpoint(path: Any) -> Path | None:
    """Return the file from which the same fit would resume, if there is one."""
    return next((one for one in (Path(path), _before(Path(path))) if one.exists()), None)


def remove_checkpoint(path: Any) -> None:
    """Remove a checkpoint, the previous one, and a file that a killed fit left half written, if they exist.

    A file that is not a checkpoint stays.
    """
    for one in (Path(path), _before(Path(path)), *abandoned_parts(path)):
        with contextlib.suppress(FileNotFoundError):  # an equal fit that ended just now has removed it
            if one.stat().st_size == 0 or _is_checkpoint(one):
                one.unlink()


def _before(path: Path) -> Path:
    return path.with_name(path.name + ".before")


def facts_of_files(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the facts that show whether a file has changed: its size, its time, and a digest of parts of it."""
    for path in paths:
        about = os.stat(path)
        hashed = hashlib.sha256()
        with open(path, "rb") as file:
            for number in range(_SAMPLES):
                file.seek(max(about.st_size - _SAMPLE_BYTES, 0) * number // (_SAMPLES - 1))
                hashed.update(file.read(_SAMPLE_BYTES))
        yield path, f"{about.st_size} bytes, {about.st_mtime_ns}, {hashed.hexdigest()[:16]}"
