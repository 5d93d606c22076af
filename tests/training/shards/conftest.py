"""Rows that shards learn from."""

from __future__ import annotations

import numpy as np
import pytest

from ratewise.training import config


@pytest.fixture(scope="session")
def rows():
    """Return 20,000 rows, one in eight positive, that a linear model tells apart fairly well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 6)).astype(np.float32)
    X[:, 1] = 3.0 * X[:, 1] + 5.0
    y = X[:, 0] + 0.2 * X[:, 1] + 0.8 * rng.normal(size=20_000) > 2.5
    return X, y


@pytest.fixture(scope="module", autouse=True)
def the_choice_of_many_rows():
    """Spend as little on the choice between models as for the many rows that shards are meant for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "FEW_ROWS", 2_000)
        patch.setattr(config, "MANY_ROWS", 10_000)
        yield
