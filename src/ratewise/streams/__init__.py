"""Where points come from."""

from .arrays import ArrayStream, summarize
from .chunk import NOTHING_SEEN, Chunk, Summary
from .errors import DataError
from .reservoir import Reservoir
from .standardize import Standardizer
from .units import Units
from .whiten import Whitener

__all__ = [
    "NOTHING_SEEN",
    "ArrayStream",
    "Chunk",
    "DataError",
    "Reservoir",
    "Standardizer",
    "Summary",
    "Units",
    "Whitener",
    "summarize",
]
