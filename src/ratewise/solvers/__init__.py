"""How to maximise a measure: the mathematics of one step and one pass. Nothing here sees rows or scikit-learn."""

from __future__ import annotations

import difflib

from ..measures import ConcaveMeasure, Measure, PseudoLinearMeasure
from .amp import Amp
from .base import Learn, LearnerRun, Run, Solver, Task
from .logistic import WeightedLogistic
from .sharpen import Sharpen
from .spade import Spade
from .stamp import Stamp
from .state import LinearModel, Summary
from .threshold import BestThreshold, best_threshold, rates_at

_SOLVERS: dict[str, type[Solver]] = {}


def register_solver(solver: type[Solver]) -> type[Solver]:
    """Make a solver known by its ``name``: then ``MeasureClassifier(solver=name)`` takes it.

    Examples
    --------
    >>> from ratewise.solvers import Spade, register_solver
    >>> register_solver(Spade) is Spade  # as the library does with its own
    True
    """
    _SOLVERS[solver.name] = solver
    return solver


for _solver in (Spade, Stamp, Amp, WeightedLogistic):
    register_solver(_solver)


def get_solver(solver: str | Solver, measure: Measure) -> Solver:
    """Return a solver by its name; "auto" takes the streaming one that suits the measure.

    For a measure of neither family that is logistic regression, which is only a start: sharpening must follow.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> from ratewise.solvers import get_solver
    >>> get_solver("auto", get_measure("gmean")).name
    'spade'
    """
    if isinstance(solver, Solver):
        return solver
    if solver == "auto":
        if isinstance(measure, ConcaveMeasure):
            return Spade()
        if isinstance(measure, PseudoLinearMeasure):
            return Stamp()
        return WeightedLogistic()
    if isinstance(solver, str) and solver in _SOLVERS:
        return _SOLVERS[solver]()
    names = ["auto", *_SOLVERS]
    near = difflib.get_close_matches(str(solver).lower(), names, n=1, cutoff=0.3)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"There is no solver {solver!r}.{hint} Known: {', '.join(names)}, or a solver object.")


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
