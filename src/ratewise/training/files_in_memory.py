"""Rows of files that are read into memory: small files, or files in which a column defines the folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._input_checks import warn_of_far_columns
from ..streams import FileSurvey, Stream
from ..transforms import scalable_moments
from . import config
from .files import ClassLabels, StreamLabels
from .source import Progress
from .targets import weights_of


def rows_in_memory(
    stream: Stream,
    survey: FileSurvey,
    labels: StreamLabels | ClassLabels,
    progress: Progress | None = None,
    *,
    keep: Sequence[str] = (),
) -> tuple[Any, NDArray[Any], dict[str, list[Any]]] | None:
    """Return all rows of a small stream and their targets; None if the rows take more memory than a sample would.

    With columns to ``keep``, which the stream keeps too, return their values also, however many rows there are.
    """
    limit = math.inf if keep else config.IN_MEMORY_BYTES
    kept: dict[str, list[Any]] = {name: [] for name in keep}
    row_bytes = stream.encoder.row_bytes / 2 if stream.sparse else 4 * len(stream.feature_names)
    if survey.rows * row_bytes > limit:  # the size of sparse rows may be overestimated by a factor of two
        return None
    rows, targets, done, values = [], [], 0, 0
    for window in stream.windows():
        rows.append(window.X)
        targets.append(labels.targets(window))
        values += int(window.X.nnz if stream.sparse else 0)
        if values * 8 > limit:
            return None
        for name, column in kept.items():
            column += window.kept[name]
        done += window.X.shape[0]
        if progress is not None:
            progress({"stage": "reading", "done_rows": done, "total_rows": survey.rows})
    X = sparse.vstack(rows, format="csr") if stream.sparse else np.concatenate(rows)
    scalable_moments(X, stream.feature_names)
    warn_of_far_columns(X)
    found = np.concatenate(targets)
    weighted = weights_of(found) > 0
    if weighted.any() and not weighted.all():  # rows of weight 0 are ignored, as for rows in memory
        X, found = X[weighted], found[weighted]
        kept = {name: list(compress(column, weighted)) for name, column in kept.items()}
    return X, found, kept
