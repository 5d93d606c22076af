"""Toy problems for the baselines."""

from __future__ import annotations

import numpy as np


def two_clouds(n=1200, prevalence=0.1, distance=2.0, seed=0, columns=4):
    """Two normal clouds, apart in the first column; columns of different scales and places."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < prevalence
    X = rng.normal(size=(n, columns))
    X[:, 0] += distance * positive
    return X * (1.0 + np.arange(columns)) + np.arange(columns), positive
