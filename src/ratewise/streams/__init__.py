"""Where points come from."""

from .arrays import ArrayStream
from .chunk import NOTHING_SEEN, Chunk, CSRRows, DenseRows, Summary
from .files.encode import Encoder
from .files.errors import DataError
from .files.file_stream import FileStream
from .files.opening import open_stream
from .files.source import Stream, Survey, Window
from .labelled import Batch, LabelledRows
from .reservoir import Reservoir
from .row_sums import class_weights, summarize, sums_by_class
from .standardize import Standardizer
from .units import Units
from .whiten import Whitener

__all__ = [
    "NOTHING_SEEN",
    "ArrayStream",
    "Batch",
    "CSRRows",
    "Chunk",
    "DataError",
    "DenseRows",
    "Encoder",
    "FileStream",
    "LabelledRows",
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
    "summarize",
    "sums_by_class",
]
