"""Rows that need not fit in memory: files and batches, encoded, shuffled and read ahead."""

from .files.encode import Encoder
from .files.errors import DataError
from .files.file_stream import FileStream
from .files.opening import open_stream
from .files.source import Stream, Survey, Window

__all__ = ["DataError", "Encoder", "FileStream", "Stream", "Survey", "Window", "open_stream"]
