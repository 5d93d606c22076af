"""The compiled loops: the only hot code."""

from . import numba_types  # noqa: F401  (lets numba take measures and rewards)
from ._operations import add_rows, row_dot
from .gather import gather_scaled, gather_standardized, gather_weights, gather_whitened, padded_triangle
from .hashing import fold_of_each_row, hash_csr_rows, hash_dense_rows
from .histogram import bin_bent_scores, bin_scores, count_called, mean_and_spread, score_rows
from .moments import (
    add_column_moments,
    merge_column_moments,
    square_csr_rows,
    square_dense_rows,
    weight_moments,
)
from .rows import FASTMATH, model_places
from .shuffle import evenly_mixed_classes, evenly_mixed_order, mix_evenly
from .update import STATE, Steps, learn

__all__ = [
    "FASTMATH",
    "STATE",
    "Steps",
    "add_column_moments",
    "add_rows",
    "bin_bent_scores",
    "bin_scores",
    "count_called",
    "evenly_mixed_classes",
    "evenly_mixed_order",
    "fold_of_each_row",
    "gather_scaled",
    "gather_standardized",
    "gather_weights",
    "gather_whitened",
    "hash_csr_rows",
    "hash_dense_rows",
    "learn",
    "mean_and_spread",
    "merge_column_moments",
    "mix_evenly",
    "model_places",
    "padded_triangle",
    "row_dot",
    "score_rows",
    "square_csr_rows",
    "square_dense_rows",
    "weight_moments",
]
