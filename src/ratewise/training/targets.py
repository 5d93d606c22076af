"""Targets: what a fit knows of each row besides its columns, which is its class and its weight.

Of two classes a target is the weight, negative for a row of the negative class. Of more it is two numbers: the
number of the class, and the weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import evenly_mixed_classes, evenly_mixed_order

Targets = NDArray[np.floating[Any]]


def class_targets(codes: NDArray[Any], weights: NDArray[Any]) -> NDArray[np.float32]:
    """Return the targets of rows of more than two classes."""
    found: NDArray[np.float32] = np.stack([codes, weights], axis=1).astype(np.float32)
    return found


def codes_of(targets: Targets) -> NDArray[np.intp]:
    """Return the number of each row's class; of two classes, 1 for the positive one."""
    found: NDArray[np.intp] = (targets > 0 if targets.ndim == 1 else targets[:, 0]).astype(np.intp)
    return found


def weights_of(targets: Targets) -> NDArray[Any]:
    """Return the weight of each row."""
    found: NDArray[Any] = np.abs(targets) if targets.ndim == 1 else targets[:, 1]
    return found


def against_the_rest(targets: Targets, code: int) -> NDArray[Any]:
    """Return the targets of two classes: one of several is the positive one, all others the negative."""
    return np.where(targets[:, 0] == code, targets[:, 1], -targets[:, 1])


def rarest_against_the_rest(targets: Targets) -> NDArray[Any]:
    """Return targets of two classes: those of more with the rarest as the positive one."""
    if targets.ndim == 1:
        return targets
    rows_of_each = np.bincount(codes_of(targets))
    return against_the_rest(targets, int(np.where(rows_of_each > 0, rows_of_each, targets.size).argmin()))


def with_weights_divided(targets: Targets, divisor: Any) -> NDArray[Any]:
    """Return the targets of the same rows, whose weights are divided by this."""
    if targets.ndim == 1:
        return np.asarray(targets / divisor)
    return class_targets(targets[:, 0], targets[:, 1] / divisor)


def mixed_order(targets: Targets, rng: np.random.Generator) -> NDArray[Any]:
    """Return a random order in which every stretch of rows has its share of each class."""
    if targets.ndim == 1:
        return evenly_mixed_order(targets > 0, rng)
    return evenly_mixed_classes(codes_of(targets), rng)
