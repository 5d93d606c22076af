"""The compiled loops: the only hot code, and the only clever one."""

from . import measure_type  # noqa: F401  (teaches numba to take measures and rewards)
from .dense import model_places
from .learn import STATE, LearnSettings, learn

__all__ = ["STATE", "LearnSettings", "learn", "model_places"]
