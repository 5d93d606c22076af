"""Streams of rows from files and batches."""

from .arrays import ArrayStream
from .chunk import NOTHING_SEEN, Chunk, CSRRows, DenseRows, Summary
from .encode import Encoder
from .errors import DataError
from .labelled import Batch, LabelledRows
from .open import open_stream
from .reservoir import Reservoir
from .shuffle import Window
from .standardize import Standardizer
from .stream import FileStream, Stream, Survey
from .sums import class_weights, effective_points, squared_rows, summarize, sums_by_class
from .units import Units
from .whiten import Whitener, sample_size

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
    "effective_points",
    "open_stream",
    "sample_size",
    "squared_rows",
    "summarize",
    "sums_by_class",
]
