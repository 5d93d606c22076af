"""The true positive rate at a given false positive rate."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Constraint
from .checks import require_not_negative, require_positive, require_share
from .penalised_tpr import PenalisedTPR


@dataclass(frozen=True)
class TPRAtFPR(PenalisedTPR):
    """Find as many positives as you can while at most this share of the negatives is called.

    :class:`TPRAtTNR` for those who count false alarms: ``TPRAtFPR(0.01)`` is ``TPRAtTNR(0.99)``.

    Parameters
    ----------
    fpr : float
        The highest FPR allowed, above 0.
    penalty : float
        What raising twice the false alarms allowed costs.
    margin : float
        Standard errors by which the bound must hold on the rows that choose the threshold.
    """

    fpr: float = 0.01
    penalty: float = 2.0
    margin: float = 0.5

    def __post_init__(self) -> None:
        require_share("fpr", self.fpr, "TPRAtFPR")
        require_positive("penalty", self.penalty, "TPRAtFPR")
        require_not_negative("margin", self.margin, "TPRAtFPR")

    def line(self) -> tuple[float, float, float]:
        return 1.0 - 1.0 / self.fpr, 0.0, 1.0 / self.fpr

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (Constraint(f"an FPR of at most {self.fpr:g}", *self.line(), self.margin),)
