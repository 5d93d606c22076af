"""Files mapped into memory, without letting them fill it."""

from __future__ import annotations

import mmap

from ..files.errors import DataError

_RELEASE_AFTER = 16 << 20


class MappedFile:
    """The bytes of a file, read from disk as they are looked at.

    What was looked at counts as memory of the process until it is released; it stays in the system's cache.
    """

    def __init__(self, path: str, name: str):
        with open(path, "rb") as file:
            file.seek(0, 2)
            if file.tell() == 0:
                raise DataError(f"{name}: the file is empty.")
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._used = 0

    def used(self, count: int) -> None:
        """So many bytes were looked at and are not needed for now; released once they are many."""
        self._used += count
        if self._used >= _RELEASE_AFTER and hasattr(mmap, "MADV_DONTNEED"):
            self.bytes.madvise(mmap.MADV_DONTNEED)
            self._used = 0
