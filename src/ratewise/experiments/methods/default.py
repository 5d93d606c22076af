"""What ratewise does unless told otherwise: a start, sharpened. Not in the paper."""

from __future__ import annotations

from ...baselines._checkpoints import Stopwatch
from ...estimators import MeasureClassifier
from ...measures import Measure
from .base import Record, Task


class DefaultFit:
    """``MeasureClassifier(measure).fit(X, y)``, with no parameter to tune and one model, the last."""

    name = "ratewise (default)"
    colour = "#E69F00"

    def suits(self, measure: Measure) -> bool:
        return True

    def run(self, task: Task, record: Record) -> str:
        classifier = MeasureClassifier(task.measure, random_state=task.seed)
        classifier.fit(task.X, task.positive)  # how it goes about depends on the rows, and so what is compiled
        clock = Stopwatch()
        classifier.fit(task.X, task.positive)
        record(clock.seconds, classifier.coef_[0], float(classifier.intercept_[0]))
        return ""
