"""What a fitted linear model predicts for new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted

from ..measures import Measure
from ..solvers.calibrate import Calibration
from ..solvers.multiclass import ClassRates
from ._rows import scores_of_rows
from ._targets import checked_labels, checked_weights, indicator_array, positive_label


class LinearPrediction:
    """Scores, classes and the measure of them, for models of two classes, of many, or of many labels."""

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    classes_: NDArray[Any]
    multilabel_: bool
    measure_: Measure
    calibration_: NDArray[np.float64]
    pos_label: Any

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Signed scores: above 0 for ``classes_[1]``; with more classes, or labels, a column for each."""
        check_is_fitted(self)
        coef, intercept = self.coef_.T, self.intercept_
        if coef.shape[1] == 1:
            coef, intercept = coef[:, 0], intercept[0]
        return scores_of_rows(self, X, lambda rows: np.asarray(rows @ coef) + intercept)  # type: ignore[arg-type]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, or a column of 0 and 1 for each label."""
        scores = self.decision_function(X)
        if self.multilabel_:
            return (scores > 0).astype(np.int64)
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class in each row; of each label, where a row may have several.

        Calibrated on the scores that chose the threshold, out-of-fold where there were folds, by a curve that
        rises with the score. ``predict`` is the measure's decision, not the likelier class: where F1 or G-mean
        gain more by a hit than they lose by a false alarm, a row is called positive at a probability below one
        half (``decision_threshold_``).
        """
        scores = self.decision_function(X)
        odds = self._log_odds(scores)
        if scores.ndim == 1:
            second = expit(odds)
            return np.column_stack([1.0 - second, second])
        shares: NDArray[np.float64] = expit(odds) if self.multilabel_ else softmax(odds, axis=1)
        return shares

    @property
    def decision_threshold_(self) -> Any:
        """The probability of ``classes_[1]``, or of each label, above which ``predict`` predicts it."""
        if self.classes_.size > 2 and not self.multilabel_:
            raise AttributeError("Of more than two classes the highest score wins: there is no threshold.")
        found = expit(self._log_odds(np.zeros(self.intercept_.shape[0] if self.multilabel_ else 1)))
        return found if self.multilabel_ else float(found[0])

    def _log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if not hasattr(self, "calibration_"):
            raise AttributeError(
                "This model knows no probabilities: it was saved before ratewise calibrated scores. Fit it again."
            )
        curves = [Calibration.of_numbers(numbers) for numbers in self.calibration_]
        if len(curves) == 1:
            return np.asarray(curves[0].log_odds(scores))
        return np.stack([one.log_odds(scores[..., k]) for k, one in enumerate(curves)], axis=-1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The measure itself, of the predictions for X against y; the macro average of many classes or labels."""
        predicted = self.predict(X)
        if self.multilabel_:
            return macro_of_labels(self.measure_, y, predicted, sample_weight)
        if self.classes_.size > 2:
            return macro_of_classes(self.measure_, y, predicted, sample_weight)
        y, _ = checked_labels(y, predicted.shape[0])
        positive = positive_label(self.classes_, self.pos_label)
        return self.measure_.score(y, predicted, sample_weight=sample_weight, pos_label=positive)


def macro_of_classes(measure: Measure, y: Any, predicted: NDArray[Any], sample_weight: Any) -> float:
    """Over all classes that occur or are predicted, as scikit-learn's macro averages are."""
    y, _ = checked_labels(y, predicted.shape[0])
    weights = np.ones(y.size) if sample_weight is None else checked_weights(sample_weight, y)
    together, codes = np.unique(np.concatenate([y, predicted]), return_inverse=True)
    rates = ClassRates.of_predictions(codes[: y.size], codes[y.size :], weights, together.size)
    return float(np.mean(measure.value(*rates)))


def macro_of_labels(measure: Measure, y: Any, predicted: NDArray[Any], sample_weight: Any) -> float:
    """Over all columns of an indicator matrix."""
    truth = indicator_array(y, predicted.shape[0])
    if truth.shape != predicted.shape:
        raise ValueError(f"y has shape {truth.shape}, but the predictions have {predicted.shape}.")
    values = [
        measure.score(truth[:, k], predicted[:, k].astype(bool), sample_weight=sample_weight, pos_label=True)
        for k in range(truth.shape[1])
    ]
    return float(np.mean(values))
