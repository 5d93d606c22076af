"""Intervals of rates and measures from counts alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..counts import Counts, Rates
from ..measures import Measure

DRAWS = 2000


def normal_draws(seed: int, draws: int = DRAWS, cells: int = 4) -> NDArray[np.int64]:
    """Return standard normal numbers in thousandths, one per cell in each draw, as a report contains them."""
    return np.rint(1000.0 * np.random.default_rng(seed).standard_normal((draws, cells))).astype(np.int64)


def resampled(counts: Counts, normals: NDArray[np.int64]) -> Rates:
    """Return Rates, as arrays, with the uncertainty of the counts: one draw per row of ``normals``.

    Each count is drawn from the gamma distribution with half a row more in its shape. The shares of such counts
    have Jeffreys' distribution. With many rows it is close to drawing rows with replacement; it is also correct
    for a count of 0 (three positives, all missed, do not prove a TPR of 0). The time does not depend on the number
    of rows. A cell of weighted rows counts as an effective number of rows of equal weight.

    The gamma draws are cubes of normal ones (Wilson and Hilferty, 1931). So they need arithmetic only, and the
    page of a report computes the same numbers from the same normals.
    """
    # True positives first, as in the page of a report.
    cells, squares = (None if one is None else one[::-1, ::-1].ravel() for one in (counts.weights, counts.squares))
    return Counts(drawn_counts(cells, normals, squares)[:, ::-1].reshape(-1, 2, 2)).rates


def drawn_counts(counts: Any, normals: NDArray[np.int64], squares: Any = None, more: float = 0.5) -> Any:
    """Return counts drawn as :func:`resampled` says, with ``more`` rows in each: a row per row of ``normals``."""
    counts = np.array(counts, dtype=np.float64)
    row_weight = np.ones(counts.size)
    if squares is not None:
        squared = np.array(squares, dtype=np.float64)
        typical = squared.sum() / counts.sum()
        row_weight = np.where(counts > 0, squared / np.maximum(counts, 1e-300), typical)
    shape = counts / row_weight + more
    roots = np.maximum(1.0 - 1.0 / (9.0 * shape) + normals / 1000.0 / (3.0 * np.sqrt(shape)), 0.0)
    return shape * (roots * roots * roots) * row_weight


def interval(values: Any, value: float, share: float = 0.95) -> tuple[float, float]:
    """Return the ends of the middle share of the values, extended to include ``value`` if necessary."""
    tail = 50.0 * (1.0 - share)
    low, high = np.percentile(np.asarray(values, dtype=np.float64), [tail, 100.0 - tail])
    return min(float(low), value), max(float(high), value)


def values_of(measure: Measure, rates: Any) -> NDArray[np.float64]:
    """Return a measure at many rates; one by one if it is written for single numbers."""
    try:
        return np.asarray(measure.value(*rates), dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([float(measure.value(*one)) for one in np.transpose(rates)])
