"""The compiled loops: the only hot code."""

from . import numba_types  # noqa: F401  (lets numba take measures and rewards)
from ._operations import add_rows, row_dot
from .order import (
    evenly_mixed_classes,
    evenly_mixed_order,
    fold_of_each_row,
    gather_scaled,
    gather_standardized,
    gather_weights,
    gather_whitened,
    hash_csr_rows,
    hash_dense_rows,
    mix_evenly,
    padded_triangle,
)
from .rows import FASTMATH
from .sums import (
    add_column_moments,
    bin_bent_scores,
    bin_scores,
    count_called,
    mean_and_spread,
    merge_column_moments,
    score_rows,
    square_csr_rows,
    square_dense_rows,
    weight_moments,
)
from .update import STATE, Steps, learn, model_places

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
