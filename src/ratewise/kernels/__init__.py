"""The compiled loops: the only hot code, and the only clever one."""

from . import measure_type  # noqa: F401  (teaches numba to take measures and rewards)
from .counts import bin_bent_scores, bin_scores, count_called, mean_and_spread, score_rows
from .dense import model_places
from .hashes import hash_csr_rows, hash_dense_rows
from .learn import STATE, Steps, learn

__all__ = [
    "STATE",
    "Steps",
    "bin_bent_scores",
    "bin_scores",
    "count_called",
    "hash_csr_rows",
    "hash_dense_rows",
    "learn",
    "mean_and_spread",
    "model_places",
    "score_rows",
]
