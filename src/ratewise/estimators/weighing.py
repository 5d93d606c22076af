"""Weights of rows as a fit needs them."""

from __future__ import annotations

import numpy as np

from ..streams import class_weights
from .training_set import TrainingSet


def with_mean_weight_one(rows: TrainingSet) -> TrainingSet:
    """Only the proportions of weights matter."""
    total = float(np.abs(rows.signed_weights).sum(dtype=np.float64))
    if total == 0:
        raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from.")
    if total == rows.signed_weights.size:
        return rows
    return rows._replace(signed_weights=rows.signed_weights * (rows.signed_weights.size / total))


def share_of_positives(rows: TrainingSet) -> float:
    positive, negative = class_weights(rows.signed_weights)
    return positive / (positive + negative)


def require_both_classes(rows: TrainingSet) -> None:
    if rows.signed_weights.min() >= 0 or rows.signed_weights.max() <= 0:
        raise ValueError("All rows of one class have sample_weight 0: a classifier needs rows of both classes.")
