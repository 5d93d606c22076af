"""The macro average of a measure, of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from ..solvers import ClassRates
from .many_labels import indicator_array
from .validation import checked_labels, checked_weights


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
