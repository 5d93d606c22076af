"""The two rates every measure is made of, and bounds that are linear in them."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Rates(NamedTuple):
    """True positive rate, true negative rate, and the share of positives among the rows they were counted on.

    Examples
    --------
    >>> from ratewise.measures import rates_from_labels
    >>> rates_from_labels([0, 0, 1, 1], [0, 1, 1, 1])
    Rates(tpr=1.0, tnr=0.5, prevalence=0.5)
    """

    tpr: float
    tnr: float
    prevalence: float

    @property
    def precision(self) -> Any:
        """The share of positives among the rows predicted positive; 0 where there are none."""
        hits = np.asarray(self.prevalence) * self.tpr
        predicted = hits + (1.0 - np.asarray(self.prevalence)) * (1.0 - np.asarray(self.tnr))
        return np.where(predicted > 0, hits / np.where(predicted > 0, predicted, 1.0), 0.0)[()]


class Constraint(NamedTuple):
    """A bound that is linear in the two rates: it holds where constant + on_tpr TPR + on_tnr TNR >= 0.

    ``label`` says it in words. ``confidence`` is the probability with which it is to hold on new rows; where it is
    None, ``margin`` is the number of standard errors by which it must hold on the rows that choose a threshold.
    The bounds below are scaled alike, so that one penalty suits all: missing a bound altogether costs about one
    TPR.

    Examples
    --------
    >>> from ratewise.measures import Constrained
    >>> (bound,) = Constrained("f1", tnr=0.95).constraints(prevalence=0.1)
    >>> bound.label
    'a TNR of at least 0.95'
    >>> bool(bound.excess(0.8, 0.96) > 0)
    True
    """

    label: str
    constant: float
    on_tpr: float
    on_tnr: float
    margin: float
    confidence: float | None = None

    def excess(self, tpr: Any, tnr: Any) -> Any:
        """Return how far the bound is kept: 0 where it just holds, negative where it does not."""
        return self.constant + self.on_tpr * np.asarray(tpr) + self.on_tnr * np.asarray(tnr)


class RatesInterval(NamedTuple):
    """The (low, high) between which a model's rates on new rows lie, each with this confidence.

    ``value`` is that of the measure. Rows are taken to be drawn alike and, but for groups, independently.

    Examples
    --------
    >>> from ratewise.measures import RatesInterval
    >>> RatesInterval(tpr=(0.8, 0.9), tnr=(0.97, 0.99), value=(0.7, 0.8), confidence=0.95).tpr
    (0.8, 0.9)
    """

    tpr: tuple[float, float]
    tnr: tuple[float, float]
    value: tuple[float, float]
    confidence: float


class ConstraintWarning(UserWarning):
    """The bound of its measure cannot be promised for the fitted model.

    Examples
    --------
    >>> import warnings
    >>> from ratewise import ConstraintWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ConstraintWarning)  # a missed bound is an error here
    """


def tpr_at_least(tpr: float, margin: float, confidence: float | None) -> Constraint:
    """Return TPR / bound - 1 >= 0."""
    return Constraint(f"a TPR of at least {tpr:g}", -1.0, 1.0 / tpr, 0.0, margin, confidence)


def tnr_at_least(tnr: float, margin: float, confidence: float | None) -> Constraint:
    """Return 1 - FPR / (1 - bound) >= 0."""
    allowed = 1.0 - tnr
    return Constraint(f"a TNR of at least {tnr:g}", -tnr / allowed, 0.0, 1.0 / allowed, margin, confidence)


def precision_at_least(precision: float, prevalence: Any, margin: float, confidence: float | None) -> Constraint:
    """Return TPR - price FPR >= 0, which is p TPR (1 - bound) >= bound (1 - p) FPR solved for the TPR."""
    price = precision * (1.0 - prevalence) / ((1.0 - precision) * np.maximum(prevalence, 1e-12))
    return Constraint(f"a precision of at least {precision:g}", -price, 1.0, price, margin, confidence)


def rates_from_labels(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = None
) -> Rates:
    """Return TPR, TNR and prevalence of predicted labels. A class that never occurs has rate 0, with a warning.

    Examples
    --------
    >>> from ratewise.measures import rates_from_labels
    >>> rates_from_labels(["ham", "spam", "spam"], ["ham", "ham", "spam"], pos_label="spam").tpr
    0.5
    """
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if true.shape != predicted.shape or true.ndim != 1:
        raise ValueError(
            f"y_true and y_pred must be one-dimensional and equally long; got shapes {true.shape} and "
            f"{predicted.shape}."
        )
    if true.size == 0:
        raise ValueError("y_true and y_pred are empty: there is nothing to score.")
    weight = np.ones(true.size) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weight.shape != true.shape:
        raise ValueError(f"sample_weight has shape {weight.shape}, but there are {true.size} labels.")
    if not (weight >= 0.0).all() or np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight must hold numbers of 0 or more, and none may be missing.")
    is_positive = true == _positive_label(true, predicted, pos_label)
    is_correct = true == predicted
    weight_positive = float(weight[is_positive].sum())
    weight_negative = float(weight[~is_positive].sum())
    total = weight_positive + weight_negative
    if not 0.0 < total < np.inf:
        raise ValueError(f"sample_weight sums to {total:g}: there is nothing to score.")
    tpr = _share(float(weight[is_positive & is_correct].sum()), weight_positive, "positive")
    tnr = _share(float(weight[~is_positive & is_correct].sum()), weight_negative, "negative")
    return Rates(tpr, tnr, weight_positive / total)


def _positive_label(true: np.ndarray, predicted: np.ndarray, pos_label: Any) -> Any:
    try:
        labels = np.unique(np.concatenate([np.unique(true), np.unique(predicted)]))
    except TypeError as error:  # texts and numbers, as objects
        kinds = ", ".join(sorted({type(label).__name__ for label in [*true.tolist(), *predicted.tolist()]}))
        raise ValueError(f"Labels of different types cannot be compared: {kinds}. Give all one type.") from error
    if labels.size > 2:
        shown = ", ".join(map(repr, labels[:5].tolist()))
        raise ValueError(f"A measure of two classes was given {labels.size} different labels ({shown}, ...).")
    if pos_label is not None:
        if labels.size == 2 and pos_label not in labels:
            raise ValueError(f"pos_label={pos_label!r} is not among the labels {labels.tolist()}.")
        return pos_label
    only = labels[-1]
    if labels.size == 1 and only in (0, -1):
        return 1  # every row is, and is predicted, negative
    return only


def _share(part: float, whole: float, name: str) -> float:
    if whole > 0:
        return part / whole
    warnings.warn(f"There is no {name} label in y_true: its rate is taken as 0.", RuntimeWarning, stacklevel=4)
    return 0.0
