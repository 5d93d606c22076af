"""Where points come from."""

from .arrays import ArrayStream, summarize
from .chunk import NOTHING_SEEN, Chunk, Summary
from .reservoir import Reservoir
from .standardize import Standardizer

__all__ = ["NOTHING_SEEN", "ArrayStream", "Chunk", "Reservoir", "Standardizer", "Summary", "summarize"]
