"""The true positive rate at a given true negative rate."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Constraint
from .checks import require_not_negative, require_positive, require_share
from .penalised_tpr import PenalisedTPR


@dataclass(frozen=True)
class TPRAtTNR(PenalisedTPR):
    """Find as many positives as you can while at least this share of the negatives is left alone.

    Its value is TPR - penalty max(0, FPR / (1 - tnr) - 1): raising twice the false alarms allowed costs
    ``penalty``. On a concave ROC curve a penalty of 1 or more is exact, that is, the best point keeps the bound:
    the curve cannot be steeper there than 1 / (1 - tnr).

    Parameters
    ----------
    tnr : float
        The lowest TNR allowed, below 1.
    penalty : float
    margin : float
        Standard errors by which the bound must hold on the rows that choose the threshold.
    """

    tnr: float = 0.99
    penalty: float = 2.0
    margin: float = 0.5

    def __post_init__(self) -> None:
        require_share("tnr", self.tnr, "TPRAtTNR")
        require_positive("penalty", self.penalty, "TPRAtTNR")
        require_not_negative("margin", self.margin, "TPRAtTNR")

    def line(self) -> tuple[float, float, float]:
        allowed = 1.0 - self.tnr
        return -self.tnr / allowed, 0.0, 1.0 / allowed

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (Constraint(f"a TNR of at least {self.tnr:g}", *self.line(), self.margin),)
