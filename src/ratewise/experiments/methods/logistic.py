"""Plain binary classification, for reference: it looks at no measure."""

from __future__ import annotations

from ...baselines import LogisticBaseline
from ...measures import Measure
from .base import Record, Task


class LogisticMethod:
    """Logistic regression by L-BFGS to convergence, cut at a probability of one half."""

    name = "Logistic regression"
    colour = "#000000"

    def suits(self, measure: Measure) -> bool:
        return True

    def run(self, task: Task, record: Record) -> str:
        LogisticBaseline(task.measure, random_state=task.seed, on_checkpoint=record).fit(task.X, task.positive)
        return ""
