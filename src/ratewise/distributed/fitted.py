"""What a classifier fitted on a cluster can do: predict, score, and become an ordinary one."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..estimators import MeasureClassifier
from ..measures import Measure
from .predicting import Line, is_collection, mapped, rates_of

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
        return Line(self.coef_[0], float(self.intercept_[0]), self.classes_, names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _choose_positive(self, classes: Any) -> Any:
        if self.pos_label is None:
            return classes[1]
        if self.pos_label not in classes:
            raise ValueError(f"pos_label={self.pos_label!r} is not among the classes {classes.tolist()}.")
        return self.pos_label
