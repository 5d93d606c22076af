"""Fits on data that are spread over machines.

:class:`DaskMeasureClassifier` is what users call. :class:`Engine` is what another cluster would have to implement.
"""

from ..training.shards.engine import Answer, Engine, LocalEngine, Question, Setup, Shard, Worker
from .classifier import DaskMeasureClassifier
from .dask_engine import ClusterLost, DaskEngine

__all__ = [
    "Answer",
    "ClusterLost",
    "DaskEngine",
    "DaskMeasureClassifier",
    "Engine",
    "LocalEngine",
    "Question",
    "Setup",
    "Shard",
    "Worker",
]
