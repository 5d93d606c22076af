"""Predictions of a fitted linear model for new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted

from ..decisions.calibrate import Calibration
from ..measures import ConfusionMeasure, Measure
from ._costs import cheapest, mean_cost, require_costs
from ._explain import Explanation, Terms
from ._rows import linear_scores, rows_above_zero, scores_in_basis, scores_of_rows, validate_rows
from ._sensitive import GroupedPrediction
from ._targets import checked_weights, fitted_positive, indicator_array, labels_to_score


class LinearPrediction(GroupedPrediction):
    """Scores, predicted classes and their measure, for models of two classes, many classes or many labels."""

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    classes_: NDArray[Any]
    multilabel_: bool
    measure_: Any
    calibration_: NDArray[np.float64]
    pos_label: Any

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return signed scores: above 0 for ``classes_[1]``; with more classes, or labels, a column for each."""
        check_is_fitted(self)
        coef, intercept = self.coef_.T, self.intercept_
        if coef.shape[1] == 1:
            coef, intercept = coef[:, 0], intercept[0]
        basis = getattr(self, "basis_", None)
        if basis is not None:
            return scores_in_basis(self, X, lambda rows: basis.scores(rows, coef, intercept))  # type: ignore[arg-type]
        return scores_of_rows(self, X, lambda rows: linear_scores(rows, coef, intercept))  # type: ignore[arg-type]

    def predict(self, X: Any, sensitive_features: Any = None, *, costs: Any = None) -> NDArray[Any]:
        """Return the class of each row, or a column of 0 and 1 for each label.

        ``sensitive_features``, the group of each row, is needed if each group has its own threshold.
        ``costs`` of these rows are needed if ``fit`` had costs.
        """
        require_costs(self, costs)
        if costs is not None:
            return np.asarray(self.classes_[cheapest(self, self.predict_proba(X), costs)])
        second = self._is_second(X)
        if second is not None:
            found: NDArray[Any] = self.classes_[second.view(np.uint8)]
            return found
        scores = self._above_threshold(X, sensitive_features)
        if self.multilabel_:
            return (scores > 0).astype(np.int64)
        if scores.ndim == 2:
            predicted: NDArray[Any] = self.classes_[scores.argmax(axis=1)]
            return predicted
        return np.where(scores > 0, self.classes_[1:], self.classes_[:1])

    def _is_second(self, X: Any) -> NDArray[np.bool_] | None:
        """Return whether each of many rows is ``classes_[1]``, by signs alone; None if scores are needed."""
        check_is_fitted(self)
        if (
            self.coef_.shape[0] > 1
            or self.multilabel_
            or getattr(self, "basis_", None) is not None
            or hasattr(self, "group_thresholds_")
        ):
            return None
        return rows_above_zero(self, X, self.coef_[0], float(self.intercept_[0]))

    def _above_threshold(self, X: Any, sensitive_features: Any) -> NDArray[np.float64]:
        """Return the decision function, minus the threshold of each row's group if groups have thresholds."""
        scores = self.decision_function(X)
        if not hasattr(self, "group_thresholds_"):
            return scores
        return scores - self._row_thresholds(sensitive_features, scores.shape[0])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class in each row, or of each label if a row may have several.

        The probabilities are calibrated on the scores that chose the threshold (out-of-fold scores if there were
        folds), by a curve that rises with the score. ``predict`` maximizes the measure and does not return the
        more probable class. If a true positive raises F1 or G-mean more than a false positive lowers it, a row is
        predicted positive at a probability below one half (``decision_threshold_``).
        """
        scores = self.decision_function(X)
        odds = self._log_odds(scores)
        if scores.ndim == 1:
            second = expit(odds)
            return np.column_stack([1.0 - second, second])
        shares: NDArray[np.float64] = expit(odds) if self.multilabel_ else softmax(odds, axis=1)
        return shares

    def explain(self, X: Any) -> Explanation:
        """Return what each column of X, and each pair of columns, adds to the scores of the positive class.

        The contributions of a row sum to its score. They are relative to the mean of each column, so a row of
        means has no contributions. Everything derived from a column (its curve, its categories, the parts of a
        date) counts as one contribution. Rows with a score above 0 are predicted positive.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from ratewise import MeasureClassifier
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> classifier = MeasureClassifier("f1", basis="splines", random_state=0).fit(X, y)
        >>> found = classifier.explain(X[:5])
        >>> bool(np.allclose(found.scores, classifier.decision_function(X[:5])))
        True
        >>> len(found.largest(row=0, number=3))
        3
        """
        check_is_fitted(self)
        return Terms.of(self).explanation(validate_rows(self, X))  # type: ignore[arg-type]

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
                "This model has no probabilities: it was saved before ratewise calibrated scores. Fit it again."
            )
        curves = [Calibration.of_numbers(numbers) for numbers in self.calibration_]
        if len(curves) == 1:
            return np.asarray(curves[0].log_odds(scores))
        return np.stack([one.log_odds(scores[..., k]) for k, one in enumerate(curves)], axis=-1)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, sensitive_features: Any = None, *, costs: Any = None
    ) -> float:
        """Return the measure of the predictions for X against y; with many labels, the macro average.

        With ``costs``, return minus the mean cost of the predictions.
        """
        require_costs(self, costs)
        if costs is not None:
            return -mean_cost(self, cheapest(self, self.predict_proba(X), costs), y, sample_weight, costs)
        predicted = self.predict(X) if sensitive_features is None else self.predict(X, sensitive_features)
        if self.multilabel_:
            return macro_of_labels(self.measure_, y, predicted, sample_weight)
        if self.classes_.size > 2:
            return score_of_classes(self.measure_, self.classes_, y, predicted, sample_weight)
        y = labels_to_score(y, predicted.shape[0], self.classes_)
        positive = fitted_positive(self)
        return float(self.measure_.score(y, predicted, sample_weight=sample_weight, pos_label=positive))


def score_of_classes(
    measure: ConfusionMeasure, classes: NDArray[Any], y: Any, predicted: NDArray[Any], sample_weight: Any
) -> float:
    """Return the value of a measure of many classes, with the classes in the order of the model."""
    y = labels_to_score(y, predicted.shape[0], classes)
    weights = None if sample_weight is None else checked_weights(sample_weight, y)
    return float(measure.score(y, predicted, sample_weight=weights, labels=classes))


def macro_of_labels(measure: Measure, y: Any, predicted: NDArray[Any], sample_weight: Any) -> float:
    """Return the macro average of a measure over all columns of an indicator matrix."""
    truth = indicator_array(y, predicted.shape[0])
    if truth.shape != predicted.shape:
        raise ValueError(f"y has shape {truth.shape}, but the predictions have {predicted.shape}.")
    values = [
        measure.score(truth[:, k], predicted[:, k].astype(bool), sample_weight=sample_weight, pos_label=True)
        for k in range(truth.shape[1])
    ]
    return float(np.mean(values))
