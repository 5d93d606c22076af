"""SVMPerf, stopped after 50 times the time of SPADE or STAMP."""

from __future__ import annotations

from typing import Any

from ...baselines import SVMPerf
from ...measures import Measure
from .base import VALIDATION_FRACTION, Record, Task


class SVMPerfMethod:
    """The structural SVM. Choosing C takes as long again as the run itself is allowed, off the clock."""

    name = "SVMPerf"
    colour = "#009E73"

    def suits(self, measure: Measure) -> bool:
        return True

    def run(self, task: Task, record: Record) -> str:
        settings: dict[str, Any] = {
            "max_seconds": task.seconds_allowed,
            "validation_fraction": VALIDATION_FRACTION,
            "refit": False,
            "random_state": task.seed,
        }
        C = SVMPerf(task.measure, **settings).fit(task.X, task.positive).C_
        SVMPerf(task.measure, C=C, on_checkpoint=record, **settings).fit(task.X, task.positive)
        return f"C {C:g}"
