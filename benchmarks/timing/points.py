"""Points to learn from: a real data set where its file is there, made-up ones of the same shape where not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import datasets
from ratewise.training.rows import ArrayRows
from ratewise.transforms import Standardizer

SHARE_OF_POSITIVES = 0.05
SPARSE_COLUMNS = 10_000


def made_up_dense(rows: int, columns: int, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns; a linear rule with noise calls one row in twenty positive."""
    rng = np.random.default_rng(0)
    X = np.empty((rows, columns), dtype=dtype)
    rng.standard_normal(dtype=dtype, out=X)
    return X, _called_by_a_noisy_rule(X, rng)


def made_up_sparse(rows: int, nonzeros: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """So many non-zeros in each row, one in each of as many equal stretches of 10,000 columns."""
    rng = np.random.default_rng(0)
    stretch = SPARSE_COLUMNS // nonzeros
    indices = rng.integers(stretch, size=(rows, nonzeros), dtype=np.int32)
    indices += np.arange(nonzeros, dtype=np.int32) * stretch
    values = rng.standard_normal(rows * nonzeros, dtype=np.float32)
    indptr = np.arange(rows + 1, dtype=np.int32) * nonzeros
    X = sparse.csr_matrix((values, indices.ravel(), indptr), shape=(rows, SPARSE_COLUMNS))
    return X, _called_by_a_noisy_rule(X, rng)


def _called_by_a_noisy_rule(X: Any, rng: np.random.Generator) -> np.ndarray:
    rule = rng.standard_normal(X.shape[1]).astype(X.dtype)
    scores = np.asarray(X @ rule)
    scores += scores.std() * rng.standard_normal(scores.size).astype(X.dtype)
    return scores > np.quantile(scores, 1.0 - SHARE_OF_POSITIVES)


def real_or_made_up(name: str, rows: int, columns: int, folder: Path) -> tuple[str, Any, np.ndarray]:
    """(what it is called, rows, labels)."""
    if name in datasets.names(folder):
        problem = datasets.load(name, folder)
        return name, problem.X, problem.y
    return f"made up like {name}", *made_up_dense(rows, columns)


def rows_of(X: Any, y: np.ndarray) -> ArrayRows:
    """Standardized and shuffled once, as a fit does."""
    standardizer = Standardizer(X.shape[1]).update(X)
    return ArrayRows(X, np.where(y, 1.0, -1.0), standardizer, np.random.default_rng(0))
