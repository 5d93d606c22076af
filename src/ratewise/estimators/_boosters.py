"""Gradient boosting of four libraries: scores after some of the trees, and limits on the values of leaves."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

# From so many rows on the usual 100 trees underfit: half as many again are grown, and stages say how many help.
MANY_ROWS = 20_000
_MORE_TREES = 1.5


class Booster:
    """What the meta-estimator asks of a boosting library; scores are log odds of ``classes_[1]``."""

    library: ClassVar[str]
    classifier: ClassVar[str]
    trees_parameter: ClassVar[str] = "n_estimators"

    def limits(self, given: dict[str, Any]) -> dict[str, float]:
        """Return settings that limit the values of leaves, for where the user has set no limit.

        A leaf is a Newton step: gradients over curvatures, which are p(1-p) at the log odds that boosting starts
        from. A leaf with one positive in twenty rows moves them by 0.05/p, which is 30 where one row in 600 is
        positive. The first tree overshoots, and the later trees mend that. So one tree, after its learning rate,
        moves log odds by 1 at most.
        """
        return {}

    def trees(self, model: Any) -> int:
        """Return how many trees the model predicts with."""
        raise NotImplementedError

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> NDArray[np.float64]:
        """Return the scores by some of the trees."""
        raise NotImplementedError

    def constant(self, model: Any, X: Any) -> float:
        """Return what the scores of some trees hold besides those trees, from the second tree on."""
        return 0.0

    def staged_scores(self, model: Any, X: Any, stages: Sequence[int]) -> Iterator[NDArray[np.float64]]:
        """Yield the scores after each of these numbers of trees, which do not fall."""
        scores, begin = np.zeros(0), 0
        constant = self.constant(model, X) if len(stages) > 1 else 0.0
        for end in stages:
            if end > begin:
                more = np.asarray(self.scores_of_trees(model, X, begin, end), dtype=np.float64)
                scores, begin = scores + (more - constant) if begin else more, end
            yield scores


class _LightGBM(Booster):
    library, classifier = "lightgbm", "LGBMClassifier"

    def limits(self, given: dict[str, Any]) -> dict[str, float]:
        return {"max_delta_step": 1.0 / (given.get("learning_rate") or 0.1)}

    def trees(self, model: Any) -> int:
        return int(model.best_iteration_ or model.booster_.current_iteration())

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> Any:
        return model.predict(X, raw_score=True, start_iteration=begin, num_iteration=end - begin)


class _XGBoost(Booster):
    library, classifier = "xgboost", "XGBClassifier"

    def limits(self, given: dict[str, Any]) -> dict[str, float]:
        return {"max_delta_step": 1.0 / (given.get("learning_rate") or 0.3)}

    def trees(self, model: Any) -> int:
        stopped_early = model.get_xgb_params().get("booster") != "gblinear" and model.early_stopping_rounds
        return int(model.best_iteration + 1 if stopped_early else model.get_booster().num_boosted_rounds())

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> Any:
        return model.predict(X, output_margin=True, iteration_range=(begin, end))

    def constant(self, model: Any, X: Any) -> float:
        if self.trees(model) < 2:
            return 0.0
        row = _safe_indexing(X, [0])  # every margin holds the constant, so two of them hold it twice
        first, second, both = (self.scores_of_trees(model, row, *trees) for trees in ((0, 1), (1, 2), (0, 2)))
        return float((first.astype(np.float64) + second - both)[0])


class _CatBoost(Booster):
    library, classifier = "catboost", "CatBoostClassifier"
    trees_parameter = ""  # it grows 1000 trees, and its leaves have an L2 penalty

    def trees(self, model: Any) -> int:
        return int(model.tree_count_)

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> Any:
        return model.predict(X, prediction_type="RawFormulaVal", ntree_start=begin, ntree_end=end)


class _HistGradientBoosting(Booster):
    library, classifier = "sklearn.ensemble", "HistGradientBoostingClassifier"
    trees_parameter = "max_iter"

    def limits(self, given: dict[str, Any]) -> dict[str, float]:
        return {"l2_regularization": 1.0}  # it has no limit of its own

    def trees(self, model: Any) -> int:
        return int(model.n_iter_)

    def staged_scores(self, model: Any, X: Any, stages: Sequence[int]) -> Iterator[NDArray[np.float64]]:
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


def prepared(estimator: Any, booster: Booster, rows: int) -> Any:
    """Return a copy of the estimator: leaves limited if the user has set no limit, more trees if rows are many."""
    last = _last_step(estimator)
    given = last.get_params(deep=False)
    limits = booster.limits(given).items()
    settings: dict[str, Any] = {name: value for name, value in limits if not given.get(name)}
    if rows >= MANY_ROWS and booster.trees_parameter:
        settings[booster.trees_parameter] = math.ceil(_MORE_TREES * (given.get(booster.trees_parameter) or 100))
    prefix = "" if last is estimator else f"{estimator.steps[-1][0]}__"
    return clone(estimator).set_params(**{prefix + name: value for name, value in settings.items()})


def tree_count(model: Any, booster: Booster) -> int:
    """Return how many trees a fitted estimator predicts with."""
    return booster.trees(_last_step(model))


def staged_scores(model: Any, booster: Booster, X: Any, stages: Sequence[int]) -> list[NDArray[np.float64]]:
    """Return the scores of ``classes_[1]`` after each of these numbers of trees, or at most all."""
    last = _last_step(model)
    if last is not model:
        X = model[:-1].transform(X)
    grown = booster.trees(last)
    return list(booster.staged_scores(last, X, [min(stage, grown) for stage in stages]))


def _last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if type(estimator) is Pipeline else estimator
