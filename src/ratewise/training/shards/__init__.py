"""Rows in shards: they stay where an engine keeps them; only models, sums and counts are sent."""

from .engine import Engine, LocalEngine
from .source import ShardSource

__all__ = ["Engine", "LocalEngine", "ShardSource"]
