"""Shards as a kind of rows: they stay where an engine keeps them; models, sums and counts travel."""

from .engine import Engine, LocalEngine
from .source import ShardSource

__all__ = ["Engine", "LocalEngine", "ShardSource"]
