"""Check the scores and labels of two classes that a user passes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._input_checks import plain_labels


class LabelledScores(NamedTuple):
    """Scores of the positive class; signed weights are negative for rows of the negative class."""

    scores: NDArray[np.float64]
    signed_weights: NDArray[np.float64]


def labelled_scores(scores: Any, y: Any, sample_weight: Any = None, pos_label: Any = None) -> LabelledScores:
    """Check the user's scores, labels of two classes and weights, and return them."""
    values = np.asarray(scores)
    if values.ndim != 1:
        raise ValueError(
            f"scores must have one number per row; got shape {values.shape}. Of predict_proba, take the column of "
            "the positive class."
        )
    if values.dtype.kind not in "fiub":
        raise ValueError(f"scores must be numbers; got {values.dtype}.")
    values = np.ascontiguousarray(values, dtype=np.float64)  # another layout would need another compilation
    if not np.isfinite(values).all():
        raise ValueError(f"scores contain {int((~np.isfinite(values)).sum())} value(s) that are not finite.")
    return LabelledScores(values, _signed_weights(y, values.size, sample_weight, pos_label))


def _signed_weights(y: Any, n_rows: int, sample_weight: Any, pos_label: Any) -> NDArray[np.float64]:
    """Return the sample weight of each row, negative for the negative class; both classes must occur."""
    labels = plain_labels(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y must have one label per row: there are {n_rows} rows, and y has {labels.shape}.")
    classes = np.unique(labels)
    if classes.size != 2:
        shown = ", ".join(map(repr, classes[:5].tolist())) + (", ..." if classes.size > 5 else "")
        raise ValueError(f"y must hold two classes, both of them; it holds {classes.size} ({shown}).")
    if pos_label is not None and pos_label not in classes:
        named = np.asarray(pos_label).tolist()  # without the type of numpy's numbers
        raise ValueError(f"pos_label={named!r} is not among the labels {classes.tolist()} of y.")
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, but there are {n_rows} rows.")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("sample_weight must be finite numbers of 0 or more.")
    positive = labels == (classes[1] if pos_label is None else pos_label)
    if not (weights[positive].any() and weights[~positive].any()):
        raise ValueError("All rows of one class have sample_weight 0: its rate is not defined.")
    return np.where(positive, weights, -weights)
