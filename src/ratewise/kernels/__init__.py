"""The compiled loops: the only hot code.

Each is imported with numba when it is first asked for: most fits are to so few rows that numpy does
(see ``numpy_fallbacks``).
"""

from __future__ import annotations

import importlib
from typing import Any

from .numpy_fallbacks import (
    STATE,
    StepSizes,
    add_column_moments,
    bin_scores,
    code_rows,
    count_predicted,
    evenly_mixed_classes,
    evenly_mixed_order,
    gather_scaled,
    gather_standardized,
    gather_weights,
    hash_rows,
    mean_and_spread,
    merge_column_moments,
    score_moments,
    square_rows,
    weight_moments,
)

_HOMES = {
    "FASTMATH": "rows",
    "COLUMN_FACTS": "live",
    "FACTS": "live",
    "LEAST_SPREAD": "live",
    "SETTINGS": "live",
    "DOUBT": "signs",
    "add_rows": "_operations",
    "bin_bent_scores": "passes",
    "count_live": "live",
    "fold_of_each_row": "passes",
    "gather_whitened": "passes",
    "hash_csr_rows": "passes",
    "hash_dense_rows": "passes",
    "keep_recent": "live",
    "learn": "update",
    "learn_classes": "softmax",
    "learn_live_dense": "live",
    "learn_live_sparse": "live",
    "mix_evenly": "passes",
    "model_places": "update",
    "njit": "_cache",
    "padded_triangle": "passes",
    "row_dot": "_operations",
    "score_rows": "passes",
    "sparse_signs": "signs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module(".numba_types", __name__)  # lets numba take measures and rewards
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


__all__ = [
    "STATE",
    "StepSizes",
    "add_column_moments",
    "bin_scores",
    "code_rows",
    "count_predicted",
    "evenly_mixed_classes",
    "evenly_mixed_order",
    "gather_scaled",
    "gather_standardized",
    "gather_weights",
    "hash_rows",
    "mean_and_spread",
    "merge_column_moments",
    "square_rows",
    "score_moments",
    "weight_moments",
    *_HOMES,
]
