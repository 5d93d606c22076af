"""The source of a cluster's shards, by the name that earlier versions had for it."""

from ..training.shards import ShardSource

__all__ = ["ShardSource"]
