"""How far chance may move a value that was taken on some rows."""

from __future__ import annotations

import math


def half_the_noise(value: float, scale: tuple[float, float], points: float) -> float:
    """Half the noise in a value estimated from so many points: stages closer than that cannot be told apart.

    ``scale`` holds the values of a useless model and of a perfect one.
    """
    useless, perfect = scale
    share = (value - useless) / (perfect - useless)
    return 0.5 * (perfect - useless) * math.sqrt(max(share * (1.0 - share), 1e-6) / points)
