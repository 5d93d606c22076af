"""How to maximise a measure: the mathematics of one step and one pass. Nothing here sees rows or scikit-learn."""

from __future__ import annotations

from .amp import Amp
from .base import Learn, LearnerRun, Run, Solver, Task, get_solver, register_solver
from .logistic import WeightedLogistic
from .sharpen import Sharpen
from .spade import Spade
from .stamp import Stamp
from .state import LinearModel, Summary
from .threshold import BestThreshold, best_threshold, rates_at

for _solver in (Spade, Stamp, Amp, WeightedLogistic):
    register_solver(_solver)

__all__ = [
    "Amp",
    "BestThreshold",
    "Learn",
    "LearnerRun",
    "LinearModel",
    "Run",
    "Sharpen",
    "Solver",
    "Spade",
    "Stamp",
    "Summary",
    "Task",
    "WeightedLogistic",
    "best_threshold",
    "get_solver",
    "rates_at",
    "register_solver",
]
