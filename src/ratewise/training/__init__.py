"""The fit: one loop over one small data interface, and every default in one file."""

from .config import FitConfig
from .memory import ArraySource
from .source import FitResult, RowSource, Statistics
from .trainer import Trainer

__all__ = ["ArraySource", "FitConfig", "FitResult", "RowSource", "Statistics", "Trainer"]
