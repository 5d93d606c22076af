"""Which columns of a matrix are features, and which hold the target and the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..files.errors import DataError
from ..files.rows import Place, Rows


@dataclass(frozen=True)
class MatrixPlan:
    """Column numbers in a matrix without names; None where the target or the weights come apart from it."""

    features: Any
    """A slice or an array of column numbers."""
    n_features: int
    target: int | None
    weight: int | None

    def rows(self, X: Any, target: Any, weights: Any, place: Place) -> Rows:
        """Rows of the matrix; target and weights where they are no columns of it."""
        return Rows(
            X.shape[0],
            X[:, self.features],
            target if self.target is None else X[:, self.target],
            weights if self.weight is None else X[:, self.weight],
            place,
        )


def plan_matrix(
    n_columns: int, file: str, target: int | None, features: Sequence[int] | None, weight: int | None
) -> MatrixPlan:
    """The plan for a matrix with so many columns."""
    for name, number in (("target", target), ("weight", weight)):
        if number is not None and not -n_columns <= number < n_columns:
            raise DataError(
                f"{file}: there is no column {number} for the {name}; there are {n_columns:,} columns."
            )
    taken = [number % n_columns for number in (target, weight) if number is not None]
    if features is None:
        chosen = [j for j in range(n_columns) if j not in taken] if taken else range(n_columns)
    else:
        chosen = [_column(j, n_columns, file) for j in features]
        if set(chosen) & set(taken):
            raise ValueError("A column cannot be a feature and the target or the weight too.")
    if not chosen:
        raise DataError(f"{file}: there are no columns besides the target and the weight to learn from.")
    run = list(chosen) == list(range(chosen[0], chosen[0] + len(chosen)))
    columns = slice(chosen[0], chosen[0] + len(chosen)) if run else np.array(chosen)
    return MatrixPlan(columns, len(chosen), target, weight)


def _column(j: Any, n_columns: int, file: str) -> int:
    if not isinstance(j, (int, np.integer)):
        raise TypeError(f"The columns of {file} have no names: features= takes column numbers, not {j!r}.")
    if not -n_columns <= j < n_columns:
        raise DataError(f"{file}: there is no column {j}; there are {n_columns:,} columns.")
    return int(j) % n_columns
