"""Methods of a classifier fitted on a cluster: predict, score, and convert to an ordinary classifier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..estimators import MeasureClassifier
from ..estimators._targets import checked_labels, fitted_positive, positive_label, require_known_labels
from ..training.shards.read import Names, naming
from .inputs import blocks_like, in_order, is_dask_array, is_dask_frame, partitions_like

_SHARED = (
    "measure",
    "solver",
    "sharpen",
    "threshold",
    "alpha",
    "standardize",
    "pos_label",
    "basis",
    "encode",
    "columns",
    "random_state",
    "verbose",
)


class FittedOnCluster(ClassifierMixin, BaseEstimator):
    """The fitted half of :class:`~ratewise.distributed.DaskMeasureClassifier`."""

    pos_label: Any
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]
    measure_: Any
    calibration_: NDArray[np.float64]

    def to_local(self) -> MeasureClassifier:
        """Return an ordinary fitted :class:`~ratewise.MeasureClassifier`, to save, evaluate or export."""
        check_is_fitted(self, "coef_")
        local = MeasureClassifier(**{name: getattr(self, name) for name in _SHARED})
        if local.columns is not None:  # which encode the frame here, and need encode="auto" there
            local.encode = "auto"
        ours = {"merging_", "n_partitions_"}
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_") and name not in ours}
        local.__dict__.update(fitted, multilabel_=False)
        return local

    def decision_function(self, X: Any) -> Any:
        """Return scores, above 0 for ``classes_[1]``, or a column per class; lazily for a dask collection."""
        local, classes = self.to_local(), self.classes_.tolist()
        name = "scores" if len(classes) == 2 else classes
        return _mapped(local, "decision_function", X, name) if _is_lazy(X) else local.decision_function(X)

    def predict(self, X: Any) -> Any:
        """Return the class of each row; lazily for a dask collection."""
        local = self.to_local()
        return _mapped(local, "predict", X, "labels") if _is_lazy(X) else local.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class in each row, a column per class; lazily for a dask collection."""
        local, classes = self.to_local(), self.classes_.tolist()
        return _mapped(local, "predict_proba", X, classes) if _is_lazy(X) else local.predict_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure of the predictions for X against y."""
        local = self.to_local()
        if not _is_lazy(X):
            return float(local.score(X, y, sample_weight=sample_weight))
        if sample_weight is not None:
            raise ValueError("score of a dask collection takes no sample_weight.")
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        true, predicted, rows = _confusion(self.predict(X), y)
        require_known_labels(np.unique(true), self.classes_)
        if self.classes_.size > 2:
            return float(self.measure_.score(true, predicted, sample_weight=rows, labels=self.classes_))
        positive = fitted_positive(self)
        return float(self.measure_.score(true, predicted, sample_weight=rows, pos_label=positive))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _choose_positive(self, classes: NDArray[Any]) -> Any:
        return positive_label(classes, self.pos_label)


def _is_lazy(X: Any) -> bool:
    return is_dask_array(X) or is_dask_frame(X)


def _mapped(local: MeasureClassifier, method: str, X: Any, name: str | list[Any]) -> Any:
    """Return a lazy dask array of a classifier's method; for a DataFrame, a lazy Series or DataFrame."""
    dtype = local.classes_.dtype if method == "predict" else np.dtype(np.float64)
    if is_dask_array(X):
        if X.ndim != 2 or X.shape[1] != local.n_features_in_:
            raise ValueError(f"X has {X.shape[-1]} features, but {local.n_features_in_} were fitted.")
        X = X.rechunk({1: X.shape[1]}) if X.numblocks[1] > 1 else X
        shape: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0, dtype)}
        if isinstance(name, list):
            shape = {"chunks": (X.chunks[0], (len(name),)), "meta": np.empty((0, len(name)), dtype)}
        return X.map_blocks(_of_block, local, method, dtype=dtype, name=None, **shape)
    target = getattr(local, "target_", None)
    if target in X.columns and target not in getattr(local, "feature_names_in_", ()):
        X = X.drop(columns=[target])  # a frame whose labels were given by name still holds them
    meta = dict.fromkeys(name, dtype) if isinstance(name, list) else (name, dtype)
    return X.map_partitions(_of_frame, local, method, tuple(X.columns), name, meta=meta)


def _of_block(X: Any, local: MeasureClassifier, method: str, block_id: Any = (0,)) -> NDArray[Any]:
    with naming(f"Partition {block_id[0]}"):
        return _answers(X, local, method)


def _of_frame(
    X: Any, local: MeasureClassifier, method: str, columns: Names, name: Any, partition_info: Any = None
) -> Any:
    import pandas as pd

    with naming(f"Partition {(partition_info or {}).get('number', 0)}"):
        found = _answers(in_order(X, columns), local, method)
    if isinstance(name, list):
        return pd.DataFrame(found, index=X.index, columns=name)
    return pd.Series(found, index=X.index, name=name)


def _answers(X: Any, local: MeasureClassifier, method: str) -> NDArray[Any]:
    """Return the method's result, or an empty result for no rows: a filter may leave a partition empty."""
    n_classes = local.classes_.size
    nothing = {"predict": local.classes_[:0], "predict_proba": np.empty((0, n_classes))}
    nothing["decision_function"] = np.empty(0 if n_classes == 2 else (0, n_classes))
    found: NDArray[Any] = getattr(local, method)(X) if X.shape[0] else nothing[method]
    return found


class Confusion(NamedTuple):
    """Pairs of a true and a predicted label, and the number of rows with each."""

    true: NDArray[Any]
    predicted: NDArray[Any]
    rows: NDArray[np.int64]


def _confusion(predicted: Any, y: Any) -> Confusion:
    """Count pairs of labels where the partitions are."""
    import dask

    like = blocks_like if is_dask_array(predicted) else partitions_like
    parts = zip(predicted.to_delayed(), like(predicted, y, "y") or [], strict=True)
    counted = dask.compute(*(dask.delayed(_count)(mine, true, k) for k, (mine, true) in enumerate(parts)))
    labels = [label for part in counted for label in part.true.tolist()]
    checked_labels(np.array(labels, dtype=object), len(labels))  # of one type in all partitions
    mine, rows = (np.concatenate([getattr(part, name) for part in counted]) for name in ("predicted", "rows"))
    return Confusion(np.array(labels), mine, rows)


def _count(predicted: Any, y: Any, number: int) -> Confusion:
    mine = np.asarray(predicted)
    with naming(f"Partition {number}"):
        y = checked_labels(y, mine.size).y if mine.size or len(y) else mine
    (true, true_codes), (mine, my_codes) = (np.unique(one, return_inverse=True) for one in (y, mine))
    rows = np.bincount(true_codes * mine.size + my_codes, minlength=1)
    pairs = np.flatnonzero(rows)
    return Confusion(true[pairs // max(mine.size, 1)], mine[pairs % max(mine.size, 1)], rows[pairs])
