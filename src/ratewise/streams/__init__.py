"""Where points come from."""

from .arrays import ArrayStream, summarize
from .chunk import NOTHING_SEEN, Chunk, CSRRows, DenseRows, Summary
from .encode import Encoder
from .errors import DataError
from .file_stream import FileStream
from .opening import open_stream
from .reservoir import Reservoir
from .source import Stream, Survey, Window
from .standardize import Standardizer
from .units import Units
from .whiten import Whitener

__all__ = [
    "NOTHING_SEEN",
    "ArrayStream",
    "CSRRows",
    "Chunk",
    "DataError",
    "DenseRows",
    "Encoder",
    "FileStream",
    "Reservoir",
    "Standardizer",
    "Stream",
    "Summary",
    "Survey",
    "Units",
    "Whitener",
    "Window",
    "open_stream",
    "summarize",
]
