"""Work in progress on disk: whole or not at all, with the one before it kept."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from pathlib import Path
from typing import Any, BinaryIO

from .._atomic import atomic_write, partial_files

_MAGIC = b"ratewise checkpoint 1\n"
_DIGEST_BYTES = 32


class Checkpoint:
    """A file that holds a fit in progress, and a second one that holds the state before it.

    Both are pickles: load none that you did not write yourself.

    Parameters
    ----------
    path : path
    fit : dict
        What the fit is of: its settings and its rows. A checkpoint of another fit is refused.
    """

    def __init__(self, path: Any, fit: dict[str, Any]):
        self._path = Path(path)
        self._before = _before(self._path)
        self._fit = fit
        self._damaged = False
        if not self._path.absolute().parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self._path.absolute().parent} to keep a checkpoint in.")

    def save(self, state: Any) -> None:
        if self._path.exists() and not self._damaged:
            self._path.replace(self._before)
        self._damaged = False
        with atomic_write(self._path) as file:
            file.write(_MAGIC)
            hashed = _Hashed(file)
            # Written as it is made: as one string of bytes it would take as much memory again.
            pickle.dump((self._fit, state), hashed, protocol=pickle.HIGHEST_PROTOCOL)
            file.write(hashed.digest())

    def load(self) -> Any:
        """The last state that is whole; None if there is none."""
        for path in (self._path, self._before):
            if not path.exists():
                continue
            found = self._read(path)
            if found is None:
                self._damaged = True  # not to take the place of the one before it
                warnings.warn(
                    f"The checkpoint {path} is damaged and was not used; the one before it is, if there is one.",
                    RuntimeWarning,
                    stacklevel=4,
                )
                continue
            fit, state = found
            self._require_same(fit, path)
            return state
        return None

    def _read(self, path: Path) -> Any:
        content = path.read_bytes()
        if not content.startswith(_MAGIC) or len(content) < len(_MAGIC) + _DIGEST_BYTES:
            return None
        body = memoryview(content)[len(_MAGIC) : -_DIGEST_BYTES]
        return pickle.loads(body) if hashlib.sha256(body).digest() == content[-_DIGEST_BYTES:] else None

    def _require_same(self, fit: dict[str, Any], path: Path) -> None:
        for name, now in self._fit.items():
            if fit.get(name) != now:
                hint = " A random_state makes a fit repeatable." if name == "seed" else ""
                raise ValueError(
                    f"The checkpoint {path} is of another fit: {name} was {fit.get(name)!r} and is {now!r} now. "
                    f"Remove the file to begin anew, or name another.{hint}"
                )


class _Hashed:
    """A file to write to, and the digest of all that was written."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, content: Any) -> int:
        self._hash.update(content)
        return self._file.write(content)

    def digest(self) -> bytes:
        return self._hash.digest()


def remove_checkpoint(path: Any) -> None:
    """Remove a checkpoint and the one before it, if they are there, and what a killed fit left half written."""
    Path(path).unlink(missing_ok=True)
    _before(Path(path)).unlink(missing_ok=True)
    for half in partial_files(path):
        half.unlink(missing_ok=True)


def _before(path: Path) -> Path:
    return path.with_name(path.name + ".before")
