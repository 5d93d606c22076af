"""Nearest shrunken centroids: a start for data with many more columns than rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..measures import Measure
from .base import Solver, Task, require_number
from .driver import Steps
from .requests import CompareCentroids
from .state import LinearModel, RowTotals

_FEWEST_COLUMNS = 10


@dataclass(frozen=True)
class ShrunkenCentroids(Solver):
    """Use the columns in which the means of the classes differ clearly, each weighted by its difference.

    With thousands of columns and few rows, a penalized regression uses a little of every column, most of it noise.
    Here the difference of the means is shrunk by some standard errors (Tibshirani et al., 2002), and columns that
    differ by less are left out. Columns must be standardized.

    Parameters
    ----------
    shrinkage : float
        Standard errors; at least ten columns are kept.
    """

    shrinkage: float = 3.0
    passes: int = 1

    name: ClassVar[str] = "shrunken-centroids"
    streaming: ClassVar[bool] = False
    sharpenable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_number("shrinkage", self.shrinkage, "ShrunkenCentroids", low=0)

    @property
    def label(self) -> str:
        return f"centroids shrunken by {self.shrinkage:g} standard errors"

    def check(self, measure: Measure, prevalence: float) -> None:
        """Accept any measure."""

    def algorithm(self, task: Task, seen: Callable[[], RowTotals]) -> Steps:
        """Return the model from the difference between the mean rows of both classes."""
        difference = yield CompareCentroids()
        points, p = seen().points, seen().prevalence
        # Columns have a variance of 1; this is the part between the classes.
        within = np.sqrt(np.maximum(1.0 - p * (1.0 - p) * difference**2, 1e-6))
        errors = within / math.sqrt(max(points * p * (1.0 - p), 1e-300))
        apart = np.abs(difference) / errors
        fewest = min(_FEWEST_COLUMNS, apart.size)
        least = min(self.shrinkage, float(np.partition(apart, -fewest)[-fewest]) - 1e-9)
        weights = np.sign(difference) * np.maximum(apart - least, 0.0) / within
        weights /= max(float(np.linalg.norm(weights * within)), 1e-300)
        # Midway between the centroids; the mean of all rows lies at 0.
        return LinearModel(weights, -(0.5 - p) * float(weights @ difference))
