"""The choice among candidates by a value estimated on rows.

Candidates that the rows cannot distinguish from the best are treated as equally good.
"""

from __future__ import annotations

import math
from collections.abc import Iterable


def half_standard_error(value: float, scale: tuple[float, float], points: float) -> float:
    """Return half the standard error of a value estimated from this many points; closer values count as equal.

    ``scale`` holds the values of a useless model and of a perfect one.
    """
    useless, perfect = scale
    share = (value - useless) / (perfect - useless)
    return 0.5 * (perfect - useless) * math.sqrt(max(share * (1.0 - share), 1e-6) / points)


def near_best(values: Iterable[float], noise: float) -> list[int]:
    """Return the indices of the values that are below the best by at most ``noise``, in order."""
    values = list(values)
    least = max(values) - noise
    return [place for place, value in enumerate(values) if value >= least]
