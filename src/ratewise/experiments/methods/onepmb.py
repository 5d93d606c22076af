"""1PMB, the other stochastic method, which the paper has for F1 only."""

from __future__ import annotations

from ...baselines import OnePMB
from ...measures import FBeta, Measure
from .base import VALIDATION_FRACTION, Record, Task


class OnePMBMethod:
    """Gradient steps on SVMPerf's surrogate, a buffer of 500 points at a time, for 25 passes."""

    name = "1PMB"
    colour = "#CC79A7"

    def suits(self, measure: Measure) -> bool:
        return isinstance(measure, FBeta)

    def run(self, task: Task, record: Record) -> str:
        tuned = OnePMB(task.measure, validation_fraction=VALIDATION_FRACTION, random_state=task.seed)
        step = tuned.fit(task.X, task.positive).step_
        tuned.set_params(step=step, on_checkpoint=record).fit(task.X, task.positive)
        return f"step {step:g}"
