"""The true positive rate at a given false positive rate."""

from __future__ import annotations

from dataclasses import dataclass

from ._rates import Constraint
from .base import require_not_negative, require_positive, require_share
from .tpr_at_tnr import PenalisedTPR


@dataclass(frozen=True)
class TPRAtFPR(PenalisedTPR):
    """The largest TPR at which at most this share of the negatives is predicted positive.

    ``TPRAtFPR(0.01)`` is ``TPRAtTNR(0.99)``, in terms of the false positive rate.

    Parameters
    ----------
    fpr : float
        The highest FPR allowed, above 0.
    penalty : float
        What twice the false positives allowed cost.
    margin : float
        Standard errors by which the bound must hold on the rows that choose the threshold.
    """

    fpr: float = 0.01
    penalty: float = 2.0
    margin: float = 0.5

    def __post_init__(self) -> None:
        require_share(self, "fpr")
        require_positive(self, "penalty")
        require_not_negative(self, "margin")

    def line(self) -> tuple[float, float, float]:
        return 1.0 - 1.0 / self.fpr, 0.0, 1.0 / self.fpr

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (Constraint(f"an FPR of at most {self.fpr:g}", *self.line(), self.margin),)
