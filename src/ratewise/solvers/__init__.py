"""How to maximise a measure: plain classes that know nothing of scikit-learn."""

from __future__ import annotations

import difflib

from ..measures import ConcaveMeasure, Measure, PseudoLinearMeasure
from .against_rest import log_odds_line, one_against_the_rest
from .amp import Amp
from .base import Run, Solver, StreamingRun, Task, solve_with_care
from .batch import BatchLogistic
from .constraints import constraint_slack
from .descent import ManyModel
from .history import History
from .joint import SelectedMany, learn_jointly
from .learner import LinearModel
from .macro import ClassRates
from .offsets import best_offsets
from .selection import Selected, sharpen_and_select
from .selection_plan import MANY_ROWS
from .sharpen import Sharpen
from .spade import Spade
from .stamp import Stamp
from .stream_fit import StreamFit
from .stream_plan import StreamPlan, StreamResult
from .threshold import BestThreshold, Cuts, best_threshold, rates_at, steady_threshold
from .weighted import WeightedLogistic

_SOLVERS: dict[str, type[Solver]] = {"spade": Spade, "stamp": Stamp, "amp": Amp}


def get_solver(solver: str | Solver, measure: Measure) -> Solver:
    """A solver by its name; "auto" takes the streaming one that fits the measure.

    For a measure of neither family that is logistic regression, which is but a start: sharpening must follow.
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
    "MANY_ROWS",
    "Amp",
    "BatchLogistic",
    "BestThreshold",
    "ClassRates",
    "Cuts",
    "History",
    "LinearModel",
    "ManyModel",
    "Run",
    "Selected",
    "SelectedMany",
    "Sharpen",
    "Solver",
    "Spade",
    "Stamp",
    "StreamFit",
    "StreamPlan",
    "StreamResult",
    "StreamingRun",
    "Task",
    "WeightedLogistic",
    "best_offsets",
    "best_threshold",
    "constraint_slack",
    "get_solver",
    "learn_jointly",
    "log_odds_line",
    "one_against_the_rest",
    "rates_at",
    "sharpen_and_select",
    "solve_with_care",
    "steady_threshold",
]
