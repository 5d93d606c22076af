"""Gradient boosting of four libraries: scores after some of the trees, and limits on the values of leaves."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

Scores = NDArray[np.float64]


class Booster:
    """What the meta-estimator asks of a boosting library; scores are log odds of ``classes_[1]``."""

    library: ClassVar[str]
    classifier: ClassVar[str]
    limits: ClassVar[dict[str, float]] = {}
    """Settings that limit the values of leaves, used where the user has set no limit.

    A leaf is a Newton step: gradients over curvatures, which are p(1-p) at the log odds that boosting starts from. A
    leaf with one positive in twenty rows moves them by 0.05/p, which is 30 where one row in 600 is positive. The
    first tree overshoots, and the later trees mend that.
    """

    def trees(self, model: Any) -> int:
        """Return how many trees the model predicts with."""
        raise NotImplementedError

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> Scores:
        """Return the scores by some of the trees; those from the first tree on hold the constant."""
        raise NotImplementedError

    def staged_scores(self, model: Any, X: Any, stages: Sequence[int]) -> Iterator[Scores]:
        """Yield the scores after each of these numbers of trees, which do not fall."""
        scores, begin = np.zeros(0), 0
        for end in stages:
            if end > begin:
                more = np.asarray(self.scores_of_trees(model, X, begin, end), dtype=np.float64)
                scores, begin = scores + more if begin else more, end
            yield scores


class _LightGBM(Booster):
    library, classifier = "lightgbm", "LGBMClassifier"
    limits: ClassVar[dict[str, float]] = {"max_delta_step": 1.0}

    def trees(self, model: Any) -> int:
        return int(model.best_iteration_ or model.booster_.current_iteration())

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> Any:
        return model.predict(X, raw_score=True, start_iteration=begin, num_iteration=end - begin)


class _XGBoost(Booster):
    library, classifier = "xgboost", "XGBClassifier"
    limits: ClassVar[dict[str, float]] = {"max_delta_step": 1.0}

    def trees(self, model: Any) -> int:
        stopped_early = model.get_xgb_params().get("booster") != "gblinear" and model.early_stopping_rounds
        return int(model.best_iteration + 1 if stopped_early else model.get_booster().num_boosted_rounds())

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> Any:
        scores = self._margin(model, X, begin, end)
        if begin == 0:
            return scores
        top = X.iloc[:1] if hasattr(X, "iloc") else X[:1]  # every margin holds the constant, so two hold it twice
        both = self._margin(model, top, 0, begin) + self._margin(model, top, begin, end)
        return scores - float((both - self._margin(model, top, 0, end))[0])

    @staticmethod
    def _margin(model: Any, X: Any, begin: int, end: int) -> Scores:
        return np.asarray(model.predict(X, output_margin=True, iteration_range=(begin, end)), dtype=np.float64)


class _CatBoost(Booster):
    library, classifier = "catboost", "CatBoostClassifier"  # its leaves have an L2 penalty

    def trees(self, model: Any) -> int:
        return int(model.tree_count_)

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> Any:
        return model.predict(X, prediction_type="RawFormulaVal", ntree_start=begin, ntree_end=end)


class _HistGradientBoosting(Booster):
    library, classifier = "sklearn.ensemble", "HistGradientBoostingClassifier"
    limits: ClassVar[dict[str, float]] = {"l2_regularization": 1.0}

    def trees(self, model: Any) -> int:
        return int(model.n_iter_)

    def staged_scores(self, model: Any, X: Any, stages: Sequence[int]) -> Iterator[Scores]:
        after_each_tree = model.staged_decision_function(X)
        scores, grown = np.zeros(0), 0
        for end in stages:
            if end > grown:
                *_, scores = islice(after_each_tree, end - grown)
                grown = end
            yield np.asarray(scores, dtype=np.float64).reshape(-1)


_BOOSTERS: tuple[Booster, ...] = (_LightGBM(), _XGBoost(), _CatBoost(), _HistGradientBoosting())


def booster_of(estimator: Any) -> Booster | None:
    """Return the library of a boosting classifier, or of a pipeline that ends with one; None for others."""
    last = _last_step(estimator)
    for booster in _BOOSTERS:
        library = sys.modules.get(booster.library)  # if it is not imported, the estimator is not of it
        if library is not None and isinstance(last, getattr(library, booster.classifier, ())):
            return booster
    return None


def with_limits(estimator: Any, booster: Booster) -> Any:
    """Return a copy of the estimator whose leaves are limited, as far as the user has not limited them."""
    last = _last_step(estimator)
    given = last.get_params(deep=False)
    prefix = "" if last is estimator else f"{estimator.steps[-1][0]}__"
    missing = {prefix + name: value for name, value in booster.limits.items() if not given.get(name)}
    return clone(estimator).set_params(**missing)


def tree_count(model: Any, booster: Booster) -> int:
    """Return how many trees a fitted estimator predicts with."""
    return booster.trees(_last_step(model))


def staged_scores(model: Any, booster: Booster, X: Any, stages: Sequence[int]) -> list[Scores]:
    """Return the scores of ``classes_[1]`` after each of these numbers of trees, or after all if there are fewer."""
    last = _last_step(model)
    if last is not model:
        X = model[:-1].transform(X)
    grown = booster.trees(last)
    return list(booster.staged_scores(last, X, [min(stage, grown) for stage in stages]))


def _last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if type(estimator) is Pipeline else estimator
