"""Rows that do not have to fit in memory: files and batches, encoded, shuffled and read ahead."""

from .._errors import DataError
from ..features.encode import Encoder
from .open import open_stream
from .shuffle import Window
from .stream import FileSurvey, Stream

__all__ = ["DataError", "Encoder", "FileSurvey", "Stream", "Window", "open_stream"]
