"""Bounds that people set, each as a line in the two rates.

They are scaled alike, so that one penalty suits all: missing a bound altogether costs about one TPR.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Constraint


def tpr_at_least(tpr: float, margin: float) -> Constraint:
    """TPR / bound - 1 >= 0."""
    return Constraint(f"a TPR of at least {tpr:g}", -1.0, 1.0 / tpr, 0.0, margin)


def tnr_at_least(tnr: float, margin: float) -> Constraint:
    """1 - FPR / (1 - bound) >= 0."""
    allowed = 1.0 - tnr
    return Constraint(f"a TNR of at least {tnr:g}", -tnr / allowed, 0.0, 1.0 / allowed, margin)


def precision_at_least(precision: float, prevalence: Any, margin: float) -> Constraint:
    """TPR - price FPR >= 0, where ``price`` is the TPR that pays for a unit of FPR at this prevalence."""
    price = precision_price(precision, prevalence)
    return Constraint(f"a precision of at least {precision:g}", -price, 1.0, price, margin)


def precision_price(precision: float, prevalence: Any) -> Any:
    """p TPR (1 - bound) >= bound (1 - p) FPR, solved for TPR / FPR."""
    return precision * (1.0 - prevalence) / ((1.0 - precision) * np.maximum(prevalence, 1e-12))
