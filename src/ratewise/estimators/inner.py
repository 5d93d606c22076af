"""What a meta-estimator must know of the classifier inside it: its weights, its scores, how to go on with it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

# How other libraries' boosting is told the model to go on from.
_MODEL_KEYWORDS = ("init_model", "xgb_model")


def weight_keyword(estimator: Any) -> str | None:
    """The name under which ``fit`` takes a weight for every row; None if it takes none.

    A pipeline hands it to its last step, a search to the estimator inside.
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inside = weight_keyword(last)
        return None if inside is None else f"{name}__{inside}"
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return weight_keyword(estimator.estimator)
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def fitted(
    estimator: Any,
    X: Any,
    y: Any,
    weights: NDArray[np.float64] | None,
    params: dict[str, Any],
    *,
    previous: Any = None,
    warm_start: bool | str = False,
) -> Any:
    """A copy of the estimator, fitted to weighted rows; from the model of the round before where that pays."""
    model, more = _to_go_on_with(estimator, previous, warm_start)
    arguments = params | more
    if weights is not None:
        arguments[str(weight_keyword(estimator))] = weights
    if isinstance(estimator, Pipeline | GridSearchCV | RandomizedSearchCV) and not params:
        # The keyword says which step is meant; requests are for those who route through us, not for our weights.
        with config_context(enable_metadata_routing=False):
            return model.fit(X, y, **arguments)
    return model.fit(X, y, **arguments)


def _to_go_on_with(estimator: Any, previous: Any, warm_start: bool | str) -> tuple[Any, dict[str, Any]]:
    """The model to call ``fit`` on, and what else to tell it."""
    if not goes_on(previous, warm_start):
        return clone(estimator), {}
    if isinstance(previous, HistGradientBoostingClassifier):
        # The losses of differently weighted rows cannot be compared, so it must not stop by them.
        settings = {"warm_start": True, "early_stopping": False, "max_iter": previous.n_iter_ + previous.max_iter}
        return copy.deepcopy(previous).set_params(**settings), {}
    if _keeps_coefficients(previous):
        return copy.deepcopy(previous).set_params(warm_start=True), {}
    return clone(estimator), {_model_keywords(previous)[0]: previous}


def goes_on(previous: Any, warm_start: bool | str) -> bool:
    """Whether a fit is to go on from the model of the round before."""
    if previous is None or not warm_start:
        return False
    if isinstance(previous, HistGradientBoostingClassifier):
        # Early stopping was watching, and saw no reason to stop.
        unfinished = bool(previous.do_early_stopping_) and previous.n_iter_ == previous.max_iter
        return unfinished or warm_start is True
    return _keeps_coefficients(previous) or (warm_start is True and bool(_model_keywords(previous)))


def _keeps_coefficients(model: Any) -> bool:
    can = hasattr(model, "coef_") or hasattr(model, "coefs_")
    return can and "warm_start" in model.get_params(deep=False)


def _model_keywords(model: Any) -> list[str]:
    return [name for name in _MODEL_KEYWORDS if has_fit_parameter(model, name)]


def response_of(model: Any, response_method: str) -> str:
    """The method whose values are cut: ``decision_function`` if there is one, else ``predict_proba``."""
    names = ["decision_function", "predict_proba"] if response_method == "auto" else [response_method]
    for name in names:
        if hasattr(model, name):
            return name
    raise ValueError(
        f"{type(model).__name__} has no {' or '.join(names)}: a threshold needs scores, not only labels."
    )


def scores_of(model: Any, X: Any, response: str, positive: Any) -> NDArray[np.float64]:
    """What the model says for the positive class, the higher the surer."""
    if response == "predict_proba":
        column = int(np.flatnonzero(model.classes_ == positive)[0])
        return np.asarray(model.predict_proba(X), dtype=np.float64)[:, column]
    scores = np.asarray(model.decision_function(X), dtype=np.float64).reshape(-1)
    return scores if model.classes_[1] == positive else -scores
