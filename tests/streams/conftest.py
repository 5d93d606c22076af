"""Fixtures of the tests of streams."""

from __future__ import annotations

import numpy as np
import pytest
from written import MATRIX_FORMATS, TABLE_FORMATS, write_matrix, write_table


@pytest.fixture
def numbered():
    """Rows whose first feature is their number, from 1; every third is positive."""

    def make(rows, features=3):
        X = np.zeros((rows, features), dtype=np.float32)
        X[:, 0] = np.arange(1, rows + 1)
        X[:, 1:] = np.random.default_rng(0).integers(1, 9, size=(rows, features - 1))
        return X, (np.arange(rows) % 3 == 0).astype(np.int64)

    return make


@pytest.fixture(params=TABLE_FORMATS + MATRIX_FORMATS)
def any_format(request, tmp_path, numbered):
    """Writes numbered rows in some format; returns the keywords for ``open_stream``."""

    def write(rows):
        X, y = numbered(rows)
        path = tmp_path / f"data.{request.param}"
        if request.param in MATRIX_FORMATS:
            return write_matrix(path, X, y)
        columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
        return {"source": write_table(path, {**columns, "label": y}), "target": "label"}

    return write
