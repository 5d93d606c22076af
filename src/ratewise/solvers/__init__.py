"""Algorithms that maximize a measure. They never see rows, and do not depend on scikit-learn."""

from __future__ import annotations

from ..decisions.cuts import BestThreshold, best_threshold, rates_at
from .amp import Amp
from .base import Solver, Task, get_solver, register_solver
from .driver import Run
from .logistic import WeightedLogistic
from .requests import Learn
from .sharpen import Sharpen
from .spade import Spade
from .stamp import Stamp
from .state import LinearModel, RowTotals

for _solver in (Spade, Stamp, Amp, WeightedLogistic):
    register_solver(_solver)

__all__ = [
    "Amp",
    "BestThreshold",
    "Learn",
    "LinearModel",
    "RowTotals",
    "Run",
    "Sharpen",
    "Solver",
    "Spade",
    "Stamp",
    "Task",
    "WeightedLogistic",
    "best_threshold",
    "get_solver",
    "rates_at",
    "register_solver",
]
