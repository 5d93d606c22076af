"""Check the parameters and the rows of a MeasureMaximizer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import _check_feature_names, _check_n_features, _get_feature_names, check_is_fitted

from .._input_checks import require_table
from ._boosters import booster_of, require_columns
from ._crossfit import resampling_step, weight_keyword

if TYPE_CHECKING:
    from .maximizer import MeasureMaximizer

_RESPONSES = ("auto", "decision_function", "predict_proba")


def number_of_rounds(rounds: int | str, base: Any) -> int:
    """Return the largest number of reweighting iterations; "auto" is 1 for boosting, or else 2."""
    if isinstance(rounds, str):
        return 1 if booster_of(base) is not None else 2
    return int(rounds)


def check_maximizer(maximizer: Any, base: Any, *, weighted: bool) -> None:
    """Raise one sentence on an invalid parameter; ``weighted`` is whether rows have weights."""
    rounds = maximizer.rounds
    whole = isinstance(rounds, Integral) and not isinstance(rounds, bool) and int(rounds) >= 1
    if rounds != "auto" and not whole:
        raise ValueError(f"rounds must be 'auto' or a whole number of 1 or more; got {rounds!r}.")
    if maximizer.response_method not in _RESPONSES:
        raise ValueError(
            f"response_method must be one of {', '.join(_RESPONSES)}; got {maximizer.response_method!r}."
        )
    for name in ("warm_start", "stack"):
        given = getattr(maximizer, name)
        if not isinstance(given, bool) and given != "auto":
            raise ValueError(f"{name} must be 'auto', True or False; got {given!r}.")
    if not hasattr(base, "fit"):
        raise ValueError(f"estimator must be a classifier, such as LogisticRegression(); got {base!r}.")
    if maximizer.stack is True and (booster_of(base) is None or maximizer.response_method != "auto"):
        raise ValueError(
            "stack=True joins boosting with an additive model: give a booster as estimator, or none, and "
            "response_method='auto'."
        )
    if not weighted and number_of_rounds(rounds, base) == 1:
        return
    if weight_keyword(base) is None:
        way_out = "give none" if weighted else "set rounds=1, which only cuts where it is best"
        raise ValueError(
            f"{type(base).__name__} takes no sample_weight in fit, so its rows cannot be weighed. "
            f"Choose a classifier that does, or {way_out}."
        )
    resampling = resampling_step(base)
    if resampling is not None:
        raise ValueError(
            f"The step {resampling!r} of the pipeline resamples rows, so that there would be more or fewer "
            "rows than sample weights. Leave the step out: the class weights and the threshold do its work. "
            "Or set rounds=1 and give no sample_weight: then only the threshold is chosen."
        )


def require_rows_to_learn(maximizer: MeasureMaximizer, X: Any) -> None:
    """Raise an error for lazy tables, and for columns that the base estimator cannot read."""
    require_table(X)
    if hasattr(X, "__dask_graph__") and hasattr(X, "columns"):
        raise TypeError("X is a dask DataFrame, whose rows are not read yet: give X.compute().")
    require_columns(maximizer._base(), X)


def require_rows_as_learned(maximizer: MeasureMaximizer, X: Any) -> None:
    """Raise an error for rows without the columns of the fit in order: LightGBM, for one, ignores names."""
    check_is_fitted(maximizer)
    require_rows_to_learn(maximizer, X)
    if getattr(X, "ndim", 2) == 1:
        raise ValueError("X has one axis, not rows and columns. Reshape your data: one row is X.reshape(1, -1).")
    _check_feature_names(maximizer, X, reset=False)
    _check_n_features(maximizer, X, reset=False)


@contextmanager
def rows_checked_once(maximizer: MeasureMaximizer, X: Any) -> Iterator[None]:
    """Check rows, so that the members do not each warn about the names again."""
    require_rows_as_learned(maximizer, X)
    if hasattr(maximizer, "feature_names_in_") == (_get_feature_names(X) is not None):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names", UserWarning)
        yield
