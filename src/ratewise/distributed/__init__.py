"""Fits on data that are distributed over machines.

Users call :class:`DaskMeasureClassifier`. Another cluster would have to implement :class:`Engine`.
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
