"""Rows that need not fit in memory: files and batches, encoded, shuffled and read ahead."""

from .encode import Encoder
from .errors import DataError
from .open import open_stream
from .shuffle import Window
from .stream import Stream, Survey

__all__ = ["DataError", "Encoder", "Stream", "Survey", "Window", "open_stream"]
