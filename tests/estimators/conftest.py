"""Data that several files of tests share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def rings():
    """Positives, one in twelve, in a ring that no line separates from the rest."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6_000, 4))
    radius = np.hypot(X[:, 0], X[:, 1]) + 0.1 * rng.standard_normal(6_000)
    return X, (radius > 2.2).astype(int)
