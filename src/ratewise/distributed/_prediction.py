"""What a classifier fitted on a cluster can do: predict, score, and become an ordinary one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..estimators import MeasureClassifier
from ..estimators._targets import positive_label
from ..measures import Measure, Rates
from ..solvers.calibrate import Calibration
from .inputs import as_matrix, is_dask_array, is_dask_frame

_SHARED = (
    "measure",
    "solver",
    "sharpen",
    "threshold",
    "alpha",
    "standardize",
    "pos_label",
    "random_state",
    "verbose",
)


class FittedOnCluster(ClassifierMixin, BaseEstimator):
    """The fitted half of :class:`~ratewise.distributed.DaskMeasureClassifier`."""

    pos_label: Any
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]
    measure_: Measure
    calibration_: NDArray[np.float64]

    def to_local(self) -> MeasureClassifier:
        """An ordinary fitted :class:`~ratewise.MeasureClassifier`, to save, evaluate or export."""
        check_is_fitted(self, "coef_")
        local = MeasureClassifier(**{name: getattr(self, name) for name in _SHARED})
        ours = {"merging_", "n_partitions_"}
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_") and name not in ours}
        local.__dict__.update(fitted, multilabel_=False)
        return local

    def decision_function(self, X: Any) -> Any:
        """Signed scores, above 0 for ``classes_[1]``; lazily for a dask collection."""
        check_is_fitted(self, "coef_")
        return mapped(self._line(), "scores", X) if is_collection(X) else self.to_local().decision_function(X)

    def predict(self, X: Any) -> Any:
        """The class of each row; lazily for a dask collection."""
        check_is_fitted(self, "coef_")
        return mapped(self._line(), "labels", X) if is_collection(X) else self.to_local().predict(X)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class in each row, a column per class; lazily for a dask collection."""
        check_is_fitted(self, "coef_")
        return mapped(self._line(), "shares", X) if is_collection(X) else self.to_local().predict_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The measure itself, of the predictions for X against y."""
        check_is_fitted(self, "coef_")
        if not is_collection(X):
            return float(self.to_local().score(X, y, sample_weight=sample_weight))
        if sample_weight is not None:
            raise ValueError("score of a dask collection takes no sample_weight.")
        rates = rates_of(self.predict(X), y, self._choose_positive(self.classes_))
        return float(self.measure_.value(*rates))

    def _line(self) -> Line:
        names = getattr(self, "feature_names_in_", None)
        curve = Calibration.of_numbers(self.calibration_[0])
        return Line(self.coef_[0], float(self.intercept_[0]), self.classes_, names, curve)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _choose_positive(self, classes: NDArray[Any]) -> Any:
        return positive_label(classes, self.pos_label)


class Line(NamedTuple):
    """A fitted linear classifier: all that a worker needs to predict."""

    coef: NDArray[np.float64]
    intercept: float
    classes: NDArray[Any]
    names: NDArray[Any] | None
    calibration: Calibration

    def scores(self, X: Any) -> NDArray[np.float64]:
        if self.names is not None and hasattr(X, "columns"):
            X = X[list(self.names)]
        matrix = as_matrix(X, "X")
        if matrix.shape[1] != self.coef.size:
            raise ValueError(f"X has {matrix.shape[1]} features, but {self.coef.size} were fitted.")
        scores: NDArray[np.float64] = np.asarray(matrix @ self.coef) + self.intercept
        return scores

    def labels(self, X: Any) -> NDArray[Any]:
        found: NDArray[Any] = self.classes[(self.scores(X) > 0).astype(np.intp)]
        return found

    def shares(self, X: Any) -> NDArray[np.float64]:
        second = expit(self.calibration.log_odds(self.scores(X)))
        return np.column_stack([1.0 - second, second])


def is_collection(X: Any) -> bool:
    return is_dask_array(X) or is_dask_frame(X)


def mapped(line: Line, method: str, X: Any) -> Any:
    """A lazy dask array (or Series, of a DataFrame) of scores or labels; of shares, two columns."""
    dtype = line.classes.dtype if method == "labels" else np.dtype(np.float64)
    if is_dask_array(X):
        if X.ndim != 2 or X.shape[1] != line.coef.size:
            raise ValueError(f"X has {X.shape[-1]} features, but {line.coef.size} were fitted.")
        X = X.rechunk({1: X.shape[1]}) if X.numblocks[1] > 1 else X
        if method == "shares":
            chunks, meta = (X.chunks[0], (2,)), np.empty((0, 2), dtype)
            return X.map_blocks(_of_block, line, method, chunks=chunks, dtype=dtype, name=None, meta=meta)
        return X.map_blocks(_of_block, line, method, drop_axis=1, dtype=dtype, name=None, meta=np.empty(0, dtype))
    columns = dict.fromkeys(line.classes.tolist(), dtype) if method == "shares" else (method, dtype)
    return X.map_partitions(_of_frame, line, method, meta=columns)


def _of_block(X: Any, line: Line, method: str) -> NDArray[Any]:
    found: NDArray[Any] = getattr(line, method)(X)
    return found


def _of_frame(X: Any, line: Line, method: str) -> Any:
    import pandas as pd

    found = getattr(line, method)(X)
    if method == "shares":
        return pd.DataFrame(found, index=X.index, columns=line.classes.tolist())
    return pd.Series(found, index=X.index, name=method)


def rates_of(predicted: Any, y: Any, positive: Any) -> Rates:
    """TPR, TNR and the share of positives, counted where the blocks are."""
    import dask

    blocks = [_delayed_blocks(one) for one in (predicted, y)]
    if len(blocks[0]) != len(blocks[1]):
        raise ValueError(f"X has {len(blocks[0])} partitions and y has {len(blocks[1])}: repartition one of them.")
    counted = [dask.delayed(_count)(mine, true, positive) for mine, true in zip(*blocks, strict=True)]
    hits, positives, passes, negatives = np.sum(dask.compute(*counted), axis=0)
    return Rates(
        float(hits / max(positives, 1)),
        float(passes / max(negatives, 1)),
        float(positives / (positives + negatives)),
    )


def _delayed_blocks(collection: Any) -> list[Any]:
    return list(np.asarray(collection.to_delayed(), dtype=object).reshape(-1))


def _count(predicted: Any, true: Any, positive: Any) -> NDArray[np.int64]:
    called, is_positive = np.asarray(predicted) == positive, np.asarray(true).reshape(-1) == positive
    return np.array(
        [(called & is_positive).sum(), is_positive.sum(), (~called & ~is_positive).sum(), (~is_positive).sum()]
    )
