"""The compiled loops: the only hot code, and the only clever one."""

from . import measure_type  # noqa: F401  (teaches numba to take measures and rewards)
from .counts import bin_scores, count_called, mean_and_spread
from .dense import model_places
from .learn import STATE, LearnSettings, learn

__all__ = [
    "STATE",
    "LearnSettings",
    "bin_scores",
    "count_called",
    "learn",
    "mean_and_spread",
    "model_places",
]
