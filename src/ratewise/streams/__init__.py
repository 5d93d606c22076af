"""Where points come from."""

from .arrays import ArrayStream, squared_rows, summarize
from .chunk import NOTHING_SEEN, Chunk, Summary
from .reservoir import Reservoir
from .standardize import Standardizer
from .units import Units
from .whiten import Whitener

__all__ = [
    "NOTHING_SEEN",
    "ArrayStream",
    "Chunk",
    "Reservoir",
    "Standardizer",
    "Summary",
    "Units",
    "Whitener",
    "squared_rows",
    "summarize",
]
