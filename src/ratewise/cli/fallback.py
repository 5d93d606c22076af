"""TO BE DELETED when MeasureClassifier.fit_stream is there: all rows in memory, then a plain fit.

Only ``fit.py`` calls it, in one place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def fit_in_memory(classifier: Any, stream: Any, *, passes: Any, progress: Any, **_unused: Any) -> Any:
    survey = stream.survey(progress) if stream.repeatable else None
    windows = list(stream.windows())
    if not windows or windows[0].labels is None:
        raise ValueError("There are no labels to learn from: name their column with --target.")
    parts = [window.X for window in windows]
    X: Any = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    y = np.concatenate([window.labels for window in windows])
    weights = None if windows[0].weights is None else np.concatenate([window.weights for window in windows])
    classifier.fit(X, y, sample_weight=weights)
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    mean, mean_square = (np.asarray(one.mean(axis=0), dtype=np.float64).ravel() for one in (X, squares))
    classifier.feature_spread_ = np.sqrt(np.maximum(mean_square - mean * mean, 0.0))
    classifier.encoder_ = stream.encoder
    classifier.feature_names_in_ = np.array(stream.feature_names, dtype=object)
    classifier.target_ = getattr(stream, "target", None)
    if survey is not None:
        classifier.survey_ = survey
    return classifier
