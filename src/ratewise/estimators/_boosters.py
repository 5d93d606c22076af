"""Gradient boosting from four libraries: scores after some of the trees, and limits on the values of leaves."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from ..features.kinds import BOOLEAN, CATEGORY, DATE, NUMBER, TEXT, kind_of
from ..features.tables import refuse_dicts, table_schema
from ._paths import path_contributions

# From this number of rows on the usual 100 trees underfit: 1.5 times as many are grown; stages show how many help.
MANY_ROWS = 20_000
_MORE_TREES = 1.5
# Up to this number of rows a few small trees are as good as many large ones, or twice as many if still learning.
FEW_ROWS = 8_000
# With more rows HistGradientBoosting finds its bins on an unweighted sample, which is quick.
_MOST_BINNED_ROWS = 300_000
_OF_PREDICT = ("pred", "thread", "iteration")  # parts of the names of LightGBM's settings
_POLARS_KINDS = {"String": TEXT, "Categorical": CATEGORY, "Enum": CATEGORY, "Boolean": BOOLEAN}
_POLARS_KINDS |= dict.fromkeys(("Date", "Datetime", "Time", "Duration"), DATE)
_POLARS_KINDS |= {f"{kind}{bits}": NUMBER for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)}
_POLARS_KINDS |= {"Float32": NUMBER, "Float64": NUMBER}


class Booster:
    """What the meta-estimator needs from a boosting library; scores are log odds of ``classes_[1]``."""

    library: ClassVar[str]
    classifier: ClassVar[str]
    trees_parameter: ClassVar[str] = "n_estimators"
    from_polars: ClassVar[tuple[str, ...]] = ()
    """The polars types that it reads besides integers, floats and booleans. From Arrow no library reads more."""
    numbers_only: ClassVar[bool] = False
    """Whether it takes only dense numbers and pandas' categories."""
    stops_by: ClassVar[tuple[str, ...]] = ()
    """The settings of early stopping that need validation rows from the user."""

    def limits(self, given: dict[str, Any], n_classes: int = 2) -> dict[str, float]:
        """Return settings that limit the values of leaves, used if the user has set no limit.

        A leaf is a Newton step: gradients over curvatures, which are p(1-p) at the log odds that boosting starts
        from. A leaf with one positive in twenty rows moves them by 0.05/p, which is 30 where one row in 600 is
        positive. The first tree overshoots, and the later trees correct it. So one tree, after its learning rate,
        moves log odds by 1 at most.
        """
        return {}

    def trees(self, model: Any) -> int:
        """Return the number of trees that the model uses to predict."""
        raise NotImplementedError

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> NDArray[np.float64]:
        """Return the scores of some of the trees."""
        raise NotImplementedError

    def constant(self, model: Any, X: Any) -> float:
        """Return the constant in the scores of some trees, if they start from the second tree or a later one."""
        return 0.0

    def contributions(self, model: Any, X: Any, trees: int) -> Any:
        """Return what each column adds to the scores of the first trees; the last entry is the remainder.

        Return None if the library does not provide contributions.
        """
        return None

    def scorer(self, model: Any, X: Any) -> Callable[[int, int], Any]:
        """Return a function that gives the scores of these rows by some of the trees.

        Plain rows are converted once for all stages, and not checked. The classifiers' own ``predict`` does both
        every time, which takes longer than scoring a row.
        """
        return lambda begin, end: self.scores_of_trees(model, X, begin, end)

    def staged_scores(self, model: Any, X: Any, stages: Sequence[int]) -> Iterator[NDArray[np.float64]]:
        """Yield the scores after each of these numbers of trees, given in ascending order."""
        scores, begin = np.zeros(0), 0
        constant = self.constant(model, X) if len(stages) > 1 else 0.0
        scorer = self.scorer(model, X)
        for end in stages:
            if end > begin:
                more = np.asarray(scorer(begin, end), dtype=np.float64)
                scores, begin = scores + (more - constant) if begin else more, end
            yield scores


class _LightGBM(Booster):
    library, classifier = "lightgbm", "LGBMClassifier"
    stops_by = ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change")

    def limits(self, given: dict[str, Any], n_classes: int = 2) -> dict[str, float]:
        if n_classes > 2:  # with larger steps the log loss diverged on a class of 64 rows
            return {"max_delta_step": 1.0}
        return {"max_delta_step": 1.0 / (given.get("learning_rate") or 0.1)}

    def trees(self, model: Any) -> int:
        return int(model.best_iteration_ or model.booster_.current_iteration())

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> Any:
        return model.predict(X, raw_score=True, start_iteration=begin, num_iteration=end - begin)

    def scorer(self, model: Any, X: Any) -> Callable[[int, int], Any]:
        more = getattr(model, "_other_params", {"predict"})  # settings of the user besides scikit-learn's names
        usual = hasattr(model, "_process_n_jobs") and not any(
            word in name for name in more for word in _OF_PREDICT
        )
        if not usual or not _is_plain(X, model.n_features_in_) or model.feature_name_[0] != "Column_0":
            return super().scorer(model, X)
        booster, threads = model.booster_, model._process_n_jobs(model.n_jobs)
        return lambda begin, end: booster.predict(
            X, raw_score=True, start_iteration=begin, num_iteration=end - begin, num_threads=threads
        )

    def contributions(self, model: Any, X: Any, trees: int) -> Any:
        return model.predict(X, pred_contrib=True, num_iteration=trees)


class _XGBoost(Booster):
    library, classifier = "xgboost", "XGBClassifier"
    from_polars = (CATEGORY,)
    stops_by = ("early_stopping_rounds",)

    def limits(self, given: dict[str, Any], n_classes: int = 2) -> dict[str, float]:
        return {"max_delta_step": 1.0 / (given.get("learning_rate") or 0.3)}

    def trees(self, model: Any) -> int:
        stopped_early = model.booster != "gblinear" and model.early_stopping_rounds
        return int(model.best_iteration + 1 if stopped_early else model.get_booster().num_boosted_rounds())

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> Any:
        return model.predict(X, output_margin=True, iteration_range=(begin, end))

    def scorer(self, model: Any, X: Any) -> Callable[[int, int], Any]:
        booster = model.get_booster()
        usual = model.booster in (None, "gbtree") and booster.feature_names is None
        if not usual or not _is_plain(X, model.n_features_in_):
            return super().scorer(model, X)
        return lambda begin, end: booster.inplace_predict(
            X, iteration_range=(begin, end), predict_type="margin", missing=model.missing
        )

    def contributions(self, model: Any, X: Any, trees: int) -> Any:
        matrix = sys.modules["xgboost"].DMatrix
        rows = matrix(X, missing=model.missing, enable_categorical=bool(model.enable_categorical))
        found = model.get_booster().predict(rows, pred_contribs=True, iteration_range=(0, trees))
        return sparse.csr_array(found) if sparse.issparse(X) else found

    def constant(self, model: Any, X: Any) -> float:
        if self.trees(model) < 2:
            return 0.0
        scorer = self.scorer(model, X[:1] if type(X) is np.ndarray else _safe_indexing(X, [0]))
        # Every margin includes the constant, so two margins include it twice.
        first, second, both = (scorer(*trees) for trees in ((0, 1), (1, 2), (0, 2)))
        return float((first.astype(np.float64) + second - both)[0])


class _CatBoost(Booster):
    library, classifier = "catboost", "CatBoostClassifier"
    trees_parameter = ""  # it grows 1000 trees, and its leaves have an L2 penalty
    from_polars = (TEXT, "Decimal")

    def trees(self, model: Any) -> int:
        return int(model.tree_count_)

    def scores_of_trees(self, model: Any, X: Any, begin: int, end: int) -> Any:
        return model.predict(X, prediction_type="RawFormulaVal", ntree_start=begin, ntree_end=end)

    def scorer(self, model: Any, X: Any) -> Callable[[int, int], Any]:
        if _is_plain(X, model.n_features_in_) and not model.get_cat_feature_indices():
            X = sys.modules["catboost"].Pool(X)
        return super().scorer(model, X)

    def contributions(self, model: Any, X: Any, trees: int) -> Any:
        first = model.copy()
        first.shrink(trees)
        rows = sys.modules["catboost"].Pool(X, cat_features=model.get_cat_feature_indices())
        return first.get_feature_importance(rows, type="ShapValues")


class _HistGradientBoosting(Booster):
    library, classifier = "sklearn.ensemble", "HistGradientBoostingClassifier"
    trees_parameter = "max_iter"
    numbers_only = True
    from_polars = (CATEGORY, "Decimal")

    def limits(self, given: dict[str, Any], n_classes: int = 2) -> dict[str, float]:
        return {"l2_regularization": 1.0}  # it has no setting for a limit

    def trees(self, model: Any) -> int:
        return int(model.n_iter_)

    def contributions(self, model: Any, X: Any, trees: int) -> Any:
        return path_contributions(model, X, trees)

    def staged_scores(self, model: Any, X: Any, stages: Sequence[int]) -> Iterator[NDArray[np.float64]]:
        after_each_tree = model.staged_decision_function(X)
        scores, grown = np.zeros(0), 0
        for end in stages:
            if end > grown:
                *_, scores = islice(after_each_tree, end - grown)
                grown = end
            yield np.asarray(scores, dtype=np.float64).reshape(-1)


def _is_plain(X: Any, width: int) -> bool:
    """Return whether rows are an array of floats that the libraries take without a conversion or a warning."""
    return type(X) is np.ndarray and X.dtype in (np.float32, np.float64) and X.shape == (max(X.shape[0], 1), width)


_BOOSTERS: tuple[Booster, ...] = (_LightGBM(), _XGBoost(), _CatBoost(), _HistGradientBoosting())


def booster_of(estimator: Any) -> Booster | None:
    """Return the library of a boosting classifier, or of a pipeline that ends with one; None for others."""
    last = _last_step(estimator)
    for booster in _BOOSTERS:
        library = sys.modules.get(booster.library)  # if the library is not imported, the estimator is not from it
        if library is not None and isinstance(last, getattr(library, booster.classifier, ())):
            return booster
    return None


def require_usable(estimator: Any, fit_params: Iterable[str]) -> None:
    """Raise one sentence for settings for which a boosting library would raise an error."""
    booster = booster_of(estimator)
    if booster is None:
        return
    given = _last_step(estimator).get_params()
    if isinstance(given.get("cat_features"), list):
        raise ValueError(
            "cat_features is a list, and CatBoost copies it, so that scikit-learn cannot clone the estimator. "
            "Give a tuple, cat_features=('city',), or name the columns in fit(..., cat_features=['city'])."
        )
    stopping = next((name for name in booster.stops_by if (given.get(name) or 0) > 0), None)
    if stopping is not None and not {"eval_set", "eval_X"} & {name.rpartition("__")[2] for name in fit_params}:
        raise ValueError(
            f"{stopping}={given[stopping]} stops by rows that do not train, and there are none: set aside some, "
            "and call fit(X, y, eval_set=[(X_stop, y_stop)]). LightGBM also takes "
            f"callbacks=[lightgbm.early_stopping({given[stopping]})] there, in place of {stopping}."
        )


def require_columns(estimator: Any, X: Any) -> None:
    """Raise one sentence for columns that a boosting library cannot read.

    With polars and Arrow, LightGBM aborts Python on values that are not numbers, and CatBoost on dates and
    categories; other libraries raise an error that does not name the column.
    """
    refuse_dicts(X)
    booster = booster_of(estimator)
    if booster is None or isinstance(estimator, Pipeline):
        return
    library = type(X).__module__.partition(".")[0]
    if library in ("polars", "pyarrow"):
        _require_readable(booster, X, library)
    elif booster.numbers_only:
        _require_numbers(booster, X)
    elif hasattr(X, "iloc") and hasattr(X, "dtypes"):
        for name, dtype in zip(X.columns, X.dtypes, strict=True):
            if getattr(dtype, "kind", "O") in "Mm":
                raise _dates_are_not_taken(booster, name)


def _require_readable(booster: Booster, X: Any, library: str) -> None:
    """Raise an error for columns of polars or Arrow that a library does not read."""
    taken = {NUMBER, BOOLEAN, *(booster.from_polars if library == "polars" else ())}
    if library == "polars":  # asked for its own types, so that pyarrow is not needed
        bases = {name: str(dtype.base_type()) for name, dtype in X.schema.items()}
        kinds = {name: _POLARS_KINDS.get(base, base) for name, base in bases.items()}
    else:
        schema = table_schema(X[:1], "X")
        plain = {name: not str(dtype).startswith(("decimal", "null")) for name, dtype in schema.items()}
        kinds = {name: kind_of(dtype) if plain[name] else str(dtype) for name, dtype in schema.items()}
    name, kind = next(((name, kind) for name, kind in kinds.items() if kind not in taken), ("", ""))
    if kind == DATE:
        raise _dates_are_not_taken(booster, name)
    if kind in (TEXT, CATEGORY):
        holds = "text" if kind == TEXT else "categories"
        raise TypeError(
            f"X: column {name!r} holds {holds}, which {booster.classifier} does not take from {library}. Give a "
            f"table of pandas with the column as a category: X.to_pandas().astype({{{name!r}: 'category'}})."
        )
    if kind:
        raise TypeError(
            f"X: column {name!r} is of type {kind}, which {booster.classifier} does not take from {library}. Make "
            "numbers of it, or leave the column out."
        )


def _dates_are_not_taken(booster: Booster, name: Any) -> TypeError:
    return TypeError(
        f"X: column {name!r} holds dates or times, which {booster.classifier} does not take. Make numbers of "
        "them, such as days since the first and the hour of the day, or leave the column out."
    )


def _require_numbers(booster: Booster, X: Any) -> None:
    """Raise an error for sparse rows, texts and times: the library takes dense numbers and pandas' categories."""
    if sparse.issparse(X):
        raise TypeError(
            f"X is sparse, and {booster.classifier} takes dense rows only. Give LightGBM or XGBoost as the "
            "estimator, or use MeasureClassifier, which takes sparse rows."
        )
    table = hasattr(X, "iloc") and hasattr(X, "dtypes")
    if not table and not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OSUMm"):
        return
    for name in X.columns if table else range(X.shape[1]):
        column = X[name] if table else X[:, name]
        if table and str(column.dtype) == "category":
            continue
        if getattr(column.dtype, "kind", "O") in "Mm":
            raise _dates_are_not_taken(booster, name)
        text = _first_text(np.asarray(column)) if getattr(column.dtype, "kind", "O") in "OSUT" else None
        if text is not None:
            frame = "X" if table else "pandas.DataFrame(X)"
            raise TypeError(
                f"X: column {name!r} holds {text!r}, and {booster.classifier} takes numbers and categories. Make "
                f"numbers of it, or give it as a category: {frame}.astype({{{name!r}: 'category'}})."
            )


def _first_text(values: NDArray[Any]) -> str | None:
    """Return the first text that is not a number; None if there is none."""
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        texts = (value for value in values.tolist() if isinstance(value, str))
        return next((text[:40] for text in texts if not _is_number(text)), None)
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def default_boosting(rows: int) -> HistGradientBoostingClassifier:
    """Return boosting with settings for this number of rows, as the default; ``prepared`` adds limits."""
    trees, leaves = (40, 15) if rows <= FEW_ROWS else (100, 31)
    return HistGradientBoostingClassifier(
        max_iter=trees, max_leaf_nodes=leaves, early_stopping=False, random_state=0
    )


def prepared(estimator: Any, booster: Booster, rows: int, n_classes: int = 2) -> Any:
    """Return a copy of the estimator: leaves limited if the user has set no limit, more trees if rows are many."""
    last = _last_step(estimator)
    given = last.get_params(deep=False)
    limits = booster.limits(given, n_classes).items()
    settings: dict[str, Any] = {name: value for name, value in limits if not given.get(name)}
    if rows >= MANY_ROWS and booster.trees_parameter:
        settings[booster.trees_parameter] = math.ceil(_MORE_TREES * (given.get(booster.trees_parameter) or 100))
    prefix = "" if last is estimator else f"{estimator.steps[-1][0]}__"
    return clone(estimator).set_params(**{prefix + name: value for name, value in settings.items()})


def tree_count(model: Any, booster: Booster) -> int:
    """Return the number of trees that a fitted estimator uses to predict."""
    return booster.trees(_last_step(model))


def staged_scores(model: Any, booster: Booster, X: Any, stages: Sequence[int]) -> list[NDArray[np.float64]]:
    """Return the scores of ``classes_[1]`` after each of these numbers of trees, limited to all trees."""
    last = _last_step(model)
    if last is not model:
        X = model[:-1].transform(X)
    grown = booster.trees(last)
    return list(booster.staged_scores(last, X, [min(stage, grown) for stage in stages]))


def _last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if type(estimator) is Pipeline else estimator


def bin_columns(X: Any, estimator: Any) -> Any:
    """Return X with at most 255 values per column, in their own units, for histogram boosting; else X itself.

    HistGradientBoosting bins every column again in each fit. With weights, this takes scikit-learn 1.9 ten times
    as long as growing the trees (254 weighted percentiles per column). Columns with no more values than bins stay
    unchanged. So the binning is done here, once for all folds and iterations. The models stay in the user's
    units, and score unbinned rows.
    """
    floats = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f" and X.shape[0] <= _MOST_BINNED_ROWS
    if not floats or not isinstance(estimator, HistGradientBoostingClassifier):
        return X
    if not isinstance(estimator.categorical_features, str | None):  # by dtype, and floats are not categorical
        return X
    binned = np.empty(X.shape, dtype=X.dtype, order="F")
    for column in range(X.shape[1]):
        binned[:, column] = _bin_values(np.ascontiguousarray(X[:, column]), estimator.max_bins)
    return binned


def _bin_values(values: NDArray[Any], bins: int) -> NDArray[Any]:
    """Return each value as the nearest of the means of equally full bins; NaN and infinity are unchanged.

    It is the nearest mean, not the mean of the value's own bin: boosting splits midway between two values, and an
    unbinned row must fall on the same side of a split as its binned copy.
    """
    finite = np.isfinite(values)
    known = values[finite]
    ordered = np.sort(known)
    if np.count_nonzero(ordered[1:] != ordered[:-1]) < bins:
        return values
    upper_ends = np.unique(ordered[np.arange(1, bins) * ordered.size // bins])
    bin_of = np.searchsorted(upper_ends, known)
    sizes, sums = np.bincount(bin_of), np.bincount(bin_of, weights=known)
    means = np.unique((sums[sizes > 0] / sizes[sizes > 0]).astype(values.dtype))
    midway = (means[1:].astype(np.float64) + means[:-1]) / 2.0
    binned = values.copy()
    binned[finite] = means[np.searchsorted(midway, known)]
    return binned
