"""The parameters of a fit on a cluster, checked before anything is sent."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from ..solvers import Sharpen


def checked(classifier: Any) -> bool:
    """Refuse what makes no sense; returns whether to sharpen."""
    _check_choices(classifier)
    _check_numbers(classifier)
    sharpen, threshold = classifier.sharpen, classifier.threshold
    if not isinstance(sharpen, bool | Sharpen) and sharpen != "auto":
        raise ValueError(f"sharpen must be 'auto', True, False or a Sharpen; got {sharpen!r}.")
    if threshold == "zero" and sharpen not in ("auto", False):
        raise ValueError("threshold='zero' needs sharpen=False: sharpening ends with the choice of a threshold.")
    return threshold == "tune" if sharpen == "auto" else bool(sharpen)


def _check_choices(classifier: Any) -> None:
    if classifier.threshold not in ("tune", "zero"):
        raise ValueError(f"threshold must be 'tune' or 'zero'; got {classifier.threshold!r}.")
    if classifier.merging not in ("auto", "models", "gradients"):
        raise ValueError(f"merging must be 'auto', 'models' or 'gradients'; got {classifier.merging!r}.")


def _check_numbers(classifier: Any) -> None:
    alpha, timeout = classifier.alpha, classifier.timeout
    if not isinstance(alpha, Real) or not 0 <= float(alpha) < np.inf:
        raise ValueError(f"alpha must be a finite number of 0 or more; got {alpha!r}.")
    for name in ("local_passes", "rounds"):
        value = getattr(classifier, name)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if value != "auto" and not (whole and value > 0):
            raise ValueError(f"{name} must be 'auto' or a whole number above 0; got {value!r}.")
    if not isinstance(timeout, Real) or not 0 < float(timeout) < np.inf:
        raise ValueError(f"timeout must be a finite number of seconds above 0; got {timeout!r}.")
