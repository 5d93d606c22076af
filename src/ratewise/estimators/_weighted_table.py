"""The table that a meta-estimator fits; rows of weight 0 are left out."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, check_consistent_length, column_or_1d

from ._folds import kept_splits


class WeightedTable(NamedTuple):
    """Rows that another estimator will check, with everything that was given for each row."""

    X: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    groups: Any
    cv: Any
    params: dict[str, Any]
    kept: NDArray[np.intp] | None = None
    """The indices of these rows among the user's rows; None for all rows."""

    @classmethod
    def of(
        cls,
        X: Any,
        y: NDArray[Any],
        weights: NDArray[np.float64] | None,
        groups: Any,
        cv: Any,
        params: dict[str, Any],
    ) -> Self:
        """Return the rows that have a weight."""
        if weights is None or weights.all():
            return cls(X, y, weights, groups, cv, params)
        kept = np.flatnonzero(weights)
        cv = kept_splits(cv, X, y, groups, kept)
        if groups is not None:
            check_consistent_length(groups, y)
            groups = column_or_1d(groups)[kept]
        params = _check_method_params(X, params, indices=kept)
        return cls(_safe_indexing(X, kept), y[kept], weights[kept], groups, cv, params, kept)

    def of_rows(self, values: Any) -> Any:
        """Return an array with a value per row of the user, or None, reduced to these rows."""
        return values if values is None or self.kept is None else values[self.kept]
