"""Fits on more than one machine: the same kernels where the rows are, small states in between."""

from .classifier import DaskMeasureClassifier
from .dask_engine import ClusterLost, DaskEngine
from .local import LocalEngine
from .plan import Plan
from .protocol import Answer, Engine, Question, Setup, Shard, Worker, merge
from .rounds import Outcome, fit_in_rounds
from .shards import ArrayShard

__all__ = [
    "Answer",
    "ArrayShard",
    "ClusterLost",
    "DaskEngine",
    "DaskMeasureClassifier",
    "Engine",
    "LocalEngine",
    "Outcome",
    "Plan",
    "Question",
    "Setup",
    "Shard",
    "Worker",
    "fit_in_rounds",
    "merge",
]
