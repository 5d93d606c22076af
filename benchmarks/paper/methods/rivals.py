"""The paper's other methods, and the default fit of ratewise, which the paper does not have."""

from __future__ import annotations

from typing import Any

from ratewise import MeasureClassifier
from ratewise.baselines import LogisticBaseline, OnePMB, PlugIn, SVMPerf
from ratewise.measures import FBeta, Measure

from ..base import VALIDATION_FRACTION, Method, Record, Task
from ..library import Stopwatch

C_GRID = (1.0, 0.01)


class PlugInMethod(Method):
    """Logistic regression by L-BFGS to convergence, whose L2 penalty and threshold are tuned."""

    name = "Plug-in (L-BFGS)"
    colour = "#0072B2"

    def run(self, task: Task, record: Record) -> str:
        C = max(C_GRID, key=lambda C: _value_on_validation_rows(task, C))
        _plug_in(task, C).set_params(on_checkpoint=record).fit(task.X, task.positive)
        return f"C {C:g}"


def _plug_in(task: Task, C: float) -> PlugIn:
    return PlugIn(task.measure, C=C, validation_fraction=VALIDATION_FRACTION, refit=False, random_state=task.seed)


def _value_on_validation_rows(task: Task, C: float) -> float:
    from sklearn.model_selection import train_test_split

    learning, validation, positive, truth = train_test_split(
        task.X, task.positive, test_size=VALIDATION_FRACTION, stratify=task.positive, random_state=task.seed
    )
    return _plug_in(task, C).fit(learning, positive).score(validation, truth)


class SVMPerfMethod(Method):
    """The structural SVM. Choosing C takes as long again as the run itself is allowed, off the clock."""

    name = "SVMPerf"
    colour = "#009E73"

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


class OnePMBMethod(Method):
    """Gradient steps on SVMPerf's surrogate, a buffer of 500 points at a time, for 25 passes; for F1 only."""

    name = "1PMB"
    colour = "#CC79A7"

    def suits(self, measure: Measure) -> bool:
        return isinstance(measure, FBeta)

    def run(self, task: Task, record: Record) -> str:
        tuned = OnePMB(task.measure, validation_fraction=VALIDATION_FRACTION, random_state=task.seed)
        step = tuned.fit(task.X, task.positive).step_
        tuned.set_params(step=step, on_checkpoint=record).fit(task.X, task.positive)
        return f"step {step:g}"


class LogisticMethod(Method):
    """Plain binary classification, for reference: logistic regression, cut at a probability of one half."""

    name = "Logistic regression"
    colour = "#000000"

    def run(self, task: Task, record: Record) -> str:
        LogisticBaseline(task.measure, random_state=task.seed, on_checkpoint=record).fit(task.X, task.positive)
        return ""


class DefaultFit(Method):
    """``MeasureClassifier(measure).fit(X, y)``, with no parameter to tune and one model, the last."""

    name = "ratewise (default)"
    colour = "#E69F00"

    def run(self, task: Task, record: Record) -> str:
        classifier = MeasureClassifier(task.measure, random_state=task.seed)
        classifier.fit(task.X, task.positive)  # which code runs, and is compiled, depends on the rows
        clock = Stopwatch()
        classifier.fit(task.X, task.positive)
        record(clock.seconds, classifier.coef_[0], float(classifier.intercept_[0]))
        return ""
