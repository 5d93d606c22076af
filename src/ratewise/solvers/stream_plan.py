"""What is asked of a fit from a stream, and what comes of it."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from ..measures import Measure, Rates
from ..streams import Units
from .base import Solver
from .learner import LinearModel
from .sharpen import Sharpen


@dataclasses.dataclass(frozen=True)
class StreamPlan:
    """What is asked of a fit from a stream."""

    measure: Measure
    solver: Solver | None
    """None lets the library choose where sharpening starts."""
    sharpen: Sharpen | None
    """None for the solver's plain algorithm."""
    passes: int | None
    """Over the rows, to learn from them; None lets their number decide."""
    tune: bool
    """Move the threshold."""
    standardize: bool
    whiten_rows: int
    whiten_columns: int
    l2: float
    seed: int


class StreamResult(NamedTuple):
    units: Units
    model: LinearModel
    threshold: float
    rates: Rates
    stages: tuple[str, ...]
