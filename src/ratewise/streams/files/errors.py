"""What is wrong with a file, said so that it can be found and mended."""

from __future__ import annotations


class DataError(ValueError):
    """A file or stream that cannot be read as it is; the message says where and what to do."""
