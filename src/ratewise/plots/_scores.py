"""Scores and labels of rows, checked, from arrays or from a fitted classifier."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..decisions.labelled import LabelledScores, labelled_scores
from ..estimators._positive import PositiveClass
from ..estimators._targets import fitted_positive
from ..measures import Measure, get_measure
from ._style import model_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ScoredRows(NamedTuple):
    """The scores of a fitted classifier, the rows it predicts positive, and the usual threshold."""

    rows: LabelledScores
    predicted: NDArray[np.bool_]
    default: float


class ScoresDisplay:
    """A display of scores at every threshold, made from a fitted classifier or from scores."""

    name: str | None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        measure: str | Measure | None = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the scores of a fitted classifier for these rows, with the threshold that it uses.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier of two classes, with ``predict_proba`` or ``decision_function``.
        X, y : rows and labels
        measure : str or Measure, optional
            Unless given, the measure that a MeasureClassifier was trained for.
        sample_weight : array, optional
        pos_label : label, optional
            The class whose rate is the TPR: the estimator's own choice, or ``classes_[1]``, unless given.
        name : str, optional
        ax : matplotlib Axes, optional
        **options
            Options of :meth:`plot`.
        """
        measure = measure_of(estimator, measure)
        scored = scores_from_estimator(estimator, X, y, sample_weight, pos_label)
        display = cls._of_estimator(estimator, scored, measure)
        display.name = model_name(estimator, name)
        display.plot(ax, **options)
        return display

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        measure: str | Measure,
        threshold: float | None = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw scores at every threshold, with the given threshold or else the best.

        A row is predicted positive if its score is above the threshold. ``options`` are passed to :meth:`plot`.
        """
        rows = labelled_scores(scores, y_true, sample_weight, pos_label)
        display: Self = cls._of_scores(rows, get_measure(measure), threshold)
        display.name = name
        display.plot(ax, **options)
        return display

    @classmethod
    def _of_estimator(cls, estimator: Any, scored: ScoredRows, measure: Measure) -> Self:
        display: Self = cls._of_scores(scored.rows, measure, threshold_of(estimator, scored))
        return display

    _of_scores: Any  # the display of scores, cut at a threshold or, without one, at the best
    plot: Any


def scores_from_estimator(estimator: Any, X: Any, y: Any, sample_weight: Any, pos_label: Any) -> ScoredRows:
    """Return the scores of a fitted classifier, and its predictions.

    As in scikit-learn's displays, ``predict_proba`` is used if it exists, otherwise ``decision_function``. A
    MeasureClassifier is an exception: its predictions come from ``decision_function``.
    """
    positive = positive_class(estimator, pos_label)
    cuts_scores = hasattr(estimator, "decision_threshold_")
    if hasattr(estimator, "predict_proba") and not cuts_scores:
        scores, default = np.asarray(estimator.predict_proba(X))[:, int(positive.sign > 0)], 0.5
    elif hasattr(estimator, "decision_function"):
        scores, default = positive.scores(estimator.decision_function(X)), 0.0
    else:
        raise ValueError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function: without scores there is "
            "no threshold to move. ComparisonDisplay needs predictions only."
        )
    predicted = np.asarray(estimator.predict(X)) == positive.label
    return ScoredRows(labelled_scores(scores, y, sample_weight, positive.label), predicted, default)


def threshold_of(estimator: Any, scored: ScoredRows) -> float:
    """Return a threshold that gives these predictions: the estimator's own or the default one if possible."""
    (scores, _), predicted, default = scored
    highest_negative = float(scores[~predicted].max()) if not predicted.all() else -math.inf
    lowest_positive = float(scores[predicted].min()) if predicted.any() else math.inf
    if not highest_negative < lowest_positive:
        raise ValueError(
            f"{type(estimator).__name__}.predict does not cut its scores at a threshold: it predicts rows "
            "positive that score no higher than rows predicted negative. Use from_predictions with the scores to "
            "cut."
        )
    for known in (getattr(estimator, "best_threshold_", None), default):
        if known is not None and highest_negative <= known < lowest_positive:
            return float(known)
    if math.isinf(lowest_positive):
        return highest_negative
    if math.isinf(highest_negative):
        return float(np.nextafter(lowest_positive, -math.inf))
    middle = highest_negative + 0.5 * (lowest_positive - highest_negative)
    return middle if middle < lowest_positive else highest_negative


def measure_of(estimator: Any, measure: Any) -> Measure:
    """Return the measure given, or the one a model was trained for."""
    if measure is not None:
        return get_measure(measure)
    trained_for = getattr(inner_classifier(estimator), "measure_", None)
    if trained_for is None:
        raise ValueError(
            f"{type(estimator).__name__} was not trained for a measure: say which to draw, measure='f1' for "
            "instance."
        )
    return get_measure(trained_for)


def positive_class(estimator: Any, pos_label: Any) -> PositiveClass:
    """Return the positive class: the one given, the ``pos_label`` of the model, or its second class."""
    classes = _two_classes(estimator)
    if pos_label is None:
        inner = inner_classifier(estimator)
        pos_label = fitted_positive(inner) if hasattr(inner, "classes_") else None
    return PositiveClass.of(classes, pos_label)


def inner_classifier(estimator: Any) -> Any:
    """Return the classifier inside a pipeline or a search."""
    if hasattr(estimator, "best_estimator_"):
        return inner_classifier(estimator.best_estimator_)
    return inner_classifier(estimator.steps[-1][1]) if hasattr(estimator, "steps") else estimator


def rows_inside(estimator: Any, X: Any) -> Any:
    """Return the rows as the last step of a pipeline gets them."""
    if hasattr(estimator, "best_estimator_"):
        return rows_inside(estimator.best_estimator_, X)
    return estimator[:-1].transform(X) if hasattr(estimator, "steps") and len(estimator.steps) > 1 else X


def names_inside(estimator: Any, classifier: Any) -> list[str] | None:
    """Return the names of the columns that the classifier in a pipeline or a search gets, if they have any."""
    if hasattr(estimator, "best_estimator_"):
        return names_inside(estimator.best_estimator_, classifier)
    names = getattr(classifier, "feature_names_in_", None)
    if names is None and hasattr(estimator, "steps"):
        try:
            names = estimator[:-1].get_feature_names_out()
        except Exception:  # a step without names
            return None
    return None if names is None else [str(name) for name in names]


def _two_classes(estimator: Any) -> NDArray[Any]:
    check_is_fitted(estimator)
    classes = getattr(estimator, "classes_", None)
    if classes is None or len(classes) != 2:
        many = (
            "" if classes is None else f" It has {len(classes)}: see ratewise.report and plots.ConfusionDisplay."
        )
        raise ValueError(f"{type(estimator).__name__} is not a classifier of two classes.{many}")
    return np.asarray(classes)
