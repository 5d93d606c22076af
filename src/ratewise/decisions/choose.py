"""The choice among candidates by a value estimated on rows: candidates that the rows cannot distinguish from the
best are as good.
"""

from __future__ import annotations

import math
from collections.abc import Iterable


def half_standard_error(value: float, scale: tuple[float, float], points: float) -> float:
    """Return half the standard error of a value estimated from so many points, which cannot order closer values.

    ``scale`` holds the values of a useless model and of a perfect one.
    """
    useless, perfect = scale
    share = (value - useless) / (perfect - useless)
    return 0.5 * (perfect - useless) * math.sqrt(max(share * (1.0 - share), 1e-6) / points)


def near_best(values: Iterable[float], noise: float) -> list[int]:
    """Return the places of the values that are less than the best by no more than noise, in order."""
    values = list(values)
    least = max(values) - noise
    return [place for place, value in enumerate(values) if value >= least]
