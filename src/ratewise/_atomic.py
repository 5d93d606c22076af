"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_LONGEST_NAME = 230  # bytes: systems take 255, and a few endings are added


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that gets its name only when it is complete.

    The content goes to a temporary file beside it, which is renamed once it is all on the disk. If anything fails,
    a full disk included, the temporary file is removed and an existing file of that name is unchanged. The new
    file keeps the permissions of the file that it replaces. A read-only file is refused, because the rename would
    not check it. A device or a pipe, such as /dev/stdout, is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a folder, not a file", str(path))
    direct = target.exists() and not target.is_file()
    mode = target.stat().st_mode & 0o777 if target.is_file() else None
    if mode is not None and not (mode & 0o222 and os.access(target, os.W_OK)):
        raise PermissionError(errno.EACCES, "Is read-only: make it writable, or name another file", str(path))
    written = target if direct else target.with_name(f".{_stem(target)}.{secrets.token_hex(4)}.partial")
    try:
        with _naming_the_file(path), open(written, "wb" if direct else "xb") as file:
            if not direct:
                _lock(file)  # shows abandoned_parts that this process lives
                if mode is not None:
                    os.chmod(written, mode)
            yield file
            file.flush()
            if not direct:
                os.fsync(file.fileno())  # some file systems report a full disk only here
        if not direct:
            os.replace(written, target)
    except BaseException:
        if not direct:
            written.unlink(missing_ok=True)
        raise


def write_bytes(path: str | os.PathLike[str] | BinaryIO, content: bytes) -> None:
    """Write all of a file, given by its path or open for writing."""
    if hasattr(path, "write"):
        path.write(content)
        return
    with atomic_write(path) as file:
        file.write(content)


def abandoned_parts(path: str | os.PathLike[str]) -> list[Path]:
    """Return files that :func:`atomic_write` left beside a file when its process was killed, but none in use."""
    target = Path(os.path.realpath(path))
    pattern = re.compile(rf"\.{re.escape(_stem(target))}\.[0-9a-f]{{8}}\.partial")
    return [one for one in target.parent.glob(".*.partial") if pattern.fullmatch(one.name) and _is_abandoned(one)]


def name_beside(name: str, ending: str) -> str:
    """Return the name of a file that belongs to another file: its name and an ending, shortened if too long.

    A digest replaces the removed part, so the names of two files differ.
    """
    if len(os.fsencode(name + ending)) <= _LONGEST_NAME:
        return name + ending
    kept = os.fsencode(name)[: _LONGEST_NAME - 17 - len(ending)].decode("utf-8", "ignore")
    return f"{kept}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}{ending}"


def _stem(target: Path) -> str:
    return name_beside(target.name, "")


def _is_abandoned(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return _lock(file)
    except OSError:
        return False


def _lock(file: BinaryIO) -> bool:
    """Lock an open file until it is closed or the process ends; return False if another process has locked it."""
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows, where no file can be removed that another process has open
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)  # some file systems have no locks
    return True


@contextlib.contextmanager
def _naming_the_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the path as the user gave it to the error of a failed write, which does not name the file."""
    try:
        yield
    except OSError as error:
        if error.errno is None or (error.filename is not None and not str(error.filename).endswith(".partial")):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
