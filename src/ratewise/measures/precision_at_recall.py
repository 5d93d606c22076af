"""Precision at a given recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ._rates import Constraint, tpr_at_least
from .base import Measure, require_not_negative, require_positive, require_share


@dataclass(frozen=True)
class PrecisionAtRecall(Measure):
    """The largest precision at which at least this share of the positives is found.

    Its value is the precision - penalty max(0, 1 - TPR / recall); the precision is 0 where no row is predicted
    positive. Sharpening maximises it.

    Parameters
    ----------
    recall : float
        The lowest TPR allowed.
    penalty : float
        Thresholds are chosen by the bound itself, whatever the penalty.
    margin : float
        Standard errors by which the bound must hold on the rows that choose the threshold.
    """

    recall: float = 0.8
    penalty: float = 2.0
    margin: float = 0.5

    smooth: ClassVar[bool] = False
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_share(self, "recall")
        require_positive(self, "penalty")
        require_not_negative(self, "margin")

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        p = np.asarray(self.require_prevalence(prevalence))
        hits, alarms = p * np.asarray(tpr), (1.0 - p) * (1.0 - np.asarray(tnr))
        predicted = hits + alarms
        precision = np.where(predicted > 0, hits / np.where(predicted > 0, predicted, 1.0), 0.0)
        (bound,) = self.constraints(0.5)
        return (precision + self.penalty * np.minimum(bound.excess(tpr, tnr), 0.0))[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        p = float(self.require_prevalence(prevalence))
        hits, alarms = p * tpr, (1.0 - p) * (1.0 - tnr)
        squared = max((hits + alarms) ** 2, 1e-18)
        missed = self.penalty / self.recall if tpr < self.recall else 0.0
        return p * alarms / squared + missed, (1.0 - p) * hits / squared

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (tpr_at_least(self.recall, self.margin),)
