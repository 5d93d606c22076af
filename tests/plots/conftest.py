"""Figures drawn in memory, and closed after each test."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _figures_are_closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="session")
def rows():
    """Two overlapping clouds, a fifth of the points positive."""
    rng = np.random.default_rng(7)
    y = rng.random(400) < 0.2
    X = rng.normal(size=(400, 3)) + 1.2 * y[:, np.newaxis]
    return X, y


@pytest.fixture(scope="session")
def plain(rows):
    """A fit of one run."""
    from ratewise import MeasureClassifier

    return MeasureClassifier("gmean", sharpen=False, random_state=0).fit(*rows)


@pytest.fixture(scope="session")
def sharpened(rows):
    """A fit of many runs, some of one checkpoint."""
    from ratewise import MeasureClassifier

    return MeasureClassifier("f1", solver="stamp", random_state=0).fit(*rows)
