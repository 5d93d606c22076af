"""What a fit leaves on a classifier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Rates


class Coefficients(NamedTuple):
    """Linear models of the user's columns, as scikit-learn keeps them: a row a model."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]


class Outcome(NamedTuple):
    """What a fit came to, in the user's terms."""

    classes: NDArray[Any]
    models: Coefficients
    spread: NDArray[np.float64]
    """What each column was divided by."""
    rates: Rates | list[Rates]
    stages: Any
    complaint: str | None
    """One sentence if a constraint of the measure is not kept."""
    multilabel: bool = False
