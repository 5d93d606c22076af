"""Where points come from."""

from .arrays import ArrayStream, class_weights, summarize
from .chunk import NOTHING_SEEN, Chunk, CSRRows, DenseRows, Summary
from .files.encode import Encoder
from .files.errors import DataError
from .files.file_stream import FileStream
from .files.opening import open_stream
from .files.source import Stream, Survey, Window
from .reservoir import Reservoir
from .standardize import Standardizer
from .units import Units
from .whiten import Whitener, sample_size

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
    "class_weights",
    "open_stream",
    "sample_size",
    "summarize",
]
