"""Check that a MeasureMaximizer can read rows, and that they have the columns of the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from .._input_checks import require_table
from ._boosters import require_columns

if TYPE_CHECKING:
    from .maximizer import MeasureMaximizer


def require_rows_to_learn(maximizer: MeasureMaximizer, X: Any) -> None:
    """Refuse tables without rows yet, and columns that the base estimator cannot read."""
    require_table(X)
    if hasattr(X, "__dask_graph__") and hasattr(X, "columns"):
        raise TypeError("X is a dask DataFrame, whose rows are not read yet: give X.compute().")
    require_columns(maximizer._base(), X)


def require_rows_as_learned(maximizer: MeasureMaximizer, X: Any) -> None:
    """Refuse rows without the columns of the fit in their order: LightGBM, for one, looks at no names."""
    check_is_fitted(maximizer)
    require_rows_to_learn(maximizer, X)
    if getattr(X, "ndim", 2) == 1:
        raise ValueError("X has one axis, not rows and columns. Reshape your data: one row is X.reshape(1, -1).")
    _check_feature_names(maximizer, X, reset=False)
    _check_n_features(maximizer, X, reset=False)
