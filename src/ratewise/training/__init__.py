"""The fit: one loop over one small data interface, and every default in one file."""

from .config import FitConfig
from .memory import ArraySource
from .source import DataShape, FitResult, RowSource
from .trainer import Trainer

__all__ = ["ArraySource", "DataShape", "FitConfig", "FitResult", "RowSource", "Trainer"]
