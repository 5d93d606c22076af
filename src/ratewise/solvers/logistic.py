"""Logistic regression with class weights, a start for any measure: stochastic, or solved to convergence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..measures import Measure, PseudoLinearMeasure
from ..rewards import Logistic
from .base import Solver, Task, leverage_settings, require_number
from .driver import Steps
from .requests import Learn, Maximize, Record, Savepoint
from .state import LinearModel, RowTotals


def class_ratio(prevalence: float, exponent: float) -> float:
    """Return the weight of a positive relative to a negative: ((1-p)/p)^exponent."""
    return float(((1.0 - prevalence) / prevalence) ** exponent)


class _Logistic(Solver):
    """The common part of both kinds of logistic regression."""

    def check(self, measure: Measure, prevalence: float) -> None:
        """Refuse a measure that no classifier can maximize; accept any other."""
        if isinstance(measure, PseudoLinearMeasure):
            measure.check_against(prevalence)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Model files of version 0.1.0 name the exponent "emphasis".
        renamed = {"exponent" if name == "emphasis" else name: value for name, value in state.items()}
        self.__dict__.update(renamed)


@dataclass(frozen=True)
class WeightedLogistic(_Logistic):
    """Plain logistic regression (class-weight exponent 0), the balanced one (1), or one in between.

    It does not depend on the measure. Sharpening starts from it unless a solver is named.

    Parameters
    ----------
    exponent : float
        Positives weigh ((1-p)/p)^exponent times as much as negatives.
    passes : int
    step : float
        In units of a point's own leverage 1 / (|x|^2 + 1); falls as 1 / sqrt(1 + passes).
    alpha : float
        The L2 strength of these passes, unless the classifier's is larger.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise import MeasureClassifier
    >>> from ratewise.solvers import WeightedLogistic
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MeasureClassifier("gmean", solver=WeightedLogistic(exponent=1.0), sharpen=False)
    >>> classifier.fit(X, y).score(X, y) > 0.9
    True
    """

    exponent: float = 0.5
    passes: int = 2
    step: float = 2.0
    alpha: float = 0.0

    name: ClassVar[str] = "logistic"
    streaming: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_number("passes", self.passes, "WeightedLogistic", low=0, whole=True)
        require_number("step", self.step, "WeightedLogistic", low=0)
        require_number("alpha", self.alpha, "WeightedLogistic", low=0, at_low=True)

    @property
    def label(self) -> str:
        penalty = f", alpha {self.alpha:g}" if self.alpha else ""
        return f"logistic, class-weight exponent {self.exponent:.2g}{penalty}"

    def algorithm(self, task: Task, seen: Callable[[], RowTotals]) -> Steps:
        """Take logistic steps pass by pass; the model is the mean of the last pass's models."""
        passes, pass_points = 0, seen().points  # a stream: its first batch counts as a pass
        while task.endless or passes < self.passes:
            passes, pass_points = yield Savepoint((passes, pass_points))
            p = seen().prevalence
            ratio = class_ratio(p, self.exponent)
            first = {"restart_steps": pass_points} if passes == 0 else {}
            if passes == 0 and task.initial is None:
                log_odds = math.log(ratio * p / (1.0 - p))
                first["start"] = LinearModel.zeros(task.n_features)._replace(intercept=log_odds)
            settings = leverage_settings(
                seen()._replace(points=pass_points),
                task.n_features,
                step=self.step * math.log(2.0),  # the logistic reward is to base 2
                leverage=seen().leverage,
                l2=max(task.l2, self.alpha),
            )
            weights = ratio / max(ratio, 1.0), 1.0 / max(ratio, 1.0)
            learned = yield Learn(settings, Logistic(), weights, passes=1, restart_mean=True, **first)
            passes += 1
            yield Record(passes, seen().points if task.endless else passes * seen().points)
        return learned.mean


@dataclass(frozen=True)
class PenalizedLogistic(_Logistic):
    """Logistic regression with class weights and an L2 penalty, solved to convergence.

    With few rows, a penalty gives models that no number of passes gives; validation rows choose the penalty.

    Parameters
    ----------
    exponent : float
        Positives weigh ((1-p)/p)^exponent times as much as negatives.
    C : float
        The inverse of the penalty, as in scikit-learn.
    """

    exponent: float = 0.0
    C: float = 1.0
    passes: int = 1

    name: ClassVar[str] = "penalized-logistic"
    streaming: ClassVar[bool] = False
    sharpenable: ClassVar[bool] = False  # steps without a penalty would lead to the same models as other starts

    def __post_init__(self) -> None:
        require_number("C", self.C, "PenalizedLogistic", low=0)

    @property
    def label(self) -> str:
        return f"penalized logistic, class-weight exponent {self.exponent:.2g}, C {self.C:g}"

    def algorithm(self, task: Task, seen: Callable[[], RowTotals]) -> Steps:
        p = seen().prevalence
        ratio = class_ratio(p, self.exponent)
        # scikit-learn sums natural log losses; here they are to base 2, weighted and averaged.
        points = seen().points * (ratio * p + 1.0 - p)
        l2 = 1.0 / (self.C * points * math.log(2.0))
        start = task.initial or LinearModel.zeros(task.n_features)
        return (
            yield Maximize(
                Logistic(), (ratio * p, 1.0 - p), start, l2, tolerance=1e-3, iterations=100, few_rows=True
            )
        )
